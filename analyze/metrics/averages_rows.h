/* SPDX-License-Identifier: Apache-2.0 */
/* Which spans are rows of averages, and what each of them cost. */
#ifndef OPTRACE_ANALYZE_METRICS_AVERAGES_ROWS_H
#define OPTRACE_ANALYZE_METRICS_AVERAGES_ROWS_H

#include "analyze/containers/place_map.h"
#include "analyze/metrics/averages.h"

/* What one span cost that is a row; the same place as the span. */
struct average_cost {
    int64_t self_cpu_ns;
    int64_t device_ns, self_device_ns;
    int64_t bytes[OP_SIDES], self_bytes[OP_SIDES];
};

struct average_rows {
    const struct spans_answer *spans;
    uint32_t *row;    /* of each span: the row it is one with, itself most often; or SPAN_NONE */
    uint32_t *parent; /* of each row; or SPAN_NONE */
    struct average_cost *costs;
    double *recording_ns; /* of each row, as in its line; NULL: not known */
    bool needs_whole;     /* other parts decide whether an op is one with what it lies in */
    bool has_device, has_memory[OP_SIDES];
    int64_t loose_bytes[OP_SIDES]; /* of memory events in no row */
    uint64_t loose_count[OP_SIDES];
    uint64_t unsized_count;
};

/** Give *out_rows to average_rows_deinit() also after -ENOMEM. */
int average_rows_make(const struct spans_answer *spans, struct average_rows *out_rows);
void average_rows_deinit(struct average_rows *rows);

/** Whether some op is a label. */
bool averages_have_labels(const struct spans_answer *spans);

/** Whether what is a row in this part depends on others: a label on what else there is on its lane,
 *  and what is called as the frame around it on what else is in that. Returns 0 or -ENOMEM. */
int averages_depend_on_others(const struct spans_answer *spans, bool *out_value);

/** Fill in recording_ns. Returns 0 or -ENOMEM. */
int average_rows_add_recording(struct average_rows *rows, const struct recording_overhead *costs);

/** A line for each module, and one for what is in none: averages_modules.c. Returns 0 or -ENOMEM. */
int averages_by_module(const struct average_rows *rows, struct averages *out_averages);

/** Charge memory events of the selected runs, and those outside of runs unless `runs_only`, to
 *  rows: averages_memory.c. Returns 0 or -ENOMEM. */
int average_rows_add_memory(struct average_rows *rows, const struct memory_row_array *memory,
                            bool runs_only);

/* A row that is in several parts. */
struct average_frame {
    int64_t start_ns, dur_ns, self_cpu_ns;
    uint32_t lane;
    bool is_shown;
};

/* Lines by what tells them apart, over parts: {0}, average_groups_add(), average_groups_deinit(). */
struct average_groups {
    struct place_map lines;
    uint32_t *line_of[OP_SIDES]; /* of each op: its line, or PLACE_NONE */
    ARRAY_OF(struct average_frame) frames;
};

/** Add the spans of a part to the lines of `averages`, which is {0} but for NaN before the first, and
 *  finish them after the last. Returns 0, SPAN_PARTS_WHOLE or -ENOMEM. */
int average_groups_add(struct average_groups *groups, const struct spans_answer *spans,
                       const struct memory_row_array *memory,
                       const struct averages_options *options, struct averages *averages);
void average_groups_finish(const struct average_groups *groups, struct averages *averages);
void average_groups_deinit(struct average_groups *groups);

#endif
