/* tests/fuzz/auth-basic.c - any htpasswd file: whoever is taken is found, and has a sound hash
 *
 * Aborts when a line is told twice or none is, a message shows a hash, somebody has a name that
 * cannot be one, or a hash is not of the kinds that are taken. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/auth-basic/users.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
    if (!condition)
        abort();
}

/* Of each line that has both parts: if somebody of that name is found, it is somebody sound. */
static void check_line(const struct users *users, weir_string line)
{
    const char *colon = line.length ? memchr(line.bytes, ':', line.length) : NULL;
    if (!colon)
        return;
    const char *hash = users_find(users, (weir_string){line.bytes, (size_t)(colon - line.bytes)});
    if (!hash)
        return;
    must(colon != line.bytes && colon - line.bytes <= 255 && line.bytes[0] != '#');
    must(hash[0] == '$' && strlen(hash) >= 48 && strlen(hash) < 384 && !strchr(hash, ':'));
    must(strncmp(hash, "$1$", 3) != 0 && strncmp(hash, "$apr1$", 6) != 0);
}

static void check_lines(const struct users *users, weir_string text)
{
    while (text.length) {
        const char *end = memchr(text.bytes, '\n', text.length);
        size_t length = end ? (size_t)(end - text.bytes) : text.length;
        check_line(users, (weir_string){text.bytes, length});
        length += end != NULL;
        text.bytes += length;
        text.length -= length;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    weir_string text = {(const char *)data, size}, rest = text;
    struct users *users = users_new();
    uint32_t line = 0, before = 0;
    for (const char *wrong; (wrong = users_parse(users, &rest, &line)); before = line)
        must(line > before && strlen(wrong) < 128);
    must(!rest.length && line >= before && users_count(users) <= line);
    users_finish(users);
    check_lines(users, text);
    must((users_decoy(users, size) != NULL) == (users_count(users) != 0));
    users_free(users);
    return 0;
}
