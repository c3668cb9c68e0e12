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

/* An operator that counts. */
struct sequence_part {
    int64_t dur_ns;
    int64_t gap_ns; /* between what it follows and it; 0 where that ends later */
    uint32_t op;    /* its place */
    uint32_t reach; /* parts from here on that follow each other, SEQUENCE_MAX at most */
};
struct sequence_part_array ARRAY_FIELDS(struct sequence_part);

struct sequences {
    ARRAY_OF(struct sequence) items;  /* by total_ns, the largest first */
    struct sequence_part_array parts; /* lane by lane */
    int64_t total_ns;                 /* of all parts */
    uint64_t parted_count;            /* pairs that only a gap longer than the bound keeps apart */
};

/* What is gathered of spans in parts (query_span_parts()): NULL at first, sequences_begin(),
 * sequences_add() with each part, sequences_finish(); sequences_drop() after any of them. */
struct sequences_gathered;
int sequences_begin(const struct spans_answer *spans, struct sequences_gathered **out_gathered);
int sequences_add(struct sequences_gathered *gathered, const struct spans_answer *spans);
void sequences_drop(struct sequences_gathered **gathered);

/**
 * Operators are the same when they have the same type (op_group_name()), or, with `by_name`, the
 * same name. A sequence that occurs as often as a longer one that it begins or ends is left out.
 *
 * Returns 0 or -ENOMEM; give *out_sequences to sequences_deinit() after either.
 */
int sequences_finish(struct sequences_gathered *gathered, const struct spans_answer *spans,
                     bool by_name, struct sequences *out_sequences);
void sequences_deinit(struct sequences *sequences);

/** The same of spans that are all there. For tests. */
int sequences_find(const struct spans_answer *spans, bool by_name, struct sequences *out_sequences);

#endif
