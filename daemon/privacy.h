/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which user may know of whom, and what is kept of a command line. docs/privacy.md has the rules.
 * Loop thread only.
 */
#ifndef OPTRACE_DAEMON_PRIVACY_H
#define OPTRACE_DAEMON_PRIVACY_H

#include <stdbool.h>
#include <sys/types.h>

#include "schema/wire/wire.h"

/** Whether this user sees and commands everybody's programs: root, and the daemon's own user. */
bool privacy_is_trusted(uid_t uid);

/** Whether user `peer` may see and command a program of user `owner`. */
bool privacy_may_see(uid_t peer, uid_t owner);

/**
 * Mask what looks like a secret in the command line of a HELLO, or take the line away.
 *
 * Returns the memory that hello->texts.command then points to: to be freed after its last use;
 * NULL when there is none.
 */
char *privacy_hide_command(struct ot_wire_hello_view *hello, bool keeps_commands);

#endif
