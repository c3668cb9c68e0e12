/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of choices, of which a test walks a part: each pair still meets, but over the ways of a
 * third (traces, sizes, seeds) in turn, not all on all of them.
 *
 *     for (size_t i = 0; i < REPORTS; i++)
 *         for (size_t k = 0; k < CHOICES; k++)
 *             for (size_t trace = 0; trace < TRACES; trace++)
 *                 if (turns_take(i + k, trace, TRACES))
 *                     check(reports[i], choices[k], traces[trace]);
 *
 * By the sum of both places each report and each choice meets all traces. OPTRACE_TEST_ALL=1 in the
 * environment walks the whole product. Scripts have the same in tests/flow/turns.py.
 *
 * Sanitizers make programs slower by three or more, and what answers are right is held by builds without
 * them: there of some products each run walks a third, another one than the run before.
 *
 * Rounds that each draw something else at random are of that kind: a run does some of them, from a
 * seed of its own, so that many runs do many.
 */
#ifndef OPTRACE_TESTS_SUPPORT_TURNS_H
#define OPTRACE_TESTS_SUPPORT_TURNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Whether whoever runs the test wants all of it. */
bool turns_all(void);

/** Whether it is the turn of `way`, which is below `ways`. One of them is, whatever `turn` is. */
bool turns_take(size_t turn, size_t way, size_t ways);

/** Whether a sanitizer makes programs slow: $OPTRACE_TEST_SLOW, which the build sets. */
bool turns_slow(void);

/** Whether a place of a product is walked: all are but for sanitizers, which take every third. At which
 *  of three they begin is $OPTRACE_TEST_TURN, else by the clock; printed. */
bool turns_third(size_t place);

/** Of so many rounds at random those that this run does: a quarter, or all. */
unsigned turns_rounds(unsigned all);

/** Where this run begins to draw, above 0: $OPTRACE_TEST_SEED, else by the clock; printed. */
uint64_t turns_seed(void);

#endif
