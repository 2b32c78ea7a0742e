/* core/io/dns.c - names to addresses on c-ares: cache, one lookup in flight a name, deadlines
 *
 * An entry is one name and family with its answer, once there is one, and the queries that wait for
 * it. c-ares gets a lookup, which lives until c-ares calls back; its entry may have given it up
 * before. c-ares may call back from inside any call into it, so the callback only stores: queries
 * are told when ares_process_fd() has returned, or by the timer. */
#include "core/io/dns.h"

#include <ares.h>
#include <assert.h>
#include <netdb.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/list.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/string.h"
#include "core/io/uv_loop.h"

enum {
    ROUND_TIMEOUT_MS = 1000, /* of the first round over the servers; doubles with each round */
    ROUNDS = 3,
    DEADLINE_MS = 9000, /* of a lookup, however many servers and search domains there are */
    TTL_LEAST_MS = 1000,
    TTL_MOST_MS = 3600 * 1000,
    HOSTS_TTL_MS = 5000,
    FAILURE_TTL_MS = 5000,
    NAME_BYTES_MOST = 255,
    KEPT_MOST = 1024,
    LOOKUPS_MOST = 2048,
    SERVERS_MOST = 8,
    DNS_PORT = 53,
    BUCKETS = 256 /* all entries in one of them, at worst, are still few enough to walk */
};

static const char resolv_conf[] = "/etc/resolv.conf";

struct dns {
    struct loop *loop;
    /* Opened for the first lookup, because each has tables for more of them than most ever have.
     * NULL: not yet, or could not be set up, logged. */
    ares_channel servers;
    ares_channel hosts; /* knows the hosts file only; answers from inside the call */
    bool opened;
    char *server_list; /* of dns_set_servers(), or NULL */
    struct stat configuration;
    struct link watches;
    struct wheel_entry timer;
    struct link buckets[BUCKETS];
    struct link asked;    /* entries in flight, oldest first */
    struct link answered; /* entries whose queries are still to be told */
    struct link kept;     /* entries that nobody waits for, the one unused for longest first */
    uint32_t kept_count, lookups;
};

struct key {
    uint32_t hash, length;
    int family;
    char name[NAME_BYTES_MOST + 1]; /* lower case */
};

struct entry {
    struct link bucket, order;
    struct link queries;
    struct lookup *lookup; /* in flight */
    uint64_t until_ms;     /* in flight: the deadline; then: how long the answer holds */
    struct address *addresses;
    uint32_t count;
    uint32_t hash, length;
    int family;
    bool kept;
    char name[];
};

struct lookup {
    struct dns *dns;
    struct entry *entry; /* NULL: given up */
};

struct dns_query {
    struct link link;
    void (*on_answer)(void *user, const struct dns_answer *answer);
    void *user;
};

struct watch { /* one socket of c-ares */
    struct link link;
    struct dns *dns;
    ares_socket_t socket;
    uv_poll_t poll;
};

/* --- entries */

static bool key_init(struct key *key, weir_string host, int family)
{
    struct address literal;
    if (host.length == 0 || host.length > NAME_BYTES_MOST || memchr(host.bytes, 0, host.length) ||
        address_from_literal(host, 0, &literal))
        return false;
    key->family = family;
    key->length = (uint32_t)host.length;
    key->hash = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < host.length; i++) {
        key->name[i] = character_lower(host.bytes[i]);
        key->hash = (key->hash ^ (uint8_t)key->name[i]) * 16777619u;
    }
    key->name[host.length] = 0;
    return true;
}

static struct entry *entry_find(struct dns *dns, const struct key *key)
{
    struct link *bucket = &dns->buckets[key->hash % BUCKETS];
    for (struct link *link = bucket->next; link != bucket; link = link->next) {
        struct entry *entry = CONTAINER(link, struct entry, bucket);
        if (entry->hash == key->hash && entry->family == key->family &&
            entry->length == key->length && !memcmp(entry->name, key->name, key->length))
            return entry;
    }
    return NULL;
}

static void entry_free(struct dns *dns, struct entry *entry)
{
    dns->kept_count -= entry->kept;
    link_remove(&entry->bucket);
    link_remove(&entry->order);
    while (!link_alone(&entry->queries))
        dns_cancel(CONTAINER(entry->queries.next, struct dns_query, link));
    memory_free(entry->addresses);
    memory_free(entry);
}

static struct entry *entry_new(struct dns *dns, const struct key *key)
{
    struct entry *entry = memory_zeroed(sizeof *entry + key->length + 1);
    entry->hash = key->hash;
    entry->family = key->family;
    entry->length = key->length;
    memcpy(entry->name, key->name, key->length + 1);
    link_init(&entry->queries);
    link_init(&entry->order);
    link_insert(&dns->buckets[key->hash % BUCKETS], &entry->bucket);
    return entry;
}

static void entry_move(struct dns *dns, struct entry *entry, struct link *list)
{
    dns->kept_count -= entry->kept;
    entry->kept = list == &dns->kept;
    dns->kept_count += entry->kept;
    link_remove(&entry->order);
    link_insert(list, &entry->order);
}

/* As the one used last. Another one may have to go. */
static void entry_keep(struct dns *dns, struct entry *entry)
{
    entry_move(dns, entry, &dns->kept);
    if (dns->kept_count > KEPT_MOST)
        entry_free(dns, CONTAINER(dns->kept.next, struct entry, order));
}

static void entry_copy_answer(const struct entry *entry, struct dns_answer *answer)
{
    answer->count = entry->count;
    if (entry->count)
        memcpy(answer->addresses, entry->addresses, entry->count * sizeof *entry->addresses);
}

static void copy_addresses(struct entry *entry, const struct ares_addrinfo *result)
{
    struct dns_answer answer = {.count = 0};
    for (const struct ares_addrinfo_node *node = result ? result->nodes : NULL; node;
         node = node->ai_next) {
        struct address *address = &answer.addresses[answer.count];
        if (node->ai_family != entry->family || node->ai_addrlen > sizeof *address)
            continue;
        memset(address, 0, sizeof *address);
        memcpy(address, node->ai_addr, node->ai_addrlen);
        if (++answer.count == DNS_ADDRESSES_MOST)
            break;
    }
    memory_free(entry->addresses);
    entry->addresses = NULL;
    entry->count = answer.count;
    if (answer.count) {
        entry->addresses = memory_allocate(answer.count * sizeof *entry->addresses);
        memcpy(entry->addresses, answer.addresses, answer.count * sizeof *entry->addresses);
    }
}

/* result may be NULL: a failure. */
static void entry_answer(struct dns *dns, struct entry *entry, const struct ares_addrinfo *result,
                         uint64_t hold_ms)
{
    entry->lookup = NULL;
    copy_addresses(entry, result);
    entry->until_ms = loop_now_ms(dns->loop) + hold_ms;
    if (link_alone(&entry->queries))
        entry_keep(dns, entry);
    else
        entry_move(dns, entry, &dns->answered);
}

/* --- lookups */

static uint64_t time_to_live_ms(const struct ares_addrinfo *result)
{
    int64_t least_ms = TTL_MOST_MS;
    for (const struct ares_addrinfo_node *node = result->nodes; node; node = node->ai_next)
        if (node->ai_ttl * (int64_t)1000 < least_ms)
            least_ms = node->ai_ttl * (int64_t)1000;
    for (const struct ares_addrinfo_cname *alias = result->cnames; alias; alias = alias->next)
        if (alias->ttl * (int64_t)1000 < least_ms)
            least_ms = alias->ttl * (int64_t)1000;
    return (uint64_t)(least_ms < TTL_LEAST_MS ? TTL_LEAST_MS : least_ms);
}

static uint64_t hold_ms(int status, const struct ares_addrinfo *result)
{
    if (status == ARES_EDESTRUCTION || status == ARES_ECANCELLED)
        return 0; /* the servers were replaced: nobody has answered */
    return status == ARES_SUCCESS && result && result->nodes ? time_to_live_ms(result)
                                                             : FAILURE_TTL_MS;
}

static void cb_lookup(void *user, int status, int timeouts, struct ares_addrinfo *result)
{
    struct lookup *lookup = user;
    (void)timeouts;
    if (lookup->entry)
        entry_answer(lookup->dns, lookup->entry, result, hold_ms(status, result));
    lookup->dns->lookups--;
    memory_free(lookup);
    if (result)
        ares_freeaddrinfo(result);
}

static void ask_servers(struct dns *dns, struct entry *entry)
{
    /* NOSORT: the server's order spreads load, and sorting opens a socket for each address. */
    struct ares_addrinfo_hints hints = {
        .ai_family = entry->family, .ai_flags = ARES_AI_NOSORT, .ai_socktype = SOCK_STREAM};
    if (!dns->servers) {
        entry_answer(dns, entry, NULL, FAILURE_TTL_MS);
        return;
    }
    struct lookup *lookup = memory_allocate(sizeof *lookup);
    *lookup = (struct lookup){dns, entry};
    dns->lookups++;
    entry->lookup = lookup;
    entry->until_ms = loop_now_ms(dns->loop) + DEADLINE_MS;
    entry_move(dns, entry, &dns->asked);
    ares_getaddrinfo(dns->servers, entry->name, NULL, &hints, cb_lookup, lookup);
}

static void cb_hosts(void *user, int status, int timeouts, struct ares_addrinfo *result)
{
    struct ares_addrinfo **found = user;
    (void)timeouts;
    if (status == ARES_SUCCESS)
        *found = result;
    else if (result)
        ares_freeaddrinfo(result);
}

/* Both families at once: a name of which the hosts file has only the other family's address has
 * none of this one, whatever the servers know. */
static bool answer_from_hosts(struct dns *dns, struct entry *entry)
{
    struct ares_addrinfo_hints hints = {.ai_family = AF_UNSPEC,
                                        .ai_flags = ARES_AI_NOSORT | ARES_AI_ENVHOSTS,
                                        .ai_socktype = SOCK_STREAM};
    struct ares_addrinfo *found = NULL;
    if (dns->hosts)
        ares_getaddrinfo(dns->hosts, entry->name, NULL, &hints, cb_hosts, &found);
    if (!found)
        return false;
    entry_answer(dns, entry, found, HOSTS_TTL_MS);
    ares_freeaddrinfo(found);
    return true;
}

static void give_up_overdue(struct dns *dns)
{
    while (!link_alone(&dns->asked)) {
        struct entry *entry = CONTAINER(dns->asked.next, struct entry, order);
        if (entry->until_ms > loop_now_ms(dns->loop))
            return;
        entry->lookup->entry = NULL;
        entry_answer(dns, entry, NULL, FAILURE_TTL_MS);
    }
}

/* --- telling */

static void tell(struct dns *dns, struct entry *entry)
{
    struct dns_answer answer;
    struct link told; /* its own list: a query that is told may ask again */
    entry_copy_answer(entry, &answer);
    link_init(&told);
    while (!link_alone(&entry->queries)) {
        struct link *link = entry->queries.next;
        link_remove(link);
        link_insert(&told, link);
    }
    entry_keep(dns, entry); /* from here on anybody may make it go */
    while (!link_alone(&told)) {
        struct dns_query query = *CONTAINER(told.next, struct dns_query, link);
        dns_cancel(CONTAINER(told.next, struct dns_query, link));
        query.on_answer(query.user, &answer);
    }
}

static void set_timer(struct dns *dns)
{
    uint64_t now_ms = loop_now_ms(dns->loop), next_ms = WHEEL_NEVER;
    struct timeval wait;
    if (dns->servers && ares_timeout(dns->servers, NULL, &wait))
        next_ms = now_ms + (uint64_t)wait.tv_sec * 1000 + (uint64_t)wait.tv_usec / 1000;
    if (!link_alone(&dns->asked)) {
        uint64_t deadline_ms = CONTAINER(dns->asked.next, struct entry, order)->until_ms;
        next_ms = deadline_ms < next_ms ? deadline_ms : next_ms;
    }
    if (!link_alone(&dns->answered))
        next_ms = now_ms;
    if (next_ms == WHEEL_NEVER)
        wheel_clear(&dns->timer);
    else
        wheel_set(loop_wheel(dns->loop), &dns->timer, next_ms);
}

/* ARES_SOCKET_BAD: no socket is ready, only timeouts are looked after. */
static void process(struct dns *dns, ares_socket_t readable, ares_socket_t writable)
{
    if (dns->servers)
        ares_process_fd(dns->servers, readable, writable);
    give_up_overdue(dns);
    while (!link_alone(&dns->answered))
        tell(dns, CONTAINER(dns->answered.next, struct entry, order));
    set_timer(dns);
}

static void on_timer(struct wheel_entry *timer)
{
    process(CONTAINER(timer, struct dns, timer), ARES_SOCKET_BAD, ARES_SOCKET_BAD);
}

/* --- c-ares' sockets */

static void cb_poll(uv_poll_t *poll, int status, int events)
{
    struct watch *watch = poll->data;
    if (status < 0)
        events = UV_READABLE | UV_WRITABLE; /* c-ares finds the error */
    process(watch->dns, events & UV_READABLE ? watch->socket : ARES_SOCKET_BAD,
            events & UV_WRITABLE ? watch->socket : ARES_SOCKET_BAD);
}

static void cb_watch_closed(uv_handle_t *handle)
{
    memory_free(handle->data);
}

static struct watch *watch_find(struct dns *dns, ares_socket_t socket)
{
    for (struct link *link = dns->watches.next; link != &dns->watches; link = link->next)
        if (CONTAINER(link, struct watch, link)->socket == socket)
            return CONTAINER(link, struct watch, link);
    return NULL;
}

static struct watch *watch_new(struct dns *dns, ares_socket_t socket)
{
    struct watch *watch = memory_zeroed(sizeof *watch);
    if (uv_poll_init(loop_uv(dns->loop), &watch->poll, socket) < 0) {
        memory_free(watch);
        return NULL;
    }
    watch->poll.data = watch;
    watch->dns = dns;
    watch->socket = socket;
    link_insert(&dns->watches, &watch->link);
    return watch;
}

static void watch_close(struct watch *watch)
{
    link_remove(&watch->link);
    uv_close((uv_handle_t *)&watch->poll, cb_watch_closed);
}

/* c-ares says what it wants to know about a socket; nothing: it closes it next. */
static void cb_socket(void *user, ares_socket_t socket, int readable, int writable)
{
    struct watch *watch = watch_find(user, socket);
    int events = (readable ? UV_READABLE : 0) | (writable ? UV_WRITABLE : 0);
    if (!events && watch)
        watch_close(watch);
    else if (events && (watch || (watch = watch_new(user, socket))))
        uv_poll_start(&watch->poll, events, cb_poll);
}

/* --- set up */

/* `lookups`: "b" asks servers, "f" reads the hosts file. NULL when c-ares cannot. */
static ares_channel channel_new(struct dns *dns, char *lookups, const char *configuration)
{
    ares_channel channel;
    char *path = memory_copy_string(string_of(configuration));
    struct ares_options options = {
        .flags = ARES_FLAG_NOALIASES, /* HOSTALIASES would be read for each name */
        .timeout = ROUND_TIMEOUT_MS,
        .tries = ROUNDS,
        .lookups = lookups,
        .resolvconf_path = path,
        .sock_state_cb = cb_socket,
        .sock_state_cb_data = dns,
    };
    int mask = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_LOOKUPS |
               ARES_OPT_RESOLVCONF | ARES_OPT_SOCK_STATE_CB;
#ifdef ARES_OPT_QUERY_CACHE
    mask |= ARES_OPT_QUERY_CACHE; /* qcache_max_ttl 0: no cache of its own, it knows no bounds */
#endif
    int status = ares_init_options(&channel, &options, mask);
    memory_free(path);
    if (status == ARES_SUCCESS)
        return channel;
    log_write(LOG_ERROR, "resolver: %s: %s", configuration, ares_strerror(status));
    return NULL;
}

/* What is in flight on the servers asked so far ends without an answer. */
static void servers_close(struct dns *dns)
{
    if (dns->servers)
        ares_destroy(dns->servers);
    dns->servers = NULL;
    dns->opened = false;
}

static void open_channels(struct dns *dns)
{
    char lookups[] = "b", hosts[] = "f";
    dns->opened = true;
    if (!dns->hosts)
        dns->hosts = channel_new(dns, hosts, "/dev/null");
    if (stat(resolv_conf, &dns->configuration) != 0)
        memset(&dns->configuration, 0, sizeof dns->configuration);
    dns->servers = channel_new(dns, lookups, resolv_conf);
    if (dns->servers && dns->server_list)
        ares_set_servers_ports_csv(dns->servers, dns->server_list);
}

static bool configuration_changed(struct dns *dns)
{
    struct stat now;
    if (dns->server_list || stat(resolv_conf, &now) != 0)
        return false;
    return now.st_dev != dns->configuration.st_dev || now.st_ino != dns->configuration.st_ino ||
           now.st_ctim.tv_sec != dns->configuration.st_ctim.tv_sec ||
           now.st_ctim.tv_nsec != dns->configuration.st_ctim.tv_nsec;
}

static void library_init(void)
{
    ares_library_init(ARES_LIB_INIT_ALL);
}

struct dns *dns_new(struct loop *loop)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct dns *dns = memory_zeroed(sizeof *dns);
    pthread_once(&once, library_init);
    dns->loop = loop;
    link_init(&dns->watches);
    link_init(&dns->asked);
    link_init(&dns->answered);
    link_init(&dns->kept);
    for (int i = 0; i < BUCKETS; i++)
        link_init(&dns->buckets[i]);
    wheel_entry_init(&dns->timer, on_timer);
    return dns;
}

static void entries_free(struct dns *dns, struct link *list)
{
    while (!link_alone(list))
        entry_free(dns, CONTAINER(list->next, struct entry, order));
}

void dns_free(struct dns *dns)
{
    servers_close(dns);
    if (dns->hosts)
        ares_destroy(dns->hosts);
    assert(link_alone(&dns->watches) && link_alone(&dns->asked));
    entries_free(dns, &dns->answered);
    entries_free(dns, &dns->kept);
    wheel_clear(&dns->timer);
    memory_free(dns->server_list);
    memory_free(dns);
}

/* Appends one element of the list, as c-ares takes it. */
static bool add_server(char *list, weir_string element)
{
    struct address address;
    size_t length = strlen(list);
    if (!address_from_literal(element, DNS_PORT, &address) &&
        (!address_parse(element, &address) || !address_port(&address)))
        return false;
    if (length)
        list[length++] = ',';
    address_format(&address, list + length);
    return true;
}

weir_result dns_set_servers(struct dns *dns, weir_string servers)
{
    char list[SERVERS_MOST * (ADDRESS_TEXT_BYTES + 1)] = "";
    weir_string rest = servers, element;
    uint32_t count = 0;
    for (; string_next_element(&rest, &element); count++)
        if (count == SERVERS_MOST || !add_server(list, element))
            return WEIR_INVALID;
    if (!count)
        return WEIR_INVALID;
    memory_free(dns->server_list);
    dns->server_list = memory_copy_string(string_of(list));
    servers_close(dns);
    set_timer(dns);
    return WEIR_OK;
}

/* --- resolving */

static bool is_localhost(weir_string host)
{
    static const weir_string name = {"localhost", 9};
    if (host.length && host.bytes[host.length - 1] == '.')
        host.length--;
    if (host.length < name.length)
        return false;
    weir_string last = {host.bytes + host.length - name.length, name.length};
    return string_equal_nocase(last, name) && (host.length == name.length || last.bytes[-1] == '.');
}

static void answer_loopback(int family, struct dns_answer *answer)
{
    weir_string literal = family == AF_INET6 ? WEIR_STRING("::1") : WEIR_STRING("127.0.0.1");
    answer->count = address_from_literal(literal, 0, &answer->addresses[0]);
}

/* Begins to find out, or has found out already. `entry` is the key's, or NULL; so is the result,
 * when too much is in flight. */
static struct entry *look_up(struct dns *dns, struct entry *entry, const struct key *key)
{
    if (dns->lookups >= LOOKUPS_MOST)
        return NULL;
    if (dns->opened && configuration_changed(dns))
        servers_close(dns);
    if (!dns->opened)
        open_channels(dns);
    if (!entry)
        entry = entry_new(dns, key);
    if (!answer_from_hosts(dns, entry))
        ask_servers(dns, entry);
    set_timer(dns);
    return entry;
}

static struct dns_query *query_new(struct entry *entry,
                                   void (*on_answer)(void *user, const struct dns_answer *answer),
                                   void *user)
{
    struct dns_query *query = memory_allocate(sizeof *query);
    query->on_answer = on_answer;
    query->user = user;
    link_insert(&entry->queries, &query->link);
    return query;
}

struct dns_query *dns_resolve(struct dns *dns, weir_string host, int family,
                              struct dns_answer *answer,
                              void (*on_answer)(void *user, const struct dns_answer *answer),
                              void *user)
{
    struct key key;
    TRACE();
    answer->count = 0;
    if (is_localhost(host)) {
        answer_loopback(family, answer);
        return NULL;
    }
    if (!key_init(&key, host, family))
        return NULL;
    struct entry *entry = entry_find(dns, &key);
    if (!entry || (!entry->lookup && entry->until_ms <= loop_now_ms(dns->loop)))
        entry = look_up(dns, entry, &key);
    if (!entry)
        return NULL;
    if (entry->lookup)
        return query_new(entry, on_answer, user);
    entry_copy_answer(entry, answer);
    if (link_alone(&entry->queries))
        entry_keep(dns, entry);
    return NULL;
}

void dns_cancel(struct dns_query *query)
{
    link_remove(&query->link);
    memory_free(query);
}
