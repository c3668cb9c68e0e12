/* SPDX-License-Identifier: Apache-2.0 */
/* What the query files share: stepping statements, keeping texts. */
#ifndef OPTRACE_ANALYZE_QUERY_PRIVATE_H
#define OPTRACE_ANALYZE_QUERY_PRIVATE_H

#include <sqlite3.h>

#include "analyze/query.h"
#include "analyze/scan.h"

/** Prepare; *out_statement is for sqlite3_finalize(). */
int query_prepare(struct store *store, const char *sql, sqlite3_stmt **out_statement,
                  struct diag *diag);

/** Step. Returns 1 for a row, 0 at the end, or a negative errno. */
int query_step(struct store *store, sqlite3_stmt *statement, struct diag *diag);

/** A column as an integer; STORE_NULL for NULL. */
int64_t query_int(sqlite3_stmt *statement, int column);

/** A column as a text that `texts` keeps; NULL for NULL. */
const char *query_text(struct query_texts *texts, sqlite3_stmt *statement, int column);

/** Keep a copy of any text. */
const char *query_keep(struct query_texts *texts, const char *text);

/* query_events.c */

/** Hand every event that may belong to the scan to scan_add(): those of committed batches that
 *  overlap its sessions and windows. */
int query_events(struct store *store, struct scan *scan, struct diag *diag);

#endif
