/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors of ours in somebody else's process. A program may close what it does not know, as
 * closefrom() does, and then open files of its own under the same numbers. So each use of a
 * descriptor that we keep asks first whether it is still ours, and ours lie where programs seldom
 * come: never below 3, and from 32 up where the limit allows it.
 *
 * What remains: another thread of the program that closes it between the question and the use, some
 * hundred nanoseconds later.
 */
#ifndef OPTRACE_CLIENT_FD_H
#define OPTRACE_CLIENT_FD_H

#include <stdbool.h>
#include <stdint.h>

/** A socket or a memfd: of these the kernel gives each an inode of its own. */
struct ot_fd {
    int number; /* -1: none */
    uint64_t device, inode;
};

#define OT_FD_NONE ((struct ot_fd){.number = -1})

/** Move a descriptor that was just opened to a high number. Takes it over, also when that fails:
 *  returns the new number, or a negative errno. It is closed on exec(). */
int ot_fd_move(int number);

/** The same, and note what it is. Returns 0 or a negative errno. */
int ot_fd_take(int number, struct ot_fd *out_fd);

/** A second number for it; none when it is not ours, or when there is no number left. */
struct ot_fd ot_fd_copy(const struct ot_fd *fd);

/** False also for none. A system call. */
bool ot_fd_is_ours(const struct ot_fd *fd);

/** Close it if it is still ours; it is none then. */
void ot_fd_close(struct ot_fd *fd);

#endif
