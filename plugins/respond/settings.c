/* plugins/respond/settings.c - what is written, ready to be answered with */
#include "plugins/respond/settings.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { FILE_MOST = 64 << 20 };

const char settings_schema[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"status\":{\"type\":\"integer\",\"format\":\"status\",\"minimum\":200,\"default\":200,"
    "\"description\":\"Of the answer.\"},"
    "\"fields\":{\"type\":\"object\",\"description\":\"Of the answer.\","
    "\"additionalProperties\":{\"type\":\"string\",\"orList\":true}},"
    "\"body\":{\"type\":\"string\",\"description\":\"The text that is answered.\"},"
    "\"file\":{\"type\":\"string\",\"format\":\"path\","
    "\"description\":\"Or what is in this file, at most 64 MiB.\"},"
    "\"size\":{\"type\":\"string\",\"format\":\"size\","
    "\"description\":\"Or so many bytes, whichever they are.\"},"
    "\"delay\":{\"type\":\"string\",\"format\":\"duration\",\"maximum\":\"30m\","
    "\"description\":\"How long the answer waits.\"},"
    "\"piece\":{\"type\":\"string\",\"format\":\"size\",\"minimum\":\"1B\",\"maximum\":\"64KiB\","
    "\"description\":\"The body comes in pieces of that size,\"},"
    "\"every\":{\"type\":\"string\",\"format\":\"duration\",\"maximum\":\"1m\","
    "\"description\":\"one in that time.\"},"
    "\"on_request\":{\"type\":\"boolean\",\"default\":false,"
    "\"description\":\"The query may say status, size (bytes) and delay (milliseconds).\"},"
    "\"size_most\":{\"type\":\"string\",\"format\":\"size\",\"default\":\"1GiB\","
    "\"description\":\"The largest size that it may say.\"},"
    "\"delay_most\":{\"type\":\"string\",\"format\":\"duration\",\"maximum\":\"30m\","
    "\"default\":\"10s\",\"description\":\"The longest delay.\"}}}";

/* --- fields */

/* That say how a message is framed, or are about one connection: they follow from the message. */
static const char *const hosts_own[] = {"connection", "content-length",   "keep-alive",
                                        "te",         "proxy-connection", "trailer",
                                        "upgrade",    "transfer-encoding"};

static bool is_name(weir_string name)
{
    static const char others[] = "!#$%&'*+-.^_`|~";
    for (size_t i = 0; i < name.length; i++) {
        char c = name.bytes[i], lower = (char)(c | 0x20);
        if (!(lower >= 'a' && lower <= 'z') && !(c >= '0' && c <= '9') && !(c && strchr(others, c)))
            return false;
    }
    for (size_t i = 0; i < sizeof hosts_own / sizeof *hosts_own; i++)
        if (strlen(hosts_own[i]) == name.length &&
            !strncasecmp(hosts_own[i], name.bytes, name.length))
            return false;
    return name.length > 0;
}

static bool is_value(weir_string value)
{
    for (size_t i = 0; i < value.length; i++)
        if (((uint8_t)value.bytes[i] < 0x20 && value.bytes[i] != '\t') || value.bytes[i] == 0x7f)
            return false;
    return true;
}

static weir_string copy(weir_string text)
{
    char *bytes = malloc(text.length + 1);
    if (!bytes)
        abort();
    memcpy(bytes, text.bytes, text.length);
    return (weir_string){bytes, text.length};
}

static bool mistake(const weir_configuration_host *host, const weir_section *section,
                    const char *why)
{
    host->mistake(section, (weir_string){why, strlen(why)});
    return false;
}

static void add_field(struct settings *settings, weir_string name, weir_string value)
{
    size_t bytes = (settings->field_count + 1) * sizeof *settings->fields;
    settings->fields = realloc(settings->fields, bytes);
    if (!settings->fields)
        abort();
    settings->fields[settings->field_count++] = (weir_field){copy(name), copy(value)};
}

static bool read_field(const weir_configuration_host *host, const weir_section *section,
                       struct settings *settings)
{
    weir_string name = host->key(section);
    if (!is_name(name))
        return mistake(host, section, "is no field that an answer may be given");
    for (uint32_t i = 0; i < host->count(section); i++) {
        weir_string value = host->text(host->at(section, i));
        if (!is_value(value))
            return mistake(host, host->at(section, i), "has a control character");
        add_field(settings, name, value);
    }
    return true;
}

static bool has_field(const struct settings *settings, const char *name)
{
    for (uint32_t i = 0; i < settings->field_count; i++) {
        weir_string known = settings->fields[i].name;
        if (known.length == strlen(name) && !strncasecmp(known.bytes, name, known.length))
            return true;
    }
    return false;
}

static bool read_fields(const weir_configuration_host *host, const weir_section *section,
                        struct settings *settings)
{
    bool fine = true;
    for (uint32_t i = 0; i < host->count(section); i++)
        fine &= read_field(host, host->at(section, i), settings);
    return fine;
}

/* --- the body */

static void set_body(struct settings *settings, weir_string body)
{
    settings->body = (char *)(uintptr_t)copy(body).bytes;
    settings->standard.size = body.length;
}

static bool read_body(const weir_configuration_host *host, const weir_section *with,
                      struct settings *settings)
{
    const weir_section *text = host->find(with, "body"), *file = host->find(with, "file"),
                       *size = host->find(with, "size");
    weir_string bytes;
    if (!!text + !!file + !!size > 1)
        return mistake(host, with, "body, file and size are three ways to say the same");
    if (settings->on_request && (text || file))
        return mistake(host, text ? text : file, "the query would say another size");
    settings->standard.size = host->number(size);
    if (file && !host->file(file, FILE_MOST, &bytes))
        return false;
    if (text || file)
        set_body(settings, text ? host->text(text) : bytes);
    if (!has_field(settings, "content-type"))
        add_field(settings, WEIR_STRING("Content-Type"),
                  text ? WEIR_STRING("text/plain; charset=utf-8")
                       : WEIR_STRING("application/octet-stream"));
    return true;
}

struct settings *settings_make(const weir_configuration_host *host, const weir_section *with)
{
    struct settings *settings = calloc(1, sizeof *settings);
    if (!settings)
        abort();
    settings->standard.status = host->number(host->find(with, "status"));
    settings->standard.delay_ms = host->number(host->find(with, "delay"));
    settings->most.status = 599;
    settings->most.size = host->number(host->find(with, "size_most"));
    settings->most.delay_ms = host->number(host->find(with, "delay_most"));
    settings->on_request = host->flag(host->find(with, "on_request"));
    settings->piece = (uint32_t)host->number(host->find(with, "piece"));
    settings->every_ms = (uint32_t)host->number(host->find(with, "every"));
    bool fine = read_fields(host, host->find(with, "fields"), settings);
    fine &= read_body(host, with, settings);
    if (settings->every_ms && !settings->piece)
        fine = mistake(host, host->find(with, "every"), "needs a piece: how much in that time");
    if (fine)
        return settings;
    settings_free(settings);
    return NULL;
}

void settings_free(struct settings *settings)
{
    for (uint32_t i = 0; i < settings->field_count; i++) {
        free((void *)(uintptr_t)settings->fields[i].name.bytes);
        free((void *)(uintptr_t)settings->fields[i].value.bytes);
    }
    free(settings->fields);
    free(settings->body);
    free(settings);
}
