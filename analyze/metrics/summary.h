/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each op takes in one run, from the spans of many: the numbers of MIGraphX's perf report.
 * Pure: no SQL, no printing.
 *
 * The time of an op in a run is the self time of all its calls there, so that lines add up: what is
 * nested in it is in lines of its own. Its mean is the interquartile mean over the runs in which it
 * ran. Where nothing says what a run is, everything together is one.
 */
#ifndef OPTRACE_ANALYZE_METRICS_SUMMARY_H
#define OPTRACE_ANALYZE_METRICS_SUMMARY_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/query/spans.h"

struct summary_op {
    const struct op_row *op;         /* of equal ones in several sessions the first */
    uint64_t calls;                  /* in all runs */
    size_t run_count;                /* runs in which it ran */
    double mean_ns;                  /* interquartile mean of its time in a run */
    double plain_mean_ns, median_ns; /* of the same times */
    double min_ns, max_ns;           /* the shortest and longest time in a run */
    double part_ns;                  /* mean_ns, less in proportion where it was not in each run:
                                        these add up to instructions_ns */
    size_t position;                 /* from 0, by its first start */
    int64_t start_ns;
};

/* All ops of a type; of kernels and the like, which have no type of their own, of a name. */
struct summary_type {
    const char *type;
    size_t op_count;
    uint64_t calls;
    double total_ns; /* sum of part_ns */
};

struct summary {
    enum op_side side;               /* device, where it took any time, else host */
    ARRAY_OF(struct summary_op) ops; /* by position */
    ARRAY_OF(struct summary_type) types;
    size_t run_count;       /* that ended; 1 where there are no runs */
    size_t not_run_count;   /* nodes of a model that were described, but did not run */
    double instructions_ns; /* sum of part_ns */
    double launch_ns;       /* interquartile mean over runs of the self time of host spans that
                               launched device work; NaN: none did */
    int64_t batch;          /* first dimension of the model's input, or STORE_NULL */
    const char *batch_op;   /* name of the op that reads it */
    struct query_texts texts;
};

/**
 * Sum up the spans that are shown. Texts are those of `spans`, or the summary's.
 *
 * is_detailed  ops of a type whose shapes differ are types of their own: "Conv<f32(1x3x8x8,
 * 4x3x3x3)>"
 *
 * Returns 0 or -ENOMEM; *out_summary is for summary_deinit() after either.
 * For tests.
 */
int summary_make(const struct spans_answer *spans, bool is_detailed, struct summary *out_summary);
void summary_deinit(struct summary *summary);

/** The same of spans in parts (query_span_parts()): begin, which forgets what *out was, add each
 *  part, finish. Each returns 0 or -ENOMEM; summary_parts_destroy() after any. */
struct summary_parts;
int summary_begin(const struct spans_answer *spans, struct summary_parts **out_parts);
int summary_add(struct summary_parts *parts, const struct spans_answer *spans);
int summary_finish(struct summary_parts *parts, const struct spans_answer *spans, bool is_detailed,
                   struct summary *out_summary);
void summary_parts_destroy(struct summary_parts **parts);

/* Times of whole runs. NaN without any. */
struct summary_runs {
    double total_ns; /* interquartile mean */
    double min_ns, max_ns, mean_ns, median_ns;
    double p90_ns, p95_ns, p99_ns; /* nearest rank */
};

/** run_ns: ascending. */
struct summary_runs summary_of_runs(const double *run_ns, size_t count);

/** The first dimension of the first of an op's inputs that is the model's, by its params
 *  ("model_inputs") and input_shapes; STORE_NULL where these do not say. Outside of its file,
 *  for tests. */
int64_t summary_batch_of(const struct op_row *op);

#endif
