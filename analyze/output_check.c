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

/* Where a file is, or would be; false where there is no such folder. */
static bool resolve(const char *path, char out_path[2 * PATH_MAX])
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    char *copy;
    bool is_known;

    if (realpath(path, folder)) {
        snprintf(out_path, 2 * PATH_MAX, "%s", folder);
        return true;
    }
    copy = strndup(path, slash ? (size_t)(slash - path) + 1 : 0);
    is_known = copy && realpath(*copy ? copy : ".", folder);
    free(copy);
    if (is_known)
        snprintf(out_path, 2 * PATH_MAX, "%s/%s", folder, slash ? slash + 1 : path);
    return is_known;
}

/* A file that is not there yet: whether it would be what SQLite looks for beside a store. */
static int check_new_file(const char *path, const char *input, struct diag *diag)
{
    char real[PATH_MAX], beside[PATH_MAX + 16], wanted[2 * PATH_MAX];

    if (!resolve(path, wanted) || !realpath(input, real))
        return 0;
    for (size_t i = 0; i < sizeof(companions) / sizeof(companions[0]); i++) {
        snprintf(beside, sizeof(beside), "%s%s", real, companions[i]);
        if (strcmp(beside, wanted) == 0)
            return diag_set(diag, -EINVAL, "%s belongs to %s, which is read: name another file",
                            path, input);
    }
    return 0;
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

/* Without its log, or the lock that keeps others away, a store that is being written is lost. */
static int check_companion(const char *path, struct diag *diag)
{
    char store[2 * PATH_MAX];
    size_t length, suffix;

    if (!resolve(path, store))
        return 0;
    length = strlen(store);
    for (size_t i = 0; i < sizeof(companions) / sizeof(companions[0]); i++) {
        suffix = strlen(companions[i]);
        if (length <= suffix || strcmp(store + length - suffix, companions[i]) != 0)
            continue;
        store[length - suffix] = '\0';
        return is_database(store)
                   ? diag_set(diag, -EINVAL, "%s belongs to the store %s: name another file", path,
                              store)
                   : 0;
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
    return rc == 0 ? check_companion(path, diag) : rc;
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
