/* tests/sim/h2_origin.h - random origins that speak HTTP/2: answer requests side by side, fail */
#ifndef TESTS_SIM_H2_ORIGIN_H
#define TESTS_SIM_H2_ORIGIN_H

#include "tests/sim/plan.h"

/* A connection comes to that host. */
void h2_origin_accept(const struct host *host, struct endpoint *end);

#endif
