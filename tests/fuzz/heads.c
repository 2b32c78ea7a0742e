/* tests/fuzz/heads.c - random edits by a filter: a head stays one that can be sent
 *
 * Input: operations, each a byte that says which, one that says of what, and two texts with their
 * lengths in front. Aborts when a name or value could break a line, framing has changed, ids or
 * view are out of step, more is held than may be, or a refusal has changed something. */
#include <stdlib.h>

#include "core/base/string.h"
#include "core/exchange/exchange.h"
#include "core/exchange/filter_heads.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static _Alignas(8) uint8_t first_block[4096];
static struct exchange exchange;
static struct filter_state state;
static const uint8_t *at, *end;

static void must(bool condition)
{
    if (!condition)
        abort();
}

static uint32_t take(void)
{
    return at < end ? *at++ : 0;
}

/* A text of the input, or a name that is often there. */
static weir_string take_text(void)
{
    static const weir_string usual[] = {WEIR_STRING("A"),    WEIR_STRING("content-length"),
                                        WEIR_STRING("Host"), WEIR_STRING("X-Long-Name"),
                                        WEIR_STRING("/"),    WEIR_STRING("a.test:80")};
    uint32_t length = take();
    if (length < sizeof usual / sizeof *usual)
        return usual[length];
    size_t left = (size_t)(end - at);
    weir_string text = {(const char *)at, length < left ? length : left};
    at += text.length;
    return text;
}

static struct head *new_head(void)
{
    struct head *head = head_new(&exchange.arena);
    head->view.kind = WEIR_REQUEST;
    head_append(head, WEIR_STRING("Host"), WEIR_STRING("a.test"));
    head_append(head, WEIR_STRING("A"), WEIR_STRING("1"));
    head_append(head, WEIR_STRING("Content-Length"), WEIR_STRING("5"));
    head_append(head, WEIR_STRING("a"), WEIR_STRING("2"));
    return head;
}

static void begin(void)
{
    memset(&exchange, 0, sizeof exchange);
    arena_init(&exchange.arena, first_block, sizeof first_block);
    channel_init(&exchange.client, NULL, &exchange.mark, &exchange.arena);
    channel_init(&exchange.server, NULL, &exchange.mark, &exchange.arena);
    state = (struct filter_state){.exchange = &exchange};
    exchange.request = new_head();
    exchange.request->view.method = WEIR_STRING("GET");
    exchange.request->view.authority = WEIR_STRING("a.test");
    exchange.request->view.path = WEIR_STRING("/");
    exchange.response = new_head();
    exchange.response->view.status = 200;
}

static weir_result edit(void)
{
    uint32_t operation = take() % 5, which = take() % 5;
    weir_string name = take_text(), value = take_text();
    switch (operation) {
    case 0:
        return filter_set_field(&state.public, which, name, value);
    case 1:
        return filter_add_field(&state.public, which, name, value);
    case 2:
        return filter_remove_field(&state.public, which, name);
    case 3:
        return filter_set_part(&state.public, which, value);
    default:
        return filter_set_status(&state.public, (uint32_t)name.length * 5);
    }
}

static uint32_t check_fields(const struct head *head)
{
    uint32_t lengths = 0;
    must(head->view.count == head->count && head->view.fields == head->fields);
    must(head->count <= 256 && head->count <= head->capacity && head->added <= 65536);
    for (uint32_t i = 0; i < head->count; i++) {
        const weir_field *field = &head->fields[i];
        must(string_is_token(field->name) && string_is_field_value(field->value));
        must(head->ids[i] == field_intern(field->name));
        lengths += head->ids[i] == FIELD_CONTENT_LENGTH;
        must(head->ids[i] != FIELD_CONTENT_LENGTH || string_equal(field->value, WEIR_STRING("5")));
    }
    return lengths;
}

static void check(void)
{
    const weir_head *request = &exchange.request->view;
    must(check_fields(exchange.request) == 1 && check_fields(exchange.response) == 1);
    must(!exchange.client.trailers || !check_fields(exchange.client.trailers));
    must(!exchange.server.trailers || !check_fields(exchange.server.trailers));
    int host = head_find(exchange.request, FIELD_HOST, 0);
    must(host >= 0 && string_equal(exchange.request->fields[host].value, request->authority));
    must(string_is_token(request->method) && !string_equal(request->method, WEIR_STRING("HEAD")));
    must(request->path.length && !memchr(request->path.bytes, ' ', request->path.length));
    must(exchange.response->view.status >= 200 && exchange.response->view.status <= 599);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    at = data;
    end = data + size;
    begin();
    while (at < end) {
        uint32_t before = exchange.request->count + exchange.response->count;
        if (edit() != WEIR_OK)
            must(before == exchange.request->count + exchange.response->count);
        check();
    }
    arena_deinit(&exchange.arena);
    arena_pool_deinit();
    return 0;
}
