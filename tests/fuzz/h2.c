/* tests/fuzz/h2.c - any bytes behind HTTP/2's preface, on either side, with a core that is played
 *
 * The first byte is the side, the second the seed of what core does meanwhile: it passes bytes on
 * or not, answers, resets, lets go, drains. What must hold is the contract of abi/protocol.h, which
 * the fake host checks, and that nothing is left when the connection has gone. */
#include <nghttp2/nghttp2.h>
#include <stdio.h>

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            abort();                                                                               \
        }                                                                                          \
    } while (0)
#define FAKE_CHANNELS_MOST 1200 /* no input has so many requests */
#include "codecs/h2/h2.h"
#include "tests/unit/fake_protocol_host.h"

enum { INPUT_MOST = 8192, PIECES_MOST = 64 };

static uint32_t dice;

static uint32_t roll(uint32_t sides)
{
    dice = dice * 1664525u + 1013904223u;
    return (dice >> 16) % sides;
}

static void answer(struct fake_channel *channel)
{
    static const weir_field field = {WEIR_STRING("X-Name"), WEIR_STRING("value")};
    bool tunnel = channel->head->view.kind == WEIR_TUNNEL || channel->head->view.protocol.length;
    weir_head head = {.size = sizeof head,
                      .kind = tunnel ? WEIR_TUNNEL : WEIR_REQUEST,
                      .status = 200 + roll(2) * 104,
                      .fields = &field,
                      .count = 1,
                      .content_length = -1};
    fake_send_head(channel, &head, !tunnel && roll(3) == 0 ? WEIR_END : 0);
}

static void send_more(struct fake_channel *channel)
{
    static const weir_field field = {WEIR_STRING("X-Sum"), WEIR_STRING("1")};
    static char body[5000];
    if (roll(4) == 0)
        fake_send_trailers(channel, &field, 1);
    else
        fake_send(channel, body, roll(sizeof body) + 1, roll(2) ? WEIR_END : 0);
}

static void ask(struct fake_channel *channel)
{
    weir_head head = {.size = sizeof head,
                      .kind = WEIR_REQUEST,
                      .method = roll(4) ? WEIR_STRING("POST") : WEIR_STRING("HEAD"),
                      .scheme = WEIR_STRING("http"),
                      .authority = WEIR_STRING("a"),
                      .path = WEIR_STRING("/"),
                      .protocol = roll(4) ? WEIR_STRING("") : WEIR_STRING("websocket"),
                      .content_length = -1};
    fake_send_head(channel, &head, roll(2) && !head.protocol.length ? WEIR_END : 0);
}

static bool is_over(const struct fake_channel *channel)
{
    return channel->failed != WEIR_OK || channel->error != WEIR_OK ||
           (channel->sent_end && channel->ended);
}

/* One thing with one channel, as core does it: none that has failed is sent anything. */
static void step_channel(struct fake_channel *channel)
{
    bool client = fake.public.side == WEIR_CLIENT_SIDE;
    if (roll(2))
        fake_consume(channel, channel->owed);
    if (is_over(channel))
        fake_let_go(channel);
    else if (roll(24) == 0)
        fake_reset(channel, roll(2) ? WEIR_CANCELLED : WEIR_TRUNCATED);
    else if (!channel->answering && client)
        answer(channel);
    else if (!channel->answering)
        ask(channel);
    else if (!channel->sent_end)
        send_more(channel);
    else if (roll(16) == 0)
        fake_let_go(channel);
}

static void step_core(void)
{
    if (fake.public.side == WEIR_SERVER_SIDE && fake.begun < 50 && fake_spare())
        fake_attach();
    for (uint32_t i = 0; i < fake.begun && !fake.closing; i++)
        if (fake.channels[i].open && roll(2))
            step_channel(&fake.channels[i]);
    if (roll(64) == 0)
        fake_drain();
    if (roll(64) == 0)
        fake_timeout();
}

static void let_all_go(void)
{
    for (uint32_t i = 0; i < fake.begun; i++)
        if (fake.channels[i].open)
            fake_let_go(&fake.channels[i]);
}

static void run(const uint8_t *bytes, size_t count, uint32_t side)
{
    fake_open_protocol(h2_protocol(fake_host()), side);
    fake.owed_most = 65535;
    if (side == WEIR_CLIENT_SIDE)
        fake_feed(NGHTTP2_CLIENT_MAGIC, NGHTTP2_CLIENT_MAGIC_LEN, 24);
    for (uint32_t i = 0; count && !fake.closing && i < PIECES_MOST; i++) {
        size_t length = i + 1 == PIECES_MOST ? count : fake_least(count, roll(300) + 1);
        fake_feed((const char *)bytes, length, 65536);
        CHECK(fake.closing || fake.carrier_credit == WEIR_CREDIT);
        bytes += length;
        count -= length;
        step_core();
        fake_turn();
    }
    fake_end(roll(2) ? WEIR_END_CLEAN : WEIR_END_RESET);
    let_all_go();
    fake_turn();
    fake_gone();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 || size > INPUT_MOST)
        return 0;
    dice = data[1];
    run(data + 2, size - 2, data[0] & 1 ? WEIR_SERVER_SIDE : WEIR_CLIENT_SIDE);
    return 0;
}
