/* tests/sim/origin.h - random origins: read requests, check them, answer, fail at times */
#ifndef TESTS_SIM_ORIGIN_H
#define TESTS_SIM_ORIGIN_H

/* Puts origins at the addresses of plan.c's hosts. */
void origins_start(void);

#endif
