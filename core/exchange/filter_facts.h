/* core/exchange/filter_facts.h - what filters may know of an exchange, and the variables it has
 *
 * Members of weir_filter_host; abi/filter.h has the contract. */
#ifndef CORE_EXCHANGE_FILTER_FACTS_H
#define CORE_EXCHANGE_FILTER_FACTS_H

#include "abi/filter.h"

weir_result filter_text(weir_exchange *exchange, uint32_t what, weir_string *value);
weir_result filter_number(weir_exchange *exchange, uint32_t what, int64_t *value);
weir_result filter_variable(weir_exchange *exchange, weir_string name, weir_string *value);
weir_result filter_set_variable(weir_exchange *exchange, weir_string name, weir_string value);

#endif
