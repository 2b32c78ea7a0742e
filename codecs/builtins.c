/* codecs/builtins.c - the one list of protocols that are built in; core names none of them */
#include <stddef.h>

#include "codecs/h1/h1.h"
#include "codecs/raw/raw.h"
#include "core/plugins/registry.h"

const builtin_protocol builtin_protocols[] = {
#ifndef WEIR_BARE /* a program that has it as a plugin */
    h1_protocol,
#endif
    raw_protocol, NULL};
