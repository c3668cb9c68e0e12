/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers as bytes, a few for each, in blocks that never move: for rows by the million that are
 * kept until they are written. {0}, bytes_put() and its like, then a reader from the start.
 */
#ifndef OPTRACE_ANALYZE_EXPORT_BYTES_H
#define OPTRACE_ANALYZE_EXPORT_BYTES_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/containers/packed_numbers.h"

struct bytes_block;

struct bytes {
    struct bytes_block *first, *last;
};

struct bytes_reader {
    const struct bytes_block *block;
    size_t at;
};

/** A number of either sign as one without. */
static inline uint64_t bytes_fold(int64_t value)
{
    return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

static inline int64_t bytes_unfold(uint64_t value)
{
    return (int64_t)(value >> 1 ^ -(value & 1));
}

/** How far one number is from another, and back: any two, as a difference may go round. */
static inline uint64_t bytes_step(int64_t from, int64_t to)
{
    return bytes_fold((int64_t)((uint64_t)to - (uint64_t)from));
}

static inline int64_t bytes_after(int64_t from, uint64_t step)
{
    return (int64_t)((uint64_t)from + (uint64_t)bytes_unfold(step));
}

/** Room for a row of at most so many bytes (below 4096), or NULL. It counts once bytes_commit() says
 *  where it ends. */
uint8_t *bytes_reserve(struct bytes *bytes, size_t most);
void bytes_commit(struct bytes *bytes, const uint8_t *end);
void bytes_deinit(struct bytes *bytes);

/** The next row, or NULL behind the last; bytes_pass() says where it ended. A row is read with
 *  packed_number_get(). */
const uint8_t *bytes_row(struct bytes_reader *reader);
void bytes_pass(struct bytes_reader *reader, const uint8_t *end);
struct bytes_reader bytes_read(const struct bytes *bytes);

#endif
