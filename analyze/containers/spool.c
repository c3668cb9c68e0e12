/* SPDX-License-Identifier: Apache-2.0 */
/* Records on their way through a temporary file: a length of four bytes, then the bytes. */
#include "analyze/containers/spool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    TAIL_BYTES = 256 << 10,
    WINDOW_BYTES = 64 << 10,
    HEADER_BYTES = sizeof(uint32_t),
};

static int no_memory(struct diag *diag)
{
    return diag_set(diag, -ENOMEM, "no memory for the imported rows");
}

static int file_failed(const char *doing, struct diag *diag)
{
    int error = errno ? errno : EIO;

    return diag_set(diag, -error, "cannot %s a temporary file: %s", doing, strerror(error));
}

/* A file without a name, like tmpfile(), but of which only the descriptor stays. */
static int make_file(struct spool *spool, struct diag *diag)
{
    FILE *file = tmpfile();
    int rc = 0;

    spool->fd = file ? dup(fileno(file)) : -1;
    if (spool->fd < 0)
        rc = file_failed("make", diag);
    spool->has_file = spool->fd >= 0;
    if (file)
        fclose(file);
    return rc;
}

static int write_out(struct spool *spool, const char *bytes, size_t size, struct diag *diag)
{
    int rc = spool->has_file ? 0 : make_file(spool, diag);

    while (rc == 0 && size) {
        ssize_t done = pwrite(spool->fd, bytes, size, (off_t)spool->flushed);

        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return file_failed("write", diag);
        bytes += done;
        size -= (size_t)done;
        spool->flushed += (uint64_t)done;
    }
    return rc;
}

static int flush(struct spool *spool, struct diag *diag)
{
    int rc = write_out(spool, spool->tail, spool->tail_bytes, diag);

    spool->tail_bytes = 0;
    return rc;
}

int spool_add(struct spool *spool, const void *bytes, size_t size, uint64_t *out_offset,
              struct diag *diag)
{
    uint32_t header = (uint32_t)size;
    int rc = 0;

    if (!spool->tail && !(spool->tail = malloc(TAIL_BYTES)))
        return no_memory(diag);
    if (spool->tail_bytes + HEADER_BYTES + size > TAIL_BYTES && spool->tail_bytes)
        rc = flush(spool, diag);
    *out_offset = spool->flushed + spool->tail_bytes;
    if (rc < 0)
        return rc;
    if (HEADER_BYTES + size > TAIL_BYTES) {
        rc = write_out(spool, (const char *)&header, HEADER_BYTES, diag);
        return rc < 0 ? rc : write_out(spool, bytes, size, diag);
    }
    memcpy(spool->tail + spool->tail_bytes, &header, HEADER_BYTES);
    if (size)
        memcpy(spool->tail + spool->tail_bytes + HEADER_BYTES, bytes, size);
    spool->tail_bytes += HEADER_BYTES + size;
    return 0;
}

/* Makes the window hold `wanted` bytes from `offset` on, which are in the file. */
static int load(struct spool *spool, uint64_t offset, size_t wanted, struct diag *diag)
{
    size_t size = wanted > WINDOW_BYTES ? wanted : WINDOW_BYTES;

    if (offset >= spool->window_at &&
        offset + wanted <= spool->window_at + (uint64_t)spool->window_bytes)
        return 0;
    if (size > spool->window_capacity) {
        free(spool->window);
        spool->window_bytes = spool->window_capacity = 0;
        spool->window = malloc(size);
        if (!spool->window)
            return no_memory(diag);
        spool->window_capacity = size;
    }
    spool->window_at = offset;
    spool->window_bytes = 0;
    while (spool->window_bytes < wanted) {
        ssize_t done = pread(spool->fd, spool->window + spool->window_bytes,
                             size - spool->window_bytes, (off_t)(offset + spool->window_bytes));

        if (done < 0 && errno == EINTR)
            continue;
        errno = done < 0 ? errno : EIO;
        if (done <= 0)
            return file_failed("read", diag);
        spool->window_bytes += (size_t)done;
    }
    return 0;
}

int spool_read(struct spool *spool, uint64_t offset, const char **out_bytes, size_t *out_size,
               struct diag *diag)
{
    uint32_t header;
    int rc;

    if (offset >= spool->flushed) {
        const char *at = spool->tail + (offset - spool->flushed);

        memcpy(&header, at, HEADER_BYTES);
        *out_bytes = at + HEADER_BYTES;
        *out_size = header;
        return 0;
    }
    rc = load(spool, offset, HEADER_BYTES, diag);
    if (rc < 0)
        return rc;
    memcpy(&header, spool->window + (offset - spool->window_at), HEADER_BYTES);
    rc = load(spool, offset, HEADER_BYTES + (size_t)header, diag);
    *out_bytes = rc < 0 ? NULL : spool->window + (offset - spool->window_at) + HEADER_BYTES;
    *out_size = header;
    return rc;
}

void spool_deinit(struct spool *spool)
{
    if (spool->has_file)
        close(spool->fd);
    free(spool->tail);
    free(spool->window);
    *spool = (struct spool){0};
}
