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

/* What op_total tells apart: runs without ops are one kind, warm-ups or not. */
enum total_kind { COUNTED, WARMUP, WITHOUT_OPS, TOTAL_KINDS };

/* Of the runs of a session by their kind. All of a kind have the same fate, or it is not known. */
struct fates {
    enum fate of_kind[TOTAL_KINDS];
};

static struct fates fates_of(const struct run_tally *tally)
{
    struct fates fates;

    for (int kind = 0; kind < TOTAL_KINDS; kind++)
        fates.of_kind[kind] = FATE_UNKNOWN; /* no such run: somebody else has changed the file */
    for (int kind = 0; kind < RUN_KINDS; kind++) {
        const struct run_kind_runs *runs = &tally->of_kind[kind];
        const enum fate own = runs->selected ? FATE_COUNTS : FATE_SKIPPED;
        const enum total_kind total = kind & RUN_WITHOUT_OPS ? WITHOUT_OPS
                                      : kind & RUN_WARMUP    ? WARMUP
                                                             : COUNTED;
        enum fate *fate = &fates.of_kind[total];

        if (!runs->count || !(kind & RUN_ENDED))
            continue;
        /* Only WITHOUT_OPS has two kinds of runs, of which this may be the second. */
        *fate = kind == (RUN_ENDED | RUN_WITHOUT_OPS | RUN_WARMUP) && *fate != FATE_UNKNOWN &&
                        *fate != own
                    ? FATE_UNKNOWN
                    : own;
    }
    return fates;
}

/* A run whose events are told apart: it was open when they were counted. Returns 0 or a negative
 * errno. */
static int fate_of_run(struct store *store, const struct scan_session *session,
                       const struct run_tally *tally, int64_t run, enum fate *out_fate,
                       struct diag *diag)
{
    sqlite3_stmt *statement = NULL;
    int rc = query_prepare(store,
                           "SELECT end_ns, warmup, without_ops FROM run"
                           " WHERE session_id = ?1 AND run = ?2",
                           &statement, diag);

    sqlite3_bind_int64(statement, 1, session->session_id);
    sqlite3_bind_int64(statement, 2, run);
    if (rc == 0)
        rc = query_step(store, statement, diag);
    if (rc == 1) {
        const struct scan_run row = {
            .end_ns = query_int(statement, 0),
            .is_warmup = sqlite3_column_int(statement, 1) != 0,
            .without_ops = sqlite3_column_int(statement, 2) != 0,
        };

        *out_fate = tally->of_kind[run_kind_of(&row)].selected ? FATE_COUNTS : FATE_SKIPPED;
    } else if (rc == 0) {
        *out_fate = session->all_events ? FATE_COUNTS : FATE_OUTSIDE;
    }
    sqlite3_finalize(statement);
    return rc < 0 ? rc : 0;
}

/* Of all runs of a kind, or of none. */
static enum fate fate_of(const struct scan_session *session, const struct run_tally *tally,
                         const struct fates *fates, const char *run_kind)
{
    enum fate outside = session->all_events ? FATE_COUNTS : FATE_OUTSIDE;

    if (strcmp(run_kind, "counted") == 0)
        return fates->of_kind[COUNTED];
    if (strcmp(run_kind, "warm-up") == 0)
        return fates->of_kind[WARMUP];
    if (strcmp(run_kind, "without ops") == 0)
        return fates->of_kind[WITHOUT_OPS];
    if (strcmp(run_kind, "none") == 0)
        return outside;
    return run_tally_has_runs(tally) ? FATE_UNKNOWN : outside; /* of some, nobody knows which */
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

/* Where rows of a session go. */
struct adding {
    struct store *store;
    struct scan *scan;
    uint32_t session;
    const struct run_tally *tally;
    struct fates fates;
};

static int add_row(struct adding *adding, sqlite3_stmt *row, struct diag *diag)
{
    struct scan *scan = adding->scan;
    const struct scan_session *session = &scan->sessions[adding->session];
    const char *kind = (const char *)sqlite3_column_text(row, 1);
    const char *run_kind = (const char *)sqlite3_column_text(row, 2);
    const char *text = (const char *)sqlite3_column_text(row, 12);
    bool is_host = kind && strcmp(kind, "thread") == 0;
    struct scan_sums sums = {
        .op = id_map_find(&scan->op_map, sqlite3_column_int64(row, 0)),
        .lane = find_lane(scan, adding->session, is_host ? SCAN_HOST : SCAN_DEVICE),
        .calls = (uint64_t)sqlite3_column_int64(row, 4),
        .total_ns = sqlite3_column_int64(row, 5),
        .nested_ns = sqlite3_column_int64(row, 6),
        .min_ns = sqlite3_column_int64(row, 7),
        .max_ns = sqlite3_column_int64(row, 8),
        .kern_calls = (uint64_t)sqlite3_column_int64(row, 9),
        .kern_ns = sqlite3_column_int64(row, 10),
        .exec_ns = sqlite3_column_int64(row, 11),
    };
    enum fate fate = FATE_UNKNOWN;
    int rc = 0;

    if (sums.op == ID_MAP_NONE || sums.lane == ID_MAP_NONE || !run_kind)
        return 1;
    if (scan->op_kinds[sums.op] == SCAN_OP_SKIPPED)
        return 0;
    if (strcmp(run_kind, "open") == 0)
        rc = fate_of_run(adding->store, session, adding->tally, sqlite3_column_int64(row, 3), &fate,
                         diag);
    else
        fate = fate_of(session, adding->tally, &adding->fates, run_kind);
    if (rc < 0)
        return rc;
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
    const struct run_tally *tally = &reading->tallies.items[session];
    struct adding adding = {reading->store, scan, session, tally, fates_of(tally)};
    sqlite3_stmt *row = NULL;
    int rc = query_prepare(
        reading->store,
        "SELECT t.op_id, lane_kind, run_kind, run, event_count, sum_ns, nested_ns, min_ns, max_ns,"
        "       kern_count, kern_sum_ns, exec_sum_ns, histogram"
        "  FROM op_row o CROSS JOIN op_total t ON t.op_id = o.op_id WHERE o.session_id = ?1",
        &row, diag);

    sqlite3_bind_int64(row, 1, scan->sessions[session].session_id);
    while (rc == 0 && (rc = query_step(reading->store, row, diag)) == 1)
        rc = add_row(&adding, row, diag) ? -ECANCELED : 0;
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
