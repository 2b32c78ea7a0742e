/* core/io/loop.h - one worker's event loop: clock, turn, wheel, and calls from other threads
 *
 * The simulator (tests/sim) has its own loop.c, tcp.c, listen.c, dns.c and work.c behind these
 * headers. */
#ifndef CORE_IO_LOOP_H
#define CORE_IO_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "core/io/turn.h"
#include "core/io/wheel.h"

struct loop;

struct loop *loop_new(void);       /* [any] used by one thread afterwards */
void loop_run(struct loop *loop);  /* returns after loop_stop(), once all handles are closed */
void loop_stop(struct loop *loop); /* from the loop's own thread */
void loop_free(struct loop *loop); /* after loop_run() returned */
struct turn *loop_turn(struct loop *loop);
struct wheel *loop_wheel(struct loop *loop);
uint64_t loop_now_ms(struct loop *loop);  /* monotonic, as of the start of this turn */
uint64_t loop_now_us(struct loop *loop);  /* monotonic, read now: for timings */
uint64_t loop_wall_us(struct loop *loop); /* since 1970 in UTC, read now: for what people read */

/* [any] Runs call(user) on the loop's thread, soon. Must not be used after loop_run() returned. */
void loop_post(struct loop *loop, void (*call)(void *user), void *user);

/* Calls call(user, signal) on the loop's thread for each delivery; until the loop ends. */
void loop_on_signal(struct loop *loop, int signal, void (*call)(void *user, int signal),
                    void *user);

#endif
