/* tests/unit/core/io/network_test.c - networks as text, and which addresses are in them */
#include "core/io/network.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/string.h"

enum { LIST_MOST = 64 };

static struct network networks[LIST_MOST];
static struct network_list list = {.networks = networks};

/* A list of the texts, which NULL ends. */
static void make_list(bool embedded, const char *const *texts)
{
    list.embedded = embedded;
    list.count = 0;
    for (; *texts; texts++) {
        uint32_t count;
        assert_in_range(list.count, 0, LIST_MOST - NETWORKS_OF_TEXT_MOST);
        const char *mistake = network_parse(string_of(*texts), networks + list.count, &count);
        if (mistake || !count)
            fail_msg("%s %s", *texts, mistake ? mistake : "is nothing");
        list.count += count;
    }
}

static void make(const char *text)
{
    make_list(true, (const char *const[]){text, NULL});
}

static bool has(const char *text)
{
    struct address address;
    if (!address_from_literal(string_of(text), 443, &address))
        fail_msg("%s is no address", text);
    return network_list_contains(&list, &address);
}

static void check_in(const char *address)
{
    if (!has(address))
        fail_msg("%s is not in it", address);
}

static void check_out(const char *address)
{
    if (has(address))
        fail_msg("%s is in it", address);
}

static void test_edges_of_networks(void **state)
{
    static const struct {
        const char *network, *before, *first, *last, *after;
    } cases[] = {
        {"10.0.0.0/8", "9.255.255.255", "10.0.0.0", "10.255.255.255", "11.0.0.0"},
        {"172.16.0.0/12", "172.15.255.255", "172.16.0.0", "172.31.255.255", "172.32.0.0"},
        {"192.0.2.128/25", "192.0.2.127", "192.0.2.128", "192.0.2.255", "192.0.3.0"},
        {"192.0.2.6/31", "192.0.2.5", "192.0.2.6", "192.0.2.7", "192.0.2.8"},
        {"192.0.2.1/32", "192.0.2.0", "192.0.2.1", "192.0.2.1", "192.0.2.2"},
        {"192.0.2.1", "192.0.2.0", "192.0.2.1", "192.0.2.1", "192.0.2.2"},
        {"128.0.0.0/1", "127.255.255.255", "128.0.0.0", "255.255.255.255", "::1"},
        {"fc00::/7", "fbff:ffff::", "fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "fe00::"},
        {"2001:db8::/32", "2001:db7:ffff::", "2001:db8::", "2001:db8:ffff::", "2001:db9::"},
        {"2001:db8::8/126", "2001:db8::7", "2001:db8::8", "2001:db8::b", "2001:db8::c"},
        {"2001:db8::1", "2001:db8::", "2001:db8::1", "2001:db8::1", "2001:db8::2"},
        {"::ffff:10.0.0.0/104", "9.255.255.255", "10.0.0.0", "10.255.255.255", "11.0.0.0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make(cases[i].network);
        check_out(cases[i].before);
        check_in(cases[i].first);
        check_in(cases[i].last);
        check_out(cases[i].after);
    }
}

static void test_all_of_one_family(void **state)
{
    make("0.0.0.0/0");
    check_in("0.0.0.0");
    check_in("255.255.255.255");
    check_in("::ffff:1.2.3.4");
    check_out("::");
    check_out("2001:db8::1");
    make("::/0");
    check_in("::");
    check_in("2001:db8::1");
    check_out("1.2.3.4");
    check_out("::ffff:1.2.3.4");
}

static void test_words(void **state)
{
    static const struct {
        const char *word, *in[20], *out[16];
    } cases[] = {
        {"loopback",
         {"127.0.0.1", "127.255.255.255", "::1", "0.0.0.0", "::", "::ffff:127.0.0.1"},
         {"126.255.255.255", "128.0.0.0", "0.0.0.1", "::2", "10.0.0.1", "169.254.169.254"}},
        {"link-local",
         {"169.254.0.0", "169.254.255.255", "fe80::1", "febf::"},
         {"169.253.255.255", "169.255.0.0", "fe7f::", "fec0::", "127.0.0.1"}},
        {"private",
         {"10.0.0.0", "10.255.255.255", "172.16.0.0", "172.31.255.255", "192.168.0.0",
          "192.168.255.255", "fc00::1", "fd12:3456::1"},
         {"9.255.255.255", "11.0.0.0", "172.15.255.255", "172.32.0.0", "192.167.255.255",
          "192.169.0.0", "127.0.0.1", "::1", "0.0.0.0", "169.254.169.254", "fe80::1"}},
        {"metadata",
         {"169.254.169.254", "fe80::a9fe:a9fe", "fd00:ec2::254", "169.254.170.2", "169.254.170.23",
          "fd00:ec2::23", "168.63.129.16", "fd20:ce::254", "100.100.100.200", "fd00:100::100:200",
          "192.0.0.192", "fd00:c1::a9fe:a9fe", "169.254.42.42", "fd00:42::42", "fd00:a9fe:a9fe::1"},
         {"169.254.169.253", "fd00:ec2::253", "127.0.0.1", "10.0.0.1", "::", "0.0.0.0"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_string_equal(network_words[i], cases[i].word);
        make(cases[i].word);
        for (size_t j = 0; cases[i].in[j]; j++)
            check_in(cases[i].in[j]);
        for (size_t j = 0; cases[i].out[j]; j++)
            check_out(cases[i].out[j]);
    }
    assert_null(network_words[sizeof cases / sizeof *cases]);
}

/* Other ways to write the same IPv4 address. */
static void test_what_leads_to_an_address_is_denied_with_it(void **state)
{
    make_list(true, (const char *const[]){"127.0.0.0/8", "metadata", NULL});
    check_in("::ffff:127.0.0.1");
    check_in("64:ff9b::127.0.0.1");
    check_in("64:ff9b::a9fe:a9fe");
    check_in("64:ff9b:1::7f00:1");
    check_in("64:ff9b:1:abcd::7f00:1");
    check_in("::ffff:0:127.0.0.1");
    check_in("2002:7f00:1::");
    check_in("2002:a9fe:a9fe:1::1");
    check_out("64:ff9b::192.0.2.1");
    check_out("64:ff9b:2::7f00:1");
    check_out("64:ff9c::7f00:1");
    check_out("::ffff:1:127.0.0.1");
    check_out("2002:c000:201:7f00:1::");
    check_out("2003:7f00:1::");
    check_out("2001:db8::7f00:1");
}

static void test_the_translator_itself_can_be_denied(void **state)
{
    make_list(true, (const char *const[]){"64:ff9b::/96", "2002::/16", NULL});
    check_in("64:ff9b::192.0.2.1");
    check_in("2002:c000:201::1");
    check_out("192.0.2.1");
}

/* A client could choose such an address. */
static void test_what_leads_to_an_address_is_not_allowed_with_it(void **state)
{
    make_list(false, (const char *const[]){"10.0.0.0/8", NULL});
    check_in("10.0.0.1");
    check_in("::ffff:10.0.0.1");
    check_out("64:ff9b::10.0.0.1");
    check_out("2002:a00:1::1");
    check_out("::ffff:0:10.0.0.1");
}

static void test_lists(void **state)
{
    make_list(false, (const char *const[]){"192.0.2.1", "private", "2001:db8::/32", NULL});
    check_in("192.0.2.1");
    check_in("10.1.2.3");
    check_in("fd00::1");
    check_in("2001:db8::1");
    check_out("192.0.2.2");
    check_out("::1");
    list.count = 0;
    check_out("192.0.2.1");
    struct address address;
    assert_true(address_from_literal(string_of("192.0.2.1"), 0, &address));
    assert_false(network_list_contains(NULL, &address));
}

static void test_mistakes(void **state)
{
    static const struct {
        const char *says, *texts[20];
    } cases[] = {
        {"is not a network",
         {"", "Private", "loopback ", " ::1", "10.0.0", "10", "300.0.0.1", "[::1]", "10.0.0.1:80",
          "::1%lo", "fe80::1%1/64", "localhost", "/8", "10.0.0.0.0/8", "010.0.0.1", "0x7f.0.0.1",
          "example.com/8"}},
        {"has no prefix length",
         {"10.0.0.0/33", "::/129", "10.0.0.0/-1", "10.0.0.0/", "10.0.0.0/8 ", "10.0.0.0/255.0.0.0",
          "10.0.0.0//8", "::/1x"}},
        {"has bits beyond",
         {"10.0.0.1/8", "10.0.0.0/6", "0.0.0.1/0", "192.0.2.1/31", "2001:db8::1/64", "fc00::/5",
          "::ffff:1.2.3.4/104"}},
    };
    struct network found[NETWORKS_OF_TEXT_MOST];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t j = 0; cases[i].texts[j]; j++) {
            uint32_t count = 7;
            const char *mistake = network_parse(string_of(cases[i].texts[j]), found, &count);
            if (!mistake || !strstr(mistake, cases[i].says) || count)
                fail_msg("\"%s\": %s", cases[i].texts[j], mistake ? mistake : "taken for right");
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_edges_of_networks),
        cmocka_unit_test(test_all_of_one_family),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_what_leads_to_an_address_is_denied_with_it),
        cmocka_unit_test(test_the_translator_itself_can_be_denied),
        cmocka_unit_test(test_what_leads_to_an_address_is_not_allowed_with_it),
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_mistakes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
