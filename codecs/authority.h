/* codecs/authority.h - whether a host, perhaps with a port, may stand in Host or in a target */
#ifndef CODECS_AUTHORITY_H
#define CODECS_AUTHORITY_H

#include <stdbool.h>

#include "abi/weir.h"

/* uri-host [ ":" port ] of RFC 9110 7.2; may be empty. A second port would be read as one by some
 * and as a part of the name by others. */
bool authority_is_valid(weir_string host);

#endif
