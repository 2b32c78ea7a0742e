/* plugins/acl/rules.c - what is written becomes rules, and which of them a request meets */
#include "plugins/acl/rules.h"

#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "plugins/acl/plain.h"

#define TEXTS "\"type\":\"string\",\"orList\":true,"
#define NETWORKS "\"type\":\"string\",\"format\":\"network\",\"orList\":true,"
#define CONDITIONS                                                                                 \
    "\"type\":\"object\",\"properties\":{"                                                         \
    "\"client\":{" NETWORKS "\"description\":\"Where the client comes from.\"},"                   \
    "\"user\":{" TEXTS "\"description\":\"Who the client proved to be; * is anybody who did.\"},"  \
    "\"host\":{" TEXTS "\"description\":\"NAME, *.NAME for all below it, or an address.\"},"       \
    "\"port\":{" TEXTS "\"description\":\"PORT or FIRST-LAST.\"},"                                 \
    "\"method\":{" TEXTS "\"description\":\"GET, CONNECT ...\"},"                                  \
    "\"path\":{" TEXTS "\"description\":\"The path, or with a * its beginning.\"},"                \
    "\"address\":{" NETWORKS "\"description\":\"What the host resolves to.\"}},"

const char rules_schema[] =
    "{\"type\":\"object\",\"required\":[\"otherwise\"],\"properties\":{"
    "\"rules\":{\"type\":\"array\",\"description\":\"The first that fits decides.\","
    "\"items\":{\"type\":\"object\",\"properties\":{"
    "\"allow\":{" CONDITIONS "\"description\":\"Whoever meets all of these goes on.\"},"
    "\"deny\":{" CONDITIONS "\"description\":\"Whoever meets all of these gets 403.\"}}}},"
    "\"otherwise\":{\"type\":\"string\",\"enum\":[\"allow\",\"deny\"],"
    "\"description\":\"What holds when no rule fits.\"}}}";

struct text {
    char *bytes;
    size_t length;
    bool is_part; /* of a host its end, of a path its beginning */
};

struct texts {
    struct text *list;
    uint32_t count;
};

struct port_range {
    uint32_t first, last;
};

struct rule {
    bool allows;
    uint32_t line;
    weir_networks *clients, *addresses;        /* NULL: any */
    struct texts users, hosts, methods, paths; /* none: any */
    struct port_range *ports;
    uint32_t port_count, waiting_number; /* among those with addresses */
};

struct rules {
    const weir_configuration_host *host;
    struct rule *list;
    uint32_t count, waiting_count;
    bool otherwise_allows, have_paths;
};

/* --- reading */

/* One rule, while it is read. */
struct reader {
    const weir_configuration_host *host;
    struct rule *rule;
    bool fine;
};

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count + 1, size);
    if (!memory)
        abort();
    return memory;
}

static __attribute__((format(printf, 3, 4))) void
mistake(struct reader *reader, const weir_section *section, const char *format, ...)
{
    char why[256];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    size_t shown = (size_t)length < sizeof why ? (size_t)length : sizeof why - 1;
    reader->host->mistake(section, (weir_string){why, shown});
    reader->fine = false;
}

static struct text text_of(weir_string bytes)
{
    struct text text = {allocate(bytes.length, 1), bytes.length, false};
    memcpy(text.bytes, bytes.bytes, bytes.length);
    return text;
}

/* The last * is what makes it a beginning; it is dropped. */
static struct text read_beginning(weir_string written)
{
    bool is_part = written.length && written.bytes[written.length - 1] == '*';
    written.length -= is_part;
    struct text text = text_of(written);
    text.is_part = is_part;
    return text;
}

static struct text read_plain(struct reader *reader, const weir_section *section)
{
    struct text text = text_of(reader->host->text(section));
    if (!text.length)
        mistake(reader, section, "is empty");
    return text;
}

/* What could not be met by any path, or by another than it looks like. */
static struct text read_path(struct reader *reader, const weir_section *section)
{
    struct text text = read_beginning(reader->host->text(section));
    char *resolved = allocate(text.length, 1);
    size_t length = plain_resolved((weir_string){text.bytes, text.length}, resolved);
    bool is_plain = length == text.length && !memcmp(text.bytes, resolved, length);
    if (!text.length || text.bytes[0] != '/' || memchr(text.bytes, '*', text.length))
        mistake(reader, section, "a path begins with / and has no * but at its end");
    else if (!is_plain)
        mistake(reader, section, "paths are compared in a plain form; write \"%.*s%s\"",
                (int)length, resolved, text.is_part ? "*" : "");
    free(resolved);
    return text;
}

static bool is_name(weir_string text)
{
    for (size_t i = 0; i < text.length; i++) {
        char c = text.bytes[i], lower = (char)(c | 0x20);
        if (!(lower >= 'a' && lower <= 'z') && !(c >= '0' && c <= '9') && !(c && strchr("-._", c)))
            return false;
    }
    return text.length > 0;
}

/* With brackets or without, which nothing else with a colon has. */
static bool is_six(weir_string text)
{
    char address[INET6_ADDRSTRLEN];
    struct in6_addr unused;
    bool bracketed = text.length > 2 && text.bytes[0] == '[' && text.bytes[text.length - 1] == ']';
    if (text.length - 2 * bracketed >= sizeof address)
        return false;
    snprintf(address, sizeof address, "%.*s", (int)(text.length - 2 * bracketed),
             text.bytes + bracketed);
    return inet_pton(AF_INET6, address, &unused) == 1;
}

static size_t plain_written(weir_string written, char to[HOST_BYTES])
{
    char bracketed[INET6_ADDRSTRLEN + 2];
    if (!is_six(written) || written.bytes[0] == '[')
        return plain_host(written, to);
    int length =
        snprintf(bracketed, sizeof bracketed, "[%.*s]", (int)written.length, written.bytes);
    return plain_host((weir_string){bracketed, (size_t)length}, to);
}

/* *.example is what ends in .example; * is any. */
static struct text read_host(struct reader *reader, const weir_section *section)
{
    char plain[HOST_BYTES] = "";
    weir_string written = reader->host->text(section);
    bool is_part = written.length && written.bytes[0] == '*';
    written.bytes += is_part;
    written.length -= is_part;
    bool any = is_part && !written.length;
    size_t length = any ? 0 : plain_written(written, plain);
    bool good = is_part ? plain[0] == '.' && is_name(written) : is_name(written) || is_six(written);
    if (!any && (!length || !good))
        mistake(reader, section, "write NAME, *.NAME or an address, without a port");
    struct text text = text_of((weir_string){plain, length});
    text.is_part = is_part;
    return text;
}

static void read_texts(struct reader *reader, const weir_section *section, struct texts *texts,
                       struct text (*read)(struct reader *reader, const weir_section *section))
{
    uint32_t count = reader->host->count(section);
    texts->list = allocate(count, sizeof *texts->list);
    for (uint32_t i = 0; i < count; i++)
        texts->list[texts->count++] = read(reader, reader->host->at(section, i));
    if (section && !count)
        mistake(reader, section, "is empty: nothing would fit");
}

/* Moves *text behind the number; 0: it is no port. */
static uint32_t read_port(weir_string *text)
{
    uint32_t port = 0;
    while (text->length && text->bytes[0] >= '0' && text->bytes[0] <= '9' && port <= 65535) {
        port = port * 10 + (uint32_t)(text->bytes[0] - '0');
        text->bytes++;
        text->length--;
    }
    return port <= 65535 ? port : 0;
}

static void read_range(struct reader *reader, const weir_section *section)
{
    weir_string text = reader->host->text(section);
    struct port_range range = {.first = read_port(&text)};
    range.last = range.first;
    if (text.length && text.bytes[0] == '-') {
        text = (weir_string){text.bytes + 1, text.length - 1};
        range.last = read_port(&text);
    }
    if (text.length || !range.first || range.last < range.first)
        mistake(reader, section, "write a port from 1 to 65535, or FIRST-LAST");
    reader->rule->ports[reader->rule->port_count++] = range;
}

static void read_ports(struct reader *reader, const weir_section *section)
{
    uint32_t count = reader->host->count(section);
    reader->rule->ports = allocate(count, sizeof *reader->rule->ports);
    for (uint32_t i = 0; i < count; i++)
        read_range(reader, reader->host->at(section, i));
    if (section && !count)
        mistake(reader, section, "is empty: nothing would fit");
}

static weir_networks *read_networks(struct reader *reader, const weir_section *section)
{
    if (!section)
        return NULL;
    if (!reader->host->count(section))
        mistake(reader, section, "is empty: nothing would fit");
    weir_networks *networks = reader->host->networks(section, !reader->rule->allows);
    reader->fine &= networks != NULL;
    return networks;
}

static void read_conditions(struct reader *reader, const weir_section *section)
{
    const weir_configuration_host *host = reader->host;
    struct rule *rule = reader->rule;
    rule->clients = read_networks(reader, host->find(section, "client"));
    rule->addresses = read_networks(reader, host->find(section, "address"));
    read_texts(reader, host->find(section, "user"), &rule->users, read_plain);
    read_texts(reader, host->find(section, "host"), &rule->hosts, read_host);
    read_texts(reader, host->find(section, "method"), &rule->methods, read_plain);
    read_texts(reader, host->find(section, "path"), &rule->paths, read_path);
    read_ports(reader, host->find(section, "port"));
}

static bool read_rule(struct rules *rules, const weir_section *section)
{
    const weir_configuration_host *host = rules->host;
    const weir_section *allow = host->find(section, "allow"), *deny = host->find(section, "deny");
    struct rule *rule = &rules->list[rules->count++];
    struct reader reader = {host, rule, true};
    *rule = (struct rule){.allows = allow != NULL, .line = host->line(section)};
    if (!allow == !deny)
        mistake(&reader, section, "a rule is one of allow and deny");
    read_conditions(&reader, allow ? allow : deny);
    rules->have_paths |= rule->paths.count != 0;
    if (rule->addresses)
        rule->waiting_number = rules->waiting_count++;
    if (rules->waiting_count > WAITING_MOST)
        mistake(&reader, section, "there may be %d rules with addresses", WAITING_MOST);
    return reader.fine;
}

struct rules *rules_make(const weir_configuration_host *host, const weir_section *with)
{
    const weir_section *list = host->find(with, "rules");
    struct rules *rules = allocate(1, sizeof *rules);
    bool fine = true;
    rules->host = host;
    rules->list = allocate(host->count(list), sizeof *rules->list);
    for (uint32_t i = 0; i < host->count(list); i++)
        fine &= read_rule(rules, host->at(list, i));
    weir_string otherwise = host->text(host->find(with, "otherwise"));
    rules->otherwise_allows = otherwise.length == 5; /* "allow", not "deny" */
    if (fine)
        return rules;
    rules_free(rules);
    return NULL;
}

static void texts_free(struct texts *texts)
{
    for (uint32_t i = 0; i < texts->count; i++)
        free(texts->list[i].bytes);
    free(texts->list);
}

void rules_free(struct rules *rules)
{
    for (uint32_t i = 0; i < rules->count; i++) {
        struct rule *rule = &rules->list[i];
        rules->host->networks_free(rule->clients);
        rules->host->networks_free(rule->addresses);
        texts_free(&rule->users);
        texts_free(&rule->hosts);
        texts_free(&rule->methods);
        texts_free(&rule->paths);
        free(rule->ports);
    }
    free(rules->list);
    free(rules);
}

bool rules_have_paths(const struct rules *rules)
{
    return rules->have_paths;
}

uint32_t rules_line(const struct rules *rules, int32_t rule)
{
    return rule < 0 ? 0 : rules->list[rule].line;
}

/* --- whether a rule fits */

static bool equal(const struct text *text, weir_string value)
{
    return text->length == value.length && !memcmp(text->bytes, value.bytes, value.length);
}

static bool fits_user(const struct rule *rule, weir_string user)
{
    for (uint32_t i = 0; i < rule->users.count && user.length; i++)
        if (equal(&rule->users.list[i], user) || equal(&rule->users.list[i], WEIR_STRING("*")))
            return true;
    return !rule->users.count;
}

static bool is_host(const struct text *text, weir_string host)
{
    size_t before = host.length - text->length;
    if (!text->is_part)
        return equal(text, host);
    return host.length > text->length && !memcmp(host.bytes + before, text->bytes, text->length);
}

static bool fits_host(const struct rule *rule, const struct facts *facts)
{
    if (rule->hosts.count && rule->allows && facts->host_is_encoded)
        return false;
    for (uint32_t i = 0; i < rule->hosts.count && facts->host.length; i++)
        if (is_host(&rule->hosts.list[i], facts->host))
            return true;
    return !rule->hosts.count;
}

/* Some servers take "post" for POST: what is denied is denied in any case. */
static bool fits_method(const struct rule *rule, weir_string method)
{
    for (uint32_t i = 0; i < rule->methods.count; i++) {
        const struct text *text = &rule->methods.list[i];
        if (equal(text, method) || (!rule->allows && text->length == method.length &&
                                    !strncasecmp(text->bytes, method.bytes, method.length)))
            return true;
    }
    return !rule->methods.count;
}

static bool is_path(const struct text *text, weir_string path)
{
    if (!text->is_part)
        return equal(text, path);
    return path.length >= text->length && !memcmp(path.bytes, text->bytes, text->length);
}

static bool has_path(const struct rule *rule, weir_string path)
{
    for (uint32_t i = 0; i < rule->paths.count && path.length; i++)
        if (is_path(&rule->paths.list[i], path))
            return true;
    return false;
}

/* A tunnel has no path: no rule about paths is about it. */
static bool fits_path(const struct rule *rule, const struct facts *facts)
{
    if (!rule->paths.count)
        return true;
    bool decoded = has_path(rule, facts->decoded_path);
    bool resolved = has_path(rule, facts->resolved_path);
    return rule->allows ? decoded && resolved : decoded || resolved;
}

static bool fits_port(const struct rule *rule, uint32_t port)
{
    for (uint32_t i = 0; i < rule->port_count; i++)
        if (port >= rule->ports[i].first && port <= rule->ports[i].last)
            return true;
    return !rule->port_count;
}

/* But for its address. */
static bool fits(const struct rules *rules, const struct rule *rule, const struct facts *facts)
{
    return (!rule->clients || rules->host->networks_contain(rule->clients, facts->client)) &&
           fits_user(rule, facts->user) && fits_host(rule, facts) && fits_port(rule, facts->port) &&
           fits_method(rule, facts->method) && fits_path(rule, facts);
}

/* --- judging */

static uint64_t bit_of(const struct rule *rule)
{
    return (uint64_t)1 << rule->waiting_number % 64;
}

/* Whether one of those that wait says something else than what holds without them. */
static bool matters(const struct rules *rules, const struct verdict *verdict)
{
    for (uint32_t i = 0; i < rules->count; i++) {
        const struct rule *rule = &rules->list[i];
        if (rule->addresses && rule->allows != verdict->allows &&
            (verdict->waiting[rule->waiting_number / 64] & bit_of(rule)))
            return true;
    }
    return false;
}

void rules_judge(const struct rules *rules, const struct facts *facts, struct verdict *verdict)
{
    *verdict = (struct verdict){.allows = rules->otherwise_allows, .rule = -1};
    bool some_wait = false;
    for (uint32_t i = 0; i < rules->count; i++) {
        const struct rule *rule = &rules->list[i];
        if (!fits(rules, rule, facts))
            continue;
        if (!rule->addresses) {
            verdict->allows = rule->allows;
            verdict->rule = (int32_t)i;
            break;
        }
        verdict->waiting[rule->waiting_number / 64] |= bit_of(rule);
        some_wait = true;
    }
    verdict->waits = some_wait && matters(rules, verdict);
}

bool rules_allow_address(const struct rules *rules, const struct verdict *verdict,
                         weir_string address, int32_t *decided)
{
    for (uint32_t i = 0; i < rules->count; i++) {
        const struct rule *rule = &rules->list[i];
        if (!rule->addresses || !(verdict->waiting[rule->waiting_number / 64] & bit_of(rule)) ||
            !rules->host->networks_contain(rule->addresses, address))
            continue;
        *decided = (int32_t)i;
        return rule->allows;
    }
    *decided = verdict->rule;
    return verdict->allows;
}
