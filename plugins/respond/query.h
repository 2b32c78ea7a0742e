/* plugins/respond/query.h - what a request may say of its answer: ?status=404&size=100&delay=20 */
#ifndef RESPOND_QUERY_H
#define RESPOND_QUERY_H

#include <stdbool.h>

#include "abi/weir.h"

struct wanted {
    uint64_t status, size, delay_ms;
};

/* Changes what the query of the path says; other keys are ignored. False: one of the three is no
 * number, or above its limit (a status: not from 200 to 599). */
bool query_read(weir_string path, struct wanted limits, struct wanted *wanted);

#endif
