/* plugins/auth-basic/auth_basic.c - lets in who has a name and password: START HERE
 *
 * docs/plugins/auth-basic.md says what may be written. authenticate() finds out who the client is,
 * from what the cache remembers or by a check on another thread while the exchange is paused;
 * request() asks for credentials when nobody, neither this filter nor another, knows who it is. */
#include <stdarg.h>
#include <stdio.h>

#include "abi/filter.h"
#include "plugins/auth-basic/allocate.h"
#include "plugins/auth-basic/cache.h"
#include "plugins/auth-basic/checks.h"
#include "plugins/auth-basic/users.h"

enum {
    FILE_BYTES_MOST = 16 << 20,
    MISTAKES_MOST = 20,
    BAD_MOST = 1024 /* wrong credentials that are remembered */
};

static const weir_filter_host *exchanges;
static const weir_configuration_host *configuration;
static const weir_asynchronous_host *asynchronous;
static const weir_metrics_host *metrics; /* NULL: nothing is counted */
static uint32_t requests_metric, checks_metric;

struct instance {
    struct users *users;
    char *challenge;
    uint32_t cache_ms;
    bool server; /* stands for a server: 401 and Authorization */
    bool hide;   /* Authorization goes no further */
};

struct presence {
    struct cache *good, *bad;
    struct checks checks;
};

/* Of an exchange. */
struct state {
    struct waiter waiter;
    char *name; /* who it says it is, while that is checked; owned */
    bool busy;  /* too much was under way to check it */
};

/* --- configuration */

static const char schema[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"file\":{\"type\":\"string\",\"format\":\"path\","
    "\"description\":\"Names and hashes of passwords, as htpasswd -B writes them.\"},"
    "\"users\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"},"
    "\"description\":\"More of them: names, and the hash of each.\"},"
    "\"realm\":{\"type\":\"string\",\"default\":\"weir\","
    "\"description\":\"What clients are told that the password is for.\"},"
    "\"as\":{\"type\":\"string\",\"enum\":[\"proxy\",\"server\"],\"default\":\"proxy\","
    "\"description\":\"proxy: 407 and Proxy-Authorization; server: 401 and Authorization.\"},"
    "\"hide\":{\"type\":\"boolean\",\"default\":false,"
    "\"description\":\"Whether servers do not see Authorization; only with as: server.\"},"
    "\"cache\":{\"type\":\"string\",\"format\":\"duration\",\"default\":\"60s\",\"maximum\":\"1h\","
    "\"description\":\"How long it is remembered whether a password was right.\"}}}";

__attribute__((format(printf, 2, 3))) static void mistake(const weir_section *section,
                                                          const char *format, ...)
{
    char why[1024];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    size_t shown = (size_t)length < sizeof why ? (size_t)length : sizeof why - 1;
    configuration->mistake(section, (weir_string){why, shown});
}

static bool read_file(struct users *users, const weir_section *section)
{
    uint32_t line = 0, mistakes = 0;
    const char *wrong, *path = configuration->text(section).bytes;
    weir_string rest;
    if (!section)
        return true;
    if (!configuration->file(section, FILE_BYTES_MOST, &rest))
        return false;
    while (mistakes < MISTAKES_MOST && (wrong = users_parse(users, &rest, &line))) {
        mistake(section, "%s:%u: this line %s", path, line, wrong);
        mistakes++;
    }
    return !mistakes;
}

static bool read_users(struct users *users, const weir_section *section)
{
    bool good = true;
    for (uint32_t i = 0; i < configuration->count(section); i++) {
        const weir_section *user = configuration->at(section, i);
        const char *wrong = users_add(users, configuration->key(user), configuration->text(user));
        if (wrong)
            mistake(user, "this user %s", wrong);
        good &= !wrong;
    }
    return good;
}

static struct users *make_users(const weir_section *with)
{
    const weir_section *file = configuration->find(with, "file"),
                       *list = configuration->find(with, "users");
    struct users *users = users_new();
    bool file_good = read_file(users, file), list_good = read_users(users, list); /* says all */
    bool good = (file || list) && file_good && list_good;
    if (!file && !list)
        mistake(with, "nobody could come in: file or users must say who may");
    const char *twice = users_finish(users);
    if (good && twice)
        mistake(file ? file : list, "the user \"%s\" is there twice", twice);
    if (good && !twice)
        return users;
    users_free(users);
    return NULL;
}

/* RFC 7617 2 and 2.1. NULL: no field may hold that; reported. */
static char *make_challenge(const weir_section *section)
{
    static const char before[] = "Basic realm=\"", behind[] = "\", charset=\"UTF-8\"";
    weir_string realm = configuration->text(section);
    char *challenge = allocate(sizeof before + 2 * realm.length + sizeof behind, 1);
    char *at = challenge + sizeof before - 1;
    memcpy(challenge, before, sizeof before - 1);
    for (size_t i = 0; i < realm.length; i++) {
        char character = realm.bytes[i];
        if ((uint8_t)character < ' ' || character == 0x7f) {
            mistake(section, "has a control character");
            free(challenge);
            return NULL;
        }
        if (character == '"' || character == '\\')
            *at++ = '\\';
        *at++ = character;
    }
    memcpy(at, behind, sizeof behind);
    return challenge;
}

static void free_instance(void *made)
{
    struct instance *instance = made;
    users_free(instance->users);
    free(instance->challenge);
    free(instance);
}

static weir_result make(const weir_section *with, void **made)
{
    struct instance *instance = allocate(1, sizeof *instance);
    const weir_section *hide = configuration->find(with, "hide");
    instance->server = configuration->text(configuration->find(with, "as")).bytes[0] == 's';
    instance->hide = configuration->flag(hide);
    instance->cache_ms = (uint32_t)configuration->number(configuration->find(with, "cache"));
    instance->users = make_users(with);
    instance->challenge = make_challenge(configuration->find(with, "realm"));
    bool sensible = instance->server || !instance->hide;
    if (!sensible)
        mistake(hide, "is only with as: server; Proxy-Authorization goes no further in any case");
    if (instance->users && instance->challenge && sensible) {
        *made = instance;
        return WEIR_OK;
    }
    free_instance(instance);
    return WEIR_INVALID;
}

/* Each user has one right password, so that their cache needs no more entries than there are
 * users; twice as many, since they do not fall evenly. */
static weir_result make_presence(const void *made, weir_worker *worker, void **state)
{
    const struct instance *instance = made;
    struct presence *presence = allocate(1, sizeof *presence);
    presence->good = cache_new(2 * users_count(instance->users));
    presence->bad = cache_new(BAD_MOST);
    presence->checks.host = asynchronous;
    presence->checks.owner = asynchronous->worker_reference(worker);
    *state = presence;
    return WEIR_OK;
}

static void free_presence(const void *instance, void *state)
{
    struct presence *presence = state;
    (void)instance;
    checks_end(&presence->checks);
    cache_free(presence->good);
    cache_free(presence->bad);
    free(presence);
}

/* --- who it is */

static void count(const char *result)
{
    if (metrics)
        metrics->add(requests_metric, 1, &(weir_string){result, strlen(result)});
}

static weir_string string_of(const char *text)
{
    return (weir_string){text, strlen(text)};
}

/* Those that are this filter's business; NULL: there are none. A protocol's own for passwords are
 * meant for whoever guards the listener, whatever that stands for. */
static const weir_credentials *
find_credentials(weir_exchange *exchange, const weir_credentials *given, weir_credentials *read)
{
    const struct instance *instance = exchange->instance;
    *read = (weir_credentials){.size = sizeof *read};
    if (given->scheme.length == 8 && !memcmp(given->scheme.bytes, "password", 8))
        return given;
    if (instance->server) {
        exchanges->credentials(exchange, WEIR_STRING("authorization"), read);
        given = read;
    }
    bool basic = given->scheme.length == 5 && !memcmp(given->scheme.bytes, "basic", 5);
    return basic && given->name.length ? given : NULL;
}

static weir_answer accept_user(weir_exchange *exchange, weir_string name)
{
    count("accepted");
    return exchanges->set_user(exchange, name) < 0 ? WEIR_FAIL : WEIR_ACCEPT;
}

/* Somebody else may know such credentials: request() has the last word. */
static weir_answer refuse_user(void)
{
    count("refused");
    return WEIR_CONTINUE;
}

static weir_answer begin_check(weir_exchange *exchange, const weir_credentials *credentials,
                               struct digest digest)
{
    const struct instance *instance = exchange->instance;
    struct presence *presence = exchange->worker_state;
    struct state *state = exchange->state;
    struct question question = {.digest = digest, .secret = credentials->secret};
    question.hash = users_find(instance->users, credentials->name);
    question.decoy = !question.hash;
    if (question.decoy)
        question.hash = users_decoy(instance->users,
                                    digest_of(credentials->name, (weir_string){"", 0}).words[0]);
    if (!question.hash)
        return refuse_user();
    state->waiter.exchange = exchanges->reference(exchange);
    state->busy = checks_wait(&presence->checks, &question, &state->waiter) < 0;
    if (state->busy)
        return WEIR_CONTINUE;
    state->name = allocate_copy(credentials->name);
    return WEIR_PAUSE;
}

static weir_answer on_authenticate(weir_exchange *exchange, const weir_credentials *given)
{
    const struct presence *presence = exchange->worker_state;
    weir_credentials read;
    const weir_credentials *credentials = find_credentials(exchange, given, &read);
    if (!credentials)
        return WEIR_CONTINUE;
    struct digest digest = digest_of(credentials->name, credentials->secret);
    uint64_t now_ms = asynchronous->now_ms();
    if (cache_has(presence->good, digest, now_ms))
        return accept_user(exchange, credentials->name);
    if (cache_has(presence->bad, digest, now_ms))
        return refuse_user();
    return begin_check(exchange, credentials, digest);
}

/* A check is over: first on the worker, then for each exchange that waited for it. */
static void on_worker_event(const void *made, void *worker_state, const weir_event *event)
{
    const struct instance *instance = made;
    struct presence *presence = worker_state;
    struct digest digest;
    bool good;
    if (event->kind != WEIR_EVENT_WORK)
        return;
    if (metrics)
        metrics->add(checks_metric, 1, NULL);
    if (!checks_done(&presence->checks, event, &digest, &good))
        return;
    uint64_t now_ms = asynchronous->now_ms();
    cache_put(good ? presence->good : presence->bad, digest, now_ms + instance->cache_ms, now_ms);
}

static weir_answer on_event(weir_exchange *exchange, const weir_event *event)
{
    struct presence *presence = exchange->worker_state;
    struct state *state = exchange->state;
    weir_answer answer = WEIR_CONTINUE;
    if (event->kind == WEIR_EVENT_PAUSE_LIMIT) {
        checks_leave(&presence->checks, &state->waiter);
        state->busy = true;
    } else if (event->kind == WEIR_EVENT_POST && event->tag) {
        answer = accept_user(exchange, string_of(state->name));
    } else if (event->kind == WEIR_EVENT_POST) {
        refuse_user();
    }
    exchanges->resume(exchange, WEIR_REQUEST_DIRECTION);
    return answer == WEIR_FAIL ? WEIR_FAIL : WEIR_CONTINUE;
}

/* --- what becomes of the request */

static weir_answer respond(weir_exchange *exchange, uint32_t status, weir_field field,
                           const char *text)
{
    weir_field fields[] = {field, {WEIR_STRING("Content-Type"), WEIR_STRING("text/plain")}};
    weir_reply reply = {.size = sizeof reply,
                        .status = status,
                        .fields = fields,
                        .count = 2,
                        .body = {.bytes = (const uint8_t *)text, .length = strlen(text)}};
    return exchanges->respond(exchange, &reply) < 0 ? WEIR_FAIL : WEIR_DONE;
}

static weir_answer challenge(weir_exchange *exchange)
{
    const struct instance *instance = exchange->instance;
    weir_string value = string_of(instance->challenge);
    if (instance->server)
        return respond(exchange, 401, (weir_field){WEIR_STRING("WWW-Authenticate"), value},
                       "Credentials are required.\n");
    return respond(exchange, 407, (weir_field){WEIR_STRING("Proxy-Authenticate"), value},
                   "Proxy credentials are required.\n");
}

static weir_answer on_request(weir_exchange *exchange)
{
    const struct instance *instance = exchange->instance;
    const struct state *state = exchange->state;
    weir_string user = {"", 0};
    exchanges->text(exchange, WEIR_USER, &user);
    if (!user.length && state->busy) {
        count("busy");
        return respond(exchange, 503, (weir_field){WEIR_STRING("Retry-After"), WEIR_STRING("1")},
                       "Too many passwords are being checked.\n");
    }
    if (!user.length)
        return challenge(exchange);
    if (instance->hide)
        exchanges->remove_field(exchange, WEIR_REQUEST_HEAD, WEIR_STRING("Authorization"));
    return WEIR_CONTINUE;
}

static void on_close(weir_exchange *exchange)
{
    struct presence *presence = exchange->worker_state;
    struct state *state = exchange->state;
    checks_leave(&presence->checks, &state->waiter);
    free(state->name);
}

/* --- the plugin */

static const weir_life life = {.size = sizeof life,
                               .schema = schema,
                               .make = make,
                               .free = free_instance,
                               .worker_make = make_presence,
                               .worker_free = free_presence};

static const weir_filter filter = {.size = sizeof filter,
                                   .flags = WEIR_FILTER_GUARDS,
                                   .name = "auth-basic",
                                   .life = &life,
                                   .state_size = sizeof(struct state),
                                   .authenticate = on_authenticate,
                                   .request = on_request,
                                   .event = on_event,
                                   .close = on_close,
                                   .worker_event = on_worker_event};

static bool define_metrics(const weir_host *host)
{
    static const char *const result[] = {"result"};
    const weir_metric requests = {.size = sizeof requests,
                                  .kind = WEIR_COUNTER,
                                  .name = "auth_basic_requests_total",
                                  .help = "Requests with a name and password, by what came of it.",
                                  .labels = result,
                                  .label_count = 1};
    const weir_metric checks = {.size = sizeof checks,
                                .kind = WEIR_COUNTER,
                                .name = "auth_basic_checks_total",
                                .help =
                                    "Passwords that were hashed, because they were not cached."};
    return metrics->define(host, &requests, &requests_metric) >= 0 &&
           metrics->define(host, &checks, &checks_metric) >= 0;
}

static weir_result load(const weir_host *host)
{
    exchanges = host->query(host, "weir.filter/0");
    configuration = host->query(host, "weir.configuration/0");
    asynchronous = host->query(host, "weir.asynchronous/0");
    metrics = host->query(host, "weir.metrics/0");
    if (!WEIR_HAS(weir_filter_host, exchanges, credentials) || !configuration || !asynchronous)
        return WEIR_UNSUPPORTED;
    if (metrics && !define_metrics(host))
        metrics = NULL;
    return host->register_filter(host, &filter);
}

WEIR_PLUGIN(2, WEIR_PLUGIN_UNLOADABLE, 0, "auth-basic", "0.1.0", "MIT",
            "weir.filter/0,weir.configuration/0,weir.asynchronous/0", load, NULL);
