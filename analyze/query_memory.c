/* SPDX-License-Identifier: Apache-2.0 */
/* Memory taken and given back, and values over time. */
#include <errno.h>
#include <stdlib.h>

#include "analyze/query_private.h"
#include "analyze/spans.h"

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
                 struct memory_row_array *out, struct diag *diag)
{
    struct places places;
    sqlite3_stmt *statement = NULL;
    int rc = places_init(&places, spans);

    *out = (struct memory_row_array){0};
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

        rc = is_asked_for(&places, row.lane, row.time_ns) ? array_push(out, row) : 0;
    }
    sqlite3_finalize(statement);
    places_deinit(&places);
    return rc == -ENOMEM ? diag_set(diag, rc, "no memory for the memory events") : rc;
}

int query_counters(struct store *store, const struct spans_answer *spans,
                   struct counter_row_array *out, struct diag *diag)
{
    struct places places;
    sqlite3_stmt *statement = NULL;
    int rc = places_init(&places, spans);

    *out = (struct counter_row_array){0};
    if (rc == 0)
        rc = query_prepare(store,
                           "SELECT lane_id, op_id, run, time_ns, value FROM counter"
                           " ORDER BY time_ns, rowid",
                           &statement, diag);
    while (rc == 0 && (rc = query_step(store, statement, diag)) == 1) {
        struct counter_row row = {
            .lane = id_map_find(&places.lanes, query_int(statement, 0)),
            .op = id_map_find(&places.ops, query_int(statement, 1)),
            .run = query_int(statement, 2),
            .time_ns = query_int(statement, 3),
            .value = sqlite3_column_double(statement, 4),
        };

        rc = row.op != ID_MAP_NONE && is_asked_for(&places, row.lane, row.time_ns)
                 ? array_push(out, row)
                 : 0;
    }
    sqlite3_finalize(statement);
    places_deinit(&places);
    return rc == -ENOMEM ? diag_set(diag, rc, "no memory for the counters") : rc;
}
