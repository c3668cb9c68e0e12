/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators that follow each other again and again on a lane: candidates to become one. Pure.
 *
 * A session's device lanes are looked at where an operator on one is shown, else its threads. Of
 * what nests on a thread the outermost operator shown counts, and what lies inside of it does not.
 * Labels, phases, marks, calls of a runtime and functions of Python are skipped; an operator that
 * is not shown ends a sequence, and so do the end of a run and a gap longer than
 * SEQUENCE_GAP_NS.
 */
#ifndef OPTRACE_ANALYZE_METRICS_SEQUENCES_H
#define OPTRACE_ANALYZE_METRICS_SEQUENCES_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/query/spans.h"
#include "base/array.h"

enum { SEQUENCE_MIN = 2, SEQUENCE_MAX = 5 }; /* operators in one */

#define SEQUENCE_GAP_NS INT64_C(1000000)

struct sequence {
    uint32_t first; /* place in `parts` where it first occurs: it is there, and what follows */
    uint32_t length;
    uint64_t count;   /* times that it occurs without sharing an operator with itself, >= 2 */
    int64_t total_ns; /* of its operators, in these */
    int64_t gap_ns;   /* between them, in these; 0 where one starts before another ends */
};

struct sequences {
    ARRAY_OF(struct sequence) items; /* by total_ns, the largest first */
    ARRAY_OF(uint32_t) parts;        /* places of the spans that count, lane by lane */
    int64_t total_ns;                /* of all parts */
    uint64_t parted_count;           /* pairs that only a gap longer than the bound keeps apart */
};

/**
 * Operators are the same when they have the same type (op_group_name()), or, with `by_name`, the
 * same name. A sequence that occurs as often as a longer one that it begins or ends is left out.
 *
 * Returns 0 or -ENOMEM; give *out_sequences to sequences_deinit() after either.
 */
int sequences_find(const struct spans_answer *spans, bool by_name, struct sequences *out_sequences);
void sequences_deinit(struct sequences *sequences);

#endif
