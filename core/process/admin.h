/* core/process/admin.h - the admin listener: what its clients may ask, and the answers
 *
 * It speaks the same protocol through the same exchange as any other listener. What differs is its
 * chain: one filter, which answers every request itself. */
#ifndef CORE_PROCESS_ADMIN_H
#define CORE_PROCESS_ADMIN_H

#include "core/process/process.h"

/* [main] The chain of that process; there is one. */
const struct filter_chain *admin_chain(struct process *process);

#endif
