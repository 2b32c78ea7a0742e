/* core/exchange/authentication.h - who the client is: its credentials go through the filters
 *
 * A request's credentials are in Proxy-Authorization (RFC 9110 11.7.2). A protocol with credentials
 * of its own has them judged by an exchange that has no message (WEIR_AUTHENTICATION), so that
 * filters may pause, work and fail there as anywhere. */
#ifndef CORE_EXCHANGE_AUTHENTICATION_H
#define CORE_EXCHANGE_AUTHENTICATION_H

#include "core/exchange/filters.h"

struct connection;

/* Has the filters judge the exchange's credentials, or their absence, unless its connection's user
 * is known. As filters_run(). */
weir_answer authentication_run(struct exchange *exchange);

/* Of an exchange of kind WEIR_AUTHENTICATION: it is on the connection, whose protocol knows nothing
 * of it; when it ends that protocol is told, unless the connection has gone. */
void authentication_attach(struct exchange *exchange, struct connection *connection);
void authentication_end(struct exchange *exchange);

/* Member of weir_filter_host. */
weir_result filter_credentials(weir_exchange *exchange, weir_string field,
                               weir_credentials *credentials);

#endif
