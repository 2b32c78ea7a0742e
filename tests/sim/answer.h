/* tests/sim/answer.h - whether an answer's head is one that its client may get */
#ifndef TESTS_SIM_ANSWER_H
#define TESTS_SIM_ANSWER_H

#include "tests/sim/plan.h"

struct answer {
    uint32_t status;  /* 0: its head has not come */
    bool from_origin; /* it is not weir's own */
};

/* Of the exchange that its client takes it for. The log must then say the same. */
struct answer answer_judge(const struct plan *plan, const struct text *head);

#endif
