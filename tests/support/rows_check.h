/* SPDX-License-Identifier: Apache-2.0 */
/* Queries on a store whose rows a test spells out. */
#ifndef OPTRACE_TESTS_SUPPORT_ROWS_CHECK_H
#define OPTRACE_TESTS_SUPPORT_ROWS_CHECK_H

#include "schema/store/store.h"

/** Fail the test unless the rows of `sql`, written as "a|b;c|d" with NULL as "-", are `wanted`. */
void rows_check(struct store *store, const char *sql, const char *wanted);

#endif
