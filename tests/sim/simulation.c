/* tests/sim/simulation.c - what must always hold, and the record of what happened */
#include "tests/sim/simulation.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

struct simulation simulation = {.broken = -1};

const struct invariant_text invariant_texts[INVARIANTS] = {
    [BYTES_EXACT] = {"bytes-exact",
                     "no byte of a body or tunnel is wrong, lost, invented or sent twice"},
    [FIELDS_KEPT] = {"fields-kept", "start lines, fields, trailers arrive as sent, in order; "
                                    "hop-by-hop fields do not"},
    [OWN_ANSWER] = {"own-answer", "each request gets its own answer, once"},
    [NO_SPURIOUS_FAILURE] = {"no-spurious-failure",
                             "without a fault each exchange ends with the origin's answer"},
    [FAILURE_ANSWERED] = {"failure-answered", "a failure before the answer's head is answered "
                                              "with 502 or 504, not with a bare end"},
    [TRUNCATED_NEVER_COMPLETED] = {"truncated-never-completed",
                                   "what was cut at its source is never complete at its sink"},
    [NO_REPEAT_OF_PROCESSED] = {"no-repeat-of-processed",
                                "no request is repeated once an answer to it or its body began, "
                                "nor after a fresh connection"},
    [CREDIT] = {"credit", "of one direction weir holds at most 60 KiB, of one that comes "
                          "over HTTP/2 1 MiB, and grants no more"},
    [CARRIER_USE] = {"carrier-use", "weir writes only inside produce(), and nothing after the end"},
    [LOGGED_ONCE] = {"logged-once", "each exchange is in the access log once, with the status that "
                                    "its client got"},
    [EVERY_EXCHANGE_ENDS] = {"every-exchange-ends", "within bounded virtual time"},
    [NOTHING_LEFT] = {"nothing-left",
                      "at the end no exchange, connection, dial, query or memory is left"},
};

void violated(enum invariant invariant, uint64_t exchange, const char *format, ...)
{
    char text[8192];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    for (char *at = text; *at; at++)
        if (*at != '\n' && (*at < ' ' || *at > '~'))
            *at = '?';
    fflush(stdout);
    fprintf(stderr, "violated: %s: %s", invariant_texts[invariant].name, text);
    fprintf(stderr, "\n  at %.6f s", (double)simulation.now_us / 1e6);
    if (exchange)
        fprintf(stderr, ", exchange %" PRIu64, exchange);
    fprintf(stderr, ", seed %" PRIu64 "\n  again: sim --seed %" PRIu64 " --exchanges %" PRIu64,
            simulation.seed, simulation.seed, simulation.exchanges);
    fprintf(stderr, " --faults %s", simulation.faults ? "all" : "none");
    if (simulation.filters)
        fprintf(stderr, " --filters");
    if (!simulation.h1[0] || !simulation.h2[0])
        fprintf(stderr, " --pair %s-%s", simulation.h2[0] ? "h2" : "h1",
                simulation.h2[1] ? "h2" : "h1");
    if (simulation.broken >= 0)
        fprintf(stderr, " --break %s", invariant_texts[simulation.broken].name);
    fprintf(stderr, " --verbose | tail -n 500\n");
    _exit(1); /* not exit(): what is still allocated is of no interest any more */
}

bool sabotage(enum invariant invariant, uint32_t per_thousand)
{
    return simulation.broken == (int)invariant && dice_below(&simulation.dice, 1000) < per_thousand;
}

void happened(const char *what, uint64_t who, uint64_t value)
{
    struct dice mixer = {simulation.hash ^ simulation.now_us ^ who << 40 ^ value << 16 ^
                         (uint64_t)what[0]};
    simulation.hash = dice_roll(&mixer);
    if (simulation.verbose)
        printf("%14.6f %-36s %8" PRIu64 " %10" PRIu64 "\n", (double)simulation.now_us / 1e6, what,
               who, value);
}
