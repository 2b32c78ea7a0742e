/* core/process/places.c - where the process listens: opened, handed to workers, kept by reloads */
#include "core/process/places.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/string.h"

enum { PASSED_FIRST = 3, ADMIN_MODE = 0600 };

enum state {
    CLOSED, /* the service manager may have passed a socket for it */
    FRESH,  /* prepared, not in force yet */
    OPEN
};

struct place {
    struct place *next;
    uint32_t id;
    enum state state;
    struct listen_place wanted; /* as configured: the port may be 0 */
    struct listen_place at;
    bool admin;    /* the main thread's alone */
    bool listed;   /* in what is prepared */
    int passed;    /* the service manager's socket, which we keep; -1: none */
    int sockets[]; /* of a fresh one, by worker */
};

/* --- one place */

static struct place *place_new(struct places *places, const struct listen_place *wanted)
{
    struct place *place =
        memory_zeroed(sizeof *place + (places->workers + 1) * sizeof *place->sockets);
    struct place **last = &places->all;
    place->wanted = place->at = *wanted;
    place->passed = -1;
    while (*last)
        last = &(*last)->next;
    return *last = place;
}

static void place_free(struct places *places, struct place *place)
{
    struct place **at = &places->all;
    while (*at != place)
        at = &(*at)->next;
    *at = place->next;
    memory_free(place);
}

/* It is of no use any more; the service manager's socket waits for when it is again. */
static void retire(struct places *places, struct place *place)
{
    place->state = CLOSED;
    if (place->passed < 0)
        place_free(places, place);
}

static uint32_t first_worker(const struct places *places, const struct place *place)
{
    return place->admin ? places->workers : 0;
}

static uint32_t count_workers(const struct places *places, const struct place *place)
{
    return place->admin ? 1 : places->workers;
}

/* Each worker gets a descriptor of its own for the service manager's socket. */
static int copy_passed(int passed, int *sockets, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        sockets[i] = fcntl(passed, F_DUPFD_CLOEXEC, 0);
        if (sockets[i] >= 0)
            continue;
        int error = errno;
        while (i)
            close(sockets[--i]);
        return -error;
    }
    return 0;
}

static int place_open(struct places *places, struct place *place, bool admin)
{
    place->admin = admin;
    int *sockets = place->sockets + first_worker(places, place), rc;
    uint32_t count = count_workers(places, place);
    if (place->passed >= 0)
        rc = copy_passed(place->passed, sockets, count);
    else
        rc = listen_open(&place->at, sockets, count);
    if (rc)
        return rc;
    place->state = FRESH;
    place->id = ++places->ids;
    return 0;
}

/* --- sockets from the service manager */

/* How many sockets are passed to this very process. */
static int count_passed(void)
{
    const char *process = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
    uint64_t id, number;
    if (!process || !count || !string_to_number(string_of(process), INT32_MAX, &id) ||
        (pid_t)id != getpid() || !string_to_number(string_of(count), INT32_MAX, &number))
        return 0;
    if (number > LISTENERS_MOST)
        log_write(LOG_WARNING, "of the sockets that are passed only the first %d are used",
                  LISTENERS_MOST);
    return number > LISTENERS_MOST ? LISTENERS_MOST : (int)number;
}

/* The next of "one:two:three"; "?" when there is none. */
static weir_string next_name(const char **names)
{
    weir_string name = WEIR_STRING("?");
    if (!*names || !**names)
        return name;
    name = (weir_string){*names, strcspn(*names, ":")};
    *names += name.length + ((*names)[name.length] == ':');
    return name;
}

static void take_passed(struct places *places, int socket, weir_string name)
{
    struct listen_place at;
    char text[LISTEN_TEXT_BYTES];
    int rc = listen_adopt(socket, &at);
    if (rc == 0 && at.address.any.sa_family == AF_UNIX && !at.path[0])
        rc = -EAFNOSUPPORT; /* it has no path */
    if (rc) {
        log_write(LOG_WARNING, "descriptor %d (%.*s) is no socket that listens for streams: %s",
                  socket, (int)name.length, name.bytes, strerror(-rc));
        close(socket);
        return;
    }
    place_new(places, &at)->passed = socket;
    log_write(LOG_DEBUG, "descriptor %d (%.*s) listens on %s", socket, (int)name.length, name.bytes,
              listen_place_format(&at, text));
}

void places_inherit(struct places *places)
{
    const char *names = getenv("LISTEN_FDNAMES");
    int count = count_passed();
    for (int i = 0; i < count; i++)
        take_passed(places, PASSED_FIRST + i, next_name(&names));
}

static struct listen_place parse(const char *text)
{
    struct listen_place place;
    bool valid = listen_place_parse(string_of(text), &place);
    assert(valid); /* the configuration was checked */
    (void)valid;
    return place;
}

static bool is_admin(const struct snapshot *snapshot, const struct listen_place *at)
{
    if (!snapshot->admin)
        return false;
    struct listen_place admin = parse(snapshot->admin);
    return listen_place_equal(&admin, at);
}

/* The configuration says nothing about listeners: the sockets that were passed are all of them. But
 * weir is no open proxy by accident. */
static bool list_passed(struct places *places, struct generation *generation, char *mistake)
{
    struct snapshot *snapshot = generation->snapshot;
    uint32_t count = 0;
    for (struct place *place = places->all; place; place = place->next) {
        if (place->passed < 0 || is_admin(snapshot, &place->at))
            continue;
        struct listener_config *config = &generation->passed[count];
        *config = snapshot->listeners[0];
        config->v6only = place->at.v6_only;
        config->address = listen_place_format(&place->at, generation->addresses[count++]);
        if (!places->open && !config->guarded && !value_is_local(string_of(config->address))) {
            snprintf(mistake, PLACES_MISTAKE_BYTES,
                     "the passed socket at %s would let anybody use this proxy: configure a "
                     "listener at this address with its allow_clients, or add --open",
                     config->address);
            return false;
        }
    }
    if (count) {
        snapshot->listeners = generation->passed;
        snapshot->listener_count = count;
    }
    return true;
}

/* --- preparing */

static struct place *find(struct places *places, const struct listen_place *wanted, bool admin)
{
    for (struct place *place = places->all; place; place = place->next)
        if (!place->listed && (place->state == CLOSED || place->admin == admin) &&
            (listen_place_equal(&place->wanted, wanted) || listen_place_equal(&place->at, wanted)))
            return place;
    return NULL;
}

/* NULL: `mistake` says why. */
static struct place *list_place(struct places *places, const struct listen_place *wanted,
                                bool admin, char mistake[PLACES_MISTAKE_BYTES])
{
    char text[LISTEN_TEXT_BYTES];
    struct place *place = find(places, wanted, admin);
    if (!place)
        place = place_new(places, wanted);
    if (place->state == CLOSED) {
        int rc = place_open(places, place, admin);
        if (rc) {
            snprintf(mistake, PLACES_MISTAKE_BYTES, "cannot listen on %s: %s",
                     listen_place_format(wanted, text), strerror(-rc));
            retire(places, place);
            return NULL;
        }
    }
    place->wanted.mode = wanted->mode;
    place->listed = true;
    places->listed[places->listed_count++] = place;
    return place;
}

static bool list_admin(struct places *places, struct generation *generation, char *mistake)
{
    struct snapshot *snapshot = generation->snapshot;
    if (!snapshot->admin)
        return true;
    struct listen_place wanted = parse(snapshot->admin);
    wanted.mode = ADMIN_MODE;
    struct place *place = list_place(places, &wanted, true, mistake);
    if (place)
        snapshot->admin = listen_place_format(&place->at, generation->admin);
    return place != NULL;
}

static bool list_listener(struct places *places, struct generation *generation, uint32_t index,
                          char *mistake)
{
    struct listener_config *config = &generation->snapshot->listeners[index];
    struct listen_place wanted = parse(config->address);
    wanted.v6_only = config->v6only;
    wanted.mode = config->mode;
    struct place *place = list_place(places, &wanted, false, mistake);
    if (!place)
        return false;
    config->address = generation->addresses[index];
    listen_place_format(&place->at, config->address);
    return true;
}

bool places_prepare(struct places *places, struct generation *generation,
                    char mistake[PLACES_MISTAKE_BYTES])
{
    const struct snapshot *snapshot = generation->snapshot;
    places->prepared = generation;
    places->listed_count = 0;
    bool good = !snapshot->listeners_standard || list_passed(places, generation, mistake);
    for (uint32_t i = 0; good && i < snapshot->listener_count; i++)
        good = list_listener(places, generation, i, mistake);
    if (!good || !list_admin(places, generation, mistake)) {
        places_give_up(places);
        return false;
    }
    return true;
}

void places_give_up(struct places *places)
{
    for (struct place *place = places->all, *next; place; place = next) {
        next = place->next;
        place->listed = false;
        if (place->state != FRESH)
            continue;
        uint32_t first = first_worker(places, place);
        for (uint32_t i = first; i < first + count_workers(places, place); i++)
            close(place->sockets[i]);
        listen_unlink(&place->at);
        retire(places, place);
    }
}

/* --- putting in force */

uint32_t places_hand_over(struct places *places, uint32_t worker,
                          struct edge_place list[PLACES_MOST])
{
    uint32_t count = 0, listener = 0;
    for (uint32_t i = 0; i < places->listed_count; i++) {
        struct place *place = places->listed[i];
        const struct listener_config *config =
            place->admin ? NULL : &places->prepared->snapshot->listeners[listener++];
        if (place->admin != (worker == places->workers))
            continue;
        list[count++] = (struct edge_place){
            .id = place->id,
            .socket = place->state == FRESH ? place->sockets[worker] : -1,
            .config = config,
            .chain = place->admin ? places->admin_chain : config->chain,
        };
    }
    return count;
}

static void announce(const struct place *place)
{
    char text[LISTEN_TEXT_BYTES];
    log_write(LOG_ALWAYS, "%s %s", place->admin ? "admin is at" : "listening on",
              listen_place_format(&place->at, text));
}

static void announce_end(const struct place *place)
{
    char text[LISTEN_TEXT_BYTES];
    log_write(LOG_INFO, "%s %s", place->admin ? "admin is no longer at" : "no longer listening on",
              listen_place_format(&place->at, text));
}

static void settle_mode(struct place *place)
{
    if (place->at.mode != place->wanted.mode && place->passed < 0)
        listen_permit(&place->at, place->wanted.mode);
    place->at.mode = place->wanted.mode;
}

void places_settle(struct places *places)
{
    for (uint32_t i = 0; i < places->listed_count; i++)
        if (places->listed[i]->state == FRESH) {
            places->listed[i]->state = OPEN;
            announce(places->listed[i]);
        }
    for (struct place *place = places->all, *next; place; place = next) {
        next = place->next;
        if (place->listed) {
            settle_mode(place);
        } else if (place->state == OPEN) {
            announce_end(place);
            listen_unlink(&place->at);
            retire(places, place);
            continue;
        }
        place->listed = false;
    }
}

bool places_give(const struct places *places, uid_t user, gid_t group)
{
    for (const struct place *place = places->all; place; place = place->next) {
        int rc = place->passed < 0 ? listen_give(&place->at, user, group) : 0;
        if (rc) {
            log_write(LOG_ERROR, "cannot give %s to its user: %s", place->at.path, strerror(-rc));
            return false;
        }
    }
    return true;
}

void places_close(struct places *places)
{
    while (places->all) {
        struct place *place = places->all;
        if (place->passed >= 0)
            close(place->passed);
        else
            listen_unlink(&place->at);
        place_free(places, place);
    }
}
