/* tests/unit/core/process/config_docs_test.c - the reference page says what the program does */
#include "core/process/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/string.h"
#include "core/process/config_keys.h"
#include "core/process/yaml.h"
#include "tests/unit/core/process/scratch.h"

static struct options options;
static struct config_errors errors;
static struct snapshot *snapshot;

static const struct snapshot *read_right(const char *text)
{
    snapshot = config_read(string_of(text), &options, &errors);
    if (!snapshot || errors.count)
        fail_msg("\"%s\": %s", text, errors.kept ? errors.list[0].text : "no snapshot");
    return snapshot;
}

static int clean(void **state)
{
    snapshot_free(snapshot);
    snapshot = NULL;
    config_errors_deinit(&errors);
    memset(&options, 0, sizeof options);
    return 0;
}

/* --- the description itself */

static void for_each_key(const struct schema_type *type, const char *prefix,
                         void (*visit)(const struct schema_key *key, const char *path))
{
    const struct schema_key *key = type->keys;
    if (type->item)
        for_each_key(type->item, prefix, visit);
    for (; key && key->name; key++) {
        char path[128], next[160];
        snprintf(path, sizeof path, "%s%s", prefix, key->name);
        visit(key, path);
        snprintf(next, sizeof next, "%s%s.", path,
                 key->type->kind == SCHEMA_LIST && key->type->item->keys ? "[]"
                 : key->type->kind == SCHEMA_MAP                         ? ".NAME"
                                                                         : "");
        for_each_key(key->type, next, visit);
    }
}

/* What holds when a key is absent must be right when it is written out. */
static void check_standard(const struct schema_key *key, const char *path)
{
    uint64_t memory[64] = {0}, room[64];
    struct arena arena;
    assert_true(key->help && key->help[strlen(key->help) - 1] == '.');
    if (!key->standard)
        return;
    struct yaml_document *document = yaml_parse(NULL, string_of(key->standard), &errors);
    assert_non_null(document);
    arena_init(&arena, room, sizeof room);
    schema_read(key->type, yaml_root(document), memory, &arena, &errors);
    if (errors.count)
        fail_msg("%s: %s", path, errors.list[0].text);
    arena_deinit(&arena);
    yaml_free(document);
}

static void test_standards_are_right(void **state)
{
    for_each_key(&config_schema, "", check_standard);
}

static void test_the_standard_listener_is_the_one_described(void **state)
{
    const struct schema_key *key = config_schema.keys;
    while (strcmp(key->name, "listen") != 0)
        key++;
    char text[200];
    snprintf(text, sizeof text, "listen: %s\n", key->standard);
    const struct snapshot *made = read_right(text);
    assert_int_equal(made->listener_count, 1);
    assert_string_equal(made->listeners[0].address, CONFIG_STANDARD_LISTENER);
}

/* --- docs/configuration.md */

static char *reference;
static FILE *table;

static void describe_text(const struct schema_type *type)
{
    for (size_t i = 0; !type->store && type->words && type->words[i]; i++)
        fprintf(table, "%s%s", i ? ", " : "", type->words[i]);
    if (type->store || !type->words)
        fputs(type->what, table);
}

static void describe(const struct schema_type *type)
{
    char least[VALUE_TEXT_BYTES], most[VALUE_TEXT_BYTES];
    switch (type->kind) {
    case SCHEMA_NUMBER:
        fprintf(table, "%s to %s%s%s", value_format(type->least, type->units, least),
                value_format(type->most, type->units, most), type->word ? ", or " : "",
                type->word ? type->word : "");
        break;
    case SCHEMA_DECIMAL:
        fputs("a number", table);
        break;
    case SCHEMA_OPEN:
        fputs("what the filter's reference says", table);
        break;
    case SCHEMA_FLAG:
        fputs("true or false", table);
        break;
    case SCHEMA_CHOICE:
    case SCHEMA_TEXT:
        describe_text(type);
        break;
    case SCHEMA_SECTION:
        break;
    case SCHEMA_LIST:
    case SCHEMA_MAP:
        if (type->or_one)
            fprintf(table, "%s, or a ", type->item->what);
        fprintf(table, "%s%s%s, at most %u", type->kind == SCHEMA_LIST ? "list" : "NAME: group",
                type->item->what ? " of " : "", type->item->what ? type->item->what : "",
                (unsigned)type->most);
        break;
    }
}

/* Sections have none: their keys have. */
static void write_row(const struct schema_key *key, const char *path)
{
    if (key->type->kind == SCHEMA_SECTION)
        return;
    fprintf(table, "| `%s` | ", path);
    describe(key->type);
    if (key->standard)
        fprintf(table, " | `%s` | %s |\n", key->standard, key->help);
    else
        fprintf(table, " | %s | %s |\n", key->required ? "needed" : "", key->help);
}

static int read_reference(void **state)
{
    FILE *file = fopen("docs/configuration.md", "r");
    if (!file)
        fail_msg("docs/configuration.md is not there: run from the root of the checkout");
    size_t size = 0;
    reference = NULL;
    assert_true(getdelim(&reference, &size, 0, file) > 0);
    fclose(file);
    return 0;
}

static int free_reference(void **state)
{
    free(reference);
    return clean(state);
}

static void test_reference_has_every_key(void **state)
{
    char *text = NULL;
    size_t size = 0;
    table = open_memstream(&text, &size);
    fputs("| key | value | default | meaning |\n|---|---|---|---|\n", table);
    for_each_key(&config_schema, "", write_row);
    fclose(table);
    const char *found = strstr(reference, text);
    bool fine = found && found[size] != '|';
    if (!fine)
        fputs(text, stderr);
    free(text);
    if (!fine)
        fail_msg("docs/configuration.md must have the table above, and no other rows");
}

/* What the examples name. */
static void make_surroundings(void)
{
    scratch_make();
    scratch_write("errors.html", "{status} {reason}: {text}\n");
    scratch_directory("conf.d");
    scratch_write("conf.d/more.yaml", "listen: [ { address: 127.0.0.1:8081 } ]\n");
    setenv("WEIR_ADMIN", "127.0.0.1:9100", 1);
    assert_int_equal(chdir(scratch), 0);
}

static void test_examples_of_the_reference_are_right(void **state)
{
    uint32_t examples = 0;
    char *start = reference, *end;
    make_surroundings();
    while ((start = strstr(start, "```yaml\n"))) {
        start = strchr(start, '\n') + 1;
        end = strstr(start, "```");
        *end = 0;
        read_right(start);
        clean(state);
        start = end + 1;
        examples++;
    }
    assert_int_equal(examples, 5);
    scratch_remove();
}

#define TEST(name) cmocka_unit_test_teardown(name, clean)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_standards_are_right),
        TEST(test_the_standard_listener_is_the_one_described),
        cmocka_unit_test_setup_teardown(test_reference_has_every_key, read_reference,
                                        free_reference),
        cmocka_unit_test_setup_teardown(test_examples_of_the_reference_are_right, read_reference,
                                        free_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
