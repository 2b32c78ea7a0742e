/* core/host/checking.c - weir --check-plugins: what authors of plugins get wrong shows at once */
#include "core/host/checking.h"

#include "core/host/checked_filter_host.h"
#include "core/host/checked_hooks.h"
#include "core/host/holding.h"
#include "core/host/host.h"
#include "core/host/retired.h"
#include "core/plugins/plugin.h"

void checking_start(void)
{
    retired_start();
    host_provide("weir.filter/0", &checked_filter_host);
    host_provide_buffers(holding_buffer_new, holding_buffer_reference, holding_buffer_release);
    plugin_wrap_filters(checked_hooks_wrap);
}
