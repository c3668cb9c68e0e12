/* SPDX-License-Identifier: Apache-2.0 */
/* Changing the effective user around connect(), and for a child for good. */
#include "tests/flow/user_scene.h"

#include <fcntl.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/check.h"
#include "tests/support/place.h"
#include "tests/support/wait.h"

enum { WORDS_MAX = 16, ARGUMENTS_MAX = 8 };

gid_t user_scene_group;

const char *user_scene_init(void)
{
    const struct group *group = getgrnam(USER_SCENE_GROUP);

    if (geteuid() != 0)
        return "only root can become other users";
    if (!group)
        return "there is no group '" USER_SCENE_GROUP "' here";
    user_scene_group = group->gr_gid;
    return NULL;
}

void user_scene_start(struct optraced *daemon, const char *const *arguments)
{
    const char *all[ARGUMENTS_MAX + 3] = {"--group", USER_SCENE_GROUP};

    for (size_t i = 0; arguments && arguments[i] && i < ARGUMENTS_MAX; i++)
        all[2 + i] = arguments[i];
    optraced_init(daemon);
    assert_int_equal(chmod(daemon->dir, 0711), 0);
    optraced_start(daemon, all);
}

void user_scene_become(uid_t uid, gid_t first, const gid_t *groups, size_t count)
{
    assert_int_equal(setgroups(count, groups), 0);
    assert_int_equal(setegid(first), 0);
    assert_int_equal(seteuid(uid), 0);
}

void user_scene_be_root(void)
{
    const gid_t none = 0;

    assert_int_equal(seteuid(0), 0);
    assert_int_equal(setegid(0), 0);
    assert_int_equal(setgroups(1, &none), 0);
}

/* What the kernel tells of a peer is what it was when it connected. */
bool user_scene_connect(struct raw_client *client, const struct optraced *daemon, uid_t uid,
                        bool is_member)
{
    const gid_t group = is_member ? user_scene_group : (gid_t)uid;
    bool is_connected;

    raw_init(client);
    user_scene_become(uid, uid, &group, 1);
    is_connected = raw_connect(client, daemon->socket);
    user_scene_be_root();
    return is_connected;
}

struct as_user {
    const char *const *argv;
    uid_t uid;
    gid_t gid;
};

static int run_as_user(void *context)
{
    const struct as_user *as = context;
    const int fd = open(as->argv[0], O_RDONLY);

    if (fd < 0 || setgroups(1, &as->gid) < 0 || setgid(as->gid) < 0 || setuid(as->uid) < 0)
        return 99;
    fexecve(fd, (char **)as->argv, environ);
    return 98;
}

void user_scene_expect(uid_t uid, gid_t gid, const char *const *words, int status, const char *text)
{
    char *program = place_program("client/cli/optrace");
    const char *argv[WORDS_MAX + 2] = {program};
    struct as_user as = {argv, uid, gid};
    struct child child;
    int ended;

    for (size_t i = 0; words[i] && i < WORDS_MAX; i++)
        argv[1 + i] = words[i];
    child_start_function(&child, run_as_user, &as);
    ended = child_wait(&child, WAIT_MS);
    if (ended != status || (!strstr(child.out, text) && !strstr(child.err, text)))
        fail_msg("user %d: status %d, not %d, with \"%s\": %s%s", (int)uid, ended, status, text,
                 child.out, child.err);
    child_deinit(&child);
    free(program);
}
