/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions, part by part. This is done once in the life of a session: its SQL is made as it goes.
 */
#include "schema/store/forget.h"

#include <stdio.h>

#include "schema/store/private.h"

enum { STEP_ROWS = 8192, SQL_MAX = 1500 };

static const int64_t LOOK_NS = INT64_C(10000000000);

/* Whether batch b has events of session s: by its lanes, where it names them. The range of its
 * sessions says little where a program that stays runs beside some that come and go. */
#define BATCH_HAS_SESSION                                                                          \
    "b.session_min<=s.session_id AND b.session_max>=s.session_id AND (b.lanes IS NULL OR EXISTS"   \
    " (SELECT 1 FROM json_each(b.lanes) j JOIN lane l ON l.lane_id=j.value"                        \
    "  WHERE l.session_id=s.session_id))"

/* The columns of the first row. Returns 1, or 0 when there is none or the first column is NULL. */
static int query_ints(struct store *store, const char *sql, int64_t *out_values, int count,
                      struct diag *diag)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL), rc = 0;

    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    if (code == SQLITE_ROW && sqlite3_column_type(statement, 0) != SQLITE_NULL) {
        for (int i = 0; i < count; i++)
            out_values[i] = sqlite3_column_int64(statement, i);
        rc = 1;
    } else if (code != SQLITE_ROW && code != SQLITE_DONE) {
        rc = store_fail(store, code, "read", diag);
    }
    sqlite3_finalize(statement);
    return rc;
}

int store_forget_find(struct store *store, int64_t before_ns, int64_t now_ns, struct diag *diag)
{
    struct forget *forget = &store->forget;
    char sql[SQL_MAX];
    int64_t session_id;
    int rc;

    if (forget->session_id)
        return 1;
    if (now_ns >= forget->looked_ns && now_ns - forget->looked_ns < LOOK_NS)
        return 0;
    /* The rows of the last batch tell the number of the next event. */
    snprintf(sql, sizeof(sql),
             "SELECT session_id FROM session s WHERE end_ns<%lld AND source='live'"
             " AND NOT EXISTS (SELECT 1 FROM (SELECT * FROM event_batch ORDER BY first_rowid DESC"
             "  LIMIT 1) b WHERE " BATCH_HAS_SESSION ") AND NOT EXISTS (SELECT 1 FROM op_row o"
             "  WHERE o.session_id=s.session_id AND o.type='counter' AND o.name LIKE"
             "  'calibration.%%') ORDER BY end_ns,session_id LIMIT 1",
             (long long)before_ns);
    rc = query_ints(store, sql, &session_id, 1, diag);
    forget->looked_ns = rc == 0 ? now_ns : 0;
    if (rc == 1)
        *forget = (struct forget){.session_id = session_id};
    return rc;
}

static void next_part(struct forget *forget)
{
    forget->part++;
    forget->after = 0;
}

/* The session's rows of a table in a range of rowids: counted, then deleted. */
static int drop_rows(struct store *store, const char *table, const char *end,
                     const int64_t range[2], int64_t now_ns, size_t *out_rows, struct diag *diag)
{
    const char *start = *end ? "start_ns" : "time_ns";
    long long session_id = store->forget.session_id;
    char where[300], sql[SQL_MAX];
    int rc;

    snprintf(where, sizeof(where),
             "FROM %s WHERE rowid BETWEEN %lld AND %lld AND lane_id IN (SELECT lane_id FROM lane"
             " WHERE session_id=%lld)",
             table, (long long)range[0], (long long)range[1], session_id);
    snprintf(
        sql, sizeof(sql),
        "INSERT INTO dropped(session_id,reason,event_count,memory_event_count,counter_count,"
        "start_ns,end_ns,dropped_ns) SELECT %lld,'age',0,0,0,min(%s),max(%s%s),%lld %s GROUP BY"
        " 1 ON CONFLICT DO UPDATE SET start_ns=min(start_ns,excluded.start_ns),"
        "end_ns=max(end_ns,excluded.end_ns),dropped_ns=excluded.dropped_ns;"
        "UPDATE dropped SET %s_count=%s_count+(SELECT count(*) %s) WHERE session_id=%lld AND"
        " reason='age'",
        session_id, start, start, end, (long long)now_ns, where, table, table, where, session_id);
    rc = store_exec(store, sql, "write", diag);
    if (rc < 0)
        return rc;
    snprintf(sql, sizeof(sql), "DELETE %s", where);
    rc = store_exec(store, sql, "write", diag);
    *out_rows += rc == 0 ? (size_t)sqlite3_changes64(store->db) : 0;
    return rc;
}

static int drop_events(struct store *store, int64_t now_ns, size_t *out_rows, struct diag *diag)
{
    struct forget *forget = &store->forget;
    long long session_id = forget->session_id;
    char sql[SQL_MAX];
    int64_t range[2] = {0};
    int rc;

    snprintf(sql, sizeof(sql),
             "SELECT first_rowid,last_rowid FROM event_batch b, (SELECT %lld AS session_id) s"
             " WHERE first_rowid>%lld AND " BATCH_HAS_SESSION " ORDER BY first_rowid LIMIT 1",
             session_id, (long long)forget->after);
    rc = query_ints(store, sql, range, 2, diag);
    if (rc == 0)
        next_part(forget);
    if (rc <= 0)
        return rc;
    rc = store_rollup_settle_events(store, range[1], diag);
    if (rc == 0)
        rc = drop_rows(store, "event", "+coalesce(dur_ns,0)", range, now_ns, out_rows, diag);
    snprintf(sql, sizeof(sql),
             "DELETE FROM event_batch WHERE first_rowid=%lld AND NOT EXISTS (SELECT 1 FROM event"
             " WHERE rowid BETWEEN %lld AND %lld)",
             (long long)range[0], (long long)range[0], (long long)range[1]);
    if (rc == 0)
        rc = store_exec(store, sql, "write", diag);
    forget->after = range[0];
    return rc;
}

static int drop_of_table(struct store *store, const char *table, int64_t now_ns, size_t *out_rows,
                         struct diag *diag)
{
    struct forget *forget = &store->forget;
    char sql[SQL_MAX];
    int64_t range[2] = {0};
    int rc;

    snprintf(sql, sizeof(sql), "SELECT min(rowid) FROM %s WHERE rowid>%lld", table,
             (long long)forget->after);
    rc = query_ints(store, sql, range, 1, diag);
    if (rc == 0)
        next_part(forget);
    if (rc <= 0)
        return rc;
    range[1] = range[0] + STEP_ROWS - 1;
    forget->after = range[1];
    return drop_rows(store, table, "", range, now_ns, out_rows, diag);
}

static int drop_memory_events(struct store *store, int64_t now_ns, size_t *out_rows,
                              struct diag *diag)
{
    return drop_of_table(store, "memory_event", now_ns, out_rows, diag);
}

static int drop_counters(struct store *store, int64_t now_ns, size_t *out_rows, struct diag *diag)
{
    return drop_of_table(store, "counter", now_ns, out_rows, diag);
}

static int drop_runs(struct store *store, int64_t now_ns, size_t *out_rows, struct diag *diag)
{
    long long session_id = store->forget.session_id;
    char sql[SQL_MAX];
    int rc;

    snprintf(sql, sizeof(sql),
             "DELETE FROM run WHERE session_id=%lld AND run IN (SELECT run FROM run WHERE"
             " session_id=%lld ORDER BY run LIMIT %d)",
             session_id, session_id, STEP_ROWS);
    rc = store_exec(store, sql, "write", diag);
    if (rc == 0 && sqlite3_changes64(store->db) < STEP_ROWS)
        next_part(&store->forget);
    return rc;
}

/* What describes the session: all of it is gone or none. */
static int drop_rest(struct store *store, int64_t now_ns, size_t *out_rows, struct diag *diag)
{
    static const char *const tables[] = {
        "variable",   "mem_chunk",     "gap",     "op_row",        "text",
        "lane",       "model",         "dropped", "session_total", "session_cover",
        "side_cover", "ingest_cursor", "session"};
    long long session_id = store->forget.session_id;
    char sql[SQL_MAX];
    int rc;

    snprintf(
        sql, sizeof(sql),
        "DELETE FROM op_stat WHERE op_id IN (SELECT op_id FROM op_row WHERE session_id=%lld);"
        "DELETE FROM op_total WHERE op_id IN (SELECT op_id FROM op_row WHERE session_id=%lld);"
        "DELETE FROM lane_cover WHERE lane_id IN (SELECT lane_id FROM lane WHERE session_id=%lld)",
        session_id, session_id, session_id);
    rc = store_rollup_settle(store, INT64_MAX, diag); /* what is in memory may name rows that go */
    if (rc == 0)
        rc = store_total_settle_events(store, INT64_MAX, diag);
    store_total_clear(&store->totals); /* all of it is written */
    if (rc == 0)
        rc = store_exec(store, sql, "write", diag);
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]) && rc == 0; i++) {
        snprintf(sql, sizeof(sql), "DELETE FROM %s WHERE session_id=%lld", tables[i], session_id);
        rc = store_exec(store, sql, "write", diag);
    }
    store_lane_cache_clear(&store->lanes);
    store->forget = (struct forget){0};
    return rc;
}

int store_forget_step(struct store *store, int64_t now_ns, size_t *out_rows, struct diag *diag)
{
    static int (*const parts[])(struct store * store, int64_t now_ns, size_t * out_rows,
                                struct diag * diag) = {
        drop_events, drop_memory_events, drop_counters, drop_runs, drop_rest,
    };

    *out_rows = 0;
    store_tally_clear(&store->tallies); /* batches will lack rows */
    return parts[store->forget.part](store, now_ns, out_rows, diag);
}
