/* codecs/tls/sessions.c - sessions of servers, to resume them: bounded, each used once */
#include "codecs/tls/sessions.h"

#include <stdbool.h>
#include <string.h>

#include "core/base/memory.h"

struct tls_session_entry {
    struct tls_session_entry *next;            /* in its bucket, newer ones first */
    struct tls_session_entry *older, *younger; /* of all */
    SSL_SESSION *session;
    char target[];
};

static struct tls_session_entry **bucket_of(struct tls_sessions *sessions, const char *target)
{
    uint32_t hash = 2166136261u;
    for (; *target; target++)
        hash = (hash ^ (uint8_t)*target) * 16777619u;
    return &sessions->buckets[(hash ^ hash >> 16) % TLS_SESSION_BUCKETS];
}

/* Unlinks it from its bucket, where *at points to it, and from the row of all. */
static SSL_SESSION *remove_at(struct tls_sessions *sessions, struct tls_session_entry **at)
{
    struct tls_session_entry *entry = *at;
    SSL_SESSION *session = entry->session;
    *at = entry->next;
    *(entry->older ? &entry->older->younger : &sessions->oldest) = entry->younger;
    *(entry->younger ? &entry->younger->older : &sessions->newest) = entry->older;
    sessions->count--;
    memory_free(entry);
    return session;
}

static void remove_oldest(struct tls_sessions *sessions)
{
    struct tls_session_entry **at = bucket_of(sessions, sessions->oldest->target);
    while (*at != sessions->oldest)
        at = &(*at)->next;
    SSL_SESSION_free(remove_at(sessions, at));
}

/* So many of one target are enough. */
static void thin_out(struct tls_sessions *sessions, const char *target)
{
    struct tls_session_entry **at = bucket_of(sessions, target);
    for (uint32_t seen = 0; *at;) {
        bool same = !strcmp((*at)->target, target);
        if (same && ++seen > TLS_SESSIONS_OF_TARGET)
            SSL_SESSION_free(remove_at(sessions, at));
        else
            at = &(*at)->next;
    }
}

void tls_sessions_put(struct tls_sessions *sessions, const char *target, SSL_SESSION *session)
{
    struct tls_session_entry **bucket = bucket_of(sessions, target);
    struct tls_session_entry *entry = memory_allocate(sizeof *entry + strlen(target) + 1);
    memcpy(entry->target, target, strlen(target) + 1);
    entry->session = session;
    entry->next = *bucket;
    entry->younger = NULL;
    entry->older = sessions->newest;
    *bucket = entry;
    *(sessions->newest ? &sessions->newest->younger : &sessions->oldest) = entry;
    sessions->newest = entry;
    sessions->count++;
    thin_out(sessions, target);
    if (sessions->count > TLS_SESSIONS_MOST)
        remove_oldest(sessions);
}

SSL_SESSION *tls_sessions_take(struct tls_sessions *sessions, const char *target)
{
    struct tls_session_entry **at = bucket_of(sessions, target);
    while (*at && strcmp((*at)->target, target) != 0)
        at = &(*at)->next;
    return *at ? remove_at(sessions, at) : NULL;
}

void tls_sessions_deinit(struct tls_sessions *sessions)
{
    while (sessions->oldest)
        remove_oldest(sessions);
}
