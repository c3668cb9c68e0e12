/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many tests at once: p values such that calling every one below alpha a difference keeps the share
 * of false ones among them below alpha on average, and the chance of any at all below alpha where
 * nothing differs (Benjamini, Hochberg, "Controlling the false discovery rate", 1995).
 *
 * The k-th smallest of n becomes the least of p_j * n / j over j >= k, and at most 1.
 */
#ifndef OPTRACE_ANALYZE_STATS_FALSE_DISCOVERY_H
#define OPTRACE_ANALYZE_STATS_FALSE_DISCOVERY_H

#include <stddef.h>

/** p: in any order; NaN, which is no test, stays NaN and does not count. Returns 0 or -ENOMEM. */
int false_discovery_correct(const double *p, size_t count, double *out_corrected);

#endif
