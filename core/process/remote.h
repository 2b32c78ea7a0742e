/* core/process/remote.h - `weir reload` and `weir status`: asks a running weir by its admin
 * listener
 */
#ifndef CORE_PROCESS_REMOTE_H
#define CORE_PROCESS_REMOTE_H

/* [main] `admin` is where it listens: "unix:PATH", or an address with its port. Prints the answer.
 * Returns how the program is to end: 0, 1 when it cannot be reached or does not do it, 78 when it
 * finds its configuration wrong. */
int remote_reload(const char *admin);
int remote_status(const char *admin);

#endif
