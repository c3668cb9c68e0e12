/* SPDX-License-Identifier: Apache-2.0 */
/* Memory taken and given back, and values over time. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/query/private.h"
#include "analyze/query/spans.h"

/* From ids to the places of an answer. */
struct places {
    const struct spans_answer *spans;
    struct id_map lanes, ops;
};

static void places_deinit(struct places *places)
{
    id_map_deinit(&places->lanes);
    id_map_deinit(&places->ops);
}

static int places_init(struct places *places, const struct spans_answer *spans)
{
    size_t most = spans->lanes.count > spans->ops.count ? spans->lanes.count : spans->ops.count;
    int64_t *ids = malloc((most ? most : 1) * sizeof(*ids));
    int rc;

    *places = (struct places){.spans = spans};
    if (!ids)
        return -ENOMEM;
    for (size_t i = 0; i < spans->lanes.count; i++)
        ids[i] = spans->lanes.items[i].lane_id;
    rc = id_map_init(&places->lanes, ids, spans->lanes.count);
    for (size_t i = 0; i < spans->ops.count; i++)
        ids[i] = spans->ops.items[i].op_id;
    if (rc == 0)
        rc = id_map_init(&places->ops, ids, spans->ops.count);
    free(ids);
    return rc;
}

/* Whether a point on a lane is in what was asked for. */
static bool is_asked_for(const struct places *places, uint32_t lane, int64_t time_ns)
{
    const struct spans_answer *spans = places->spans;

    if (lane == ID_MAP_NONE)
        return false; /* of another session */
    for (size_t i = 0; i < spans->windows.count; i++) {
        const struct session_window *window = &spans->windows.items[i];

        if (window->session_id == spans->lanes.items[lane].session_id)
            return time_ns >= window->from_ns && time_ns < window->until_ns;
    }
    return false;
}

int query_memory(struct store *store, const struct spans_answer *spans,
                 struct memory_row_array *out_rows, struct diag *diag)
{
    struct places places;
    sqlite3_stmt *statement = NULL;
    int64_t sum = 0;
    int rc = places_init(&places, spans);

    *out_rows = (struct memory_row_array){0};
    if (rc == 0)
        rc = query_prepare(store,
                           "SELECT lane_id, op_id, run, time_ns, address, bytes FROM memory_event"
                           " ORDER BY time_ns, rowid",
                           &statement, diag);
    while (rc == 0 && (rc = query_step(store, statement, diag)) == 1) {
        struct memory_row row = {
            .lane = id_map_find(&places.lanes, query_int(statement, 0)),
            .op = id_map_find(&places.ops, query_int(statement, 1)),
            .run = query_int(statement, 2),
            .time_ns = query_int(statement, 3),
            .address = query_int(statement, 4),
            .bytes = query_int(statement, 5),
        };
        bool is_taken = row.bytes > 0;

        rc = 0;
        if (!is_asked_for(&places, row.lane, row.time_ns))
            continue;
        row.bytes = believed_in_sum(row.bytes, &sum);
        if (is_taken && row.bytes == STORE_NULL) /* nobody knows how much: damage */
            out_rows->unbelieved_count++;
        else
            rc = array_push(out_rows, row);
    }
    sqlite3_finalize(statement);
    places_deinit(&places);
    return rc == -ENOMEM ? diag_set(diag, rc, "no memory for the memory events") : rc;
}

enum counter_choice { COUNTERS_ALL, COUNTERS_READINGS, COUNTERS_TOTALS };

static const char *const counter_choices[] = {
    [COUNTERS_ALL] = "SELECT lane_id, op_id, run, time_ns, value FROM counter"
                     " ORDER BY time_ns, rowid",
    [COUNTERS_READINGS] = "SELECT lane_id, op_id, run, time_ns, value FROM counter"
                          " WHERE op_id IN (SELECT op_id FROM op WHERE type = 'counter'"
                          "                    AND name LIKE 'perf.%')"
                          " ORDER BY time_ns, rowid",
    [COUNTERS_TOTALS] = "SELECT lane_id, op_id, run, min(time_ns), value FROM counter"
                        " WHERE op_id IN (SELECT op_id FROM op WHERE type = 'counter'"
                        "                    AND name = 'Total Allocated') GROUP BY lane_id",
};

static int read_counters(struct store *store, const struct spans_answer *spans,
                         enum counter_choice choice, struct counter_row_array *out_rows,
                         struct diag *diag)
{
    struct places places;
    sqlite3_stmt *statement = NULL;
    int rc = places_init(&places, spans);

    *out_rows = (struct counter_row_array){0};
    if (rc == 0)
        rc = query_prepare(store, counter_choices[choice], &statement, diag);
    while (rc == 0 && (rc = query_step(store, statement, diag)) == 1) {
        struct counter_row row = {
            .lane = id_map_find(&places.lanes, query_int(statement, 0)),
            .op = id_map_find(&places.ops, query_int(statement, 1)),
            .run = query_int(statement, 2),
            .time_ns = query_int(statement, 3),
            .value = sqlite3_column_double(statement, 4),
        };
        bool is_wanted =
            choice == COUNTERS_READINGS || is_asked_for(&places, row.lane, row.time_ns);

        rc = row.op != ID_MAP_NONE && row.lane != ID_MAP_NONE && is_wanted
                 ? array_push(out_rows, row)
                 : 0;
    }
    sqlite3_finalize(statement);
    places_deinit(&places);
    return rc == -ENOMEM ? diag_set(diag, rc, "no memory for the counters") : rc;
}

int query_counters(struct store *store, const struct spans_answer *spans,
                   struct counter_row_array *out_rows, struct diag *diag)
{
    return read_counters(store, spans, COUNTERS_ALL, out_rows, diag);
}

int query_readings(struct store *store, const struct spans_answer *spans,
                   struct counter_row_array *out_rows, struct diag *diag)
{
    return read_counters(store, spans, COUNTERS_READINGS, out_rows, diag);
}

int query_memory_totals(struct store *store, const struct spans_answer *spans,
                        struct counter_row_array *out_rows, struct diag *diag)
{
    return read_counters(store, spans, COUNTERS_TOTALS, out_rows, diag);
}

/* --- Plans. --- */

/* Bytes of one element, 0 where that is not known. */
static int64_t element_bytes(const char *dtype)
{
    static const struct {
        const char *name;
        int64_t bytes;
    } types[] = {
        {"f64", 8}, {"i64", 8}, {"u64", 8}, {"f32", 4},  {"i32", 4}, {"u32", 4},  {"f16", 2},
        {"i16", 2}, {"u16", 2}, {"i8", 1},  {"bf16", 2}, {"u8", 1},  {"bool", 1},
    };

    for (size_t i = 0; dtype && i < sizeof(types) / sizeof(types[0]); i++) {
        if (strcmp(types[i].name, dtype) == 0)
            return types[i].bytes;
    }
    return 0;
}

/* The size of a variable, 0 where that is not known. */
static int64_t variable_bytes(const char *shape, const char *dtype)
{
    cJSON *parsed = shape ? cJSON_Parse(shape) : NULL;
    double bytes = cJSON_IsArray(parsed) ? (double)element_bytes(dtype) : 0;
    const cJSON *dimension;

    cJSON_ArrayForEach(dimension, parsed) bytes *=
        cJSON_IsNumber(dimension) ? dimension->valuedouble : 0;
    cJSON_Delete(parsed);
    return bytes > 0 && bytes < 9e18 ? (int64_t)bytes : 0;
}

/* A variable in its chunk; variables of one chunk follow each other. */
struct placed_variable {
    int64_t chunk_id, chunk_bytes, offset, bytes;
};

static int add_variable(struct interval_union *used, struct placed_variable *variable,
                        struct memory_plan *plan)
{
    if (variable->offset == STORE_NULL || variable->offset < 0 || variable->bytes <= 0 ||
        variable->offset >= variable->chunk_bytes)
        return 0;
    plan->variable_count++;
    if (variable->bytes > variable->chunk_bytes - variable->offset)
        variable->bytes = variable->chunk_bytes - variable->offset;
    return interval_add(used, variable->offset, variable->offset + variable->bytes);
}

/* Adds what is used of one chunk, and begins anew. */
static int end_chunk(struct interval_union *used, struct memory_plan *plan)
{
    int64_t bytes = 0;
    int rc = interval_total(used, &bytes);

    plan->used_bytes += bytes;
    interval_deinit(used);
    *used = (struct interval_union){0};
    return rc;
}

static int read_plan(struct store *store, struct memory_plan *plan, struct diag *diag)
{
    struct interval_union used = {0};
    sqlite3_stmt *statement = NULL;
    int64_t chunk_id = STORE_NULL, sum = 0;
    int rc = query_prepare(store,
                           "SELECT c.mem_chunk_id, c.size_bytes, v.offset_bytes, v.shape, v.dtype"
                           "  FROM mem_chunk c LEFT JOIN variable v USING (mem_chunk_id)"
                           " WHERE c.session_id = ?1 AND c.size_bytes > 0 ORDER BY c.mem_chunk_id",
                           &statement, diag);

    sqlite3_bind_int64(statement, 1, plan->session_id);
    while (rc == 0 && (rc = query_step(store, statement, diag)) == 1) {
        struct placed_variable variable = {
            .chunk_id = query_int(statement, 0),
            .chunk_bytes = believed_in_sum(query_int(statement, 1), &sum),
            .offset = query_int(statement, 2),
            .bytes = variable_bytes((const char *)sqlite3_column_text(statement, 3),
                                    (const char *)sqlite3_column_text(statement, 4)),
        };

        rc = 0;
        if (variable.chunk_bytes == STORE_NULL)
            continue;
        if (variable.chunk_id != chunk_id) {
            rc = end_chunk(&used, plan);
            chunk_id = variable.chunk_id;
            plan->chunk_count++;
            plan->chunk_bytes += variable.chunk_bytes;
        }
        if (rc == 0)
            rc = add_variable(&used, &variable, plan);
    }
    if (rc == 0)
        rc = end_chunk(&used, plan);
    interval_deinit(&used);
    sqlite3_finalize(statement);
    return rc;
}

int query_memory_plans(struct store *store, const struct ops_question *question,
                       struct memory_plan_array *out_plans, struct diag *diag)
{
    int rc = 0;

    *out_plans = (struct memory_plan_array){0};
    for (size_t i = 0; i < question->session_count && rc == 0; i++) {
        struct memory_plan plan = {.session_id = question->session_ids[i]};

        rc = read_plan(store, &plan, diag);
        if (rc == 0 && plan.chunk_count)
            rc = array_push(out_plans, plan);
    }
    return rc == -ENOMEM ? diag_set(diag, rc, "no memory for the memory plan") : rc;
}
