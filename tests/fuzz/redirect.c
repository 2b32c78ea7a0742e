/* tests/fuzz/redirect.c - any rules, any requests: a Location is harmless and the rule's own
 *
 * Input: lines "kind,host,path,when,to,status,query", an empty line, lines "authority target".
 * Aborts when a Location is no field value, leads to another host than its rule says, or when a
 * pattern matches a path that does not begin as patterns of its kind are said to. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/redirect/path.h"
#include "plugins/redirect/pattern.h"
#include "plugins/redirect/rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { RULES_MOST = 64, REQUESTS_MOST = 64 };

static void must(bool condition)
{
    if (!condition)
        abort();
}

static weir_string take(weir_string *rest, char separator)
{
    const char *end = rest->length ? memchr(rest->bytes, separator, rest->length) : NULL;
    weir_string part = {rest->bytes, end ? (size_t)(end - rest->bytes) : rest->length};
    size_t taken = part.length + (end != NULL);
    rest->bytes += taken;
    rest->length -= taken;
    return part;
}

/* --- rules */

static struct rule_text texts[RULES_MOST];

static struct rules *take_rules(weir_string *input)
{
    struct rules *rules = rules_new(input->length & 1);
    for (weir_string line; (line = take(input, '\n')).length && rules_count(rules) < RULES_MOST;) {
        struct rule_mistake mistake = {0};
        struct rule_text text = {.line = 1};
        for (weir_string *part = &text.kind; part <= &text.query; part++)
            *part = take(&line, ',');
        if (rules_add(rules, &text, &mistake))
            texts[rules_count(rules) - 1] = text;
        else
            must(mistake.part >= &text.kind && mistake.part <= &text.query && mistake.why[0] != 0);
    }
    rules_finish(rules);
    return rules;
}

/* --- what is never allowed */

/* The end of "scheme://host:port". */
static size_t host_end(weir_string uri)
{
    const char *colon = memmem(uri.bytes, uri.length, "://", 3);
    must(colon != NULL);
    size_t at = (size_t)(colon - uri.bytes) + 3;
    while (at < uri.length && !strchr("/?#", uri.bytes[at]))
        at++;
    return at;
}

static void check_host(weir_string location, weir_string to)
{
    if (to.bytes[0] == '/') {
        must(location.bytes[0] == '/');
        must(location.length < 2 || !strchr("/\\", location.bytes[1]));
        return;
    }
    size_t end = host_end(to);
    if (!memchr(to.bytes, '$', end))
        must(host_end(location) == end && !memcmp(location.bytes, to.bytes, end));
}

static void check_answer(const struct rule_answer *answer)
{
    weir_string location = answer->location;
    const struct rule_text *text = &texts[answer->number];
    must((location.length > 0) == (answer->status < 400));
    for (size_t i = 0; i < location.length; i++)
        must(location.bytes[i] > 0x20 && location.bytes[i] < 0x7f);
    if (location.length)
        check_host(location, text->to);
}

/* --- beginnings of patterns */

static void check_beginning(const pcre2_code *pattern, weir_string text, weir_string path)
{
    char beginning[PATTERN_BEGINNING];
    const size_t *groups;
    struct matcher matcher;
    size_t length = pattern_beginning(text, beginning);
    matcher_init(&matcher);
    if (pattern_match(pattern, &matcher, path, &groups) == PATTERN_MATCHES)
        must(path.length >= length && !memcmp(path.bytes, beginning, length));
    matcher_deinit(&matcher);
}

static void check_beginnings(const struct rules *rules, weir_string path)
{
    char why[MISTAKE_BYTES];
    for (uint32_t i = 0; i < rules_count(rules); i++) {
        if (texts[i].kind.length != 5 || texts[i].kind.bytes[0] != 'r')
            continue;
        pcre2_code *pattern = pattern_compile(texts[i].path, why);
        must(pattern != NULL);
        check_beginning(pattern, texts[i].path, path);
        pattern_free(pattern);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    weir_string input = {(const char *)data, size};
    struct rules *rules = take_rules(&input);
    struct lookup *lookup = lookup_new(rules);
    for (int i = 0; i < REQUESTS_MOST && input.length; i++) {
        struct rule_answer answer;
        weir_string target = take(&input, '\n');
        weir_string authority = take(&target, ' ');
        if (rules_find(rules, lookup, authority, target, &answer))
            check_answer(&answer);
        check_beginnings(rules, target);
    }
    lookup_free(lookup);
    rules_free(rules);
    return 0;
}
