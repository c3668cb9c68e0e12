/* SPDX-License-Identifier: Apache-2.0 */
/* The small store, and a session with all that exports have to mind. */
#ifndef OPTRACE_TESTS_SUPPORT_ODD_STORE_H
#define OPTRACE_TESTS_SUPPORT_ODD_STORE_H

#include "tests/support/small_store.h"

/* Session 3 begins here. */
#define ODD_STORE_NS (SMALL_STORE_SECOND_NS + INT64_C(600000000001))

/**
 * small_store_fill(), and session 3, of no process id and no runs: a thread with a label around a
 * gemm, whose name has quotes, ';' and a line's end; its call stack; a copy and two kernels of one
 * stream that it launched, which overlap; a mark; a span that never ended; memory taken and given
 * back, once without a size; a counter; a loss of no lane.
 */
void odd_store_make(const char *path);

#endif
