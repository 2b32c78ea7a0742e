/* core/base/block.h - blocks of one size, for what lives as long as one exchange
 *
 * They are cut from slabs of their own, away from what lives as long as a connection: when many
 * exchanges are over their memory can go although their connections stay. Each thread has its own
 * and keeps a few slabs that are not used. */
#ifndef CORE_BASE_BLOCK_H
#define CORE_BASE_BLOCK_H

enum { BLOCK_BYTES = 2136 }; /* an exchange with heads of usual size */

/* 8-aligned, not zeroed. */
void *block_new(void);
void block_free(void *block);    /* on the thread that it is from */
void block_pool_deinit(void);    /* frees this thread's slabs that have no block in use */

#endif
