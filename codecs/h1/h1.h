/* codecs/h1/h1.h - HTTP/1.0 and HTTP/1.1, both sides (RFC 9112) */
#ifndef CODECS_H1_H1_H
#define CODECS_H1_H1_H

#include "abi/protocol.h"

const weir_protocol *h1_protocol(const weir_host *host);

#endif
