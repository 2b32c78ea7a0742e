/* core/process/config_stores.c - texts of a configuration that become something else than text */
#include "core/process/config_stores.h"

#include <string.h>

#include "core/base/snapshot.h"
#include "core/base/string.h"
#include "core/io/network.h"
#include "core/process/nearest.h"
#include "core/process/values.h"

enum { ANSWER_MOST = 16384 /* bytes */ };

/* The items with room for one more: doubled whenever their count is a power of two. */
static void *grow(struct arena *arena, void *items, uint32_t count, size_t size)
{
    if (count & (count - 1))
        return items;
    void *larger = arena_allocate(arena, (count ? 2 * count : 1) * size);
    if (count)
        memcpy(larger, items, count * size);
    return larger;
}

const char *store_mode(weir_string text, void *into, struct arena *arena)
{
    uint32_t mode = 0;
    (void)arena;
    if (text.length < 3 || text.length > 4)
        return "is not a file's mode in octal digits, such as 0660";
    for (size_t i = 0; i < text.length; i++) {
        if (text.bytes[i] < '0' || text.bytes[i] > '7')
            return "is not a file's mode in octal digits, such as 0660";
        mode = mode * 8 + (uint32_t)(text.bytes[i] - '0');
    }
    if (mode > 0777)
        return "is more than 0777";
    memcpy(into, &mode, sizeof mode);
    return NULL;
}

/* --- the body of answers */

static char *copy_text(weir_string text, struct arena *arena)
{
    char *copy = arena_allocate(arena, text.length + 1);
    memcpy(copy, text.bytes, text.length);
    copy[text.length] = 0;
    return copy;
}

/* The length of "{word}" there; 0: none begins there, as other braces do in style sheets. */
static size_t placeholder_length(weir_string text, size_t at)
{
    size_t end = at + 1;
    while (end < text.length && text.bytes[end] >= 'a' && text.bytes[end] <= 'z')
        end++;
    bool closed = end < text.length && text.bytes[end] == '}' && end > at + 1;
    return text.bytes[at] == '{' && closed ? end + 1 - at : 0;
}

/* NULL when the word is a placeholder. */
static const char *placeholder_mistake(weir_string word, struct arena *arena)
{
    static const char *const known[] = {"status", "reason", "text"};
    char shown[VALUE_TEXT_BYTES], hint[NEAREST_HINT_BYTES];
    struct nearest nearest = nearest_to(word);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (string_equal(word, string_of(known[i])))
            return NULL;
        nearest_consider(&nearest, known[i]);
    }
    weir_string mistake =
        arena_format(arena, "has {%s}, which is not {status}, {reason} or {text}%s",
                     value_show(word, shown), nearest_hint(&nearest, hint));
    return copy_text(mistake, arena);
}

const char *store_answer(weir_string text, void *into, struct arena *arena)
{
    uint32_t found = 0, spaces = 0;
    const char *mistake = NULL;
    char *copy = copy_text(text, arena);
    for (size_t i = 0; !mistake && i < text.length; i++) {
        size_t length = placeholder_length(text, i);
        if (length)
            mistake = placeholder_mistake((weir_string){text.bytes + i + 1, length - 2}, arena);
        found += length > 0;
        spaces += text.bytes[i] == ' ' || text.bytes[i] == '\n';
    }
    if (mistake || text.length > ANSWER_MOST)
        return mistake ? mistake : "is longer than 16 KiB";
    if (!found && !spaces)
        return "has no {status}, {reason} or {text}; write !file PATH for a file";
    memcpy(into, &copy, sizeof copy);
    return NULL;
}

/* --- ports and networks */

static bool parse_port(weir_string text, uint16_t *port)
{
    uint64_t number;
    bool fine = string_to_number(text, UINT16_MAX, &number) && number;
    *port = fine ? (uint16_t)number : 0;
    return fine;
}

const char *store_ports(weir_string text, void *into, struct arena *arena)
{
    struct port_set *set = into;
    struct port_range range;
    const char *dash = text.length ? memchr(text.bytes, '-', text.length) : NULL;
    weir_string first = {text.bytes, dash ? (size_t)(dash - text.bytes) : text.length};
    weir_string last = dash ? (weir_string){dash + 1, text.length - first.length - 1} : first;
    if (!parse_port(first, &range.first) || !parse_port(last, &range.last))
        return "is not a port or a range of ports, such as 443 or 8000-8999";
    if (range.first > range.last)
        return "ends before it begins";
    set->ranges = grow(arena, set->ranges, set->count, sizeof range);
    set->ranges[set->count++] = range;
    return NULL;
}

static struct network_list *make_list(struct arena *arena, bool embedded)
{
    struct network_list *list = arena_allocate(arena, sizeof *list);
    *list = (struct network_list){.embedded = embedded};
    return list;
}

static const char *store_networks(weir_string text, struct network_list **list, bool embedded,
                                  struct arena *arena)
{
    struct network networks[NETWORKS_OF_TEXT_MOST];
    uint32_t count;
    const char *mistake = network_parse(text, networks, &count);
    if (mistake)
        return mistake;
    if (!*list)
        *list = make_list(arena, embedded);
    for (uint32_t i = 0; i < count; i++) {
        struct network_list *all = *list;
        all->networks = grow(arena, all->networks, all->count, sizeof *networks);
        all->networks[all->count++] = networks[i];
    }
    return NULL;
}

const char *store_allowed(weir_string text, void *into, struct arena *arena)
{
    return store_networks(text, into, false, arena);
}

const char *store_denied(weir_string text, void *into, struct arena *arena)
{
    return store_networks(text, into, true, arena);
}
