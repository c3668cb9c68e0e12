/* SPDX-License-Identifier: Apache-2.0 */
/* A SELECT of one's own, for queries and for what shows them (--explain): prepare, bind by sqlite3.h,
 * step, read columns, sqlite3_finalize(). */
#ifndef OPTRACE_ANALYZE_QUERY_STATEMENT_H
#define OPTRACE_ANALYZE_QUERY_STATEMENT_H

#include <sqlite3.h>

#include "analyze/query/query.h"

/** Prepare; *out_statement is for sqlite3_finalize(). */
int query_prepare(struct store *store, const char *sql, sqlite3_stmt **out_statement,
                  struct diag *diag);

/** Step. Returns 1 for a row, 0 at the end, or a negative errno. */
int query_step(struct store *store, sqlite3_stmt *statement, struct diag *diag);

/** A column as an integer; STORE_NULL for NULL. */
int64_t query_int(sqlite3_stmt *statement, int column);

/** A column as a text that `texts` keeps; NULL for NULL. */
const char *query_text(struct query_texts *texts, sqlite3_stmt *statement, int column);

#endif
