/* tests/plugins/rewrite.c - turns "hello" into "HELLO-WORLD" in whole bodies of responses
 *
 * What describes the old body goes with it. Encodings are not asked for, and left alone when they
 * come nevertheless, like parts of bodies (206). */
#include "abi/filter.h"

#include <stdlib.h>
#include <string.h>

static const weir_filter_host *exchanges;

static const weir_string old_word = {"hello", 5}, new_word = {"HELLO-WORLD", 11};

static weir_answer on_request(weir_exchange *exchange)
{
    exchanges->remove_field(exchange, WEIR_REQUEST_HEAD, WEIR_STRING("Accept-Encoding"));
    return WEIR_CONTINUE;
}

static int is_head(weir_exchange *exchange)
{
    weir_string method = exchanges->request_head(exchange)->method;
    return method.length == 4 && !memcmp(method.bytes, "HEAD", 4);
}

static weir_answer on_response(weir_exchange *exchange)
{
    static const char *const describe[] = {"ETag", "Content-MD5", "Content-Digest", "Digest",
                                           "Accept-Ranges"};
    weir_string coding;
    if (exchanges->response_head(exchange)->status != 200 ||
        exchanges->field(exchange, WEIR_RESPONSE_HEAD, WEIR_STRING("Content-Encoding"), 0,
                         &coding) == WEIR_OK)
        return WEIR_DETACH;
    for (size_t i = 0; i < sizeof describe / sizeof *describe; i++)
        exchanges->remove_field(exchange, WEIR_RESPONSE_HEAD,
                                (weir_string){describe[i], strlen(describe[i])});
    return is_head(exchange) ? WEIR_CONTINUE : WEIR_BUFFER;
}

static char *join(const weir_data *data)
{
    char *all = malloc(data->bytes + 1);
    size_t length = 0;
    for (uint32_t i = 0; all && i < data->count; i++) {
        memcpy(all + length, data->slices[i].bytes, data->slices[i].length);
        length += data->slices[i].length;
    }
    return all;
}

static weir_result emit(weir_exchange *exchange, const char *bytes, size_t length)
{
    weir_slice slice = {(const uint8_t *)bytes, length, NULL};
    return exchanges->emit(exchange, WEIR_RESPONSE_DIRECTION, &slice, 1, 0);
}

static weir_result emit_rewritten(weir_exchange *exchange, const char *bytes, size_t length)
{
    weir_result rc = WEIR_OK;
    const char *found;
    while (rc >= 0 && (found = memmem(bytes, length, old_word.bytes, old_word.length))) {
        size_t before = (size_t)(found - bytes);
        rc = emit(exchange, bytes, before);
        if (rc >= 0)
            rc = emit(exchange, new_word.bytes, new_word.length);
        bytes = found + old_word.length;
        length -= before + old_word.length;
    }
    return rc < 0 ? rc : emit(exchange, bytes, length);
}

static weir_answer on_body(weir_exchange *exchange, const weir_data *data)
{
    char *all = join(data);
    weir_result rc = all ? emit_rewritten(exchange, all, data->bytes) : WEIR_INTERNAL;
    free(all);
    return rc < 0 ? WEIR_FAIL : WEIR_TAKE;
}

static weir_result load(const weir_host *host)
{
    static const weir_filter filter = {.size = sizeof filter,
                                       .flags = WEIR_FILTER_EDITS_RESPONSE,
                                       .name = "rewrite-bodies",
                                       .request = on_request,
                                       .response = on_response,
                                       .body_full = on_body};
    exchanges = host->query(host, "weir.filter/0");
    return host->register_filter(host, &filter);
}

WEIR_PLUGIN(2, 0, 1, "test.rewrite", "1", "MIT", "weir.filter/0", load, NULL);
