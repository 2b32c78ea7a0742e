/* core/exchange/hop.c - what a proxy must change in heads: fields of one connection, Host, Via */
#include "core/exchange/hop.h"

#include "core/base/log.h"
#include "core/base/string.h"

/* Fields that no Connection field may take away: they say what the message is. */
static bool essential(enum field_id id)
{
    return id == FIELD_HOST || id == FIELD_CONTENT_LENGTH || id == FIELD_VIA ||
           id == FIELD_TRANSFER_ENCODING || id == FIELD_CONNECTION;
}

static void remove_named(struct head *head, weir_string name)
{
    for (uint32_t i = 0; i < head->count; i++)
        if (!essential(head->ids[i]) && head->ids[i] != FIELD_REMOVED && head->ids[i] != FIELD_TE &&
            string_equal_nocase(head->fields[i].name, name))
            head_remove(head, i);
}

/* Who lists more fields than a message may have wastes time, or tries to. */
enum { LISTED_MOST = 128 };

static void remove_listed(struct head *head, weir_string list, uint32_t *left)
{
    weir_string element;
    for (; *left && string_next_element(&list, &element); --*left)
        remove_named(head, element);
}

/* TE says what one connection can take; of it only "trailers" is a wish that a proxy passes on. */
static bool wants_trailers(weir_string list)
{
    weir_string element;
    while (string_next_element(&list, &element))
        if (string_equal_nocase(element, WEIR_STRING("trailers")))
            return true;
    return false;
}

static void keep_only_trailers(struct head *head, uint32_t index)
{
    if (wants_trailers(head->fields[index].value))
        head_set_value(head, index, WEIR_STRING("trailers"));
    else
        head_remove(head, index);
}

static bool of_one_connection(enum field_id id)
{
    switch (id) {
    case FIELD_CONNECTION:
    case FIELD_KEEP_ALIVE:
    case FIELD_PROXY_CONNECTION:
    case FIELD_TRANSFER_ENCODING:
    case FIELD_UPGRADE:
        return true;
    default:
        return false;
    }
}

static void remove_hop_by_hop(struct head *head)
{
    uint32_t left = LISTED_MOST; /* in all Connection fields together */
    for (uint32_t i = 0; i < head->count; i++)
        if (head->ids[i] == FIELD_CONNECTION)
            remove_listed(head, head->fields[i].value, &left);
    for (uint32_t i = 0; i < head->count; i++) {
        if (of_one_connection(head->ids[i]))
            head_remove(head, i);
        else if (head->ids[i] == FIELD_TE)
            keep_only_trailers(head, i);
    }
}

static int last_via(const struct head *head)
{
    for (uint32_t i = head->count; i > 0; i--)
        if (head->ids[i - 1] == FIELD_VIA)
            return (int)i - 1;
    return -1;
}

/* Appends to the last Via, so that the order of the hops stays, or adds one. */
static void add_via(struct head *head, weir_string via_name)
{
    int last = last_via(head);
    weir_string before = last < 0 ? (weir_string){"", 0} : head->fields[last].value;
    weir_string comma = last < 0 ? (weir_string){"", 0} : WEIR_STRING(", ");
    weir_string parts[] = {before, comma, head->view.version, WEIR_STRING(" "), via_name};
    weir_string value = arena_join(head->arena, parts, sizeof parts / sizeof *parts);
    if (last < 0)
        head_append(head, WEIR_STRING("Via"), value);
    else
        head_set_value(head, (uint32_t)last, value);
}

/* RFC 9112 3.2.2: an absolute target's authority replaces whatever Host said. */
static void agree_on_host(struct head *head)
{
    weir_string authority = head->view.authority;
    int host = head_find(head, FIELD_HOST, 0);
    if (host < 0)
        head_prepend(head, WEIR_STRING("Host"), authority);
    else if (!string_equal(head->fields[host].value, authority))
        head_set_value(head, (uint32_t)host, authority);
}

/* TRACE and OPTIONS go so many hops (RFC 9110 7.6.2). A number that is none counts as 0: who counts
 * hops is not answered by somebody else. */
static bool count_down(struct head *head, uint32_t index)
{
    uint64_t left = 0;
    string_to_number(head->fields[index].value, UINT32_MAX, &left);
    if (!left)
        return false;
    head_set_value(head, index, arena_format(head->arena, "%llu", (unsigned long long)(left - 1)));
    return true;
}

enum reply_own hop_own_answer(struct head *head, bool fixed_upstream)
{
    const weir_head *view = &head->view;
    bool trace = string_equal(view->method, WEIR_STRING("TRACE"));
    bool options = string_equal(view->method, WEIR_STRING("OPTIONS"));
    if (!trace && !options)
        return REPLY_NOT_OURS;
    int index = head_find(head, FIELD_MAX_FORWARDS, 0);
    bool here = index >= 0 && !count_down(head, (uint32_t)index);
    bool about_us =
        !view->scheme.length && !fixed_upstream && string_equal(view->path, WEIR_STRING("*"));
    if (!here && !about_us)
        return REPLY_NOT_OURS;
    return trace ? REPLY_TRACE : REPLY_OPTIONS;
}

/* A Via element is "1.1 name" or "HTTP/1.1 name", perhaps with a comment behind it. */
static bool element_names(weir_string element, weir_string name)
{
    const char *space = memchr(element.bytes, ' ', element.length);
    if (!space)
        return false;
    weir_string by = {space + 1, element.length - (size_t)(space + 1 - element.bytes)};
    by = string_trim(by);
    const char *end = memchr(by.bytes, ' ', by.length);
    if (end)
        by.length = (size_t)(end - by.bytes);
    return string_equal(by, name);
}

bool hop_is_loop(const struct head *head, weir_string via_name)
{
    for (uint32_t i = 0; i < head->count; i++) {
        weir_string rest = head->fields[i].value, element;
        while (head->ids[i] == FIELD_VIA && string_next_element(&rest, &element))
            if (element_names(element, via_name))
                return true;
    }
    return false;
}

bool hop_expects_continue(const struct head *head)
{
    int index = head_find(head, FIELD_EXPECT, 0);
    return index >= 0 &&
           string_equal_nocase(head->fields[index].value, WEIR_STRING("100-continue"));
}

void hop_request(struct head *head, weir_string via_name)
{
    TRACE();
    remove_hop_by_hop(head);
    for (uint32_t i = 0; i < head->count; i++)
        if (head->ids[i] == FIELD_PROXY_AUTHORIZATION)
            head_remove(head, i); /* meant for this proxy */
    head_compact(head);
    agree_on_host(head);
    add_via(head, via_name);
}

/* RFC 9110 8.6, 9.3.6: a server must not say it of a body that cannot be; somebody might wait for
 * it. */
static void remove_length(struct head *head)
{
    for (uint32_t i = 0; i < head->count; i++)
        if (head->ids[i] == FIELD_CONTENT_LENGTH)
            head_remove(head, i);
    head->view.content_length = -1;
}

void hop_response(struct head *head, weir_string via_name)
{
    TRACE();
    remove_hop_by_hop(head);
    if (head->view.status < 200 || head->view.status == 204 || head->view.kind == WEIR_TUNNEL)
        remove_length(head);
    head_compact(head);
    add_via(head, via_name);
}

/* RFC 9110 6.5.1: whoever merges trailers into the head must not be told anew how the message is
 * framed, where it goes, who sent it and how it is to be processed. Those that have an id are all
 * of that kind; of the others Proxy-Status (RFC 9209 2), ETag and what applications invented may
 * stand there. */
static const weir_string misplaced[] = {
    /* routing: who is believed to have come from where */
    WEIR_STRING("forwarded"),
    WEIR_STRING("x-forwarded-for"),
    WEIR_STRING("x-forwarded-host"),
    WEIR_STRING("x-forwarded-proto"),
    /* modifiers of the request */
    WEIR_STRING("cache-control"),
    WEIR_STRING("pragma"),
    WEIR_STRING("range"),
    WEIR_STRING("if-match"),
    WEIR_STRING("if-none-match"),
    WEIR_STRING("if-modified-since"),
    WEIR_STRING("if-unmodified-since"),
    WEIR_STRING("if-range"),
    /* authentication */
    WEIR_STRING("authorization"),
    WEIR_STRING("www-authenticate"),
    WEIR_STRING("proxy-authentication-info"),
    WEIR_STRING("cookie"),
    WEIR_STRING("set-cookie"),
    /* control of the response */
    WEIR_STRING("age"),
    WEIR_STRING("date"),
    WEIR_STRING("expires"),
    WEIR_STRING("location"),
    WEIR_STRING("retry-after"),
    WEIR_STRING("vary"),
    WEIR_STRING("warning"),
    /* what the content is */
    WEIR_STRING("content-encoding"),
    WEIR_STRING("content-range"),
    /* of one connection */
    WEIR_STRING("http2-settings"),
};

bool hop_no_trailer(weir_string name)
{
    if (field_intern(name) != FIELD_OTHER)
        return true;
    for (size_t i = 0; i < sizeof misplaced / sizeof *misplaced; i++)
        if (string_equal_nocase(name, misplaced[i]))
            return true;
    return false;
}

void hop_trailers(struct head *trailers)
{
    for (uint32_t i = 0; i < trailers->count; i++)
        if (hop_no_trailer(trailers->fields[i].name))
            head_remove(trailers, i);
    head_compact(trailers);
}
