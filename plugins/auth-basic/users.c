/* plugins/auth-basic/users.c - who may come in: names with the hashes of their passwords */
#include "plugins/auth-basic/users.h"

#include <crypt.h>
#include <stdbool.h>

#include "plugins/auth-basic/allocate.h"

enum { NAME_BYTES_MOST = 255, BCRYPT_TAIL = 53 };

#define REMEDY ": make a bcrypt hash with htpasswd -B"

struct user {
    weir_string name;
    char *hash; /* the name is in the same block, behind it */
};

struct users {
    struct user *list; /* by name, once that is finished */
    size_t count, room;
};

struct users *users_new(void)
{
    return allocate(1, sizeof(struct users));
}

void users_free(struct users *users)
{
    if (!users)
        return;
    for (size_t i = 0; i < users->count; i++)
        free(users->list[i].hash);
    free(users->list);
    free(users);
}

size_t users_count(const struct users *users)
{
    return users->count;
}

/* --- what may be added */

/* How hashes begin, how many $ they have, and how many characters behind the last one; or why they
 * are refused. */
static const struct kind {
    const char *prefix;
    size_t tail, least, most;
    const char *refusal;
} kinds[] = {
    {"$2y$", BCRYPT_TAIL, 3, 3, NULL}, /* cost, then salt and hash in one */
    {"$2b$", BCRYPT_TAIL, 3, 3, NULL},
    {"$2a$", BCRYPT_TAIL, 3, 3, NULL},
    {"$y$", 43, 4, 4, NULL}, /* cost, salt, hash */
    {"$gy$", 43, 4, 4, NULL},
    {"$7$", 43, 3, 3, NULL}, /* cost and salt in one, hash */
    {"$6$", 86, 3, 4, NULL}, /* rounds perhaps, salt, hash */
    {"$5$", 43, 3, 4, NULL},
    {.prefix = "$apr1$", .refusal = "has an MD5 hash ($apr1$), which is guessed too easily" REMEDY},
    {.prefix = "$1$", .refusal = "has an MD5 hash ($1$), which is guessed too easily" REMEDY},
    {.prefix = "{SHA}", .refusal = "has a {SHA} hash, which is guessed too easily" REMEDY},
    {.prefix = "{SSHA}", .refusal = "has an {SSHA} hash, which is guessed too easily" REMEDY},
};

static const char unknown[] = "has plain text or a hash that weir does not know" REMEDY;
static const char broken[] = "has a hash that is not whole" REMEDY;
static const char costly[] = "has a bcrypt hash whose cost is not 04 to 16" REMEDY;

static const struct kind *kind_of(const char *hash)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strncmp(hash, kinds[i].prefix, strlen(kinds[i].prefix)))
            return &kinds[i];
    return NULL;
}

/* A check that has begun is not stopped: it must be over some day. */
static bool is_bcrypt_cost(const char *text)
{
    bool low = text[0] == '0' && text[1] >= '4' && text[1] <= '9';
    return (low || (text[0] == '1' && text[1] >= '0' && text[1] <= '6')) && text[2] == '$';
}

static bool has_all_parts(const char *hash, const struct kind *kind)
{
    static const char digits[] = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    const char *tail = strrchr(hash, '$') + 1;
    size_t count = 0;
    for (const char *at = hash; (at = strchr(at, '$')); at++)
        count++;
    return count >= kind->least && count <= kind->most && !strstr(hash, "$$") &&
           strlen(tail) == kind->tail && strspn(tail, digits) == kind->tail;
}

static const char *check_hash(const char *hash)
{
    const struct kind *kind = kind_of(hash);
    if (!kind || kind->refusal)
        return kind ? kind->refusal : unknown;
    int judged = crypt_checksalt(hash);
    bool known = judged == CRYPT_SALT_OK || judged == CRYPT_SALT_METHOD_LEGACY;
    if (!known || !has_all_parts(hash, kind))
        return broken;
    return kind->tail == BCRYPT_TAIL && !is_bcrypt_cost(hash + 4) ? costly : NULL;
}

static const char *check_name(weir_string name)
{
    if (!name.length)
        return "has no name in front of the :";
    if (name.length > NAME_BYTES_MOST)
        return "has a name of more than 255 bytes";
    for (size_t i = 0; i < name.length; i++)
        if ((uint8_t)name.bytes[i] < ' ' || name.bytes[i] == 0x7f || name.bytes[i] == ':')
            return "has a name with : or a control character";
    return NULL;
}

static void add(struct users *users, weir_string name, weir_string hash)
{
    if (users->count == users->room) {
        users->room = users->room ? users->room * 2 : 16;
        users->list = realloc(users->list, users->room * sizeof *users->list);
        if (!users->list)
            abort();
    }
    char *block = allocate(hash.length + 1 + name.length + 1, 1);
    memcpy(block, hash.bytes, hash.length);
    memcpy(block + hash.length + 1, name.bytes, name.length);
    users->list[users->count++] = (struct user){{block + hash.length + 1, name.length}, block};
}

const char *users_add(struct users *users, weir_string name, weir_string hash)
{
    char text[CRYPT_OUTPUT_SIZE] = "";
    const char *wrong = check_name(name);
    if (wrong)
        return wrong;
    if (hash.length >= sizeof text || (hash.length && memchr(hash.bytes, 0, hash.length)))
        return unknown;
    if (hash.length)
        memcpy(text, hash.bytes, hash.length);
    wrong = check_hash(text);
    if (!wrong)
        add(users, name, hash);
    return wrong;
}

/* --- files */

static weir_string take_line(weir_string *rest)
{
    const char *end = memchr(rest->bytes, '\n', rest->length);
    weir_string line = {rest->bytes, end ? (size_t)(end - rest->bytes) : rest->length};
    size_t taken = line.length + (end != NULL);
    rest->bytes += taken;
    rest->length -= taken;
    if (line.length && line.bytes[line.length - 1] == '\r')
        line.length--;
    return line;
}

static const char *parse_line(struct users *users, weir_string line)
{
    if (!line.length || line.bytes[0] == '#')
        return NULL;
    const char *colon = memchr(line.bytes, ':', line.length);
    if (!colon)
        return "is not NAME:HASH, as htpasswd writes it";
    weir_string name = {line.bytes, (size_t)(colon - line.bytes)};
    return users_add(users, name, (weir_string){colon + 1, line.length - name.length - 1});
}

const char *users_parse(struct users *users, weir_string *rest, uint32_t *line)
{
    const char *wrong = NULL;
    while (!wrong && rest->length) {
        (*line)++;
        wrong = parse_line(users, take_line(rest));
    }
    return wrong;
}

/* --- finding */

static int compare(const void *first, const void *second)
{
    const weir_string *one = first, *other = second; /* a user begins with the name */
    size_t least = one->length < other->length ? one->length : other->length;
    int order = least ? memcmp(one->bytes, other->bytes, least) : 0;
    return order ? order : (one->length > other->length) - (one->length < other->length);
}

const char *users_finish(struct users *users)
{
    if (users->count)
        qsort(users->list, users->count, sizeof *users->list, compare);
    for (size_t i = 1; i < users->count; i++)
        if (!compare(&users->list[i - 1], &users->list[i]))
            return users->list[i].name.bytes;
    return NULL;
}

const char *users_find(const struct users *users, weir_string name)
{
    const struct user *found = NULL;
    if (users->count)
        found = bsearch(&name, users->list, users->count, sizeof *users->list, compare);
    return found ? found->hash : NULL;
}

const char *users_decoy(const struct users *users, uint64_t number)
{
    return users->count ? users->list[number % users->count].hash : NULL;
}
