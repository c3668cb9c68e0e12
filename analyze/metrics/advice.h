/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules that say what to do about a recording. Pure: no SQL, no printing.
 *
 *     {0}, advice_facts_init(&facts), spans in parts, advice_measure_ops(),
 *     what the caller knows (growth), advice_find()
 *
 * Each rule looks at facts alone, so that it can be told why it speaks. A rule whose facts are not
 * known is silent. The thresholds are these; docs/reports/advice.md states them.
 */
#ifndef OPTRACE_ANALYZE_METRICS_ADVICE_H
#define OPTRACE_ANALYZE_METRICS_ADVICE_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/metrics/overhead.h"
#include "analyze/metrics/roofline.h"
#include "analyze/stats/slope.h"
#include "analyze/stats/spread.h"

#define ADVICE_BLOCKING_SHARE 0.01 /* of wall time, of copies that the host waits for */
#define ADVICE_COPY_SHARE     0.1  /* of wall time, of copies while nothing computes */
#define ADVICE_SMALL_BYTES    65536
#define ADVICE_IDLE_SHARE     0.1 /* of wall time */
#define ADVICE_DOMINANT_SHARE 0.5 /* of the self time of all operators */
#define ADVICE_ROOF_SHARE     0.5 /* of what the machine allows */
#define ADVICE_ROOF_WIN_SHARE 0.1 /* of wall time that could be won */
#define ADVICE_LAYOUT_SHARE   0.1 /* of the self time of all operators */
#define ADVICE_TINY_NS        5000
#define ADVICE_VARIATION      0.1 /* standard deviation / mean of the runs */
#define ADVICE_DRIFT          0.05
#define ADVICE_COVERAGE       0.8 /* of wall time */
#define ADVICE_WARMUP_RATIO   1.5 /* first run / median of the later ones */
#define ADVICE_SMALL_COPIES   100
#define ADVICE_LAUNCHES_MIN   20
#define ADVICE_CALLS_MIN      100
#define ADVICE_RUNS_MIN       5
#define ADVICE_LATER_RUNS_MIN 3

/* Texts are those of what was measured. NaN: not known. Times of work on several lanes at once are
 * lengths of unions, but self times of operators add up. */
struct advice_facts {
    double wall_ns; /* of the counted runs, or from the first event to the last */

    /* copies */
    uint64_t blocking_count; /* from or to a device, synchronous or with pageable memory */
    double blocking_ns;
    double copying_ns; /* copies and fills while nothing computed */
    uint64_t sized_count, small_count;
    double small_ns;

    /* devices */
    const char *idle_device; /* the one that was idle longest */
    double idle_ns;          /* what it waited for was not launched yet */
    uint64_t launch_count;   /* calls that launched kernels */
    double launch_ns, launch_median_ns, launched_median_ns; /* calls; work of one */

    /* operators, on devices where these have any, else on the host */
    double own_ns;
    const char *top_op, *top_type; /* the types of kernels say nothing, and do not count */
    double top_op_ns, top_type_ns;
    size_t type_count;
    uint64_t layout_calls;
    double layout_ns;
    uint64_t call_count, tiny_count;
    double call_median_ns, tiny_ns;
    size_t bound_count; /* with a known bound */
    double bound_ns, win_ns;

    /* runs, of the session that varies most */
    size_t run_count; /* without the first, where it is slow */
    struct spread spread;
    double excess_ns; /* of runs above their median */
    double drift_ns;  /* of runs above the faster half's median */
    size_t later_count;
    double first_run_ns, later_median_ns; /* where a first run is counted and slow */

    /* memory that grows most, from run to run */
    const char *memory_device;
    struct slope growth;

    /* what is missing */
    uint64_t lost_count, unknown_losses, unfinished_count;
    double recorded_ns; /* NaN: some events were not asked for */
};

struct advice_finding {
    const char *rule;     /* "device-idle" */
    double share;         /* of wall time that it concerns, at most 1; NaN: not a matter of time */
    char text[256];       /* one sentence with its numbers */
    const char *action;   /* what to do */
    const char *report;   /* that shows it */
    const char *order_by; /* for that report, or NULL */
    const char *op, *type, *device; /* for that report: only these, or NULL */
};

struct advice_findings ARRAY_FIELDS(struct advice_finding);

/** Nothing is known. */
void advice_facts_init(struct advice_facts *facts);

/** All but what advice_measure_ops() fills in, of spans that are all there, for tests. Returns 0 or
 *  -ENOMEM. */
int advice_measure_spans(const struct spans_answer *spans, struct advice_facts *facts);

/** The same of spans in parts (query_span_parts()): begin, which forgets what *out_parts was, {NULL}
 *  at first, add each part, finish. Return 0 or -ENOMEM, advice_add() also SPAN_PARTS_WHOLE;
 *  advice_parts_destroy() after any. */
struct advice_parts;
int advice_begin(const struct spans_answer *spans, struct advice_parts **out_parts);
int advice_add(struct advice_parts *parts, const struct spans_answer *spans);
int advice_finish(struct advice_parts *parts, const struct spans_answer *spans,
                  struct advice_facts *facts);
void advice_parts_destroy(struct advice_parts **parts);

/**
 * Operators and what they reach of the machine.
 *
 * ops        totals, of ops_sums_finish()
 * peaks      of the machine, NaN where not known
 * has_peaks  whether they are an op's; NULL: of all
 *
 * Returns 0 or -ENOMEM.
 */
int advice_measure_ops(const struct ops_answer *ops, const struct roofline_peaks *peaks,
                       bool (*has_peaks)(const struct op_row *op), struct advice_facts *facts);

/** What the rules find, in their order. Returns 0 or -ENOMEM; the caller gives *out_findings to
 *  array_deinit() after either. */
int advice_find(const struct advice_facts *facts, struct advice_findings *out_findings);

/** How many rules there are, and what each is called. For tests. */
extern const size_t advice_rule_count;
const char *advice_rule_name(size_t rule);

#endif
