/* SPDX-License-Identifier: Apache-2.0 */
/* Ended sessions, losses, roll-ups and runs give way. */
#include "schema/store/shed.h"

#include <stdio.h>

#include "schema/store/private.h"
#include "schema/store/retain.h"

enum {
    SQL_MAX = 1200,
    EVENT_BYTES = 36, /* of a row of event, memory_event or counter, about */
    RUN_BYTES = 45,
    STEP_STATS = 512, /* or a part of what there is: all of it is counted for each step */
    STEP_RUNS = 4096,
    STEP_PART = 16,
    STEP_GAPS = 4096,
};

static const int64_t LOOK_NS = INT64_C(1000000000);

/* Events by their batches, because rowids have holes. Each table and index has a page even when it
 * is empty. */
static int estimate(struct store *store, int64_t used_bytes, struct diag *diag)
{
    char sql[SQL_MAX];
    int64_t count, empty_bytes;
    int rc;

    snprintf(sql, sizeof(sql),
             "SELECT ifnull((SELECT sum(last_rowid-first_rowid+1) FROM event_batch),0)"
             "+ifnull((SELECT max(rowid)-min(rowid)+1 FROM memory_event),0)"
             "+ifnull((SELECT max(rowid) FROM counter)-(SELECT min(rowid) FROM counter WHERE"
             " rowid>%lld)+1,0)",
             (long long)store->kept_counter);
    rc = store_query_int(store, sql, &count, diag);
    if (rc == 0)
        rc = store_query_int(store,
                             "SELECT count(*)*(SELECT page_size FROM pragma_page_size) FROM"
                             " sqlite_master WHERE rootpage>0",
                             &empty_bytes, diag);
    if (rc == 0)
        store->shed.rest_bytes = used_bytes - empty_bytes - count * EVENT_BYTES;
    return rc;
}

int store_shed_is_due(struct store *store, int64_t used_bytes, int64_t budget_bytes, int64_t now_ns,
                      struct diag *diag)
{
    struct shed *shed = &store->shed;
    int rc;

    if (!shed->has_looked || now_ns < shed->looked_ns || now_ns - shed->looked_ns >= LOOK_NS) {
        *shed = (struct shed){.has_looked = true, .looked_ns = now_ns};
        rc = estimate(store, used_bytes, diag);
        if (rc < 0)
            return rc;
    }
    return !shed->is_done && shed->rest_bytes > budget_bytes / 2;
}

/* The session that goes whole next; 0: none may. The last event tells the number of the next one.
 * LIMIT -1 keeps SQLite from looking at the ops of all sessions before it puts them in order. */
static int find_session(struct store *store, int64_t *out_session_id, struct diag *diag)
{
    return store_query_int(
        store,
        "SELECT session_id FROM (SELECT session_id FROM session s LEFT JOIN (SELECT uid AS u,"
        "  count(*) AS n FROM session GROUP BY uid) ON u IS s.uid WHERE end_ns IS NOT NULL"
        "  AND source='live' ORDER BY n DESC,end_ns,session_id LIMIT -1) s"
        " WHERE session_id NOT IN (SELECT l.session_id FROM event e JOIN lane l USING (lane_id)"
        "  WHERE e.rowid=(SELECT max(rowid) FROM event))"
        " AND NOT EXISTS (SELECT 1 FROM op_row o WHERE o.session_id=s.session_id AND"
        "  o.type='counter' AND o.name LIKE 'calibration.%') LIMIT 1",
        out_session_id, diag);
}

static int forget_session(struct store *store, int64_t now_ns, struct diag *diag)
{
    size_t rows;
    int rc;

    if (!store->forget.session_id) {
        int64_t session_id;

        rc = find_session(store, &session_id, diag);
        if (rc < 0 || session_id == 0)
            return rc;
        store->forget = (struct forget){.session_id = session_id};
    }
    rc = store_forget_step(store, now_ns, &rows, diag);
    return rc < 0 ? rc : 1;
}

/* v_loss adds them up in the same way; losses of a number that is not known stay by themselves. */
static int merge_gaps(struct store *store, struct diag *diag)
{
    int64_t last, most;
    char sql[SQL_MAX];
    int rc = store_query_int(store, "SELECT max(rowid) FROM gap", &last, diag);

    if (rc < 0 || last == 0)
        return rc;
    snprintf(sql, sizeof(sql),
             "INSERT INTO gap(session_id,lane_id,reason,lost_count,start_ns,end_ns)"
             " SELECT session_id,lane_id,reason,CAST(sum(1.0*lost_count) AS INTEGER),"
             "min(start_ns),max(end_ns) FROM"
             " (SELECT * FROM gap ORDER BY rowid LIMIT %d) GROUP BY session_id,lane_id,reason,"
             "lost_count IS NULL HAVING count(*)>1",
             STEP_GAPS);
    rc = store_exec(store, sql, "write", diag);
    if (rc < 0 || sqlite3_changes64(store->db) == 0)
        return rc;
    snprintf(sql, sizeof(sql),
             "SELECT max(rowid) FROM (SELECT rowid FROM gap ORDER BY rowid LIMIT %d)", STEP_GAPS);
    rc = store_query_int(store, sql, &most, diag);
    if (rc < 0)
        return rc;
    most = most < last ? most : last;
    snprintf(sql, sizeof(sql),
             "DELETE FROM gap WHERE rowid<=%lld AND EXISTS (SELECT 1 FROM gap g WHERE g.rowid>%lld"
             " AND g.session_id=gap.session_id AND g.lane_id IS gap.lane_id AND"
             " g.reason=gap.reason AND (g.lost_count IS NULL)=(gap.lost_count IS NULL))",
             (long long)most, (long long)last);
    rc = store_exec(store, sql, "write", diag);
    return rc < 0 ? rc : 1;
}

/* The session that has most rows of something, and how many. 0: there is none. */
static int find_largest(struct store *store, const char *counts, int64_t *out_session_id,
                        int64_t *out_count, struct diag *diag)
{
    char sql[SQL_MAX];
    int rc;

    snprintf(sql, sizeof(sql), "SELECT session_id FROM (%s) ORDER BY n DESC LIMIT 1", counts);
    rc = store_query_int(store, sql, out_session_id, diag);
    snprintf(sql, sizeof(sql), "SELECT max(n) FROM (%s)", counts);
    return rc < 0 ? rc : store_query_int(store, sql, out_count, diag);
}

/* The oldest rows of a session: what chooses them, and what is told of them in `dropped`. */
struct oldest {
    char rows[SQL_MAX];         /* a SELECT */
    const char *count;          /* column of `dropped` */
    char sums[200];             /* over rows: start_ns, end_ns, dropped_ns and the count */
    char remove[SQL_MAX + 100]; /* the DELETE */
};

static int drop_oldest(struct store *store, int64_t session_id, int64_t now_ns,
                       const struct oldest *oldest, struct diag *diag)
{
    const char *count = oldest->count;
    char sql[2 * SQL_MAX];
    int rc;

    snprintf(
        sql, sizeof(sql),
        "INSERT INTO dropped(session_id,reason,event_count,memory_event_count,counter_count,"
        "start_ns,end_ns,dropped_ns,%s) SELECT %lld,'budget',0,0,0,%s FROM (%s) HAVING count(*)"
        " ON CONFLICT(session_id,reason) DO UPDATE SET %s=%s+excluded.%s,"
        "start_ns=min(start_ns,excluded.start_ns),end_ns=max(end_ns,excluded.end_ns),"
        "dropped_ns=%lld",
        count, (long long)session_id, oldest->sums, oldest->rows, count, count, count,
        (long long)now_ns);
    rc = store_exec(store, sql, "write", diag);
    return rc < 0 ? rc : store_exec(store, oldest->remove, "write", diag);
}

static int64_t choose_step(int64_t least, int64_t count)
{
    return count / STEP_PART > least ? count / STEP_PART : least;
}

static int drop_stats(struct store *store, int64_t session_id, int64_t count, int64_t now_ns,
                      struct diag *diag)
{
    struct oldest oldest = {.count = "rollup_event_count"};
    int rc;

    snprintf(oldest.rows, sizeof(oldest.rows),
             "SELECT s.rowid AS id,s.start_ns,s.start_ns+s.bucket_ns AS end_ns,s.event_count FROM"
             " op_stat s CROSS JOIN op_row o ON o.op_id=s.op_id WHERE o.session_id=%lld ORDER BY"
             " s.rowid LIMIT %lld",
             (long long)session_id, (long long)choose_step(STEP_STATS, count));
    snprintf(oldest.sums, sizeof(oldest.sums),
             "min(start_ns),min(max(end_ns),%lld),%lld,sum(event_count)", (long long)now_ns,
             (long long)now_ns);
    snprintf(oldest.remove, sizeof(oldest.remove),
             "DELETE FROM op_stat WHERE rowid IN (SELECT id FROM (%s))", oldest.rows);
    rc = store_rollup_settle(store, INT64_MAX, diag); /* what is in memory names rows that go */
    return rc < 0 ? rc : drop_oldest(store, session_id, now_ns, &oldest, diag);
}

static int drop_runs(struct store *store, int64_t session_id, int64_t count, int64_t now_ns,
                     struct diag *diag)
{
    struct oldest oldest = {.count = "run_count"};

    snprintf(oldest.rows, sizeof(oldest.rows),
             "SELECT run,start_ns,ifnull(end_ns,start_ns) AS end_ns FROM run WHERE session_id=%lld"
             " ORDER BY run LIMIT %lld",
             (long long)session_id, (long long)choose_step(STEP_RUNS, count));
    snprintf(oldest.sums, sizeof(oldest.sums), "min(start_ns),max(end_ns),%lld,count(*)",
             (long long)now_ns);
    snprintf(oldest.remove, sizeof(oldest.remove),
             "DELETE FROM run WHERE session_id=%lld AND run IN (SELECT run FROM (%s))",
             (long long)session_id, oldest.rows);
    return drop_oldest(store, session_id, now_ns, &oldest, diag);
}

static int drop_largest(struct store *store, int64_t now_ns, struct diag *diag)
{
    int64_t stat_session, stat_count, run_session, run_count;
    int rc = find_largest(store,
                          "SELECT session_id,count(*) AS n FROM op_stat JOIN op_row USING (op_id)"
                          " GROUP BY session_id",
                          &stat_session, &stat_count, diag);

    if (rc == 0)
        rc = find_largest(store, "SELECT session_id,count(*) AS n FROM run GROUP BY session_id",
                          &run_session, &run_count, diag);
    if (rc < 0 || (stat_count == 0 && run_count == 0))
        return rc;
    rc = stat_count * ROLLUP_ROW_BYTES > run_count * RUN_BYTES
             ? drop_stats(store, stat_session, stat_count, now_ns, diag)
             : drop_runs(store, run_session, run_count, now_ns, diag);
    return rc < 0 ? rc : 1;
}

int store_shed_step(struct store *store, int64_t now_ns, struct diag *diag)
{
    int64_t before, after;
    int rc = store_used_bytes(store, &before, diag);

    if (rc == 0)
        rc = forget_session(store, now_ns, diag);
    if (rc == 0)
        rc = merge_gaps(store, diag);
    if (rc == 0)
        rc = drop_largest(store, now_ns, diag);
    if (rc == 1 && store_used_bytes(store, &after, diag) == 0)
        store->shed.rest_bytes -= before - after;
    if (rc == 0)
        store->shed.is_done = true;
    return rc;
}
