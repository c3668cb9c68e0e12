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
 *  overlap its sessions and windows. Inside a transaction of the caller. */
int query_events(struct store *store, struct scan *scan, struct diag *diag);

/* Rows of `event`, both ends included. */
struct row_range {
    int64_t first, last;
};

/* event_pages.c */

/** The same for rows in ascending ranges, by reading the pages of the whole table. Returns false
 *  when that cannot be done with this database (in memory, an unusual layout, damage): the scan may
 *  have got some rows then and is to be restarted. Inside a transaction of the caller. */
bool event_pages(struct store *store, struct scan *scan, const struct row_range *ranges,
                 size_t range_count);

#endif
