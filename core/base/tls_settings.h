/* core/base/tls_settings.h - what a configuration says of TLS on one side
 *
 * Texts that nobody wrote are NULL. Certificates and keys are the path of a PEM file, or the PEM
 * text itself. */
#ifndef CORE_BASE_TLS_SETTINGS_H
#define CORE_BASE_TLS_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

struct tls_context; /* core/io/tls.h */

enum tls_version { TLS_VERSION_1_2, TLS_VERSION_1_3 };
enum tls_demand { TLS_CLIENTS_OFF, TLS_CLIENTS_OPTIONAL, TLS_CLIENTS_REQUIRED };

struct tls_pair {
    char *certificate; /* with those between it and the root behind it */
    char *key;
};

/* Towards clients. */
struct tls_server_settings {
    struct tls_pair *certificates; /* the first is shown when no name fits */
    uint32_t certificate_count;
    uint32_t client_certificates; /* enum tls_demand */
    char *client_ca;
    uint32_t least_version; /* enum tls_version */
    bool tickets;
    struct tls_context *context; /* made of these; NULL: this place does not speak TLS */
};

/* Towards servers. */
struct tls_client_settings {
    bool verify;
    char **ca_files; /* trusted beside what the system trusts */
    uint32_t ca_file_count;
    char *server_name; /* asked for and checked instead of the host's */
    uint32_t least_version;
    struct tls_context *context; /* likewise */
};

#endif
