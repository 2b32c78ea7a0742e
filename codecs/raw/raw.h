/* codecs/raw/raw.h - a protocol without framing: the server's end of a tunnel */
#ifndef CODECS_RAW_RAW_H
#define CODECS_RAW_RAW_H

#include "abi/protocol.h"

const weir_protocol *raw_protocol(const weir_host *host);

#endif
