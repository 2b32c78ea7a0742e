/* core/host/dictionary.c - query("weir.dictionary/0"): keys and values that all workers share
 *
 * A dictionary is in shards by its keys' hash, each with a lock, a table and a list by last use;
 * every operation is one step under one lock. What is out of date goes when it is met, or when it
 * has not been used for longest and room is needed. */
#include "core/host/dictionary.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>

#include "core/base/keyed_hash.h"
#include "core/base/list.h"
#include "core/base/memory.h"
#include "core/base/string.h"
#include "core/io/loop.h"

enum {
    SHARDS_MOST = 64, /* a power of 2, as all numbers of shards */
    SHARD_BYTES_LEAST = 65536,
    BUCKETS_FIRST = 16,
    OVERHEAD = 32, /* the allocator's, and an entry's part of the buckets */
    NUMBER_BYTES = 24
};

#define BURST_MOST 1e15 /* up to which a double counts exactly */

/* A bucket that fills by itself, seen from the other side. */
struct debt {
    double owed;    /* of the burst; less with time */
    uint64_t at_us; /* when that was so */
};

enum entry_kind { ENTRY_BYTES, ENTRY_COUNTER, ENTRY_DEBT };

struct entry {
    struct link link;   /* by last use */
    struct entry *next; /* in its bucket */
    uint64_t hash;
    uint64_t until_us; /* 0: for ever */
    enum entry_kind kind;
    uint32_t key_length;
    size_t value_length; /* of ENTRY_BYTES */
    union {
        int64_t counter;
        struct debt debt;
    } value;
    char bytes[]; /* the key, then the value */
};

struct shard {
    pthread_mutex_t lock;
    struct entry **buckets;
    size_t bucket_count, count;
    size_t used, most;  /* bytes */
    struct link by_use; /* last used first */
};

struct weir_dictionary {
    struct weir_dictionary *next;
    char *name;
    size_t shard_count;
    struct shard shards[];
};

/* --- entries; under their shard's lock */

static size_t size_of(const struct entry *entry)
{
    return sizeof *entry + OVERHEAD + entry->key_length + entry->value_length;
}

static struct entry **find_place(const struct shard *shard, weir_string key, uint64_t hash)
{
    struct entry **at = &shard->buckets[hash & (shard->bucket_count - 1)];
    for (; *at; at = &(*at)->next)
        if ((*at)->hash == hash &&
            string_equal((weir_string){(*at)->bytes, (*at)->key_length}, key))
            break;
    return at;
}

static void remove_at(struct shard *shard, struct entry **at)
{
    struct entry *entry = *at;
    *at = entry->next;
    link_remove(&entry->link);
    shard->used -= size_of(entry);
    shard->count--;
    memory_free(entry);
}

static void remove_entry(struct shard *shard, const struct entry *entry)
{
    struct entry **at = &shard->buckets[entry->hash & (shard->bucket_count - 1)];
    while (*at != entry)
        at = &(*at)->next;
    remove_at(shard, at);
}

static void make_room(struct shard *shard, size_t bytes)
{
    while (shard->used + bytes > shard->most && !link_alone(&shard->by_use))
        remove_entry(shard, CONTAINER(shard->by_use.previous, struct entry, link));
}

/* The entry, now the one used last; NULL: there is none any more. */
static struct entry *find(struct shard *shard, weir_string key, uint64_t hash, uint64_t now_us)
{
    struct entry **at = find_place(shard, key, hash), *entry = *at;
    if (entry && entry->until_us && entry->until_us <= now_us) {
        remove_at(shard, at);
        return NULL;
    }
    if (entry) {
        link_remove(&entry->link);
        link_insert(shard->by_use.next, &entry->link);
    }
    return entry;
}

static void grow(struct shard *shard)
{
    size_t before = shard->bucket_count;
    struct entry **old = shard->buckets;
    shard->bucket_count = before * 2;
    shard->buckets = memory_zeroed(shard->bucket_count * sizeof(struct entry *));
    for (size_t i = 0; i < before; i++) {
        for (struct entry *entry = old[i], *next; entry; entry = next) {
            struct entry **at = &shard->buckets[entry->hash & (shard->bucket_count - 1)];
            next = entry->next;
            entry->next = *at;
            *at = entry;
        }
    }
    memory_free(old);
}

static bool fits(const struct shard *shard, weir_string key, size_t value_length)
{
    size_t size = sizeof(struct entry) + OVERHEAD;
    return key.length <= UINT32_MAX && size <= shard->most && key.length <= shard->most - size &&
           value_length <= shard->most - size - key.length;
}

/* One of that key, which is not there. NULL: it is too large for the shard. */
static struct entry *add(struct shard *shard, weir_string key, uint64_t hash, size_t value_length)
{
    if (!fits(shard, key, value_length))
        return NULL;
    make_room(shard, sizeof(struct entry) + OVERHEAD + key.length + value_length);
    if (shard->count == shard->bucket_count)
        grow(shard);
    struct entry *entry = memory_allocate(sizeof *entry + key.length + value_length);
    struct entry **at = &shard->buckets[hash & (shard->bucket_count - 1)];
    *entry = (struct entry){.next = *at,
                            .hash = hash,
                            .key_length = (uint32_t)key.length,
                            .value_length = value_length};
    if (key.length)
        memcpy(entry->bytes, key.bytes, key.length);
    *at = entry;
    link_insert(shard->by_use.next, &entry->link);
    shard->used += size_of(entry);
    shard->count++;
    return entry;
}

/* --- dictionaries */

static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static struct weir_dictionary *all;

static void bound(struct weir_dictionary *dictionary, size_t bytes)
{
    for (size_t i = 0; i < dictionary->shard_count; i++) {
        struct shard *shard = &dictionary->shards[i];
        pthread_mutex_lock(&shard->lock);
        shard->most = bytes / dictionary->shard_count;
        make_room(shard, 0);
        pthread_mutex_unlock(&shard->lock);
    }
}

static struct weir_dictionary *make(weir_string name, size_t bytes)
{
    size_t count = 1;
    while (count < SHARDS_MOST && bytes / (count * 2) >= SHARD_BYTES_LEAST)
        count *= 2;
    struct weir_dictionary *made = memory_zeroed(sizeof *made + count * sizeof(struct shard));
    made->name = memory_copy_string(name);
    made->shard_count = count;
    for (size_t i = 0; i < count; i++) {
        struct shard *shard = &made->shards[i];
        pthread_mutex_init(&shard->lock, NULL);
        link_init(&shard->by_use);
        shard->bucket_count = BUCKETS_FIRST;
        shard->buckets = memory_zeroed(BUCKETS_FIRST * sizeof(struct entry *));
    }
    return made;
}

static weir_dictionary *dictionary_open(weir_string name, size_t bytes)
{
    pthread_mutex_lock(&all_lock);
    struct weir_dictionary *found = all;
    while (found && !string_equal(string_of(found->name), name))
        found = found->next;
    if (!found) {
        found = make(name, bytes);
        found->next = all;
        all = found;
    }
    bound(found, bytes);
    pthread_mutex_unlock(&all_lock);
    return found;
}

/* One operation: its shard, locked, and the entry, if there is one. */
struct step {
    struct shard *shard;
    struct entry *entry;
    weir_string key;
    uint64_t hash, now_us;
};

static struct step begin(weir_dictionary *dictionary, weir_string key)
{
    struct step step = {.key = key, .hash = keyed_hash(key), .now_us = loop_now_us(NULL)};
    step.shard = &dictionary->shards[step.hash >> 32 & (dictionary->shard_count - 1)];
    pthread_mutex_lock(&step.shard->lock);
    step.entry = find(step.shard, key, step.hash, step.now_us);
    return step;
}

static weir_result finish(const struct step *step, weir_result result)
{
    pthread_mutex_unlock(&step->shard->lock);
    return result;
}

static uint64_t time_of(const struct step *step, uint32_t time_ms)
{
    return time_ms ? step->now_us + (uint64_t)time_ms * 1000 : 0;
}

/* --- operations */

static void copy_out(const void *from, size_t length, void *value, size_t most, size_t *size)
{
    if (length && most)
        memcpy(value, from, length < most ? length : most);
    if (size)
        *size = length;
}

static weir_result dictionary_get(weir_dictionary *dictionary, weir_string key, void *value,
                                  size_t most, size_t *length)
{
    char digits[NUMBER_BYTES];
    struct step step = begin(dictionary, key);
    const struct entry *entry = step.entry;
    if (!entry)
        return finish(&step, WEIR_NOT_FOUND);
    if (entry->kind == ENTRY_DEBT)
        return finish(&step, WEIR_INVALID);
    if (entry->kind == ENTRY_COUNTER) {
        int count = snprintf(digits, sizeof digits, "%" PRId64, entry->value.counter);
        copy_out(digits, (size_t)count, value, most, length);
    } else {
        copy_out(entry->bytes + entry->key_length, entry->value_length, value, most, length);
    }
    return finish(&step, WEIR_OK);
}

static weir_result dictionary_set(weir_dictionary *dictionary, weir_string key, weir_string value,
                                  uint32_t time_ms, uint32_t if_absent)
{
    struct step step = begin(dictionary, key);
    if (step.entry && if_absent)
        return finish(&step, WEIR_ALREADY);
    if (!fits(step.shard, key, value.length))
        return finish(&step, WEIR_TOO_MUCH);
    if (step.entry)
        remove_entry(step.shard, step.entry);
    struct entry *entry = add(step.shard, key, step.hash, value.length);
    entry->until_us = time_of(&step, time_ms);
    if (value.length)
        memcpy(entry->bytes + key.length, value.bytes, value.length);
    return finish(&step, WEIR_OK);
}

static weir_result dictionary_remove(weir_dictionary *dictionary, weir_string key)
{
    struct step step = begin(dictionary, key);
    if (!step.entry)
        return finish(&step, WEIR_NOT_FOUND);
    remove_entry(step.shard, step.entry);
    return finish(&step, WEIR_OK);
}

/* The entry of that kind, made when there is none. NULL, and *rc: there is another, or no room. */
static struct entry *entry_of(struct step *step, enum entry_kind kind, weir_result *rc)
{
    *rc = step->entry && step->entry->kind != kind ? WEIR_INVALID : WEIR_OK;
    if (step->entry || *rc)
        return *rc ? NULL : step->entry;
    struct entry *entry = add(step->shard, step->key, step->hash, 0);
    *rc = entry ? WEIR_OK : WEIR_TOO_MUCH;
    if (entry)
        entry->kind = kind;
    return entry;
}

static weir_result dictionary_increment(weir_dictionary *dictionary, weir_string key, int64_t by,
                                        int64_t first, uint32_t time_ms, int64_t *value)
{
    weir_result rc;
    struct step step = begin(dictionary, key);
    struct entry *entry = entry_of(&step, ENTRY_COUNTER, &rc);
    if (!entry)
        return finish(&step, rc);
    if (!step.entry) {
        entry->value.counter = first;
        entry->until_us = time_of(&step, time_ms);
    }
    if (__builtin_add_overflow(entry->value.counter, by, &by))
        return finish(&step, WEIR_TOO_MUCH);
    entry->value.counter = by;
    if (value)
        *value = by;
    return finish(&step, WEIR_OK);
}

/* How long until so much less is owed; rounded up. */
static uint32_t milliseconds(double amount, double per_second)
{
    double wait = amount / per_second * 1000;
    if (wait >= UINT32_MAX)
        return UINT32_MAX;
    uint32_t whole = (uint32_t)wait;
    return whole + (whole < wait);
}

static double owed_now(const struct debt *debt, uint64_t now_us, double per_second)
{
    uint64_t since_us = now_us > debt->at_us ? now_us - debt->at_us : 0;
    double owed = debt->owed - (double)since_us * per_second / 1e6;
    return owed > 0 ? owed : 0;
}

static weir_result dictionary_rate(weir_dictionary *dictionary, weir_string key, double per_second,
                                   double burst, double cost, uint32_t *wait_ms)
{
    weir_result rc;
    if (!(per_second > 0 && cost >= 0 && cost <= burst && burst <= BURST_MOST))
        return WEIR_INVALID;
    struct step step = begin(dictionary, key);
    struct entry *entry = entry_of(&step, ENTRY_DEBT, &rc);
    if (!entry)
        return finish(&step, rc);
    double owed = owed_now(&entry->value.debt, step.now_us, per_second) + cost;
    double over = owed - burst * (1 + 1e-12);
    *wait_ms = over > 0 ? milliseconds(owed - burst, per_second) : 0;
    if (over <= 0) {
        entry->value.debt = (struct debt){owed, step.now_us};
        entry->until_us = step.now_us + 1000 * (uint64_t)milliseconds(owed, per_second) + 1000;
    }
    return finish(&step, WEIR_OK);
}

const weir_dictionary_host dictionary_host = {
    .size = sizeof dictionary_host,
    .open = dictionary_open,
    .get = dictionary_get,
    .set = dictionary_set,
    .remove = dictionary_remove,
    .increment = dictionary_increment,
    .rate = dictionary_rate,
};
