/* SPDX-License-Identifier: Apache-2.0 */
/* Files are the same when device and inode are. */
#include "analyze/output_check.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schema/store/store.h"

/* What SQLite and the writer's lock make beside a database. */
static const char *const companions[] = {"-wal", "-shm", "-journal", "-lock"};

static bool is_same(const char *path, const struct stat *other)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && status.st_ino == other->st_ino &&
           status.st_dev == other->st_dev;
}

static int check_input(const char *path, const struct stat *output, const char *input,
                       struct diag *diag)
{
    char real[PATH_MAX], beside[PATH_MAX + 16];

    if (is_same(input, output))
        return diag_set(diag, -EINVAL, "%s is what is read: name another file to write to", path);
    if (!realpath(input, real))
        return 0;
    for (size_t i = 0; i < sizeof(companions) / sizeof(companions[0]); i++) {
        snprintf(beside, sizeof(beside), "%s%s", real, companions[i]);
        if (is_same(beside, output))
            return diag_set(diag, -EINVAL, "%s belongs to %s, which is read: name another file",
                            path, input);
    }
    return 0;
}

/* A file that is not there yet: whether it would be what SQLite looks for beside a store. */
static int check_new_file(const char *path, const char *input, struct diag *diag)
{
    char real[PATH_MAX], folder[PATH_MAX], beside[PATH_MAX + 16], wanted[2 * PATH_MAX];
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    char *copy = strndup(path, slash ? (size_t)(slash - path) + 1 : 0);
    bool is_known = copy && realpath(*copy ? copy : ".", folder) && realpath(input, real);

    free(copy);
    if (!is_known)
        return 0;
    snprintf(wanted, sizeof(wanted), "%s/%s", folder, name);
    for (size_t i = 0; i < sizeof(companions) / sizeof(companions[0]); i++) {
        snprintf(beside, sizeof(beside), "%s%s", real, companions[i]);
        if (strcmp(beside, wanted) == 0)
            return diag_set(diag, -EINVAL, "%s belongs to %s, which is read: name another file",
                            path, input);
    }
    return 0;
}

int output_check_inputs(const char *path, const char *const *inputs, size_t count,
                        struct diag *diag)
{
    struct stat status;
    bool is_there = stat(path, &status) == 0;
    int rc = 0;

    for (size_t i = 0; i < count && rc == 0; i++) {
        if (inputs[i])
            rc = is_there ? check_input(path, &status, inputs[i], diag)
                          : check_new_file(path, inputs[i], diag);
    }
    return rc;
}

static bool is_database(const char *path)
{
    static const char magic[] = "SQLite format 3";
    char head[sizeof(magic)];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool is = fd >= 0 && read(fd, head, sizeof(head)) == (ssize_t)sizeof(head) &&
              memcmp(head, magic, sizeof(head)) == 0;

    if (fd >= 0)
        close(fd);
    return is;
}

int output_check_store(const char *path, bool force, struct diag *diag)
{
    struct diag why = {0};

    if (!is_database(path))
        return 0;
    if (!force)
        return diag_set(diag, -EINVAL,
                        "%s is a store: name another file, or replace it with --force", path);
    if (store_check_writer(path, &why) < 0)
        return diag_set(diag, -EINVAL, "%s, so it is not replaced", why.text);
    return 0;
}
