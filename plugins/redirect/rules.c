/* plugins/redirect/rules.c - a set of rules is made: each is checked and put where it is found */
#include "plugins/redirect/rules.h"

#include <stdio.h>
#include <string.h>

#include "plugins/redirect/path.h"
#include "plugins/redirect/rule_set.h"

enum { PATH_MOST = 2048, STATUS_STANDARD = 301 };

struct rules *rules_new(bool trailing_slash)
{
    struct rules *rules = redirect_resize(NULL, sizeof *rules);
    *rules = (struct rules){.trailing_slash = trailing_slash, .host_count = 1};
    rules->hosts = redirect_grow(NULL, 0, &rules->host_capacity, sizeof *rules->hosts);
    rules->hosts[ANY_HOST] = (struct rule_host){0};
    pool_add(&rules->pool, "", 1); /* there is always something */
    return rules;
}

void rules_free(struct rules *rules)
{
    if (!rules)
        return;
    for (uint32_t i = 0; i < rules->pattern_count; i++)
        pattern_free(rules->patterns[i]);
    redirect_resize(rules->patterns, 0);
    redirect_resize(rules->list, 0);
    redirect_resize(rules->hosts, 0);
    index_free(&rules->index);
    pool_deinit(&rules->pool);
    redirect_resize(rules, 0);
}

void rules_finish(struct rules *rules)
{
    pool_trim(&rules->pool);
    rules->list = redirect_resize(rules->list, rules->count * sizeof *rules->list);
    rules->capacity = rules->count;
    rules->patterns =
        redirect_resize(rules->patterns, rules->pattern_count * sizeof *rules->patterns);
    rules->pattern_capacity = rules->pattern_count;
}

uint32_t rules_count(const struct rules *rules)
{
    return rules->count;
}

uint32_t rules_line(const struct rules *rules, uint32_t number)
{
    return rule_at(rules, rules->list[number])->line;
}

size_t rules_bytes(const struct rules *rules)
{
    size_t bytes = sizeof *rules + rules->pool.capacity + index_bytes(&rules->index) +
                   rules->capacity * sizeof *rules->list +
                   rules->pattern_capacity * sizeof *rules->patterns +
                   rules->host_capacity * sizeof *rules->hosts;
    for (uint32_t i = 0; i < rules->pattern_count; i++)
        bytes += pattern_bytes(rules->patterns[i]);
    return bytes;
}

/* --- parts of a rule */

static bool wrong(struct rule_mistake *mistake, const weir_string *part, const char *why)
{
    mistake->part = part;
    if (why != mistake->why)
        snprintf(mistake->why, sizeof mistake->why, "%s", why);
    return false;
}

/* The place of a word among others; -1: it is none of them. */
static int choose(weir_string word, const char *const *words)
{
    for (int i = 0; words[i]; i++)
        if (strlen(words[i]) == word.length && !memcmp(words[i], word.bytes, word.length))
            return i;
    return word.length ? -1 : 0;
}

static bool read_status(const struct rule_text *text, struct rule *rule,
                        struct rule_mistake *mistake)
{
    weir_string digits = text->status;
    uint32_t status = digits.length ? 0 : STATUS_STANDARD;
    for (size_t i = 0; i < digits.length; i++)
        status = digits.length == 3 && digits.bytes[i] >= '0' && digits.bytes[i] <= '9'
                     ? status * 10 + (uint32_t)(digits.bytes[i] - '0')
                     : 1000;
    bool redirects = (status >= 301 && status <= 303) || status == 307 || status == 308;
    if (!redirects && (status < 400 || status > 599))
        return wrong(mistake, &text->status,
                     "a status is 301, 302, 303, 307 or 308, or 400 to 599 without a target");
    if (redirects && !text->to.length)
        return wrong(mistake, &text->to, "there is no target");
    if (!redirects && text->to.length)
        return wrong(mistake, &text->to, "a status from 400 on has no target");
    rule->status = (uint16_t)status;
    rule->has_target = redirects;
    return true;
}

static bool read_pattern(struct rules *rules, const struct rule_text *text, struct rule *rule,
                         struct rule_mistake *mistake)
{
    pcre2_code *pattern = pattern_compile(text->path, mistake->why);
    if (!pattern)
        return wrong(mistake, &text->path, mistake->why);
    rules->patterns = redirect_grow(rules->patterns, rules->pattern_count, &rules->pattern_capacity,
                                    sizeof(pcre2_code *));
    rule->pattern = rules->pattern_count++;
    rules->patterns[rule->pattern] = pattern;
    return true;
}

static bool read_target(struct rules *rules, const struct rule_text *text, struct rule *rule,
                        struct rule_mistake *mistake)
{
    static const char *const policies[] = {"keep", "drop", "replace", NULL};
    int policy = choose(text->query, policies);
    if (policy < 0)
        return wrong(mistake, &text->query, "the query is one of keep, drop, replace");
    if (!rule->has_target)
        return true;
    const pcre2_code *pattern = rule->pattern == INDEX_NONE ? NULL : rules->patterns[rule->pattern];
    const char *why = target_compile(text->to, pattern, &rules->pool, &rule->target);
    rule->target.query_policy = (uint8_t)policy;
    return !why || wrong(mistake, &text->to, why);
}

static bool read_conditions(struct rules *rules, const struct rule_text *text, struct rule *rule,
                            struct rule_mistake *mistake)
{
    const char *why = query_compile(text->when, &rules->pool, &rule->conditions);
    return !why || wrong(mistake, &text->when, why);
}

static const char *host_mistake(weir_string host, bool wildcard)
{
    if (host.length < 1u + wildcard || host.length > HOST_MOST)
        return "a host has 1 to 255 characters";
    for (size_t i = 0; i < host.length; i++) {
        char c = host.bytes[i];
        bool address = host.bytes[0] == '[' && strchr("[]:", c);
        if ((uint8_t)c <= 0x20 || (uint8_t)c >= 0x7f || (strchr("*/:@?#[]\\", c) && !address))
            return "a host is a name or an address without port, or \"*.\" and a name";
    }
    return NULL;
}

static uint32_t new_host(struct rules *rules)
{
    rules->hosts =
        redirect_grow(rules->hosts, rules->host_count, &rules->host_capacity, sizeof *rules->hosts);
    rules->hosts[rules->host_count] = (struct rule_host){0};
    return rules->host_count++;
}

static bool read_host(struct rules *rules, const struct rule_text *text, uint32_t *host,
                      struct rule_mistake *mistake)
{
    char name[HOST_MOST];
    weir_string written = text->host;
    *host = ANY_HOST;
    if (!written.length)
        return true;
    bool wildcard = written.length > 2 && !memcmp(written.bytes, "*.", 2);
    written.bytes += wildcard;
    written.length -= wildcard;
    const char *why = host_mistake(written, wildcard);
    if (why)
        return wrong(mistake, &text->host, why);
    written = (weir_string){name, path_host(written, name)};
    if (!written.length)
        return wrong(mistake, &text->host, "a host is not only a dot");
    struct index_key *key =
        index_add(&rules->index, &rules->pool, wildcard ? WILDCARD : HOST, 0, written);
    if (key->first == INDEX_NONE)
        key->first = new_host(rules);
    if (wildcard && written.length > rules->wildcard_longest)
        rules->wildcard_longest = (uint32_t)written.length;
    *host = key->first;
    return true;
}

/* --- its place */

/* The path in its normal form, or the beginning of a pattern. `to` has room for 3 * PATH_MOST. */
static bool read_key(const struct rule_text *text, int kind, char *to, weir_string *key,
                     struct rule_mistake *mistake)
{
    *key = (weir_string){to, 0};
    if (text->path.length > PATH_MOST)
        return wrong(mistake, &text->path, "a path is at most 2048 bytes long");
    if (kind == PATTERN) {
        key->length = pattern_beginning(text->path, to);
        return true;
    }
    if (!text->path.length || text->path.bytes[0] != '/')
        return wrong(mistake, &text->path, "a path begins with a slash");
    if (memchr(text->path.bytes, '?', text->path.length))
        return wrong(mistake, &text->path, "a path has no query; conditions go into \"when\"");
    key->length = path_normalize(text->path, to);
    return true;
}

static void note_length(struct rules *rules, struct rule_host *host, int kind, size_t length)
{
    if (kind == EXACT && length > host->exact_longest)
        host->exact_longest = (uint16_t)length;
    if (kind == PREFIX && length > host->prefix_longest)
        host->prefix_longest = (uint16_t)length;
    if (kind == PATTERN)
        host->beginnings |= 1u << length;
    if (kind >= INDEX_BEGINNINGS && length > rules->longest)
        rules->longest = (uint32_t)length;
}

/* A rule behind one without conditions would never be reached. */
static bool reached(const struct rules *rules, const struct index_key *key, int kind,
                    const struct rule_text *text, struct rule_mistake *mistake)
{
    if (kind == PATTERN || key->last == INDEX_NONE)
        return true;
    const struct rule *before = rule_at(rules, key->last);
    if (before->conditions.length)
        return true;
    snprintf(mistake->why, sizeof mistake->why,
             "never reached: the rule of line %u has the same path and no conditions",
             before->line);
    return wrong(mistake, &text->path, mistake->why);
}

/* Behind its key, if that is new. Adding to the pool moves the key. */
static void append(struct rules *rules, struct rule *rule, uint32_t key_place)
{
    rule->number = rules->count;
    pool_align(&rules->pool, _Alignof(struct rule));
    uint32_t place = pool_add(&rules->pool, rule, sizeof *rule);
    struct index_key *key = pool_at(&rules->pool, key_place);
    if (key->last == INDEX_NONE)
        key->first = place;
    else
        rule_at(rules, key->last)->next = place;
    key->last = place;
    rules->list = redirect_grow(rules->list, rules->count, &rules->capacity, sizeof *rules->list);
    rules->list[rules->count++] = place;
}

static bool place(struct rules *rules, struct rule *rule, int kind, uint32_t host,
                  const struct rule_text *text, struct rule_mistake *mistake)
{
    char bytes[3 * PATH_MOST];
    weir_string path;
    if (!read_key(text, kind, bytes, &path, mistake))
        return false;
    const struct index_key *key = index_add(&rules->index, &rules->pool, (uint8_t)kind, host, path);
    if (!reached(rules, key, kind, text, mistake))
        return false;
    note_length(rules, &rules->hosts[host], kind, path.length);
    append(rules, rule, (uint32_t)((const char *)key - rules->pool.bytes));
    return true;
}

bool rules_add(struct rules *rules, const struct rule_text *text, struct rule_mistake *mistake)
{
    static const char *const names[] = {"exact", "prefix", "regex", NULL};
    static const int kinds[] = {EXACT, PREFIX, PATTERN};
    struct rule rule = {.next = INDEX_NONE, .line = text->line, .pattern = INDEX_NONE};
    uint32_t host;
    int chosen = choose(text->kind, names), kind = chosen < 0 ? 0 : kinds[chosen];
    if (chosen < 0)
        return wrong(mistake, &text->kind, "the kind is one of exact, prefix, regex");
    return read_status(text, &rule, mistake) && read_host(rules, text, &host, mistake) &&
           (kind != PATTERN || read_pattern(rules, text, &rule, mistake)) &&
           read_target(rules, text, &rule, mistake) &&
           read_conditions(rules, text, &rule, mistake) &&
           place(rules, &rule, kind, host, text, mistake);
}
