/* plugins/acl/rules.h - what is written becomes rules, and which of them a request meets
 *
 * The first rule that fits decides. A rule with addresses fits only once there is one, so what a
 * request meets is a decision, or a list of rules that wait for the address and what holds when
 * none of them fits. */
#ifndef ACL_RULES_H
#define ACL_RULES_H

#include <stdbool.h>

#include "abi/configuration.h"

enum { WAITING_MOST = 512 }; /* rules with addresses */

/* What is known of a request, as plain.h makes it. */
struct facts {
    weir_string client, user, host, method, decoded_path, resolved_path;
    uint32_t port;
    bool host_is_encoded; /* no name is sent so; nobody is allowed by it */
};

struct verdict {
    bool allows;  /* unless a rule that waits fits */
    bool waits;   /* ... and says otherwise */
    int32_t rule; /* that decided; less than 0: none */
    uint64_t waiting[WAITING_MOST / 64];
};

struct rules;

extern const char rules_schema[];

/* NULL: mistakes were reported. */
struct rules *rules_make(const weir_configuration_host *host, const weir_section *with);
void rules_free(struct rules *rules);

bool rules_have_paths(const struct rules *rules);             /* the facts' paths are looked at */
uint32_t rules_line(const struct rules *rules, int32_t rule); /* 0: none */

void rules_judge(const struct rules *rules, const struct facts *facts, struct verdict *verdict);
/* Of a verdict that waits. *rule: which one decided. */
bool rules_allow_address(const struct rules *rules, const struct verdict *verdict,
                         weir_string address, int32_t *rule);

#endif
