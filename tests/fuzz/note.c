/* tests/fuzz/note.c - any bytes as a plugin's file: a note that is in it, or why there is none
 *
 * Aborts when a note is found whose bytes are not in the file, or that is not weir's, when the same
 * bytes are judged otherwise in another place, or when a longer file has lost the note. */
#include "core/plugins/note.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "abi/weir.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
    if (!condition)
        abort();
}

static bool contains(const uint8_t *data, size_t size, const void *part, size_t length)
{
    return memmem(data, size, part, length) != NULL;
}

/* Of exactly its size, so that a sanitizer sees whoever reads behind it. */
static const char *find_in_copy(const uint8_t *data, size_t size, size_t more, struct note *note)
{
    uint8_t *copy = malloc(size + more ? size + more : 1);
    memcpy(copy, data, size);
    memset(copy + size, 0, more);
    const char *why = note_find(copy, size + more, note);
    free(copy);
    return why;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct note note, again;
    const char *why = note_find(data, size, &note);
    must(find_in_copy(data, size, 0, &again) == why);
    if (why)
        return 0;
    must(note.magic == WEIR_MAGIC && contains(data, size, &note, sizeof note));
    must(contains(data, size, "WEIR", sizeof "WEIR"));
    must(!find_in_copy(data, size, 64, &again) && !memcmp(&note, &again, sizeof note));
    return 0;
}
