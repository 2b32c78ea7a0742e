/* core/host/plugin_metrics.c - query("weir.metrics/0"): what plugins count, and how it is shown
 *
 * A series, one combination of label values, is in its definition's list, under a lock. A worker
 * takes that lock when it meets a series first, and once more when there may be no more of them;
 * otherwise it finds its own cell in a table of its own. Who sums follows the list of its cells. */
#include "core/host/plugin_metrics.h"

#include <ctype.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "core/base/keyed_hash.h"
#include "core/base/memory.h"
#include "core/base/reference.h"
#include "core/base/string.h"
#include "core/base/worker.h"
#include "core/host/wrong_thread.h"

enum {
    DEFINITIONS_MOST = 1024,
    WORKERS_MOST = 1 << REFERENCE_WORKER_BITS,
    LABELS_MOST = 8,
    NAME_BYTES_MOST = 100,
    VALUE_BYTES_MOST = 128, /* of a label's value: the rest is cut off */
    KEY_BYTES_MOST = LABELS_MOST * (1 + VALUE_BYTES_MOST),
    SERIES_STANDARD = 1000,
    SERIES_MOST = 100000
};

struct series { /* all but the sum is constant */
    struct series *next;
    uint64_t hash;
    int64_t sum;  /* whoever shows it adds it up here */
    char *labels; /* as they are shown, with braces; "": none */
    size_t key_length;
    char key[]; /* the values, each behind its length */
};

struct cell { /* of a series on one worker, which alone writes it */
    struct cell *next, *next_in_bucket;
    struct series *series;
    _Atomic int64_t value;
};

struct counts {         /* of a metric on one worker, which alone uses them but for `first` */
    struct cell *first; /* of all cells; under the definition's lock */
    struct cell *other; /* NULL: not needed yet */
    bool all_known;     /* there will be no other series than those in the table */
    uint32_t bucket_count;
    struct cell *buckets[];
};

struct definition {
    uint32_t kind, label_count, series_most;
    char *name, *help;
    char *labels[LABELS_MOST];
    _Atomic(struct counts *) counts[WORKERS_MOST]; /* by the worker's index */
    pthread_mutex_t lock;                          /* of what follows */
    struct series *series, **last;
    uint32_t series_count;
    bool full; /* "other" is one of them from now on */
};

static _Atomic(struct definition *) definitions[DEFINITIONS_MOST];

static struct definition *definition_at(uint32_t id)
{
    return id < DEFINITIONS_MOST ? atomic_load_explicit(&definitions[id], memory_order_acquire)
                                 : NULL;
}

/* --- label values */

struct key {
    uint64_t hash;
    weir_string bytes;
    char buffer[KEY_BYTES_MOST];
};

static void make_key(struct key *key, const weir_string *values, uint32_t count)
{
    size_t length = 0;
    for (uint32_t i = 0; i < count; i++) {
        size_t most = values[i].length < VALUE_BYTES_MOST ? values[i].length : VALUE_BYTES_MOST;
        key->buffer[length++] = (char)most;
        if (most)
            memcpy(key->buffer + length, values[i].bytes, most);
        length += most;
    }
    key->bytes = (weir_string){key->buffer, length};
    key->hash = keyed_hash(key->bytes);
}

static void make_other_key(struct key *key, uint32_t count)
{
    weir_string values[LABELS_MOST];
    for (uint32_t i = 0; i < count; i++)
        values[i] = WEIR_STRING("other");
    make_key(key, values, count);
}

/* Valid UTF-8, in which a backslash before anything but another one has a meaning of its own. */
static void write_value(struct text *text, weir_string value)
{
    struct text shown = {0};
    text_escape(&shown, value, ESCAPE_QUOTED);
    for (size_t i = 0; i < shown.length; i++) {
        if (shown.bytes[i] == '\\' || shown.bytes[i] == '"')
            text_add(text, WEIR_STRING("\\"));
        text_add(text, (weir_string){shown.bytes + i, 1});
    }
    text_deinit(&shown);
}

static char *show_labels(const struct definition *definition, weir_string key)
{
    struct text text = {0};
    const char *at = key.bytes;
    for (uint32_t i = 0; i < definition->label_count; i++) {
        size_t length = (uint8_t)*at;
        text_format(&text, "%s%s=\"", i ? "," : "{", definition->labels[i]);
        write_value(&text, (weir_string){at + 1, length});
        text_add(&text, WEIR_STRING("\""));
        at += 1 + length;
    }
    if (definition->label_count)
        text_add(&text, WEIR_STRING("}"));
    char *labels = memory_copy_string(text_string(&text));
    text_deinit(&text);
    return labels;
}

/* --- series; under the definition's lock */

static struct series *series_add(struct definition *definition, const struct key *key)
{
    struct series *series = memory_zeroed(sizeof *series + key->bytes.length);
    series->hash = key->hash;
    series->key_length = key->bytes.length;
    if (key->bytes.length)
        memcpy(series->key, key->bytes.bytes, key->bytes.length);
    series->labels = show_labels(definition, key->bytes);
    *definition->last = series;
    definition->last = &series->next;
    definition->series_count++;
    return series;
}

static bool is_series(const struct series *series, const struct key *key)
{
    return series->hash == key->hash &&
           string_equal((weir_string){series->key, series->key_length}, key->bytes);
}

static struct series *series_find(const struct definition *definition, const struct key *key)
{
    struct series *series = definition->series;
    while (series && !is_series(series, key))
        series = series->next;
    return series;
}

/* NULL: it is one of the others. */
static struct series *series_of(struct definition *definition, const struct key *key)
{
    struct series *series = series_find(definition, key);
    if (series || definition->full)
        return series;
    definition->full = definition->series_count >= definition->series_most;
    return definition->full ? NULL : series_add(definition, key);
}

/* --- a worker's cells; added under the definition's lock */

static struct cell *cell_find(const struct counts *counts, const struct key *key)
{
    struct cell *cell = counts->buckets[key->hash & (counts->bucket_count - 1)];
    while (cell && !is_series(cell->series, key))
        cell = cell->next_in_bucket;
    return cell;
}

static struct cell *cell_add(struct counts *counts, struct series *series)
{
    struct cell *cell = memory_zeroed(sizeof *cell);
    struct cell **bucket = &counts->buckets[series->hash & (counts->bucket_count - 1)];
    cell->series = series;
    cell->next_in_bucket = *bucket;
    *bucket = cell;
    cell->next = counts->first;
    counts->first = cell;
    return cell;
}

static struct counts *counts_new(struct definition *definition, uint32_t worker)
{
    uint32_t buckets = 1;
    while (definition->label_count && buckets * 4 < definition->series_most)
        buckets *= 2;
    struct counts *counts = memory_zeroed(sizeof *counts + buckets * sizeof(struct cell *));
    counts->bucket_count = buckets;
    atomic_store_explicit(&definition->counts[worker], counts, memory_order_release);
    return counts;
}

/* The cell of the others; with it, the worker knows all series that there will be. */
static struct cell *meet_others(struct definition *definition, struct counts *counts)
{
    struct key key;
    make_other_key(&key, definition->label_count);
    if (!series_find(definition, &key))
        series_add(definition, &key);
    for (struct series *series = definition->series; series; series = series->next) {
        struct key known = {.hash = series->hash, .bytes = {series->key, series->key_length}};
        if (!cell_find(counts, &known))
            cell_add(counts, series);
    }
    counts->all_known = true;
    return counts->other = cell_find(counts, &key);
}

static struct cell *meet(struct definition *definition, struct counts *counts,
                         const struct key *key)
{
    if (counts->all_known)
        return counts->other;
    pthread_mutex_lock(&definition->lock);
    struct series *series = series_of(definition, key);
    struct cell *cell = series ? cell_add(counts, series) : meet_others(definition, counts);
    pthread_mutex_unlock(&definition->lock);
    return cell;
}

static void metrics_add(uint32_t id, int64_t value, const weir_string *label_values)
{
    struct key key;
    struct definition *definition = definition_at(id);
    if (!worker_current) {
        wrong_thread(WRONG_THREAD_CALLER, "add");
        return;
    }
    if (!definition || (definition->kind == WEIR_COUNTER && value < 0))
        return;
    uint32_t worker = worker_current->index;
    struct counts *counts = atomic_load_explicit(&definition->counts[worker], memory_order_relaxed);
    counts = counts ? counts : counts_new(definition, worker);
    make_key(&key, label_values, definition->label_count);
    struct cell *cell = cell_find(counts, &key);
    cell = cell ? cell : meet(definition, counts, &key);
    int64_t now = atomic_load_explicit(&cell->value, memory_order_relaxed);
    atomic_store_explicit(&cell->value, (int64_t)((uint64_t)now + (uint64_t)value),
                          memory_order_relaxed);
}

/* --- definitions */

static bool is_name(const char *name)
{
    if (!name || !(isalpha((unsigned char)*name) || *name == '_'))
        return false;
    size_t length = 1;
    while (isalnum((unsigned char)name[length]) || name[length] == '_')
        length++;
    return !name[length] && length <= NAME_BYTES_MOST;
}

static bool is_label(const weir_metric *metric, uint32_t index)
{
    const char *label = metric->labels[index];
    bool good = is_name(label) && strncmp(label, "__", 2) != 0;
    for (uint32_t i = 0; good && i < index; i++)
        good = strcmp(metric->labels[i], label) != 0;
    return good;
}

static const char *find_mistake(const weir_metric *metric)
{
    if (metric->kind > WEIR_GAUGE)
        return "is of no kind that this weir knows";
    if (metric->label_count > LABELS_MOST)
        return "has more than 8 labels";
    if (metric->series_most > SERIES_MOST)
        return "wants more than 100000 series";
    for (uint32_t i = 0; i < metric->label_count; i++)
        if (!is_label(metric, i))
            return "has a label whose name is wrong, reserved or used twice";
    return NULL;
}

static bool same(const struct definition *known, const weir_metric *metric)
{
    bool same = known->kind == metric->kind && known->label_count == metric->label_count;
    for (uint32_t i = 0; same && i < metric->label_count; i++)
        same = !strcmp(known->labels[i], metric->labels[i]);
    return same;
}

static struct definition *definition_new(const weir_metric *metric)
{
    struct definition *made = memory_zeroed(sizeof *made);
    made->kind = metric->kind;
    made->name = memory_copy_string(string_of(metric->name));
    made->help = memory_copy_string(string_of(metric->help ? metric->help : ""));
    made->series_most = metric->series_most ? metric->series_most : SERIES_STANDARD;
    made->label_count = metric->label_count;
    for (uint32_t i = 0; i < metric->label_count; i++)
        made->labels[i] = memory_copy_string(string_of(metric->labels[i]));
    pthread_mutex_init(&made->lock, NULL);
    made->last = &made->series;
    if (!made->label_count) { /* shown before anything was counted */
        struct key key;
        make_key(&key, NULL, 0);
        series_add(made, &key);
    }
    return made;
}

static weir_result refuse(const weir_host *host, const char *name, const char *why)
{
    struct text text = {0};
    text_format(&text, "the metric %s %s", name, why);
    host->log(host, WEIR_LOG_ERROR, text_string(&text));
    text_deinit(&text);
    return WEIR_INVALID;
}

/* Where it is, or the first free place. */
static uint32_t find_definition(const char *name)
{
    uint32_t id = 0;
    const struct definition *known;
    while ((known = definition_at(id)) && strcmp(known->name, name) != 0)
        id++;
    return id;
}

static weir_result metrics_define(const weir_host *host, const weir_metric *given, uint32_t *id)
{
    weir_metric metric = {0};
    if (given->size > sizeof metric || given->size < offsetof(weir_metric, series_most))
        return WEIR_INVALID;
    memcpy(&metric, given, given->size);
    if (!is_name(metric.name))
        return refuse(host, "of that name", "cannot be: letters, digits and _ make a name");
    const char *mistake = find_mistake(&metric);
    if (mistake)
        return refuse(host, metric.name, mistake);
    uint32_t at = find_definition(metric.name);
    const struct definition *known = definition_at(at);
    if (at == DEFINITIONS_MOST)
        return WEIR_TOO_MUCH;
    if (known && !same(known, &metric))
        return refuse(host, metric.name,
                      "is defined already, of another kind or with other labels");
    if (!known)
        atomic_store_explicit(&definitions[at], definition_new(&metric), memory_order_release);
    *id = at;
    return WEIR_OK;
}

const weir_metrics_host metrics_host = {
    .size = sizeof metrics_host,
    .define = metrics_define,
    .add = metrics_add,
};

/* --- showing; on the main thread */

static void write_head(struct text *text, const struct definition *definition)
{
    text_format(text, "# HELP weir_plugin_%s ", definition->name);
    for (const char *at = definition->help; *at; at++) {
        bool line = *at == '\n', doubled = *at == '\\';
        text_add(text, line      ? WEIR_STRING("\\n")
                       : doubled ? WEIR_STRING("\\\\")
                                 : (weir_string){at, 1});
    }
    text_format(text, "\n# TYPE weir_plugin_%s %s\n", definition->name,
                definition->kind == WEIR_GAUGE ? "gauge" : "counter");
}

static void add_up(struct definition *definition)
{
    for (struct series *series = definition->series; series; series = series->next)
        series->sum = 0;
    for (uint32_t i = 0; i < WORKERS_MOST; i++) {
        struct counts *counts = atomic_load_explicit(&definition->counts[i], memory_order_acquire);
        for (struct cell *cell = counts ? counts->first : NULL; cell; cell = cell->next)
            cell->series->sum += atomic_load_explicit(&cell->value, memory_order_relaxed);
    }
}

/* One of which nothing was counted yet is not there: it has labels, and nobody knows their values.
 */
static void write_definition(struct text *text, struct definition *definition)
{
    if (!definition->series)
        return;
    write_head(text, definition);
    add_up(definition);
    for (const struct series *series = definition->series; series; series = series->next)
        text_format(text, "weir_plugin_%s%s %" PRId64 "\n", definition->name, series->labels,
                    series->sum);
}

void plugin_metrics_write(struct text *text)
{
    struct definition *definition;
    for (uint32_t id = 0; (definition = definition_at(id)); id++) {
        pthread_mutex_lock(&definition->lock);
        write_definition(text, definition);
        pthread_mutex_unlock(&definition->lock);
    }
}
