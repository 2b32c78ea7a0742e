/* bench/redirect.c - what a rule of the plugin redirect costs: to load, to hold, to look up
 *
 * 10,000 exact rules, 1,000 prefixes and 500 patterns, and the requests of a browser. Each figure
 * is the median of rounds, in which the kinds of look-ups take turns. */
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/string.h"
#include "core/process/section.h"
#include "core/process/yaml.h"
#include "plugins/redirect/read.h"

enum { EXACT = 10000, PREFIXES = 1000, PATTERNS = 500 };
enum { LOADS = 7, ROUNDS = 101, LOOKUPS = 5000, TARGET_BYTES = 100 };

static double now_us(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static double median(double *figures, size_t count)
{
    qsort(figures, count, sizeof *figures, compare);
    return figures[count / 2];
}

static bool passed = true;

static void judge(const char *what, double figure, double budget, const char *unit)
{
    bool good = figure <= budget;
    passed &= good;
    printf("%s: %-14s %8.3f %s (at most %g)\n", good ? "PASS" : "FAIL", what, figure, unit, budget);
}

static void fail(const char *what)
{
    fprintf(stderr, "redirect: %s\n", what);
    exit(2);
}

/* --- the rules, in a file */

static void write_rules(const char *path)
{
    FILE *file = fopen(path, "w");
    if (!file)
        fail("the rules cannot be written");
    fprintf(file, "kind,path,to\n");
    for (int i = 0; i < EXACT; i++)
        fprintf(file, "exact,/articles/%04d/some-page-that-moved-%d.html,/new/pages/%d\n", i % 977,
                i, i);
    for (int i = 0; i < PREFIXES; i++)
        fprintf(file, "prefix,/section-%d/archive,https://archive.example/s%d\n", i, i);
    for (int i = 0; i < PATTERNS; i++)
        fprintf(file, "regex,^/shop-%d/([a-z0-9-]+)/(\\d+)$,/store/%d/$1?item=$2\n", i, i);
    if (fclose(file) != 0)
        fail("the rules cannot be written");
}

/* As weir does it at its start and at a reload: file, text, table, rules. */
static struct rules *read_file(const char *path)
{
    char text[512];
    uint32_t inline_count;
    struct config_errors errors = {0};
    snprintf(text, sizeof text, "file: %s\n", path);
    struct yaml_document *document = yaml_parse(NULL, string_of(text), &errors);
    if (!document)
        fail("the section is no YAML");
    section_begin(&errors, WEIR_SCOPE_ALL, NULL);
    struct rules *rules = read_rules(&section_host, section_of(yaml_root(document)), &inline_count);
    section_end();
    yaml_free(document);
    if (!rules)
        fail(errors.list[0].text);
    return rules;
}

/* What the process has of memory for itself, machine code of patterns included. */
static double resident_mib(void)
{
    unsigned long all = 0, resident = 0, shared = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%lu %lu %lu", &all, &resident, &shared) != 3)
        fail("/proc/self/statm cannot be read");
    fclose(file);
    return (double)(resident - shared) * 4096 / (1 << 20);
}

static struct rules *measure_load(const char *path)
{
    double times[LOADS];
    struct rules *rules = NULL;
    malloc_trim(0);
    double before = resident_mib();
    for (int i = 0; i < LOADS; i++) {
        rules_free(rules);
        double start = now_us();
        rules = read_file(path);
        times[i] = (now_us() - start) / 1e3;
    }
    malloc_trim(0);
    judge("load", median(times, LOADS), 200, "ms");
    judge("held", (double)rules_bytes(rules) / (1 << 20), 4, "MiB");
    judge("resident", resident_mib() - before, 4, "MiB");
    return rules;
}

/* --- look-ups */

enum kind { EXACT_RULE, PREFIX_RULE, LAST_PATTERN, MISS, KINDS };

static const struct {
    const char *name;
    double budget_us;
} kinds[KINDS] = {{"exact", 0.4}, {"prefix", 1.0}, {"last regex", 1.5}, {"miss", 0.5}};

static size_t write_target(enum kind kind, int i, char *to, size_t size)
{
    int number = (i * 7919) % EXACT;
    switch (kind) {
    case EXACT_RULE:
        return (size_t)snprintf(to, size, "/articles/%04d/some-page-that-moved-%d.html",
                                number % 977, number);
    case PREFIX_RULE:
        return (size_t)snprintf(to, size, "/section-%d/archive/2024/05/a-page-%d.html?page=%d",
                                number % PREFIXES, i, i);
    case LAST_PATTERN:
        return (size_t)snprintf(to, size, "/shop-%d/garden-chairs/%d", PATTERNS - 1, i);
    default:
        return (size_t)snprintf(to, size, "/articles/%04d/a-page-that-never-was-%d.html",
                                number % 977, i);
    }
}

/* One behind the other: a path that was just received is in the cache, and so are these. */
struct targets {
    char bytes[LOOKUPS * TARGET_BYTES];
    weir_string texts[LOOKUPS];
};

static struct targets *make_targets(enum kind kind)
{
    struct targets *targets = malloc(sizeof *targets);
    char *at = targets->bytes;
    for (int i = 0; i < LOOKUPS; i++) {
        targets->texts[i] = (weir_string){at, write_target(kind, i, at, TARGET_BYTES)};
        at += targets->texts[i].length;
    }
    return targets;
}

static double measure(const struct rules *rules, struct lookup *lookup,
                      const struct targets *targets, enum kind kind)
{
    struct rule_answer answer;
    int found = 0;
    double start = now_us();
    for (int i = 0; i < LOOKUPS; i++)
        found +=
            rules_find(rules, lookup, WEIR_STRING("www.example.org"), targets->texts[i], &answer);
    double us = (now_us() - start) / LOOKUPS;
    if (found != (kind == MISS ? 0 : LOOKUPS))
        fail("a look-up has another result");
    return us;
}

static void measure_lookups(const struct rules *rules)
{
    static double times[KINDS][ROUNDS];
    struct targets *targets[KINDS];
    struct lookup *lookup = lookup_new(rules);
    for (int kind = 0; kind < KINDS; kind++)
        targets[kind] = make_targets(kind);
    for (int round = 0; round < ROUNDS; round++)
        for (int kind = 0; kind < KINDS; kind++)
            times[kind][round] = measure(rules, lookup, targets[kind], kind);
    for (int kind = 0; kind < KINDS; kind++)
        judge(kinds[kind].name, median(times[kind], ROUNDS), kinds[kind].budget_us, "us");
    for (int kind = 0; kind < KINDS; kind++)
        free(targets[kind]);
    lookup_free(lookup);
}

int main(int count, char **arguments)
{
    if (count != 2) {
        fprintf(stderr, "usage: redirect FILE.csv, which is written\n");
        return 2;
    }
    write_rules(arguments[1]);
    struct rules *rules = measure_load(arguments[1]);
    measure_lookups(rules);
    rules_free(rules);
    return passed ? 0 : 1;
}
