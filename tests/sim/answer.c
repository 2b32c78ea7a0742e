/* tests/sim/answer.c - whether an answer's head is one that its client may get */
#include "tests/sim/answer.h"

#include <stdlib.h>
#include <string.h>

#include "tests/sim/log.h"

static bool is_good_failure(const struct plan *plan, uint32_t status)
{
    bool waits =
        plan->fault == ORIGIN_SILENT || plan->fault == ORIGIN_HANGS || plan->fault == CLIENT_HANGS;
    if (plan->fault == HOST_FAILS)
        return status == plan->host->failure;
    if (!plan->may_fail)
        return false;
    return status == 502 || (status == 504 && waits) ||
           (status == 408 && plan->fault == CLIENT_HANGS);
}

struct answer answer_judge(const struct plan *plan, const struct text *head)
{
    char number[64];
    text_field(head, "X-Number", number);
    struct answer answer = {.status = (uint32_t)atoi(head->bytes + strlen("HTTP/1.1 "))};
    answer.from_origin = number[0] || (plan->tunnel && answer.status == 200);
    happened("client has an answer's head", plan->number, answer.status);
    log_expect(plan->number, answer.status);
    if (number[0] && strtoull(number, NULL, 10) != plan->number)
        violated(OWN_ANSWER, plan->number, "the answer is that of exchange %s", number);
    if (!answer.from_origin && !is_good_failure(plan, answer.status))
        violated(NO_SPURIOUS_FAILURE, plan->number, "weir answered with %u", answer.status);
    const char *wrong = number[0] ? plan_check_head(plan, RESPONSE, head) : NULL;
    if (wrong)
        violated(FIELDS_KEPT, plan->number, "%s:\n%s", wrong, head->bytes);
    return answer;
}
