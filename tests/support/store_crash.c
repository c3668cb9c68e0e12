/* SPDX-License-Identifier: Apache-2.0 */
/* SQLite lets its system calls be replaced; this replaces the writes. */
#include "tests/support/store_crash.h"

#include <errno.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static uint64_t write_count, fatal_write, part_seed;
static int write_error;
static const char *failing_suffix;

static bool is_failing(int fd)
{
    char link[40], path[4096];
    size_t suffix_bytes = strlen(failing_suffix);
    ssize_t length;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    length = readlink(link, path, sizeof(path));
    return length >= (ssize_t)suffix_bytes &&
           memcmp(path + length - (ssize_t)suffix_bytes, failing_suffix, suffix_bytes) == 0;
}

static ssize_t write_or_die(int fd, const void *bytes, size_t size, off_t offset)
{
    write_count++;
    if (write_count == fatal_write) {
        ssize_t written = pwrite(fd, bytes, (size_t)(part_seed % (size + 1)), offset);

        (void)written;
        raise(SIGKILL);
    }
    if (write_error && is_failing(fd)) {
        ssize_t written = pwrite(fd, bytes, size / 2, offset);

        (void)written;
        errno = write_error;
        return -1;
    }
    return pwrite(fd, bytes, size, offset);
}

static void install(void)
{
    sqlite3_vfs *vfs;

    sqlite3_initialize();
    vfs = sqlite3_vfs_find(NULL);
    vfs->xSetSystemCall(vfs, "pwrite", (sqlite3_syscall_ptr)write_or_die);
    vfs->xSetSystemCall(vfs, "pwrite64", (sqlite3_syscall_ptr)write_or_die);
}

void store_crash_at_write(uint64_t write_number, uint64_t seed)
{
    fatal_write = write_number ? write_count + write_number : 0;
    part_seed = seed;
    install();
}

void store_crash_fail_writes(int error, const char *suffix)
{
    write_error = error;
    failing_suffix = suffix;
    install();
}

uint64_t store_crash_write_count(void)
{
    return write_count;
}
