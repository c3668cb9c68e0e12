/* SPDX-License-Identifier: Apache-2.0 */
/* The files around a store: its path, the directory above it, the lock that one writer holds. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "schema/store/private.h"

static int copy_path(char *out_path, size_t path_bytes, const char *directory, const char *name)
{
    int length = snprintf(out_path, path_bytes, "%s%s", directory, name);

    return length < 0 || (size_t)length >= path_bytes ? -ENAMETOOLONG : 0;
}

int store_default_path(char *out_path, size_t path_bytes)
{
    const char *store = getenv("OPTRACE_STORE");
    const char *state = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");

    if (store && store[0])
        return copy_path(out_path, path_bytes, store, "");
    if (state && state[0] == '/') /* the XDG rules: a relative one is to be ignored */
        return copy_path(out_path, path_bytes, state, "/optrace/optrace.db");
    if (home && home[0])
        return copy_path(out_path, path_bytes, home, "/.local/state/optrace/optrace.db");
    return copy_path(out_path, path_bytes, "/var/lib/optrace/optrace.db", "");
}

int store_check_path(const char *path, struct diag *diag)
{
    struct stat status;

    if (!path[0])
        return diag_set(diag, -ENOENT, "the path of the store is empty");
    if (strlen(path) + sizeof("-lock") > PATH_MAX)
        return diag_set(diag, -ENAMETOOLONG, "the path of the store is too long: %.60s...", path);
    if (stat(path, &status) < 0)
        return errno == ENOENT
                   ? 0
                   : diag_set(diag, -errno, "cannot open %s: %s", path, strerror(errno));
    if (S_ISDIR(status.st_mode))
        return diag_set(diag, -EISDIR, "%s is a directory, not a store", path);
    if (!S_ISREG(status.st_mode))
        return diag_set(diag, -EINVAL, "%s is not a regular file", path);
    return 0;
}

int store_check_owners(const char *path, struct diag *diag)
{
    static const char *const suffixes[] = {"", "-wal", "-shm", "-journal"};
    char name[PATH_MAX + 16];
    int rc = 0;

    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]) && rc == 0; i++) {
        snprintf(name, sizeof(name), "%s%s", path, suffixes[i]);
        rc = file_check_owner(name, diag);
    }
    return rc;
}

static int make_parents(const char *path, struct diag *diag)
{
    char parent[PATH_MAX];

    snprintf(parent, sizeof(parent), "%s", path);
    for (char *slash = strchr(parent + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(parent, 0700) < 0 && errno != EEXIST)
            return diag_set(diag, -errno, "cannot make the directory %s: %s", parent,
                            strerror(errno));
        *slash = '/';
    }
    return 0;
}

int store_make_file(const char *path, struct diag *diag)
{
    int rc = make_parents(path, diag);
    int fd;

    if (rc < 0)
        return rc;
    fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 && errno != EEXIST)
        return diag_set(diag, -errno, "cannot make %s: %s", path, strerror(errno));
    /* Only a file that was made here is ever closed here: closing any descriptor of a file drops
     * the locks that SQLite holds on it in this process. */
    if (fd >= 0)
        close(fd);
    return 0;
}

static int refuse_second_writer(int fd, const char *path, struct diag *diag)
{
    char text[32] = {0};
    ssize_t length = pread(fd, text, sizeof(text) - 1, 0);
    long pid = length > 0 ? strtol(text, NULL, 10) : 0;

    if (pid > 0)
        return diag_set(diag, -EBUSY, "process %ld is writing to %s already", pid, path);
    return diag_set(diag, -EBUSY, "another process is writing to %s already", path);
}

/* The lock is one of the open file description: it ends with the process however that ends, and it
 * also keeps out a second writer within this process. It is on a file of its own because SQLite's
 * own locks would not survive that the store is closed by another descriptor. */
int store_lock_take(const char *path, struct diag *diag)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    char real_path[PATH_MAX], lock_path[PATH_MAX + sizeof("-lock")];
    char text[32];
    ssize_t written;
    struct diag why = {0};
    int fd, length;

    /* One lock per store, by whatever link it is named. */
    if (!realpath(path, real_path))
        return diag_set(diag, -errno, "cannot lock %s for writing: %s", path, strerror(errno));
    snprintf(lock_path, sizeof(lock_path), "%s-lock", real_path);
    fd = file_open_own(lock_path, O_RDWR | O_CREAT, 0600, &why);
    if (fd < 0)
        return diag_set(diag, fd, "cannot lock %s for writing: %s", path, why.text);
    if (fcntl(fd, F_OFD_SETLK, &lock) < 0) {
        int rc =
            errno == EAGAIN || errno == EACCES
                ? refuse_second_writer(fd, path, diag)
                : diag_set(diag, -errno, "cannot lock %s for writing: %s", path, strerror(errno));

        close(fd);
        return rc;
    }
    /* The pid only serves the sentence above. On a full disk that says "another process". */
    length = snprintf(text, sizeof(text), "%ld\n", (long)getpid());
    written = ftruncate(fd, 0) < 0 ? -1 : pwrite(fd, text, (size_t)length, 0);
    (void)written;
    return fd;
}

bool store_is_in_place(struct store *store)
{
    char log_path[PATH_MAX + sizeof("-wal")];
    struct stat file, log;

    if (store->mode == STORE_MEMORY)
        return true;
    snprintf(log_path, sizeof(log_path), "%s-wal", store->path);
    if (stat(store->path, &file) < 0)
        return errno != ENOENT && errno != ENOTDIR && errno != ELOOP;
    if (store->file_ino == 0) {
        store->file_ino = file.st_ino;
        store->file_dev = file.st_dev;
    }
    if (file.st_ino != store->file_ino || file.st_dev != store->file_dev)
        return false;
    /* SQLite keeps the log while the file is open. By a symbolic link it has another name. */
    if (stat(log_path, &log) < 0)
        return store->log_ino == 0;
    if (store->log_ino == 0)
        store->log_ino = log.st_ino;
    return log.st_ino == store->log_ino;
}

int store_check_writer(const char *path, struct diag *diag)
{
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    char real_path[PATH_MAX], lock_path[PATH_MAX + sizeof("-lock")];
    int fd, rc = 0;

    if (!realpath(path, real_path))
        return diag_set(diag, -EBUSY, "cannot see who writes to %s: %s", path, strerror(errno));
    snprintf(lock_path, sizeof(lock_path), "%s-lock", real_path);
    fd = open(lock_path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 && errno == ENOENT)
        return 0;
    if (fd < 0 || fcntl(fd, F_OFD_GETLK, &lock) < 0)
        rc = diag_set(diag, -EBUSY, "cannot see who writes to %s: %s", path, strerror(errno));
    else if (lock.l_type != F_UNLCK)
        rc = refuse_second_writer(fd, path, diag);
    if (fd >= 0)
        close(fd);
    return rc;
}

bool store_has_writer(const struct store *store)
{
    struct diag diag = {0};

    if (store->mode == STORE_MEMORY)
        return false;
    return store->lock_fd >= 0 || store_check_writer(store->path, &diag) < 0;
}

void store_lock_release(int fd)
{
    if (fd >= 0)
        close(fd);
}
