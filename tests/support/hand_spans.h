/* SPDX-License-Identifier: Apache-2.0 */
/* Spans made by hand, as query_spans() would give them. */
#ifndef OPTRACE_TESTS_SUPPORT_HAND_SPANS_H
#define OPTRACE_TESTS_SUPPORT_HAND_SPANS_H

#include "analyze/query/spans.h"

/**
 * Puts spans into an answer whose ops, op_kinds and lanes are set (and the runs and windows that
 * the test needs), in order and nested. A correlation, kern_ns or number of bytes of 0 is one that
 * is not known; `run` counts where the answer has runs, or its basis says that there are some.
 */
void hand_spans_build(struct spans_answer *answer, const struct span *spans, size_t count);

/** Frees what was built, not what was set before. */
void hand_spans_drop(struct spans_answer *answer);

#endif
