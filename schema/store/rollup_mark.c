/* SPDX-License-Identifier: Apache-2.0 */
/* What the file says of roll-ups that wait. */
#include "schema/store/private.h"

/* Rows of meta; those of ended buckets are not there where all waits. */
#define MARK_KEYS "'rolled_up','rolled_up_ended','rolled_up_ended_ns'"

int store_rollup_read_mark(struct store *store, bool *out_has_mark, struct rollup_mark *out_mark,
                           struct diag *diag)
{
    sqlite3_stmt *statement;
    int code;
    int rc = store_statement(
        store, STORE_GET_ROLLED_UP,
        "SELECT CAST(m.value AS INTEGER),CAST(e.value AS INTEGER),CAST(t.value AS INTEGER)"
        " FROM main.meta m LEFT JOIN main.meta e ON e.key='rolled_up_ended'"
        " LEFT JOIN main.meta t ON t.key='rolled_up_ended_ns' WHERE m.key='rolled_up'",
        &statement, diag);

    if (rc < 0)
        return rc;
    code = sqlite3_step(statement);
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        rc = store_fail(store, code, "read", diag);
    *out_has_mark = code == SQLITE_ROW;
    if (code == SQLITE_ROW)
        *out_mark = (struct rollup_mark){.rowid = sqlite3_column_int64(statement, 0),
                                         .ended_rowid = sqlite3_column_int64(statement, 1),
                                         .ended_ns = sqlite3_column_int64(statement, 2)};
    sqlite3_reset(statement);
    return rc;
}

int store_rollup_put_mark(struct store *store, struct diag *diag)
{
    const struct rollup_mark *mark = &store->rollup.mark;
    sqlite3_stmt *statement;
    int rc = store_statement(store, STORE_PUT_ROLLED_UP,
                             "REPLACE INTO main.meta SELECT column1,CAST(column2 AS TEXT) FROM"
                             " (VALUES('rolled_up',?1),('rolled_up_ended',?2),"
                             "('rolled_up_ended_ns',?3)) WHERE column1='rolled_up' OR ?2>0",
                             &statement, diag);

    if (rc < 0)
        return rc;
    sqlite3_bind_int64(statement, 1, mark->rowid);
    sqlite3_bind_int64(statement, 2, mark->ended_rowid);
    sqlite3_bind_int64(statement, 3, mark->ended_ns);
    rc = store_step(store, statement, "write", diag);
    store->rollup.has_mark = rc == 0;
    return rc;
}

int store_rollup_drop_mark(struct store *store, struct diag *diag)
{
    sqlite3_stmt *statement;
    int rc = store->rollup.has_mark
                 ? store_statement(store, STORE_DROP_ROLLED_UP,
                                   "DELETE FROM main.meta WHERE key IN (" MARK_KEYS ")", &statement,
                                   diag)
                 : 1;

    if (rc != 0)
        return rc < 0 ? rc : 0;
    rc = store_step(store, statement, "write", diag);
    store->rollup.has_mark = rc < 0;
    return rc;
}
