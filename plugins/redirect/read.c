/* plugins/redirect/read.c - rules as users write them: in the configuration, in CSV and YAML files
 */
#include "plugins/redirect/read.h"

#include <stdio.h>
#include <string.h>

const char read_schema[] =
    "{\"type\": \"object\", \"properties\": {"
    "\"rules\": {\"type\": \"array\", \"description\": \"rules, written here\", \"items\": {"
    "\"type\": \"object\", \"required\": [\"path\"], \"properties\": {"
    "\"kind\": {\"type\": \"string\", \"enum\": [\"exact\", \"prefix\", \"regex\"], \"default\": "
    "\"exact\", "
    "\"description\": \"how path is compared\"}, "
    "\"host\": {\"type\": \"string\", "
    "\"description\": \"NAME, or *.NAME for all below it; any when absent\"}, "
    "\"path\": {\"type\": \"string\", "
    "\"description\": \"the path, its beginning, or a pattern from its beginning\"}, "
    "\"when\": {\"type\": \"string\", "
    "\"description\": \"conditions on the query, such as id=7&lang&!preview\"}, "
    "\"to\": {\"type\": \"string\", "
    "\"description\": \"a path or URI, with $1 and ${name} from a pattern\"}, "
    "\"status\": {\"type\": \"integer\", \"format\": \"status\", \"default\": 301, "
    "\"description\": \"301, 302, 303, 307, 308; from 400 on without to\"}, "
    "\"query\": {\"type\": \"string\", \"enum\": [\"keep\", \"drop\", \"replace\"], \"default\": "
    "\"keep\", "
    "\"description\": \"what becomes of the query that came\"}}}}, "
    "\"file\": {\"type\": \"string\", \"format\": \"path\", "
    "\"description\": \"more rules: .csv, .yaml, .yml or .json\"}, "
    "\"trailing_slash\": {\"type\": \"boolean\", \"default\": false, "
    "\"description\": \"try a path that meets no rule with or without its last slash too\"}}}";

/* In the order of struct rule_text. */
static const char *const parts[] = {"kind", "host", "path", "when", "to", "status", "query"};

enum { PARTS = sizeof parts / sizeof *parts, COLUMNS_MOST = 16, MISTAKES_MOST = 20 };

struct reader {
    const weir_configuration_host *host;
    struct rules *rules;
    uint32_t mistakes;
};

static void mistake(struct reader *reader, const weir_section *section, const char *why)
{
    reader->mistakes++;
    reader->host->mistake(section, (weir_string){why, strlen(why)});
}

static bool full_of_mistakes(const struct reader *reader)
{
    return reader->mistakes >= MISTAKES_MOST;
}

/* PARTS: there is none of that name, which is reported. */
static size_t part_of(struct reader *reader, const weir_section *section, weir_string name)
{
    for (size_t i = 0; i < PARTS; i++)
        if (strlen(parts[i]) == name.length && !memcmp(parts[i], name.bytes, name.length))
            return i;
    mistake(reader, section,
            "a rule has no such part; these are there: kind, host, path, when, to, status, query");
    return PARTS;
}

/* A rule, and where each of its parts is written. */
struct written {
    struct rule_text text;
    const weir_section *sections[PARTS];
};

static void set_part(struct reader *reader, struct written *written, size_t part,
                     const weir_section *section)
{
    uint32_t kind = reader->host->kind(section);
    if (part == PARTS)
        return;
    if (kind == WEIR_SECTION_LIST || kind == WEIR_SECTION_MAPPING)
        mistake(reader, section, "must be text");
    (&written->text.kind)[part] = reader->host->text(section);
    written->sections[part] = section;
}

static void add(struct reader *reader, struct written *written, const weir_section *whole)
{
    struct rule_mistake wrong = {0};
    written->text.line = reader->host->line(whole);
    if (rules_add(reader->rules, &written->text, &wrong))
        return;
    const weir_section *section = written->sections[wrong.part - &written->text.kind];
    mistake(reader, section ? section : whole, wrong.why);
}

/* --- lists of mappings */

static void read_mapping(struct reader *reader, const weir_section *section)
{
    struct written written = {0};
    uint32_t before = reader->mistakes, count = reader->host->count(section);
    if (reader->host->kind(section) != WEIR_SECTION_MAPPING) {
        mistake(reader, section, "a rule is a mapping, such as {path: /old, to: /new}");
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        const weir_section *part = reader->host->at(section, i);
        set_part(reader, &written, part_of(reader, part, reader->host->key(part)), part);
    }
    if (reader->mistakes == before)
        add(reader, &written, section);
}

static void read_list(struct reader *reader, const weir_section *list)
{
    uint32_t count = reader->host->count(list);
    if (list && reader->host->kind(list) != WEIR_SECTION_LIST)
        mistake(reader, list, "rules are a list");
    for (uint32_t i = 0; i < count && !full_of_mistakes(reader); i++)
        read_mapping(reader, reader->host->at(list, i));
}

/* --- tables */

struct columns {
    size_t parts[COLUMNS_MOST];
    uint32_t count;
};

/* The first line says which parts there are. */
static void read_columns(struct reader *reader, const weir_section *line, struct columns *columns)
{
    columns->count = reader->host->count(line);
    if (columns->count > COLUMNS_MOST) {
        mistake(reader, line, "more than 16 columns");
        columns->count = 0;
    }
    for (uint32_t i = 0; i < columns->count; i++) {
        const weir_section *name = reader->host->at(line, i);
        columns->parts[i] = part_of(reader, name, reader->host->text(name));
        for (uint32_t before = 0; before < i; before++)
            if (columns->parts[before] == columns->parts[i])
                mistake(reader, name, "this column is there twice");
    }
}

static void read_line(struct reader *reader, const weir_section *line,
                      const struct columns *columns)
{
    struct written written = {0};
    uint32_t count = reader->host->count(line);
    if (count > columns->count) {
        mistake(reader, reader->host->at(line, columns->count), "more fields than columns");
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        set_part(reader, &written, columns->parts[i], reader->host->at(line, i));
    add(reader, &written, line);
}

static void read_table(struct reader *reader, const weir_section *table)
{
    struct columns columns;
    uint32_t count = reader->host->count(table);
    if (!count)
        return;
    read_columns(reader, reader->host->at(table, 0), &columns);
    if (reader->mistakes)
        return;
    for (uint32_t i = 1; i < count && !full_of_mistakes(reader); i++)
        read_line(reader, reader->host->at(table, i), &columns);
}

/* --- files */

static bool ends_with(weir_string text, const char *end)
{
    size_t length = strlen(end);
    return text.length >= length && !memcmp(text.bytes + text.length - length, end, length);
}

static void read_file(struct reader *reader, const weir_section *section)
{
    weir_string name = reader->host->text(section);
    const weir_section *content = NULL;
    bool is_table = ends_with(name, ".csv");
    if (is_table)
        content = reader->host->table(section);
    else if (ends_with(name, ".yaml") || ends_with(name, ".yml") || ends_with(name, ".json"))
        content = reader->host->tree(section);
    else
        mistake(reader, section, "a file of rules ends in .csv, .yaml, .yml or .json");
    if (!content)
        reader->mistakes++; /* reported */
    else if (is_table)
        read_table(reader, content);
    else
        read_list(reader, content);
}

struct rules *read_rules(const weir_configuration_host *host, const weir_section *with,
                         uint32_t *inline_count)
{
    const weir_section *list = host->find(with, "rules"), *file = host->find(with, "file");
    struct reader reader = {host, rules_new(host->flag(host->find(with, "trailing_slash"))), 0};
    if (!list && !file)
        mistake(&reader, with, "there are no rules: write rules, or the name of a file");
    read_list(&reader, list);
    *inline_count = rules_count(reader.rules);
    if (file)
        read_file(&reader, file);
    rules_finish(reader.rules);
    if (!reader.mistakes)
        return reader.rules;
    rules_free(reader.rules);
    return NULL;
}
