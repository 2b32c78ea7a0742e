/* core/base/access_format.c - a format of the access log becomes parts
 *
 * Every format is a template; that of JSON only has other values in it. */
#include "core/base/access_format.h"

#include <stddef.h>
#include <string.h>

#include "core/base/access_parts.h"
#include "core/base/string.h"

#define AT(member) offsetof(struct access_record, member)

static const struct name {
    const char *name;
    enum access_kind kind;
    uint32_t offset;
} names[] = {
    {"client", ACCESS_TEXT, AT(client)},
    {"user", ACCESS_TEXT, AT(user)},
    {"time", ACCESS_TIME, 0},
    {"local_time", ACCESS_LOCAL_TIME, 0},
    {"id", ACCESS_ID, 0},
    {"worker", ACCESS_NUMBER, AT(worker)},
    {"method", ACCESS_OF_REQUEST, offsetof(weir_head, method)},
    {"target", ACCESS_TARGET, 0},
    {"scheme", ACCESS_OF_REQUEST, offsetof(weir_head, scheme)},
    {"authority", ACCESS_OF_REQUEST, offsetof(weir_head, authority)},
    {"path", ACCESS_OF_REQUEST, offsetof(weir_head, path)},
    {"version", ACCESS_OF_REQUEST, offsetof(weir_head, version)},
    {"request_line", ACCESS_REQUEST_LINE, 0},
    {"status", ACCESS_STATUS, 0},
    {"request_bytes", ACCESS_NUMBER, AT(request_bytes)},
    {"response_bytes", ACCESS_NUMBER, AT(response_bytes)},
    {"dns_ms", ACCESS_MILLISECONDS, AT(dns_us)},
    {"connect_ms", ACCESS_MILLISECONDS, AT(connect_us)},
    {"first_byte_ms", ACCESS_MILLISECONDS, AT(first_byte_us)},
    {"total_ms", ACCESS_MILLISECONDS, AT(total_us)},
    {"server", ACCESS_TEXT, AT(server)},
    {"by", ACCESS_BY, 0},
    {"why", ACCESS_TEXT, AT(why)},
    {"attempts", ACCESS_NUMBER, AT(attempts)},
    {"reused", ACCESS_FLAG, AT(reused)},
    {"client_protocol", ACCESS_TEXT, AT(client_leg.protocol)},
    {"client_tls", ACCESS_TEXT, AT(client_leg.tls)},
    {"client_cipher", ACCESS_TEXT, AT(client_leg.cipher)},
    {"client_tls_name", ACCESS_TEXT, AT(client_leg.tls_name)},
    {"client_certificate", ACCESS_TEXT, AT(certificate)},
    {"client_fingerprint", ACCESS_TEXT, AT(fingerprint)},
    {"server_protocol", ACCESS_TEXT, AT(server_leg.protocol)},
    {"server_tls", ACCESS_TEXT, AT(server_leg.tls)},
    {"server_cipher", ACCESS_TEXT, AT(server_leg.cipher)},
    {"server_tls_name", ACCESS_TEXT, AT(server_leg.tls_name)},
};
enum { NAMES = sizeof names / sizeof *names };

#define COMMON "{client} - {user} [{local_time}] \"{request_line}\" {status} {response_bytes}"

static const struct {
    const char *name;
    weir_string text;
    bool json;
} known_formats[] = {
    {"common", WEIR_STRING(COMMON), false},
    {"combined", WEIR_STRING(COMMON " \"{request:Referer}\" \"{request:User-Agent}\""), false},
    {"json",
     WEIR_STRING("{{\"time\":{time},\"id\":{id},\"client\":{client},"
                 "\"user\":{user},\"method\":{method},\"target\":{target},"
                 "\"authority\":{authority},\"version\":{version},\"status\":{status},"
                 "\"request_bytes\":{request_bytes},\"response_bytes\":{response_bytes},"
                 "\"dns_ms\":{dns_ms},\"connect_ms\":{connect_ms},"
                 "\"first_byte_ms\":{first_byte_ms},\"total_ms\":{total_ms},"
                 "\"server\":{server},\"by\":{by},\"why\":{why},\"attempts\":{attempts},"
                 "\"reused\":{reused},\"referer\":{request:Referer},"
                 "\"user_agent\":{request:User-Agent}}}"),
     true},
};
enum { FORMATS = sizeof known_formats / sizeof *known_formats };

/* --- compiling */

struct compiler {
    struct arena *arena;
    struct access_mistake *mistake;
    weir_string rest;
    bool json, quoted; /* quoted: an odd number of quotes so far */
    uint32_t count, literal_length;
    struct access_part parts[ACCESS_PARTS_MOST];
    char literal[ACCESS_FORMAT_BYTES]; /* since the last value */
};

static bool wrong(struct compiler *compiler, weir_string part, const char *what)
{
    *compiler->mistake = (struct access_mistake){.what = what, .part = part};
    return false;
}

static weir_string copy_padded(struct arena *arena, const char *bytes, size_t length)
{
    char *copy = arena_allocate(arena, length + ACCESS_PADDING);
    memset(copy, 0, length + ACCESS_PADDING);
    memcpy(copy, bytes, length);
    return (weir_string){copy, length};
}

static weir_string take_literal(struct compiler *compiler)
{
    size_t length = compiler->literal_length;
    compiler->literal_length = 0;
    return copy_padded(compiler->arena, compiler->literal, length);
}

static void add_literal(struct compiler *compiler, weir_string text)
{
    memcpy(compiler->literal + compiler->literal_length, text.bytes, text.length);
    compiler->literal_length += (uint32_t)text.length;
}

static bool add_part(struct compiler *compiler, enum access_kind kind, uint32_t offset,
                     weir_string name)
{
    enum escape_style style = compiler->quoted ? ESCAPE_QUOTED : ESCAPE_BARE;
    compiler->parts[compiler->count++] = (struct access_part){
        .kind = kind,
        .style = compiler->json ? ESCAPE_JSON : style,
        .offset = offset,
        .name = name.length ? arena_copy(compiler->arena, name) : name,
        .before = take_literal(compiler),
    };
    return true;
}

static weir_string take(struct compiler *compiler, size_t length)
{
    weir_string taken = {compiler->rest.bytes, length};
    compiler->rest.bytes += length;
    compiler->rest.length -= length;
    return taken;
}

/* Up to the next brace. */
static bool compile_text(struct compiler *compiler)
{
    size_t length = 0;
    while (length < compiler->rest.length && compiler->rest.bytes[length] != '{' &&
           compiler->rest.bytes[length] != '}') {
        compiler->quoted ^= compiler->rest.bytes[length] == '"';
        length++;
    }
    weir_string text = take(compiler, length);
    if (!escape_not_needed(text))
        return wrong(compiler, text, "has a control character, or is not UTF-8");
    add_literal(compiler, text);
    return true;
}

static bool is_secret(weir_string name)
{
    return string_equal_nocase(name, WEIR_STRING("Authorization")) ||
           string_equal_nocase(name, WEIR_STRING("Proxy-Authorization"));
}

static bool begins(weir_string text, weir_string start)
{
    return text.length >= start.length && !memcmp(text.bytes, start.bytes, start.length);
}

static bool compile_head_field(struct compiler *compiler, weir_string name, size_t prefix,
                               enum access_kind kind)
{
    weir_string of_head = {name.bytes + prefix, name.length - prefix};
    if (!string_is_token(of_head))
        return wrong(compiler, name, "does not name a field that a head can have");
    if (is_secret(of_head))
        return wrong(compiler, name, "is a secret; {user} is who it belongs to");
    return add_part(compiler, kind, 0, of_head);
}

static bool compile_variable(struct compiler *compiler, weir_string name, size_t prefix)
{
    weir_string of_exchange = {name.bytes + prefix, name.length - prefix};
    if (!string_is_token(of_exchange) || of_exchange.length > VARIABLE_NAME_BYTES)
        return wrong(compiler, name, "does not name a variable that an exchange can have");
    return add_part(compiler, ACCESS_VARIABLE, 0, of_exchange);
}

static bool compile_name(struct compiler *compiler, weir_string name)
{
    static const weir_string request = WEIR_STRING("request:"), response = WEIR_STRING("response:");
    static const weir_string variable = WEIR_STRING("variable:");
    if (begins(name, request))
        return compile_head_field(compiler, name, request.length, ACCESS_REQUEST_FIELD);
    if (begins(name, response))
        return compile_head_field(compiler, name, response.length, ACCESS_RESPONSE_FIELD);
    if (begins(name, variable))
        return compile_variable(compiler, name, variable.length);
    for (uint32_t i = 0; i < NAMES; i++)
        if (string_equal(name, string_of(names[i].name)))
            return add_part(compiler, names[i].kind, names[i].offset, (weir_string){"", 0});
    wrong(compiler, name, "is not a field of the access log");
    compiler->mistake->meant = ACCESS_MEANT_FIELD;
    return false;
}

/* {{ and }} are braces; else { begins a field. */
static bool compile_brace(struct compiler *compiler)
{
    weir_string rest = compiler->rest;
    char brace = rest.bytes[0];
    if (rest.length > 1 && rest.bytes[1] == brace) {
        add_literal(compiler, (weir_string){rest.bytes, 1});
        take(compiler, 2);
        return true;
    }
    if (brace == '}')
        return wrong(compiler, rest, "begins with } that closes nothing; }} is a brace");
    const char *end = memchr(rest.bytes, '}', rest.length);
    if (!end)
        return wrong(compiler, rest, "begins with { that nothing closes; {{ is a brace");
    weir_string all = take(compiler, (size_t)(end - rest.bytes) + 1);
    if (compiler->count == ACCESS_PARTS_MOST)
        return wrong(compiler, all, "is one field more than the 128 that fit");
    return compile_name(compiler, (weir_string){all.bytes + 1, all.length - 2});
}

static bool compile_template(struct compiler *compiler)
{
    weir_string all = compiler->rest;
    while (compiler->rest.length) {
        bool brace = compiler->rest.bytes[0] == '{' || compiler->rest.bytes[0] == '}';
        if (!(brace ? compile_brace(compiler) : compile_text(compiler)))
            return false;
    }
    if (compiler->count)
        return true;
    wrong(compiler, all, "is neither common, combined, json nor a text with {fields}");
    compiler->mistake->meant = ACCESS_MEANT_FORMAT;
    return false;
}

static const struct access_format *finish(struct compiler *compiler)
{
    struct access_format *format =
        arena_allocate(compiler->arena, sizeof *format + compiler->count * sizeof *format->parts);
    format->count = compiler->count;
    format->last = take_literal(compiler);
    uint32_t behind = (uint32_t)format->last.length;
    memcpy(format->parts, compiler->parts, compiler->count * sizeof *format->parts);
    for (uint32_t i = format->count; i > 0; i--) {
        struct access_part *part = &format->parts[i - 1];
        part->behind = behind;
        behind += (uint32_t)part->before.length + ACCESS_VALUE_BYTES;
    }
    return format;
}

const struct access_format *access_format_compile(weir_string text, struct arena *arena,
                                                  struct access_mistake *mistake)
{
    struct compiler compiler = {.arena = arena, .mistake = mistake, .rest = text};
    for (size_t i = 0; i < FORMATS; i++)
        if (string_equal(text, string_of(known_formats[i].name))) {
            compiler.rest = known_formats[i].text;
            compiler.json = known_formats[i].json;
        }
    if (text.length > ACCESS_FORMAT_BYTES) {
        wrong(&compiler, text, "is longer than 4096 bytes");
        return NULL;
    }
    return compile_template(&compiler) ? finish(&compiler) : NULL;
}

const char *access_known_word(enum access_meant meant, uint32_t index)
{
    if (meant == ACCESS_MEANT_FIELD)
        return index < NAMES ? names[index].name : NULL;
    return meant == ACCESS_MEANT_FORMAT && index < FORMATS ? known_formats[index].name : NULL;
}
