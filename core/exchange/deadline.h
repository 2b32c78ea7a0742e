/* core/exchange/deadline.h - how long an exchange may wait for what it waits for */
#ifndef CORE_EXCHANGE_DEADLINE_H
#define CORE_EXCHANGE_DEADLINE_H

#include "core/exchange/exchange.h"

struct deadline {
    uint64_t at_ms;    /* WHEEL_NEVER: there is none */
    weir_result cause; /* what it means when it has passed; WEIR_OK: the client waits to be told to
                          go on, and the server does not say it */
};

/* Pure: what the exchange waits for now, measured from when something moved last. */
struct deadline deadline_of(const struct exchange *x);

#endif
