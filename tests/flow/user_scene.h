/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Other users, for scenarios that run as root: connections and commands under user ids that need
 * not exist, members of Debian's group "users" or of none. All functions fail the test on a system
 * error.
 */
#ifndef OPTRACE_TESTS_FLOW_USER_SCENE_H
#define OPTRACE_TESTS_FLOW_USER_SCENE_H

#include <stdbool.h>
#include <sys/types.h>

#include "tests/support/optraced.h"
#include "tests/support/raw_client.h"

#define USER_SCENE_GROUP "users"

extern gid_t user_scene_group; /* of user_scene_init() */

/** Returns NULL, or why such a test cannot run here. */
const char *user_scene_init(void);

/** A daemon whose socket is the group's, with these further arguments. */
void user_scene_start(struct optraced *daemon, const char *const *arguments);

/** Become a user with these groups until user_scene_be_root(). */
void user_scene_become(uid_t uid, gid_t first, const gid_t *groups, size_t count);
void user_scene_be_root(void);

/** Connect as a user who is in the group or not; says nothing. Returns false when it may not. */
bool user_scene_connect(struct raw_client *client, const struct optraced *daemon, uid_t uid,
                        bool is_member);

/** The command `optrace`, run by a user with this one group: it must end with this status and say
 *  that. The words end with NULL; wherever the program lies, it can be run. */
void user_scene_expect(uid_t uid, gid_t gid, const char *const *words, int status,
                       const char *text);

#define USER_SCENE_EXPECT(uid, gid, status, text, ...)                                             \
    user_scene_expect(uid, gid, (const char *const[]){__VA_ARGS__, NULL}, status, text)

#endif
