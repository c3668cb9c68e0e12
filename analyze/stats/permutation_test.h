/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the sessions of one side differ from those of another, in many lines at once: the
 * permutation test with the maximum of all lines, step down (Westfall, Young, "Resampling-based
 * multiple testing", 1993, algorithm 4.1; Ge, Dudoit, Speed, "Resampling-based multiple testing for
 * microarray data analysis", 2003).
 *
 * The unit is a session, with all of its lines: runs of one process share where its memory lies and
 * what the machine did meanwhile, so that they say nothing of another process. If base and new do
 * not differ, any other way to deal the same sessions out to two sides of these sizes was as
 * likely. A line's corrected p is the share of these ways in which any line that is not more
 * striking than it is at least as striking as it was: the chance of one false alarm or more among
 * all lines is at most that, whatever the distributions are (heavy tails, two modes) and however
 * lines depend on each other. It asks that sessions are exchangeable: recorded in turn, not one
 * side after the other.
 *
 * How striking a line is: |difference of the means| / s~, with
 *
 *     s~^2 = (d0 s0^2 + d s^2) / (d0 + d),   d = sessions - 2, d0 = 4,
 *
 * s^2 the line's variance within sides and s0^2 the median of all lines' (Smyth, "Linear models and
 * empirical Bayes methods", 2004): of a few sessions a variance of a line's own is small by chance.
 * For lines that are ops the same of what is left when each session's own level is taken off, the
 * median over ops: a session that was slow as a whole then hides no op. And the distance of the
 * rank sums in standard deviations, so that with many sessions one that stands out hides none
 * either. The largest of these counts; taking it is part of what is permuted.
 *
 * Sessions that follow each other at once have the same disturbance, so that two new ones behind a
 * row of earlier ones are not two dealt out of that row. Where the order in time is given, the ways
 * are the places along it where the new sessions, at their distances, could lie: what is alike in
 * neighbours is as alike there. That asks for no more than that the row is of one kind all along,
 * and takes 1 / alpha places.
 *
 * All ways are gone through up to PERMUTATION_EXACT_MAX, else as many are drawn, the given one
 * among them (Phipson, Smyth, "Permutation p-values should never be zero", 2010).
 */
#ifndef OPTRACE_ANALYZE_STATS_PERMUTATION_TEST_H
#define OPTRACE_ANALYZE_STATS_PERMUTATION_TEST_H

#include <stdbool.h>
#include <stddef.h>

enum { PERMUTATION_EXACT_MAX = 5000 };

struct permutation_line {
    const double *base, *new; /* a value of each session, all lines in the same order */
    double scale;             /* values are taken as shares of this; > 0 */
    bool is_op;
    double p, p_corrected; /* out: of this line alone; among all */
};

/** The same values give the same answer. Returns 0 or -ENOMEM.
 *
 *  base_count, new_count  at least 1, of all lines
 *  in_time                which session, those of the base counted first, was the first, second, ...
 *                         to be recorded; NULL: in turn, any way is as likely */
int permutation_test(struct permutation_line *lines, size_t count, size_t base_count,
                     size_t new_count, const size_t *in_time);

/** The smallest p that so many sessions can reach. */
double permutation_p_floor(size_t base_count, size_t new_count);

/** In how many places along the order in time the new sessions could lie; 0 where there are none.
 */
size_t permutation_places(size_t base_count, size_t new_count, const size_t *in_time);

#endif
