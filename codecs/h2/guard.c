/* codecs/h2/guard.c - what a peer may do that costs it little and others much, so often a minute */
#include "codecs/h2/guard.h"

#include <string.h>

#include "abi/services.h"
#include "codecs/h2/connection.h"

enum { MINUTE_MS = 60000 };

static const weir_asynchronous_host *asynchronous;
static const weir_metrics_host *metrics;
static uint32_t metric;

static const weir_string names[H2_OFFENCES] = {WEIR_STRING("resets"),
                                               WEIR_STRING("control_frames")};

void h2_guard_start(void)
{
    static const char *const labels[] = {"reason"};
    static const weir_metric definition = {
        .size = sizeof definition,
        .kind = WEIR_COUNTER,
        .name = "h2_calmed_total",
        .help = "HTTP/2 connections that were ended because their peer did something too often.",
        .labels = labels,
        .label_count = 1,
        .series_most = H2_OFFENCES};
    asynchronous = h2_host->query(h2_host, "weir.asynchronous/0");
    metrics = h2_host->query(h2_host, "weir.metrics/0");
    if (metrics && metrics->define(h2_host, &definition, &metric) != WEIR_OK)
        metrics = NULL;
}

static uint32_t limit_of(const weir_limits *limits, enum h2_offence offence)
{
    return offence == H2_RESETS ? limits->resets : limits->control_frames;
}

static void end(weir_connection *connection, enum h2_offence offence)
{
    static const weir_string lines[H2_OFFENCES] = {
        WEIR_STRING("an HTTP/2 connection is ended: more streams were reset than limits.resets"),
        WEIR_STRING("an HTTP/2 connection is ended: more frames came that carry nothing than "
                    "limits.control_frames")};
    struct h2 *h2 = h2_of(connection);
    h2->why = WEIR_LIMIT_REACHED;
    nghttp2_session_terminate_session(h2->session, NGHTTP2_ENHANCE_YOUR_CALM);
    h2_host->log(h2_host, WEIR_LOG_WARNING, lines[offence]);
    if (metrics)
        metrics->add(metric, 1, &names[offence]);
}

void h2_guard_count(weir_connection *connection, enum h2_offence offence)
{
    struct h2_guard *guard = &h2_of(connection)->guard;
    uint32_t most = limit_of(connection->limits, offence);
    uint64_t now_ms = asynchronous ? asynchronous->now_ms() : 0;
    if (now_ms - guard->since_ms >= MINUTE_MS)
        *guard = (struct h2_guard){.since_ms = now_ms};
    if (++guard->counts[offence] == most + 1 && most)
        end(connection, offence);
}
