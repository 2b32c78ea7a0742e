/* tests/fuzz/csv.c - any bytes as a table: a tree or one mistake, never both
 *
 * What was read is written again, all of it in quotes; it must then be read as the same. */
#include "core/process/csv.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/base/string.h"
#include "core/base/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
    if (!condition)
        abort();
}

static void write_field(struct text *text, weir_string field)
{
    text_add(text, WEIR_STRING("\""));
    for (size_t i = 0; i < field.length; i++)
        text_add(text,
                 field.bytes[i] == '"' ? WEIR_STRING("\"\"") : (weir_string){field.bytes + i, 1});
    text_add(text, WEIR_STRING("\""));
}

static void write_table(struct text *text, const struct tree_node *table)
{
    for (const struct tree_node *line = table->first; line; line = line->next) {
        for (const struct tree_node *field = line->first; field; field = field->next) {
            write_field(text, field->text);
            text_add(text, field->next ? WEIR_STRING(",") : WEIR_STRING("\n"));
        }
    }
}

static void compare(const struct tree_node *a, const struct tree_node *b)
{
    must(a->kind == b->kind && a->count == b->count && a->index == b->index);
    must(string_equal(a->text, b->text));
    must(a->place.line >= 1 && a->place.column >= 1);
    const struct tree_node *other = b->first;
    for (const struct tree_node *child = a->first; child; child = child->next, other = other->next)
        compare(child, other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t first_block[64];
    struct arena arena;
    struct text again = {0};
    struct config_errors errors = {0};
    arena_init(&arena, first_block, sizeof first_block);
    weir_string text = {(const char *)data, size};
    struct tree_node *table = csv_parse("t.csv", text, &arena, &errors);
    must(table ? !errors.count : errors.count == 1);
    must(table || (errors.list[0].line && errors.list[0].column));
    if (table) {
        write_table(&again, table);
        struct tree_node *second = csv_parse("t.csv", text_string(&again), &arena, &errors);
        must(second);
        compare(table, second);
    }
    text_deinit(&again);
    config_errors_deinit(&errors);
    arena_deinit(&arena);
    return 0;
}
