/* tests/fuzz/request.c - any bytes from a client: the client's side of h1 with a core that is
 * played
 *
 * The first two bytes are the seed of everything that happens around the others: how reads cut
 * them, what core does meanwhile. Three runs each: in reads as large as the credit allows; cut
 * anywhere, which must not make a difference to what is received and written; and with early
 * answers, resets, ends and timeouts, where nothing but the contract holds. */
#include "tests/fuzz/h1_peer.h"

enum { MOST = FAKE_CHANNELS / 2 }; /* requests in a run; as many may be begun already */

/* --- what must always hold */

/* Bytes of the peer are with a channel, kept for later, or were granted: none is lost. */
static void check_credit(void)
{
    const struct h1 *h1 = h1_of(&fake.public);
    size_t owed = 0;
    for (uint32_t i = 0; i < fake.begun; i++)
        owed += fake.channels[i].open ? fake.channels[i].owed : 0;
    if (!fake.closing)
        CHECK(fake.carrier_credit + owed + h1->rest.length - h1->granted_before == WEIR_CREDIT);
}

/* A head that was understood and is written again is understood as the same one. */
static void check_written_again(const weir_head *head)
{
    static llhttp_t parser;
    const struct h1_framing_lines no_lines = {0};
    const struct h1_head *again;
    struct output output = {0};
    bool absolute = head->scheme.length, connect = head->kind == WEIR_TUNNEL;
    if (connect || head->kind == WEIR_MALFORMED_REQUEST ||
        (absolute && head->version.bytes[2] == '0'))
        return;
    h1_write_request(fake_host(), &output, head, &no_lines);
    const weir_slice *slice = output_slices(&output);
    enum h1_parsed parsed =
        h1_parse_request(&parser, &wide_limits, slice->bytes, slice->length, &again);
    if (head->version.bytes[2] == '1' || parsed == H1_DONE) { /* the version may ask for Host */
        CHECK(parsed == H1_DONE && again->consumed == slice->length);
        CHECK(equal(head->method, again->head.method) && equal(head->path, again->head.path));
        CHECK(head->content_length == again->head.content_length);
        check_same_fields(head, &again->head);
    }
    output_clear(fake_host(), &output);
}

/* --- a core that answers each request when it is whole */

static struct fake_channel *current(void)
{
    struct fake_channel *last = fake.begun ? &fake.channels[fake.begun - 1] : NULL;
    return last && last->open ? last : NULL;
}

static weir_head response(int64_t content_length)
{
    return (weir_head){.size = sizeof(weir_head),
                       .kind = WEIR_REQUEST,
                       .status = 200,
                       .reason = WEIR_STRING("OK"),
                       .content_length = content_length};
}

static void step_core(void)
{
    struct fake_channel *channel = current();
    if (!channel)
        return;
    fake_consume(channel, channel->owed);
    if (!channel->ended && !channel->error && !channel->failed)
        return; /* a tunnel, too, is refused at its end: what comes before is its bytes */
    static const weir_field field = {WEIR_STRING("Content-Length"), WEIR_STRING("3")};
    weir_head head = response(3);
    head.fields = &field;
    head.count = 1;
    check_written_again(&channel->head->view);
    fake_send_head(channel, &head, 0);
    fake_send(channel, "ok\n", 3, WEIR_END);
    fake_let_go(channel);
}

/* Until there is nothing to do but to wait for the client. */
static void settle(void)
{
    uint32_t begun;
    do {
        begun = fake.begun;
        step_core();
        fake_turn();
        fake_step();
    } while (fake.begun != begun && fake.begun < MOST);
}

/* All bytes, each read as large as told; 0: anything from 1 byte on. */
static void run(const uint8_t *data, size_t size, size_t piece)
{
    fake_open(WEIR_CLIENT_SIDE);
    for (size_t at = 0; at < size && !fake.closing && fake.begun < MOST;) {
        size_t length = piece ? piece : dice_size(&dice, 300);
        length = fake_least(length, size - at);
        at += fake_feed((const char *)data + at, length, length);
        check_credit();
        check_kept_head();
        settle();
        check_credit();
    }
    fake_end(WEIR_END_CLEAN);
    settle();
    CHECK(!current() || fake.begun >= MOST);
}

/* --- what a run leaves, to compare it */

struct result {
    uint32_t begun;
    uint64_t hash;
    bool closing;
    struct fake_bytes output;
};

static struct result take_result(void)
{
    struct result result = {.begun = fake.begun, .closing = fake.closing, .output = fake.output};
    for (uint32_t i = 0; i < fake.begun; i++) {
        const struct fake_channel *channel = &fake.channels[i];
        const weir_head *head = &channel->head->view;
        uint32_t numbers[] = {head->kind, (uint32_t)head->error, head->flags,
                              (uint32_t)channel->error, channel->ended};
        result.hash = mix(result.hash, numbers, sizeof numbers);
        result.hash = mix(result.hash, head->method.bytes, head->method.length);
        result.hash = mix(result.hash, head->authority.bytes, head->authority.length);
        result.hash = mix(result.hash, head->path.bytes, head->path.length);
        result.hash = mix_fields(result.hash, channel->head);
        result.hash = mix_fields(result.hash, channel->trailers);
        result.hash = mix(result.hash, channel->body.bytes, channel->body.length);
    }
    fake.output = (struct fake_bytes){0};
    return result;
}

/* The bodies are parts of what came, in its order. */
static void check_bodies(const uint8_t *data, size_t size)
{
    size_t at = 0;
    for (uint32_t i = 0; i < fake.begun; i++)
        for (size_t k = 0; k < fake.channels[i].body.length; k++) {
            while (at < size && data[at] != (uint8_t)fake.channels[i].body.bytes[k])
                at++;
            CHECK(at < size);
            at++;
        }
}

/* One answer for each exchange, whole, and nothing else. */
static void check_answers(void)
{
    static llhttp_t parser;
    size_t at = 0;
    if (fake.begun >= MOST)
        return;
    for (uint32_t i = 0; i < fake.begun; i++) {
        const struct h1_head *answer;
        CHECK(fake.channels[i].sent_end);
        bool head = equal(fake.channels[i].head->view.method, WEIR_STRING("HEAD"));
        const uint8_t *bytes = (const uint8_t *)fake.output.bytes + at;
        CHECK(h1_parse_response(&parser, &fake.limits, head, bytes, fake.output.length - at,
                                &answer) == H1_DONE);
        CHECK(answer->head.status == 200);
        at += answer->consumed;
        if (head)
            continue;
        CHECK(answer->framing == H1_LENGTH && answer->head.content_length == 3);
        CHECK(fake.output.length - at >= 3 && !memcmp(fake.output.bytes + at, "ok\n", 3));
        at += 3;
    }
    CHECK(at == fake.output.length);
}

static void compare_runs(const uint8_t *data, size_t size)
{
    run(data, size, WEIR_CREDIT);
    check_bodies(data, size);
    check_answers();
    struct result whole = take_result();
    fake_gone();
    run(data, size, dice_percent(&dice, 20) ? 1 : 0);
    check_answers();
    struct result cut = take_result();
    fake_gone();
    if (whole.begun < MOST && cut.begun < MOST) {
        CHECK(whole.begun == cut.begun && whole.hash == cut.hash && whole.closing == cut.closing);
        CHECK(whole.output.length == cut.output.length);
        CHECK(!whole.output.length ||
              !memcmp(whole.output.bytes, cut.output.bytes, cut.output.length));
    }
    free(whole.output.bytes);
    free(cut.output.bytes);
}

/* --- anything may happen */

static void begin_any_answer(struct fake_channel *channel)
{
    weir_head head = response(dice_percent(&dice, 50) ? (int64_t)dice_below(&dice, 3000) : -1);
    bool tunnel = channel->head->view.kind == WEIR_TUNNEL || channel->head->view.protocol.length;
    if (dice_percent(&dice, 30)) {
        weir_head hint = {.size = sizeof hint, .status = 103, .content_length = -1};
        fake_send_interim(channel, &hint);
    }
    if (tunnel && dice_percent(&dice, 50)) {
        head.kind = WEIR_TUNNEL;
        head.content_length = -1;
    }
    if (dice_percent(&dice, 10))
        head.status = 304;
    uint32_t flags = dice_percent(&dice, 10) ? WEIR_LAST : 0;
    bool ends = head.kind != WEIR_TUNNEL && head.content_length <= 0 && dice_percent(&dice, 50);
    fake_send_head(channel, &head, flags | (ends ? WEIR_END : 0));
}

static void send_any(struct fake_channel *channel)
{
    static char body[5000];
    const weir_field fields[] = {{WEIR_STRING("X"), WEIR_STRING("y")}};
    if (channel->sent_end || channel->failed)
        return;
    if (dice_percent(&dice, 10))
        fake_send_trailers(channel, fields, 1);
    else
        fake_send(channel, body, dice_below(&dice, sizeof body),
                  dice_percent(&dice, 40) ? WEIR_END : 0);
}

static void any_step_of_core(void)
{
    struct fake_channel *channel = current();
    if (!channel)
        return;
    fake_consume(channel, dice_below(&dice, channel->owed + 1));
    if (channel->failed || dice_percent(&dice, 3))
        fake_reset(channel, WEIR_CANCELLED);
    else if (channel->sent_end && dice_percent(&dice, 50))
        fake_let_go(channel);
    else if (!channel->answering && dice_percent(&dice, 30))
        begin_any_answer(channel);
    else if (channel->answering)
        send_any(channel);
}

static void any_step(const uint8_t *data, size_t size, size_t *at)
{
    static const uint32_t hows[] = {WEIR_END_CLEAN, WEIR_END_CLEAN, WEIR_END_TRUNCATED,
                                    WEIR_END_RESET, WEIR_END_TIMEOUT};
    static bool ended;
    ended &= *at != 0;
    uint64_t what = dice_below(&dice, 100);
    if (what < 40 && *at < size && !ended)
        *at += fake_feed((const char *)data + *at, fake_least(dice_size(&dice, 2000), size - *at),
                         2000);
    else if (what < 75)
        any_step_of_core();
    else if (what < 82)
        fake_produce();
    else if (what < 88)
        fake_sent();
    else if (what < 96)
        fake_step();
    else if (what < 97)
        fake_timeout();
    else if (what < 98)
        fake_drain();
    else if (!ended && *at && (*at == size || dice_percent(&dice, 10))) {
        ended = true;
        fake_end(hows[dice_below(&dice, 5)]);
    }
}

static void run_anyhow(const uint8_t *data, size_t size)
{
    size_t at = 0;
    fake_open(WEIR_CLIENT_SIDE);
    for (int i = 0; i < 1500 && !fake.closing && fake.begun < MOST; i++) {
        any_step(data, size, &at);
        check_credit();
        check_kept_head();
    }
    fake_produce();
    fake_gone();
}
