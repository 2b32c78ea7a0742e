/* tests/fuzz/socks5.c - any bytes from a SOCKS5 client, with a core that is played
 *
 * The first byte says what core does (whether filters ask for a password, and what they and the
 * server say), the second is the seed of how reads cut the others. Three runs each: in one piece
 * and in many, which must not make a difference to what is received and written; and with ends,
 * resets and timeouts at any time, where nothing but the contract holds. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/sim/dice.h"

static void check(bool condition, const char *text, int line)
{
    if (condition)
        return;
    fprintf(stderr, "line %d: not so: %s\n", line, text);
    abort();
}

#define CHECK(condition) check(condition, #condition, __LINE__)
#include "tests/unit/fake_protocol_host.h"

extern const weir_plugin weir_plugin_entry;

enum { ASKS = 1, ACCEPTS = 2, CONNECTS = 4 }; /* of the first byte */

static struct dice dice;
static uint8_t plan;

static struct fake_channel *current(void)
{
    return fake.begun && fake.channels[0].open ? &fake.channels[0] : NULL;
}

/* A target that core understands, and nothing that could be read as another. */
static void check_head(const weir_head *head)
{
    CHECK(fake.begun == 1);
    CHECK(head->kind == WEIR_TUNNEL || head->kind == WEIR_MALFORMED_REQUEST);
    for (size_t i = 0; i < head->authority.length; i++)
        CHECK(head->authority.bytes[i] > ' ' && head->authority.bytes[i] < 127 &&
              !strchr("/@?#%\\", head->authority.bytes[i]));
    CHECK((head->kind == WEIR_TUNNEL) == (head->authority.length > 0));
    CHECK((head->kind == WEIR_MALFORMED_REQUEST) == (head->error < 0));
}

/* The client's bytes are with the channel, kept for later, or were granted: never more than there
 * are. */
static void check_credit(void)
{
    size_t owed = current() ? current()->owed : 0;
    CHECK(fake.closing || fake.carrier_credit + owed <= WEIR_CREDIT);
}

static void begin_answer(struct fake_channel *channel)
{
    bool tunnel = channel->head->view.kind == WEIR_TUNNEL && (plan & CONNECTS);
    weir_head head = {.size = sizeof head,
                      .kind = tunnel ? WEIR_TUNNEL : WEIR_REQUEST,
                      .status = tunnel ? 200 : 502,
                      .error = tunnel ? WEIR_OK : WEIR_CONNECTION_REFUSED,
                      .content_length = -1};
    fake_send_head(channel, &head, 0);
}

/* Core answers as soon as it can, and takes all there is. */
static void play_core(void)
{
    if (fake.judging)
        fake_authenticated(plan & ACCEPTS ? WEIR_OK : WEIR_UNAUTHENTICATED);
    struct fake_channel *channel = current();
    if (!channel)
        return;
    check_head(&channel->head->view);
    if (!channel->answering) {
        begin_answer(channel);
        fake_send(channel, "hello", 5, WEIR_END);
    }
    fake_consume(channel, channel->owed);
    if (channel->head->view.kind != WEIR_TUNNEL || !(plan & CONNECTS) || channel->ended)
        fake_let_go(channel);
}

static void open_connection(void)
{
    CHECK(weir_plugin_entry.load(fake_host()) == WEIR_OK);
    fake_open_protocol(fake_registered, WEIR_CLIENT_SIDE);
    fake.authenticates = plan & ASKS;
}

/* All bytes and the end, and then what core does about them. */
static void run_whole(const uint8_t *data, size_t size, bool cut)
{
    size_t at = 0, before;
    open_connection();
    do {
        before = at;
        size_t piece = cut ? 1 + dice_below(&dice, 5) : size;
        at += fake_feed((const char *)data + at, size - at, piece);
        play_core();
        fake_turn();
        check_credit();
    } while (at < size && at > before && !fake.closing);
    fake_end(WEIR_END_CLEAN);
    play_core();
    fake_turn();
    CHECK(fake.closing);
}

struct result {
    struct fake_bytes output, body;
    uint32_t how;
    bool begun;
};

static struct result take_result(void)
{
    struct result result = {fake.output, fake.channels[0].body, fake.close_how, fake.begun != 0};
    fake.output = fake.channels[0].body = (struct fake_bytes){0};
    fake_gone();
    return result;
}

static void check_same(const struct fake_bytes *a, const struct fake_bytes *b)
{
    CHECK(a->length == b->length && (!a->length || !memcmp(a->bytes, b->bytes, a->length)));
}

static void compare_runs(const uint8_t *data, size_t size)
{
    run_whole(data, size, false);
    struct result whole = take_result();
    run_whole(data, size, true);
    struct result cut = take_result();
    check_same(&whole.output, &cut.output);
    if (plan & CONNECTS) /* early bytes of a tunnel that is refused may be dropped or not */
        check_same(&whole.body, &cut.body);
    CHECK(whole.begun == cut.begun && whole.how == cut.how);
    free(whole.output.bytes);
    free(whole.body.bytes);
    free(cut.output.bytes);
    free(cut.body.bytes);
}

static void any_step_of_core(void)
{
    struct fake_channel *channel = current();
    if (fake.judging && dice_percent(&dice, 30))
        fake_authenticated(dice_percent(&dice, 80) ? WEIR_OK : WEIR_UNAUTHENTICATED);
    if (!channel)
        return;
    check_head(&channel->head->view);
    fake_consume(channel, dice_below(&dice, channel->owed + 1));
    if (channel->failed || dice_percent(&dice, 2))
        fake_reset(channel, WEIR_CANCELLED);
    else if (channel->sent_end && dice_percent(&dice, 30))
        fake_let_go(channel);
    else if (!channel->answering && dice_percent(&dice, 50))
        begin_answer(channel);
    else if (channel->answering && !channel->sent_end)
        fake_send(channel, "0123456789", dice_below(&dice, 11),
                  dice_percent(&dice, 10) ? WEIR_END : 0);
}

static void any_step(const uint8_t *data, size_t size, size_t *at, bool *ended)
{
    uint64_t what = dice_below(&dice, 100);
    if (what < 50 && *at < size && !*ended)
        *at += fake_feed((const char *)data + *at,
                         fake_least(1 + dice_below(&dice, 20), size - *at), 20);
    else if (what < 80)
        any_step_of_core();
    else if (what < 87)
        fake_produce();
    else if (what < 94)
        fake_sent();
    else if (what < 96)
        fake_timeout();
    else if (what < 97)
        fake_drain();
    else if (!*ended && *at && (*at == size || dice_percent(&dice, 10))) {
        *ended = true;
        fake_end((uint32_t)dice_below(&dice, WEIR_END_TIMEOUT + 1));
    }
}

static void run_anyhow(const uint8_t *data, size_t size)
{
    size_t at = 0;
    bool ended = false;
    open_connection();
    for (int i = 0; i < 500 && !fake.closing; i++) {
        any_step(data, size, &at, &ended);
        check_credit();
    }
    fake_produce();
    fake_gone();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    plan = data[0];
    dice = dice_of(data[1], 0);
    compare_runs(data + 2, size - 2);
    run_anyhow(data + 2, size - 2);
    return 0;
}
