/* SPDX-License-Identifier: Apache-2.0 */
/* Prepared statements: made on first use, stepped and reset. */
#include "schema/store/private.h"

int store_statement(struct store *store, enum store_statement which, const char *sql,
                    sqlite3_stmt **out_statement, struct diag *diag)
{
    sqlite3_stmt **slot = &store->statements[which];

    if (!*slot) {
        int code = sqlite3_prepare_v3(store->db, sql, -1, SQLITE_PREPARE_PERSISTENT, slot, NULL);

        if (code != SQLITE_OK)
            return store_fail(store, code, "write", diag);
    }
    *out_statement = *slot;
    return 0;
}

int store_step(struct store *store, sqlite3_stmt *statement, const char *doing, struct diag *diag)
{
    int code = sqlite3_step(statement);
    int rc = code == SQLITE_DONE ? 0 : store_fail(store, code, doing, diag);

    sqlite3_reset(statement);
    return rc;
}

int store_bind_int(sqlite3_stmt *statement, int column, int64_t value)
{
    return value == STORE_NULL ? sqlite3_bind_null(statement, column)
                               : sqlite3_bind_int64(statement, column, value);
}
