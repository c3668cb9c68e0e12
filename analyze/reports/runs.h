/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the report on runs share. */
#ifndef OPTRACE_ANALYZE_REPORTS_RUNS_H
#define OPTRACE_ANALYZE_REPORTS_RUNS_H

#include "analyze/metrics/run_parts.h"
#include "analyze/reports/report.h"

enum { RUNS_GROUP_MAX = 256 }; /* runs looked into at either end of the comparison */

struct run_line {
    struct counted_run run;
    double at_ns; /* after the start of its session */
    double dur_ns, of_median, z;
    double busy[OP_SIDES]; /* shares of its duration */
    size_t cause;          /* part that took most longer than usual, or SIZE_MAX */
    double cause_ns;
    bool is_wanted; /* to be looked into */
};
struct run_lines ARRAY_FIELDS(struct run_line);

/* Runs compared: their number, mean duration and mean parts. */
struct run_group {
    ARRAY_OF(struct run_key) keys;
    size_t of_count; /* runs that it stands for: all of them are in it, or GROUP_MAX of them */
    double dur_ns;
    double *parts;
};

struct runs_state {
    const struct report *report;
    struct report_selection selection;
    struct ops_answer basis; /* for the footer */
    struct run_lines lines;
    double *sorted; /* durations of runs that ended */
    size_t ended;
    double limit_ns;           /* P99 of runs that can be looked into */
    struct spans_answer names; /* whose ops the parts are of */
    struct run_group usual, slow;
    bool has_reference;
    size_t shown_spans;
    const struct run_key *subject; /* --runs with a single run: why was this one slow? */
    struct run_key subject_key;
};

/** What a part of metrics/run_parts.h is called; *out_where is where it is, or NULL. */
const char *runs_part_name(const struct runs_state *state, size_t part, const char **out_where);

/** The table of what the slow runs took longer than the usual ones. Returns 0 or -ENOMEM. */
int runs_emit_excess(const struct runs_state *state);

#endif
