/* SPDX-License-Identifier: Apache-2.0 */
/* Files of this process in folders where others make files, too. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whether others may make files beside it, and none of them is the folder's owner. The kernel asks
 * the same for fs.protected_symlinks and fs.protected_regular, where they are on. */
static bool is_put_there(const char *path, uid_t owner)
{
    const char *slash = strrchr(path, '/');
    char folder[PATH_MAX];
    struct stat info;

    if (!slash)
        snprintf(folder, sizeof(folder), ".");
    else if (snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path + 1), path) >= PATH_MAX)
        return true;
    if (stat(folder, &info) < 0 || info.st_uid == owner)
        return false;
    return info.st_mode & S_IWOTH || (info.st_mode & S_ISVTX && info.st_mode & S_IWGRP);
}

static int check_owner(const char *path, const struct stat *info, struct diag *diag)
{
    if ((!S_ISLNK(info->st_mode) && !S_ISREG(info->st_mode)) || info->st_uid == 0 ||
        info->st_uid == geteuid() || !is_put_there(path, info->st_uid))
        return 0;
    return diag_set(diag, -EPERM,
                    "%s is %s of user %u, in a folder where others may make files: remove it, or "
                    "choose another folder",
                    path, S_ISLNK(info->st_mode) ? "a symbolic link" : "a file",
                    (unsigned)info->st_uid);
}

int file_check_owner(const char *path, struct diag *diag)
{
    struct stat info;

    return lstat(path, &info) < 0 ? 0 : check_owner(path, &info, diag);
}

int file_open_own(const char *path, int flags, mode_t mode, struct diag *diag)
{
    int fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW, mode), rc;
    struct stat info;
    int error = fd < 0 ? errno : 0;

    /* A link of ours cannot become one of others where this question matters. */
    if (fd < 0 && (rc = file_check_owner(path, diag)) < 0)
        return rc;
    if (error == ELOOP) {
        fd = open(path, flags | O_CLOEXEC, mode);
        error = errno;
    }
    if (fd < 0)
        return diag_set(diag, -error, "cannot open %s: %s", path, strerror(error));
    rc = fstat(fd, &info) < 0 ? -errno : check_owner(path, &info, diag);
    if (rc < 0) {
        close(fd);
        return rc;
    }
    return fd;
}
