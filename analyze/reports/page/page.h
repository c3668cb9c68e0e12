/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the report "page"; each adds sections to the report's output. They return 0 or a
 * negative errno with a sentence; a part that has nothing to show adds nothing. */
#ifndef OPTRACE_ANALYZE_REPORTS_PAGE_PAGE_H
#define OPTRACE_ANALYZE_REPORTS_PAGE_PAGE_H

#include "analyze/reports/ops_view.h"
#include "analyze/reports/report.h"
#include "base/text_buffer.h"

enum {
    PAGE_OP_COLUMNS = 15,
    PAGE_RUNS_MAX = 3,      /* on the timeline */
    PAGE_SPANS_MAX = 20000, /* on the timeline, of all its runs */
    PAGE_POINTS_MAX = 2000, /* of a curve */
};

struct page_run {
    struct counted_run run;
    const char *role; /* ", the slowest" */
};

struct page {
    const struct report *report;
    struct report_selection *selection;
    const struct ops_answer *answer;
    enum op_side side; /* whose times the page is about: the device's where there are any */
    struct counted_runs runs;
    struct page_run chosen[PAGE_RUNS_MAX]; /* for the timeline */
    size_t chosen_count;
};

/* Columns of the table of operators: ops.c. */
extern const struct line_column page_op_columns[PAGE_OP_COLUMNS];
double page_op_time_ns(const void *line);

/** Time by type, the operators, the roofline: ops.c. page_ops() returns REPORT_NOTHING when no
 *  operator matches. */
int page_types(const struct page *page, struct diag *diag);
int page_ops(const struct page *page, struct diag *diag);

/** How long each run took: runs.c. */
int page_run_times(const struct page *page, struct diag *diag);

/** Chosen runs, span by span, and memory over time: timeline.c, memory.c. */
int page_timeline(const struct page *page, const struct spans_answer *spans, struct diag *diag);
int page_memory(const struct page *page, const struct spans_answer *spans, struct diag *diag);

/** Fills `chosen`: the run in the middle, the slowest, the first. */
int page_choose_runs(struct page *page, struct diag *diag);

/** Adds what a run on the timeline is called: "run 7, the slowest: 12.345 ms". */
void page_name_run(const struct page *page, const struct page_run *chosen, struct out_buffer *name);

#endif
