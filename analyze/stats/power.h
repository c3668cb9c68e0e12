/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many sessions a comparison takes to find a change: pure.
 *
 * Of two sides of n sessions each, whose times vary by a share s of themselves (the standard
 * deviation, or what stands for it), ranks find a change by a share d in 95 of 100 where
 *
 *     n = 2 pi / 3 (s / d)^2 (a + z(0.95))^2 + a^2 / 4,  a = z(1 - alpha / 2 m)
 *
 * with z the quantiles of the normal distribution and m the lines that are judged together, of which
 * any may have changed (Lehmann, "Nonparametrics", 2.4: 3 / pi is what ranks make of normal noise;
 * Bonferroni for m; Guenther, "Sample size formulas for normal theory t tests", 1981: a^2 / 4 for
 * few sessions, which do not show well how much they vary). A change has to be twice the threshold at least: one as large as that is shown
 * as larger half the time.
 */
#ifndef OPTRACE_ANALYZE_STATS_POWER_H
#define OPTRACE_ANALYZE_STATS_POWER_H

#include <stddef.h>

enum { POWER_SESSIONS_MAX = 1000 };
#define POWER_SHARE 0.95

/** variation, change > 0; lines >= 1. Returns n, at least 1, at most POWER_SESSIONS_MAX. */
size_t power_sessions(double variation, double change, size_t lines, double alpha);

#endif
