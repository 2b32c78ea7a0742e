/* core/plugins/loader.c - from a plugin's file to its struct plugin */
#include "core/plugins/loader.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/breadcrumb.h"
#include "core/base/list.h"
#include "core/base/memory.h"
#include "core/base/string.h"
#include "core/io/post.h"
#include "core/plugins/copies.h"
#include "core/plugins/note.h"

enum { FILE_BYTES_MOST = 256 << 20 };

/* What is mapped. */
struct loaded {
    struct loaded *next;
    struct plugin *plugin;
    weir_plugin entry; /* of full size */
    char *copy;
    void *handle;
    struct posts_sweep sweep; /* once unload() was called */
    bool unloaded;
};

/* A plugin that is being opened. */
struct opening {
    const char *path;
    const struct registry *registry;
    char *mistake;
    weir_string bytes; /* of the file */
    struct note note;
};

static const weir_host *host;
static struct loaded *all;

static __attribute__((format(printf, 2, 3))) bool fail(const struct opening *opening,
                                                       const char *format, ...)
{
    va_list arguments;
    int length = snprintf(opening->mistake, PLUGIN_MISTAKE_BYTES, "%s: ", opening->path);
    if (length >= PLUGIN_MISTAKE_BYTES)
        return false;
    va_start(arguments, format);
    vsnprintf(opening->mistake + length, PLUGIN_MISTAKE_BYTES - (size_t)length, format, arguments);
    va_end(arguments);
    return false;
}

/* --- where it is */

bool loader_is_name(const char *path_or_name)
{
    size_t length = strlen(path_or_name);
    return !strchr(path_or_name, '/') &&
           (length < 3 || strcmp(path_or_name + length - 3, ".so") != 0);
}

char *loader_find(const char *path_or_name, const char *directory)
{
    if (!directory || !loader_is_name(path_or_name))
        return memory_copy_string(string_of(path_or_name));
    size_t size = strlen(directory) + strlen(path_or_name) + sizeof "/.so";
    char *path = memory_allocate(size);
    snprintf(path, size, "%s/%s.so", directory, path_or_name);
    return path;
}

/* --- its file */

static bool read_all(int descriptor, struct opening *opening, size_t length)
{
    char *bytes = memory_allocate(length ? length : 1);
    ssize_t got = 1;
    opening->bytes = (weir_string){bytes, 0};
    while (opening->bytes.length < length && got) {
        got = read(descriptor, bytes + opening->bytes.length, length - opening->bytes.length);
        if (got < 0 && errno != EINTR)
            return fail(opening, "cannot be read: %s", strerror(errno));
        opening->bytes.length += got > 0 ? (size_t)got : 0;
    }
    return true;
}

static bool read_file(struct opening *opening)
{
    struct stat status;
    int descriptor = open(opening->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0)
        return fail(opening, "cannot be read: %s", strerror(errno));
    bool fine = fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
                status.st_size <= FILE_BYTES_MOST;
    fine = fine ? read_all(descriptor, opening, (size_t)status.st_size)
                : fail(opening, "not a weir plugin: it is no file, or a huge one");
    close(descriptor);
    return fine;
}

/* --- whether it fits */

/* While the major is 0 a minor may change what was there before. */
enum { MINOR_LEAST = 3 };

static bool judge_note(struct opening *opening)
{
    struct note *note = &opening->note;
    const char *why = note_find((const uint8_t *)opening->bytes.bytes, opening->bytes.length, note);
    if (why)
        return fail(opening, "not a weir plugin: %s", why);
    if (note->abi_major != host->abi_major)
        return fail(opening,
                    "refused: built for weir ABI %u.%u, this is weir %s with ABI %u.%u; rebuild it "
                    "against weir's headers %u.x",
                    note->abi_major, note->abi_minor, host->version, host->abi_major,
                    host->abi_minor, host->abi_major);
    if (note->abi_minor < MINOR_LEAST)
        return fail(opening,
                    "refused: built for weir ABI %u.%u, a draft that has changed since, this is "
                    "weir %s with ABI %u.%u; rebuild it against weir's headers",
                    note->abi_major, note->abi_minor, host->version, host->abi_major,
                    host->abi_minor);
    if (note->needs_minor > host->abi_minor)
        return fail(opening,
                    "refused: needs weir ABI %u.%u or later, this is weir %s with ABI %u.%u; "
                    "upgrade weir",
                    note->abi_major, note->needs_minor, host->version, host->abi_major,
                    host->abi_minor);
    return true;
}

static bool serve(const struct opening *opening, weir_string needed)
{
    char *name = memory_copy_string(needed);
    bool served = host->query(host, name) != NULL;
    if (!served)
        fail(
            opening,
            "refused: needs interface %s, which this weir %s does not have; use a weir that has it",
            name, host->version);
    memory_free(name);
    return served;
}

static bool serve_needs(const struct opening *opening, const char *needs)
{
    bool served = true;
    while (needs && *needs && served) {
        size_t length = strcspn(needs, ", ");
        if (length)
            served = serve(opening, (weir_string){needs, length});
        needs += length + (needs[length] != 0);
    }
    return served;
}

/* --- its code */

static void forget(struct loaded *loaded)
{
    struct loaded **at = &all;
    while (*at && *at != loaded)
        at = &(*at)->next;
    if (*at)
        *at = loaded->next;
    if (loaded->plugin)
        plugin_free(loaded->plugin);
    memory_free(loaded->copy);
    memory_free(loaded);
}

/* What cannot be unmapped stays, and is nobody's any more. */
static void unmap(struct loaded *loaded)
{
    bool stays = loaded->handle && !(loaded->entry.flags & WEIR_PLUGIN_UNLOADABLE);
    if (loaded->handle && !stays)
        dlclose(loaded->handle);
    if (loaded->copy && !stays)
        copies_remove(loaded->copy);
    forget(loaded);
}

static void on_swept(struct posts_sweep *sweep)
{
    unmap(CONTAINER(sweep, struct loaded, sweep));
}

static void call_unload(struct loaded *loaded)
{
    loaded->unloaded = true;
    struct breadcrumb before = breadcrumb_leave(loaded->plugin->name, "unload", 0);
    if (loaded->entry.unload)
        loaded->entry.unload();
    breadcrumb_restore(before);
}

static struct loaded *loaded_of(const struct plugin *plugin)
{
    struct loaded *loaded = all;
    while (loaded->plugin != plugin)
        loaded = loaded->next;
    return loaded;
}

/* Connections may outlive every configuration that knew of their protocol. */
static void on_unused(struct plugin *plugin)
{
    struct loaded *loaded = loaded_of(plugin);
    if (plugin->protocols || !(loaded->entry.flags & WEIR_PLUGIN_UNLOADABLE))
        return;
    call_unload(loaded);
    posts_sweep(&loaded->sweep, on_swept); /* what its threads posted before they ended is dropped
                                              by its code */
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Its constructors run here. */
static bool map(const struct opening *opening, struct loaded *loaded)
{
    struct breadcrumb before = breadcrumb_leave(opening->path, "constructor", 0);
    loaded->handle = dlopen(loaded->copy, RTLD_NOW | RTLD_LOCAL);
    breadcrumb_restore(before);
    if (loaded->handle)
        return true;
    const char *why = dlerror();
    size_t length = strlen(loaded->copy);
    if (!strncmp(why, loaded->copy, length) && why[length] == ':')
        why += length + 1 + (why[length + 1] == ' ');
    return fail(opening, "cannot be loaded: %s; build it with all that it uses", why);
}

static bool take_entry(const struct opening *opening, struct loaded *loaded)
{
    const void *entry = dlsym(loaded->handle, "weir_plugin_entry");
    uint32_t size = opening->note.size;
    if (!entry || memcmp(entry, &opening->note, sizeof opening->note) != 0 ||
        size < offsetof(weir_plugin, unload))
        return fail(opening, "refused: its note and its entry differ, it is a corrupt or mixed "
                             "build; build all of it anew");
    memcpy(&loaded->entry, entry, size < sizeof loaded->entry ? size : sizeof loaded->entry);
    if (!loaded->entry.name || !*loaded->entry.name || !loaded->entry.load)
        return fail(opening, "refused: it has no name or no load(); see WEIR_PLUGIN in weir.h");
    return serve_needs(opening, loaded->entry.needs);
}

static bool run_load(const struct opening *opening, struct loaded *loaded)
{
    struct plugin *plugin = plugin_new(host, loaded->entry.name, opening->path);
    loaded->plugin = plugin;
    plugin->on_unused = on_unused;
    weir_result result = plugin_load(plugin, loaded->entry.load, opening->registry);
    if (result == WEIR_OK)
        return true;
    return plugin->mistake[0]
               ? fail(opening, "refused: %s", plugin->mistake)
               : fail(opening, "refused: its load() failed (%d); see what it says in the log",
                      result);
}

static struct plugin *open_new(const struct opening *opening)
{
    struct loaded *loaded = memory_zeroed(sizeof *loaded);
    char mistake[PLUGIN_MISTAKE_BYTES];
    loaded->copy = copies_make(base_name(opening->path), opening->bytes, mistake);
    bool fine = loaded->copy ? map(opening, loaded) : fail(opening, "%s", mistake);
    if (fine && take_entry(opening, loaded) && run_load(opening, loaded)) {
        loaded->next = all;
        all = loaded;
        return loaded->plugin;
    }
    unmap(loaded);
    return NULL;
}

/* --- the whole */

static struct plugin *find_known(const struct opening *opening)
{
    for (struct loaded *loaded = all; loaded; loaded = loaded->next)
        if (!loaded->unloaded && !strcmp(loaded->plugin->path, opening->path) &&
            copies_same(loaded->copy, opening->bytes))
            return plugin_reference(loaded->plugin);
    return NULL;
}

struct plugin *loader_open(const char *path, const struct registry *registry,
                           char mistake[PLUGIN_MISTAKE_BYTES])
{
    struct opening opening = {.path = path, .registry = registry, .mistake = mistake};
    struct plugin *plugin = NULL;
    if (!host)
        fail(&opening, "no plugins can be loaded here");
    else if (read_file(&opening) && !(plugin = find_known(&opening)) && judge_note(&opening))
        plugin = open_new(&opening);
    memory_free((void *)opening.bytes.bytes);
    return plugin;
}

const weir_plugin *loader_entry(const struct plugin *plugin)
{
    return &loaded_of(plugin)->entry;
}

void loader_start(const weir_host *given, const char *const *bases)
{
    host = given;
    copies_start(bases);
}

void loader_end(void)
{
    for (struct loaded *next, *loaded = all; loaded; loaded = next) {
        next = loaded->next;
        if (loaded->plugin->references)
            continue; /* somebody did not end: it is left alone */
        if (!loaded->unloaded)
            call_unload(loaded);
        forget(loaded);
    }
    copies_end();
    host = NULL;
}
