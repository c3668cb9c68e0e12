/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of session_cover and what stands beside them. */
#include "analyze/query/cover.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/query/private.h"
#include "base/op_sort.h"

/* Sums of bytes are exact in a double up to here. */
#define BYTES_MAX (INT64_C(1) << 52)

struct covering {
    struct reading *reading;
    struct scan *scan;
    struct query_cover *out;
    int64_t session_id;
    bool is_there, has_runs;
};

/* Hands each row that a statement gives for the session to `take`, until that returns another value
 * than 0. */
static int each_row(struct covering *covering, const char *sql,
                    int (*take)(struct covering *covering, sqlite3_stmt *row), struct diag *diag)
{
    sqlite3_stmt *row = NULL;
    int rc = query_prepare(covering->reading->store, sql, &row, diag);

    sqlite3_bind_int64(row, 1, covering->session_id);
    while (rc == 0 && (rc = query_step(covering->reading->store, row, diag)) == 1)
        rc = take(covering, row);
    sqlite3_finalize(row);
    return rc;
}

static int take_session(struct covering *covering, sqlite3_stmt *row)
{
    struct query_cover *out = covering->out;
    double *const sums[] = {
        &out->all.recorded_ns,  &out->all.computing_ns,  &out->all.copying_ns,
        &out->all.labels_ns,    &out->lanes.recorded_ns, &out->lanes.computing_ns,
        &out->lanes.copying_ns, &out->lanes.labels_ns,
    };
    const int64_t first_ns = query_int(row, 3), last_ns = query_int(row, 4);

    covering->has_runs = sqlite3_column_int(row, 0) != 0;
    out->has_device_work = sqlite3_column_int(row, 1) != 0;
    /* Some wait, or runs may be told yet. */
    if (query_int(row, 2) < (covering->has_runs ? INT64_MAX : last_ns))
        return 1;
    if (covering->has_runs)
        out->wall_ns = (double)query_int(row, 5);
    else if (last_ns > first_ns)
        out->wall_ns = (double)(last_ns - first_ns);
    for (int i = 0; i < (int)(sizeof(sums) / sizeof(sums[0])); i++)
        *sums[i] = (double)query_int(row, 6 + i);
    covering->is_there = true;
    return 0;
}

static int take_side(struct covering *covering, sqlite3_stmt *row)
{
    struct query_cover_side side = {
        .device =
            sqlite3_column_int(row, 0) != 0 ? query_text(covering->reading->texts, row, 1) : NULL,
        .busy_ns = (double)query_int(row, 2),
        .computing_ns = (double)query_int(row, 3),
        .copying_ns = (double)query_int(row, 4),
    };

    return array_push(&covering->out->sides, side);
}

static bool is_of_side(const struct query_cover_side *side, const struct lane_row *lane)
{
    const char *device = lane->device ? lane->device : lane->kind;

    return lane->side == OP_DEVICE ? side->device && strcmp(side->device, device) == 0
                                   : !side->device;
}

static bool is_recorded_by_threads(const char *kind)
{
    return strcmp(kind, "thread") == 0 || strcmp(kind, "queue") == 0;
}

static int take_lane(struct covering *covering, sqlite3_stmt *row)
{
    const struct reading *reading = covering->reading;
    struct query_cover *out = covering->out;
    const uint32_t place = id_map_find(&covering->scan->lane_map, query_int(row, 0));
    const struct lane_row *lane;

    if (place == ID_MAP_NONE)
        return 1;
    lane = &reading->lane_rows.items[place];
    if (is_recorded_by_threads(lane->kind))
        out->busy_ns += (double)query_int(row, 1);
    for (size_t i = 0; i < out->sides.count; i++) {
        out->sides.items[i].lane_count += is_of_side(&out->sides.items[i], lane);
        if (is_of_side(&out->sides.items[i], lane))
            return 0;
    }
    return 1;
}

static int take_op(struct covering *covering, sqlite3_stmt *row)
{
    const struct reading *reading = covering->reading;
    const char *kind = (const char *)sqlite3_column_text(row, 1);
    const int64_t bytes = query_int(row, 7);
    struct query_cover_op op = {
        .op = id_map_find(&covering->scan->op_map, query_int(row, 0)),
        .side = kind && strcmp(kind, "thread") == 0 ? OP_HOST : OP_DEVICE,
        .is_recorded_by_threads = kind && is_recorded_by_threads(kind),
        .calls = (uint64_t)query_int(row, 3),
        .total_ns = (double)query_int(row, 4),
        .sized_calls = (uint64_t)query_int(row, 5),
        .sized_ns = (double)query_int(row, 6),
        .bytes = (double)bytes,
    };
    const char *run_kind = (const char *)sqlite3_column_text(row, 2);

    if (op.op == ID_MAP_NONE || !run_kind)
        return 1;
    /* It was counted as what it is now. */
    if (query_int(row, 8) !=
        (int64_t)op_sort_bits(reading->rows.items[op.op].type, reading->rows.items[op.op].name))
        return 1;
    if (strcmp(run_kind, covering->has_runs ? "counted" : "none") != 0)
        return 0;
    if (bytes > BYTES_MAX || bytes < -BYTES_MAX)
        return 1;
    return array_push(&covering->out->ops, op);
}

/* All runs that ended count and are no warm-ups, and no others, as it was counted. */
static bool counts_such_runs(const struct covering *covering)
{
    const struct run_tally *tally = &covering->reading->tallies.items[0];
    const struct basis *basis = covering->reading->basis;

    if (covering->has_runs != run_tally_has_runs(tally) ||
        covering->has_runs != basis->wall_is_runs)
        return false;
    for (int kind = 0; kind < RUN_KINDS; kind++) {
        const struct run_kind_runs *runs = &tally->of_kind[kind];

        if (runs->count && runs->selected != (kind == RUN_ENDED))
            return false;
    }
    return true;
}

/* Where several devices are, nobody knows which events are whose. Sides without events are none. */
static bool count_events(const struct reading *reading, struct query_cover *cover)
{
    bool has_device_work = false;
    size_t kept = 0, devices = 0;

    for (size_t i = 0; i < cover->sides.count; i++) {
        devices += cover->sides.items[i].device && cover->sides.items[i].lane_count > 0;
        if (cover->sides.items[i].lane_count)
            cover->sides.items[kept++] = cover->sides.items[i];
    }
    cover->sides.count = kept;
    for (size_t i = 0; i < cover->ops.count; i++) {
        const struct query_cover_op *op = &cover->ops.items[i];
        const struct op_row *row = &reading->rows.items[op->op];

        has_device_work |=
            op->side == OP_DEVICE && op_sort_bits(row->type, row->name) == OP_SORT_COMPUTES;
        for (size_t k = 0; k < kept; k++) {
            if ((cover->sides.items[k].device != NULL) == (op->side == OP_DEVICE))
                cover->sides.items[k].event_count += op->calls;
        }
    }
    return devices <= 1 && has_device_work == cover->has_device_work;
}

static int read_cover(struct covering *covering, struct diag *diag)
{
    int rc = each_row(covering,
                      "SELECT has_runs, has_device_work, sealed_ns, first_ns, last_ns, wall_ns,"
                      " recorded_ns, computing_ns, copying_ns, labels_ns, lanes_recorded_ns,"
                      " lanes_computing_ns, lanes_copying_ns, lanes_labels_ns FROM session_cover"
                      " WHERE session_id = ?1",
                      take_session, diag);

    if (rc == 0 && (!covering->is_there || !counts_such_runs(covering)))
        return 1;
    if (rc == 0)
        rc = each_row(covering,
                      "SELECT is_device, device, busy_ns, computing_ns, copying_ns FROM side_cover"
                      " WHERE session_id = ?1",
                      take_side, diag);
    if (rc == 0)
        rc = each_row(covering,
                      "SELECT lane_id, c.busy_ns FROM lane l JOIN lane_cover c USING (lane_id)"
                      " WHERE l.session_id = ?1",
                      take_lane, diag);
    if (rc == 0)
        rc = each_row(covering,
                      /* A run that was open when it was written may have ended. */
                      "SELECT t.op_id, lane_kind, CASE WHEN run_kind = 'open' AND EXISTS (SELECT 1"
                      " FROM run r WHERE r.session_id = ?1 AND r.run = t.run AND end_ns IS NOT NULL"
                      " AND warmup = 0 AND without_ops = 0) THEN 'counted' ELSE run_kind END,"
                      " event_count, sum_ns, sized_count,"
                      " sized_sum_ns, bytes, sort FROM op_row o CROSS JOIN op_total t"
                      " ON t.op_id = o.op_id WHERE o.session_id = ?1",
                      take_op, diag);
    return rc ? rc : !count_events(covering->reading, covering->out);
}

/* As lend_rows() of read_spans.c does. */
static int give_rows(struct reading *reading, struct spans_answer *answer)
{
    const struct session_window window = {reading->sessions.items[0].session_id, INT64_MIN,
                                          INT64_MAX};

    answer->ops = reading->rows;
    answer->lanes = reading->lane_rows;
    reading->rows = (struct op_row_array){0};
    reading->lane_rows = (struct lane_row_array){0};
    answer->ranges = calloc(answer->lanes.count + 1, sizeof(*answer->ranges));
    answer->op_kinds = calloc(answer->ops.count + 1, 1);
    if (!answer->ranges || !answer->op_kinds)
        return -ENOMEM;
    for (size_t i = 0; i < answer->ops.count; i++)
        answer->op_kinds[i] = answer->ops.items[i].is_label ? SPAN_LABEL : SPAN_OP;
    return array_push(&answer->windows, window);
}

/* Returns 0, 1 when totals do not tell enough, or a negative errno. */
static int answer(struct store *store, const struct ops_question *question,
                  struct spans_answer *out_answer, struct query_cover *out_cover, struct diag *diag)
{
    struct reading reading = {.from_totals = true,
                              .store = store,
                              .question = question,
                              .texts = &out_answer->texts,
                              .basis = &out_answer->basis};
    struct scan scan;
    struct covering covering = {.reading = &reading,
                                .scan = &scan,
                                .out = out_cover,
                                .session_id = question->session_ids[0]};
    int rc = reading_open(&reading, diag);

    if (rc == 0)
        rc = reading_prepare_scan(&reading, &scan);
    if (rc == 0)
        rc = totals_add(&reading, &scan, diag);
    if (rc == 0)
        rc = reading_finish_scan(&reading, &scan, diag);
    if (rc == 0)
        rc = read_cover(&covering, diag);
    if (rc == 0)
        rc = give_rows(&reading, out_answer);
    if (rc == 0)
        totals_finish(&out_answer->basis);
    reading_close(&reading);
    if (rc == 0 && out_answer->texts.failed)
        rc = -ENOMEM;
    return rc == -ENOMEM ? diag_set(diag, rc, "no memory for the totals of this source") : rc;
}

int query_cover(struct store *store, const struct ops_question *question,
                struct spans_answer *out_answer, struct query_cover *out_cover, struct diag *diag)
{
    struct ops_question with_labels = *question;
    int rc;

    *out_answer = (struct spans_answer){0};
    *out_cover = (struct query_cover){0};
    with_labels.labels = true;
    if (question->session_count != 1 || question->warmups)
        return 0;
    rc = totals_may_answer(store, question, diag);
    if (rc != 1)
        return rc;
    rc = answer(store, &with_labels, out_answer, out_cover, diag);
    return rc < 0 ? rc : rc == 0;
}

void query_cover_deinit(struct query_cover *cover)
{
    array_deinit(&cover->sides);
    array_deinit(&cover->ops);
}
