/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What benchmarks share: medians, and one JSON line per figure on stdout.
 *
 *     struct bench_figure floor = {.name = "span_floor_ns", .unit = "ns"};
 *     struct bench_figure span = {.name = "span_recorded_ns", .unit = "ns"};
 *
 *     bench_print_machine();
 *     for (int i = 0; i < BENCH_REPEATS; i++) {        interleaved, so that a slow second hits both
 *         bench_add(&floor, measure_floor());
 *         bench_add(&span, measure_span());
 *     }
 *     bench_print(&floor);
 *     bench_print(&span);
 *     bench_print_ratio("span_recorded_to_floor", &span, &floor, 1.10);
 */
#ifndef OPTRACE_TESTS_SUPPORT_BENCH_H
#define OPTRACE_TESTS_SUPPORT_BENCH_H

#include <stdbool.h>
#include <stddef.h>

enum { BENCH_REPEATS = 9, BENCH_SAMPLES_MAX = 1000 };

struct bench_figure {
    const char *name;
    const char *unit;
    size_t count;
    double samples[BENCH_SAMPLES_MAX];
};

/** Add a sample; those beyond BENCH_SAMPLES_MAX are left out. */
void bench_add(struct bench_figure *figure, double sample);

/** The middle sample, of an even number the mean of the two middle ones; NaN without samples. */
double bench_median(const struct bench_figure *figure);

/** {"machine": {"cpu": ..., "maker": ..., "cpus": ..., "kernel": ...}} */
void bench_print_machine(void);

/** Goals that depend on how a processor reads its clock and stores differ from maker to maker. */
bool bench_cpu_is_amd(void);

/** {"figure": NAME, "value": MEDIAN, "unit": UNIT, "min": ..., "max": ..., "repeats": N} */
void bench_print(const struct bench_figure *figure);

/** {"figure": NAME, "value": RATIO, "unit": "ratio", "min": ..., "max": ..., "repeats": N, "goal":
 * ...} The ratio of each pair of samples is taken first, so that what slows both of a pair drops
 * out. A goal of 0 is left out. */
void bench_print_ratio(const char *name, const struct bench_figure *figure,
                       const struct bench_figure *against, double goal);

#endif
