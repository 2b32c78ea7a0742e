/* core/process/values.c - how single values are written, in the file and on the command line */
#include "core/process/values.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/string.h"
#include "core/io/address.h"
#include "core/io/network.h"

const struct value_unit value_plain[] = {{"", 1}, {NULL, 0}};

const struct value_unit value_durations[] = {
    {"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}, {NULL, 0},
};

const struct value_unit value_sizes[] = {
    {"B", 1},         {"KiB", 1 << 10},           {"MiB", 1 << 20},
    {"GiB", 1 << 30}, {"TiB", (uint64_t)1 << 40}, {NULL, 0},
};

const struct value_unit value_rates[] = {
    {"B/s", 1}, {"KiB/s", 1 << 10}, {"MiB/s", 1 << 20}, {"GiB/s", 1 << 30}, {NULL, 0},
};

const struct value_unit value_requests[] = {{"/h", 1}, {"/m", 60}, {"/s", 3600}, {NULL, 0}};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static size_t count_digits(weir_string text, size_t at)
{
    size_t end = at;
    while (end < text.length && is_digit(text.bytes[end]))
        end++;
    return end - at;
}

static const struct value_unit *find_unit(const struct value_unit *units, weir_string name)
{
    for (; units->name; units++)
        if (string_equal(name, string_of(units->name)))
            return units;
    return NULL;
}

bool value_parse(weir_string text, const struct value_unit *units, uint64_t *value)
{
    size_t digits = count_digits(text, 0);
    const struct value_unit *unit =
        find_unit(units, (weir_string){text.bytes + digits, text.length - digits});
    if (!unit || !digits)
        return false;
    if (string_to_number((weir_string){text.bytes, digits}, UINT64_MAX / unit->factor, value))
        *value *= unit->factor;
    else
        *value = UINT64_MAX;
    return true;
}

bool value_parse_decimal(weir_string text, double *value)
{
    char copy[VALUE_TEXT_BYTES];
    size_t whole = count_digits(text, 0), end = whole;
    if (whole && whole < text.length && text.bytes[whole] == '.')
        end += 1 + count_digits(text, whole + 1);
    if (!whole || end == whole + 1 || end != text.length || end >= sizeof copy)
        return false;
    memcpy(copy, text.bytes, end);
    copy[end] = 0;
    *value = strtod(copy, NULL);
    return true;
}

const char *value_format(uint64_t value, const struct value_unit *units,
                         char text[VALUE_TEXT_BYTES])
{
    const struct value_unit *largest = units;
    for (; units->name; units++)
        if (value && value % units->factor == 0)
            largest = units;
    snprintf(text, VALUE_TEXT_BYTES, "%" PRIu64 "%s", value / largest->factor, largest->name);
    return text;
}

static bool has(weir_string text, const char *part)
{
    return memmem(text.bytes, text.length, part, strlen(part)) != NULL;
}

/* Whether the bracketed host is an IPv6 address; other hosts are names or IPv4 addresses. */
static bool is_sound(const struct authority *authority)
{
    struct address address;
    return !authority->bracketed || (address_from_literal(authority->host, 0, &address) &&
                                     address.any.sa_family == AF_INET6);
}

static bool begins(weir_string text, const char *start)
{
    size_t length = strlen(start);
    return text.length >= length && !memcmp(text.bytes, start, length);
}

bool value_is_pem(weir_string text)
{
    return text.length && memmem(text.bytes, text.length, "-----BEGIN ", 11) != NULL;
}

bool value_is_unix(weir_string listener)
{
    return begins(listener, "unix:");
}

static const char *unix_mistake(weir_string text)
{
    if (!begins(text, "unix:/"))
        return "has no absolute path; write for example unix:/run/weir.sock";
    return text.length - strlen("unix:") > UNIX_PATH_MOST ? "is too long for a socket's path"
                                                          : NULL;
}

bool value_is_local(weir_string listener)
{
    struct address address;
    if (value_is_unix(listener) || !address_parse(listener, &address))
        return value_is_unix(listener);
    address_unmap(&address);
    return address_is_loopback(&address);
}

const char *value_admin_mistake(weir_string text)
{
    const char *mistake = value_listen_mistake(text);
    if (mistake || value_is_local(text))
        return mistake;
    return "could be reached from elsewhere; write 127.0.0.1 and a port, or unix:/run/admin.sock";
}

const char *value_listen_mistake(weir_string text)
{
    struct address address;
    struct authority authority;
    if (value_is_unix(text))
        return unix_mistake(text);
    if (address_parse(text, &address))
        return NULL;
    if (has(text, "://"))
        return "is a URL; write only the address and the port, such as 127.0.0.1:3128";
    if (!authority_parse(text, &authority) || !is_sound(&authority))
        return "is not an address with its port, such as 127.0.0.1:3128 or \"[::1]:3128\"";
    if (!address_from_literal(authority.host, 0, &address))
        return "is a name, not an IP address; write for example 127.0.0.1:3128";
    return "has no port; write for example 127.0.0.1:3128";
}

bool value_same_listener(const char *first, const char *second)
{
    struct address a, b;
    if (first && second && value_is_unix(string_of(first)))
        return !strcmp(first, second);
    return first && second && address_parse(string_of(first), &a) &&
           address_parse(string_of(second), &b) && address_port(&a) && address_equal(&a, &b);
}

const char *value_server_mistake(weir_string text)
{
    struct authority authority;
    if (has(text, "://"))
        return "is a URL; write only the host and the port, such as 127.0.0.1:9000";
    if (!authority_parse(text, &authority) || !is_sound(&authority))
        return "is not a host with its port, such as app.example:9000 or \"[::1]:9000\"";
    return authority.port ? NULL : "has no port; write for example 127.0.0.1:9000";
}

static bool is_name_character(char c)
{
    return is_digit(c) || (character_lower(c) >= 'a' && character_lower(c) <= 'z') || c == '-' ||
           c == '_';
}

const char *value_name_mistake(weir_string text)
{
    bool sound = text.length >= 1 && text.length <= 64;
    for (size_t i = 0; sound && i < text.length; i++)
        sound = is_name_character(text.bytes[i]);
    return sound ? NULL : "is not a name of 1 to 64 letters, digits, - and _";
}

const char *value_path_mistake(weir_string text)
{
    return text.length ? NULL : "is empty; write the path of a file";
}

const char *value_network_mistake(weir_string text)
{
    struct network networks[NETWORKS_OF_TEXT_MOST];
    uint32_t count;
    return network_parse(text, networks, &count);
}

const char *value_host_pattern_mistake(weir_string text)
{
    struct authority authority;
    bool wild = begins(text, "*.");
    weir_string rest = wild ? (weir_string){text.bytes + 2, text.length - 2} : text;
    if (!authority_parse(rest, &authority) || !is_sound(&authority) ||
        (wild && authority.bracketed))
        return "is not a host such as app.example or *.example";
    if (authority.port || rest.bytes[rest.length - 1] == ':')
        return "has a port; leave it out, or write it as the route's port";
    return memchr(rest.bytes, '*', rest.length) ? "may have a * at its beginning only, as in "
                                                  "*.example"
                                                : NULL;
}

const char *value_host_mistake(weir_string text)
{
    bool is_pattern = text.length && text.bytes[0] == '*';
    return is_pattern ? "is a pattern; write one name" : value_host_pattern_mistake(text);
}

const char *value_path_pattern_mistake(weir_string text)
{
    const char *star = text.length ? memchr(text.bytes, '*', text.length) : NULL;
    if (!begins(text, "/"))
        return "is not a path such as /index.html or /api/*";
    if (memchr(text.bytes, '?', text.length))
        return "has a query, which routes do not look at";
    return star && star + 1 < text.bytes + text.length ? "may have a * at its end only" : NULL;
}

static bool is_token_character(char c)
{
    return is_name_character(c) || (c && strchr("!#$%&'*+.^`|~", c));
}

const char *value_method_mistake(weir_string text)
{
    bool sound = text.length >= 1 && text.length <= 64;
    for (size_t i = 0; sound && i < text.length; i++)
        sound = is_token_character(text.bytes[i]);
    return sound ? NULL : "is not a method such as GET";
}

const char *value_account_mistake(weir_string text)
{
    bool sound = text.length >= 1 && text.length <= 255 && text.bytes[0] != '-';
    for (size_t i = 0; sound && i < text.length; i++)
        sound = (unsigned char)text.bytes[i] > ' ' && text.bytes[i] != ':' && text.bytes[i] != '/';
    return sound ? NULL : "is not the name or number of an account";
}

char *value_beside(struct arena *arena, const char *file, weir_string path)
{
    const char *slash = file ? strrchr(file, '/') : NULL;
    bool is_absolute = path.length && path.bytes[0] == '/';
    size_t directory = slash && !is_absolute ? (size_t)(slash + 1 - file) : 0;
    char *joined = arena_allocate(arena, directory + path.length + 1);
    if (directory)
        memcpy(joined, file, directory);
    memcpy(joined + directory, path.bytes, path.length);
    joined[directory + path.length] = 0;
    return joined;
}

/* C0, DEL, and the C1 controls, which are two bytes in UTF-8. */
static bool is_control(const unsigned char *at, size_t left)
{
    return at[0] < 0x20 || at[0] == 0x7f || (at[0] == 0xc2 && left > 1 && at[1] < 0xa0);
}

const char *value_show(weir_string value, char text[VALUE_TEXT_BYTES])
{
    const unsigned char *bytes = (const unsigned char *)value.bytes;
    bool cut = value.length >= VALUE_TEXT_BYTES;
    size_t length = cut ? VALUE_TEXT_BYTES - sizeof "..." : value.length;
    while (cut && length && (bytes[length] & 0xc0) == 0x80)
        length--;
    for (size_t i = 0; i < length; i++)
        text[i] = is_control(bytes + i, length - i) ? '?' : (char)bytes[i];
    snprintf(text + length, VALUE_TEXT_BYTES - length, "%s", cut ? "..." : "");
    return text;
}
