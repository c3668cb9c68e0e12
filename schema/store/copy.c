/* SPDX-License-Identifier: Apache-2.0 */
/* A session's description from one store into another. */
#include <errno.h>
#include <stdio.h>

#include "schema/store/private.h"

enum { SQL_MAX = 256 };

/* "INSERT INTO table VALUES(?,...)" for as many columns as the statement has. */
static int prepare_insert(struct store *to, const char *table, int columns,
                          sqlite3_stmt **out_insert, struct diag *diag)
{
    char sql[SQL_MAX];
    int length = snprintf(sql, sizeof(sql), "INSERT INTO %s VALUES(?", table), code;

    for (int i = 1; i < columns && length + 3 < SQL_MAX; i++)
        length += snprintf(sql + length, sizeof(sql) - (size_t)length, ",?");
    snprintf(sql + length, sizeof(sql) - (size_t)length, ")");
    code = sqlite3_prepare_v2(to->db, sql, -1, out_insert, NULL);
    return code == SQLITE_OK ? 0 : store_fail(to, code, "write", diag);
}

static int copy_row(struct store *to, sqlite3_stmt *row, sqlite3_stmt *insert, struct diag *diag)
{
    int code = SQLITE_OK, columns = sqlite3_column_count(row);

    for (int i = 0; i < columns && code == SQLITE_OK; i++)
        code = sqlite3_bind_value(insert, i + 1, sqlite3_column_value(row, i));
    if (code != SQLITE_OK)
        return store_fail(to, code, "write", diag);
    return store_step(to, insert, "write", diag);
}

/* Rows of a session; run STORE_NULL: whatever the run. */
static int copy_rows(struct store *to, struct store *from, const char *table, int64_t session_id,
                     int64_t run, struct diag *diag)
{
    sqlite3_stmt *rows = NULL, *insert = NULL;
    char sql[SQL_MAX];
    int code, rc;

    snprintf(sql, sizeof(sql), "SELECT * FROM %s WHERE session_id = ?1%s", table,
             run == STORE_NULL ? "" : " AND run = ?2");
    code = sqlite3_prepare_v2(from->db, sql, -1, &rows, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_bind_int64(rows, 1, session_id);
    if (code == SQLITE_OK && run != STORE_NULL)
        code = sqlite3_bind_int64(rows, 2, run);
    rc = code == SQLITE_OK ? prepare_insert(to, table, sqlite3_column_count(rows), &insert, diag)
                           : store_fail(from, code, "read", diag);
    while (rc == 0 && (code = sqlite3_step(rows)) == SQLITE_ROW)
        rc = copy_row(to, rows, insert, diag);
    if (rc == 0 && code != SQLITE_DONE)
        rc = store_fail(from, code, "read", diag);
    sqlite3_finalize(rows);
    sqlite3_finalize(insert);
    return rc;
}

int store_copy_session(struct store *to, struct store *from, int64_t session_id, struct diag *diag)
{
    /* In the order of their references. */
    static const char *const tables[] = {"session", "model",     "text",    "op_row",
                                         "lane",    "mem_chunk", "variable"};
    int rc = 0;

    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]) && rc == 0; i++)
        rc = copy_rows(to, from, tables[i], session_id, STORE_NULL, diag);
    return rc;
}

int store_copy_run(struct store *to, struct store *from, int64_t session_id, int64_t run,
                   struct diag *diag)
{
    return copy_rows(to, from, "run", session_id, run, diag);
}
