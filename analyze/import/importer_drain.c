/* SPDX-License-Identifier: Apache-2.0 */
/* Writing what was imported: in the order of ends, with what only the whole can tell. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/import/importer_private.h"
#include "base/sorted.h"

enum {
    BATCH_ROWS = 50000,
    PENDING_MAX = 1 << 16, /* points per lane that wait for the span around them */
};

struct import_rows ARRAY_FIELDS(struct import_row);

struct drain_lane {
    struct import_rows points; /* that wait for the span around them, in the order of their times */
    struct import_rows spans;  /* that wait for inner ones that stick out of them */
};

struct drain {
    struct importer *importer;
    int64_t shift_ns;
    int64_t *run_starts;      /* ascending; importer->runs is in the same order */
    struct drain_lane *lanes; /* beside importer->lanes */
    ARRAY_OF(struct store_event) events;
    ARRAY_OF(struct store_memory_event) memory;
    ARRAY_OF(struct store_counter) counters;
};

/* --- Session, lanes, runs. --- */

int importer_put_session(struct importer *importer, struct store_session *session,
                         struct diag *diag)
{
    struct store_session row = {.pid = STORE_NULL, .uid = STORE_NULL, .end_ns = STORE_NULL};
    struct place_key key = {.low = importer->digest};

    if (session)
        row = *session;
    row.session_id = importer->first.session_id + 1;
    row.end_reason = "imported";
    row.clock = "foreign";
    row.source = importer->source;
    /* Not random: what is the same begins the same. The id makes it unique within a store. */
    place_key_add(&key, importer->source, strlen(importer->source));
    memcpy(row.uuid, &key.low, 8);
    memcpy(row.uuid + 8, &row.session_id, 8);
    return store_put_session(importer->store, &row, diag);
}

static int put_lanes(struct importer *importer, struct diag *diag)
{
    int rc = 0;

    for (size_t i = 0; i < importer->lanes.count && rc == 0; i++) {
        const struct importer_lane *lane = &importer->lanes.items[i];
        struct store_lane row = {
            .lane_id = importer->first.lane_id + 1 + (int64_t)i,
            .session_id = importer->first.session_id + 1,
            .client_lane = (int64_t)i + 1,
            .kind = lane->is_queue    ? "queue"
                    : lane->is_device ? "stream"
                                      : "thread",
            .name = lane->name,
            .device = lane->device,
            .native_id = lane->native_id,
        };

        if (lane->is_used)
            rc = store_put_lane(importer->store, &row, diag);
    }
    return rc;
}

static int compare_runs(const void *a, const void *b)
{
    const struct importer_run *left = a, *right = b;

    return (left->start_ns > right->start_ns) - (left->start_ns < right->start_ns);
}

static int put_runs(struct drain *drain, struct diag *diag)
{
    struct importer *importer = drain->importer;
    int rc = 0;

    if (!importer->runs.count)
        return 0;
    for (size_t i = 0; i < importer->runs.count; i++) {
        struct importer_run *run = &importer->runs.items[i];

        run->start_ns += importer->lanes.items[run->lane].offset_ns;
        if (run->end_ns != INT64_MAX)
            run->end_ns += importer->lanes.items[run->lane].offset_ns;
    }
    qsort(importer->runs.items, importer->runs.count, sizeof(*importer->runs.items), compare_runs);
    drain->run_starts = malloc(importer->runs.count * sizeof(*drain->run_starts));
    if (!drain->run_starts)
        return diag_set(diag, -ENOMEM, "no memory for the runs");
    for (size_t i = 0; i < importer->runs.count && rc == 0; i++) {
        const struct importer_run *run = &importer->runs.items[i];
        struct store_run row = {
            .session_id = importer->first.session_id + 1,
            .run = (int64_t)i + 1,
            .model_id = importer->model_id,
            .lane_id = importer->first.lane_id + 1 + run->lane,
            .start_ns = run->start_ns + drain->shift_ns,
            .end_ns = run->end_ns == INT64_MAX ? STORE_NULL : run->end_ns + drain->shift_ns,
            .warmup = run->is_warmup,
            .without_ops = run->without_ops,
        };

        drain->run_starts[i] = run->start_ns;
        rc = store_put_run(importer->store, &row, diag);
    }
    return rc;
}

static int put_losses(struct drain *drain, struct diag *diag)
{
    struct importer *importer = drain->importer;
    int rc = 0;

    for (size_t i = 0; i < importer->losses.count && rc == 0; i++) {
        const struct importer_loss *loss = &importer->losses.items[i];
        struct store_gap row = {
            .session_id = importer->first.session_id + 1,
            .lane_id = STORE_NULL,
            .reason = loss->reason,
            .lost_count = loss->lost_count,
            .start_ns = loss->start_ns,
            .end_ns = loss->end_ns,
        };

        if (loss->lane != IMPORT_NONE)
            row.lane_id = importer->first.lane_id + 1 + loss->lane;
        if (row.start_ns != STORE_NULL)
            row.start_ns += drain->shift_ns;
        if (row.end_ns != STORE_NULL)
            row.end_ns += drain->shift_ns;
        rc = store_add_gap(importer->store, &row, diag);
    }
    return rc;
}

/* --- What a row belongs to. --- */

/* The last run that began by then and has not ended. */
static int64_t run_at(const struct drain *drain, int64_t time_ns)
{
    const struct importer *importer = drain->importer;
    size_t low = 0, high = importer->runs.count;

    if (importer->is_one_run)
        return high ? 1 : STORE_NULL;
    low = search_past(low, high, middle, drain->run_starts[middle] <= time_ns);
    if (!low || time_ns >= importer->runs.items[low - 1].end_ns)
        return STORE_NULL;
    return (int64_t)low;
}

static int64_t run_of_span(const struct drain *drain, const struct import_row *row)
{
    const struct importer *importer = drain->importer;
    uint32_t launch = PLACE_NONE;

    if (!importer->runs.count)
        return STORE_NULL;
    if (importer->lanes.items[row->lane].is_device && row->correlation != STORE_NULL)
        launch = number_map_find(&importer->launches, (uint64_t)row->correlation);
    return run_at(drain, launch == PLACE_NONE ? row->start_ns : importer->launch_ns.items[launch]);
}

/* What the call that launched a span says it copied. */
static int64_t bytes_of_launch(const struct drain *drain, const struct import_row *row)
{
    const struct importer *importer = drain->importer;
    uint32_t launch = PLACE_NONE;

    if (importer->launch_bytes.count && importer->lanes.items[row->lane].is_device &&
        row->correlation != STORE_NULL)
        launch = number_map_find(&importer->sized_launches, (uint64_t)row->correlation);
    return launch == PLACE_NONE ? STORE_NULL : importer->launch_bytes.items[launch];
}

static int64_t op_id_of(const struct drain *drain, uint32_t op)
{
    return op == IMPORT_NONE ? STORE_NULL : drain->importer->first.op_id + 1 + op;
}

/* --- Rows. --- */

static int write_events(struct drain *drain, struct diag *diag)
{
    int rc =
        store_add_events(drain->importer->store, drain->events.items, drain->events.count, diag);

    drain->events.count = 0;
    return rc;
}

static int write_memory(struct drain *drain, struct diag *diag)
{
    int rc = store_add_memory_events(drain->importer->store, drain->memory.items,
                                     drain->memory.count, diag);

    drain->memory.count = 0;
    return rc;
}

static int write_counters(struct drain *drain, struct diag *diag)
{
    int rc = store_add_counters(drain->importer->store, drain->counters.items,
                                drain->counters.count, diag);

    drain->counters.count = 0;
    return rc;
}

static int no_memory(struct diag *diag)
{
    return diag_set(diag, -ENOMEM, "no memory to write the imported rows");
}

static int emit_memory(struct drain *drain, const struct import_row *row, struct diag *diag)
{
    struct store_memory_event event = {
        .lane_id = drain->importer->first.lane_id + 1 + row->correlation, /* the memory's lane */
        .op_id = op_id_of(drain, row->op),
        .run = run_at(drain, row->start_ns),
        .time_ns = row->start_ns + drain->shift_ns,
        .address = row->kern_ns,
        .bytes = row->bytes,
    };

    if (array_push(&drain->memory, event) < 0)
        return no_memory(diag);
    return drain->memory.count < BATCH_ROWS ? 0 : write_memory(drain, diag);
}

static int emit_counter(struct drain *drain, const struct import_row *row, struct diag *diag)
{
    struct store_counter counter = {
        .lane_id = drain->importer->first.lane_id + 1 + row->lane,
        .op_id = op_id_of(drain, row->op),
        .run = run_at(drain, row->start_ns),
        .time_ns = row->start_ns + drain->shift_ns,
        .value = row->value,
    };

    if (array_push(&drain->counters, counter) < 0)
        return no_memory(diag);
    return drain->counters.count < BATCH_ROWS ? 0 : write_counters(drain, diag);
}

/* A point waits until the first span comes that encloses it: as inner spans come first, that is the
 * innermost. Of many that nothing encloses the oldest are let go. */
static int hold(struct drain *drain, const struct import_row *row, struct diag *diag)
{
    struct import_rows *pending = &drain->lanes[row->lane].points;
    int rc = 0;

    if (pending->count == PENDING_MAX) {
        for (size_t i = 0; i < PENDING_MAX / 2 && rc == 0; i++) {
            if (pending->items[i].kind == ROW_MEMORY)
                rc = emit_memory(drain, &pending->items[i], diag);
        }
        pending->count -= PENDING_MAX / 2;
        memmove(pending->items, pending->items + PENDING_MAX / 2,
                pending->count * sizeof(*pending->items));
    }
    if (rc == 0 && array_push(pending, *row) < 0)
        rc = no_memory(diag);
    return rc;
}

/* Settle what the span encloses. A flow is stamped where its span starts, so one that ends there is
 * not meant. */
static int settle(struct drain *drain, struct import_row *span, struct diag *diag)
{
    struct import_rows *pending = &drain->lanes[span->lane].points;
    size_t kept = pending->count;
    int rc = 0;

    while (kept && pending->items[kept - 1].start_ns >= span->start_ns)
        kept--;
    for (size_t i = kept; i < pending->count && rc == 0; i++) {
        struct import_row *row = &pending->items[i];

        bool is_next = row->kind == ROW_FLOW && row->start_ns == span->end_ns &&
                       row->start_ns != span->start_ns;

        if (row->start_ns > span->end_ns || is_next) {
            pending->items[kept++] = *row;
        } else if (row->kind == ROW_FLOW) {
            if (span->correlation == STORE_NULL)
                span->correlation = row->correlation;
        } else {
            row->op = span->op;
            rc = emit_memory(drain, row, diag);
        }
    }
    pending->count = kept;
    return rc;
}

static int emit_span(struct drain *drain, struct import_row *row, struct diag *diag)
{
    bool is_finished = row->end_ns != INT64_MAX;
    struct store_event event;
    int rc;

    if (row->is_external) {
        if (!drain->importer->launch_ns.count && !drain->importer->is_one_run)
            row->correlation = row->kern_ns;
        row->kern_ns = STORE_NULL;
    }
    rc = settle(drain, row, diag);
    if (rc < 0)
        return rc;
    event = (struct store_event){
        .lane_id = drain->importer->first.lane_id + 1 + row->lane,
        .op_id = op_id_of(drain, row->op),
        .run = run_of_span(drain, row),
        .start_ns = row->start_ns + drain->shift_ns,
        .dur_ns = is_finished ? row->end_ns - row->start_ns : STORE_NULL,
        .kern_ns = row->kern_ns,
        .correlation = row->correlation,
        .bytes = row->bytes == STORE_NULL ? bytes_of_launch(drain, row) : row->bytes,
    };
    if (array_push(&drain->events, event) < 0)
        return no_memory(diag);
    return drain->events.count < BATCH_ROWS ? 0 : write_events(drain, diag);
}

/* Emits the spans of a lane that end before `until_ns`. */
static int let_go(struct drain *drain, struct import_rows *spans, int64_t until_ns,
                  struct diag *diag)
{
    size_t count = 0;
    int rc = 0;

    while (rc == 0 && count < spans->count && spans->items[count].end_ns < until_ns)
        rc = emit_span(drain, &spans->items[count++], diag);
    spans->count -= count;
    if (count && spans->count)
        memmove(spans->items, spans->items + count, spans->count * sizeof(*spans->items));
    return rc;
}

/* Where times are rounded, a span may seem to end after the one around it. It starts inside, and
 * further from its end than a later neighbour can: then it is cut and goes before. */
static int nest(struct drain *drain, struct import_row *row, struct diag *diag)
{
    struct import_rows *spans = &drain->lanes[row->lane].spans;
    size_t place = 0;
    int rc = let_go(drain, spans, row->end_ns - drain->importer->rounding_ns, diag);

    if (rc < 0)
        return rc;
    while (place < spans->count &&
           !(spans->items[place].start_ns < row->start_ns &&
             spans->items[place].end_ns - row->start_ns >= drain->importer->rounding_ns))
        place++;
    if (array_push(spans, *row) < 0)
        return no_memory(diag);
    if (place == spans->count - 1)
        return 0;
    row->end_ns = spans->items[place].end_ns;
    memmove(&spans->items[place + 1], &spans->items[place],
            (spans->count - 1 - place) * sizeof(*spans->items));
    spans->items[place] = *row;
    return 0;
}

static int emit(struct drain *drain, struct import_row *row, struct diag *diag)
{
    int64_t offset_ns = drain->importer->lanes.items[row->lane].offset_ns;
    const uint32_t *row_ops = drain->importer->row_ops;

    if (row_ops && row_ops[row->number] != IMPORT_NONE)
        row->op = row_ops[row->number];
    row->start_ns += offset_ns;
    if (row->end_ns != INT64_MAX)
        row->end_ns += offset_ns;
    switch (row->kind) {
    case ROW_MEMORY:
        return row->op == IMPORT_NONE ? hold(drain, row, diag) : emit_memory(drain, row, diag);
    case ROW_FLOW:
        return hold(drain, row, diag);
    case ROW_COUNTER:
        return emit_counter(drain, row, diag);
    default:
        if (drain->importer->rounding_ns && !drain->importer->lanes.items[row->lane].is_device)
            return nest(drain, row, diag);
        return emit_span(drain, row, diag);
    }
}

/* What still waits when all rows are there. */
static int emit_rest(struct drain *drain, struct drain_lane *lane, struct diag *diag)
{
    int rc = 0;

    for (size_t i = 0; i < lane->spans.count && rc == 0; i++)
        rc = emit_span(drain, &lane->spans.items[i], diag);
    for (size_t i = 0; i < lane->points.count && rc == 0; i++) {
        if (lane->points.items[i].kind == ROW_MEMORY)
            rc = emit_memory(drain, &lane->points.items[i], diag);
    }
    return rc;
}

static int emit_all(struct drain *drain, struct diag *diag)
{
    struct import_row row;
    int rc = row_sorter_sort(&drain->importer->sorter, diag);

    while (rc == 0 && (rc = row_sorter_next(&drain->importer->sorter, &row, diag)) == 1)
        rc = emit(drain, &row, diag);
    for (size_t i = 0; i < drain->importer->lanes.count && rc == 0; i++)
        rc = emit_rest(drain, &drain->lanes[i], diag);
    if (rc == 0)
        rc = write_events(drain, diag);
    if (rc == 0)
        rc = write_memory(drain, diag);
    return rc == 0 ? write_counters(drain, diag) : rc;
}

static void drain_deinit(struct drain *drain)
{
    for (size_t i = 0; drain->lanes && i < drain->importer->lanes.count; i++) {
        array_deinit(&drain->lanes[i].points);
        array_deinit(&drain->lanes[i].spans);
    }
    free(drain->lanes);
    free(drain->run_starts);
    array_deinit(&drain->events);
    array_deinit(&drain->memory);
    array_deinit(&drain->counters);
}

/* From the first to the last moment of all lanes; 0 to 0 without rows. */
static void find_reach(const struct importer *importer, int64_t *out_min_ns, int64_t *out_max_ns)
{
    int64_t min_ns = INT64_MAX, max_ns = INT64_MIN;

    for (size_t i = 0; i < importer->lanes.count; i++) {
        const struct importer_lane *lane = &importer->lanes.items[i];

        if (lane->max_ns < lane->min_ns)
            continue;
        if (lane->min_ns + lane->offset_ns < min_ns)
            min_ns = lane->min_ns + lane->offset_ns;
        if (lane->max_ns + lane->offset_ns > max_ns)
            max_ns = lane->max_ns + lane->offset_ns;
    }
    *out_min_ns = min_ns > max_ns ? 0 : min_ns;
    *out_max_ns = min_ns > max_ns ? 0 : max_ns;
}

int importer_finish(struct importer *importer, struct store_session *session, int64_t offset_ns,
                    struct diag *diag)
{
    struct drain drain = {.importer = importer, .shift_ns = offset_ns};
    int64_t min_ns, max_ns;
    int rc;

    find_reach(importer, &min_ns, &max_ns);
    if (min_ns + offset_ns < 0)
        drain.shift_ns = -min_ns;
    session->start_ns = min_ns + drain.shift_ns;
    session->end_ns = max_ns + drain.shift_ns;
    drain.lanes = calloc(importer->lanes.count + 1, sizeof(*drain.lanes));
    rc = drain.lanes ? importer_put_session(importer, session, diag) : no_memory(diag);
    if (rc == 0)
        rc = put_lanes(importer, diag);
    if (rc == 0)
        rc = put_runs(&drain, diag);
    if (rc == 0)
        rc = put_losses(&drain, diag);
    if (rc == 0)
        rc = emit_all(&drain, diag);
    drain_deinit(&drain);
    if (rc == 0)
        rc = store_flush(importer->store, diag);
    if (rc == 0 && importer->in_transaction) {
        rc = store_commit(importer->store, diag);
        importer->in_transaction = rc < 0;
    }
    return rc;
}
