/* core/exchange/authentication.h - who the client is: its credentials go through the filters
 *
 * A request's credentials are in Proxy-Authorization (RFC 9110 11.7.2). A protocol with credentials
 * of its own has them judged by an exchange that has no message (WEIR_AUTHENTICATION), so that
 * filters may pause, work and fail there as anywhere. */
#ifndef CORE_EXCHANGE_AUTHENTICATION_H
#define CORE_EXCHANGE_AUTHENTICATION_H

#include "core/exchange/filters.h"

/* Has the filters judge the exchange's credentials, or their absence, unless its connection's user
 * is known. As filters_run(). */
weir_answer authentication_run(struct exchange *exchange);

#endif
