/* core/exchange/filter_heads.h - what filters read and change of heads and trailers
 *
 * Members of weir_filter_host; abi/filter.h has the contract. Whatever is changed stays a message
 * that can be framed: what says how is the host's alone. */
#ifndef CORE_EXCHANGE_FILTER_HEADS_H
#define CORE_EXCHANGE_FILTER_HEADS_H

#include <stdbool.h>

#include "abi/filter.h"

weir_result filter_field(weir_exchange *exchange, uint32_t which, weir_string name, uint32_t nth,
                         weir_string *value);
weir_result filter_field_at(weir_exchange *exchange, uint32_t which, uint32_t index,
                            weir_field *field);
weir_result filter_set_field(weir_exchange *exchange, uint32_t which, weir_string name,
                             weir_string value);
weir_result filter_add_field(weir_exchange *exchange, uint32_t which, weir_string name,
                             weir_string value);
weir_result filter_remove_field(weir_exchange *exchange, uint32_t which, weir_string name);
weir_result filter_set_part(weir_exchange *exchange, uint32_t part, weir_string value);
weir_result filter_set_status(weir_exchange *exchange, uint32_t status);

/* Whether a filter may put that into an answer of its own. */
bool filter_heads_may_have(weir_string name, weir_string value);
/* Whether they are no more than a filter may put into one head. */
bool filter_heads_fit(const weir_field *fields, uint32_t count);

#endif
