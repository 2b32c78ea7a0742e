/* tests/plugins/probe.c - a filter that does in every hook what it is told, and writes down what it
 * was asked
 *
 * Told by the configuration, `with: { name: a, trace: FILE, scripts: [ "request=pause" ] }`, and by
 * fields of the request, "X-Probe: a.request=timer 20; pause", which are looked at in open(). A
 * script belongs to a hook, or to a kind of event ("event_timer"). Its alternatives, between "|",
 * are for the first call, the second, and so on; the last one for all others. An alternative is
 * statements between ";": the name of an answer (the last one counts), or one of `verbs` below.
 *
 * The trace has a line for each call, "KEY NAME HOOK DETAIL", where KEY is the request's X-Key, and
 * one for each thing that was done, "KEY NAME HOOK> VERB RESULT". */
#include "abi/filter.h"
#include "abi/services.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { SCRIPTS_MOST = 24, PIECE_MOST = 256 };

struct script {
    char *hook, *text; /* hook, then its alternatives */
    uint32_t calls;
};

struct probe {
    char name[16], trace[256];
    struct script scripts[SCRIPTS_MOST];
    uint32_t count;
};

struct state {
    char key[32];
    struct script scripts[SCRIPTS_MOST];
    uint32_t count;
    uint32_t inside, opened, closed;
    weir_reference timer;
    weir_string kept; /* views that are not its own any more */
    const weir_head *kept_head;
    weir_slice kept_slice;
};

/* One call of a hook. */
struct act {
    weir_exchange *exchange;
    const struct probe *probe;
    struct state *state;
    const char *hook;
    const weir_data *data; /* NULL: it is not about bytes */
    uint32_t direction;
    weir_answer answer;
    int stop; /* the rest of the script is not for this call */
};

static const weir_host *host;
static const weir_filter_host *api;
static const weir_asynchronous_host *asynchronous;
static const weir_configuration_host *configuration;

/* --- the trace */

__attribute__((format(printf, 3, 4))) static void trace(const struct probe *probe, const char *key,
                                                        const char *format, ...)
{
    char line[512];
    va_list arguments;
    int length = snprintf(line, sizeof line, "%s %s ", key[0] ? key : "-", probe->name);
    va_start(arguments, format);
    length += vsnprintf(line + length, sizeof line - (size_t)length - 1, format, arguments);
    va_end(arguments);
    if ((size_t)length > sizeof line - 2)
        length = sizeof line - 2;
    line[length++] = '\n';
    int file = open(probe->trace, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    ssize_t written = write(file, line, (size_t)length);
    (void)written;
    close(file);
}

static void done(const struct act *act, const char *verb, int64_t result)
{
    trace(act->probe, act->state->key, "%s> %s %lld", act->hook, verb, (long long)result);
}

/* --- scripts */

static void keep_script(struct script *scripts, uint32_t *count, const char *text, size_t length)
{
    char *copy = strndup(text, length), *equals = strchr(copy, '=');
    if (!equals || *count == SCRIPTS_MOST) {
        free(copy);
        return;
    }
    *equals = 0;
    scripts[(*count)++] = (struct script){.hook = copy, .text = equals + 1};
}

static void free_scripts(struct script *scripts, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        free(scripts[i].hook);
}

static void read_field(struct probe const *probe, struct state *state, const weir_field *field)
{
    size_t name = strlen(probe->name);
    weir_string value = field->value;
    if (field->name.length == 5 && !strncasecmp(field->name.bytes, "x-key", 5))
        snprintf(state->key, sizeof state->key, "%.*s", (int)value.length, value.bytes);
    if (field->name.length != 7 || strncasecmp(field->name.bytes, "x-probe", 7))
        return;
    if (value.length > name && !memcmp(value.bytes, probe->name, name) && value.bytes[name] == '.')
        keep_script(state->scripts, &state->count, value.bytes + name + 1, value.length - name - 1);
}

static void read_request(const struct act *act)
{
    const weir_head *head = api->request_head(act->exchange);
    for (uint32_t i = 0; i < head->count; i++)
        read_field(act->probe, act->state, &head->fields[i]);
}

static struct script *find_in(const struct script *scripts, uint32_t count, const char *hook)
{
    for (uint32_t i = 0; i < count; i++)
        if (!strcmp(scripts[i].hook, hook))
            return (struct script *)&scripts[i];
    return NULL;
}

/* --- what can be done */

static weir_slice text_slice(const char *text)
{
    return (weir_slice){(const uint8_t *)text, strlen(text), NULL};
}

static weir_slice pattern_slice(size_t bytes)
{
    uint8_t *at;
    weir_buffer *buffer = host->buffer_new(bytes ? bytes : 1, &at);
    for (size_t i = 0; i < bytes; i++)
        at[i] = (uint8_t)('a' + i % 26);
    return (weir_slice){at, bytes, buffer};
}

static void emit_slice(struct act *act, const char *verb, weir_slice slice, uint32_t flags)
{
    weir_result rc = api->emit(act->exchange, act->direction, &slice, slice.length ? 1 : 0, flags);
    if (rc != WEIR_OK || !act->data)
        done(act, verb, rc);
}

static uint32_t end_flag(const struct act *act)
{
    return act->data && act->data->flags & WEIR_END ? WEIR_END : 0;
}

/* The bytes of this call, each `times`, in upper case or not, take the place of what came. */
static void emit_changed(struct act *act, uint32_t times, int upper)
{
    uint8_t *at;
    const weir_data *data = act->data;
    size_t length = 0, total = data ? data->bytes * times : 0;
    weir_buffer *buffer = host->buffer_new(total + 1, &at);
    for (uint32_t i = 0; data && i < data->count; i++)
        for (size_t j = 0; j < data->slices[i].length * times; j++) {
            uint8_t byte = data->slices[i].bytes[j / times];
            at[length++] = upper && byte >= 'a' && byte <= 'z' ? byte - 32 : byte;
        }
    emit_slice(act, "emit", (weir_slice){at, length, buffer}, end_flag(act));
    host->buffer_release(buffer);
    act->answer = WEIR_TAKE;
}

static void do_upper(struct act *act, char *rest)
{
    (void)rest;
    emit_changed(act, 1, 1);
}

static void do_pass(struct act *act, char *rest)
{
    (void)rest;
    emit_changed(act, 1, 0);
}

static void do_double(struct act *act, char *rest)
{
    (void)rest;
    emit_changed(act, 2, 0);
}

static void do_drop(struct act *act, char *rest)
{
    (void)rest;
    emit_slice(act, "drop", text_slice(""), end_flag(act));
    act->answer = WEIR_TAKE;
}

static void do_emit(struct act *act, char *rest)
{
    emit_slice(act, "emit", text_slice(rest), 0);
}

static void do_emit_end(struct act *act, char *rest)
{
    emit_slice(act, "emit_end", text_slice(rest), WEIR_END);
}

static void do_emit_many(struct act *act, char *rest)
{
    weir_slice slice = pattern_slice(strtoul(rest, NULL, 10));
    emit_slice(act, "emit_many", slice, 0);
    host->buffer_release(slice.owner);
}

/* STATUS BYTES|TEXT */
static void answer_client(struct act *act, const char *verb, char *rest, uint32_t flags)
{
    char *body = strchr(rest, ' ');
    body = body ? body + 1 : rest + strlen(rest);
    weir_slice slice =
        body[0] == '#' ? pattern_slice(strtoul(body + 1, NULL, 10)) : text_slice(body);
    weir_field field = {WEIR_STRING("X-Answer"), {act->probe->name, strlen(act->probe->name)}};
    weir_reply reply = {.size = sizeof reply,
                        .status = (uint32_t)strtoul(rest, NULL, 10),
                        .fields = &field,
                        .count = 1,
                        .flags = flags,
                        .body = slice};
    done(act, verb, api->respond(act->exchange, &reply));
    if (slice.owner)
        host->buffer_release(slice.owner);
    act->answer = WEIR_DONE;
}

static void do_respond(struct act *act, char *rest)
{
    answer_client(act, "respond", rest, 0);
}

static void do_stream(struct act *act, char *rest)
{
    answer_client(act, "stream", rest, WEIR_MORE_DATA);
}

static void do_abort(struct act *act, char *rest)
{
    (void)rest;
    done(act, "abort", api->abort(act->exchange));
    act->answer = WEIR_DONE;
}

static void do_answer(struct act *act, char *rest)
{
    act->answer = (weir_answer)strtol(rest, NULL, 10);
}

static weir_string word(char **rest)
{
    char *begin = *rest, *end = begin + strcspn(begin, " ");
    *rest = *end ? end + 1 : end;
    *end = 0;
    return (weir_string){begin, strlen(begin)};
}

/* \r, \n and \0 are written with their backslash. */
static weir_string unescape(char *text)
{
    char *to = text;
    for (char *from = text; *from; from++)
        if (from[0] == '\\' && from[1]) {
            from++;
            *to++ = *from == 'r' ? '\r' : *from == 'n' ? '\n' : *from == '0' ? '\0' : *from;
        } else {
            *to++ = *from;
        }
    return (weir_string){text, (size_t)(to - text)};
}

/* WHICH NAME VALUE, WHICH by its number */
static void do_set(struct act *act, char *rest)
{
    uint32_t which = (uint32_t)strtoul(word(&rest).bytes, NULL, 10);
    char *name_text = (char *)word(&rest).bytes;
    weir_string name = unescape(name_text), value = unescape(rest);
    done(act, "set", api->set_field(act->exchange, which, name, value));
}

static void do_add(struct act *act, char *rest)
{
    uint32_t which = (uint32_t)strtoul(word(&rest).bytes, NULL, 10);
    char *name_text = (char *)word(&rest).bytes;
    weir_string name = unescape(name_text), value = unescape(rest);
    done(act, "add", api->add_field(act->exchange, which, name, value));
}

static void do_remove(struct act *act, char *rest)
{
    uint32_t which = (uint32_t)strtoul(word(&rest).bytes, NULL, 10);
    done(act, "remove", api->remove_field(act->exchange, which, word(&rest)));
}

static void do_field(struct act *act, char *rest)
{
    weir_string value = {"", 0};
    uint32_t which = (uint32_t)strtoul(word(&rest).bytes, NULL, 10);
    weir_string name = word(&rest);
    weir_result rc = api->field(act->exchange, which, name,
                                (uint32_t)strtoul(word(&rest).bytes, NULL, 10), &value);
    trace(act->probe, act->state->key, "%s> field %d %.*s", act->hook, rc, (int)value.length,
          value.bytes);
}

/* WHICH COUNT LENGTH: so many fields of that size; the result of the first that is refused. */
static void do_fill(struct act *act, char *rest)
{
    uint32_t which = (uint32_t)strtoul(word(&rest).bytes, NULL, 10);
    uint32_t count = (uint32_t)strtoul(word(&rest).bytes, NULL, 10), added = 0;
    weir_slice value = pattern_slice(strtoul(rest, NULL, 10));
    weir_result rc = WEIR_OK;
    for (; rc == WEIR_OK && added < count; added += rc == WEIR_OK)
        rc = api->add_field(act->exchange, which, WEIR_STRING("X-Fill"),
                            (weir_string){(const char *)value.bytes, value.length});
    host->buffer_release(value.owner);
    done(act, "fill", rc);
    done(act, "filled", added);
}

static void do_part(struct act *act, char *rest)
{
    uint32_t part = (uint32_t)strtoul(word(&rest).bytes, NULL, 10);
    done(act, "part", api->set_part(act->exchange, part, (weir_string){rest, strlen(rest)}));
}

static void do_status(struct act *act, char *rest)
{
    done(act, "status", api->set_status(act->exchange, (uint32_t)strtoul(rest, NULL, 10)));
}

static void do_user(struct act *act, char *rest)
{
    done(act, "user", api->set_user(act->exchange, (weir_string){rest, strlen(rest)}));
}

static void do_retarget(struct act *act, char *rest)
{
    done(act, "retarget", api->retarget(act->exchange, (weir_string){rest, strlen(rest)}));
}

static void do_text(struct act *act, char *rest)
{
    weir_string value = {"", 0};
    weir_result rc = api->text(act->exchange, (uint32_t)strtoul(rest, NULL, 10), &value);
    trace(act->probe, act->state->key, "%s> text %d %.*s", act->hook, rc, (int)value.length,
          value.bytes);
}

static void do_number(struct act *act, char *rest)
{
    int64_t value = -1;
    api->number(act->exchange, (uint32_t)strtoul(rest, NULL, 10), &value);
    done(act, "number", value);
}

static void do_limit(struct act *act, char *rest)
{
    done(act, "limit",
         api->set_limit(act->exchange, WEIR_BUFFER_LIMIT, act->direction, strtoul(rest, NULL, 10)));
}

static void do_truncates(struct act *act, char *rest)
{
    (void)rest;
    done(act, "truncates", api->set_limit(act->exchange, WEIR_BUFFER_TRUNCATES, act->direction, 1));
}

static void do_pause_limit(struct act *act, char *rest)
{
    done(act, "pause_limit",
         api->pause_limit(act->exchange, act->direction, (uint32_t)strtoul(rest, NULL, 10)));
}

static void do_resume(struct act *act, char *rest)
{
    (void)rest;
    done(act, "resume", api->resume(act->exchange, act->direction));
}

static void do_release(struct act *act, char *rest)
{
    done(act, "release", api->release(act->exchange, act->direction, strtoul(rest, NULL, 10)));
}

static void do_credit(struct act *act, char *rest)
{
    (void)rest;
    done(act, "credit", (int64_t)api->credit(act->exchange, act->direction));
}

static void do_timer(struct act *act, char *rest)
{
    weir_result rc =
        asynchronous->timer(api->reference(act->exchange), (uint32_t)strtoul(rest, NULL, 10),
                            act->direction, &act->state->timer);
    if (rc != WEIR_OK)
        done(act, "timer", rc);
}

static void do_cancel(struct act *act, char *rest)
{
    (void)rest;
    done(act, "cancel", asynchronous->cancel(act->state->timer));
}

/* --- from a thread of its own, at a time of its own */

struct parcel {
    weir_reference owner;
    uint32_t tag, wait_ms, count;
};

static uint32_t posted, dropped;

static void drop(void *data)
{
    __atomic_add_fetch(&dropped, 1, __ATOMIC_SEQ_CST);
    free(data);
}

static void *post_later(void *user)
{
    struct parcel *parcel = user;
    usleep(parcel->wait_ms * 1000);
    for (uint32_t i = 0; i < parcel->count; i++) {
        __atomic_add_fetch(&posted, 1, __ATOMIC_SEQ_CST);
        asynchronous->post(parcel->owner, parcel->tag, malloc(1), drop);
    }
    free(parcel);
    return NULL;
}

/* MS COUNT */
static void do_post(struct act *act, char *rest)
{
    pthread_t thread;
    struct parcel *parcel = malloc(sizeof *parcel);
    *parcel = (struct parcel){api->reference(act->exchange), act->direction,
                              (uint32_t)strtoul(word(&rest).bytes, NULL, 10),
                              (uint32_t)strtoul(rest, NULL, 10)};
    if (!parcel->count)
        parcel->count = 1;
    if (!pthread_create(&thread, NULL, post_later, parcel))
        pthread_detach(thread);
}

/* --- what no filter should do */

static void do_sleep(struct act *act, char *rest)
{
    (void)act;
    usleep((useconds_t)strtoul(rest, NULL, 10) * 1000);
}

static void do_crash(struct act *act, char *rest)
{
    (void)act, (void)rest;
    *(volatile int *)8 = 0; /* NOLINT */
}

static weir_string view_of(struct act *act, const char *what)
{
    weir_string view = {"", 0};
    if (!strcmp(what, "field"))
        api->field(act->exchange, act->direction, WEIR_STRING("X-View"), 0, &view);
    else if (!strcmp(what, "text"))
        api->text(act->exchange, WEIR_CLIENT_ADDRESS, &view);
    else if (!strcmp(what, "variable"))
        api->variable(act->exchange, WEIR_STRING("view"), &view);
    else if (!strcmp(what, "path"))
        view = api->request_head(act->exchange)->path;
    else if (act->data && act->data->count)
        view = (weir_string){(const char *)act->data->slices[0].bytes, act->data->slices[0].length};
    return view;
}

/* field, text, variable, path or data: longer than it may */
static void do_keep(struct act *act, char *rest)
{
    act->state->kept = view_of(act, rest);
}

static void do_look(struct act *act, char *rest)
{
    char seen[64];
    size_t length = 0;
    (void)rest;
    for (; length < act->state->kept.length && length < sizeof seen; length++)
        seen[length] = act->state->kept.bytes[length];
    trace(act->probe, act->state->key, "%s> look %.*s", act->hook, (int)length, seen);
}

static void do_keep_head(struct act *act, char *rest)
{
    (void)rest;
    act->state->kept_head = api->request_head(act->exchange);
}

static void do_look_head(struct act *act, char *rest)
{
    (void)rest;
    done(act, "look_head", act->state->kept_head->count);
}

static void do_variable(struct act *act, char *rest)
{
    done(act, "variable",
         api->set_variable(act->exchange, WEIR_STRING("view"), (weir_string){rest, strlen(rest)}));
}

/* The first slice: with a reference, or without. */
static void do_hold_slice(struct act *act, char *rest)
{
    if (!act->data || !act->data->count)
        return;
    act->state->kept_slice = act->data->slices[0];
    if (strcmp(rest, "without") != 0)
        host->buffer_reference(act->state->kept_slice.owner);
}

static void do_release_slice(struct act *act, char *rest)
{
    (void)rest;
    host->buffer_release(act->state->kept_slice.owner);
}

static void do_emit_slice(struct act *act, char *rest)
{
    (void)rest;
    done(act, "emit_slice",
         api->emit(act->exchange, act->direction, &act->state->kept_slice, 1, 0));
}

static void do_leak(struct act *act, char *rest)
{
    uint8_t *bytes;
    (void)act;
    host->buffer_new(strtoul(rest, NULL, 10), &bytes);
}

static void do_foreign(struct act *act, char *rest)
{
    static char nothing[64];
    weir_buffer *buffer = (weir_buffer *)nothing;
    weir_slice slice = {(const uint8_t *)nothing, 1, buffer};
    (void)rest;
    host->buffer_reference(buffer);
    host->buffer_release(buffer);
    done(act, "foreign", api->emit(act->exchange, act->direction, &slice, 1, 0));
}

/* NUMBER as a reference */
static void do_wild(struct act *act, char *rest)
{
    weir_reference wild = {strtoull(rest, NULL, 0)};
    done(act, "wild_timer", asynchronous->timer(wild, 0, 0, NULL));
    done(act, "wild_work", asynchronous->work(wild, NULL, 0, NULL, NULL, NULL));
    done(act, "wild_post", asynchronous->post(wild, 0, NULL, NULL));
    done(act, "wild_cancel", asynchronous->cancel(wild));
}

/* Another exchange's, or this one's on another thread */
static weir_exchange *stranger;

static void do_be_stranger(struct act *act, char *rest)
{
    (void)rest;
    stranger = act->exchange;
}

static void do_ask_stranger(struct act *act, char *rest)
{
    (void)rest;
    done(act, "ask_stranger", api->abort(stranger));
}

static void *ask_here(void *user)
{
    struct act *act = user;
    done(act, "ask_thread", api->abort(act->exchange));
    return NULL;
}

static void do_ask_thread(struct act *act, char *rest)
{
    pthread_t thread;
    (void)rest;
    if (!pthread_create(&thread, NULL, ask_here, act))
        pthread_join(thread, NULL);
}

/* --- for which calls the rest is */

static void do_if_end(struct act *act, char *rest)
{
    (void)rest;
    act->stop = !end_flag(act);
}

static void do_if_more(struct act *act, char *rest)
{
    (void)rest;
    act->stop = end_flag(act) != 0;
}

static void do_if_request(struct act *act, char *rest)
{
    (void)rest;
    act->stop = act->direction != WEIR_REQUEST_DIRECTION;
}

static void do_if_response(struct act *act, char *rest)
{
    (void)rest;
    act->stop = act->direction != WEIR_RESPONSE_DIRECTION;
}

static void do_to_request(struct act *act, char *rest)
{
    (void)rest;
    act->direction = WEIR_REQUEST_DIRECTION;
}

static void do_to_response(struct act *act, char *rest)
{
    (void)rest;
    act->direction = WEIR_RESPONSE_DIRECTION;
}

static const struct verb {
    const char *name;
    void (*act)(struct act *act, char *rest);
} verbs[] = {
    {"upper", do_upper},
    {"pass", do_pass},
    {"double", do_double},
    {"drop", do_drop},
    {"emit", do_emit},
    {"emit_end", do_emit_end},
    {"emit_many", do_emit_many},
    {"respond", do_respond},
    {"stream", do_stream},
    {"abort", do_abort},
    {"answer", do_answer},
    {"set", do_set},
    {"add", do_add},
    {"remove", do_remove},
    {"field", do_field},
    {"fill", do_fill},
    {"part", do_part},
    {"status", do_status},
    {"user", do_user},
    {"retarget", do_retarget},
    {"text", do_text},
    {"number", do_number},
    {"limit", do_limit},
    {"truncates", do_truncates},
    {"pause_limit", do_pause_limit},
    {"resume", do_resume},
    {"release", do_release},
    {"credit", do_credit},
    {"timer", do_timer},
    {"cancel", do_cancel},
    {"post", do_post},
    {"sleep", do_sleep},
    {"crash", do_crash},
    {"keep", do_keep},
    {"look", do_look},
    {"keep_head", do_keep_head},
    {"look_head", do_look_head},
    {"variable", do_variable},
    {"hold_slice", do_hold_slice},
    {"release_slice", do_release_slice},
    {"emit_slice", do_emit_slice},
    {"leak", do_leak},
    {"foreign", do_foreign},
    {"wild", do_wild},
    {"be_stranger", do_be_stranger},
    {"ask_stranger", do_ask_stranger},
    {"ask_thread", do_ask_thread},
    {"if_end", do_if_end},
    {"if_more", do_if_more},
    {"if_request", do_if_request},
    {"if_response", do_if_response},
    {"to_request", do_to_request},
    {"to_response", do_to_response},
};

static const struct answer_name {
    const char *name;
    weir_answer answer;
} answer_names[] = {
    {"continue", WEIR_CONTINUE}, {"pause", WEIR_PAUSE},   {"buffer", WEIR_BUFFER},
    {"done", WEIR_DONE},         {"take", WEIR_TAKE},     {"hold", WEIR_HOLD},
    {"detach", WEIR_DETACH},     {"accept", WEIR_ACCEPT}, {"deny", WEIR_DENY},
    {"forbid", WEIR_FORBID},     {"fail", WEIR_FAIL},
};

/* --- running scripts */

static void run_statement(struct act *act, char *statement)
{
    char *rest = statement;
    const char *name = word(&rest).bytes;
    for (size_t i = 0; i < sizeof answer_names / sizeof *answer_names; i++)
        if (!strcmp(answer_names[i].name, name)) {
            act->answer = answer_names[i].answer;
            return;
        }
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (!strcmp(verbs[i].name, name)) {
            verbs[i].act(act, rest);
            return;
        }
    if (*name)
        trace(act->probe, act->state->key, "%s> unknown statement %s", act->hook, name);
}

static void run_alternative(struct act *act, const char *text, size_t length)
{
    for (const char *end = text + length; text < end && !act->stop; text++) {
        char statement[PIECE_MOST];
        text += strspn(text, " ");
        size_t size = strcspn(text, ";|");
        snprintf(statement, sizeof statement, "%.*s", (int)size, text);
        run_statement(act, statement);
        text += size;
    }
}

static void run_script(struct act *act, struct script *script)
{
    const char *text = script->text;
    for (uint32_t i = 0; i < script->calls && strchr(text, '|'); i++)
        text = strchr(text, '|') + 1;
    script->calls++;
    run_alternative(act, text, strcspn(text, "|"));
}

static void run(struct act *act)
{
    struct state *state = act->state;
    struct script *script = find_in(state->scripts, state->count, act->hook);
    const struct script *common =
        script ? NULL : find_in(act->probe->scripts, act->probe->count, act->hook);
    if (script)
        run_script(act, script);
    else if (common) /* always its first alternative: nobody counts the calls */
        run_alternative(act, common->text, strcspn(common->text, "|"));
}

static struct act act_of(weir_exchange *exchange, const char *hook)
{
    return (struct act){
        .exchange = exchange, .probe = exchange->instance, .state = exchange->state, .hook = hook};
}

/* What a hook is told beside the exchange is in `detail`. */
static weir_answer play(struct act *act, const char *detail)
{
    struct state *state = act->state;
    trace(act->probe, state->key, "%s%s%s", act->hook, *detail ? " " : "", detail);
    if (state->inside || state->closed)
        trace(act->probe, state->key, "%s> %s", act->hook,
              state->closed ? "called after close" : "called within a hook");
    state->inside = 1;
    run(act);
    state->inside = 0;
    return act->answer;
}

static weir_answer simple(weir_exchange *exchange, const char *hook, uint32_t direction)
{
    struct act act = act_of(exchange, hook);
    act.direction = direction;
    return play(&act, "");
}

static weir_answer with_data(weir_exchange *exchange, const char *hook, const weir_data *data)
{
    struct act act = act_of(exchange, hook);
    char detail[64];
    act.data = data;
    act.direction = data->direction;
    snprintf(detail, sizeof detail, "%s %llu%s%s", data->direction ? "response" : "request",
             (unsigned long long)data->bytes, data->flags & WEIR_END ? " end" : "",
             data->flags & WEIR_TRUNCATED_DATA ? " truncated" : "");
    return play(&act, detail);
}

/* --- hooks */

static weir_answer on_accept(const weir_client *client)
{
    struct state state = {.key = "accept"};
    struct act act = {.probe = client->instance, .state = &state, .hook = "accept"};
    return play(&act, "");
}

static weir_answer on_open(weir_exchange *exchange)
{
    struct act act = act_of(exchange, "open");
    if ((uintptr_t)act.state % 16 || act.state->opened)
        trace(act.probe, "-", "open> its state is not new, or not aligned");
    act.state->opened = 1;
    read_request(&act);
    return play(&act, "");
}

static weir_answer on_authenticate(weir_exchange *exchange, const weir_credentials *credentials)
{
    struct act act = act_of(exchange, "authenticate");
    char detail[100];
    snprintf(detail, sizeof detail, "%.*s %.*s", (int)credentials->scheme.length,
             credentials->scheme.bytes, (int)credentials->name.length, credentials->name.bytes);
    return play(&act, detail);
}

static weir_answer on_request(weir_exchange *exchange)
{
    return simple(exchange, "request", WEIR_REQUEST_DIRECTION);
}

static weir_answer on_route(weir_exchange *exchange)
{
    return simple(exchange, "route", WEIR_REQUEST_DIRECTION);
}

static weir_answer on_address(weir_exchange *exchange, const weir_address *address)
{
    struct act act = act_of(exchange, "address");
    char detail[100];
    snprintf(detail, sizeof detail, "%.*s", (int)address->text.length, address->text.bytes);
    return play(&act, detail);
}

static weir_answer on_upstream(weir_exchange *exchange)
{
    return simple(exchange, "upstream", WEIR_REQUEST_DIRECTION);
}

static weir_answer on_upstream_error(weir_exchange *exchange, weir_result why, uint32_t repeats)
{
    struct act act = act_of(exchange, "upstream_error");
    char detail[64];
    snprintf(detail, sizeof detail, "%d %u", why, repeats);
    return play(&act, detail);
}

static weir_answer on_interim(weir_exchange *exchange, uint32_t status)
{
    struct act act = act_of(exchange, "interim");
    char detail[64];
    act.direction = WEIR_RESPONSE_DIRECTION;
    snprintf(detail, sizeof detail, "%u", status);
    return play(&act, detail);
}

static weir_answer on_response(weir_exchange *exchange)
{
    struct act act = act_of(exchange, "response");
    char detail[64];
    weir_string by = {"", 0};
    act.direction = WEIR_RESPONSE_DIRECTION;
    api->text(exchange, WEIR_ANSWERED_BY, &by);
    snprintf(detail, sizeof detail, "%u %.*s", api->response_head(exchange)->status, (int)by.length,
             by.bytes);
    return play(&act, detail);
}

static weir_answer on_request_body(weir_exchange *exchange, const weir_data *data)
{
    return with_data(exchange, "request_body", data);
}

static weir_answer on_response_body(weir_exchange *exchange, const weir_data *data)
{
    return with_data(exchange, "response_body", data);
}

static weir_answer on_tunnel(weir_exchange *exchange, const weir_data *data)
{
    return with_data(exchange, "tunnel", data);
}

static weir_answer on_body_full(weir_exchange *exchange, const weir_data *data)
{
    return with_data(exchange, "body_full", data);
}

static weir_answer on_trailers(weir_exchange *exchange, uint32_t direction)
{
    struct act act = act_of(exchange, "trailers");
    act.direction = direction;
    return play(&act, direction ? "response" : "request");
}

static weir_answer on_event(weir_exchange *exchange, const weir_event *event)
{
    static const char *const kinds[] = {
        "event",       "event_timer",  "event_post",       "event_work",
        "event_fetch", "event_credit", "event_pause_limit"};
    struct act act = act_of(exchange, kinds[event->kind]);
    int own = event->kind == WEIR_EVENT_CREDIT || event->kind == WEIR_EVENT_PAUSE_LIMIT;
    act.direction = own ? event->direction : event->tag;
    return play(&act, act.direction ? "response" : "request");
}

static void on_log(weir_exchange *exchange)
{
    struct act act = act_of(exchange, "log");
    weir_string cause = {"", 0};
    char detail[64];
    api->text(exchange, WEIR_CAUSE, &cause);
    snprintf(detail, sizeof detail, "%.*s", (int)cause.length, cause.bytes);
    play(&act, detail);
}

static void on_close(weir_exchange *exchange)
{
    struct act act = act_of(exchange, "close");
    play(&act, "");
    act.state->closed = 1;
    free_scripts(act.state->scripts, act.state->count);
}

/* --- instances */

static weir_result make(const weir_section *with, void **instance)
{
    struct probe *probe = calloc(1, sizeof *probe);
    const weir_section *scripts = configuration->find(with, "scripts");
    snprintf(probe->name, sizeof probe->name, "%s",
             configuration->text(configuration->find(with, "name")).bytes);
    snprintf(probe->trace, sizeof probe->trace, "%s",
             configuration->text(configuration->find(with, "trace")).bytes);
    for (uint32_t i = 0; scripts && i < configuration->count(scripts); i++) {
        weir_string text = configuration->text(configuration->at(scripts, i));
        keep_script(probe->scripts, &probe->count, text.bytes, text.length);
    }
    *instance = probe;
    return WEIR_OK;
}

static void release(void *instance)
{
    struct probe *probe = instance;
    trace(probe, "", "free %u posted %u dropped", posted, dropped);
    free_scripts(probe->scripts, probe->count);
    free(probe);
}

static void worker_free(const void *instance, void *worker_state)
{
    (void)worker_state;
    trace(instance, "", "worker_free");
}

static weir_result load(const weir_host *given)
{
    static const weir_life life = {
        .size = sizeof life,
        .schema = "{\"type\": \"object\", \"required\": [\"name\", \"trace\"], \"properties\": {"
                  "\"name\": {\"type\": \"string\"}, \"trace\": {\"type\": \"string\"},"
                  "\"scripts\": {\"type\": \"array\", \"items\": {\"type\": \"string\"}}}}",
        .make = make,
        .free = release,
        .worker_free = worker_free,
    };
    static weir_filter filter = {.size = sizeof filter,
                                 .flags = WEIR_FILTER_EDITS_REQUEST | WEIR_FILTER_EDITS_RESPONSE,
                                 .name = "probe",
                                 .life = &life,
                                 .state_size = sizeof(struct state),
                                 .accept = on_accept,
                                 .open = on_open,
                                 .authenticate = on_authenticate,
                                 .request = on_request,
                                 .route = on_route,
                                 .address = on_address,
                                 .upstream = on_upstream,
                                 .upstream_error = on_upstream_error,
                                 .interim = on_interim,
                                 .response = on_response,
                                 .request_body = on_request_body,
                                 .response_body = on_response_body,
                                 .tunnel = on_tunnel,
                                 .body_full = on_body_full,
                                 .trailers = on_trailers,
                                 .event = on_event,
                                 .log = on_log,
                                 .close = on_close};
    static weir_filter same_length;
    host = given;
    api = host->query(host, "weir.filter/0");
    asynchronous = host->query(host, "weir.asynchronous/0");
    configuration = host->query(host, "weir.configuration/0");
    same_length = filter; /* it does not say that it changes how long bodies are */
    same_length.name = "probe_same_length";
    same_length.flags = 0;
    host->register_filter(host, &same_length);
    return host->register_filter(host, &filter);
}

WEIR_PLUGIN(0, 0, 1, "test.probe", "1", "MIT",
            "weir.filter/0,weir.asynchronous/0,weir.configuration/0", load, 0);
