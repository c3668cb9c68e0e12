/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files: read with a limit, written at once. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK_BYTES = 65536 }; /* for what does not tell its size: pipes, /proc */

struct contents {
    char *bytes;
    size_t size;
    size_t room; /* without the byte for the NUL */
};

static int too_large(const char *path, size_t limit_bytes, struct diag *diag)
{
    return diag_set(diag, -EFBIG, "'%s' is larger than the limit of %zu bytes", path, limit_bytes);
}

static int make_room(struct contents *contents, size_t room)
{
    char *grown = room < SIZE_MAX ? realloc(contents->bytes, room + 1) : NULL;

    if (!grown)
        return -ENOMEM;
    contents->bytes = grown;
    contents->room = room;
    return 0;
}

/* Read until the end or until one byte more than the limit is there. */
static int read_all(int fd, size_t limit_bytes, struct contents *contents)
{
    while (contents->size <= limit_bytes) {
        ssize_t got;

        if (contents->size == contents->room) {
            size_t step = contents->room > CHUNK_BYTES ? contents->room : CHUNK_BYTES;

            if (make_room(contents, contents->room + step) < 0)
                return -ENOMEM;
        }
        got = read(fd, contents->bytes + contents->size, contents->room - contents->size);
        if (got < 0 && errno != EINTR)
            return -errno;
        if (got == 0)
            return 0;
        if (got > 0)
            contents->size += (size_t)got;
    }
    return -EFBIG;
}

static int read_open(int fd, const char *path, size_t limit_bytes, struct contents *contents,
                     struct diag *diag)
{
    struct stat status;
    int rc;

    if (fstat(fd, &status) < 0)
        return diag_set(diag, -errno, "cannot read '%s': %s", path, strerror(errno));
    if (S_ISDIR(status.st_mode))
        return diag_set(diag, -EISDIR, "'%s' is a directory", path);
    if (S_ISREG(status.st_mode) && (uint64_t)status.st_size > limit_bytes)
        return too_large(path, limit_bytes, diag);
    /* One byte more than the size, so that the end is seen without growing once more. */
    rc = make_room(contents, S_ISREG(status.st_mode) ? (size_t)status.st_size + 1 : CHUNK_BYTES);
    if (rc == 0)
        rc = read_all(fd, limit_bytes, contents);
    if (rc == -EFBIG)
        return too_large(path, limit_bytes, diag);
    if (rc < 0)
        return diag_set(diag, rc, "cannot read '%s': %s", path, strerror(-rc));
    contents->bytes[contents->size] = '\0';
    return 0;
}

int file_read(const char *path, size_t limit_bytes, char **out_bytes, size_t *out_size,
              struct diag *diag)
{
    struct contents contents = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int rc;

    if (fd < 0)
        return diag_set(diag, -errno, "cannot read '%s': %s", path, strerror(errno));
    rc = read_open(fd, path, limit_bytes, &contents, diag);
    close(fd);
    if (rc < 0) {
        free(contents.bytes);
        return rc;
    }
    *out_bytes = contents.bytes;
    *out_size = contents.size;
    return 0;
}

static int write_all(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t count = write(fd, bytes, size);

        if (count < 0 && errno != EINTR)
            return -errno;
        bytes += count > 0 ? count : 0;
        size -= count > 0 ? (size_t)count : 0;
    }
    return 0;
}

static int write_parts(const char *path, const struct file_part *parts, size_t count)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    int rc = fd < 0 ? -errno : 0;

    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = write_all(fd, parts[i].bytes, parts[i].size);
    if (rc == 0 && fsync(fd) < 0)
        rc = -errno;
    if (fd >= 0 && close(fd) < 0 && rc == 0)
        rc = -errno;
    return rc;
}

int file_replace(const char *path, const struct file_part *parts, size_t count, struct diag *diag)
{
    char *temporary;
    int rc;

    if (asprintf(&temporary, "%s.%ld.tmp", path, (long)getpid()) < 0)
        return diag_set(diag, -ENOMEM, "out of memory");
    rc = write_parts(temporary, parts, count);
    if (rc == 0 && rename(temporary, path) < 0)
        rc = -errno;
    if (rc < 0)
        unlink(temporary);
    free(temporary);
    return rc < 0 ? diag_set(diag, rc, "cannot write %s: %s", path, strerror(-rc)) : 0;
}
