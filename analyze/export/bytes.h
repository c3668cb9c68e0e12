/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers as bytes, a few for each, in blocks that never move: for rows by the million that are
 * kept until they are written. {0}, bytes_put() and its like, then a reader from the start.
 */
#ifndef OPTRACE_ANALYZE_EXPORT_BYTES_H
#define OPTRACE_ANALYZE_EXPORT_BYTES_H

#include <stddef.h>
#include <stdint.h>

struct bytes_block;

struct bytes {
    struct bytes_block *first, *last;
};

struct bytes_reader {
    const struct bytes_block *block;
    size_t at;
};

/* The most that a number takes. */
enum { BYTES_OF_NUMBER = 10 };

/** Puts a number at `at`, small ones into few bytes, and returns where it ends. */
static inline uint8_t *bytes_number(uint8_t *at, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *at++ = (uint8_t)(value | 0x80);
    *at++ = (uint8_t)value;
    return at;
}

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
 *  bytes_next_number(). */
const uint8_t *bytes_row(struct bytes_reader *reader);
void bytes_pass(struct bytes_reader *reader, const uint8_t *end);
struct bytes_reader bytes_read(const struct bytes *bytes);

static inline uint64_t bytes_next_number(const uint8_t **at)
{
    uint64_t value = *(*at)++;

    if (value < 0x80)
        return value;
    value &= 0x7f;
    for (unsigned shift = 7;; shift += 7) {
        uint64_t byte = *(*at)++;

        value |= (byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
}

#endif
