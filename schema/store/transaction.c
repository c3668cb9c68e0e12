/* SPDX-License-Identifier: Apache-2.0 */
/* Transactions: what is begun, committed and rolled back with the rows themselves. */
#include <errno.h>

#include "schema/store/private.h"

/* Changes when another connection has committed: then what we remember may be wrong. */
static int check_data_version(struct store *store, struct diag *diag)
{
    sqlite3_stmt *statement;
    int64_t version = 0;
    int rc =
        store_statement(store, STORE_GET_DATA_VERSION, "PRAGMA data_version", &statement, diag);

    if (rc < 0)
        return rc;
    if (sqlite3_step(statement) == SQLITE_ROW)
        version = sqlite3_column_int64(statement, 0);
    sqlite3_reset(statement);
    if (version != store->data_version)
        store_forget_accounts(store);
    store->data_version = version;
    return 0;
}

/* What BEGIN IMMEDIATE does, but for main alone: the attached images are not there to be written.
 */
static int take_write_lock(struct store *store, struct diag *diag)
{
    sqlite3_stmt *statement;
    int rc = store_statement(store, STORE_TAKE_WRITE_LOCK, "DELETE FROM main.meta WHERE 0",
                             &statement, diag);

    return rc < 0 ? rc : store_step(store, statement, "write", diag);
}

int store_begin(struct store *store, struct diag *diag)
{
    int rc = store_room_begin(store, diag);

    if (rc == 0)
        rc = store_exec(store, "BEGIN", "write", diag);
    if (rc < 0)
        return rc;
    rc = take_write_lock(store, diag);
    if (rc == 0)
        rc = check_data_version(store, diag);
    if (rc < 0)
        store_rollback(store);
    return rc;
}

int store_commit(struct store *store, struct diag *diag)
{
    int rc = store_flush(store, diag);

    if (rc == 0)
        rc = store_write_accounts(store, diag);
    if (rc == 0)
        rc = store_room_commit(store, diag);
    if (rc == 0)
        rc = store_exec(store, "COMMIT", "write", diag);
    /* What fails here is tried again after the next commit. */
    if (rc == 0 && store->log_pages >= store->log_pages_max)
        store_room_checkpoint(store);
    return rc;
}

void store_rollback(struct store *store)
{
    /* SQLite itself has rolled back after some errors. */
    if (!sqlite3_get_autocommit(store->db))
        sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    for (int i = 0; i < STORE_BULK_COUNT; i++)
        bulk_clear(&store->bulks[i]);
    store_forget_accounts(store);
}

/* SQLite itself does it at checkpoints, and when a log begins: with synchronous = NORMAL a commit
 * survives the end of the program, not that of the machine. */
int store_sync(struct store *store, struct diag *diag)
{
    sqlite3_file *log = NULL;
    /* A log that a program before us has left is opened by the first reading. */
    int rc = store_exec(store, "SELECT 1 FROM meta LIMIT 1", "read", diag);

    if (rc < 0)
        return rc;
    if (sqlite3_file_control(store->db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log) != SQLITE_OK ||
        !log || !log->pMethods)
        return diag_set(diag, -EIO, "%s: cannot reach the disk: it has no log", store->path);
    rc = log->pMethods->xSync(log, SQLITE_SYNC_NORMAL);
    if (rc != SQLITE_OK)
        return diag_set(diag, -EIO, "%s: cannot reach the disk: %s", store->path,
                        sqlite3_errstr(rc));
    return 0;
}

int store_write_rollups(struct store *store, struct diag *diag)
{
    bool has_rollups = false, has_totals = false;
    int rc = store_rollup_is_waiting(store, &has_rollups, diag);

    if (rc == 0)
        rc = store_total_is_waiting(store, &has_totals, diag);
    if (rc < 0 || (!has_rollups && !has_totals))
        return rc;
    rc = store_begin(store, diag);
    if (rc < 0)
        return rc;
    if (has_rollups)
        rc = store_rollup_write(store, diag);
    if (rc == 0)
        rc = store_total_prepare(store, diag);
    if (rc == 0)
        rc = store_total_write(store, diag);
    if (rc == 0)
        rc = store_commit(store, diag);
    if (rc < 0)
        store_rollback(store);
    return rc;
}
