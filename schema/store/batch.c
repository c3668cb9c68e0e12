/* SPDX-License-Identifier: Apache-2.0 */
/* Time ranges of row ranges: event_batch. */
#include "schema/store/batch.h"

#include <stdio.h>

#include "schema/store/private.h"

static void begin_batch(struct batch *batch, int64_t rowid)
{
    batch->first_rowid = rowid;
    batch->last_rowid = rowid - 1;
    batch->start_ns = INT64_MAX;
    batch->end_ns = INT64_MIN;
    batch->dur_max_ns = STORE_NULL;
    batch->session_min = INT64_MAX;
    batch->session_max = INT64_MIN;
    batch->lane_count = 0;
}

/* Whether the row is the next one of this batch. Rows in one transaction always go on; the time
 * only says when a new transaction begins a batch of its own. */
static bool fits(const struct batch *batch, int64_t rowid, const struct store_event *event)
{
    if (batch->first_rowid > batch->last_rowid || rowid != batch->last_rowid + 1 ||
        rowid - batch->first_rowid >= BATCH_ROWS_MAX)
        return false;
    return batch->is_dirty ||
           (event->start_ns >= batch->start_ns &&
            (uint64_t)event->start_ns - (uint64_t)batch->start_ns < (uint64_t)BATCH_SPAN_NS);
}

int store_batch_reserve(struct store *store, int64_t rowid, const struct store_event *event,
                        size_t *out_room, struct diag *diag)
{
    struct batch *batch = &store->batch;

    if (!fits(batch, rowid, event)) {
        int rc = store_batch_write(store, diag);

        if (rc < 0)
            return rc;
        begin_batch(batch, rowid);
    }
    *out_room = (size_t)(batch->first_rowid + BATCH_ROWS_MAX - rowid);
    return 0;
}

void store_batch_add(struct batch *batch, const struct batch_times *times)
{
    batch->start_ns = times->start_ns < batch->start_ns ? times->start_ns : batch->start_ns;
    batch->end_ns = times->end_ns > batch->end_ns ? times->end_ns : batch->end_ns;
    batch->dur_max_ns =
        times->dur_max_ns > batch->dur_max_ns ? times->dur_max_ns : batch->dur_max_ns;
    batch->last_rowid += times->count;
    batch->is_dirty = true;
}

void store_batch_add_lane(struct batch *batch, int64_t lane_id, int64_t session_id)
{
    if (session_id < batch->session_min)
        batch->session_min = session_id;
    if (session_id > batch->session_max)
        batch->session_max = session_id;
    if (batch->lane_count > BATCH_LANES_MAX)
        return;
    for (uint32_t i = 0; i < batch->lane_count; i++) {
        if (batch->lanes[i] == lane_id)
            return;
    }
    if (batch->lane_count < BATCH_LANES_MAX)
        batch->lanes[batch->lane_count] = lane_id;
    batch->lane_count++;
}

/* "[1,2,3]" */
static void format_lanes(const struct batch *batch, char *out_text, size_t text_bytes)
{
    size_t used = 0;

    for (uint32_t i = 0; i < batch->lane_count; i++)
        used += (size_t)snprintf(out_text + used, text_bytes - used, "%c%lld", i ? ',' : '[',
                                 (long long)batch->lanes[i]);
    snprintf(out_text + used, text_bytes - used, "]");
}

int store_batch_write(struct store *store, struct diag *diag)
{
    struct batch *batch = &store->batch;
    char lanes[BATCH_LANES_MAX * 22 + 2];
    sqlite3_stmt *statement;
    int rc;

    if (!batch->is_dirty)
        return 0;
    rc = store_statement(store, STORE_PUT_BATCH,
                         "REPLACE INTO event_batch(first_rowid,last_rowid,start_ns,end_ns,"
                         "dur_max_ns,session_min,session_max,lanes) VALUES(?,?,?,?,?,?,?,?)",
                         &statement, diag);
    if (rc < 0)
        return rc;
    sqlite3_bind_int64(statement, 1, batch->first_rowid);
    sqlite3_bind_int64(statement, 2, batch->last_rowid);
    sqlite3_bind_int64(statement, 3, batch->start_ns);
    sqlite3_bind_int64(statement, 4, batch->end_ns);
    store_bind_int(statement, 5, batch->dur_max_ns);
    sqlite3_bind_int64(statement, 6, batch->session_min);
    sqlite3_bind_int64(statement, 7, batch->session_max);
    sqlite3_bind_null(statement, 8);
    if (batch->lane_count <= BATCH_LANES_MAX) {
        format_lanes(batch, lanes, sizeof(lanes));
        sqlite3_bind_text(statement, 8, lanes, -1, SQLITE_STATIC);
    }
    rc = store_step(store, statement, "write", diag);
    sqlite3_bind_null(statement, 8);
    if (rc == 0)
        batch->is_dirty = false;
    return rc;
}

void store_batch_clear(struct batch *batch)
{
    batch->first_rowid = 1;
    batch->last_rowid = 0;
    batch->is_dirty = false;
}
