/* tests/unit/plugins/auth-basic/users_test.c - htpasswd files: what is taken, refused and found */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/string.h"
#include "plugins/auth-basic/users.h"

#define BCRYPT_TAIL "04$abcdefghijklmnopqrstuudMegMbPN37MbpdEfAtP66w1z0RBCtLG"
#define BCRYPT "$2y$" BCRYPT_TAIL
#define YESCRYPT "$y$j75$saltsaltsaltsalt$y8NvwSuofBxRDzo16TBB.VMfL5IiXEBXrrg.PrP9MA8"
#define SHA512                                                                                     \
    "$6$rounds=1000$saltsalt$aiyw48uVAO8YXp0VJqD3u7hLpDb.rv/F2.5D4XPFGMHUktZfj59QH2cB/"            \
    ".CpMyuw9aPL7BHOR9U7hgYiV5SD81"
#define SHA256 "$5$rounds=1000$saltsalt$Y06XECcaMmoDtgVLp9HM7MrUrpA1toP5Dcc2cJYCAT/"

static struct users *users;

static int set_up(void **state)
{
    users = users_new();
    return 0;
}

static int tear_down(void **state)
{
    users_free(users);
    return 0;
}

static void is_taken(const char *hash)
{
    const char *wrong = users_add(users, WEIR_STRING("u"), string_of(hash));
    if (wrong)
        fail_msg("%s: %s", hash, wrong);
}

static void is_refused(const char *hash, const char *why)
{
    const char *wrong = users_add(users, WEIR_STRING("u"), string_of(hash));
    if (!wrong || !strstr(wrong, why))
        fail_msg("%s: %s", hash, wrong ? wrong : "taken");
    assert_non_null(strstr(wrong, "htpasswd -B"));
    assert_int_equal(users_count(users), 0);
}

static void good_hashes(void **state)
{
    is_taken(BCRYPT);
    is_taken("$2a$" BCRYPT_TAIL);
    is_taken("$2b$" BCRYPT_TAIL);
    is_taken(YESCRYPT);
    is_taken(SHA512);
    is_taken(SHA256);
    is_taken("$gy$j75$saltsaltsaltsalt$A8AdRkG1rCCWolPioBEKBqASq8eULNZmNRE2j3FfpjB");
    is_taken("$7$C6..../....saltsalt$.nolvksgYYSzscP/7pkMaH9M7544phCO0M.7iUS4xP.");
}

static void weak_hashes(void **state)
{
    is_refused("{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=", "{SHA}");
    is_refused("{SSHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=", "{SSHA}");
    is_refused("$apr1$saltsalt$aaaaaaaaaaaaaaaaaaaaaa", "MD5");
    is_refused("$1$saltsalt$aaaaaaaaaaaaaaaaaaaaaa", "MD5");
    is_refused("secret", "plain text");
    is_refused("rqXexS6ZhobKA", "plain text");
    is_refused("$2x$" BCRYPT_TAIL, "does not know");
    is_refused("", "plain text");
    is_refused("*", "plain text");
}

static void broken_hashes(void **state)
{
    static const char *const hashes[] = {BCRYPT, YESCRYPT, SHA512, SHA256};
    char text[256];
    for (size_t i = 0; i < sizeof hashes / sizeof *hashes; i++) {
        size_t length = strlen(hashes[i]);
        for (size_t cut = 4; cut < length; cut++) {
            memcpy(text, hashes[i], cut);
            text[cut] = 0;
            is_refused(text, "not whole");
        }
        memcpy(text, hashes[i], length);
        memcpy(text + length, ".", 2);
        is_refused(text, "not whole");
        memcpy(text + length - 1, " ", 2);
        is_refused(text, "not whole");
    }
}

static void hashes_without_their_salt(void **state)
{
    is_refused("$y$y8NvwSuofBxRDzo16TBB.VMfL5IiXEBXrrg.PrP9MA8", "not whole");
    is_refused("$y$j75$y8NvwSuofBxRDzo16TBB.VMfL5IiXEBXrrg.PrP9MA8", "not whole");
    is_refused("$y$$saltsalt$y8NvwSuofBxRDzo16TBB.VMfL5IiXEBXrrg.PrP9MA8", "not whole");
    is_refused("$5$Y06XECcaMmoDtgVLp9HM7MrUrpA1toP5Dcc2cJYCAT/", "not whole");
    is_refused("$5$a$b$c$Y06XECcaMmoDtgVLp9HM7MrUrpA1toP5Dcc2cJYCAT/", "not whole");
}

/* A check cannot be stopped, and one of cost 31 takes a day. */
static void costs(void **state)
{
    static const char *const refused[] = {"00", "03", "17", "31", "99", "1a", "4$"};
    char text[] = BCRYPT;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        memcpy(text + 4, refused[i], 2);
        const char *wrong = users_add(users, WEIR_STRING("u"), string_of(text));
        assert_non_null(wrong);
        assert_int_equal(users_count(users), 0);
    }
    memcpy(text + 4, "16", 2);
    is_taken(text);
    memcpy(text + 4, "09", 2);
    is_taken(text);
}

static void a_hash_with_nul(void **state)
{
    assert_non_null(users_add(users, WEIR_STRING("u"), WEIR_STRING(BCRYPT "\0x")));
}

static void a_hash_without_end(void **state)
{
    char text[1000];
    memset(text, 'a', sizeof text);
    memcpy(text, "$6$", 3);
    assert_non_null(users_add(users, WEIR_STRING("u"), (weir_string){text, sizeof text}));
}

static void names(void **state)
{
    char name[256];
    memset(name, 'n', sizeof name);
    assert_null(users_add(users, (weir_string){name, 255}, WEIR_STRING(BCRYPT)));
    assert_non_null(users_add(users, (weir_string){name, 256}, WEIR_STRING(BCRYPT)));
    assert_non_null(users_add(users, WEIR_STRING(""), WEIR_STRING(BCRYPT)));
    assert_non_null(users_add(users, WEIR_STRING("a:b"), WEIR_STRING(BCRYPT)));
    assert_non_null(users_add(users, WEIR_STRING("a\nb"), WEIR_STRING(BCRYPT)));
    assert_null(users_add(users, WEIR_STRING("J\xc3\xb6rg M"), WEIR_STRING(BCRYPT)));
    assert_null(users_finish(users));
    assert_string_equal(users_find(users, WEIR_STRING("J\xc3\xb6rg M")), BCRYPT);
}

static void a_file(void **state)
{
    weir_string text = WEIR_STRING("# who may\n\nbert:" BCRYPT "\r\nanna:" YESCRYPT "\n\r\n"
                                   "#bert:x\nzoe:" SHA512);
    uint32_t line = 0;
    assert_null(users_parse(users, &text, &line));
    assert_null(users_finish(users));
    assert_int_equal(users_count(users), 3);
    assert_string_equal(users_find(users, WEIR_STRING("bert")), BCRYPT);
    assert_string_equal(users_find(users, WEIR_STRING("anna")), YESCRYPT);
    assert_string_equal(users_find(users, WEIR_STRING("zoe")), SHA512);
    assert_null(users_find(users, WEIR_STRING("ann")));
    assert_null(users_find(users, WEIR_STRING("annabel")));
    assert_null(users_find(users, WEIR_STRING("")));
    assert_null(users_find(users, WEIR_STRING("#bert")));
}

static void every_wrong_line_is_told(void **state)
{
    static const struct {
        uint32_t line;
        const char *why;
    } expected[] = {{1, "NAME:HASH"}, {3, "no name"}, {4, "{SHA}"}, {6, "plain text"}};
    weir_string text = WEIR_STRING("anna\nbert:" BCRYPT "\n:" BCRYPT "\nc:{SHA}x\n\nd:secret");
    uint32_t line = 0;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        const char *wrong = users_parse(users, &text, &line);
        assert_non_null(wrong);
        assert_non_null(strstr(wrong, expected[i].why));
        assert_null(strstr(wrong, "secret"));
        assert_int_equal(line, expected[i].line);
    }
    assert_null(users_parse(users, &text, &line));
    assert_int_equal(users_count(users), 1);
}

static void somebody_twice(void **state)
{
    assert_null(users_add(users, WEIR_STRING("b"), WEIR_STRING(BCRYPT)));
    assert_null(users_add(users, WEIR_STRING("a"), WEIR_STRING(BCRYPT)));
    assert_null(users_add(users, WEIR_STRING("b"), WEIR_STRING(SHA512)));
    assert_string_equal(users_finish(users), "b");
}

static void nobody(void **state)
{
    assert_null(users_finish(users));
    assert_null(users_find(users, WEIR_STRING("a")));
    assert_null(users_decoy(users, 7));
}

/* Each hash is somebody's decoy, so that the times of decoys are those of users. */
static void decoys(void **state)
{
    assert_null(users_add(users, WEIR_STRING("a"), WEIR_STRING(BCRYPT)));
    assert_null(users_add(users, WEIR_STRING("b"), WEIR_STRING(SHA512)));
    assert_null(users_finish(users));
    assert_string_equal(users_decoy(users, 4), BCRYPT);
    assert_string_equal(users_decoy(users, 5), SHA512);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(good_hashes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(weak_hashes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(broken_hashes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(hashes_without_their_salt, set_up, tear_down),
        cmocka_unit_test_setup_teardown(costs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_hash_with_nul, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_hash_without_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_wrong_line_is_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(somebody_twice, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nobody, set_up, tear_down),
        cmocka_unit_test_setup_teardown(decoys, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
