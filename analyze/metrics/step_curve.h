/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A quantity that rises and falls in steps, such as how long a queue is: changes are gathered in
 * any order, sorted, and measured. Pure.
 *
 *     step_curve_add() any number of times, step_curve_sort(), then the rest; step_curve_deinit()
 */
#ifndef OPTRACE_ANALYZE_METRICS_STEP_CURVE_H
#define OPTRACE_ANALYZE_METRICS_STEP_CURVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"

struct curve_step {
    int64_t time_ns;
    double change;
};

struct step_curve {
    ARRAY_OF(struct curve_step) steps;
};

/** Returns 0 or -ENOMEM. */
int step_curve_add(struct step_curve *curve, int64_t time_ns, double change);

/** rises_first  whether of changes at the same time those upwards come first, so that a queue is
 *  never shorter than nothing; else what ends makes room for what begins */
void step_curve_sort(struct step_curve *curve, bool rises_first);

/** The same of changes from a place on, which all come later than those before it. */
void step_curve_sort_tail(struct step_curve *curve, size_t first, bool rises_first);

struct curve_summary {
    int64_t start_ns, end_ns; /* of the first and the last change */
    double max, mean;         /* between these; the mean by time */
    double at_least_ns;       /* time at the threshold or above */
};

/** Of a sorted curve; all 0 of one without changes. */
struct curve_summary step_curve_summarize(const struct step_curve *curve, double threshold);

/** The highest value and the mean by time of `count` equal parts of the time from start to end. */
void step_curve_fill(const struct step_curve *curve, int64_t start_ns, int64_t end_ns, double *max,
                     double *mean, size_t count);

void step_curve_deinit(struct step_curve *curve);

/** Values as a line of bars, the highest of which is `most`; `text` has room for 3 bytes for each
 *  and the NUL. */
void step_curve_text(const double *values, size_t count, double most, bool is_ascii, char *text);

#endif
