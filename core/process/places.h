/* core/process/places.h - where the process listens: opened, handed to workers, kept by reloads
 *
 * A configuration is opened in two steps: places_prepare() opens what is not open yet, all or
 * nothing, and leaves what is in force alone; then either places_hand_over() to each worker and
 * places_settle(), or places_give_up(). All on the main thread. */
#ifndef CORE_PROCESS_PLACES_H
#define CORE_PROCESS_PLACES_H

#include <stdbool.h>
#include <sys/types.h>

#include "core/edge/listener.h"
#include "core/io/listen.h"
#include "core/process/generation.h"
#include "core/process/values.h"

enum { PLACES_MOST = LISTENERS_MOST + 1, PLACES_MISTAKE_BYTES = 256 };

struct place;

struct places {
    uint32_t workers; /* that accept clients; the next one is the main thread's */
    bool open;        /* sockets that are passed, and not configured, may be for anybody */
    const struct filter_chain *admin_chain;
    struct place *all;
    uint32_t ids; /* given so far */
    struct generation *prepared;
    struct place *listed[PLACES_MOST]; /* of `prepared`: its listeners', then the admin's */
    uint32_t listed_count;
};

/* Takes the sockets that a service manager passes (LISTEN_FDS). They are used for the places they
 * are at; or, when the configuration says nothing about listeners, as all that there are. */
void places_inherit(struct places *places);
/* Opens what is new in it and fills in its addresses. False: nothing has changed and `mistake` says
 * why. */
bool places_prepare(struct places *places, struct generation *generation,
                    char mistake[PLACES_MISTAKE_BYTES]);
void places_give_up(struct places *places);
/* What worker number `worker` is to have; sockets that are new are its own from now on. */
uint32_t places_hand_over(struct places *places, uint32_t worker,
                          struct edge_place list[PLACES_MOST]);
/* What is not listed any more is gone; the log is told of all that changed. */
void places_settle(struct places *places);
/* The socket files that there are become that user's and group's. */
bool places_give(const struct places *places, uid_t user, gid_t group);
/* The end: removes the sockets' files. The sockets are the workers'. */
void places_close(struct places *places);

#endif
