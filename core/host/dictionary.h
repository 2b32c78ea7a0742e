/* core/host/dictionary.h - query("weir.dictionary/0"): keys and values that all workers share */
#ifndef CORE_HOST_DICTIONARY_H
#define CORE_HOST_DICTIONARY_H

#include "abi/services.h"

extern const weir_dictionary_host dictionary_host;

#endif
