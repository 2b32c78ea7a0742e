/* plugins/redirect/lookup.c - which rule a request meets, in a time that does not grow with them */
#include <string.h>

#include "plugins/redirect/path.h"
#include "plugins/redirect/rule_set.h"

struct lookup {
    struct matcher matcher;
    uint64_t over_limit;
    char location[LOCATION_MOST];
    char normal[3 * REQUEST_MOST + 1]; /* with room for a slash more */
    char host[HOST_MOST];
    uint64_t hashes[]; /* of the beginnings of a path, up to the longest that is asked for */
};

struct lookup *lookup_new(const struct rules *rules)
{
    struct lookup *lookup =
        redirect_resize(NULL, sizeof *lookup + (rules->longest + 1) * sizeof *lookup->hashes);
    lookup->over_limit = 0;
    matcher_init(&lookup->matcher);
    return lookup;
}

void lookup_free(struct lookup *lookup)
{
    if (!lookup)
        return;
    matcher_deinit(&lookup->matcher);
    redirect_resize(lookup, 0);
}

uint64_t lookup_over_limit(const struct lookup *lookup)
{
    return lookup->over_limit;
}

/* One request that is looked up. */
struct search {
    const struct rules *rules;
    struct lookup *lookup;
    weir_string path; /* in its normal form */
    weir_string host;
    struct target_source source;
    struct rule_answer *answer;
};

/* --- one rule */

static bool answer_with(struct search *search, const struct rule *rule)
{
    weir_string location = {search->lookup->location, 0};
    if (rule->has_target) {
        location.length = target_write(&rule->target, &search->rules->pool, &search->source,
                                       search->lookup->location);
        if (!location.length)
            return false;
    }
    *search->answer = (struct rule_answer){rule->number, rule->status, location};
    return true;
}

static bool conditions_hold(const struct search *search, const struct rule *rule)
{
    return query_holds(&rule->conditions, &search->rules->pool, search->source.query);
}

static bool try_pattern(struct search *search, const struct rule *rule)
{
    if (!conditions_hold(search, rule))
        return false;
    enum pattern_answer found =
        pattern_match(search->rules->patterns[rule->pattern], &search->lookup->matcher,
                      search->path, &search->source.groups);
    search->lookup->over_limit += found == PATTERN_OVER_LIMIT;
    return found == PATTERN_MATCHES && answer_with(search, rule);
}

/* --- the rules of one host */

static struct index_key *find(const struct search *search, uint8_t kind, uint32_t host,
                              weir_string bytes)
{
    return index_find(&search->rules->index, &search->rules->pool, kind, host, bytes,
                      index_hash(kind, bytes));
}

/* So many bytes of the path, by the hash that is known. */
static struct index_key *find_beginning(const struct search *search, uint8_t kind, uint32_t host,
                                        size_t length)
{
    return index_find(&search->rules->index, &search->rules->pool, kind, host,
                      (weir_string){search->path.bytes, length}, search->lookup->hashes[length]);
}

static const struct rule *rule_of(const struct search *search, uint32_t place)
{
    return place == INDEX_NONE ? NULL : rule_at(search->rules, place);
}

static bool try_all(struct search *search, uint32_t first)
{
    for (const struct rule *rule = rule_of(search, first); rule; rule = rule_of(search, rule->next))
        if (conditions_hold(search, rule) && answer_with(search, rule))
            return true;
    return false;
}

static bool try_exact(struct search *search, uint32_t host)
{
    search->source.groups = NULL;
    search->source.tail.length = 0;
    if (search->path.length > search->rules->hosts[host].exact_longest)
        return false;
    const struct index_key *key = find(search, EXACT, host, search->path);
    return key && try_all(search, key->first);
}

/* What is behind so many bytes of the path, as it came. */
static weir_string tail(const struct search *search, size_t length)
{
    weir_string raw = search->source.path;
    size_t offset = search->source.path_is_normal ? length : path_raw_offset(raw, length);
    offset = offset < raw.length ? offset : raw.length;
    return (weir_string){raw.bytes + offset, raw.length - offset};
}

/* A prefix ends where a segment does. */
static bool segment_ends(weir_string path, size_t length)
{
    return length == path.length || path.bytes[length] == '/' || path.bytes[length - 1] == '/';
}

static bool try_prefixes(struct search *search, uint32_t host)
{
    size_t longest = search->rules->hosts[host].prefix_longest;
    size_t length = search->path.length < longest ? search->path.length : longest;
    for (; length; length--) {
        if (!segment_ends(search->path, length))
            continue;
        const struct index_key *key = find_beginning(search, PREFIX, host, length);
        if (!key)
            continue;
        search->source.tail = tail(search, length);
        if (try_all(search, key->first))
            return true;
    }
    return false;
}

/* The lists of patterns whose beginning is the path's. */
static uint32_t collect_patterns(const struct search *search, uint32_t host,
                                 const struct rule **lists)
{
    uint32_t count = 0;
    for (uint32_t left = search->rules->hosts[host].beginnings; left; left &= left - 1) {
        size_t length = (size_t)__builtin_ctz(left);
        const struct index_key *key =
            length <= search->path.length ? find_beginning(search, PATTERN, host, length) : NULL;
        if (key)
            lists[count++] = rule_of(search, key->first);
    }
    return count;
}

/* The rule of the least number of them all, whose list moves on. */
static const struct rule *next_pattern(const struct search *search, const struct rule **lists,
                                       uint32_t *count)
{
    uint32_t least = 0;
    for (uint32_t i = 1; i < *count; i++)
        if (lists[i]->number < lists[least]->number)
            least = i;
    const struct rule *rule = lists[least];
    lists[least] = rule_of(search, rule->next);
    if (!lists[least])
        lists[least] = lists[--*count];
    return rule;
}

static bool try_patterns(struct search *search, uint32_t host)
{
    const struct rule *lists[PATTERN_BEGINNING + 1];
    uint32_t count = collect_patterns(search, host, lists);
    search->source.tail.length = 0;
    while (count)
        if (try_pattern(search, next_pattern(search, lists, &count)))
            return true;
    return false;
}

static bool try_host(struct search *search, uint32_t host)
{
    return try_exact(search, host) || try_prefixes(search, host) || try_patterns(search, host);
}

/* --- all hosts */

static bool try_host_key(struct search *search, uint8_t kind, weir_string name)
{
    const struct index_key *key = find(search, kind, 0, name);
    return key && try_host(search, key->first);
}

/* Its ends that begin with a dot, the longest first. */
static bool try_wildcards(struct search *search)
{
    weir_string host = search->host;
    for (size_t at = 1; at < host.length; at++) {
        weir_string end = {host.bytes + at, host.length - at};
        if (*end.bytes == '.' && end.length <= search->rules->wildcard_longest &&
            try_host_key(search, WILDCARD, end))
            return true;
    }
    return false;
}

static void hash_beginnings(struct search *search)
{
    uint64_t hash = INDEX_HASH_EMPTY, *hashes = search->lookup->hashes;
    weir_string path = search->path;
    size_t most = path.length < search->rules->longest ? path.length : search->rules->longest;
    hashes[0] = hash;
    for (size_t i = 0; i < most; i++)
        hashes[i + 1] = hash = index_hash_byte(hash, path.bytes[i]);
}

static bool try_path(struct search *search)
{
    hash_beginnings(search);
    if (search->rules->host_count > 1 &&
        (try_host_key(search, HOST, search->host) || try_wildcards(search)))
        return true;
    return try_host(search, ANY_HOST);
}

/* --- the request */

static void copy_path(struct search *search)
{
    char *normal = search->lookup->normal;
    memmove(normal, search->path.bytes, search->path.length);
    search->path.bytes = normal;
}

/* With or without its last slash; "/" has no other form. */
static bool try_other_slash(struct search *search)
{
    weir_string *path = &search->path;
    if (path->length < 2)
        return false;
    if (path->bytes[path->length - 1] == '/') {
        path->length--;
        return try_path(search);
    }
    copy_path(search);
    search->lookup->normal[path->length++] = '/';
    return try_path(search);
}

static void split(struct search *search, weir_string target)
{
    const char *mark = memchr(target.bytes, '?', target.length);
    size_t length = mark ? (size_t)(mark - target.bytes) : target.length;
    struct target_source *source = &search->source;
    source->path = (weir_string){target.bytes, length};
    if (mark)
        source->query = (weir_string){mark + 1, target.length - length - 1};
    source->path_is_normal = path_is_normal(source->path);
    search->path = source->path;
    if (!source->path_is_normal) {
        search->path.bytes = search->lookup->normal;
        search->path.length = path_normalize(source->path, search->lookup->normal);
    }
}

bool rules_find(const struct rules *rules, struct lookup *lookup, weir_string authority,
                weir_string target, struct rule_answer *answer)
{
    struct search search = {.rules = rules, .lookup = lookup, .answer = answer};
    if (!target.length || target.bytes[0] != '/' || target.length > REQUEST_MOST)
        return false;
    split(&search, target);
    if (rules->host_count > 1)
        search.host = (weir_string){lookup->host, path_host(authority, lookup->host)};
    return try_path(&search) || (rules->trailing_slash && try_other_slash(&search));
}
