/* tests/sim/witness.h - a filter that changes nothing and sees that what opened is closed */
#ifndef TESTS_SIM_WITNESS_H
#define TESTS_SIM_WITNESS_H

#include "core/exchange/filters.h"

const struct filter_chain *witness_chain(void);
/* At the end: what was opened was closed, which is each of so many exchanges but for those that
 * were over before they were stepped. */
void witness_check(uint64_t exchanges);

#endif
