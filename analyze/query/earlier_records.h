/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that recorded an event, which streams of later parts may wait for: a part in which something waits for
 * one of them has that behind its spans (spans_answer.earlier_count). The last ones are kept as they are, those
 * before them packed, in about twenty bytes each.
 */
#ifndef OPTRACE_ANALYZE_QUERY_EARLIER_RECORDS_H
#define OPTRACE_ANALYZE_QUERY_EARLIER_RECORDS_H

#include "analyze/query/launch_key.h"

enum { EARLIER_RECORDS_KEPT = 1 << 14, EARLIER_RECORDS_BLOCK = 32 };

/* So many records, each packed against the one before it, the first against none. */
struct record_block {
    struct launch_key first;
    size_t at;      /* in the bytes */
    uint32_t named; /* a bit for each: a wait names it */
};

/* Records of one kind of numbers, which grow. */
struct record_archive {
    ARRAY_OF(struct record_block) blocks;
    ARRAY_OF(uint8_t) bytes;
    size_t count;
    struct span last;
};

struct earlier_records {
    ARRAY_OF(struct span) kept; /* by number */
    size_t kept_least;          /* the others are packed once there are twice as many */
    struct record_archive archives[KEY_KINDS];
    bool *is_record, *is_wait; /* beside ops */
    bool has_waits;
    struct launch_key
        first[KEY_KINDS]; /* the least there was; the greatest there can be without one */
};

/** Of an answer that has ops; the last `kept_least` records are kept as they are, 0: as many as is best.
 *  Returns 0 or -ENOMEM; earlier_records_deinit() is right after either. */
int earlier_records_init(struct earlier_records *records, const struct spans_answer *answer,
                         size_t kept_least);
void earlier_records_deinit(struct earlier_records *records);

/** As before the first part. */
void earlier_records_restart(struct earlier_records *records);

/** Links waits of a part, whose tree is built, with what they wait for, and puts that behind its spans.
 *  Returns 0, SPAN_PARTS_WHOLE where there was none that may be waited for, or -ENOMEM. */
int earlier_records_link(struct earlier_records *records, struct spans_answer *part);

/** Once a part has been handed over. Returns 0 or -ENOMEM. */
int earlier_records_keep(struct earlier_records *records, const struct spans_answer *part);

#endif
