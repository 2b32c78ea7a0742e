/* plugins/auth-basic/users.h - who may come in: names with the hashes of their passwords
 *
 *     users_new; users_add, users_parse ...; users_finish; then users_find by any thread
 */
#ifndef PLUGINS_AUTH_BASIC_USERS_H
#define PLUGINS_AUTH_BASIC_USERS_H

#include <stdint.h>

#include "abi/weir.h"

struct users;

struct users *users_new(void);
void users_free(struct users *users); /* NULL is ignored */

/* Copies. NULL, or what is wrong with it, without the hash: then it was not added. */
const char *users_add(struct users *users, weir_string name, weir_string hash);

/* Adds what the lines of an htpasswd file say, "NAME:HASH", but empty ones and those that begin
 * with #. Returns what is wrong with the next line that is, and *line; call it again to go on, with
 * the same arguments. NULL: that was all. *line is 0 at first. */
const char *users_parse(struct users *users, weir_string *rest, uint32_t *line);

/* Before the first users_find(). Returns a name that is there twice; NULL: none is. */
const char *users_finish(struct users *users);
size_t users_count(const struct users *users);

/* NULL: there is nobody of that name. */
const char *users_find(const struct users *users, weir_string name);
/* The hash of somebody, the same for the same number, so that looking for nobody costs what looking
 * for somebody does. NULL: there is nobody at all. */
const char *users_decoy(const struct users *users, uint64_t number);

#endif
