/* tests/plugins/gate.c - lets in who names the secret, and dials nothing that it forbids
 *
 * with: { name, secret, forbids }. A certificate's fingerprint is a secret too. Who has no user is
 * refused; what passes gets a response field x-gate with the instance's name and the user. */
#include "abi/filter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct gate {
    char name[32], secret[80], forbids[64];
};

static const weir_filter_host *filters;
static const weir_configuration_host *configuration;

static void read_text(const weir_section *with, const char *path, char *into, size_t size)
{
    snprintf(into, size, "%s", configuration->text(configuration->find(with, path)).bytes);
}

static weir_result make(const weir_section *with, void **made)
{
    struct gate *gate = calloc(1, sizeof *gate);
    read_text(with, "name", gate->name, sizeof gate->name);
    read_text(with, "secret", gate->secret, sizeof gate->secret);
    read_text(with, "forbids", gate->forbids, sizeof gate->forbids);
    *made = gate;
    return WEIR_OK;
}

static int is(weir_string text, const char *other)
{
    return text.length == strlen(other) && !memcmp(text.bytes, other, text.length);
}

static weir_answer authenticate(weir_exchange *exchange, const weir_credentials *credentials)
{
    const struct gate *gate = exchange->instance;
    int certificate = is(credentials->scheme, "certificate");
    if (!gate->secret[0] ||
        !is(certificate ? credentials->token : credentials->secret, gate->secret))
        return WEIR_CONTINUE;
    return filters->set_user(exchange, credentials->name) == WEIR_OK ? WEIR_ACCEPT : WEIR_FAIL;
}

static weir_answer request(weir_exchange *exchange)
{
    const struct gate *gate = exchange->instance;
    weir_string user;
    filters->text(exchange, WEIR_USER, &user);
    return gate->secret[0] && !user.length ? WEIR_DENY : WEIR_CONTINUE;
}

static weir_answer address(weir_exchange *exchange, const weir_address *address)
{
    const struct gate *gate = exchange->instance;
    return is(address->text, gate->forbids) ? WEIR_DENY : WEIR_CONTINUE;
}

static weir_answer response(weir_exchange *exchange)
{
    const struct gate *gate = exchange->instance;
    char text[128];
    weir_string user;
    filters->text(exchange, WEIR_USER, &user);
    int length = snprintf(text, sizeof text, "%s %.*s", gate->name, (int)user.length, user.bytes);
    filters->add_field(exchange, WEIR_RESPONSE_HEAD, WEIR_STRING("x-gate"),
                       (weir_string){text, (size_t)length});
    return WEIR_CONTINUE;
}

static const weir_life life = {
    .size = sizeof life,
    .schema = "{ \"type\": \"object\", \"additionalProperties\": false, \"properties\": {"
              "\"name\": { \"type\": \"string\", \"default\": \"gate\" },"
              "\"secret\": { \"type\": \"string\", \"default\": \"\" },"
              "\"forbids\": { \"type\": \"string\", \"default\": \"\" } } }",
    .make = make,
    .free = free,
};

static const weir_filter filter = {
    .size = sizeof filter,
    .name = "gate",
    .life = &life,
    .authenticate = authenticate,
    .request = request,
    .address = address,
    .response = response,
};

static weir_result load(const weir_host *host)
{
    filters = host->query(host, "weir.filter/0");
    configuration = host->query(host, "weir.configuration/0");
    return host->register_filter(host, &filter);
}

WEIR_PLUGIN(0, 0, 1, "test.gate", "1", "MIT", "weir.filter/0,weir.configuration/0", load, NULL);
