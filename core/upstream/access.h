/* core/upstream/access.h - may this address be dialled for a client? */
#ifndef CORE_UPSTREAM_ACCESS_H
#define CORE_UPSTREAM_ACCESS_H

#include "core/base/snapshot.h"
#include "core/io/address.h"

/* Asked for every exchange about every *resolved* address, also that of a connection that is taken
 * again, so a name that resolves differently the second time gains nothing. `reached` is where the
 * client reached weir. WEIR_OK, WEIR_ADDRESS_PROHIBITED (also for the admin's own address), or
 * WEIR_LOOP: weir itself listens there. */
weir_result access_judge(const struct snapshot *snapshot, const struct address *reached,
                         const struct address *address);

/* The same of an address that was judged when it was dialled: only what may have changed since. */
weir_result access_judge_again(const struct snapshot *snapshot, const struct address *address);

#endif
