/* codecs/h2/guard.c - what a peer may not do, or only so often: the line and the count for each */
#include "codecs/h2/guard.h"

#include <string.h>

#include "abi/services.h"
#include "codecs/h2/connection.h"

enum { MINUTE_MS = 60000 };

static const weir_metrics_host *metrics;
static uint32_t metric;

static const struct {
    weir_string name;
    uint32_t level;
    weir_string line;
} offences[H2_OFFENCES] = {
    [H2_RESETS] = {WEIR_STRING("resets"), WEIR_LOG_WARNING,
                   WEIR_STRING("an HTTP/2 connection is ended: more streams were reset than "
                               "limits.resets")},
    [H2_CONTROL] = {WEIR_STRING("control_frames"), WEIR_LOG_WARNING,
                    WEIR_STRING("an HTTP/2 connection is ended: more frames came that carry "
                                "nothing than limits.control_frames")},
    [H2_SLOW_HEAD] = {WEIR_STRING("head_timeout"), WEIR_LOG_INFO,
                      WEIR_STRING("an HTTP/2 connection is ended: a header section, or the first "
                                  "SETTINGS, did not come within timeouts.head")},
    [H2_STALL] = {WEIR_STRING("stall"), WEIR_LOG_INFO,
                  WEIR_STRING("an HTTP/2 connection is ended: nothing of complete answers was "
                              "taken for 30 seconds")},
    [H2_CONTINUATIONS] = {WEIR_STRING("continuations"), WEIR_LOG_WARNING,
                          WEIR_STRING("an HTTP/2 connection is ended: too many CONTINUATION frames "
                                      "came for one header section")},
    [H2_FLOOD] = {WEIR_STRING("flood"), WEIR_LOG_WARNING,
                  WEIR_STRING("an HTTP/2 connection is ended: too many answers to PING and "
                              "SETTINGS were not read")},
    [H2_ERROR] = {WEIR_STRING("error"), WEIR_LOG_INFO,
                  WEIR_STRING("an HTTP/2 connection is ended: its peer broke the protocol")},
};

void h2_guard_start(void)
{
    static const char *const labels[] = {"reason"};
    static const weir_metric definition = {
        .size = sizeof definition,
        .kind = WEIR_COUNTER,
        .name = "h2_calmed_total",
        .help = "HTTP/2 connections that were ended for what their peer did, by reason.",
        .labels = labels,
        .label_count = 1,
        .series_most = H2_OFFENCES};
    metrics = h2_host->query(h2_host, "weir.metrics/0");
    if (metrics && metrics->define(h2_host, &definition, &metric) != WEIR_OK)
        metrics = NULL;
}

static uint32_t limit_of(const weir_limits *limits, enum h2_offence offence)
{
    return offence == H2_RESETS ? limits->resets : limits->control_frames;
}

void h2_guard_tell(enum h2_offence offence)
{
    h2_host->log(h2_host, offences[offence].level, offences[offence].line);
    if (metrics)
        metrics->add(metric, 1, &offences[offence].name);
}

static void end(weir_connection *connection, enum h2_offence offence)
{
    struct h2 *h2 = h2_of(connection);
    h2->why = WEIR_LIMIT_REACHED;
    nghttp2_session_terminate_session(h2->session, NGHTTP2_ENHANCE_YOUR_CALM);
    h2_guard_tell(offence);
}

void h2_guard_count(weir_connection *connection, enum h2_offence offence)
{
    struct h2_guard *guard = &h2_of(connection)->guard;
    uint32_t most = limit_of(connection->limits, offence);
    uint64_t now_ms = h2_now_ms();
    if (now_ms - guard->since_ms >= MINUTE_MS)
        *guard = (struct h2_guard){.since_ms = now_ms};
    if (++guard->counts[offence] == most + 1 && most)
        end(connection, offence);
}
