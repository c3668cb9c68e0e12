/* SPDX-License-Identifier: Apache-2.0 */
/* What a database is, making the tables of a new store, and migrating an older one. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "schema/store/private.h"

static int refuse_version(struct store *store, const char *version, struct diag *diag)
{
    return diag_set(diag, -EUCLEAN, "%s is damaged: its schema version is '%.40s'", store->path,
                    version);
}

/* "1.0" -> 1, 0. */
static bool parse_version(const char *text, long *out_major, long *out_minor)
{
    char *end;

    *out_major = strtol(text, &end, 10);
    if (end == text || *end != '.')
        return false;
    text = end + 1;
    *out_minor = strtol(text, &end, 10);
    return end != text && *end == '\0';
}

int store_read_version(struct store *store, char *out_text, struct diag *diag)
{
    sqlite3_stmt *statement = NULL;
    int rc = 0;
    int code = sqlite3_prepare_v2(store->db, "SELECT value FROM meta WHERE key='schema_version'",
                                  -1, &statement, NULL);

    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    if (code == SQLITE_ROW && sqlite3_column_text(statement, 0))
        snprintf(out_text, STORE_VERSION_TEXT_MAX, "%s", sqlite3_column_text(statement, 0));
    else if (code == SQLITE_ROW || code == SQLITE_DONE || code == SQLITE_ERROR)
        out_text[0] = '\0';
    else
        rc = store_fail(store, code, "read", diag);
    sqlite3_finalize(statement);
    return rc;
}

static int check_version(struct store *store, struct diag *diag)
{
    char version[STORE_VERSION_TEXT_MAX];
    long major, minor;
    int rc = store_read_version(store, version, diag);

    if (rc < 0)
        return rc;
    if (!parse_version(version, &major, &minor))
        return refuse_version(store, version, diag);
    if (major > STORE_VERSION_MAJOR)
        return diag_set(diag, -EPROTO,
                        "%s was written by a newer optrace: its schema version is %s, this program "
                        "knows " STORE_VERSION_TEXT,
                        store->path, version);
    if (major < STORE_VERSION_MAJOR || minor < STORE_VERSION_MINOR)
        return STORE_STATE_OLDER;
    return STORE_STATE_CURRENT;
}

int store_check_schema(struct store *store, struct diag *diag)
{
    int64_t application_id, table_count;
    int rc = store_query_int(store, "PRAGMA application_id", &application_id, diag);

    if (rc == 0)
        rc = store_query_int(store, "SELECT count(*) FROM sqlite_master", &table_count, diag);
    if (rc < 0)
        return rc;
    if (application_id == STORE_APPLICATION_ID)
        return check_version(store, diag);
    if (application_id == 0 && table_count == 0)
        return STORE_STATE_EMPTY;
    return diag_set(diag, -EUCLEAN, "%s is an SQLite file, but not a store of optrace",
                    store->path);
}

static int put_meta(struct store *store, struct diag *diag)
{
    char sql[512];

    snprintf(sql, sizeof(sql),
             "PRAGMA application_id = %d;"
             "REPLACE INTO meta VALUES('schema_version','" STORE_VERSION_TEXT "');"
             "INSERT OR IGNORE INTO meta VALUES('created_ns','%lld'),"
             "('created_by','optrace " OPTRACE_VERSION "'),('totalled','0');",
             STORE_APPLICATION_ID, (long long)ot_clock_ns(CLOCK_REALTIME));
    return store_exec(store, sql, "write", diag);
}

int store_create_schema(struct store *store, struct diag *diag)
{
    int rc = store_exec(store, "BEGIN IMMEDIATE", "write", diag);

    if (rc == 0)
        rc = store_exec(store, store_tables_sql, "make the tables of", diag);
    if (rc == 0)
        rc = store_exec(store, store_views_sql, "make the views of", diag);
    if (rc == 0)
        rc = put_meta(store, diag);
    if (rc == 0)
        rc = store_exec(store, "COMMIT", "write", diag);
    if (rc < 0)
        store_rollback(store);
    return rc;
}
