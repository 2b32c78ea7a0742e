/* plugins/auth-basic/checks.c - passwords that are being checked, on threads of their own */
#include "plugins/auth-basic/checks.h"

#include <crypt.h>

#include "plugins/auth-basic/allocate.h"

struct check {
    struct check *next;
    struct digest digest;
    struct waiter *waiters;
    weir_reference work;
};

/* What the other thread has; no other touches it meanwhile. */
struct job {
    struct check *check; /* to be found again; not looked at there */
    bool decoy;
    char hash[CRYPT_OUTPUT_SIZE];
    size_t secret_length;
    char secret[];
};

/* --- on the other thread */

static bool same(const char *one, const char *other, size_t length)
{
    uint8_t difference = 0;
    for (size_t i = 0; i < length; i++)
        difference |= (uint8_t)(one[i] ^ other[i]);
    return !difference;
}

/* crypt_rn() rather than crypt_r(): sanitizers replace the latter, and do not find the library's.
 */
static weir_result run_job(void *data)
{
    struct job *job = data;
    struct crypt_data *memory = allocate(1, sizeof *memory);
    size_t length = strlen(job->hash);
    const char *made = crypt_rn(job->secret, job->hash, memory, sizeof *memory);
    bool good = made && strlen(made) == length && same(made, job->hash, length) && !job->decoy &&
                !memchr(job->secret, 0, job->secret_length);
    explicit_bzero(memory, sizeof *memory);
    free(memory);
    return good ? WEIR_OK : WEIR_DENIED;
}

static void drop_job(void *data)
{
    struct job *job = data;
    explicit_bzero(job->secret, job->secret_length);
    free(job);
}

/* --- on the worker */

static struct job *make_job(const struct question *question, struct check *check)
{
    struct job *job = allocate(1, sizeof *job + question->secret.length + 1);
    job->check = check;
    job->decoy = question->decoy;
    memcpy(job->hash, question->hash, strlen(question->hash));
    job->secret_length = question->secret.length;
    if (job->secret_length)
        memcpy(job->secret, question->secret.bytes, job->secret_length);
    return job;
}

static struct check *find(const struct checks *checks, struct digest digest)
{
    struct check *check = checks->first;
    while (check && !digest_equal(check->digest, digest))
        check = check->next;
    return check;
}

static void remove_check(struct checks *checks, struct check *check)
{
    struct check **at = &checks->first;
    while (*at != check)
        at = &(*at)->next;
    *at = check->next;
    checks->count--;
    free(check);
}

/* NULL: too many are under way. */
static struct check *begin(struct checks *checks, const struct question *question)
{
    if (checks->count >= CHECKS_MOST)
        return NULL;
    struct check *check = allocate(1, sizeof *check);
    *check = (struct check){.next = checks->first, .digest = question->digest};
    checks->first = check;
    checks->count++;
    if (checks->host->work(checks->owner, run_job, 0, make_job(question, check), drop_job,
                           &check->work) >= 0)
        return check;
    remove_check(checks, check);
    return NULL;
}

weir_result checks_wait(struct checks *checks, const struct question *question,
                        struct waiter *waiter)
{
    struct check *check = find(checks, question->digest);
    check = check ? check : begin(checks, question);
    if (!check)
        return WEIR_TOO_MUCH;
    waiter->check = check;
    waiter->next = check->waiters;
    check->waiters = waiter;
    return WEIR_OK;
}

void checks_leave(struct checks *checks, struct waiter *waiter)
{
    struct check *check = waiter->check;
    if (!check)
        return;
    struct waiter **at = &check->waiters;
    while (*at != waiter)
        at = &(*at)->next;
    *at = waiter->next;
    waiter->check = NULL;
    if (check->waiters)
        return;
    checks->host->cancel(check->work);
    remove_check(checks, check);
}

bool checks_done(struct checks *checks, const weir_event *event, struct digest *digest, bool *good)
{
    const struct job *job = event->data;
    struct check *check = job->check;
    *digest = check->digest;
    *good = event->result == WEIR_OK;
    for (struct waiter *waiter = check->waiters; waiter; waiter = waiter->next) {
        waiter->check = NULL;
        checks->host->post(waiter->exchange, *good, NULL, NULL);
    }
    remove_check(checks, check);
    return event->result == WEIR_OK || event->result == WEIR_DENIED;
}

void checks_end(struct checks *checks)
{
    while (checks->first)
        remove_check(checks, checks->first);
}
