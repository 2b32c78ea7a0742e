/* tests/fuzz/acl.c - hosts and paths in the forms in which they are compared
 *
 * Whatever comes, the forms are no longer than it, and nothing in a resolved path could be decoded
 * or resolved again. */
#include "plugins/acl/plain.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
    if (!condition)
        abort();
}

static bool holds_encoded(const char *text, size_t length)
{
    const char *hex = "0123456789abcdefABCDEF";
    for (size_t i = 0; i + 2 < length; i++)
        if (text[i] == '%' && text[i + 1] && strchr(hex, text[i + 1]) && text[i + 2] &&
            strchr(hex, text[i + 2]))
            return true;
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    weir_string text = {(const char *)data, size};
    char host[HOST_BYTES], *first = malloc(size + 1);
    must(plain_host(text, host) < HOST_BYTES && plain_port(text) <= 65535);
    must(plain_decoded(text, first) <= size);
    size_t length = plain_resolved(text, first);
    must(length <= size && !holds_encoded(first, length));
    must(!length || first[0] != '/' || !memmem(first, length, "/../", 4));
    free(first);
    return 0;
}
