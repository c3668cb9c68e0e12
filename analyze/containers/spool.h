/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records that are written one after the other and read again later, in any order: in memory while
 * they are few, else in a temporary file without a name. One thread.
 *
 *     spool_add(&spool, bytes, size, &offset, diag), ..., spool_read(&spool, offset, &text, diag)
 *
 * {0} is an empty spool.
 */
#ifndef OPTRACE_ANALYZE_CONTAINERS_SPOOL_H
#define OPTRACE_ANALYZE_CONTAINERS_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

struct spool {
    bool has_file;
    int fd;
    uint64_t flushed; /* bytes in the file */
    char *tail;       /* what was not written to the file yet */
    size_t tail_bytes;
    char *window; /* what was read last */
    size_t window_capacity;
    uint64_t window_at;
    size_t window_bytes;
};

/** Returns 0, -ENOMEM, or the errno of writing the temporary file, with a sentence. A record has at
 *  most 4 GiB. */
int spool_add(struct spool *spool, const void *bytes, size_t size, uint64_t *out_offset,
              struct diag *diag);

/** The record that was added at that offset; valid until the next call. */
int spool_read(struct spool *spool, uint64_t offset, const char **out_bytes, size_t *out_size,
               struct diag *diag);

void spool_deinit(struct spool *spool);

#endif
