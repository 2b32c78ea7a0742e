/* plugins/headers/template.c - values with placeholders, such as "{client}" */
#include "plugins/headers/template.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum part_kind { PART_LITERAL, PART_TEXT, PART_NUMBER, PART_OF_REQUEST, PART_VARIABLE };

struct template_part {
    enum part_kind kind;
    uint32_t what; /* a fact, or an offset in the head */
    char *text;    /* a literal, or a variable's name */
    size_t length;
};

static const struct {
    const char *name;
    enum part_kind kind;
    uint32_t what;
} names[] = {
    {"client", PART_TEXT, WEIR_CLIENT_ADDRESS},
    {"client_port", PART_NUMBER, WEIR_CLIENT_PORT},
    {"user", PART_TEXT, WEIR_USER},
    {"host", PART_OF_REQUEST, offsetof(weir_head, authority)},
    {"method", PART_OF_REQUEST, offsetof(weir_head, method)},
    {"path", PART_OF_REQUEST, offsetof(weir_head, path)},
    {"scheme", PART_TEXT, WEIR_CLIENT_SCHEME},
    {"id", PART_TEXT, WEIR_IDENTITY},
    {"listener", PART_TEXT, WEIR_LISTENER},
    {"upstream", PART_TEXT, WEIR_UPSTREAM},
    {"server", PART_TEXT, WEIR_SERVER_ADDRESS},
    {"client_protocol", PART_TEXT, WEIR_CLIENT_PROTOCOL},
    {"client_tls", PART_TEXT, WEIR_CLIENT_TLS},
    {"client_cipher", PART_TEXT, WEIR_CLIENT_CIPHER},
    {"client_tls_name", PART_TEXT, WEIR_CLIENT_TLS_NAME},
    {"client_certificate", PART_TEXT, WEIR_CLIENT_CERTIFICATE},
    {"client_fingerprint", PART_TEXT, WEIR_CLIENT_FINGERPRINT},
    {"server_protocol", PART_TEXT, WEIR_SERVER_PROTOCOL},
    {"server_tls", PART_TEXT, WEIR_SERVER_TLS},
    {"server_cipher", PART_TEXT, WEIR_SERVER_CIPHER},
};
enum { NAMES = sizeof names / sizeof *names };

/* --- making */

struct maker {
    const weir_section *section;
    weir_string rest;
    struct template *template;
    char *literal; /* since the last placeholder */
    size_t literal_length;
};

static struct template_part *add_part(struct maker *maker, enum part_kind kind, weir_string text)
{
    struct template_part *part = &maker->template->parts[maker->template->count++];
    *part = (struct template_part){.kind = kind, .text = headers_copy(text), .length = text.length};
    return part;
}

static void end_literal(struct maker *maker)
{
    if (maker->literal_length)
        add_part(maker, PART_LITERAL, (weir_string){maker->literal, maker->literal_length});
    maker->literal_length = 0;
}

static weir_result unknown(const struct maker *maker, weir_string name)
{
    char known[1024];
    size_t length = 0;
    for (size_t i = 0; i < NAMES && length < sizeof known; i++)
        length += (size_t)snprintf(known + length, sizeof known - length, "{%s}, ", names[i].name);
    return headers_mistake(maker->section, "{%.*s} is no placeholder; there are %s{variable:NAME}",
                           (int)name.length, name.bytes, known);
}

static weir_result add_placeholder(struct maker *maker, weir_string name)
{
    static const char variable[] = "variable:";
    size_t prefix = sizeof variable - 1;
    end_literal(maker);
    if (name.length > prefix && !memcmp(name.bytes, variable, prefix)) {
        add_part(maker, PART_VARIABLE, (weir_string){name.bytes + prefix, name.length - prefix});
        return WEIR_OK;
    }
    for (size_t i = 0; i < NAMES; i++) {
        if (strlen(names[i].name) != name.length || memcmp(names[i].name, name.bytes, name.length))
            continue;
        add_part(maker, names[i].kind, (weir_string){"", 0})->what = names[i].what;
        return WEIR_OK;
    }
    return unknown(maker, name);
}

static void take(struct maker *maker, size_t length)
{
    maker->rest.bytes += length;
    maker->rest.length -= length;
}

static weir_result add_brace(struct maker *maker)
{
    const char *at = maker->rest.bytes;
    if (maker->rest.length > 1 && at[1] == at[0]) {
        maker->literal[maker->literal_length++] = at[0];
        take(maker, 2);
        return WEIR_OK;
    }
    const char *end = *at == '{' ? memchr(at, '}', maker->rest.length) : NULL;
    if (!end)
        return headers_mistake(maker->section, "has a %c alone; %c%c is a brace", *at, *at, *at);
    weir_string name = {at + 1, (size_t)(end - at) - 1};
    take(maker, name.length + 2);
    return add_placeholder(maker, name);
}

static weir_result add_all(struct maker *maker)
{
    weir_result rc = WEIR_OK;
    while (maker->rest.length && rc == WEIR_OK) {
        char c = maker->rest.bytes[0];
        if (c == '{' || c == '}') {
            rc = add_brace(maker);
            continue;
        }
        if (((unsigned char)c < 0x20 && c != '\t') || c == 0x7f)
            return headers_mistake(maker->section, "has a control character");
        maker->literal[maker->literal_length++] = c;
        take(maker, 1);
    }
    end_literal(maker);
    return rc;
}

weir_result template_make(const weir_section *section, struct template *template)
{
    weir_string text = headers_configuration->text(section);
    if (text.length > VALUE_BYTES)
        return headers_mistake(section, "is longer than 16384 bytes");
    struct maker maker = {.section = section, .rest = text, .template = template};
    maker.literal = headers_allocate(text.length + 1, 1);
    template->parts = headers_allocate(text.length + 1, sizeof *template->parts);
    weir_result rc = add_all(&maker);
    free(maker.literal);
    return rc;
}

void template_free(struct template *template)
{
    for (uint32_t i = 0; i < template->count; i++)
        free(template->parts[i].text);
    free(template->parts);
}

/* --- filling in */

static weir_string number_of(weir_exchange *exchange, uint32_t what)
{
    static _Thread_local char text[24];
    int64_t number = 0;
    headers_filter->number(exchange, what, &number);
    if (!number)
        return (weir_string){"", 0};
    int length = snprintf(text, sizeof text, "%lld", (long long)number);
    return (weir_string){text, (size_t)length};
}

static weir_string of_request(weir_exchange *exchange, uint32_t offset)
{
    const weir_head *head = headers_filter->request_head(exchange);
    return *(const weir_string *)(const void *)((const char *)head + offset);
}

static weir_string value_of(const struct template_part *part, weir_exchange *exchange)
{
    weir_string value = {"", 0}, text = {part->text, part->length};
    switch (part->kind) {
    case PART_LITERAL:
        return text;
    case PART_TEXT:
        headers_filter->text(exchange, part->what, &value);
        return value;
    case PART_NUMBER:
        return number_of(exchange, part->what);
    case PART_OF_REQUEST:
        return of_request(exchange, part->what);
    case PART_VARIABLE:
        headers_filter->variable(exchange, text, &value);
        return value;
    }
    return value;
}

weir_result template_fill(const struct template *template, weir_exchange *exchange, char *to,
                          weir_string *value)
{
    size_t length = 0;
    for (uint32_t i = 0; i < template->count; i++) {
        weir_string part = value_of(&template->parts[i], exchange);
        if (part.length > VALUE_BYTES - length)
            return WEIR_TOO_MUCH;
        if (part.length)
            memcpy(to + length, part.bytes, part.length);
        length += part.length;
    }
    *value = (weir_string){to, length};
    return WEIR_OK;
}
