/* tests/sim/log.c - the access log of this run, and what it must say in the end */
#include "tests/sim/log.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/access_format.h"
#include "core/base/string.h"
#include "core/exchange/access_lines.h"
#include "tests/sim/account.h"

/* Lines about half a head, which names no exchange, by what its client is told: it took too long.
 */
static uint64_t nameless;

/* Of each exchange, by number. */
static struct logged {
    uint16_t lines, status; /* in the log */
    uint16_t answered;      /* what the client got; 0: nothing */
} * all;

void log_configure(struct snapshot *snapshot, struct arena *arena)
{
    static char format[] = "{status} {request:X-Number} {target}";
    struct access_mistake mistake;
    snapshot->access_log.on = true;
    snapshot->access_log.format = format;
    snapshot->access_log.sample = 1;
    snapshot->access_log.compiled = access_format_compile(string_of(format), arena, &mistake);
}

/* "200 17 http://alpha.sim/x", or "200 - alpha.sim:10017" of a tunnel. */
static void read_line(const char *line)
{
    char *end;
    uint16_t status = (uint16_t)strtoul(line, &end, 10);
    uint64_t number = strtoull(end + 1, NULL, 10);
    const char *port = strrchr(line, ':');
    if (end[1] == '-' && port) {
        const struct plan *plan = account_find_tunnel((uint16_t)strtoul(port + 1, NULL, 10));
        number = plan ? plan->number : 0;
    }
    if (sabotage(LOGGED_ONCE, 1))
        return;
    if (!account_find(number)) {
        nameless++;
        return;
    }
    all[number].lines++;
    all[number].status = status;
}

static void on_batch(void *user, struct access_batch *batch)
{
    (void)user;
    batch->bytes[batch->length - 1] = 0;
    for (char *line = batch->bytes; line;) {
        char *end = strchr(line, '\n');
        if (end)
            *end = 0;
        read_line(line);
        line = end ? end + 1 : NULL;
    }
    memory_free(batch);
}

void log_open(struct worker *worker)
{
    all = memory_zeroed((simulation.exchanges + 1) * sizeof *all);
    worker->access_lines = access_lines_new(worker, on_batch, NULL);
}

void log_expect(uint64_t exchange, uint32_t status)
{
    all[exchange].answered = (uint16_t)status;
}

void log_check(void)
{
    uint64_t half_heads = 0;
    for (uint64_t number = 1; account_find(number); number++) {
        const struct logged *one = &all[number];
        bool reached = one->answered || account_find(number)->attempts;
        bool half_head = reached && !one->lines && one->answered == 408;
        half_heads += half_head;
        if (one->lines > 1 || (reached && !one->lines && !half_head))
            violated(LOGGED_ONCE, number, "it is in the log %u times", one->lines);
        if (one->lines && one->answered && one->status != one->answered)
            violated(LOGGED_ONCE, number, "the client got %u, the log says %u", one->answered,
                     one->status);
    }
    if (half_heads > nameless)
        violated(LOGGED_ONCE, 0, "%llu clients were told that they were too slow, the log has %llu",
                 (unsigned long long)half_heads, (unsigned long long)nameless);
    memory_free(all);
}
