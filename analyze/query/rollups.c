/* SPDX-License-Identifier: Apache-2.0 */
/* Costs of ops from op_stat, which also has the events that are not stored any more. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/query/private.h"
#include "analyze/stats/describe.h"

bool rollups_are_needed(const struct reading *reading, const struct scan *scan)
{
    const struct ops_question *question = reading->question;

    if (!question->allows_rollups || question->window || question->first_run ||
        question->last_run || question->chosen_runs || reading->basis->is_flat ||
        !query_has_dropped_events(reading->basis))
        return false;
    /* They have no times without nested ops. */
    for (size_t i = 0; i < scan->sums.count; i++) {
        if (scan->sums.items[i].nested_ns)
            return false;
    }
    return true;
}

/* A roll-up, or an event that no roll-up counts yet. */
static int add_row(sqlite3_stmt *statement, struct rollup_cost *cost, struct diag *diag)
{
    const char *text = (const char *)sqlite3_column_text(statement, 7);
    struct store_histogram histogram;
    double min_ns = sqlite3_column_double(statement, 4);
    double max_ns = sqlite3_column_double(statement, 5);
    int rc = store_histogram_parse(text ? text : "", (size_t)sqlite3_column_bytes(statement, 7),
                                   &histogram, diag);

    if (rc < 0)
        return rc;
    rc = store_histogram_merge(&cost->durations, &histogram);
    store_histogram_deinit(&histogram);
    cost->calls += (uint64_t)sqlite3_column_int64(statement, 2);
    cost->sum_ns += sqlite3_column_double(statement, 3);
    cost->kern_ns += sqlite3_column_double(statement, 6);
    cost->min_ns = cost->is_there && cost->min_ns < min_ns ? cost->min_ns : min_ns;
    cost->max_ns = cost->is_there && cost->max_ns > max_ns ? cost->max_ns : max_ns;
    cost->is_there = true;
    return rc;
}

static int read_rows(struct reading *reading, const struct scan *scan, const char *sql,
                     int64_t session_id, struct rollups *rollups, struct diag *diag)
{
    sqlite3_stmt *statement = NULL;
    int rc = query_prepare(reading->store, sql, &statement, diag);

    if (session_id != STORE_NULL)
        sqlite3_bind_int64(statement, 1, session_id);
    while (rc == 0 && (rc = query_step(reading->store, statement, diag)) == 1) {
        uint32_t op = id_map_find(&scan->op_map, query_int(statement, 0));
        enum op_side side = sqlite3_column_int(statement, 1) ? OP_HOST : OP_DEVICE;

        rc = op == ID_MAP_NONE ? 0 : add_row(statement, &rollups->costs[op][side], diag);
    }
    sqlite3_finalize(statement);
    return rc;
}

static int read_session(struct reading *reading, const struct scan *scan, int64_t session_id,
                        struct rollups *rollups, struct diag *diag)
{
    return read_rows(reading, scan,
                     "SELECT s.op_id, s.lane_kind = 'thread', s.event_count, s.sum_ns,"
                     "       s.min_ns, s.max_ns, s.kern_sum_ns, s.histogram"
                     "  FROM op o CROSS JOIN op_stat s ON s.op_id = o.op_id"
                     " WHERE o.session_id = ?1",
                     session_id, rollups, diag);
}

/* Of all sessions: what is not asked for is in no map. */
static int read_waiting(struct reading *reading, const struct scan *scan, struct rollups *rollups,
                        struct diag *diag)
{
    return read_rows(reading, scan,
                     "SELECT op_id, lane_kind = 'thread', 1, dur_ns, dur_ns, dur_ns, kern_ns,"
                     "       '{\"' || bin || '\":1}' FROM v_op_waiting",
                     STORE_NULL, rollups, diag);
}

/* All runs that ended count, of those with ops if there are any: roll-ups do not tell them apart. */
static int count_runs(struct reading *reading)
{
    struct basis *basis = reading->basis;
    ARRAY_OF(double) durations = {0};
    uint64_t unended = 0;
    int rc = 0;

    for (size_t i = 0; i < reading->sessions.count; i++) {
        const struct scan_session *session = &reading->sessions.items[i];

        for (size_t k = 0; k < session->run_count && rc == 0; k++) {
            const struct scan_run *run = &session->runs[k];

            if (run->end_ns == STORE_NULL)
                unended++;
            else if (!run->without_ops || !basis->runs_with_ops)
                rc = array_push(&durations, (double)(run->end_ns - run->start_ns));
        }
    }
    stats_sort(durations.items, durations.count);
    free(basis->run_ns);
    basis->run_ns = durations.items;
    basis->run_ns_count = durations.count;
    basis->runs = durations.count;
    basis->warmups_skipped = basis->dropped_skipped = basis->outside_count = 0;
    basis->unended_skipped = unended;
    basis->is_per_run = !reading->question->totals && durations.count > 0;
    basis->divisor = basis->is_per_run ? (double)durations.count : 1;
    return rc;
}

static void sum_up(struct reading *reading, const struct scan *scan, const struct rollups *rollups)
{
    struct basis *basis = reading->basis;

    basis->event_count = 0;
    for (int side = 0; side < OP_SIDES; side++) {
        double *total = &basis->total_ns[side];

        *total = NAN;
        for (size_t i = 0; i < scan->op_count; i++) {
            const struct rollup_cost *cost = &rollups->costs[i][side];

            if (reading->op_kinds.items[i] != SCAN_OP_SKIPPED)
                basis->event_count += cost->calls;
            if (reading->op_kinds.items[i] == SCAN_OP_NESTING && cost->calls)
                *total = (isnan(*total) ? 0 : *total) + cost->sum_ns / basis->divisor;
        }
    }
}

int rollups_read(struct reading *reading, const struct scan *scan, struct rollups *out_rollups,
                 struct diag *diag)
{
    int rc;

    out_rollups->op_count = scan->op_count;
    out_rollups->costs = calloc(scan->op_count ? scan->op_count : 1, sizeof(*out_rollups->costs));
    if (!out_rollups->costs)
        return -ENOMEM;
    rc = count_runs(reading);
    for (size_t i = 0; i < reading->sessions.count && rc == 0; i++)
        rc = read_session(reading, scan, reading->sessions.items[i].session_id, out_rollups, diag);
    if (rc == 0)
        rc = read_waiting(reading, scan, out_rollups, diag);
    if (rc == 0)
        sum_up(reading, scan, out_rollups);
    reading->basis->is_of_rollups = true;
    reading->basis->may_nest = scan->counted == 0;
    return rc;
}

struct scan_cost rollups_cost(const struct rollups *rollups, const struct scan *scan, uint32_t op,
                              enum op_side side)
{
    const struct rollup_cost *cost = &rollups->costs[op][side];
    struct scan_cost stored = scan_op_cost(scan, op, (enum scan_side)side);
    struct scan_cost out = {.calls = cost->calls,
                            .end_ns = NAN,
                            .kern_ns = NAN,
                            .exec_ns = NAN,
                            .min_ns = NAN,
                            .max_ns = NAN,
                            .percentile_ns = {NAN, NAN, NAN}};

    if (!cost->calls)
        return out;
    out.end_ns = out.whole_ns = cost->sum_ns;
    /* A sum of 0 is also that of calls which do not say when their first kernel began. */
    if (cost->kern_ns > 0 || !isnan(stored.kern_ns)) {
        out.kern_ns = cost->kern_ns;
        out.exec_ns = cost->sum_ns - cost->kern_ns;
    }
    out.min_ns = cost->min_ns;
    out.max_ns = cost->max_ns;
    scan_percentiles(&cost->durations, cost->min_ns, cost->max_ns, out.percentile_ns);
    return out;
}

void rollups_deinit(struct rollups *rollups)
{
    for (size_t i = 0; i < rollups->op_count && rollups->costs; i++) {
        for (int side = 0; side < OP_SIDES; side++)
            store_histogram_deinit(&rollups->costs[i][side].durations);
    }
    free(rollups->costs);
    *rollups = (struct rollups){0};
}
