/* plugins/headers/forwarded.c - who the client was, for the server: X-Forwarded-* and Forwarded */
#include "plugins/headers/forwarded.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const weir_string forwarded_name = WEIR_STRING("Forwarded");
static const weir_string for_name = WEIR_STRING("X-Forwarded-For");
static const weir_string proto_name = WEIR_STRING("X-Forwarded-Proto");
static const weir_string host_name = WEIR_STRING("X-Forwarded-Host");

static bool equal(weir_string text, const char *word)
{
    return text.length == strlen(word) && !memcmp(text.bytes, word, text.length);
}

/* --- making */

static enum forwarded_mode mode_of(const weir_section *section, const char *key)
{
    static const char *const words[] = {"auto", "append", "replace", "strip", "keep"};
    weir_string text = headers_configuration->text(headers_configuration->find(section, key));
    for (int mode = FORWARDED_AUTO; mode <= FORWARDED_KEEP; mode++)
        if (equal(text, words[mode]))
            return (enum forwarded_mode)mode;
    return section ? FORWARDED_AUTO : FORWARDED_KEEP;
}

weir_result forwarded_make(const weir_section *section, struct forwarded *forwarded)
{
    const weir_section *list = headers_configuration->find(section, "trusted");
    uint32_t count = headers_configuration->count(list);
    weir_result rc = WEIR_OK;
    forwarded->x_forwarded = mode_of(section, "x_forwarded");
    forwarded->forwarded = mode_of(section, "forwarded");
    forwarded->client_port =
        headers_configuration->flag(headers_configuration->find(section, "client_port"));
    forwarded->trusted = headers_allocate(count + 1, sizeof *forwarded->trusted);
    for (uint32_t i = 0; i < count; i++) {
        const weir_section *item = headers_configuration->at(list, i);
        if (equal(headers_configuration->text(item), "unix"))
            forwarded->unix_trusted = true;
        else if ((forwarded->trusted[forwarded->trusted_count] =
                      headers_configuration->networks(item, 0)))
            forwarded->trusted_count++;
        else
            rc = WEIR_INVALID;
    }
    return rc;
}

void forwarded_free(struct forwarded *forwarded)
{
    for (uint32_t i = 0; i < forwarded->trusted_count; i++)
        headers_configuration->networks_free(forwarded->trusted[i]);
    free(forwarded->trusted);
}

/* --- a value that grows */

struct value {
    char bytes[VALUE_BYTES];
    size_t length;
    bool full;
};

static void put(struct value *value, weir_string text)
{
    if (text.length > sizeof value->bytes - value->length) {
        value->full = true;
        return;
    }
    if (text.length)
        memcpy(value->bytes + value->length, text.bytes, text.length);
    value->length += text.length;
}

/* All fields of that name as one list, so that what comes behind them is their last element. */
static void put_what_came(struct value *value, weir_exchange *exchange, weir_string name)
{
    weir_string came;
    for (uint32_t nth = 0;
         headers_filter->field(exchange, WEIR_REQUEST_HEAD, name, nth, &came) == WEIR_OK; nth++) {
        put(value, came);
        if (came.length)
            put(value, WEIR_STRING(", "));
    }
}

static weir_result set(weir_exchange *exchange, weir_string name, const struct value *value)
{
    if (value->full)
        return WEIR_TOO_MUCH;
    weir_string text = {value->bytes, value->length};
    if (!text.length)
        return headers_filter->remove_field(exchange, WEIR_REQUEST_HEAD, name);
    return headers_filter->set_field(exchange, WEIR_REQUEST_HEAD, name, text);
}

/* --- what is known of the client */

struct facts {
    weir_string address; /* empty: it has none */
    weir_string scheme;
    uint32_t port;
    bool trusted;
};

static bool is_trusted(const struct forwarded *forwarded, weir_string address)
{
    if (equal(address, "unix"))
        return forwarded->unix_trusted;
    for (uint32_t i = 0; i < forwarded->trusted_count; i++)
        if (headers_configuration->networks_contain(forwarded->trusted[i], address))
            return true;
    return false;
}

static struct facts facts_of(const struct forwarded *forwarded, weir_exchange *exchange)
{
    struct facts facts = {.address = {"", 0}, .scheme = {"", 0}};
    int64_t port = 0;
    headers_filter->text(exchange, WEIR_CLIENT_ADDRESS, &facts.address);
    headers_filter->text(exchange, WEIR_CLIENT_SCHEME, &facts.scheme);
    headers_filter->number(exchange, WEIR_CLIENT_PORT, &port);
    facts.port = (uint32_t)port;
    facts.trusted = is_trusted(forwarded, facts.address);
    if (equal(facts.address, "unix"))
        facts.address.length = 0;
    return facts;
}

static weir_string host_of(weir_exchange *exchange)
{
    return headers_filter->request_head(exchange)->authority;
}

/* --- X-Forwarded-* */

static weir_result set_for(weir_exchange *exchange, const struct facts *facts, bool keep)
{
    struct value value = {.length = 0};
    if (keep)
        put_what_came(&value, exchange, for_name);
    put(&value, facts->address.length ? facts->address : WEIR_STRING("unknown"));
    return set(exchange, for_name, &value);
}

/* Of these there is one: what the first of the trusted said. */
static weir_result set_one(weir_exchange *exchange, weir_string name, weir_string text, bool keep)
{
    struct value value = {.length = 0};
    weir_string came;
    if (keep && headers_filter->field(exchange, WEIR_REQUEST_HEAD, name, 0, &came) == WEIR_OK &&
        came.length)
        text = came;
    put(&value, text);
    return set(exchange, name, &value);
}

static weir_result set_x_forwarded(weir_exchange *exchange, const struct facts *facts, bool keep)
{
    weir_result rc = set_for(exchange, facts, keep);
    if (rc == WEIR_OK)
        rc = set_one(exchange, proto_name, facts->scheme, keep);
    return rc == WEIR_OK ? set_one(exchange, host_name, host_of(exchange), keep) : rc;
}

/* --- Forwarded */

/* RFC 7239 4: a token, or in quotes; of those only quotes and backslashes need a backslash. */
static void put_quoted(struct value *value, weir_string text)
{
    put(value, WEIR_STRING("\""));
    for (size_t i = 0; i < text.length; i++) {
        if (text.bytes[i] == '"' || text.bytes[i] == '\\')
            put(value, WEIR_STRING("\\"));
        put(value, (weir_string){text.bytes + i, 1});
    }
    put(value, WEIR_STRING("\""));
}

static bool is_plain(weir_string text)
{
    for (size_t i = 0; i < text.length; i++) {
        char c = text.bytes[i], lower = (char)(c | 0x20);
        if (!(lower >= 'a' && lower <= 'z') && !(c >= '0' && c <= '9') && c != '.' && c != '-')
            return false;
    }
    return text.length > 0;
}

static void put_pair(struct value *value, const char *name, weir_string text)
{
    put(value, (weir_string){name, strlen(name)});
    if (is_plain(text))
        put(value, text);
    else
        put_quoted(value, text);
}

/* RFC 7239 6: IPv6 stands in brackets; brackets and a port's colon are no token. */
static void put_node(struct value *value, const struct facts *facts, bool with_port)
{
    char node[80];
    bool six = memchr(facts->address.bytes, ':', facts->address.length) != NULL;
    if (!facts->address.length || facts->address.length > 64) {
        put_pair(value, "for=", WEIR_STRING("unknown"));
        return;
    }
    int length = snprintf(node, sizeof node, six ? "[%.*s]" : "%.*s", (int)facts->address.length,
                          facts->address.bytes);
    if (with_port && facts->port)
        length += snprintf(node + length, sizeof node - (size_t)length, ":%u", facts->port);
    put_pair(value, "for=", (weir_string){node, (size_t)length});
}

static weir_result set_forwarded(weir_exchange *exchange, const struct facts *facts, bool keep,
                                 bool with_port)
{
    struct value value = {.length = 0};
    if (keep)
        put_what_came(&value, exchange, forwarded_name);
    put_node(&value, facts, with_port);
    if (host_of(exchange).length)
        put_pair(&value, ";host=", host_of(exchange));
    if (facts->scheme.length)
        put_pair(&value, ";proto=", facts->scheme);
    return set(exchange, forwarded_name, &value);
}

/* --- the whole */

static enum forwarded_mode decided(enum forwarded_mode mode, weir_exchange *exchange)
{
    weir_string upstream = {"", 0};
    if (mode != FORWARDED_AUTO)
        return mode;
    headers_filter->text(exchange, WEIR_UPSTREAM, &upstream);
    return upstream.length ? FORWARDED_APPEND : FORWARDED_KEEP;
}

static weir_result strip(weir_exchange *exchange, const weir_string *names, size_t count)
{
    weir_result rc = WEIR_OK;
    for (size_t i = 0; i < count && rc == WEIR_OK; i++)
        rc = headers_filter->remove_field(exchange, WEIR_REQUEST_HEAD, names[i]);
    return rc;
}

static weir_result apply_x_forwarded(enum forwarded_mode mode, weir_exchange *exchange,
                                     const struct facts *facts)
{
    const weir_string names[] = {for_name, proto_name, host_name};
    if (mode == FORWARDED_KEEP)
        return WEIR_OK;
    if (mode == FORWARDED_STRIP)
        return strip(exchange, names, sizeof names / sizeof *names);
    return set_x_forwarded(exchange, facts, mode == FORWARDED_APPEND && facts->trusted);
}

static weir_result apply_forwarded(enum forwarded_mode mode, weir_exchange *exchange,
                                   const struct facts *facts, bool with_port)
{
    if (mode == FORWARDED_KEEP)
        return WEIR_OK;
    if (mode == FORWARDED_STRIP)
        return strip(exchange, &forwarded_name, 1);
    return set_forwarded(exchange, facts, mode == FORWARDED_APPEND && facts->trusted, with_port);
}

weir_result forwarded_apply(const struct forwarded *forwarded, weir_exchange *exchange)
{
    struct facts facts = facts_of(forwarded, exchange);
    weir_result rc = apply_x_forwarded(decided(forwarded->x_forwarded, exchange), exchange, &facts);
    if (rc != WEIR_OK)
        return rc;
    return apply_forwarded(decided(forwarded->forwarded, exchange), exchange, &facts,
                           forwarded->client_port);
}
