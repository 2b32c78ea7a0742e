/* core/io/listen.h - listening sockets, and accepting from them
 *
 * The main thread makes the sockets, one for each worker that is to accept at a place, so that all
 * the places of a configuration are open or none; each worker then accepts from its own. */
#ifndef CORE_IO_LISTEN_H
#define CORE_IO_LISTEN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "core/io/address.h"
#include "core/io/carrier.h"
#include "core/io/loop.h"

enum { LISTEN_PATH_BYTES = 108, LISTEN_TEXT_BYTES = LISTEN_PATH_BYTES + 8 };

/* Where: an IP address and port, or the path of a socket's file. */
struct listen_place {
    struct address address; /* family AF_UNIX: `path` says where */
    bool v6_only;           /* [::] alone; otherwise it takes IPv4 too */
    char path[LISTEN_PATH_BYTES];
    mode_t mode;  /* of the file */
    dev_t device; /* which file it is, once it was made */
    ino_t inode;
    struct timespec made; /* inodes are used again */
};

/* "127.0.0.1:3128", "[::1]:3128" or "unix:PATH". False when it is none of them. */
bool listen_place_parse(weir_string text, struct listen_place *place);
/* The reverse; returns `text`. */
char *listen_place_format(const struct listen_place *place, char text[LISTEN_TEXT_BYTES]);
/* Whether a socket at the one is a socket at the other. */
bool listen_place_equal(const struct listen_place *a, const struct listen_place *b);

/* [main] Makes `count` sockets that listen there and share what comes, and fills in the port when
 * it is 0. All or none: 0, or a negative errno. A port that another process listens on is taken
 * although it would share it. A socket's file that nobody listens on any more is replaced. */
int listen_open(struct listen_place *place, int *sockets, uint32_t count);
/* [main] Where a socket listens that somebody else made; a negative errno when it does not. */
int listen_adopt(int socket, struct listen_place *place);
/* [main] Removes the socket's file, if it is still the one that was made. 0, or a negative errno.
 */
int listen_unlink(const struct listen_place *place);

/* [main] Gives the socket's file, if it has one, to that user and group; or another mode. 0, or a
 * negative errno. */
int listen_give(const struct listen_place *place, uid_t user, gid_t group);
int listen_permit(const struct listen_place *place, mode_t mode);

struct listener;

struct listener_events {
    /* Asked before each one. False: who comes waits in the kernel's queue, and it is asked again a
     * little later. */
    bool (*may_accept)(void *user);
    void (*accepted)(void *user, struct carrier *carrier); /* not open yet, the callee's */
};

/* [worker] Accepts from the socket, which becomes the listener's. Out of descriptors it pauses.
 * NULL when the system does not let it wait for this socket. */
struct listener *listener_open(struct loop *loop, int socket, const struct listener_events *events,
                               void *user);
/* [worker] Closes the socket, after accepting who is in its queue already: they would be reset. Not
 * from inside its events. */
void listener_close(struct listener *listener);

#endif
