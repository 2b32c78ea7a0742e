/* tests/sim/plan.c - what one exchange is to be: hosts, methods, fields, bodies, faults */
#include "tests/sim/plan.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { TUNNEL_PORTS_FROM = 10000, TUNNEL_PORTS = 50000 };

static const struct host hosts[] = {
    {"alpha.sim", "10.0.0.1", NULL, REACH_ACCEPTS, REACH_REFUSES, 0, false},
    {"beta.sim", "10.0.0.2", "fd00::2", REACH_ACCEPTS, REACH_ACCEPTS, 0, false},
    {"gamma.sim", "10.0.0.3", "fd00::3", REACH_ACCEPTS, REACH_REFUSES, 0, false},
    {"delta.sim", "10.0.0.4", "fd00::4", REACH_ACCEPTS, REACH_SILENT, 0, false},
    {"10.0.0.5", "10.0.0.5", NULL, REACH_ACCEPTS, REACH_REFUSES, 0, false},
    {"[fd00::6]", NULL, "fd00::6", REACH_REFUSES, REACH_ACCEPTS, 0, false},
    {"refused.sim", "10.0.0.7", NULL, REACH_REFUSES, REACH_REFUSES, 502, false},
    {"silent.sim", "10.0.0.8", "fd00::8", REACH_SILENT, REACH_SILENT, 504, false},
    {"nowhere.sim", NULL, NULL, REACH_REFUSES, REACH_REFUSES, 502, false},
    {"alpha.h2.sim", "10.0.2.1", NULL, REACH_ACCEPTS, REACH_REFUSES, 0, true},
    {"beta.h2.sim", "10.0.2.2", "fd02::2", REACH_ACCEPTS, REACH_ACCEPTS, 0, true},
    {"gamma.h2.sim", "10.0.2.3", "fd02::3", REACH_ACCEPTS, REACH_REFUSES, 0, true},
    {"delta.h2.sim", "10.0.2.4", "fd02::4", REACH_ACCEPTS, REACH_SILENT, 0, true},
    {"10.0.2.5", "10.0.2.5", NULL, REACH_ACCEPTS, REACH_REFUSES, 0, true},
    {"[fd02::6]", NULL, "fd02::6", REACH_REFUSES, REACH_ACCEPTS, 0, true},
    {"refused.h2.sim", "10.0.2.7", NULL, REACH_REFUSES, REACH_REFUSES, 502, true},
    {"silent.h2.sim", "10.0.2.8", "fd02::8", REACH_SILENT, REACH_SILENT, 504, true},
    {"nowhere.h2.sim", NULL, NULL, REACH_REFUSES, REACH_REFUSES, 502, true},
};
enum { HOSTS = sizeof hosts / sizeof *hosts, HOSTS_EACH = HOSTS / 2, GOOD_HOSTS = 6 };

static uint64_t pick(struct dice *dice, uint64_t count)
{
    return dice_below(dice, count);
}

/* --- the plan */

/* Mostly small; one in 70 is up to 1 MiB. */
static uint32_t some_length(struct dice *dice)
{
    uint64_t kind = pick(dice, 1000);
    if (kind < 14)
        return (uint32_t)pick(dice, 1 << 20);
    return (uint32_t)dice_size(dice, kind < 60 ? 65536 : 4096) - (kind % 2);
}

static void plan_way(struct direction *way, struct dice *dice)
{
    way->length = some_length(dice);
    way->trailers = way->delivery == BODY_CHUNKED && dice_percent(dice, 10);
    way->stall_at = dice_percent(dice, 20) ? (uint32_t)pick(dice, way->length + 1) : UINT32_MAX;
    if (way->delivery == BODY_NONE)
        way->length = 0;
}

/* The server's leg of a tunnel speaks nothing, so that its origins are those of HTTP/1.1. */
static void plan_host(struct plan *plan, struct dice *dice)
{
    bool h2 = simulation.h2[RESPONSE] && (!simulation.h1[RESPONSE] || dice_percent(dice, 50));
    plan->h2[RESPONSE] = h2 && !plan->tunnel;
    plan->host = &hosts[plan->h2[RESPONSE] * HOSTS_EACH + pick(dice, GOOD_HOSTS)];
}

static void plan_tunnel(struct plan *plan, struct dice *dice)
{
    plan->tunnel = true;
    plan->method = "CONNECT";
    plan->port = plan_tunnel_port(plan->number);
    plan->status = 200;
    plan->eager = dice_percent(dice, 50);
    if (dice_percent(dice, 60))
        plan->waits[pick(dice, WAYS)] = true;
    for (int way = 0; way < WAYS; way++) {
        plan->ways[way].delivery = BODY_UNTIL_CLOSE;
        plan_way(&plan->ways[way], dice);
    }
}

static void plan_request(struct plan *plan, struct dice *dice)
{
    static const char *const methods[] = {"GET", "GET", "HEAD", "DELETE", "POST", "PUT", "PATCH"};
    struct direction *way = &plan->ways[REQUEST];
    plan->method = methods[pick(dice, 7)];
    plan->port = dice_percent(dice, 30) ? 8080 : 0;
    plan->closes[REQUEST] = dice_percent(dice, 10);
    if (plan->method[0] == 'P' || dice_percent(dice, 5))
        way->delivery = dice_percent(dice, 50) ? BODY_LENGTH : BODY_CHUNKED;
    plan_way(way, dice);
    plan->half_closes = dice_percent(dice, 5);
    plan->early = dice_percent(dice, 10) ? (uint32_t)pick(dice, way->length + 1) : UINT32_MAX;
}

static void plan_response(struct plan *plan, struct dice *dice)
{
    static const uint16_t statuses[] = {200, 200, 200, 201, 404, 500, 204, 304};
    struct direction *way = &plan->ways[RESPONSE];
    plan->status = statuses[pick(dice, 8)];
    plan->closes[RESPONSE] = dice_percent(dice, 10);
    if (plan->status == 204 || plan->status == 304 || !strcmp(plan->method, "HEAD"))
        way->delivery = BODY_NONE;
    else
        way->delivery = (enum delivery)(BODY_LENGTH + pick(dice, 3));
    plan_way(way, dice);
    if (way->delivery == BODY_UNTIL_CLOSE)
        plan->closes[RESPONSE] = true;
}

static void plan_fault(struct plan *plan, struct dice *dice)
{
    const struct direction *ways = plan->ways;
    plan->fault = (enum fault)(1 + pick(dice, HOST_FAILS));
    plan->fault_at = (uint32_t)pick(dice, 300 + ways[REQUEST].length + ways[RESPONSE].length);
    if (plan->tunnel && plan->fault == ORIGIN_NONSENSE)
        plan->fault = ORIGIN_RESETS;
    if (plan->fault == HOST_FAILS)
        plan->host = &hosts[plan->h2[RESPONSE] * HOSTS_EACH + GOOD_HOSTS +
                            pick(dice, HOSTS_EACH - GOOD_HOSTS)];
}

void plan_make(struct plan *plan, uint64_t number, uint64_t seed, bool faults)
{
    struct dice dice = dice_of(seed, number);
    memset(plan, 0, sizeof *plan);
    plan->number = number;
    plan->early = UINT32_MAX;
    if (dice_percent(&dice, 12)) {
        plan_tunnel(plan, &dice);
    } else {
        plan_request(plan, &dice);
        plan_response(plan, &dice);
    }
    plan_host(plan, &dice);
    if (faults && dice_percent(&dice, 20))
        plan_fault(plan, &dice);
}

uint16_t plan_tunnel_port(uint64_t number)
{
    return (uint16_t)(TUNNEL_PORTS_FROM + number % TUNNEL_PORTS);
}

/* --- hosts */

static bool is_at(const struct address *address, const char *literal)
{
    struct address other;
    weir_string text = {literal, literal ? strlen(literal) : 0};
    return literal && address_from_literal(text, address_port(address), &other) &&
           address_equal(address, &other);
}

const struct host *plan_host_at(const struct address *address)
{
    for (int i = 0; i < HOSTS; i++)
        if (is_at(address, hosts[i].v4) || is_at(address, hosts[i].v6))
            return &hosts[i];
    return NULL;
}

enum reach plan_reach(const struct address *address)
{
    const struct host *host = plan_host_at(address);
    if (!host)
        return REACH_REFUSES;
    return is_at(address, host->v4) ? host->v4_reach : host->v6_reach;
}

uint32_t plan_hosts(const struct host **all)
{
    *all = hosts;
    return HOSTS;
}

bool plan_resolve(const char *name, int family, struct address *address)
{
    for (int i = 0; i < HOSTS; i++) {
        const char *literal = family == AF_INET ? hosts[i].v4 : hosts[i].v6;
        if (literal && !strcmp(name, hosts[i].name))
            return address_from_literal((weir_string){literal, strlen(literal)}, 0, address);
    }
    return false;
}

/* --- heads */

void text_write(struct text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    text->length += (uint32_t)vsnprintf(text->bytes + text->length,
                                        sizeof text->bytes - text->length, format, arguments);
    va_end(arguments);
}

static struct dice dice_for(const struct plan *plan, enum way way, uint64_t what)
{
    return dice_of(simulation.seed + plan->number * 4 + way, 0x1000 + what);
}

/* Characters that a target, and a field's value, may have; chosen to tempt whoever normalizes. */
static void add_random(struct text *text, struct dice *dice, const char *characters, uint64_t most)
{
    for (uint64_t left = pick(dice, most); left; left--)
        text_write(text, "%c", characters[pick(dice, strlen(characters))]);
}

static void add_path(const struct plan *plan, struct text *text)
{
    struct dice dice = dice_for(plan, REQUEST, 1);
    text_write(text, "/%" PRIu64, plan->number);
    if (dice_percent(&dice, 70)) {
        text_write(text, "/");
        add_random(text, &dice, "aB0/.;=%~-_!$&'()*+,:@", 60);
        text_write(text, "%%2F%%2f%%41");
    }
    if (dice_percent(&dice, 50)) {
        text_write(text, "?");
        add_random(text, &dice, "aB0/?=&+%;", 40);
    }
}

/* Fields between the two ends: names, order, case, and duplicates are to be kept. */
static void add_fields(const struct plan *plan, enum way way, struct text *text)
{
    static const char *const names[] = {"Accept",     "X-Sim",        "x-sim",         "COOKIE",
                                        "Set-Cookie", "X-MiXeD-cAsE", "Cache-Control", "ETag",
                                        "a",          "Accept"};
    struct dice dice = dice_for(plan, way, 2);
    bool cookie = false; /* HTTP/2 makes one of several */
    text_write(text, "X-Number: %" PRIu64 "\r\n", plan->number);
    for (uint64_t left = pick(&dice, 8); left; left--) {
        const char *name = names[pick(&dice, sizeof names / sizeof *names)];
        text_write(text, "%s: v", cookie && name[1] == 'O' ? "a" : name);
        cookie |= name[1] == 'O';
        add_random(text, &dice, "aB0 ,;=\"\\()\xe4\t:", 30);
        text_write(text, "v\r\n");
    }
}

static void add_framing(const struct plan *plan, enum way way, struct text *text)
{
    const struct direction *direction = &plan->ways[way];
    if (direction->delivery == BODY_LENGTH)
        text_write(text, "Content-Length: %" PRIu32 "\r\n", direction->length);
    if (direction->delivery == BODY_CHUNKED)
        text_write(text, "Transfer-Encoding: chunked\r\n");
    if (plan->number % 3 == 0)
        text_write(text, "Connection: %sX-Hop\r\nX-Hop: 1\r\n", plan->closes[way] ? "close, " : "");
    else if (plan->closes[way])
        text_write(text, "Connection: close\r\n");
}

static void add_authority(const struct plan *plan, struct text *text)
{
    text_write(text, "%s", plan->host->name);
    if (plan->port)
        text_write(text, ":%u", plan->port);
}

static void add_start_line(const struct plan *plan, enum way way, bool at_client, struct text *text)
{
    if (way == RESPONSE) {
        text_write(text, "HTTP/1.1 %u Reason (%" PRIu64 ")\r\n", plan->status, plan->number % 100);
        return;
    }
    text_write(text, "%s ", plan->method);
    if (at_client && !plan->tunnel)
        text_write(text, "http://");
    if (at_client)
        add_authority(plan, text);
    if (!plan->tunnel)
        add_path(plan, text);
    text_write(text, " HTTP/1.1\r\n");
}

static bool has_h2(const struct plan *plan)
{
    return plan->h2[REQUEST] || plan->h2[RESPONSE];
}

/* The case of the first field's name, which HTTP/2 has none of; or the end of the last one. */
static void change(const struct plan *plan, struct text *text, uint32_t fields_at)
{
    if (!has_h2(plan))
        text->bytes[fields_at] ^= 0x20;
    else if (text->bytes[text->length - 3] == 'v')
        text->bytes[text->length - 3] = 'w';
}

void plan_head(const struct plan *plan, enum way way, struct text *text)
{
    bool framing_first = plan->number % 2;
    text->length = 0;
    add_start_line(plan, way, true, text);
    if (way == REQUEST) {
        text_write(text, "Host: ");
        add_authority(plan, text);
        text_write(text, "\r\n");
    }
    if (framing_first)
        add_framing(plan, way, text);
    uint32_t fields_at = text->length;
    add_fields(plan, way, text);
    if (sabotage(FIELDS_KEPT, 20))
        change(plan, text, fields_at);
    if (!framing_first)
        add_framing(plan, way, text);
    text_write(text, "\r\n");
}

/* HTTP/2 has names in lower case, and they are not changed back. */
static void lower_names(const struct plan *plan, struct text *text)
{
    bool name = true;
    for (char *at = text->bytes; has_h2(plan) && *at; at++) {
        name = at == text->bytes || at[-1] == '\n' || (name && *at != ':');
        if (name && *at >= 'A' && *at <= 'Z')
            *at = (char)(*at | 0x20);
    }
}

/* HTTP/2 has no reason. */
static bool start_line_is_kept(const struct plan *plan, enum way way, const struct text *head)
{
    struct text expected = {.length = 0};
    add_start_line(plan, way, false, &expected);
    if (way == RESPONSE && has_h2(plan))
        expected.length = strlen("HTTP/1.1 200 ");
    return head->length >= expected.length && !memcmp(head->bytes, expected.bytes, expected.length);
}

const char *plan_check_head(const struct plan *plan, enum way way, const struct text *head)
{
    struct text expected = {.length = 0};
    if (!start_line_is_kept(plan, way, head))
        return "the start line changed";
    add_fields(plan, way, &expected);
    lower_names(plan, &expected);
    if (!memmem(head->bytes, head->length, expected.bytes, expected.length))
        return "the fields changed";
    if (strcasestr(head->bytes, "X-Hop"))
        return "a field of one connection was passed on";
    if (!strcasestr(head->bytes, "\r\nVia: "))
        return "there is no Via";
    return NULL;
}

void text_field(const struct text *head, const char *name, char value[64])
{
    size_t length = strlen(name);
    value[0] = 0;
    for (const char *line = strchr(head->bytes, '\n'); line; line = strchr(line, '\n')) {
        line++;
        if (strncasecmp(line, name, length) || line[length] != ':')
            continue;
        const char *from = line + length + 1 + strspn(line + length + 1, " \t");
        size_t count = strcspn(from, "\r\n");
        count = count < 63 ? count : 63;
        memcpy(value, from, count);
        value[count] = 0;
        return;
    }
}

void plan_trailers(const struct plan *plan, enum way way, struct text *text)
{
    text->length = 0;
    if (plan->ways[way].trailers)
        text_write(text, "%s: %" PRIu64 "\r\n", has_h2(plan) ? "x-trailer" : "X-Trailer",
                   plan->number);
}

/* --- bodies */

enum { PATTERN_BYTES = 65521 }; /* a prime: no power of two repeats it */
static uint8_t pattern[PATTERN_BYTES * 2];

static const uint8_t *pattern_at(uint64_t number, enum way way, uint64_t offset)
{
    if (!pattern[0]) {
        struct dice dice = dice_of(1, 1);
        for (int i = 0; i < PATTERN_BYTES; i++)
            pattern[i] = pattern[i + PATTERN_BYTES] = (uint8_t)(1 + pick(&dice, 255));
    }
    return &pattern[(number * 7919 + (uint64_t)way * 31337 + offset) % PATTERN_BYTES];
}

void pattern_fill(uint64_t number, enum way way, uint64_t offset, uint8_t *bytes, size_t count)
{
    for (size_t some; count; bytes += some, offset += some, count -= some) {
        some = count < PATTERN_BYTES ? count : PATTERN_BYTES;
        memcpy(bytes, pattern_at(number, way, offset), some);
    }
}

bool pattern_matches(uint64_t number, enum way way, uint64_t offset, const uint8_t *bytes,
                     size_t count)
{
    for (size_t some; count; bytes += some, offset += some, count -= some) {
        some = count < PATTERN_BYTES ? count : PATTERN_BYTES;
        if (memcmp(bytes, pattern_at(number, way, offset), some))
            return false;
    }
    return true;
}
