/* SPDX-License-Identifier: Apache-2.0 */
/* What every question about events has to read besides the events: sessions, their lanes, runs and
 * ops, what was lost; and what the counted runs and the scan say together: the basis. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/query/private.h"
#include "analyze/stats/describe.h"

/* --- Lanes. --- */

static int read_lane(struct reading *reading, uint32_t session, sqlite3_stmt *statement)
{
    struct query_texts *texts = reading->texts;
    struct lane_row row = {
        .lane_id = query_int(statement, 0),
        .session_id = reading->sessions.items[session].session_id,
        .name = query_text(texts, statement, 1),
        .kind = query_text(texts, statement, 2),
        .native_id = query_int(statement, 3),
        .device = query_text(texts, statement, 4),
    };
    struct scan_lane lane = {.lane_id = row.lane_id, .session = session};
    char text[64];
    int rc;

    if (!row.kind)
        return -ENOMEM;
    row.side = strcmp(row.kind, "thread") == 0 ? OP_HOST : OP_DEVICE;
    lane.side = row.side == OP_HOST ? SCAN_HOST : SCAN_DEVICE;
    if (!row.name) {
        snprintf(text, sizeof(text), "%s %lld", row.kind,
                 (long long)(row.native_id == STORE_NULL ? 0 : row.native_id));
        row.name = query_keep(texts, text);
    }
    rc = array_push(&reading->lanes, lane);
    return rc ? rc : array_push(&reading->lane_rows, row);
}

static int read_lanes(struct reading *reading, uint32_t session, struct diag *diag)
{
    sqlite3_stmt *statement = NULL;
    int rc = query_prepare(reading->store,
                           "SELECT lane_id, name, kind, native_id, device FROM lane"
                           " WHERE session_id = ?1",
                           &statement, diag);

    sqlite3_bind_int64(statement, 1, reading->sessions.items[session].session_id);
    while (rc == 0 && (rc = query_step(reading->store, statement, diag)) == 1)
        rc = read_lane(reading, session, statement);
    sqlite3_finalize(statement);
    return rc;
}

/* --- Runs and sessions. --- */

static int compare_keys(const void *a, const void *b)
{
    const struct run_key *left = a, *right = b;

    if (left->session_id != right->session_id)
        return left->session_id < right->session_id ? -1 : 1;
    return (left->run > right->run) - (left->run < right->run);
}

static bool is_by_number(const struct ops_question *question)
{
    return question->first_run || question->last_run || question->chosen_runs;
}

static bool is_asked_for(const struct ops_question *question, int64_t session_id, int64_t run)
{
    struct run_key key = {session_id, run};

    if (question->chosen_runs)
        return bsearch(&key, question->chosen_runs, question->chosen_run_count, sizeof(key),
                       compare_keys) != NULL;
    return run >= question->first_run && run <= question->last_run;
}

/* Which runs count: those that were asked for by number, else all that are no warm-ups and, unless
 * totals are asked for, ended; where there is none of these, the warm-ups that ended; where nothing
 * ended, whatever there is. And which of them lack events. */
static void choose_runs(struct scan_session *session, const struct ops_question *question,
                        struct basis *basis)
{
    bool by_number = is_by_number(question);
    size_t chosen = 0, warmups = 0, unended = 0;

    for (size_t i = 0; i < session->run_count; i++) {
        struct scan_run *run = &session->runs[i];
        bool ended = run->end_ns != STORE_NULL;
        bool in_window = run->start_ns >= session->from_ns && run->start_ns < session->until_ns;

        run->lacks_events = run->start_ns <= session->dropped_until_ns;
        if (by_number)
            run->selected = is_asked_for(question, session->session_id, run->number);
        else
            run->selected = (ended || question->totals) && (question->warmups || !run->is_warmup);
        chosen += run->selected;
        warmups += ended && run->is_warmup && !run->selected && in_window;
        unended += !ended && !run->selected && in_window;
    }
    if (!chosen && !by_number) {
        for (size_t i = 0; i < session->run_count; i++)
            session->runs[i].selected = !warmups || session->runs[i].end_ns != STORE_NULL;
        unended = warmups ? unended : 0;
        warmups = 0;
    }
    basis->warmups_skipped += by_number ? 0 : warmups;
    basis->unended_skipped += by_number ? 0 : unended;
}

static int read_tally(struct reading *reading, const struct scan_session *session,
                      struct diag *diag)
{
    struct run_tally tally;
    int rc = query_run_tally(reading->store, session->session_id, &tally, diag);

    if (rc == 0)
        run_tally_choose(&tally, reading->question, reading->basis);
    if (rc == 0)
        rc = array_push(&reading->tallies, tally);
    if (rc < 0)
        run_tally_deinit(&tally);
    return rc;
}

static int read_runs(struct reading *reading, struct scan_session *session, struct diag *diag)
{
    struct scan_runs runs;
    int rc = query_run_rows(reading->store, session->session_id, &runs, diag);

    session->runs = runs.items; /* the scan frees them */
    session->run_count = runs.count;
    if (rc == 0 && runs.count)
        rc = id_map_init_fields(&session->run_map, &runs.items[0].number, sizeof(runs.items[0]),
                                runs.count);
    if (rc == 0)
        choose_runs(session, reading->question, reading->basis);
    return rc;
}

/* Of the session that was read last. */
static bool has_runs(const struct reading *reading, const struct scan_session *session)
{
    const size_t tallies = reading->tallies.count;

    return tallies ? run_tally_has_runs(&reading->tallies.items[tallies - 1])
                   : session->run_count > 0;
}

static int read_session(struct reading *reading, int64_t session_id, struct diag *diag)
{
    const struct ops_question *question = reading->question;
    struct scan_session session = {
        .session_id = session_id, .from_ns = INT64_MIN, .until_ns = INT64_MAX};
    sqlite3_stmt *statement = NULL;
    int rc = query_prepare(reading->store,
                           "SELECT start_ns,"
                           "       coalesce(end_ns, (SELECT max(end_ns) FROM event_batch WHERE ?1"
                           "                         BETWEEN session_min AND session_max),"
                           "                (SELECT max(end_ns) FROM dropped WHERE session_id ="
                           "                 ?1)),"
                           "       source = 'megengine' FROM session WHERE session_id = ?1",
                           &statement, diag);

    sqlite3_bind_int64(statement, 1, session_id);
    if (rc == 0)
        rc = query_step(reading->store, statement, diag);
    if (rc == 1) {
        session.flat = sqlite3_column_int(statement, 2) != 0;
        if (question->window)
            selection_resolve_window(question->window, sqlite3_column_int64(statement, 0),
                                     sqlite3_column_int64(statement, 1), &session.from_ns,
                                     &session.until_ns);
        rc = 0;
    }
    sqlite3_finalize(statement);
    if (rc == 0)
        rc = query_dropped(reading, &session, diag);
    if (rc == 0)
        rc = reading->from_totals ? read_tally(reading, &session, diag)
                                  : read_runs(reading, &session, diag);
    session.all_events =
        (question->totals && !is_by_number(question)) || !has_runs(reading, &session);
    session.only_near_runs = question->chosen_runs != NULL;
    if (rc < 0 || (rc = array_push(&reading->sessions, session)) < 0) {
        id_map_deinit(&session.run_map);
        free(session.runs);
        return rc;
    }
    return read_lanes(reading, (uint32_t)(reading->sessions.count - 1), diag);
}

/* --- The basis. --- */

/* Counts the selected runs, keeps their durations and the time that they span. */
static int gather_runs(struct reading *reading)
{
    struct basis *basis = reading->basis;
    ARRAY_OF(double) durations = {0};
    int rc = 0;

    for (size_t i = 0; i < reading->sessions.count; i++) {
        const struct scan_session *session = &reading->sessions.items[i];

        for (size_t k = 0; k < session->run_count && rc == 0; k++) {
            const struct scan_run *run = &session->runs[k];

            if (!run->selected || run->start_ns < session->from_ns ||
                run->start_ns >= session->until_ns)
                continue;
            basis->runs++;
            if (run->end_ns == STORE_NULL || run->end_ns < run->start_ns || run->start_ns < 0)
                continue;
            rc = interval_add(&reading->wall, run->start_ns, run->end_ns);
            if (rc == 0)
                rc = array_push(&durations, (double)(run->end_ns - run->start_ns));
        }
    }
    basis->run_ns = durations.items;
    basis->run_ns_count = durations.count;
    return rc;
}

/* Runs are what ops should fill. Where events count that belong to no run, or where host and device
 * have different clocks, it is the time from the first op of a side to the last. */
static int measure_coverage(struct reading *reading, struct scan *scan)
{
    struct interval_union *wall = &reading->wall;
    struct basis *basis = reading->basis;
    int64_t run_ns, covered_ns;
    int rc = interval_total(wall, &run_ns);

    basis->covered_is_exact = wall->late_count == 0;
    for (int side = 0; side < SCAN_SIDES && rc == 0; side++) {
        /* Between sessions there is nothing to cover. */
        bool any = scan->last_ns[side] > scan->first_ns[side] && scan->session_count == 1;

        basis->wall_ns[side] = any ? (double)(scan->last_ns[side] - scan->first_ns[side]) : NAN;
        if (basis->wall_is_runs)
            basis->wall_ns[side] = (double)run_ns;
        rc = interval_total(&scan->covered[side], &covered_ns);
        basis->covered_ns[side] = (double)covered_ns;
        basis->covered_is_exact &= scan->covered[side].late_count == 0;
    }
    return rc;
}

static void measure_totals(struct reading *reading, const struct scan *scan)
{
    struct basis *basis = reading->basis;

    for (int side = 0; side < OP_SIDES; side++) {
        double *total = &basis->total_ns[side];

        *total = NAN;
        if (scan->without_sums && scan->own_calls[side])
            *total = (double)scan->own_ns[side] / basis->divisor;
        for (size_t i = 0; i < reading->rows.count && !scan->without_sums; i++) {
            struct scan_cost cost = scan_op_cost(scan, (uint32_t)i, (enum scan_side)side);

            if (reading->op_kinds.items[i] == SCAN_OP_NESTING && cost.calls)
                *total = (isnan(*total) ? 0 : *total) + cost.end_ns / basis->divisor;
        }
    }
}

int reading_prepare_scan(struct reading *reading, struct scan *out_scan)
{
    struct basis *basis = reading->basis;
    int rc;

    *out_scan = (struct scan){
        .sessions = reading->sessions.items,
        .session_count = reading->sessions.count,
        .lanes = reading->lanes.items,
        .lane_count = reading->lanes.count,
        .op_ids = reading->op_ids.items,
        .op_kinds = reading->op_kinds.items,
        .op_count = reading->op_ids.count,
        .without_durations = reading->every_span || reading->question->without_percentiles,
        .without_sums = reading->every_span,
    };
    for (size_t i = 0; i < reading->sessions.count; i++)
        out_scan->without_sums &= !reading->sessions.items[i].flat;
    reading->scan = out_scan;
    basis->is_flat = reading->sessions.count && reading->sessions.items[0].flat;
    rc = reading->from_totals ? run_tallies_gather(reading) : gather_runs(reading);
    stats_sort(basis->run_ns, basis->run_ns_count);
    basis->is_per_run = !reading->question->totals && basis->runs > 0 && !basis->lacks_whole_runs;
    basis->divisor = basis->is_per_run ? (double)basis->runs : 1;
    /* Durations are in order. */
    basis->wall_is_runs = basis->is_per_run && !basis->is_flat && basis->run_ns_count &&
                          basis->run_ns[basis->run_ns_count - 1] > 0;
    return rc ? rc : scan_prepare(out_scan);
}

int reading_finish_scan(struct reading *reading, struct scan *scan, struct diag *diag)
{
    struct basis *basis = reading->basis;
    int rc;

    basis->event_count = scan->counted;
    basis->outside_count = scan->outside_count;
    basis->bad_count = scan->bad_count;
    basis->unfinished_count = scan->unfinished_count;
    measure_totals(reading, scan);
    rc = measure_coverage(reading, scan);
    return rc ? rc : query_unfinished(reading, scan, diag);
}

int reading_open(struct reading *reading, struct diag *diag)
{
    const struct ops_question *question = reading->question;
    int rc = 0;

    /* One transaction: a daemon may be writing, and all parts should show the same moment, also of a
     * reading within another. */
    sqlite3_exec(store_handle(reading->store), "SAVEPOINT reading", NULL, NULL, NULL);
    for (size_t i = 0; i < question->session_count && rc == 0; i++) {
        rc = read_session(reading, question->session_ids[i], diag);
        if (rc == 0)
            rc = reading_read_ops(reading, question->session_ids[i], diag);
        if (rc == 0)
            rc = query_losses(reading, question->session_ids[i], diag);
    }
    if (rc == 0 && reading->from_totals)
        run_tallies_skip_without_ops(reading);
    else if (rc == 0)
        query_skip_incomplete(reading);
    return rc;
}

void reading_close(struct reading *reading)
{
    sqlite3_exec(store_handle(reading->store), "RELEASE reading", NULL, NULL, NULL);
    if (reading->scan)
        scan_deinit(reading->scan); /* and what lies inside of sessions and lanes */
    for (size_t i = 0; i < reading->sessions.count && !reading->scan; i++) {
        id_map_deinit(&reading->sessions.items[i].run_map);
        free(reading->sessions.items[i].runs);
    }
    for (size_t i = 0; i < reading->tallies.count; i++)
        run_tally_deinit(&reading->tallies.items[i]);
    array_deinit(&reading->tallies);
    interval_deinit(&reading->wall);
    array_deinit(&reading->sessions);
    array_deinit(&reading->lanes);
    array_deinit(&reading->lane_rows);
    array_deinit(&reading->rows);
    array_deinit(&reading->op_ids);
    array_deinit(&reading->op_kinds);
}

void basis_deinit(struct basis *basis)
{
    free(basis->run_ns);
    basis->run_ns = NULL;
    array_deinit(&basis->losses);
    array_deinit(&basis->dropped);
    array_deinit(&basis->unfinished);
}
