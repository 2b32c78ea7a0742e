/* codecs/h2/h2.h - HTTP/2, both sides (RFC 9113), on nghttp2 */
#ifndef CODECS_H2_H2_H
#define CODECS_H2_H2_H

#include "abi/protocol.h"

const weir_protocol *h2_protocol(const weir_host *host);

#endif
