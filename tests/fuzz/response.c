/* tests/fuzz/response.c - any bytes from a server: the server's side of h1 with a core that is
 * played
 *
 * The first two bytes are the seed of everything that happens around the others: what was asked,
 * how reads cut the answer, how the connection ends. Three runs each, as in request.c. */
#include "tests/fuzz/h1_peer.h"

/* --- what must always hold */

static void check_credit(const struct fake_channel *channel)
{
    const struct h1 *h1 = h1_of(&fake.public);
    bool trusted = h1->keep_alive || h1->receiving != RECEIVE_DONE; /* else what comes is dropped */
    if (!fake.closing && channel->open && trusted)
        CHECK(fake.carrier_credit + channel->owed + h1->rest.length - h1->granted_before ==
              WEIR_CREDIT);
}

/* A head that was understood and is written again is understood as the same one. */
static void check_written_again(const weir_head *head)
{
    static llhttp_t parser;
    const struct h1_framing_lines no_lines = {0};
    const struct h1_head *again;
    struct output output = {0};
    h1_write_response(fake_host(), &output, head, &no_lines);
    const weir_slice *slice = output_slices(&output);
    CHECK(h1_parse_response(&parser, &wide_limits, false, slice->bytes, slice->length, &again) ==
          H1_DONE);
    CHECK(again->consumed == slice->length && head->status == again->head.status);
    CHECK(equal(head->reason, again->head.reason));
    check_same_fields(head, &again->head);
    output_clear(fake_host(), &output);
}

/* --- one request and whatever is answered */

static struct fake_channel *ask(uint64_t what)
{
    static const char *const methods[] = {"GET", "HEAD", "POST", "GET"};
    struct fake_channel *channel = fake_attach();
    weir_head head = {.size = sizeof head,
                      .kind = WEIR_REQUEST,
                      .method = {methods[what], strlen(methods[what])},
                      .path = WEIR_STRING("/"),
                      .content_length = what == 2 ? 10 : -1};
    if (what == 3)
        head.protocol = WEIR_STRING("websocket");
    weir_result rc = fake_send_head(channel, &head, what < 2 ? WEIR_END : 0);
    CHECK(rc == WEIR_OK || rc == WEIR_REFUSED);
    if (rc == WEIR_REFUSED)
        channel->failed = WEIR_REFUSED;
    else if (what == 2)
        fake_send(channel, "0123456789", 10, dice_percent(&dice, 50) ? WEIR_END : 0);
    return channel;
}

static struct fake_channel *run(const uint8_t *data, size_t size, uint64_t what, uint32_t how,
                                size_t piece)
{
    fake_open(WEIR_SERVER_SIDE);
    struct dice before = dice; /* what is asked does not differ between runs */
    struct fake_channel *channel = ask(what);
    dice = before;
    fake_turn();
    for (size_t at = 0; at < size && channel->open && fake.carrier_credit;) {
        size_t length = fake_least(piece ? piece : dice_size(&dice, 300), size - at);
        at += fake_feed((const char *)data + at, length, length);
        check_credit(channel);
        check_kept_head();
        fake_consume(channel, channel->owed);
        check_credit(channel);
    }
    fake_end(how);
    return channel;
}

static uint64_t result_of(const struct fake_channel *channel)
{
    uint32_t numbers[] = {channel->interims,
                          channel->ended,
                          (uint32_t)channel->failed,
                          channel->unprocessed,
                          fake_spare(),
                          channel->head ? channel->head->view.status : 0,
                          channel->head ? channel->head->view.kind : 0};
    uint64_t hash = mix(0, numbers, sizeof numbers);
    hash = mix_fields(hash, channel->interim);
    hash = mix_fields(hash, channel->head);
    hash = mix_fields(hash, channel->trailers);
    return mix(hash, channel->body.bytes, channel->body.length);
}

/* The body is a part of what came, in its order; only a whole message is complete. */
static void check_body(const struct fake_channel *channel, const uint8_t *data, size_t size)
{
    size_t at = 0;
    for (size_t k = 0; k < channel->body.length; k++) {
        while (at < size && data[at] != (uint8_t)channel->body.bytes[k])
            at++;
        CHECK(at++ < size);
    }
    if (channel->head && channel->head->view.content_length > 0 && channel->body.length)
        CHECK(channel->ended ==
              (channel->body.length == (uint64_t)channel->head->view.content_length));
}

static void compare_runs(const uint8_t *data, size_t size)
{
    static const uint32_t hows[] = {WEIR_END_CLEAN, WEIR_END_CLEAN, WEIR_END_TRUNCATED,
                                    WEIR_END_RESET};
    uint64_t what = dice_below(&dice, 4);
    uint32_t how = hows[dice_below(&dice, 4)];
    const struct fake_channel *channel = run(data, size, what, how, WEIR_CREDIT);
    check_body(channel, data, size);
    if (channel->head)
        check_written_again(&channel->head->view);
    uint64_t whole = result_of(channel);
    fake_gone();
    channel = run(data, size, what, how, dice_percent(&dice, 20) ? 1 : 0);
    CHECK(result_of(channel) == whole);
    fake_gone();
}

/* --- several exchanges, and anything may happen */

static void any_step_of_core(struct fake_channel **channel)
{
    static char body[2000];
    if (!*channel || !(*channel)->open) {
        *channel = fake_spare() ? ask(dice_below(&dice, 4)) : NULL;
        return;
    }
    fake_consume(*channel, dice_below(&dice, (*channel)->owed + 1));
    if ((*channel)->failed || dice_percent(&dice, 3))
        fake_reset(*channel, WEIR_CANCELLED);
    else if ((*channel)->ended && dice_percent(&dice, 50))
        fake_let_go(*channel);
    else if (!(*channel)->sent_end && (*channel)->head)
        fake_send(*channel, body, dice_below(&dice, sizeof body),
                  dice_percent(&dice, 30) ? WEIR_END : 0);
}

static void run_anyhow(const uint8_t *data, size_t size)
{
    struct fake_channel *channel = NULL;
    size_t at = 0;
    bool ended = false;
    fake_open(WEIR_SERVER_SIDE);
    for (int i = 0; i < 800 && !fake.closing && fake.begun < FAKE_CHANNELS - 1; i++) {
        uint64_t what = dice_below(&dice, 100);
        if (what < 40 && at < size && !ended && channel)
            at += fake_feed((const char *)data + at, fake_least(dice_size(&dice, 2000), size - at),
                            2000);
        else if (what < 75)
            any_step_of_core(&channel);
        else if (what < 83)
            fake_produce();
        else if (what < 91)
            fake_sent();
        else if (what < 95)
            fake_step();
        else if (what < 96)
            fake_timeout();
        else if (what < 97)
            fake_drain();
        else if (!ended && at == size) {
            ended = true;
            fake_end(dice_percent(&dice, 50) ? WEIR_END_CLEAN : WEIR_END_RESET);
        }
        check_kept_head();
    }
    fake_produce();
    fake_gone();
}
