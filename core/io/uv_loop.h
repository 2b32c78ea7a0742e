/* core/io/uv_loop.h - libuv's loop behind a struct loop: for the other files of core/io only */
#ifndef CORE_IO_UV_LOOP_H
#define CORE_IO_UV_LOOP_H

#include <uv.h>

#include "core/io/loop.h"

uv_loop_t *loop_uv(struct loop *loop);

#endif
