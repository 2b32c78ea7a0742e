/* tests/sim/meddler.h - filters that do at random what filters may do, and change no byte */
#ifndef TESTS_SIM_MEDDLER_H
#define TESTS_SIM_MEDDLER_H

#include "core/exchange/filters.h"

enum { MEDDLERS = 4 };

/* Puts MEDDLERS uses of them into `uses`: two that meddle between two that each turn every byte
 * into another and back. */
void meddler_uses(const struct filter_use **uses);
/* Whether one of them wants the bodies of that exchange whole. */
bool meddler_buffers(uint64_t number);
/* All bytes that they held have gone on, or were dropped with their exchange. */
void meddler_check(void);

#endif
