/* core/host/checked_hooks.h - the hooks of filters under --check-plugins: each is lent copies */
#ifndef CORE_HOST_CHECKED_HOOKS_H
#define CORE_HOST_CHECKED_HOOKS_H

#include "abi/filter.h"

/* Puts a checking one in the place of each hook of a `struct plugin_filter`'s table. */
void checked_hooks_wrap(weir_filter *filter);

#endif
