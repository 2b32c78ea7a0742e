/* plugins/headers/edits.c - what is done to the fields of one head */
#include "plugins/headers/edits.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "plugins/headers/rewrite.h"
#include "plugins/headers/template.h"

enum edit_kind {
    EDIT_REMOVE,
    EDIT_REMOVE_BEGINNING,
    EDIT_REWRITE,
    EDIT_SET,
    EDIT_DEFAULT,
    EDIT_ADD
};

enum { REPEATED_MOST = 64 }; /* fields of one name that are rewritten */

struct edit {
    enum edit_kind kind;
    char *name; /* of EDIT_REMOVE_BEGINNING what it begins with */
    struct template value;
    struct rewrite *rewrite;
};

static weir_string name_of(const struct edit *edit)
{
    return (weir_string){edit->name, strlen(edit->name)};
}

/* --- making */

/* Those that the host does not let filters change: it would refuse them while requests pass. */
static const char *const hosts_own[] = {
    "connection",     "content-length",    "expect",           "host",
    "http2-settings", "keep-alive",        "proxy-connection", "te",
    "trailer",        "transfer-encoding", "upgrade"};

static bool is_hosts_own(weir_string name)
{
    for (size_t i = 0; i < sizeof hosts_own / sizeof *hosts_own; i++)
        if (strlen(hosts_own[i]) == name.length &&
            !strncasecmp(hosts_own[i], name.bytes, name.length))
            return true;
    return false;
}

static bool is_token(weir_string name)
{
    static const char others[] = "!#$%&'*+-.^_`|~";
    for (size_t i = 0; i < name.length; i++) {
        char c = name.bytes[i], lower = (char)(c | 0x20);
        if (!(lower >= 'a' && lower <= 'z') && !(c >= '0' && c <= '9') && !(c && strchr(others, c)))
            return false;
    }
    return name.length > 0;
}

static weir_result check_name(const weir_section *section, weir_string name)
{
    if (!is_token(name))
        return headers_mistake(section, "\"%.*s\" is no name of a field", (int)name.length,
                               name.bytes);
    if (is_hosts_own(name))
        return headers_mistake(section, "%.*s is weir's own: it follows from the message",
                               (int)name.length, name.bytes);
    return WEIR_OK;
}

static struct edit *append(struct edits *edits, enum edit_kind kind, weir_string name)
{
    struct edit *edit = &edits->list[edits->count++];
    *edit = (struct edit){.kind = kind, .name = headers_copy(name)};
    return edit;
}

static weir_result make_removal(const weir_section *section, struct edits *edits)
{
    weir_string name = headers_configuration->text(section);
    bool all = name.length && name.bytes[name.length - 1] == '*';
    if (name.length == 1 && all)
        return headers_mistake(section, "would remove every field");
    if (check_name(section, name) != WEIR_OK)
        return WEIR_INVALID;
    name.length -= all;
    append(edits, all ? EDIT_REMOVE_BEGINNING : EDIT_REMOVE, name);
    return WEIR_OK;
}

static weir_result make_rewrite(const weir_section *section, struct edits *edits)
{
    const weir_section *name = headers_configuration->find(section, "name");
    if (check_name(name, headers_configuration->text(name)) != WEIR_OK)
        return WEIR_INVALID;
    struct rewrite *rewrite = rewrite_make(section);
    if (!rewrite)
        return WEIR_INVALID;
    append(edits, EDIT_REWRITE, headers_configuration->text(name))->rewrite = rewrite;
    return WEIR_OK;
}

static weir_result make_value(const weir_section *section, const weir_section *value,
                              enum edit_kind kind, struct edits *edits)
{
    weir_string name = headers_configuration->key(section);
    if (check_name(section, name) != WEIR_OK)
        return WEIR_INVALID;
    return template_make(value, &append(edits, kind, name)->value);
}

static weir_result make_setting(const weir_section *section, struct edits *edits)
{
    return make_value(section, section, EDIT_SET, edits);
}

static weir_result make_default(const weir_section *section, struct edits *edits)
{
    return make_value(section, section, EDIT_DEFAULT, edits);
}

static weir_result make_addition(const weir_section *section, struct edits *edits)
{
    weir_result rc = WEIR_OK;
    if (headers_configuration->kind(section) != WEIR_SECTION_LIST)
        return make_value(section, section, EDIT_ADD, edits);
    for (uint32_t i = 0; i < headers_configuration->count(section); i++)
        if (make_value(section, headers_configuration->at(section, i), EDIT_ADD, edits) != WEIR_OK)
            rc = WEIR_INVALID;
    return rc;
}

static const struct {
    const char *key;
    weir_result (*make)(const weir_section *section, struct edits *edits);
} makers[] = {
    {"remove", make_removal},  {"rewrite", make_rewrite}, {"set", make_setting},
    {"default", make_default}, {"add", make_addition},
};
enum { MAKERS = sizeof makers / sizeof *makers };

/* At most: each part of each of them, and of those each that is a list. */
static uint32_t count_all(const weir_section *section)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < headers_configuration->count(section); i++)
        count += 1 + count_all(headers_configuration->at(section, i));
    return count;
}

weir_result edits_make(const weir_section *section, struct edits *edits)
{
    weir_result rc = WEIR_OK;
    edits->list = headers_allocate(count_all(section) + 1, sizeof *edits->list);
    for (size_t i = 0; i < MAKERS; i++) {
        const weir_section *part = headers_configuration->find(section, makers[i].key);
        for (uint32_t k = 0; k < headers_configuration->count(part); k++)
            if (makers[i].make(headers_configuration->at(part, k), edits) != WEIR_OK)
                rc = WEIR_INVALID;
    }
    return rc;
}

void edits_free(struct edits *edits)
{
    for (uint32_t i = 0; i < edits->count; i++) {
        free(edits->list[i].name);
        template_free(&edits->list[i].value);
        rewrite_free(edits->list[i].rewrite);
    }
    free(edits->list);
}

/* --- applying */

/* The host's own are left where they are. */
static void remove_beginning(weir_exchange *exchange, uint32_t which, weir_string beginning)
{
    weir_field field;
    uint32_t i = 0;
    while (headers_filter->field_at(exchange, which, i, &field) == WEIR_OK) {
        bool begins = field.name.length >= beginning.length &&
                      !strncasecmp(field.name.bytes, beginning.bytes, beginning.length);
        if (!begins || headers_filter->remove_field(exchange, which, field.name) != WEIR_OK)
            i++;
    }
}

/* The values of one name, rewritten; they are put back when all of them are known. */
struct rewritten {
    char bytes[VALUE_BYTES];
    size_t length;
    weir_string values[REPEATED_MOST];
    uint32_t count;
    bool changed;
};

static weir_result rewrite_one(const struct rewrite *rewrite, weir_string value,
                               struct rewritten *all)
{
    char *to = all->bytes + all->length;
    size_t length = sizeof all->bytes - all->length;
    if (all->count == REPEATED_MOST || value.length > length)
        return WEIR_TOO_MUCH;
    weir_result rc = rewrite_apply(rewrite, value, to, &length);
    if (rc < 0)
        return rc;
    if (rc == 0)
        memcpy(to, value.bytes, length = value.length);
    all->changed |= rc > 0;
    all->values[all->count++] = (weir_string){to, length};
    all->length += length;
    return WEIR_OK;
}

static weir_result put_back(weir_exchange *exchange, uint32_t which, weir_string name,
                            const struct rewritten *all)
{
    weir_result rc = headers_filter->set_field(exchange, which, name, all->values[0]);
    for (uint32_t i = 1; i < all->count && rc == WEIR_OK; i++)
        rc = headers_filter->add_field(exchange, which, name, all->values[i]);
    return rc;
}

static weir_result rewrite_all(const struct edit *edit, weir_exchange *exchange, uint32_t which)
{
    struct rewritten all;
    weir_string value, name = name_of(edit);
    all.length = all.count = 0;
    all.changed = false;
    while (headers_filter->field(exchange, which, name, all.count, &value) == WEIR_OK) {
        weir_result rc = rewrite_one(edit->rewrite, value, &all);
        if (rc != WEIR_OK)
            return rc;
    }
    return all.changed ? put_back(exchange, which, name, &all) : WEIR_OK;
}

static bool is_there(const struct edit *edit, weir_exchange *exchange, uint32_t which)
{
    weir_string value;
    return headers_filter->field(exchange, which, name_of(edit), 0, &value) == WEIR_OK;
}

/* A field without a value says nothing: it is not added, and one that is set to nothing goes. */
static weir_result give_value(const struct edit *edit, weir_exchange *exchange, uint32_t which)
{
    char bytes[VALUE_BYTES];
    weir_string value, name = name_of(edit);
    weir_result rc = template_fill(&edit->value, exchange, bytes, &value);
    if (rc != WEIR_OK)
        return rc;
    if (edit->kind == EDIT_SET && !value.length)
        return headers_filter->remove_field(exchange, which, name);
    if (edit->kind == EDIT_SET)
        return headers_filter->set_field(exchange, which, name, value);
    return value.length ? headers_filter->add_field(exchange, which, name, value) : WEIR_OK;
}

static weir_result apply(const struct edit *edit, weir_exchange *exchange, uint32_t which)
{
    switch (edit->kind) {
    case EDIT_REMOVE:
        return headers_filter->remove_field(exchange, which, name_of(edit));
    case EDIT_REMOVE_BEGINNING:
        remove_beginning(exchange, which, name_of(edit));
        return WEIR_OK;
    case EDIT_REWRITE:
        return rewrite_all(edit, exchange, which);
    case EDIT_DEFAULT:
        return is_there(edit, exchange, which) ? WEIR_OK : give_value(edit, exchange, which);
    case EDIT_SET:
    case EDIT_ADD:
        return give_value(edit, exchange, which);
    }
    return WEIR_OK;
}

weir_result edits_apply(const struct edits *edits, weir_exchange *exchange, uint32_t which)
{
    weir_result rc = WEIR_OK;
    for (uint32_t i = 0; i < edits->count && rc == WEIR_OK; i++)
        rc = apply(&edits->list[i], exchange, which);
    return rc;
}
