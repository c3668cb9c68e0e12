/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files in memory; files that must be one's own. */
#ifndef OPTRACE_BASE_FILE_H
#define OPTRACE_BASE_FILE_H

#include <stddef.h>
#include <sys/types.h>

#include "base/diag.h"

/**
 * Read a file as a whole. Pipes and devices that end are read too.
 *
 * limit_bytes  the largest size that is accepted
 * out_bytes    the contents with a NUL behind them; the caller frees it. Set only on success, like
 * out_size     the size without that NUL
 *
 * Returns 0, or with a sentence that names the path in diag: -ENOENT, -EACCES, -EISDIR, -EFBIG
 * (over the limit), -ENOMEM, or another errno of open() and read(). Blocks as read() does.
 */
int file_read(const char *path, size_t limit_bytes, char **out_bytes, size_t *out_size,
              struct diag *diag);

struct file_part {
    const void *bytes;
    size_t size;
};

/**
 * Write a new file beside `path`, of these parts one after the other, and put it in its place: who
 * reads sees the old file or the new one.
 *
 * Returns 0, or a negative errno with a sentence that names the path; the old file is as it was
 * then. Blocks until the disk has it.
 */
int file_replace(const char *path, const struct file_part *parts, size_t count, struct diag *diag);

/**
 * Whether somebody else has put there what is at this path, a symbolic link or a file: neither root
 * nor this user owns it, nor the owner of its folder, and the folder is one where others may make
 * files (all of them, or with the sticky bit a group).
 *
 * Returns 0, also when nothing is there, or -EPERM with a sentence.
 */
int file_check_owner(const char *path, struct diag *diag);

/**
 * open(), close-on-exec, of a file that file_check_owner() has nothing against, also when somebody
 * puts one there at the same moment.
 *
 * flags, mode  as for open()
 *
 * Returns the descriptor, or a negative errno with a sentence that names the path.
 */
int file_open_own(const char *path, int flags, mode_t mode, struct diag *diag);

#endif
