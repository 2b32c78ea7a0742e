/* core/process/privileges.c - who the process is, once what only root may do is done */
#include "core/process/privileges.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/log.h"
#include "core/base/string.h"

enum { ID_MOST = INT32_MAX };
#define NO_GROUP ((gid_t)-1)

static bool find_user(const char *text, struct account *account)
{
    uint64_t number;
    const struct passwd *found = getpwnam(text);
    if (!found && string_to_number(string_of(text), ID_MOST, &number)) {
        account->user = (uid_t)number;
        found = getpwuid(account->user);
        account->group = NO_GROUP;
    } else if (!found) {
        log_write(LOG_ERROR, "user: there is no user \"%s\"", text);
        return false;
    }
    if (found) {
        account->user = found->pw_uid;
        account->group = found->pw_gid;
        snprintf(account->name, sizeof account->name, "%s", found->pw_name);
    }
    return true;
}

static bool find_group(const char *text, struct account *account)
{
    uint64_t number;
    const struct group *found = getgrnam(text);
    if (found)
        account->group = found->gr_gid;
    else if (string_to_number(string_of(text), ID_MOST, &number))
        account->group = (gid_t)number;
    else
        log_write(LOG_ERROR, "group: there is no group \"%s\"", text);
    return account->group != NO_GROUP;
}

bool privileges_find(const struct snapshot *snapshot, struct account *account)
{
    *account = (struct account){.user = geteuid(), .group = getegid()};
    account->wanted = snapshot->user || snapshot->group;
    if (snapshot->user && !find_user(snapshot->user, account))
        return false;
    if (snapshot->group) {
        account->group = NO_GROUP;
        return find_group(snapshot->group, account);
    }
    if (account->group == NO_GROUP)
        log_write(LOG_ERROR, "user: %s has no account; say its group too", snapshot->user);
    return account->group != NO_GROUP;
}

static bool become(const struct account *account)
{
    int rc = account->name[0] ? initgroups(account->name, account->group)
                              : setgroups(1, &account->group);
    return rc == 0 && setresgid(account->group, account->group, account->group) == 0 &&
           setresuid(account->user, account->user, account->user) == 0;
}

/* Root comes back to whatever it likes; anybody else must not. */
static bool could_come_back(const struct account *account)
{
    return account->user != 0 && (setuid(0) == 0 || seteuid(0) == 0 ||
                                  (account->group != 0 && (setgid(0) == 0 || setegid(0) == 0)));
}

static bool is_already(const struct account *account)
{
    uid_t user, effective_user, saved_user;
    gid_t group, effective_group, saved_group;
    return getresuid(&user, &effective_user, &saved_user) == 0 &&
           getresgid(&group, &effective_group, &saved_group) == 0 && user == account->user &&
           effective_user == user && saved_user == user && group == account->group &&
           effective_group == group && saved_group == group;
}

bool privileges_drop(const struct account *account)
{
    if (!account->wanted || (geteuid() != 0 && is_already(account)))
        return true;
    if (!become(account)) {
        log_write(LOG_ERROR, "cannot become user %u and group %u: %s", account->user,
                  account->group, strerror(errno));
        return false;
    }
    if (could_come_back(account)) {
        log_write(LOG_ERROR, "the system would let user %u become root again", account->user);
        return false;
    }
    log_write(LOG_DEBUG, "now user %u and group %u", account->user, account->group);
    return true;
}
