/* tests/unit/plugins/redirect/rules_test.c - which rule a request meets, and where it leads */
#include "plugins/redirect/rules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static weir_string text(const char *bytes)
{
    return (weir_string){bytes, bytes ? strlen(bytes) : 0};
}

/* A rule with its words one after the other: kind host path when to status query. */
#define RULE(...)                                                                                  \
    (const char *[7])                                                                              \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

static struct rule_text rule_text(const char *const *words, uint32_t line)
{
    return (struct rule_text){text(words[0]), text(words[1]), text(words[2]), text(words[3]),
                              text(words[4]), text(words[5]), text(words[6]), line};
}

static void add(struct rules *rules, const char *const *words)
{
    struct rule_mistake mistake = {0};
    struct rule_text rule = rule_text(words, rules_count(rules) + 1);
    if (!rules_add(rules, &rule, &mistake))
        fail_msg("%s", mistake.why);
}

/* "301 /location", "410" or "none". */
static void check(struct rules *rules, const char *host, const char *target, const char *expected)
{
    char got[9000] = "none";
    struct rule_answer answer;
    struct lookup *lookup = lookup_new(rules);
    char *tight = malloc(strlen(target) + 1); /* not a byte behind it may be read */
    memcpy(tight, target, strlen(target));
    tight = realloc(tight, strlen(target) ? strlen(target) : 1);
    if (rules_find(rules, lookup, text(host), (weir_string){tight, strlen(target)}, &answer))
        snprintf(got, sizeof got, answer.location.length ? "%u %.*s" : "%u", answer.status,
                 (int)answer.location.length, answer.location.bytes);
    lookup_free(lookup);
    free(tight);
    assert_string_equal(got, expected);
}

/* --- kinds */

static void test_exact(void **state)
{
    struct rules *rules = rules_new(false);
    add(rules, RULE("exact", "", "/old", "", "/new"));
    add(rules, RULE("", "", "/caf\xc3\xa9", "", "https://new.example/caf\xc3\xa9", "308"));
    add(rules, RULE("exact", "", "/gone", "", "", "410"));
    rules_finish(rules);
    check(rules, "a", "/old", "301 /new");
    check(rules, "a", "/%6Fld", "301 /new");
    check(rules, "a", "/old?x=1", "301 /new?x=1");
    check(rules, "a", "/old/", "none");
    check(rules, "a", "/Old", "none");
    check(rules, "a", "/ol", "none");
    check(rules, "a", "/caf%c3%a9", "308 https://new.example/caf%C3%A9");
    check(rules, "a", "/gone", "410");
    check(rules, "a", "*", "none");
    check(rules, "a", "", "none");
    rules_free(rules);
}

static void test_prefix(void **state)
{
    struct rules *rules = rules_new(false);
    add(rules, RULE("prefix", "", "/docs", "", "/manual", "302"));
    add(rules, RULE("prefix", "", "/docs/old", "", "/archive/", "302"));
    add(rules, RULE("prefix", "", "/slash/", "", "/s", "302"));
    add(rules, RULE("prefix", "", "/far", "", "https://far.example", "302"));
    rules_finish(rules);
    check(rules, "a", "/docs", "302 /manual");
    check(rules, "a", "/docs/", "302 /manual/");
    check(rules, "a", "/docs/a%2fb/%7e?q", "302 /manual/a%2fb/%7e?q");
    check(rules, "a", "/%64ocs/%61", "302 /manual/%61");
    check(rules, "a", "/docsx", "none");
    check(rules, "a", "/docs/old/x", "302 /archive/x");
    check(rules, "a", "/docs/older", "302 /manual/older");
    check(rules, "a", "/slash/x", "302 /s/x");
    check(rules, "a", "/slash", "none");
    check(rules, "a", "/far/x", "302 https://far.example/x");
    check(rules, "a", "/far", "302 https://far.example");
    rules_free(rules);
}

static void test_regex(void **state)
{
    struct rules *rules = rules_new(false);
    add(rules, RULE("regex", "", "^/blog/(\\d{4})/(?<name>[^/]+)$", "", "/b/${name}-$1-$0-$$"));
    add(rules, RULE("regex", "", "/(a|b)/(.*)", "", "https://$1.example/$2?from=$1#$2", "303"));
    add(rules, RULE("regex", "", ".*\\.php$", "", "", "410"));
    add(rules, RULE("regex", "", "/opt(x)?(y)?$", "", "/[$1$2]"));
    rules_finish(rules);
    check(rules, "a", "/blog/2024/%68i%2f", "301 /b/%68i%2f-2024-/blog/2024/%68i%2f-$");
    check(rules, "a", "/blog/20/hi", "none");
    check(rules, "a", "/a/x/y?z", "303 https://a.example/x/y?from=a&z#x/y");
    check(rules, "a", "/c/x.php", "410");
    check(rules, "a", "/opty", "301 /[y]");
    check(rules, "a", "/opt", "301 /[]");
    rules_free(rules);
}

/* --- precedence */

static void test_hosts_come_first(void **state)
{
    struct rules *rules = rules_new(false);
    add(rules, RULE("exact", "", "/x", "", "/any"));
    add(rules, RULE("exact", "*.example", "/x", "", "/wildcard"));
    add(rules, RULE("exact", "*.b.example", "/x", "", "/longer"));
    add(rules, RULE("regex", "a.b.Example.", "/x", "", "/own"));
    add(rules, RULE("exact", "", "/y", "", "/any-y"));
    add(rules, RULE("exact", "[::1]", "/x", "", "/address"));
    rules_finish(rules);
    check(rules, "A.b.example:80", "/x", "301 /own");
    check(rules, "c.b.example", "/x", "301 /longer");
    check(rules, "d.c.b.example", "/x", "301 /longer");
    check(rules, "b.example", "/x", "301 /wildcard");
    check(rules, "example", "/x", "301 /any");
    check(rules, "notexample", "/x", "301 /any");
    check(rules, "", "/x", "301 /any");
    check(rules, "[::1]:80", "/x", "301 /address");
    check(rules, "a.b.example", "/y", "301 /any-y");
    rules_free(rules);
}

static void test_exact_before_prefix_before_regex(void **state)
{
    struct rules *rules = rules_new(false);
    add(rules, RULE("regex", "", "/p/.*", "", "/first-regex"));
    add(rules, RULE("regex", "", "/p/q.*", "", "/second-regex"));
    add(rules, RULE("regex", "", "/q/x.*", "", "/third-regex"));
    add(rules, RULE("regex", "", "/q/.*", "", "/fourth-regex"));
    add(rules, RULE("prefix", "", "/p/a", "", "/short"));
    add(rules, RULE("prefix", "", "/p/a/b", "", "/long"));
    add(rules, RULE("exact", "", "/p/a/b/c", "", "/exact"));
    rules_finish(rules);
    check(rules, "a", "/p/a/b/c", "301 /exact");
    check(rules, "a", "/p/a/b/d", "301 /long/d");
    check(rules, "a", "/p/a/c", "301 /short/c");
    check(rules, "a", "/p/q", "301 /first-regex");
    check(rules, "a", "/q/x", "301 /third-regex");
    check(rules, "a", "/q/y", "301 /fourth-regex");
    rules_free(rules);
}

static void test_a_failed_condition_passes_to_the_next(void **state)
{
    struct rules *rules = rules_new(false);
    add(rules, RULE("exact", "h", "/x", "own", "/own"));
    add(rules, RULE("exact", "", "/x", "id=7&lang", "/seven"));
    add(rules, RULE("exact", "", "/x", "id=%37", "/seven-only"));
    add(rules, RULE("exact", "", "/x", "id", "/id"));
    add(rules, RULE("prefix", "", "/x", "!page", "/no-page"));
    add(rules, RULE("regex", "", "/x", "page=", "/empty-page"));
    add(rules, RULE("regex", "", "/x", "", "/last"));
    rules_finish(rules);
    check(rules, "h", "/x?own", "301 /own?own");
    check(rules, "h", "/x?id=7&lang=de", "301 /seven?id=7&lang=de");
    check(rules, "h", "/x?i%64=%37", "301 /seven-only?i%64=%37");
    check(rules, "h", "/x?id=8&&id=7", "301 /seven-only?id=8&&id=7");
    check(rules, "h", "/x?id", "301 /id?id");
    check(rules, "h", "/x?idx=1", "301 /no-page?idx=1");
    check(rules, "h", "/x?", "301 /no-page");
    check(rules, "h", "/x?page", "301 /empty-page?page");
    check(rules, "h", "/x?page=3", "301 /last?page=3");
    rules_free(rules);
}

/* --- queries, slashes */

static void test_queries(void **state)
{
    struct rules *rules = rules_new(false);
    add(rules, RULE("exact", "", "/keep", "", "/n?a=b#c", "", "keep"));
    add(rules, RULE("exact", "", "/drop", "", "/n?a=b", "", "drop"));
    add(rules, RULE("exact", "", "/replace", "", "/n?a=b", "", "replace"));
    add(rules, RULE("exact", "", "/fill", "", "/n", "", "replace"));
    add(rules, RULE("exact", "", "/bare", "", "/n?", "", "keep"));
    add(rules, RULE("exact", "", "/lose", "", "/n#f", "", "drop"));
    add(rules, RULE("prefix", "", "/tail", "", "/n?a=b#c"));
    check(rules, "a", "/keep?x=%0a&y[]=#", "301 /n?a=b&x=%0a&y[]=%23#c");
    check(rules, "a", "/keep", "301 /n?a=b#c");
    check(rules, "a", "/keep?", "301 /n?a=b#c");
    check(rules, "a", "/drop?x", "301 /n?a=b");
    check(rules, "a", "/replace?x", "301 /n?a=b");
    check(rules, "a", "/fill?x", "301 /n?x");
    check(rules, "a", "/bare?x", "301 /n?x");
    check(rules, "a", "/lose?x", "301 /n#f");
    check(rules, "a", "/tail/t?x", "301 /n/t?a=b&x#c");
    rules_free(rules);
}

static void test_the_other_slash(void **state)
{
    struct rules *rules = rules_new(true);
    add(rules, RULE("exact", "", "/a", "", "/na"));
    add(rules, RULE("exact", "", "/b/", "", "/nb"));
    add(rules, RULE("exact", "", "/both", "", "/n"));
    add(rules, RULE("exact", "", "/both/", "", "/n/"));
    add(rules, RULE("regex", "", "/r(/.*)/$", "", "/nr$1"));
    add(rules, RULE("regex", "", "/s(/.*/)$", "", "/ns$1"));
    add(rules, RULE("prefix", "", "/p/", "", "/np"));
    add(rules, RULE("regex", "", "/$", "", "/top"));
    check(rules, "a", "/a/", "301 /na");
    check(rules, "a", "/%61/?q", "301 /na?q");
    check(rules, "a", "/a//", "none");
    check(rules, "a", "/b", "301 /nb");
    check(rules, "a", "/%62", "301 /nb");
    check(rules, "a", "/both", "301 /n");
    check(rules, "a", "/both/", "301 /n/");
    check(rules, "a", "/r/x", "301 /nr/x");
    check(rules, "a", "/s/x", "301 /ns/x");
    check(rules, "a", "/p", "301 /np");
    check(rules, "a", "/", "301 /top");
    rules_free(rules);
}

/* --- what a client may not do */

static void test_no_path_leads_to_another_host(void **state)
{
    struct rules *rules = rules_new(false);
    add(rules, RULE("prefix", "", "/top", "", "/"));
    add(rules, RULE("prefix", "", "/far", "", "https://far.example"));
    add(rules, RULE("regex", "", "/go/(.*)", "", "/$1"));
    add(rules, RULE("regex", "", "/end(.*)", "", "https://far.example$1"));
    add(rules, RULE("regex", "", "/sub/([^/]*)/", "", "https://$1.far.example/"));
    add(rules, RULE("regex", "", "/sub/(.*)", "", "/none"));
    rules_finish(rules);
    check(rules, "a", "/top//evil.example", "301 /evil.example");
    check(rules, "a", "/top///evil.example", "301 /evil.example");
    check(rules, "a", "/top/\\evil.example", "301 /%5Cevil.example");
    check(rules, "a", "/top/x//y", "301 /x//y");
    check(rules, "a", "/go//evil.example", "301 /evil.example");
    check(rules, "a", "/go/\r\nSet-Cookie: a", "301 /%0D%0ASet-Cookie:%20a");
    check(rules, "a", "/far//evil.example", "301 https://far.example//evil.example");
    check(rules, "a", "/end/x", "301 https://far.example/x");
    check(rules, "a", "/end", "301 https://far.example");
    check(rules, "a", "/end.evil.example", "none");
    check(rules, "a", "/end@evil.example", "none");
    check(rules, "a", "/end:81", "none");
    check(rules, "a", "/sub/de/", "301 https://de.far.example/");
    check(rules, "a", "/sub/evil.example%2f/", "301 /none");
    check(rules, "a", "/sub//", "301 /none");
    check(rules, "a", "/sub/a@b/", "301 /none");
    rules_free(rules);
}

static void test_lengths_are_bounded(void **state)
{
    static char path[REQUEST_MOST + 2];
    struct rules *rules = rules_new(true);
    struct rule_answer answer;
    add(rules, RULE("prefix", "", "/p", "", "/n"));
    add(rules, RULE("regex", "", "(.*)", "", "/$1$1"));
    struct lookup *lookup = lookup_new(rules);
    memset(path, 'a', sizeof path);
    memcpy(path, "/p/", 3);
    assert_true(rules_find(rules, lookup, text("h"), (weir_string){path, REQUEST_MOST}, &answer));
    assert_false(
        rules_find(rules, lookup, text("h"), (weir_string){path, REQUEST_MOST + 1}, &answer));
    path[1] = 'q';
    assert_false(rules_find(rules, lookup, text("h"), (weir_string){path, REQUEST_MOST}, &answer));
    memset(path, '\xff', sizeof path);
    path[0] = '/';
    assert_false(rules_find(rules, lookup, text("h"), (weir_string){path, REQUEST_MOST}, &answer));
    lookup_free(lookup);
    rules_free(rules);
}

static void test_steps_over_the_limit_are_counted(void **state)
{
    struct rules *rules = rules_new(false);
    struct rule_answer answer;
    char path[200] = "/";
    memset(path + 1, 'a', sizeof path - 2);
    path[sizeof path - 2] = '!';
    add(rules, RULE("regex", "", "/(a+)+$", "", "/evil"));
    add(rules, RULE("regex", "", "/a.*", "", "/next"));
    struct lookup *lookup = lookup_new(rules);
    assert_true(rules_find(rules, lookup, text("h"), text(path), &answer));
    assert_int_equal(answer.number, 1);
    assert_int_equal(lookup_over_limit(lookup), 1);
    lookup_free(lookup);
    rules_free(rules);
}

/* --- mistakes */

static void check_wrong(const char *const *words, size_t part, const char *why)
{
    struct rules *rules = rules_new(false);
    struct rule_mistake mistake = {0};
    add(rules, RULE("exact", "", "/taken", "", "/new"));
    struct rule_text rule = rule_text(words, 7);
    assert_false(rules_add(rules, &rule, &mistake));
    assert_ptr_equal(mistake.part, &rule.kind + part);
    assert_non_null(strstr(mistake.why, why));
    assert_int_equal(rules_count(rules), 1);
    rules_finish(rules);
    check(rules, "a", "/taken", "301 /new");
    rules_free(rules);
}

static void test_mistakes_are_told(void **state)
{
    enum { KIND, HOST, PATH, WHEN, TO, STATUS, QUERY };
    check_wrong(RULE("glob", "", "/a", "", "/b"), KIND, "one of exact");
    check_wrong(RULE("", "a:80", "/a", "", "/b"), HOST, "without port");
    check_wrong(RULE("", "a.*", "/a", "", "/b"), HOST, "a name");
    check_wrong(RULE("", ".", "/a", "", "/b"), HOST, "only a dot");
    check_wrong(RULE("", "", "a", "", "/b"), PATH, "begins with a slash");
    check_wrong(RULE("", "", "", "", "/b"), PATH, "begins with a slash");
    check_wrong(RULE("", "", "/a?b", "", "/b"), PATH, "no query");
    check_wrong(RULE("", "", "/%74aken", "", "/b"), PATH, "line 1");
    check_wrong(RULE("regex", "", "/(", "", "/b"), PATH, "at character");
    check_wrong(RULE("", "", "/a", "=x", "/b"), WHEN, "no key");
    check_wrong(RULE("", "", "/a", "x&&y", "/b"), WHEN, "no key");
    check_wrong(RULE("", "", "/a", "!x=1", "/b"), WHEN, "no value");
    check_wrong(RULE("", "", "/a", "", ""), TO, "no target");
    check_wrong(RULE("", "", "/a", "", "b"), TO, "begins with a slash");
    check_wrong(RULE("", "", "/a", "", "//b"), TO, "scheme");
    check_wrong(RULE("", "", "/a", "", "https:///b"), TO, "no host");
    check_wrong(RULE("", "", "/a", "", "/b c"), TO, "no blanks");
    check_wrong(RULE("", "", "/a", "", "/b\r\nX: y"), TO, "no blanks");
    check_wrong(RULE("", "", "/a", "", "https://\xc3\xa9.example/"), TO, "xn--");
    check_wrong(RULE("", "", "/a", "", "/$1"), TO, "no such group");
    check_wrong(RULE("regex", "", "/(a)", "", "/$2"), TO, "no such group");
    check_wrong(RULE("regex", "", "/(a)", "", "/${x"), TO, "begins $1");
    check_wrong(RULE("regex", "", "/(a)", "", "https://$1/"), TO, "client's choice");
    check_wrong(RULE("", "", "/a", "", "/b", "410"), TO, "no target");
    check_wrong(RULE("", "", "/a", "", "/b", "200"), STATUS, "a status is");
    check_wrong(RULE("", "", "/a", "", "/b", "3010"), STATUS, "a status is");
    check_wrong(RULE("", "", "/a", "", "/b", "x01"), STATUS, "a status is");
    check_wrong(RULE("", "", "/a", "", "/b", "", "ignore"), QUERY, "one of keep");
}

/* --- many */

static void test_many_rules(void **state)
{
    struct rules *rules = rules_new(false);
    char path[64], to[64], expected[80];
    for (int i = 0; i < 3000; i++) {
        const char *kind = i % 3 == 0 ? "exact" : i % 3 == 1 ? "prefix" : "regex";
        snprintf(path, sizeof path, "/%s/%d%s", kind, i, i % 3 == 2 ? "$" : "");
        snprintf(to, sizeof to, "/n/%d", i);
        add(rules, RULE(kind, i % 2 ? "" : "h.example", path, "", to));
    }
    rules_finish(rules);
    assert_true(rules_bytes(rules) > 3000 * 16);
    for (int i = 0; i < 3000; i++) {
        const char *kind = i % 3 == 0 ? "exact" : i % 3 == 1 ? "prefix" : "regex";
        snprintf(path, sizeof path, "/%s/%d%s", kind, i, i % 3 == 1 ? "/t" : "");
        snprintf(expected, sizeof expected, "301 /n/%d%s", i, i % 3 == 1 ? "/t" : "");
        assert_int_equal(rules_line(rules, (uint32_t)i), i + 1);
        check(rules, "h.example", path, expected);
    }
    rules_free(rules);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact),
        cmocka_unit_test(test_prefix),
        cmocka_unit_test(test_regex),
        cmocka_unit_test(test_hosts_come_first),
        cmocka_unit_test(test_exact_before_prefix_before_regex),
        cmocka_unit_test(test_a_failed_condition_passes_to_the_next),
        cmocka_unit_test(test_queries),
        cmocka_unit_test(test_the_other_slash),
        cmocka_unit_test(test_no_path_leads_to_another_host),
        cmocka_unit_test(test_lengths_are_bounded),
        cmocka_unit_test(test_steps_over_the_limit_are_counted),
        cmocka_unit_test(test_mistakes_are_told),
        cmocka_unit_test(test_many_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
