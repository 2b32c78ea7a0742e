/* codecs/tls/operations.h - what core/io/tls.h asks for */
#ifndef CODECS_TLS_OPERATIONS_H
#define CODECS_TLS_OPERATIONS_H

#include "core/io/tls.h"

extern const struct tls_operations tls_operations;

#endif
