/* core/process/admin.c - the admin listener: what its clients may ask, and the answers */
#include "core/process/admin.h"

#include <string.h>

#include "core/base/buffer.h"
#include "core/base/memory.h"
#include "core/base/string.h"
#include "core/exchange/filter_host.h"
#include "core/exchange/filters.h"
#include "core/io/address.h"
#include "core/process/pages.h"

/* What a client asked for. */
struct visit {
    weir_exchange *exchange;
    const weir_head *head;
    struct process *process;
};

static const char plain[] = "text/plain; charset=utf-8";

/* --- answering */

static weir_answer answer(const struct visit *visit, uint32_t status, const char *type,
                          weir_string text, const weir_field *field)
{
    weir_field fields[] = {{WEIR_STRING("Content-Type"), string_of(type)},
                           {WEIR_STRING("Cache-Control"), WEIR_STRING("no-store")},
                           field ? *field : (weir_field){{0}, {0}}};
    weir_buffer *buffer = buffer_new(text.length);
    if (text.length)
        memcpy(buffer->bytes, text.bytes, text.length);
    weir_reply reply = {.size = sizeof reply,
                        .status = status,
                        .fields = fields,
                        .count = field ? 3 : 2,
                        .body = {buffer->bytes, text.length, buffer}};
    weir_result rc = exchange_filter_host.respond(visit->exchange, &reply);
    buffer_release(buffer);
    return rc == WEIR_OK ? WEIR_DONE : WEIR_FAIL;
}

static weir_answer answer_plain(const struct visit *visit, uint32_t status, const char *text)
{
    return answer(visit, status, plain, string_of(text), NULL);
}

static weir_answer answer_text(const struct visit *visit, const char *type, struct text *text)
{
    weir_answer done = answer(visit, 200, type, text_string(text), NULL);
    text_deinit(text);
    return done;
}

/* --- what may be asked */

static weir_answer show_metrics(const struct visit *visit)
{
    struct text text = {0};
    page_metrics(visit->process, &text);
    return answer_text(visit, "text/plain; version=0.0.4; charset=utf-8", &text);
}

static weir_answer show_status(const struct visit *visit)
{
    struct text text = {0};
    page_status(visit->process, &text);
    return answer_text(visit, plain, &text);
}

static weir_answer show_connections(const struct visit *visit)
{
    struct text text = {0};
    if (!page_connections(visit->process, &text))
        return answer_plain(visit, 503, "A worker is too busy to answer.\n");
    return answer_text(visit, "application/json", &text);
}

static weir_answer show_health(const struct visit *visit)
{
    return answer_plain(visit, 200, "ok\n");
}

static weir_answer show_readiness(const struct visit *visit)
{
    bool ready = !visit->process->draining;
    return answer_plain(visit, ready ? 200 : 503, ready ? "ready\n" : "stopping\n");
}

/* A site's name: what a browser on this machine asks for whose page had its name lead here. */
static bool names_a_site(weir_string text)
{
    struct authority authority;
    struct address address;
    return !authority_parse(text, &authority) ||
           (!authority.bracketed && memchr(authority.host.bytes, '.', authority.host.length) &&
            !address_from_literal(authority.host, 0, &address));
}

/* A page of somebody else's that is open in a browser on this machine learns and does nothing. */
static bool comes_from_web_page(const weir_head *head)
{
    for (uint32_t i = 0; i < head->count; i++)
        if (string_equal_nocase(head->fields[i].name, WEIR_STRING("origin")))
            return true;
    return head->authority.length && names_a_site(head->authority);
}

static weir_answer reload(const struct visit *visit)
{
    char *mistakes = NULL;
    if (visit->process->draining)
        return answer_plain(visit, 503, "weir is stopping.\n");
    if (process_reload(visit->process, &mistakes))
        return answer_plain(visit, 200, "The configuration is in force.\n");
    weir_answer done = answer_plain(visit, 422, mistakes);
    memory_free(mistakes);
    return done;
}

static const struct page {
    const char *path;
    bool changes; /* POST, else GET */
    weir_answer (*show)(const struct visit *visit);
} pages[] = {
    {"/metrics", false, show_metrics}, {"/status", false, show_status},
    {"/healthz", false, show_health},  {"/readyz", false, show_readiness},
    {"/reload", true, reload},         {"/connections", false, show_connections},
};

static bool method_fits(const struct page *page, weir_string method)
{
    if (page->changes)
        return string_equal(method, WEIR_STRING("POST"));
    return string_equal(method, WEIR_STRING("GET")) || string_equal(method, WEIR_STRING("HEAD"));
}

static const struct page *find_page(weir_string path)
{
    const char *query = memchr(path.bytes, '?', path.length);
    if (query)
        path.length = (size_t)(query - path.bytes);
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++)
        if (string_equal(path, string_of(pages[i].path)))
            return &pages[i];
    return NULL;
}

/* --- the filter */

static struct process *served;

static weir_answer on_request(weir_exchange *exchange)
{
    struct visit visit = {
        .exchange = exchange,
        .head = exchange_filter_host.request_head(exchange),
        .process = served,
    };
    const struct page *page = visit.head->kind == WEIR_REQUEST ? find_page(visit.head->path) : NULL;
    if (!page)
        return answer_plain(&visit, 404,
                            "There are /metrics, /status, /healthz, /readyz, /connections, and "
                            "POST /reload.\n");
    if (comes_from_web_page(visit.head))
        return answer_plain(&visit, 403, "Not for web pages.\n");
    if (method_fits(page, visit.head->method))
        return page->show(&visit);
    weir_field allow = {WEIR_STRING("Allow"),
                        page->changes ? WEIR_STRING("POST") : WEIR_STRING("GET, HEAD")};
    return answer(&visit, 405, plain, WEIR_STRING("Not with this method.\n"), &allow);
}

const struct filter_chain *admin_chain(struct process *process)
{
    static const weir_filter filter = {
        .size = sizeof filter, .name = "admin", .request = on_request};
    static const struct filter_use use = {.filter = &filter, .plugin = "weir"};
    static const struct filter_use *const uses[] = {&use};
    static struct filter_chain chain;
    served = process;
    filter_chain_build(&chain, uses, 1);
    return &chain;
}
