/* core/process/page_connections.c - the connections that the workers have now, as JSON
 *
 * Each worker writes its own in its own turn; the main thread puts the parts together. */
#include "core/process/pages.h"

#include <inttypes.h>
#include <string.h>

#include "core/base/memory.h"
#include "core/base/string.h"
#include "core/connection/connection.h"
#include "core/exchange/exchange.h"
#include "core/io/loop.h"

enum {
    LISTED_MOST = 10000, /* connections, of all workers */
    METHOD_MOST = 32,    /* bytes of what peers sent, so that they cannot make the page large */
    AUTHORITY_MOST = 256
};

struct part {
    struct text text;
    uint32_t most;         /* to be listed */
    uint32_t open, listed; /* connections */
};

static const char *state_of(const struct exchange *x)
{
    if (x->tunnel)
        return "tunnel";
    if (x->response_sent)
        return "answering";
    switch (x->progress) {
    case PROGRESS_BEGUN:
        return "begun";
    case PROGRESS_ROUTED:
    case PROGRESS_ACQUIRING:
    case PROGRESS_CONNECTED:
        return "connecting";
    case PROGRESS_SENT:
        return "waiting";
    case PROGRESS_ANSWERED:
        break;
    }
    return "answering";
}

static void add_cut(struct text *text, const char *key, weir_string value, size_t most)
{
    if (value.length > most)
        value.length = most;
    text_format(text, "\"%s\":\"", key);
    text_escape(text, value, ESCAPE_JSON);
    text_add(text, WEIR_STRING("\","));
}

static void add_exchange(struct text *text, const struct exchange *x)
{
    const weir_head *head = &x->request->view;
    text_add(text, WEIR_STRING("{"));
    add_cut(text, "method", head->method, METHOD_MOST);
    add_cut(text, "authority", head->authority, AUTHORITY_MOST);
    text_format(text,
                "\"state\":\"%s\",\"age_ms\":%" PRIu64 ",\"request_bytes\":%" PRIu64
                ",\"response_bytes\":%" PRIu64 "}",
                state_of(x), (loop_now_us(x->worker->loop) - x->start_us) / 1000,
                x->client.received_bytes, x->client.sent_bytes);
}

static void add_exchanges(struct text *text, const struct connection *connection)
{
    const struct link *link = connection->channels.next;
    for (; link != &connection->channels; link = link->next) {
        const struct channel *channel = CONTAINER(link, struct channel, link);
        if (link != connection->channels.next)
            text_add(text, WEIR_STRING(","));
        add_exchange(text, CONTAINER(channel->owner, struct exchange, mark));
    }
}

static void add_connection(struct text *text, const struct connection *connection)
{
    char peer[ADDRESS_TEXT_BYTES];
    uint64_t now_ms = loop_now_ms(connection->worker->loop);
    text_format(text,
                "{\"worker\":%" PRIu32 ",\"side\":\"%s\",\"peer\":\"%s\",\"protocol\":\"%s\""
                ",\"age_ms\":%" PRIu64 ",\"closing\":%s,\"exchanges\":[",
                connection->worker->index,
                connection->public.side == WEIR_CLIENT_SIDE ? "client" : "server",
                address_format(&connection->carrier->facts.peer, peer), connection->protocol->name,
                now_ms - connection->opened_ms, connection->closing ? "true" : "false");
    add_exchanges(text, connection);
    text_add(text, WEIR_STRING("]}"));
}

static void describe(struct worker *worker, void *item)
{
    struct part *part = item;
    struct link *link = worker->connections.next;
    for (; link != &worker->connections; link = link->next) {
        if (part->open++ >= part->most)
            continue;
        if (part->listed++)
            text_add(&part->text, WEIR_STRING(",\n"));
        add_connection(&part->text, CONTAINER(link, struct connection, link));
    }
}

static void release(void *item)
{
    text_deinit(&((struct part *)item)->text);
}

static void join(struct text *text, struct part *parts, uint32_t count)
{
    uint32_t open = 0, listed = 0;
    text_add(text, WEIR_STRING("{\"connections\":[\n"));
    for (uint32_t i = 0; i < count; i++) {
        if (listed && parts[i].listed)
            text_add(text, WEIR_STRING(",\n"));
        text_add(text, text_string(&parts[i].text));
        open += parts[i].open;
        listed += parts[i].listed;
        release(&parts[i]);
    }
    text_format(text, "\n],\"open\":%" PRIu32 ",\"listed\":%" PRIu32 "}\n", open, listed);
}

bool page_connections(struct process *process, struct text *text)
{
    uint32_t count = process->crew.count;
    struct part *parts = memory_zeroed(count * sizeof *parts);
    for (uint32_t i = 0; i < count; i++)
        parts[i].most = LISTED_MOST / count;
    if (!crew_ask(&process->crew, describe, release, parts, sizeof *parts, CREW_ASK_SECONDS))
        return false;
    join(text, parts, count);
    memory_free(parts);
    return true;
}
