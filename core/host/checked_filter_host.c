/* core/host/checked_filter_host.c - query("weir.filter/0") under --check-plugins
 *
 * Each function asks first whether a hook of that exchange runs here, then does what the real one
 * does. What that hands out is lent, what it changes ends what was lent of it. */
#include "core/host/checked_filter_host.h"

#include "core/base/worker.h"
#include "core/exchange/filter_host.h"
#include "core/host/complaint.h"
#include "core/host/holding.h"
#include "core/host/lending.h"
#include "core/host/wrong_thread.h"

#define HOST (&exchange_filter_host)

/* --- who may call */

static weir_result judge(const weir_exchange *exchange, const char *function, const void *caller)
{
    if (exchange && lending_exchange() == exchange)
        return WEIR_OK;
    if (!worker_current)
        return wrong_thread(caller, function);
    complain("%s() on an exchange none of whose hooks runs; it answers WEIR_WRONG_PHASE", function);
    return WEIR_WRONG_PHASE;
}

/* Whether the function may be called; else *why it must not. */
#define MAY(function, why) ((*(why) = judge(exchange, function, WRONG_THREAD_CALLER)) == WEIR_OK)

/* --- heads */

static const weir_head *check_request_head(weir_exchange *exchange)
{
    weir_result rc;
    if (!MAY("request_head", &rc))
        return NULL;
    return lend_own_head(WEIR_REQUEST_HEAD, HOST->request_head(exchange));
}

static const weir_head *check_response_head(weir_exchange *exchange)
{
    weir_result rc;
    if (!MAY("response_head", &rc))
        return NULL;
    return lend_own_head(WEIR_RESPONSE_HEAD, HOST->response_head(exchange));
}

static weir_result check_field(weir_exchange *exchange, uint32_t which, weir_string name,
                               uint32_t nth, weir_string *value)
{
    weir_result rc;
    if (!MAY("field", &rc))
        return rc;
    rc = HOST->field(exchange, which, name, nth, value);
    if (rc == WEIR_OK)
        *value = lend_string(which, *value);
    return rc;
}

static weir_result check_field_at(weir_exchange *exchange, uint32_t which, uint32_t index,
                                  weir_field *field)
{
    weir_result rc;
    if (!MAY("field_at", &rc))
        return rc;
    rc = HOST->field_at(exchange, which, index, field);
    if (rc == WEIR_OK) {
        field->name = lend_string(which, field->name);
        field->value = lend_string(which, field->value);
    }
    return rc;
}

/* What came of a change. */
static weir_result changed(weir_result rc, uint32_t which, const char *function)
{
    if (rc == WEIR_OK)
        lending_changed(which);
    return complain_of_phase(rc, function);
}

static weir_result check_set_field(weir_exchange *exchange, uint32_t which, weir_string name,
                                   weir_string value)
{
    weir_result rc;
    if (!MAY("set_field", &rc))
        return rc;
    return changed(HOST->set_field(exchange, which, name, value), which, "set_field");
}

static weir_result check_add_field(weir_exchange *exchange, uint32_t which, weir_string name,
                                   weir_string value)
{
    weir_result rc;
    if (!MAY("add_field", &rc))
        return rc;
    return changed(HOST->add_field(exchange, which, name, value), which, "add_field");
}

static weir_result check_remove_field(weir_exchange *exchange, uint32_t which, weir_string name)
{
    weir_result rc;
    if (!MAY("remove_field", &rc))
        return rc;
    return changed(HOST->remove_field(exchange, which, name), which, "remove_field");
}

static weir_result check_set_part(weir_exchange *exchange, uint32_t part, weir_string value)
{
    weir_result rc;
    if (!MAY("set_part", &rc))
        return rc;
    return changed(HOST->set_part(exchange, part, value), WEIR_REQUEST_HEAD, "set_part");
}

static weir_result check_set_status(weir_exchange *exchange, uint32_t status)
{
    weir_result rc;
    if (!MAY("set_status", &rc))
        return rc;
    return changed(HOST->set_status(exchange, status), WEIR_RESPONSE_HEAD, "set_status");
}

/* --- facts */

static weir_result check_text(weir_exchange *exchange, uint32_t what, weir_string *value)
{
    weir_result rc;
    if (!MAY("text", &rc))
        return rc;
    rc = HOST->text(exchange, what, value);
    if (rc == WEIR_OK)
        *value = lend_string(LENT_TO_HOOK, *value);
    return rc;
}

static weir_result check_number(weir_exchange *exchange, uint32_t what, int64_t *value)
{
    weir_result rc;
    return MAY("number", &rc) ? HOST->number(exchange, what, value) : rc;
}

static weir_result check_variable(weir_exchange *exchange, weir_string name, weir_string *value)
{
    weir_result rc;
    if (!MAY("variable", &rc))
        return rc;
    rc = HOST->variable(exchange, name, value);
    if (rc == WEIR_OK)
        *value = lend_string(LENT_TO_HOOK, *value);
    return rc;
}

static weir_result check_set_variable(weir_exchange *exchange, weir_string name, weir_string value)
{
    weir_result rc;
    return MAY("set_variable", &rc) ? HOST->set_variable(exchange, name, value) : rc;
}

static weir_result check_set_user(weir_exchange *exchange, weir_string user)
{
    weir_result rc;
    if (!MAY("set_user", &rc))
        return rc;
    return complain_of_phase(HOST->set_user(exchange, user), "set_user");
}

static weir_result check_set_limit(weir_exchange *exchange, uint32_t limit, uint32_t direction,
                                   uint64_t value)
{
    weir_result rc;
    return MAY("set_limit", &rc) ? HOST->set_limit(exchange, limit, direction, value) : rc;
}

static weir_result check_credentials(weir_exchange *exchange, weir_string field,
                                     weir_credentials *credentials)
{
    weir_result rc;
    if (!MAY("credentials", &rc))
        return rc;
    rc = HOST->credentials(exchange, field, credentials);
    if (rc != WEIR_OK)
        return rc;
    credentials->scheme = lend_string(LENT_TO_HOOK, credentials->scheme);
    credentials->name = lend_string(LENT_TO_HOOK, credentials->name);
    credentials->secret = lend_string(LENT_TO_HOOK, credentials->secret);
    credentials->token = lend_string(LENT_TO_HOOK, credentials->token);
    return rc;
}

/* --- settling it */

static weir_result check_respond(weir_exchange *exchange, const weir_reply *reply)
{
    weir_result rc;
    if (!MAY("respond", &rc))
        return rc;
    if (!holding_may_give(&reply->body, 1))
        return WEIR_INVALID;
    return complain_of_phase(HOST->respond(exchange, reply), "respond");
}

static weir_result check_abort(weir_exchange *exchange)
{
    weir_result rc;
    return MAY("abort", &rc) ? complain_of_phase(HOST->abort(exchange), "abort") : rc;
}

static weir_result check_retarget(weir_exchange *exchange, weir_string target)
{
    weir_result rc;
    if (!MAY("retarget", &rc))
        return rc;
    return complain_of_phase(HOST->retarget(exchange, target), "retarget");
}

/* --- bytes */

static weir_result check_emit(weir_exchange *exchange, uint32_t direction, const weir_slice *slices,
                              uint32_t count, uint32_t flags)
{
    weir_result rc;
    if (!MAY("emit", &rc))
        return rc;
    if (!holding_may_give(slices, count))
        return WEIR_INVALID;
    return complain_of_phase(HOST->emit(exchange, direction, slices, count, flags), "emit");
}

static size_t check_credit(weir_exchange *exchange, uint32_t direction)
{
    weir_result rc;
    return MAY("credit", &rc) ? HOST->credit(exchange, direction) : 0;
}

static weir_result check_release(weir_exchange *exchange, uint32_t direction, uint64_t bytes)
{
    weir_result rc;
    if (!MAY("release", &rc))
        return rc;
    return complain_of_phase(HOST->release(exchange, direction, bytes), "release");
}

/* --- pauses */

static weir_result check_resume(weir_exchange *exchange, uint32_t direction)
{
    weir_result rc;
    return MAY("resume", &rc) ? HOST->resume(exchange, direction) : rc;
}

static weir_result check_pause_limit(weir_exchange *exchange, uint32_t direction,
                                     uint32_t milliseconds)
{
    weir_result rc;
    return MAY("pause_limit", &rc) ? HOST->pause_limit(exchange, direction, milliseconds) : rc;
}

static weir_reference check_reference(weir_exchange *exchange)
{
    weir_result rc;
    return MAY("reference", &rc) ? HOST->reference(exchange) : (weir_reference){0};
}

const weir_filter_host checked_filter_host = {
    .size = sizeof checked_filter_host,
    .request_head = check_request_head,
    .response_head = check_response_head,
    .field = check_field,
    .field_at = check_field_at,
    .set_field = check_set_field,
    .add_field = check_add_field,
    .remove_field = check_remove_field,
    .set_part = check_set_part,
    .set_status = check_set_status,
    .text = check_text,
    .number = check_number,
    .variable = check_variable,
    .set_variable = check_set_variable,
    .set_user = check_set_user,
    .set_limit = check_set_limit,
    .respond = check_respond,
    .abort = check_abort,
    .retarget = check_retarget,
    .emit = check_emit,
    .credit = check_credit,
    .release = check_release,
    .resume = check_resume,
    .pause_limit = check_pause_limit,
    .reference = check_reference,
    .credentials = check_credentials,
};
