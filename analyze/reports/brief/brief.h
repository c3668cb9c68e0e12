/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first answer: what ran, how long a run takes and how evenly, what takes time and memory, why
 * the slowest run was slow, what to do. Gathered here, told in text.c.
 */
#ifndef OPTRACE_ANALYZE_REPORTS_BRIEF_BRIEF_H
#define OPTRACE_ANALYZE_REPORTS_BRIEF_BRIEF_H

#include "analyze/query/environment.h"
#include "analyze/reports/advice.h"

enum {
    BRIEF_USUAL_RUNS = 9, /* that the slowest one is compared with */
    BRIEF_CAUSES = 2,
};

/* From here on the slowest run is news: this many times the median. */
#define BRIEF_SLOW 1.1

/* Ops of one type, or of one name and type. */
struct brief_row {
    const char *name; /* of an op; else NULL */
    const char *type;
    const struct op_row *op; /* the one that took most */
    double own_ns[OP_SIDES]; /* of one run, or in all: basis.is_per_run; 0: nothing */
    double calls[OP_SIDES];  /* likewise */
    double flop, flop_ns;    /* where both are known */
    size_t op_count;         /* that ran */
    bool has_other_shapes;   /* ops of this name differ in their shapes */
};
struct brief_rows ARRAY_FIELDS(struct brief_row);

struct brief_runs {
    double *ns; /* of those that ended, as they came */
    size_t count;
    double p50_ns, p99_ns, min_ns, max_ns;
    struct spread spread;
    size_t outlier_count; /* far above the rest, and SLOW times the median */
};

struct brief_cause {
    const char *name, *where; /* where NULL: "between ops" */
    double more_ns;
};

/* The slowest run. */
struct brief_slowest {
    bool is_known;
    struct counted_run run;
    double ns;
    struct brief_cause causes[BRIEF_CAUSES];
    size_t cause_count;
    struct spans_answer spans; /* what the texts belong to */
};

struct brief {
    const struct report *report;
    struct report_selection selection;
    struct environment environment;
    struct ops_answer ops;
    struct counted_runs counted;
    struct brief_runs runs;
    struct brief_slowest slowest;
    struct brief_rows types, names; /* the dearest first */
    double own_ns[OP_SIDES];        /* of all ops */
    double covered[OP_SIDES];       /* share of the time with an op of that side; NaN: not known */
    bool covered_is_exact;          /* else it is at least that */
    bool covered_is_of_last_runs;   /* totals do not tell: of those that the findings are of */
    bool has_side[OP_SIDES];        /* something worth a column happens there */
    enum op_side side;              /* rows are ordered by it */
    bool has_events, has_memory;
    bool knows_peaks;            /* of the machine */
    struct report_advice advice; /* its findings the gravest first */
};

/** Fills {0}. Returns 0 or a negative errno with a sentence; for brief_deinit() after either. */
int brief_gather(struct brief *brief, const struct report *report, struct diag *diag);
void brief_deinit(struct brief *brief);

/** Fills in `slowest` where some run is much slower than the others. */
int brief_find_slowest(struct brief *brief, struct diag *diag);

/** All of it as text of lines of at most `width` columns. */
void brief_print(const struct brief *brief, size_t width, bool ascii, struct text_buffer *out);

#endif
