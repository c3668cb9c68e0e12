/* SPDX-License-Identifier: Apache-2.0 */
/* What the report on memory shows, worked out: lines by who took memory, the peak of each device,
 * growth from run to run, counters, plans. Nothing is printed here. */
#ifndef OPTRACE_ANALYZE_REPORTS_MEMORY_VIEW_H
#define OPTRACE_ANALYZE_REPORTS_MEMORY_VIEW_H

#include "analyze/metrics/memory_blocks.h"
#include "analyze/reports/report.h"
#include "analyze/stats/slope.h"

enum memory_grouping {
    MEMORY_BY_NAME,
    MEMORY_BY_TYPE,
    MEMORY_BY_LABEL,
    MEMORY_BY_SHAPE,
    MEMORY_BY_CATEGORY, /* what the program calls it ("weights"), else how long it lives */
};

struct memory_line {
    uint32_t pool;
    const char *name;        /* NULL: not known */
    const struct op_row *op; /* MEMORY_BY_NAME: the first of that name and type; else NULL */
    const char *shapes;      /* of outputs, of all of these ops; NULL: not known, or they differ */
    uint64_t taken_count, peak_count, kept_count, life_count;
    uint64_t short_count; /* given back before any run ended */
    int64_t taken_bytes, peak_bytes, kept_bytes;
    double life_ns; /* of life_count pieces */
    struct slope growth;
};

struct memory_counter {
    const char *name, *device; /* device NULL: of the host */
    uint32_t op, lane;
    uint64_t count;
    double first, peak, last;
    double peak_at_ns; /* after the start of the session */
};

struct run_end {
    int64_t session_id, end_ns;
};

struct memory_view {
    enum memory_grouping grouping; /* input */

    struct memory_blocks blocks;
    struct memory_points points; /* of the blocks shown */
    ARRAY_OF(struct memory_line) lines;
    ARRAY_OF(struct memory_counter) counters;
    struct memory_plan_array plans;
    struct counted_runs runs;  /* that ended, by session and number */
    int64_t start_ns, end_ns;  /* of the first and the last memory event */
    struct memory_peak *peaks; /* for each pool, like all below */
    const char **peak_ops;     /* memory_view_peak_op() */
    struct slope *growth;
    int64_t *before, *after;     /* alive before the first event and after the last */
    int64_t *pool_start_ns;      /* start of its session */
    bool *is_shown;              /* some of its pieces are */
    int64_t *from_ns, *until_ns; /* what was asked for */

    /* inside */
    struct spans_answer spans;
    struct memory_row_array rows;
    struct counter_row_array totals;
    struct run_end *run_ends; /* of `runs`, by session and time */
    uint32_t *line_of;        /* for each block that is shown: its place in `lines` */
};

/** Fills {0} but for its input. Returns 0, REPORT_NOTHING or a negative errno with a sentence; for
 *  memory_view_deinit() after any of them. */
int memory_view_init(struct memory_view *view, const struct report *report,
                     struct report_selection *selection, struct diag *diag);
void memory_view_deinit(struct memory_view *view);

/** The op in which the peak of a pool was reached, as far as it is known: the one that took the
 * last piece, or what the program says of a piece that it shares out itself (params "peak_op");
 * NULL otherwise. */
const char *memory_view_peak_op(const struct memory_view *view, uint32_t pool);

#endif
