/* core/upstream/target.c - what is spoken to a target */
#include "core/upstream/target.h"

#include "core/base/string.h"
#include "core/io/carrier.h"

static bool has_agreed(const struct carrier *carrier, const weir_protocol *protocol)
{
    const struct tls_facts *tls = carrier->facts.tls;
    return tls && protocol->alpn && string_equal(string_of(protocol->alpn), tls->alpn);
}

const weir_protocol *target_protocol_on(const struct target *target, const struct carrier *carrier)
{
    const weir_protocol *better = target->protocols[0], *other = target->protocols[1];
    return !other || has_agreed(carrier, better) ? better : other;
}
