/* tests/unit/codecs/h1/fake_host.h - a host for one connection of h1 */
#ifndef TESTS_UNIT_CODECS_H1_FAKE_HOST_H
#define TESTS_UNIT_CODECS_H1_FAKE_HOST_H

#include "codecs/h1/h1.h"
#include "tests/unit/fake_protocol_host.h"

static inline void fake_open(uint32_t side)
{
    fake_open_protocol(h1_protocol(fake_host()), side);
}

#endif
