/* core/exchange/hop.h - what a proxy must change in heads: fields of one connection, Host, Via
 *
 * RFC 9110 7.6.1 (Connection), 7.2 (Host), 7.6.3 (Via); RFC 9112 3.2.2. */
#ifndef CORE_EXCHANGE_HOP_H
#define CORE_EXCHANGE_HOP_H

#include "core/connection/head.h"
#include "core/exchange/reply.h"

/* Whether the request is for weir itself: Max-Forwards is used up, or it asks about "*" of a proxy.
 * Counts Max-Forwards down otherwise. */
enum reply_own hop_own_answer(struct head *head, bool fixed_upstream);
/* Whether it was here before: one of the Via fields names weir. */
bool hop_is_loop(const struct head *head, weir_string via_name);
bool hop_expects_continue(const struct head *head);

void hop_request(struct head *head, weir_string via_name);
void hop_response(struct head *head, weir_string via_name);
void hop_trailers(struct head *trailers);
/* Whether a field of that name is taken out of trailers. */
bool hop_no_trailer(weir_string name);

#endif
