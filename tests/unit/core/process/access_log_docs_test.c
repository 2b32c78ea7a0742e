/* tests/unit/core/process/access_log_docs_test.c - the reference page has every field and cause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/access_format.h"
#include "core/exchange/reply.h"

static char page[32768];

static int read_page(void **state)
{
    FILE *file = fopen("docs/access_log.md", "r");
    if (!file)
        return -1;
    size_t length = fread(page, 1, sizeof page - 1, file);
    page[length] = 0;
    fclose(file);
    return length == sizeof page - 1;
}

static void must_have(const char *before, const char *word, const char *behind)
{
    char text[64];
    snprintf(text, sizeof text, "%s%s%s", before, word, behind);
    if (!strstr(page, text))
        fail_msg("docs/access_log.md has no %s", text);
}

static void every_field(void **state)
{
    uint32_t count = 0;
    for (; access_known_word(ACCESS_MEANT_FIELD, count); count++)
        must_have("`{", access_known_word(ACCESS_MEANT_FIELD, count), "}`");
    assert_true(count > 20);
    for (uint32_t i = 0; access_known_word(ACCESS_MEANT_FORMAT, i); i++)
        must_have("| `", access_known_word(ACCESS_MEANT_FORMAT, i), "` |");
}

static void every_cause(void **state)
{
    for (weir_result cause = 0; cause > -100; cause--)
        must_have("`", cause_name(cause), "`");
}

/* No field is there that does not exist. */
static void no_other_field(void **state)
{
    for (const char *at = page; (at = strstr(at, "`{")); at++) {
        size_t length = strcspn(at + 2, "}");
        bool field = at[2] >= 'a' && at[2] <= 'z' && !strncmp(at + 2 + length, "}`", 2);
        bool known = !field || memchr(at + 2, ':', length); /* of a head */
        for (uint32_t i = 0; access_known_word(ACCESS_MEANT_FIELD, i); i++) {
            const char *name = access_known_word(ACCESS_MEANT_FIELD, i);
            known |= strlen(name) == length && !memcmp(name, at + 2, length);
        }
        if (!known)
            fail_msg("%.*s is not a field", (int)length + 3, at);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field),
        cmocka_unit_test(every_cause),
        cmocka_unit_test(no_other_field),
    };
    return cmocka_run_group_tests(tests, read_page, NULL);
}
