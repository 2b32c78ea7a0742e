/* tests/fuzz/exchange_filters.h - the filters of exchange.c: they do what the input says
 *
 * Included once. In each hook a meddler makes some calls, rightly or wrongly, and then answers,
 * rightly or wrongly. It notes what it did to a message (struct deeds): whatever else happens to it
 * is core's mistake, and so is a hook that must not be called any more. */
#ifndef TESTS_FUZZ_EXCHANGE_FILTERS_H
#define TESTS_FUZZ_EXCHANGE_FILTERS_H

#include "core/exchange/exchange.h"
#include "core/host/asynchronous.h"
#include "tests/fuzz/exchange_protocol.h"
#include "tests/held.h"

static const weir_filter_host *const filter_host = &exchange_filter_host;

static struct story *story_of(weir_exchange *exchange)
{
    return origin_of(filter_host->request_head(exchange))->story;
}

/* --- planned: does one thing, at one place */

static weir_answer respond_as_planned(weir_exchange *exchange)
{
    uint32_t choice = take();
    weir_buffer *buffer = buffer_new(choice * 300 + 1);
    memset(buffer->bytes, 'f', choice * 300 + 1);
    weir_reply reply = {.size = sizeof reply,
                        .status = 200 + choice,
                        .body = {buffer->bytes, choice * 300, buffer}};
    weir_result rc = filter_host->respond(exchange, &reply);
    bool tunnel = filter_host->request_head(exchange)->kind == WEIR_TUNNEL;
    bool wrong = choice == 4 || choice == 104 || (tunnel && choice < 100); /* 204, 304, opened */
    must(rc == WEIR_OK || wrong || play.meddling);
    buffer_release(buffer);
    return WEIR_DONE;
}

static weir_answer follow_plan(weir_exchange *exchange, enum filter_plan failing,
                               enum filter_plan responding)
{
    struct story *story = story_of(exchange);
    must(story->opens == 1 && !story->closes);
    enum filter_plan plan = story->plan;
    if (plan != failing && plan != responding)
        return WEIR_CONTINUE;
    story->plan = PLAN_NOTHING;
    return plan == failing ? WEIR_FAIL : respond_as_planned(exchange);
}

static weir_answer planned_open(weir_exchange *exchange)
{
    story_of(exchange)->opens++;
    return follow_plan(exchange, PLAN_FAIL_OPEN, PLAN_FAIL_OPEN);
}

static weir_answer planned_request(weir_exchange *exchange)
{
    return follow_plan(exchange, PLAN_FAIL_REQUEST, PLAN_RESPOND_REQUEST);
}

static weir_answer planned_upstream(weir_exchange *exchange)
{
    return follow_plan(exchange, PLAN_FAIL_UPSTREAM, PLAN_RESPOND_UPSTREAM);
}

static weir_answer planned_response(weir_exchange *exchange)
{
    must(filter_host->response_head(exchange) != NULL);
    return follow_plan(exchange, PLAN_FAIL_RESPONSE, PLAN_RESPOND_RESPONSE);
}

static void planned_close(weir_exchange *exchange)
{
    must(++story_of(exchange)->closes == 1);
}

static const weir_filter planned = {.size = sizeof planned,
                                    .name = "planned",
                                    .open = planned_open,
                                    .request = planned_request,
                                    .upstream = planned_upstream,
                                    .response = planned_response,
                                    .close = planned_close};

/* --- meddlers: what one of them knows of an exchange */

struct meddler {
    struct story *story;
    struct held held[2];
    uint64_t seen[2]; /* bytes */
    bool emitted;     /* in this hook */
    bool faulty;      /* beyond its credit: the host must throw it out */
    bool left;        /* only close() may come */
    bool streams;     /* it has responded, and more of the body comes */
    bool settles;     /* in this hook: respond() or abort() */
};

static struct meddler *of(weir_exchange *exchange)
{
    return exchange->state;
}

enum {
    NEITHER,
    REQUEST_WAY = 1 << WEIR_REQUEST_DIRECTION,
    RESPONSE_WAY = 1 << WEIR_RESPONSE_DIRECTION
};

/* Every hook but open() and close() begins here. `ways` must not be paused. */
static struct meddler *enter(weir_exchange *exchange, uint32_t ways)
{
    struct meddler *own = of(exchange);
    must(own->story && !own->left);
    must(!(filter_state_of(exchange)->paused & ways));
    own->emitted = own->settles = false;
    return own;
}

static void touch(weir_string text)
{
    static volatile uint8_t sum;
    for (size_t i = 0; i < text.length; i++)
        sum = (uint8_t)(sum + (uint8_t)text.bytes[i]);
}

static void wait_some(weir_exchange *exchange, uint32_t direction)
{
    weir_reference reference = filter_host->reference(exchange);
    weir_result rc = asynchronous_host.timer(reference, take() * 16, direction, NULL);
    must(rc == WEIR_OK || (rc == WEIR_GONE && !reference.value));
}

/* --- bytes */

static const struct leg *source_of(weir_exchange *exchange, uint32_t direction)
{
    if (direction == WEIR_REQUEST_DIRECTION)
        return of(exchange)->story->client;
    return filter_host->response_head(exchange) ? origin_of(filter_host->response_head(exchange))
                                                : NULL;
}

static void check_seen(weir_exchange *exchange, const weir_data *data, bool whole)
{
    struct meddler *own = of(exchange);
    const struct leg *source = source_of(exchange, data->direction);
    bool changed = !source || own->story->deeds[data->direction].changed;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < data->count; i++) {
        weir_slice slice = data->slices[i];
        must(changed || holds_bytes_of(source, own->seen[data->direction] + bytes, &slice));
        bytes += slice.length;
    }
    own->seen[data->direction] += bytes;
    must(bytes == data->bytes && (whole || bytes <= WEIR_BODY_MOST));
    must(whole || bytes || (data->flags & WEIR_END));
}

static void note_emitted(struct meddler *own, uint32_t direction, weir_result rc, uint32_t flags)
{
    must(rc == WEIR_OK || rc == WEIR_TOO_MUCH || rc == WEIR_WRONG_PHASE || rc == WEIR_ALREADY);
    own->faulty |= rc == WEIR_TOO_MUCH;
    if (rc != WEIR_OK)
        return;
    own->emitted = true;
    own->story->deeds[direction].ended |= (flags & WEIR_END) != 0;
    own->story->deeds[direction].loose |= (flags & WEIR_END) != 0; /* the rest is dropped */
    own->story->stream_ended |=
        own->streams && direction == WEIR_RESPONSE_DIRECTION && (flags & WEIR_END);
}

static void emit_own(weir_exchange *exchange, uint32_t direction, uint64_t bytes, uint32_t flags)
{
    struct meddler *own = of(exchange);
    weir_buffer *buffer = buffer_new(bytes + 1);
    memset(buffer->bytes, 'e', bytes + 1);
    weir_slice slice = {buffer->bytes, bytes, take() % 2 ? buffer : NULL};
    weir_result rc = filter_host->emit(exchange, direction, &slice, 1, flags);
    note_emitted(own, direction, rc, flags);
    if (rc == WEIR_OK && bytes)
        own->story->deeds[direction].changed = true;
    buffer_release(buffer);
}

static void let_go_of_held(weir_exchange *exchange, uint32_t direction)
{
    struct meddler *own = of(exchange);
    weir_result rc = held_let_go(exchange, direction, &own->held[direction]);
    note_emitted(own, direction, rc, 0);
    own->story->deeds[direction].changed |= rc != WEIR_OK;
}

static weir_answer hold(weir_exchange *exchange, const weir_data *data)
{
    struct held *held = &of(exchange)->held[data->direction];
    if (!held->waits)
        wait_some(exchange, data->direction);
    held->waits = true;
    held->held += data->bytes;
    held_keep(held, data);
    return WEIR_HOLD;
}

/* The same bytes, in other pieces. */
static weir_answer take_and_pass(weir_exchange *exchange, const weir_data *data)
{
    struct meddler *own = of(exchange);
    bool must_fit = !own->emitted && data->bytes && data->bytes <= WEIR_CREDIT;
    uint64_t first = take() * data->bytes / 255;
    weir_result rc = held_pass_copy(exchange, data, first, 0);
    must(rc == WEIR_OK || !must_fit || own->story->deeds[data->direction].ended);
    note_emitted(own, data->direction, rc, 0);
    own->story->deeds[data->direction].changed |= rc != WEIR_OK;
    return WEIR_TAKE;
}

/* Others, or none. */
static weir_answer take_and_change(weir_exchange *exchange, const weir_data *data)
{
    struct deeds *deeds = &of(exchange)->story->deeds[data->direction];
    uint32_t choice = take();
    deeds->changed |= data->bytes != 0;
    deeds->loose = true;
    if (choice)
        emit_own(exchange, data->direction, choice * 40, choice & 1 ? data->flags & WEIR_END : 0);
    return WEIR_TAKE;
}

/* --- calls */

static const weir_string names[] = {
    WEIR_STRING("X-A"),         WEIR_STRING("Accept"),   WEIR_STRING("Content-Length"),
    WEIR_STRING("X-Trailer"),   WEIR_STRING("Via"),      WEIR_STRING("Content-Type"),
    WEIR_STRING("Expect"),      WEIR_STRING("bad name"), WEIR_STRING(""),
    WEIR_STRING("Max-Forwards")};
static const weir_string values[] = {WEIR_STRING("1"),         WEIR_STRING(""),
                                     WEIR_STRING("a\r\nB: c"), WEIR_STRING("text/event-stream"),
                                     WEIR_STRING("GET"),       WEIR_STRING("POST"),
                                     WEIR_STRING("CONNECT"),   WEIR_STRING("HEAD"),
                                     WEIR_STRING("http"),      WEIR_STRING("https"),
                                     WEIR_STRING("b.test"),    WEIR_STRING("c.test:81"),
                                     WEIR_STRING("/"),         WEIR_STRING("*"),
                                     WEIR_STRING("spare"),     WEIR_STRING("192.0.2.99:3128")};

#define CHOOSE(list) ((list)[take() % (sizeof(list) / sizeof *(list))])

static void edit_fields(weir_exchange *exchange)
{
    uint32_t which = take() % 6, choice = take();
    weir_string name = CHOOSE(names), value = CHOOSE(values);
    if (choice % 3 == 0)
        filter_host->set_field(exchange, which, name, value);
    else if (choice % 3 == 1)
        filter_host->add_field(exchange, which, name, value);
    else
        filter_host->remove_field(exchange, which, name);
    if (which == WEIR_REQUEST_TRAILERS || which == WEIR_RESPONSE_TRAILERS)
        of(exchange)->story->deeds[which - WEIR_REQUEST_TRAILERS].trailed = true;
}

static void edit_part(weir_exchange *exchange)
{
    uint32_t part = take() % 6;
    weir_result rc = filter_host->set_part(exchange, part, CHOOSE(values));
    if (part == WEIR_METHOD && rc == WEIR_OK)
        of(exchange)->story->idempotent = true; /* as far as this file cares */
}

static void set_status(weir_exchange *exchange)
{
    static const uint32_t statuses[] = {200, 204, 304, 404, 101, 599, 600, 0};
    filter_host->set_status(exchange, CHOOSE(statuses));
}

static void set_limits(weir_exchange *exchange)
{
    uint32_t choice = take();
    if (choice % 4 == 0)
        filter_host->pause_limit(exchange, choice / 4 % 3, take() * 10);
    else if (choice % 4 == 1)
        filter_host->set_limit(exchange, WEIR_BUFFER_TRUNCATES, choice / 4 % 3, choice / 16 % 3);
    else
        filter_host->set_limit(exchange, WEIR_BUFFER_LIMIT, choice / 4 % 3, take() * 8);
}

static void read_all(weir_exchange *exchange)
{
    weir_field field;
    weir_string text;
    int64_t number;
    for (uint32_t which = 0; which < 6; which++)
        for (uint32_t i = 0; filter_host->field_at(exchange, which, i, &field) == WEIR_OK; i++) {
            touch(field.name);
            touch(field.value);
        }
    for (uint32_t what = 0; what < 13; what++) {
        if (filter_host->text(exchange, what, &text) == WEIR_OK)
            touch(text);
        filter_host->number(exchange, what, &number);
    }
}

static void note_something(weir_exchange *exchange)
{
    weir_string name = CHOOSE(names), value = CHOOSE(values);
    if (take() % 4 == 0)
        filter_host->set_user(exchange, value);
    if (filter_host->set_variable(exchange, name, value) != WEIR_OK)
        return;
    must(filter_host->variable(exchange, name, &value) == WEIR_OK);
    touch(value);
}

static void respond(weir_exchange *exchange)
{
    static const uint32_t statuses[] = {200, 204, 304, 403, 500, 101, 999};
    uint32_t choice = take(), bytes = choice * 300;
    weir_buffer *buffer = buffer_new(bytes + 1);
    memset(buffer->bytes, 'r', bytes + 1);
    weir_field fields[] = {{WEIR_STRING("X-Stream"), WEIR_STRING("1")},
                           {CHOOSE(names), CHOOSE(values)}};
    bool streams = choice & 1;
    weir_reply reply = {
        .size = sizeof reply,
        .status = CHOOSE(statuses),
        .fields = streams ? fields : fields + 1,
        .count = streams ? 1 : choice >> 1 & 1,
        .flags = streams ? WEIR_MORE_DATA : 0,
        .body = {buffer->bytes, choice & 4 ? bytes : 0, choice & 8 ? buffer : NULL}};
    if (filter_host->respond(exchange, &reply) == WEIR_OK) {
        of(exchange)->streams = streams;
        of(exchange)->settles = true;
    }
    buffer_release(buffer);
}

static void go_on(weir_exchange *exchange, uint32_t direction)
{
    filter_host->resume(exchange, direction);
    if (direction < 2 && of(exchange)->held[direction].bytes)
        let_go_of_held(exchange, direction);
}

/* Less is held than it has: what it emits later is not covered. It is paid back at once. */
static void release_early(weir_exchange *exchange)
{
    struct meddler *own = of(exchange);
    uint32_t direction = take() % 3, bytes = take();
    bool has = direction < 2 && bytes && bytes <= own->held[direction].held;
    if (has)
        own->story->deeds[direction].changed = own->story->deeds[direction].loose = true;
    if (filter_host->release(exchange, direction, bytes) == WEIR_OK && has)
        own->held[direction].held -= bytes;
}

static weir_result do_work(void *data)
{
    return data ? WEIR_OK : WEIR_INTERNAL;
}

static void drop(void *data)
{
    must(data == &play);
    play.drops++;
}

static void ask_for_something(weir_exchange *exchange)
{
    uint32_t choice = take();
    weir_reference reference = filter_host->reference(exchange), task = {0};
    play.wakes[play.wake_count++ % WAKES] = reference;
    if (choice % 4 == 0) {
        play.given++;
        asynchronous_host.post(reference, choice / 4 % 2, &play, drop);
    } else if (choice % 4 == 1) {
        play.given++;
        asynchronous_host.work(reference, do_work, choice / 4 % 2, &play, drop, &task);
    } else {
        asynchronous_host.timer(reference, take() * 16, choice / 4 % 2, &task);
    }
    if (choice & 64)
        asynchronous_host.cancel(task);
}

static void make_call(weir_exchange *exchange)
{
    uint32_t choice = take();
    switch (choice % 16) {
    case 0:
    case 1:
        edit_fields(exchange);
        break;
    case 2:
        edit_part(exchange);
        break;
    case 3:
        set_status(exchange);
        break;
    case 4:
        set_limits(exchange);
        break;
    case 5:
        read_all(exchange);
        break;
    case 6:
        note_something(exchange);
        break;
    case 7:
        respond(exchange);
        break;
    case 8:
        filter_host->retarget(exchange, CHOOSE(values));
        break;
    case 9:
    case 10:
        emit_own(exchange, choice / 16 % 3, take() * (choice & 128 ? 300 : 4),
                 choice & 64 ? WEIR_END : 0);
        break;
    case 11:
        filter_host->credit(exchange, choice / 16 % 3);
        break;
    case 12:
        release_early(exchange);
        break;
    case 13:
        go_on(exchange, choice / 16 % 3);
        break;
    case 14:
        ask_for_something(exchange);
        break;
    default:
        if (choice & 128)
            of(exchange)->settles |= filter_host->abort(exchange) == WEIR_OK;
    }
}

/* --- answers */

static weir_answer answer_bytes(weir_exchange *exchange, const weir_data *data, uint32_t choice)
{
    if (!data)
        return WEIR_TAKE; /* not here */
    if (choice % 4 == 0)
        return take_and_pass(exchange, data);
    if (choice % 4 == 1)
        return take_and_change(exchange, data);
    return hold(exchange, data);
}

/* Whatever it is, nothing comes of the bytes that it takes or holds. */
static weir_answer swallow(weir_exchange *exchange, const weir_data *data, weir_answer answer)
{
    if (data && (answer == WEIR_TAKE || answer == WEIR_HOLD)) {
        struct deeds *deeds = &of(exchange)->story->deeds[data->direction];
        deeds->changed = deeds->loose = true;
    }
    return answer;
}

static weir_answer choose(weir_exchange *exchange, uint32_t direction, const weir_data *data,
                          uint32_t choice)
{
    switch (choice) {
    case 1:
    case 2:
        wait_some(exchange, direction);
        return WEIR_PAUSE;
    case 3:
        return WEIR_PAUSE;
    case 4:
    case 5:
        return WEIR_BUFFER;
    case 6:
        respond(exchange);
        return WEIR_DONE;
    case 7:
        filter_host->abort(exchange);
        return WEIR_DONE;
    case 8:
        return WEIR_DETACH;
    case 9:
        return WEIR_DENY;
    case 10:
        return WEIR_FORBID;
    case 11:
        return WEIR_FAIL;
    case 12:
        filter_host->set_user(exchange, CHOOSE(values));
        return WEIR_ACCEPT;
    case 13:
        return swallow(exchange, data, (weir_answer)take() - 4);
    case 14:
        return swallow(exchange, data, WEIR_HOLD);
    default:
        return choice >= 16 && choice < 24 ? answer_bytes(exchange, data, choice) : WEIR_CONTINUE;
    }
}

/* What would put later bytes before those that are held is a change. */
static weir_answer keep_order(weir_exchange *exchange, const weir_data *data, weir_answer answer)
{
    struct meddler *own = of(exchange);
    if (!data || !own->held[data->direction].bytes || answer == WEIR_HOLD || answer == WEIR_FAIL)
        return answer;
    if (answer == WEIR_CONTINUE)
        return hold(exchange, data);
    own->story->deeds[data->direction].changed = true;
    own->story->deeds[data->direction].loose = true;
    return answer;
}

static weir_answer act(weir_exchange *exchange, uint32_t direction, const weir_data *data)
{
    struct meddler *own = of(exchange);
    uint32_t choice = take();
    for (uint32_t calls = choice & 3; calls; calls--)
        make_call(exchange);
    weir_answer answer = choose(exchange, direction, data, choice >> 3);
    answer = keep_order(exchange, data, answer);
    if (data && (own->faulty || own->settles)) /* a fault, which may be skipped: they go on too */
        own->story->deeds[data->direction].changed = true;
    own->story->deeds[direction].loose |= answer == WEIR_BUFFER;
    own->left =
        own->faulty || answer < WEIR_CONTINUE || answer > WEIR_FORBID || answer == WEIR_DETACH;
    return answer;
}

/* --- hooks */

static weir_answer meddle_open(weir_exchange *exchange)
{
    must(!of(exchange)->story);
    of(exchange)->story = story_of(exchange);
    play.open_meddlers++;
    return act(exchange, WEIR_REQUEST_DIRECTION, NULL);
}

static weir_answer meddle_authenticate(weir_exchange *exchange, const weir_credentials *credentials)
{
    enter(exchange, REQUEST_WAY);
    touch(credentials->scheme);
    return act(exchange, WEIR_REQUEST_DIRECTION, NULL);
}

static weir_answer meddle_request(weir_exchange *exchange)
{
    enter(exchange, REQUEST_WAY);
    return act(exchange, WEIR_REQUEST_DIRECTION, NULL);
}

static weir_answer meddle_address(weir_exchange *exchange, const weir_address *address)
{
    enter(exchange, NEITHER);
    touch(address->text);
    return act(exchange, WEIR_REQUEST_DIRECTION, NULL);
}

static weir_answer meddle_upstream_error(weir_exchange *exchange, weir_result why, uint32_t repeats)
{
    enter(exchange, NEITHER);
    must(why < WEIR_OK && repeats <= 1);
    return act(exchange, WEIR_REQUEST_DIRECTION, NULL);
}

static weir_answer meddle_interim(weir_exchange *exchange, uint32_t status)
{
    enter(exchange, NEITHER);
    must(status >= 100 && status <= 199);
    return act(exchange, WEIR_RESPONSE_DIRECTION, NULL);
}

static weir_answer meddle_response(weir_exchange *exchange)
{
    enter(exchange, RESPONSE_WAY);
    must(filter_host->response_head(exchange) != NULL);
    return act(exchange, WEIR_RESPONSE_DIRECTION, NULL);
}

static weir_answer meddle_bytes(weir_exchange *exchange, const weir_data *data)
{
    enter(exchange, 1u << data->direction);
    must(filter_host->credit(exchange, data->direction) == WEIR_CREDIT);
    check_seen(exchange, data, false);
    return act(exchange, data->direction, data);
}

static weir_answer meddle_whole(weir_exchange *exchange, const weir_data *data)
{
    enter(exchange, 1u << data->direction);
    must(data->flags == WEIR_END || data->flags == WEIR_TRUNCATED_DATA);
    check_seen(exchange, data, true);
    return act(exchange, data->direction, data);
}

static weir_answer meddle_trailers(weir_exchange *exchange, uint32_t direction)
{
    enter(exchange, 1u << direction);
    return act(exchange, direction, NULL);
}

static void stream_on(weir_exchange *exchange)
{
    uint64_t credit = filter_host->credit(exchange, WEIR_RESPONSE_DIRECTION), bytes = take() * 100;
    emit_own(exchange, WEIR_RESPONSE_DIRECTION, bytes < credit ? bytes : credit,
             take() % 4 == 0 ? WEIR_END : 0);
    filter_host->credit(exchange, WEIR_RESPONSE_DIRECTION);
}

static weir_answer meddle_event(weir_exchange *exchange, const weir_event *event)
{
    struct meddler *own = enter(exchange, NEITHER);
    bool credit = event->kind == WEIR_EVENT_CREDIT;
    uint32_t direction = credit ? event->direction : event->tag % 2;
    if (credit && direction == WEIR_RESPONSE_DIRECTION && own->streams)
        stream_on(exchange);
    else if (event->kind != WEIR_EVENT_PAUSE_LIMIT && own->held[direction].bytes)
        let_go_of_held(exchange, direction);
    if (!credit && event->kind != WEIR_EVENT_PAUSE_LIMIT)
        filter_host->resume(exchange, direction);
    return act(exchange, direction, NULL);
}

static void meddle_log(weir_exchange *exchange)
{
    enter(exchange, NEITHER);
    make_call(exchange);
}

static void meddle_close(weir_exchange *exchange)
{
    struct meddler *own = of(exchange);
    must(own->story);
    make_call(exchange);
    for (uint32_t direction = 0; direction < 2; direction++)
        held_forget(&own->held[direction]);
    play.open_meddlers--;
}

#define MEDDLER(FLAGS)                                                                             \
    {                                                                                              \
        .size = sizeof(weir_filter), .flags = (FLAGS), .name = "meddler",                          \
        .state_size = sizeof(struct meddler), .open = meddle_open,                                 \
        .authenticate = meddle_authenticate, .request = meddle_request, .route = meddle_request,   \
        .address = meddle_address, .upstream = meddle_request,                                     \
        .upstream_error = meddle_upstream_error, .interim = meddle_interim,                        \
        .response = meddle_response, .request_body = meddle_bytes, .response_body = meddle_bytes,  \
        .tunnel = meddle_bytes, .body_full = meddle_whole, .trailers = meddle_trailers,            \
        .event = meddle_event, .log = meddle_log, .close = meddle_close                            \
    }

static const weir_filter meddler = MEDDLER(0),
                         editor = MEDDLER(WEIR_FILTER_EDITS_REQUEST | WEIR_FILTER_EDITS_RESPONSE);

/* --- chains */

static const struct filter_use uses[] = {
    {.filter = &planned, .plugin = "fuzz"},
    {.filter = &meddler, .plugin = "fuzz", .skip_on_fault = true},
    {.filter = &editor, .plugin = "fuzz", .pause_limit_ms = 2000},
    {.filter = &editor, .plugin = "fuzz", .skip_on_fault = true, .buffer_limit = 3000},
    {.filter = &meddler, .plugin = "fuzz", .pause_limit_ms = 500, .buffer_limit = 100},
};
static const struct filter_use *const plain[] = {&uses[0]},
                                      *const meddled[] = {&uses[0], &uses[1], &uses[2]},
                                      *const of_route[] = {&uses[3], &uses[4]};
static struct filter_chain plain_chain, meddled_chain, route_chain;

static void build_chains(void)
{
    filter_chain_build(&plain_chain, plain, 1);
    filter_chain_build(&meddled_chain, meddled, 3);
    filter_chain_build(&route_chain, of_route, 2);
}

#endif
