/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the report "page"; each adds sections to the report's output. They return 0 or a
 * negative errno with a sentence; a part that has nothing to show adds nothing. */
#ifndef OPTRACE_ANALYZE_REPORTS_PAGE_PAGE_H
#define OPTRACE_ANALYZE_REPORTS_PAGE_PAGE_H

#include "analyze/reports/advice.h"
#include "analyze/reports/ops_view.h"
#include "analyze/reports/report.h"
#include "base/text_buffer.h"

enum {
    PAGE_OP_COLUMNS = 15,
    PAGE_RUNS_MAX = 12,     /* on the timeline */
    PAGE_MAIN_RUNS = 3,     /* of them: the median, the slowest, the first */
    PAGE_SPANS_MAX = 20000, /* on the timeline, of all its runs */
    PAGE_POINTS_MAX = 2000, /* of a curve */
    PAGE_TRACKS_MAX = 12,   /* counters below the timeline */
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
    struct report_advice advice; /* of page_findings() */
};

/* One of the timelines: a run, or all of the time. */
struct page_view {
    char *name;
    uint32_t run;             /* place in the answer's runs; SPAN_NONE: every span */
    int64_t start_ns, end_ns; /* where its clock begins; where its last span ends */
    size_t span_count, shown_count;
    int64_t shortest_ns;  /* of those that are shown */
    size_t shortest_left; /* how many of just that length there is room for */
};

struct page_views {
    struct page_view items[PAGE_RUNS_MAX];
    size_t count;
};

/* A curve of steps with a bound on its points: of each stretch of time only the highest and the
 * last are kept. */
struct page_point {
    int64_t time_ns;
    double value;
};
struct page_curve {
    ARRAY_OF(struct page_point) points;
    int64_t stretch_ns;
    size_t point_count; /* before that */
};

/** For `point_count` points in so many ns, of which about `most` are kept. */
void page_curve_begin(struct page_curve *curve, size_t point_count, int64_t length_ns, size_t most);
/** Points come by time. Returns 0 or -ENOMEM. */
int page_curve_add(struct page_curve *curve, int64_t time_ns, double value);

/* Columns of the table of operators: ops.c. */
extern const struct line_column page_op_columns[PAGE_OP_COLUMNS];
double page_op_time_ns(const void *line);

/** What to do: findings.c. Fills page->advice, for report_advice_deinit() also after a failure. */
int page_findings(struct page *page, struct diag *diag);

/** Operators of the host where the page is about a device: host_ops.c. */
int page_host_ops(const struct page *page, struct diag *diag);

/** Who held memory at the peak, in the card of page_memory(): owners.c. */
int page_memory_owners(const struct page *page, struct diag *diag);

/** Time by type, the operators with page_host_ops() beside them, the roofline: ops.c. page_ops()
 *  returns REPORT_NOTHING when no operator matches. */
int page_types(const struct page *page, struct diag *diag);
int page_ops(const struct page *page, struct diag *diag);

/** How long each run took: runs.c. */
int page_run_times(const struct page *page, struct diag *diag);

/* What a timeline may show of spans in parts (query_span_parts()), which may have frames: longest.c.
 * NULL at first, begin, take each part, finish; drop after any. These return 0 or -ENOMEM. */
struct page_longest;
int page_longest_begin(const struct page *page, const struct spans_answer *spans,
                       struct page_longest **out_longest);
int page_longest_take(struct page_longest *longest, const struct spans_answer *part);

/** Puts into an answer without spans, in order, the PAGE_SPANS_MAX longest of each view; of what is
 *  around them they know but the depth. */
int page_longest_finish(struct page_longest *longest, struct spans_answer *spans);

/** How many spans a view has, kept or not. */
size_t page_longest_count(const struct page_longest *longest, size_t view);
void page_longest_drop(struct page_longest **longest);

/** Place of a run in the answer's runs, or SPAN_NONE. */
uint32_t page_place_of_run(const struct spans_answer *spans, const struct counted_run *run);

/** Chosen runs, span by span, of what page_longest_finish() has put: timeline.c. Fills `views`, for
 *  page_views_deinit() also after a failure. */
int page_timeline(const struct page *page, const struct spans_answer *spans,
                  const struct page_longest *longest, struct page_views *views, struct diag *diag);
void page_views_deinit(struct page_views *views);

/** What is known of the ops on the timeline, in this order: timeline_ops.c. */
int page_timeline_ops(const struct page *page, const struct spans_answer *spans,
                      const uint32_t *ops, size_t count);

/** Memory over time, in all and in each view; counters in each view: memory.c, counters.c. */
int page_memory(const struct page *page, const struct spans_answer *spans,
                const struct page_views *views, struct diag *diag);
int page_counters(const struct page *page, const struct spans_answer *spans,
                  const struct page_views *views, struct diag *diag);

/** Fills `chosen`: the run in the middle, the slowest, the first, and others, evenly spread, as far
 *  as there is room for their spans. */
int page_choose_runs(struct page *page, struct diag *diag);

/** Adds what a run on the timeline is called: "run 7, the slowest: 12.345 ms". */
void page_name_run(const struct page *page, const struct page_run *chosen,
                   struct text_buffer *name);

#endif
