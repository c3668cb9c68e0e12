/* SPDX-License-Identifier: Apache-2.0 */
/* SQLite's codes as negative errno and one sentence, and the small calls that need only that. */
#include <errno.h>
#include <string.h>

#include "schema/store/private.h"

/* SQLite keeps the system's error per file; which of both failed, it does not say. */
static int last_errno(sqlite3 *db)
{
    sqlite3_file *log = NULL;
    int error = 0;

    sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
    if (log && log->pMethods)
        log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &error);
    if (error == 0)
        sqlite3_file_control(db, "main", SQLITE_FCNTL_LAST_ERRNO, &error);
    return error;
}

static int errno_of_io_error(sqlite3 *db)
{
    switch (last_errno(db)) {
    case ENOSPC:
    case EDQUOT:
        return -ENOSPC;
    case EFBIG:
        return -EFBIG;
    case EACCES:
    case EPERM:
        return -EACCES;
    default:
        return -EIO;
    }
}

static int errno_of_cantopen(sqlite3 *db)
{
    int error = sqlite3_system_errno(db);

    return error ? -error : -EACCES;
}

static int errno_of(sqlite3 *db, int code)
{
    switch (code & 0xff) {
    case SQLITE_OK:
        return 0;
    case SQLITE_FULL:
        return -ENOSPC;
    case SQLITE_IOERR:
        return errno_of_io_error(db);
    case SQLITE_CANTOPEN:
        return errno_of_cantopen(db);
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_AUTH:
        return -EACCES;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return -EBUSY;
    case SQLITE_NOMEM:
        return -ENOMEM;
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
        return -EUCLEAN;
    case SQLITE_TOOBIG:
        return -E2BIG;
    case SQLITE_INTERRUPT:
        return -ECANCELED;
    default: /* a statement or a value that the tables refuse */
        return -EINVAL;
    }
}

/* What we ask for is in every store of this version: one that lacks it has damaged definitions. A user's
 * own query may well ask for what is not there. */
static bool lacks_its_tables(int code, const char *doing, const char *message)
{
    static const char *const starts[] = {"no such table", "no such column", "malformed database"};
    bool found = false;

    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
        found |= strncmp(message, starts[i], strlen(starts[i])) == 0;
    return found && (code & 0xff) == SQLITE_ERROR && strcmp(doing, "query") != 0;
}

int store_fail(struct store *store, int code, const char *doing, struct diag *diag)
{
    int error = errno_of(store->db, code);
    const char *message = sqlite3_errmsg(store->db);

    if (error == -EUCLEAN && (code & 0xff) == SQLITE_NOTADB)
        return diag_set(diag, error, "%s is not an SQLite file", store->path);
    if (lacks_its_tables(code, doing, message))
        error = -EUCLEAN;
    if (error == -EUCLEAN)
        return diag_set(diag, error, "%s is damaged: %s", store->path, message);
    if ((code & 0xff) == SQLITE_IOERR || (code & 0xff) == SQLITE_CANTOPEN || error == -ENOSPC)
        message = strerror(-error);
    return diag_set(diag, error, "cannot %s %s: %s", doing, store->path, message);
}

int store_exec(struct store *store, const char *sql, const char *doing, struct diag *diag)
{
    int code = sqlite3_exec(store->db, sql, NULL, NULL, NULL);

    return code == SQLITE_OK ? 0 : store_fail(store, code, doing, diag);
}

int store_query_int(struct store *store, const char *sql, int64_t *out_value, struct diag *diag)
{
    sqlite3_stmt *statement = NULL;
    int64_t value = 0;
    int code = sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL);

    if (code == SQLITE_OK) {
        code = sqlite3_step(statement);
        if (code == SQLITE_ROW)
            value = sqlite3_column_int64(statement, 0);
    }
    if (code != SQLITE_ROW && code != SQLITE_DONE) {
        int rc = store_fail(store, code, "read", diag);

        sqlite3_finalize(statement);
        return rc;
    }
    sqlite3_finalize(statement);
    *out_value = value;
    return 0;
}
