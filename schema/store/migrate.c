/* SPDX-License-Identifier: Apache-2.0 */
/* Bringing an older store to this version: a list of steps, all in one transaction, so that whoever
 * is killed in the middle leaves the old store. It needs as much free disk as the store has. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "schema/store/private.h"

struct migration {
    const char *from, *to;
    const char *sql;
    int (*finish)(struct store *store, struct diag *diag); /* what SQL cannot do, or NULL */
};

/* Count one row of `event`; rows that no later version would have stored are passed over. */
static int roll_up_row(struct store *store, sqlite3_stmt *statement, struct diag *diag)
{
    struct store_event event = {
        .op_id = sqlite3_column_int64(statement, 0),
        .start_ns = sqlite3_column_int64(statement, 1),
        .dur_ns = sqlite3_column_int64(statement, 2),
        .kern_ns = sqlite3_column_type(statement, 3) == SQLITE_NULL
                       ? STORE_NULL
                       : sqlite3_column_int64(statement, 3),
    };
    int kind = store_lane_kind_of((const char *)sqlite3_column_text(statement, 4));
    struct rollup_event counted = {.event = &event, .lane_kind = (uint8_t)kind};

    return kind < 0 ? 0 : store_rollup_add(store, &counted, 1, diag);
}

static int make_rollups(struct store *store, struct diag *diag)
{
    sqlite3_stmt *statement = NULL;
    int rc = 0;
    int code = sqlite3_prepare_v2(store->db,
                                  "SELECT e.op_id,e.start_ns,e.dur_ns,e.kern_ns,l.kind"
                                  " FROM event e CROSS JOIN lane l ON l.lane_id=e.lane_id"
                                  " WHERE e.op_id IS NOT NULL AND e.start_ns IS NOT NULL"
                                  " AND e.dur_ns>=0 ORDER BY e.rowid",
                                  -1, &statement, NULL);

    if (code == SQLITE_OK) {
        while (rc == 0 && (code = sqlite3_step(statement)) == SQLITE_ROW)
            rc = roll_up_row(store, statement, diag);
    }
    if (rc == 0 && code != SQLITE_DONE)
        rc = store_fail(store, code, "migrate", diag);
    sqlite3_finalize(statement);
    return rc < 0 ? rc : store_rollup_write(store, diag);
}

static const struct migration migrations[] = {
    {"0.9", "1.0", store_0_9_to_1_0_sql, make_rollups}, {"1.0", "1.1", store_1_0_to_1_1_sql, NULL},
    {"1.1", "1.2", store_1_1_to_1_2_sql, NULL},         {"1.2", "1.3", store_1_2_to_1_3_sql, NULL},
    {"1.3", "1.4", store_1_3_to_1_4_sql, NULL},
};

static const struct migration *find_migration(const char *from)
{
    for (size_t i = 0; i < sizeof(migrations) / sizeof(migrations[0]); i++) {
        if (strcmp(migrations[i].from, from) == 0)
            return &migrations[i];
    }
    return NULL;
}

static int record_migration(struct store *store, const struct migration *migration,
                            struct diag *diag)
{
    char sql[300];

    snprintf(sql, sizeof(sql),
             "INSERT INTO migration(from_version,to_version,applied_ns) VALUES('%s','%s',%lld);"
             "UPDATE meta SET value='%s' WHERE key='schema_version'",
             migration->from, migration->to, (long long)ot_clock_ns(CLOCK_REALTIME), migration->to);
    return store_exec(store, sql, "migrate", diag);
}

/* The views of any version; those that a user added have other names and stay. Op was a table once.
 */
static int drop_views(struct store *store, struct diag *diag)
{
    sqlite3_stmt *statement = NULL;
    char *sql = NULL;
    int rc = 0;
    int code = sqlite3_prepare_v2(
        store->db,
        "SELECT group_concat(printf('DROP VIEW \"%w\";',name),'') FROM sqlite_master"
        " WHERE type='view' AND (name GLOB 'v_*' OR name='op')",
        -1, &statement, NULL);

    if (code == SQLITE_OK && (code = sqlite3_step(statement)) == SQLITE_ROW &&
        sqlite3_column_text(statement, 0))
        sql = sqlite3_mprintf("%s", sqlite3_column_text(statement, 0));
    if (code != SQLITE_ROW)
        rc = store_fail(store, code, "migrate", diag);
    sqlite3_finalize(statement);
    if (rc == 0 && sql)
        rc = store_exec(store, sql, "migrate", diag);
    sqlite3_free(sql);
    return rc;
}

static int apply_migrations(struct store *store, struct diag *diag)
{
    char version[STORE_VERSION_TEXT_MAX];
    int rc = store_read_version(store, version, diag);

    if (rc == 0)
        rc = drop_views(store, diag);
    while (rc == 0 && strcmp(version, STORE_VERSION_TEXT) != 0) {
        const struct migration *migration = find_migration(version);

        if (!migration)
            return diag_set(diag, -EPROTO,
                            "%s has the schema version %s, which is too old to be migrated "
                            "to " STORE_VERSION_TEXT,
                            store->path, version);
        rc = store_exec(store, migration->sql, "migrate", diag);
        if (rc == 0 && migration->finish)
            rc = migration->finish(store, diag);
        if (rc == 0)
            rc = record_migration(store, migration, diag);
        snprintf(version, sizeof(version), "%s", migration->to);
    }
    return rc < 0 ? rc : store_exec(store, store_views_sql, "migrate", diag);
}

int store_migrate(struct store *store, struct diag *diag)
{
    /* The old way of renaming does not look into views, which in the middle name what is not there.
     */
    int rc = store_exec(store, "PRAGMA legacy_alter_table = ON; BEGIN IMMEDIATE", "migrate", diag);

    if (rc < 0)
        return rc;
    rc = apply_migrations(store, diag);
    if (rc == 0)
        rc = store_exec(store, "COMMIT", "migrate", diag);
    if (rc < 0)
        store_rollback(store);
    store_forget_accounts(store);
    return rc < 0 ? rc : store_exec(store, "PRAGMA legacy_alter_table = OFF", "migrate", diag);
}
