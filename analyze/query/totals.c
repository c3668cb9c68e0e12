/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of a scan from op_total, without reading events: what op_total tells apart is put together
 * as the scan would have counted it. Where it does not tell enough, or not of all events, the
 * caller reads these.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "analyze/query/private.h"

/* How many events a session had, and whether some are not stored any more, or are runs. */
static int count_events(struct store *store, int64_t session_id, int64_t *out_count,
                        bool *out_lacks_runs, struct diag *diag)
{
    sqlite3_stmt *statement = NULL;
    int rc = query_prepare(
        store,
        "SELECT (SELECT ifnull(sum(last_rowid - first_rowid + 1), 0) FROM event_batch"
        "         WHERE ?1 BETWEEN session_min AND session_max)"
        "     + (SELECT ifnull(sum(event_count), 0) FROM dropped WHERE session_id = ?1),"
        "       (SELECT ifnull(sum(run_count), 0) FROM dropped WHERE session_id = ?1)",
        &statement, diag);

    sqlite3_bind_int64(statement, 1, session_id);
    if (rc == 0)
        rc = query_step(store, statement, diag);
    if (rc == 1) {
        *out_count = sqlite3_column_int64(statement, 0);
        *out_lacks_runs = sqlite3_column_int64(statement, 1) > 0;
    }
    sqlite3_finalize(statement);
    return rc < 0 ? rc : 0;
}

/* Whether the file has totals of the session that count all of its events. */
static int has_totals(struct store *store, int64_t session_id, struct diag *diag)
{
    sqlite3_stmt *statement = NULL;
    int rc = query_prepare(
        store,
        "SELECT 1 FROM session_total t, session s WHERE t.session_id = ?1 AND s.session_id = ?1"
        " AND s.source <> 'megengine'"
        /* Whoever knew no totals may have dropped events that they do not count. */
        " AND NOT (EXISTS (SELECT 1 FROM dropped d WHERE d.session_id = ?1 AND d.event_count > 0)"
        "     AND (SELECT min(first_rowid) FROM event_batch)"
        "         > 1 + (SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'totalled'))"
        " AND NOT EXISTS (SELECT 1 FROM event_batch b"
        "     WHERE last_rowid > (SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'totalled')"
        "       AND ?1 BETWEEN session_min AND session_max"
        "       AND (lanes IS NULL OR EXISTS (SELECT 1 FROM json_each(b.lanes) j"
        "            JOIN lane l ON l.lane_id = j.value WHERE l.session_id = ?1)))",
        &statement, diag);

    sqlite3_bind_int64(statement, 1, session_id);
    if (rc == 0)
        rc = query_step(store, statement, diag);
    sqlite3_finalize(statement);
    return rc;
}

int query_event_count(struct store *store, int64_t session_id, int64_t *out_count,
                      struct diag *diag)
{
    bool lacks_runs;

    return count_events(store, session_id, out_count, &lacks_runs, diag);
}

int totals_may_answer(struct store *store, const struct ops_question *question, struct diag *diag)
{
    int64_t all = 0;
    int rc = 1;

    if (question->totals_from <= 0 || question->window || question->first_run ||
        question->last_run || question->chosen_runs)
        return 0;
    for (size_t i = 0; i < question->session_count && rc == 1; i++) {
        bool lacks_runs = false;
        int64_t count = 0;

        rc = count_events(store, question->session_ids[i], &count, &lacks_runs, diag);
        all += count;
        if (rc == 0)
            rc = lacks_runs ? 0 : 1;
    }
    if (rc == 1 && all < question->totals_from)
        rc = 0;
    for (size_t i = 0; i < question->session_count && rc == 1; i++)
        rc = has_totals(store, question->session_ids[i], diag);
    return rc;
}

/* What the scan would do with the events of a row. */
enum fate { FATE_COUNTS, FATE_OUTSIDE, FATE_SKIPPED, FATE_UNKNOWN };

enum run_kind { COUNTED, WARMUP, WITHOUT_OPS, RUN_KINDS };

static enum run_kind kind_of(const struct scan_run *run)
{
    return run->without_ops ? WITHOUT_OPS : run->is_warmup ? WARMUP : COUNTED;
}

/* Of the runs of a session by their kind. All of a kind have the same fate, where which run is asked
 * for by its kind alone. Runs without ops are one kind, warm-ups or not. */
struct fates {
    enum fate of_kind[RUN_KINDS];
};

static struct fates fates_of(const struct scan_session *session)
{
    bool is_seen[RUN_KINDS] = {false};
    struct fates fates;

    for (int kind = 0; kind < RUN_KINDS; kind++)
        fates.of_kind[kind] = FATE_UNKNOWN; /* no such run: somebody else has changed the file */
    for (size_t i = 0; i < session->run_count; i++) {
        const struct scan_run *run = &session->runs[i];
        const enum fate own = run->selected ? FATE_COUNTS : FATE_SKIPPED;
        const enum run_kind kind = kind_of(run);

        if (run->end_ns == STORE_NULL)
            continue;
        if (is_seen[kind] && fates.of_kind[kind] != own)
            fates.of_kind[kind] = FATE_UNKNOWN;
        else
            fates.of_kind[kind] = own;
        is_seen[kind] = true;
    }
    return fates;
}

static enum fate fate_of(const struct scan_session *session, const struct fates *fates,
                         const char *run_kind, int64_t run)
{
    enum fate outside = session->all_events ? FATE_COUNTS : FATE_OUTSIDE;
    uint32_t place;

    if (strcmp(run_kind, "counted") == 0)
        return fates->of_kind[COUNTED];
    if (strcmp(run_kind, "warm-up") == 0)
        return fates->of_kind[WARMUP];
    if (strcmp(run_kind, "without ops") == 0)
        return fates->of_kind[WITHOUT_OPS];
    if (strcmp(run_kind, "none") == 0)
        return outside;
    if (strcmp(run_kind, "open") != 0) /* of some runs, nobody knows which */
        return session->run_count ? FATE_UNKNOWN : outside;
    place = id_map_find(&session->run_map, run);
    if (place == ID_MAP_NONE)
        return outside;
    return session->runs[place].selected ? FATE_COUNTS : FATE_SKIPPED;
}

/* A lane of the session that stands for all of a side. */
static uint32_t find_lane(const struct scan *scan, uint32_t session, enum scan_side side)
{
    for (size_t i = 0; i < scan->lane_count; i++) {
        if (scan->lanes[i].session == session && scan->lanes[i].side == side)
            return (uint32_t)i;
    }
    return ID_MAP_NONE;
}

static int add_row(struct scan *scan, uint32_t session, const struct fates *fates,
                   sqlite3_stmt *row, struct diag *diag)
{
    const char *kind = (const char *)sqlite3_column_text(row, 1);
    const char *run_kind = (const char *)sqlite3_column_text(row, 2);
    const char *text = (const char *)sqlite3_column_text(row, 12);
    bool is_host = kind && strcmp(kind, "thread") == 0;
    struct scan_sums sums = {
        .op = id_map_find(&scan->op_map, sqlite3_column_int64(row, 0)),
        .lane = find_lane(scan, session, is_host ? SCAN_HOST : SCAN_DEVICE),
        .calls = (uint64_t)sqlite3_column_int64(row, 4),
        .total_ns = sqlite3_column_int64(row, 5),
        .nested_ns = sqlite3_column_int64(row, 6),
        .min_ns = sqlite3_column_int64(row, 7),
        .max_ns = sqlite3_column_int64(row, 8),
        .kern_calls = (uint64_t)sqlite3_column_int64(row, 9),
        .kern_ns = sqlite3_column_int64(row, 10),
        .exec_ns = sqlite3_column_int64(row, 11),
    };
    enum fate fate;
    int rc;

    if (sums.op == ID_MAP_NONE || sums.lane == ID_MAP_NONE || !run_kind)
        return 1;
    if (scan->op_kinds[sums.op] == SCAN_OP_SKIPPED)
        return 0;
    fate = fate_of(&scan->sessions[session], fates, run_kind, sqlite3_column_int64(row, 3));
    if (fate == FATE_OUTSIDE)
        scan->outside_count += sums.calls;
    if (fate == FATE_OUTSIDE || fate == FATE_SKIPPED)
        return 0;
    if (fate == FATE_UNKNOWN || sqlite3_column_type(row, 6) == SQLITE_NULL)
        return 1;
    rc = store_histogram_parse(text ? text : "", (size_t)sqlite3_column_bytes(row, 12),
                               &sums.durations, diag);
    if (rc < 0)
        return rc;
    return scan_add_sums(scan, &sums);
}

static int add_session(struct reading *reading, struct scan *scan, uint32_t session,
                       struct diag *diag)
{
    const struct fates fates = fates_of(&scan->sessions[session]);
    sqlite3_stmt *row = NULL;
    int rc = query_prepare(
        reading->store,
        "SELECT t.op_id, lane_kind, run_kind, run, event_count, sum_ns, nested_ns, min_ns, max_ns,"
        "       kern_count, kern_sum_ns, exec_sum_ns, histogram"
        "  FROM op_row o CROSS JOIN op_total t ON t.op_id = o.op_id WHERE o.session_id = ?1",
        &row, diag);

    sqlite3_bind_int64(row, 1, scan->sessions[session].session_id);
    while (rc == 0 && (rc = query_step(reading->store, row, diag)) == 1)
        rc = add_row(scan, session, &fates, row, diag) ? -ECANCELED : 0;
    sqlite3_finalize(row);
    return rc == -ECANCELED ? 1 : rc;
}

/* What is no finished event of an op. */
static int add_others(struct reading *reading, struct scan *scan, uint32_t session,
                      struct diag *diag)
{
    sqlite3_stmt *row = NULL;
    int rc = query_prepare(
        reading->store,
        "SELECT t.bad_count, e.lane_id, e.op_id, e.run, e.start_ns FROM session_total t"
        " LEFT JOIN event e ON e.rowid BETWEEN t.first_unfinished AND t.last_unfinished"
        "  AND e.dur_ns IS NULL WHERE t.session_id = ?1 ORDER BY e.rowid",
        &row, diag);
    bool is_first = true;

    sqlite3_bind_int64(row, 1, scan->sessions[session].session_id);
    while (rc == 0 && (rc = query_step(reading->store, row, diag)) == 1) {
        struct scan_event event = {query_int(row, 1), query_int(row, 2), query_int(row, 3),
                                   query_int(row, 4), STORE_NULL,        STORE_NULL};
        uint32_t lane = id_map_find(&scan->lane_map, event.lane_id);

        if (is_first)
            scan->bad_count += (uint64_t)query_int(row, 0);
        is_first = false;
        if (lane != ID_MAP_NONE && scan->lanes[lane].session == session)
            scan_add(scan, &event);
        rc = 0;
    }
    sqlite3_finalize(row);
    return rc;
}

int totals_add(struct reading *reading, struct scan *scan, struct diag *diag)
{
    int rc = 0;

    for (size_t i = 0; i < scan->session_count && rc == 0; i++) {
        rc = has_totals(reading->store, scan->sessions[i].session_id, diag) == 1 ? 0 : 1;
        if (rc == 0)
            rc = add_session(reading, scan, (uint32_t)i, diag);
        if (rc == 0)
            rc = add_others(reading, scan, (uint32_t)i, diag);
    }
    return rc;
}

void totals_finish(struct basis *basis)
{
    basis->is_of_totals = true;
    for (int side = 0; side < OP_SIDES; side++)
        basis->wall_ns[side] = basis->covered_ns[side] = NAN;
}
