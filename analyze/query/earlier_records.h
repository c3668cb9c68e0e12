/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that recorded an event, which streams of later parts may wait for: the last ones are kept, and a part
 * in which something waits for one of them has that behind its spans (spans_answer.earlier_count).
 */
#ifndef OPTRACE_ANALYZE_QUERY_EARLIER_RECORDS_H
#define OPTRACE_ANALYZE_QUERY_EARLIER_RECORDS_H

#include "analyze/query/launch_key.h"

enum { EARLIER_RECORDS_MAX = 1 << 14 };

struct earlier_records {
    ARRAY_OF(struct span) kept; /* by number */
    bool *is_record, *is_wait;  /* beside ops */
    bool has_waits;
    struct launch_key
        first[KEY_KINDS]; /* the least there was; the greatest there can be without one */
};

/** Of an answer that has ops. Returns 0 or -ENOMEM; earlier_records_deinit() is right after either. */
int earlier_records_init(struct earlier_records *records, const struct spans_answer *answer);
void earlier_records_deinit(struct earlier_records *records);

/** As before the first part. */
void earlier_records_restart(struct earlier_records *records);

/** Links waits of a part, whose tree is built, with what they wait for, and puts that behind its spans.
 *  Returns 0, SPAN_PARTS_WHOLE where it was earlier than what is kept, or -ENOMEM. */
int earlier_records_link(struct earlier_records *records, struct spans_answer *part);

/** Once a part has been handed over. Returns 0 or -ENOMEM. */
int earlier_records_keep(struct earlier_records *records, const struct spans_answer *part);

#endif
