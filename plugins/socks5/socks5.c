/* plugins/socks5/socks5.c - SOCKS5 (RFC 1928) from clients: START HERE
 *
 * Greeting, perhaps a name and password (RFC 1929), a request; then an exchange like CONNECT's,
 * whose answer becomes a reply. What comes behind the request belongs to the tunnel. */
#include <string.h>

#include "abi/protocol.h"
#include "plugins/socks5/message.h"
#include "plugins/socks5/queue.h"

enum phase {
    PHASE_GREETING,
    PHASE_CREDENTIALS,
    PHASE_JUDGING, /* filters look at the credentials; what comes meanwhile waits */
    PHASE_REQUEST,
    PHASE_TUNNEL, /* also before its reply: clients may send early */
    PHASE_REFUSED /* nothing more is understood, and nothing sent but the reply */
};

enum { NO_REPLY = 255 }; /* for who has not come so far that there is one */

struct socks5 {
    weir_channel *channel; /* NULL: not yet, or over */
    enum phase phase;
    weir_slice rest;     /* received and not understood yet */
    size_t room;         /* of its buffer, from its first byte on */
    struct queue output; /* not given to the carrier yet */
    size_t waiting;      /* tunnel bytes in it */
    size_t passed;       /* tunnel bytes with the carrier that have not left */
    uint8_t refusal;     /* of a request that was not understood: the reply, or NO_REPLY */
    bool ended;          /* the client's direction is over */
    bool end_wanted;     /* half-close behind the output */
};

static const weir_host *host;
static const weir_protocol_host *api;

static struct socks5 *of(const weir_connection *connection)
{
    return connection->state;
}

/* --- what weir says */

/* The bytes are static. */
static void say(weir_connection *connection, const uint8_t *bytes, size_t count)
{
    queue_push(host, &of(connection)->output, (weir_slice){bytes, count, NULL});
    api->want_produce(connection, 0);
}

static void say_method(weir_connection *connection, uint8_t method)
{
    static const uint8_t none[] = {5, 0}, password[] = {5, 2}, unacceptable[] = {5, 0xff};
    say(connection, method == 0 ? none : method == 2 ? password : unacceptable, 2);
}

static void say_verdict(weir_connection *connection, bool good)
{
    static const uint8_t success[] = {1, 0}, failure[] = {1, 1};
    say(connection, good ? success : failure, 2);
}

/* Where weir connects from is not said: 0.0.0.0:0. */
static void say_reply(weir_connection *connection, uint8_t reply)
{
#define REPLY(code)                                                                                \
    {                                                                                              \
        5, code, 0, 1, 0, 0, 0, 0, 0, 0                                                            \
    }
    static const uint8_t replies[][10] = {REPLY(0), REPLY(1), REPLY(2), REPLY(3), REPLY(4),
                                          REPLY(5), REPLY(6), REPLY(7), REPLY(8)};
#undef REPLY
    if (reply != NO_REPLY)
        say(connection, replies[reply], sizeof replies[reply]);
}

/* What an answer of HTTP's means here: why weir failed, when it did, or else its status. */
static uint8_t reply_for(const weir_head *head)
{
    switch (head->error) {
    case WEIR_CONNECTION_REFUSED:
        return REPLY_REFUSED;
    case WEIR_DNS_ERROR:
        return REPLY_HOST_UNREACHABLE;
    case WEIR_UNROUTABLE:
        return REPLY_NETWORK_UNREACHABLE;
    case WEIR_CONNECTION_TIMEOUT:
        return REPLY_EXPIRED;
    default:
        break;
    }
    switch (head->status) {
    case 401:
    case 403:
    case 407:
        return REPLY_NOT_ALLOWED;
    case 504:
        return REPLY_EXPIRED;
    default:
        return REPLY_FAILURE;
    }
}

/* --- what the client says */

static void begin(weir_connection *connection, enum phase phase, const weir_head *head)
{
    struct socks5 *socks5 = of(connection);
    socks5->phase = phase;
    api->deadline(connection, 0);
    socks5->channel = api->begin(connection, head);
    api->grant(socks5->channel, WEIR_CREDIT);
}

/* There is no request that could go anywhere: the exchange is for the log. */
static void refuse(weir_connection *connection, weir_result error, uint8_t reply)
{
    of(connection)->refusal = reply;
    begin(connection, PHASE_REFUSED,
          &(weir_head){.size = sizeof(weir_head),
                       .kind = WEIR_MALFORMED_REQUEST,
                       .version = WEIR_STRING("SOCKS/5"),
                       .error = error,
                       .flags = WEIR_END,
                       .content_length = -1});
}

/* The server's bytes have left, or were dropped. All the room there is is the carrier's. */
static void report_sent(weir_channel *channel, size_t bytes)
{
    api->sent(channel, bytes);
    api->grant(channel, bytes);
}

/* The protocol's own bytes are granted again at once. */
static void consume(weir_connection *connection, weir_slice *slice, size_t bytes)
{
    slice->bytes += bytes;
    slice->length -= bytes;
    api->carrier_grant(connection, 0, bytes);
}

static bool authenticates(const weir_connection *connection)
{
    return WEIR_HAS(weir_protocol_host, api, authenticates) && api->authenticates(connection);
}

static void choose_method(weir_connection *connection, const struct socks5_greeting *greeting)
{
    bool asks = authenticates(connection);
    if (asks ? greeting->password : greeting->none) {
        of(connection)->phase = asks ? PHASE_CREDENTIALS : PHASE_REQUEST;
        say_method(connection, asks ? 2 : 0);
    } else {
        say_method(connection, 0xff);
        refuse(connection, asks ? WEIR_UNAUTHENTICATED : WEIR_NOT_IMPLEMENTED, NO_REPLY);
    }
}

static bool receive_greeting(weir_connection *connection, weir_slice *slice)
{
    struct socks5_greeting greeting;
    enum socks5_parsed parsed = socks5_parse_greeting(slice->bytes, slice->length, &greeting);
    if (parsed == SOCKS5_BROKEN)
        refuse(connection, WEIR_MALFORMED, NO_REPLY);
    if (parsed == SOCKS5_DONE) {
        consume(connection, slice, greeting.consumed);
        choose_method(connection, &greeting);
    }
    return parsed != SOCKS5_MORE;
}

static void authenticate(weir_connection *connection, const struct socks5_credentials *found)
{
    weir_credentials credentials = {.size = sizeof credentials,
                                    .scheme = WEIR_STRING("password"),
                                    .name = found->name,
                                    .secret = found->secret};
    of(connection)->phase = PHASE_JUDGING;
    api->deadline(connection, 0);
    api->authenticate(connection, &credentials);
}

static bool receive_credentials(weir_connection *connection, weir_slice *slice)
{
    struct socks5_credentials found;
    enum socks5_parsed parsed = socks5_parse_credentials(slice->bytes, slice->length, &found);
    if (parsed == SOCKS5_BROKEN) {
        say_verdict(connection, false);
        refuse(connection, WEIR_MALFORMED, NO_REPLY);
    }
    if (parsed == SOCKS5_DONE) {
        consume(connection, slice, found.consumed);
        authenticate(connection, &found);
    }
    return parsed != SOCKS5_MORE;
}

static void on_request(weir_connection *connection, const struct socks5_request *request)
{
    WEIR_TRACE(host);
    begin(connection, PHASE_TUNNEL,
          &(weir_head){.size = sizeof(weir_head),
                       .kind = WEIR_TUNNEL,
                       .version = WEIR_STRING("SOCKS/5"),
                       .method = WEIR_STRING("CONNECT"),
                       .authority = {request->authority, strlen(request->authority)},
                       .content_length = -1});
}

static bool receive_request(weir_connection *connection, weir_slice *slice)
{
    struct socks5_request request;
    enum socks5_parsed parsed = socks5_parse_request(slice->bytes, slice->length, &request);
    if (parsed == SOCKS5_BROKEN)
        refuse(connection, request.reply == REPLY_FAILURE ? WEIR_MALFORMED : WEIR_NOT_IMPLEMENTED,
               (uint8_t)request.reply);
    if (parsed == SOCKS5_DONE) {
        consume(connection, slice, request.consumed);
        on_request(connection, &request);
    }
    return parsed != SOCKS5_MORE;
}

/* One piece of what is there; false: nothing more can be done with it now. */
static bool receive_some(weir_connection *connection, weir_slice *slice)
{
    struct socks5 *socks5 = of(connection);
    switch (socks5->phase) {
    case PHASE_GREETING:
        return receive_greeting(connection, slice);
    case PHASE_CREDENTIALS:
        return receive_credentials(connection, slice);
    case PHASE_JUDGING:
        return false;
    case PHASE_REQUEST:
        return receive_request(connection, slice);
    case PHASE_TUNNEL:
        api->deliver_data(socks5->channel, slice, 0);
        slice->length = 0;
        return false;
    case PHASE_REFUSED:
        consume(connection, slice, slice->length);
        return false;
    }
    return false;
}

static void receive(weir_connection *connection, weir_slice *slice)
{
    while (slice->length && receive_some(connection, slice))
        continue;
}

/* --- what waits until more has come */

static void drop_rest(struct socks5 *socks5)
{
    host->buffer_release(socks5->rest.owner);
    socks5->rest = (weir_slice){0};
    socks5->room = 0;
}

/* Grows by doubling, so that a byte at a time costs a constant each; credit bounds it. */
static void grow_rest(struct socks5 *socks5, size_t length)
{
    uint8_t *bytes;
    size_t room = 64;
    while (room < length)
        room *= 2;
    weir_slice grown = {.length = socks5->rest.length, .owner = host->buffer_new(room, &bytes)};
    if (grown.length)
        memcpy(bytes, socks5->rest.bytes, grown.length);
    grown.bytes = bytes;
    drop_rest(socks5);
    socks5->rest = grown;
    socks5->room = room;
}

static void keep(struct socks5 *socks5, const weir_slice *more)
{
    size_t length = socks5->rest.length + more->length;
    if (length > socks5->room)
        grow_rest(socks5, length);
    memcpy((uint8_t *)socks5->rest.bytes + socks5->rest.length, more->bytes, more->length);
    socks5->rest.length = length;
}

static void receive_rest(weir_connection *connection)
{
    struct socks5 *socks5 = of(connection);
    weir_slice left = socks5->rest;
    receive(connection, &left);
    if (!left.length) {
        drop_rest(socks5);
        return;
    }
    socks5->room -= (size_t)(left.bytes - socks5->rest.bytes);
    socks5->rest = left;
}

/* --- the carrier's events */

/* The first byte says the version. */
static int32_t on_sniff(const uint8_t *bytes, size_t count, uint32_t end)
{
    if (!count)
        return end ? WEIR_SNIFF_NO : WEIR_SNIFF_MORE;
    return bytes[0] == 5 ? WEIR_SNIFF_YES : WEIR_SNIFF_NO;
}

static void on_open(weir_connection *connection)
{
    api->deadline(connection, connection->limits->head_ms);
}

static void on_data(weir_connection *connection, uint64_t stream, const weir_slice *slice)
{
    struct socks5 *socks5 = of(connection);
    weir_slice left = *slice;
    (void)stream;
    WEIR_TRACE(host);
    if (socks5->rest.length) {
        keep(socks5, slice);
        receive_rest(connection);
        return;
    }
    receive(connection, &left);
    if (left.length)
        keep(socks5, &left);
}

/* Nobody is served, and nobody will be: what there is of a request is not all of it. */
static void end_early(weir_connection *connection)
{
    if (!of(connection)->channel && of(connection)->phase != PHASE_JUDGING)
        api->close(connection, WEIR_CLOSE_FLUSH, WEIR_OK);
}

static void on_end(weir_connection *connection, uint64_t stream, uint32_t how)
{
    struct socks5 *socks5 = of(connection);
    weir_slice nothing = {0};
    (void)stream;
    socks5->ended = true;
    if (how != WEIR_END_CLEAN && socks5->channel)
        api->fail(socks5->channel, WEIR_RESET, 0);
    else if (how != WEIR_END_CLEAN)
        api->close(connection, WEIR_CLOSE_RESET, WEIR_RESET);
    else if (socks5->channel && socks5->phase == PHASE_TUNNEL)
        api->deliver_data(socks5->channel, &nothing, WEIR_END);
    else
        end_early(connection);
}

static void on_produce(weir_connection *connection, uint64_t stream, size_t room)
{
    struct socks5 *socks5 = of(connection);
    (void)room; /* the credit granted bounds what is here */
    api->write(connection, stream, socks5->output.slices, socks5->output.count,
               socks5->end_wanted ? WEIR_END : 0);
    queue_clear(host, &socks5->output);
    socks5->passed += socks5->waiting;
    socks5->waiting = 0;
}

static void on_sent(weir_connection *connection, uint64_t stream)
{
    struct socks5 *socks5 = of(connection);
    size_t left = socks5->passed;
    (void)stream;
    socks5->passed = 0;
    if (socks5->channel && left)
        report_sent(socks5->channel, left);
}

/* The head time limit: for all that comes before the exchange. */
static void on_timeout(weir_connection *connection)
{
    struct socks5 *socks5 = of(connection);
    if (socks5->channel || socks5->phase == PHASE_JUDGING)
        return;
    api->carrier_grant(connection, 0, socks5->rest.length);
    drop_rest(socks5);
    refuse(connection, WEIR_HEAD_TIMEOUT,
           socks5->phase == PHASE_REQUEST ? REPLY_FAILURE : NO_REPLY);
}

/* A client that has come this far has its request on the way. */
static void on_nothing(weir_connection *connection)
{
    (void)connection;
}

static void on_close(weir_connection *connection)
{
    drop_rest(of(connection));
    queue_clear(host, &of(connection)->output);
}

static void on_authenticated(weir_connection *connection, weir_result result)
{
    struct socks5 *socks5 = of(connection);
    say_verdict(connection, result == WEIR_OK);
    if (result != WEIR_OK) { /* RFC 1929 2 */
        api->close(connection, WEIR_CLOSE_LINGER, WEIR_UNAUTHENTICATED);
        return;
    }
    socks5->phase = PHASE_REQUEST;
    api->deadline(connection, connection->limits->head_ms);
    receive_rest(connection);
    if (socks5->ended && socks5->phase == PHASE_TUNNEL)
        api->deliver_data(socks5->channel, &(weir_slice){0}, WEIR_END);
    else if (socks5->ended)
        end_early(connection);
}

/* --- the channel: what the server, or weir, answers */

static weir_result channel_head(weir_channel *channel, const weir_head *head, uint32_t flags)
{
    weir_connection *connection = channel->connection;
    struct socks5 *socks5 = of(connection);
    (void)flags;
    WEIR_TRACE(host);
    if (socks5->phase == PHASE_TUNNEL && head->kind == WEIR_TUNNEL) {
        say_reply(connection, REPLY_SUCCEEDED);
        return WEIR_OK;
    }
    say_reply(connection, socks5->phase == PHASE_REFUSED ? socks5->refusal : reply_for(head));
    socks5->phase = PHASE_REFUSED;
    return WEIR_OK;
}

static weir_result channel_interim(weir_channel *channel, const weir_head *head)
{
    (void)channel, (void)head;
    return WEIR_UNSUPPORTED;
}

static size_t total(const weir_slice *slices, uint32_t count)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < count; i++)
        bytes += slices[i].length;
    return bytes;
}

static void channel_data(weir_channel *channel, const weir_slice *slices, uint32_t count,
                         uint32_t flags)
{
    struct socks5 *socks5 = of(channel->connection);
    size_t bytes = total(slices, count);
    if (socks5->phase == PHASE_REFUSED) { /* of an answer, a code is all that is said */
        if (bytes)
            report_sent(channel, bytes);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        queue_push(host, &socks5->output, slices[i]);
    socks5->waiting += bytes;
    socks5->end_wanted = flags & WEIR_END;
    api->want_produce(channel->connection, 0);
}

static void channel_trailers(weir_channel *channel, const weir_field *fields, uint32_t count)
{
    (void)fields, (void)count; /* bytes have none: the end remains */
    channel_data(channel, NULL, 0, WEIR_END);
}

static void channel_reset(weir_channel *channel, weir_result why)
{
    struct socks5 *socks5 = of(channel->connection);
    bool said = socks5->phase == PHASE_REFUSED; /* all there is to say */
    socks5->channel = NULL;
    api->close(channel->connection, said ? WEIR_CLOSE_LINGER : WEIR_CLOSE_RESET, why);
}

static void channel_grant(weir_channel *channel, size_t bytes)
{
    api->carrier_grant(channel->connection, 0, bytes);
}

/* What was sent still leaves; a direction of a tunnel that has not ended is aborted. */
static void channel_close(weir_channel *channel)
{
    struct socks5 *socks5 = of(channel->connection);
    bool over = socks5->end_wanted && socks5->ended;
    uint32_t how = over ? WEIR_CLOSE_FLUSH : WEIR_CLOSE_RESET;
    if (!socks5->channel)
        return; /* it was reset */
    socks5->channel = NULL;
    if (socks5->phase == PHASE_REFUSED)
        how = WEIR_CLOSE_LINGER;
    api->close(channel->connection, how, WEIR_OK);
}

/* --- the plugin */

static const weir_connection_operations connection_operations = {
    .size = sizeof connection_operations,
    .connection_state_size = sizeof(struct socks5),
    .sniff = on_sniff,
    .open = on_open,
    .data = on_data,
    .end = on_end,
    .produce = on_produce,
    .sent = on_sent,
    .wake = on_nothing,
    .timeout = on_timeout,
    .drain = on_nothing,
    .close = on_close,
    .authenticated = on_authenticated,
};

static const weir_channel_operations client_operations = {
    .size = sizeof client_operations,
    .head = channel_head,
    .interim = channel_interim,
    .data = channel_data,
    .trailers = channel_trailers,
    .reset = channel_reset,
    .grant = channel_grant,
    .close = channel_close,
};

static const weir_protocol protocol = {.size = sizeof protocol,
                                       .name = "socks5",
                                       .connection = &connection_operations,
                                       .client = &client_operations};

static weir_result load(const weir_host *given)
{
    host = given;
    api = host->query(host, "weir.protocol/0");
    return host->register_protocol(host, &protocol);
}

WEIR_PLUGIN(2, WEIR_PLUGIN_UNLOADABLE, 0, "socks5", "0.1.0", "MIT", "weir.protocol/0", load, NULL);
