/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LD_PRELOAD: appends a byte to $SYNC_FAULT_LOG for each fsync() and fdatasync() of a write-ahead
 * log, and lets them fail with EIO while $SYNC_FAULT_FILE exists.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is_log(int fd)
{
    char link[64], path[4096];
    ssize_t length;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    length = readlink(link, path, sizeof(path) - 1);
    if (length < 0)
        return 0;
    path[length] = 0;
    return length > 4 && strcmp(path + length - 4, "-wal") == 0;
}

static int sync_or_fail(const char *name, int fd)
{
    int (*next)(int fd);
    const char *log = getenv("SYNC_FAULT_LOG"), *fault = getenv("SYNC_FAULT_FILE");
    int log_fd;

    *(void **)&next = dlsym(RTLD_NEXT, name);
    if (!is_log(fd))
        return next(fd);
    if (fault && access(fault, F_OK) == 0) {
        errno = EIO;
        return -1;
    }
    log_fd = log ? open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
    if (log_fd >= 0) {
        if (write(log_fd, ".", 1) != 1)
            abort();
        close(log_fd);
    }
    return next(fd);
}

int fsync(int fd)
{
    return sync_or_fail("fsync", fd);
}

int fdatasync(int fd)
{
    return sync_or_fail("fdatasync", fd);
}
