/* SPDX-License-Identifier: Apache-2.0 */
/* Stores in tests: opening, asking and filling them; whatever goes wrong fails the test. */
#ifndef OPTRACE_TESTS_SUPPORT_STORE_SUPPORT_H
#define OPTRACE_TESTS_SUPPORT_STORE_SUPPORT_H

#include <stddef.h>
#include <stdint.h>

#include "schema/store/store.h"

/** Open, with the sentence in the failure. */
struct store *store_support_open(const char *path, enum store_mode mode);

void store_support_begin(struct store *store);
void store_support_commit(struct store *store);

/** The first column of the first row. */
int64_t store_support_int(struct store *store, const char *sql);
double store_support_real(struct store *store, const char *sql);

/** The same as text, "NULL" where it is NULL, "" without a row; all rows and columns of the answer
 *  when it has more, separated by '|' and newlines. The caller frees it. */
char *store_support_text(struct store *store, const char *sql);

/** The same of a file, past the store's code. */
char *store_support_file_text(const char *path, const char *sql);

/** Run SQL on the file, past the store's code. */
void store_support_run(const char *path, const char *sql);

/** PRAGMA integrity_check of the main database says ok. */
void store_support_check_integrity(struct store *store);

/** event_batch and op_stat say the same as `event`: every row in one batch, within its times; every
 *  finished event in one roll-up. */
void store_support_check_accounts(struct store *store);

/** Put a session, its lanes 1 (thread), 2 (queue) and 3 (stream), and `op_count` ops from id 1 on,
 *  of which every third is a "Relu" and the others "Conv". Within a transaction. */
void store_support_define(struct store *store, int64_t op_count);

/** `count` events of that session in the order in which a program makes them, from `number` on:
 * event n is of op n / 2 % op_count + 1, starts n us after 2026-01-01, and is on lane 1 or 2. */
void store_support_make_events(struct store_event *out_events, size_t count, int64_t number,
                               int64_t op_count);

/** 2026-01-01 00:00:00 UTC. */
#define STORE_SUPPORT_START_NS INT64_C(1767225600000000000)

#endif
