/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether two samples come from the same distribution: the rank test of Wilcoxon, Mann and Whitney.
 * It asks nothing of the distributions, so that a few slow runs do not decide.
 *
 * U counts the pairs of a value of each sample in which the second one is larger; a tie counts one
 * half. Up to RANK_EXACT_MAX values in all, p is exact, with ties too: the share of all ways to
 * choose the first sample's mid-ranks whose sum lies at least as far from its mean. Above that the
 * normal approximation is taken, with the variance corrected for ties,
 *
 *     n m / 12 * ((N + 1) - sum(t^3 - t) / (N (N - 1))),
 *
 * and 1/2 for continuity.
 *
 * Formulas: Mann, Whitney, "On a test of whether one of two random variables is stochastically
 * larger than the other", 1947; Hollander, Wolfe, "Nonparametric statistical methods", section 4.1.
 */
#ifndef OPTRACE_ANALYZE_STATS_RANK_TEST_H
#define OPTRACE_ANALYZE_STATS_RANK_TEST_H

#include <stdbool.h>
#include <stddef.h>

enum { RANK_EXACT_MAX = 30 };

struct rank_result {
    double u;           /* of `b`: pairs in which b is larger */
    double superiority; /* u / pairs: 0.5 when neither is larger as a rule */
    double p;           /* two-sided; 1 when all values are equal */
    bool is_exact;
};

/** a, b: at least one value each, none NaN, in any order. Returns 0 or -ENOMEM. */
int rank_test(const double *a, size_t a_count, const double *b, size_t b_count,
              struct rank_result *out_result);

/** Twice the mid-rank of each value, from 2: an integer. Returns the sum of t^3 - t over groups of
 *  equal values, or a negative number when memory is short. */
double rank_doubled(const double *values, size_t count, size_t *out_ranks);

#endif
