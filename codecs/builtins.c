/* codecs/builtins.c - the one list of what is built in: protocols and TLS; core names none of it */
#include <stddef.h>

#include "codecs/h1/h1.h"
#include "codecs/h2/h2.h"
#include "codecs/raw/raw.h"
#include "codecs/tls/operations.h"
#include "core/plugins/registry.h"

const builtin_protocol builtin_protocols[] = {
#ifndef WEIR_BARE /* a program whose clients speak only what plugins know */
    h1_protocol, h2_protocol,
#endif
    raw_protocol, NULL};

const struct tls_operations *const builtin_tls = &tls_operations;
