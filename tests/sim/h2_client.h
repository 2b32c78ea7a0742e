/* tests/sim/h2_client.h - random clients that speak HTTP/2: several exchanges on each connection */
#ifndef TESTS_SIM_H2_CLIENT_H
#define TESTS_SIM_H2_CLIENT_H

#include <stdint.h>

/* As many exchanges at a time as so many clients of HTTP/1.1 have; numbered from `first` on. */
void h2_clients_start(uint32_t first, uint32_t count);
void h2_clients_excuse_unread(void);
void h2_clients_free(void);

#endif
