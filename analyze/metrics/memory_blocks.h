/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From memory taken and given back to blocks with a life: what was alive when, for whom. Pure: no
 * SQL, no printing.
 *
 * What is given back is the block of that address; where no address was recorded, the latest one of
 * that size. What is given back without having been taken was held since before the recording, and
 * so was what an allocator says it held before its first event, as far as that is more.
 */
#ifndef OPTRACE_ANALYZE_METRICS_MEMORY_BLOCKS_H
#define OPTRACE_ANALYZE_METRICS_MEMORY_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/query/spans.h"

#define MEMORY_BEFORE INT64_MIN /* taken before the recording */
#define MEMORY_NEVER  INT64_MAX /* not given back */

struct memory_block {
    uint32_t pool;              /* place in `pools` */
    uint32_t op, lane;          /* of who took it; SPAN_NONE: not known */
    int64_t bytes;              /* >= 0 */
    int64_t start_ns, end_ns;   /* or MEMORY_BEFORE, MEMORY_NEVER */
    int64_t start_row, end_row; /* places of the rows that say so, or the same */
    bool is_shown;              /* true; the caller may clear it */
};

/* The memory of one device, or of the host, in one session. */
struct memory_pool {
    int64_t session_id;
    const char *device; /* NULL: of the host */
    uint64_t row_count;
    uint64_t stray_count;   /* given back without having been taken */
    int64_t stray_bytes;    /* of them, where known */
    uint64_t retaken_count; /* taken at an address that had not been given back */
    uint64_t bare_count;    /* rows without an address */
    bool is_begun;          /* inside */
    int64_t base_bytes;     /* held before, as the first event says; 0: nothing, or not known */
};

struct memory_blocks {
    ARRAY_OF(struct memory_block) blocks;
    ARRAY_OF(struct memory_pool) pools;
};

/** rows: by time, of query_memory() on `spans`; totals: of query_memory_totals(), NULL: none.
 *  Returns 0 or -ENOMEM; for memory_blocks_deinit() after either. */
int memory_blocks_init(struct memory_blocks *out_blocks, const struct spans_answer *spans,
                       const struct memory_row_array *rows, const struct counter_row_array *totals);
void memory_blocks_deinit(struct memory_blocks *blocks);

/* A change of what is alive. */
struct memory_point {
    int64_t time_ns, row;
    uint32_t block;
    bool is_start;
};
struct memory_points ARRAY_FIELDS(struct memory_point);

/** Starts and ends of the blocks shown, in their order; what is held since before the recording or
 *  is never given back has no point there. Returns 0 or -ENOMEM. */
int memory_points_of(const struct memory_blocks *blocks, struct memory_points *out_points);

/** Bytes of a pool that are alive before the first point. */
int64_t memory_bytes_before(const struct memory_blocks *blocks, uint32_t pool);

struct memory_peak {
    int64_t bytes, time_ns;
    int64_t row; /* what starts at or before it and ends behind it is alive */
};

/** The highest sum of a pool at a time in [from, until), the earliest of equal ones; time_ns is
 *  from_ns where it is what the window begins with. Returns false when no point of the pool is
 *  before `until`. */
bool memory_find_peak(const struct memory_blocks *blocks, const struct memory_points *points,
                      uint32_t pool, int64_t from_ns, int64_t until_ns,
                      struct memory_peak *out_peak);

static inline bool memory_is_alive(const struct memory_block *block, int64_t row)
{
    return block->start_row <= row && block->end_row > row;
}

#endif
