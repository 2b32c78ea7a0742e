/* core/exchange/reply.h - the answers that weir makes itself
 *
 * An answer is delivered through a channel like a server's, so filters, relay and log treat it the
 * same. Short plain text that echoes nothing of the request; Proxy-Status (RFC 9209) says why. */
#ifndef CORE_EXCHANGE_REPLY_H
#define CORE_EXCHANGE_REPLY_H

#include "core/connection/channel.h"

/* Makes the channel (initialised, not attached) answer for that cause. `name` is weir's own;
 * `template`: the body, with {status}, {reason} and {text} to be filled in; NULL: the text alone.
 */
void reply_for_cause(struct channel *channel, weir_result cause, weir_string name,
                     const char *template);
/* Makes the channel answer with this head, to which what frames the body is added, and this body:
 * a filter's answer. `continues`: more of the body is delivered later. */
void reply_with(struct channel *channel, struct head *head, const weir_slice *body, bool continues);

/* What weir answers itself although nothing is wrong. */
enum reply_own { REPLY_NOT_OURS, REPLY_OPTIONS, REPLY_TRACE };
void reply_own(struct channel *channel, enum reply_own own, const weir_head *request);

/* RFC 9110 15: the usual words for a status; empty: one that weir has none for. */
weir_string reply_reason(uint32_t status);

/* The name of a cause in logs. */
const char *cause_name(weir_result cause);

#endif
