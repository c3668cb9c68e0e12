/* SPDX-License-Identifier: Apache-2.0 */
/* Dropping the oldest rows, slice by slice: a batch of events, or as many rows of another table. */
#include "schema/store/retain.h"

#include <errno.h>
#include <string.h>

#include "schema/store/private.h"

enum {
    SLICE_ROWS = BATCH_ROWS_MAX,
    MERGES_MAX = 16,  /* of roll-ups at a time: half a millisecond each */
    COUNTED_MAX = 16, /* sessions of a slice that are counted together */
    KNOWN_OPS = 64,
    FOUND_REST = 2,       /* what is out of bounds is no slice: shed.h */
    SHED_ROWS = 4096,     /* what a step of that counts as */
    LATE_PART = 16,       /* of the bound: when so much more is stored, events go, too */
    AHEAD_ROW_BYTES = 40, /* a row to come, with what is written beside it: rather too much */
};

/* Rows that can be dropped together. */
struct slice {
    enum store_rows table;
    const char *reason;
    int64_t first, last;      /* rowids */
    int64_t start_ns, end_ns; /* of a batch; of other rows the time of the first */
    int64_t session_id;       /* of all its rows, or STORE_NULL */
    int64_t before_ns;        /* rows of this time and later stay; STORE_NULL: none do */
};

struct retain {
    struct store *store;
    const struct store_bounds *bounds;
    int64_t now_ns;
    struct store_retained done;
    struct tally tallies[COUNTED_MAX];
    size_t tally_count;
    /* Ops that counters named, by op_id % KNOWN_OPS: whether their values are a calibration. */
    struct known_op {
        int64_t op_id;
        bool is_calibration;
    } known_ops[KNOWN_OPS];
};

/* How the rows of a table are read and deleted. `read` gives rowid, lane, times and op from a rowid
 * on. */
static const struct row_kind {
    enum store_statement read, drop;
    const char *read_sql, *drop_sql;
} row_kinds[STORE_ROWS_COUNT] = {
    [STORE_ROWS_EVENT] = {STORE_GET_EVENTS, STORE_DELETE_EVENTS,
                          "SELECT rowid,lane_id,start_ns,start_ns+coalesce(dur_ns,0),op_id"
                          " FROM event WHERE rowid>=?1 ORDER BY rowid LIMIT ?2",
                          /* Of the oldest batch: without a lower end a third fewer steps a row. */
                          "DELETE FROM event WHERE rowid<=?2"},
    [STORE_ROWS_MEMORY_EVENT] = {STORE_GET_MEMORY_EVENTS, STORE_DELETE_MEMORY_EVENTS,
                                 "SELECT rowid,lane_id,time_ns,time_ns,op_id FROM memory_event"
                                 " WHERE rowid>=?1 ORDER BY rowid LIMIT ?2",
                                 "DELETE FROM memory_event WHERE rowid BETWEEN ?1 AND ?2"},
    [STORE_ROWS_COUNTER] = {STORE_GET_COUNTERS, STORE_DELETE_COUNTERS,
                            "SELECT rowid,lane_id,time_ns,time_ns,op_id FROM counter"
                            " WHERE rowid>=?1 ORDER BY rowid LIMIT ?2",
                            "DELETE FROM counter WHERE rowid BETWEEN ?1 AND ?2"},
};

/* Step a statement that was reset before; at the end it is reset. Returns 1 for a row. */
static int step_row(struct store *store, sqlite3_stmt *statement, struct diag *diag)
{
    int code = sqlite3_step(statement);

    if (code == SQLITE_ROW)
        return 1;
    sqlite3_reset(statement);
    return code == SQLITE_DONE ? 0 : store_fail(store, code, "read", diag);
}

/* A DELETE then goes from the last row of a slice to the first: the list of a page's rows is cut at
 * its end, in place of being moved for each row. Once, before the statements of this file are made,
 * because the setting makes SQLite compile all of them again. */
static int go_backwards(struct store *store, struct diag *diag)
{
    int rc = store->goes_backwards
                 ? 0
                 : store_exec(store, "PRAGMA reverse_unordered_selects = ON", "write", diag);

    store->goes_backwards = rc == 0;
    return rc;
}

static int delete_rows(struct store *store, enum store_statement which, const char *sql,
                       int64_t first, int64_t last, struct diag *diag)
{
    sqlite3_stmt *statement;
    int rc = store_statement(store, which, sql, &statement, diag);

    if (rc < 0)
        return rc;
    sqlite3_bind_int64(statement, 1, first);
    if (sqlite3_bind_parameter_count(statement) > 1)
        sqlite3_bind_int64(statement, 2, last);
    return store_step(store, statement, "write", diag);
}

/* --- Counting what goes, by session. --- */

static int write_tally(struct retain *retain, const struct slice *slice, const struct tally *tally,
                       struct diag *diag)
{
    struct store *store = retain->store;
    sqlite3_stmt *statement;
    int rc = store_statement(
        store, STORE_ADD_DROPPED,
        "INSERT INTO dropped(session_id,reason,event_count,memory_event_count,counter_count,"
        "start_ns,end_ns,dropped_ns) VALUES(?,?,?,?,?,?,?,?) ON CONFLICT(session_id,reason)"
        " DO UPDATE SET event_count=event_count+excluded.event_count,"
        "memory_event_count=memory_event_count+excluded.memory_event_count,"
        "counter_count=counter_count+excluded.counter_count,"
        "start_ns=min(start_ns,excluded.start_ns),end_ns=max(end_ns,excluded.end_ns),"
        "dropped_ns=excluded.dropped_ns",
        &statement, diag);

    if (rc < 0)
        return rc;
    sqlite3_bind_int64(statement, 1, tally->session_id);
    sqlite3_bind_text(statement, 2, slice->reason, -1, SQLITE_STATIC);
    for (int table = 0; table < STORE_ROWS_COUNT; table++)
        sqlite3_bind_int64(statement, 3 + table, table == (int)slice->table ? tally->count : 0);
    sqlite3_bind_int64(statement, 6, tally->start_ns);
    sqlite3_bind_int64(statement, 7, tally->end_ns);
    sqlite3_bind_int64(statement, 8, retain->now_ns);
    return store_step(store, statement, "write", diag);
}

static int write_tallies(struct retain *retain, const struct slice *slice, struct diag *diag)
{
    int rc = 0;

    for (size_t i = 0; i < retain->tally_count && rc == 0; i++)
        rc = write_tally(retain, slice, &retain->tallies[i], diag);
    retain->tally_count = 0;
    return rc;
}

static int count_row(struct retain *retain, const struct slice *slice, int64_t session_id,
                     int64_t start_ns, int64_t end_ns, struct diag *diag)
{
    struct tally *tally = retain->tallies;
    struct tally *end = tally + retain->tally_count;

    while (tally < end && tally->session_id != session_id)
        tally++;
    if (tally == end) {
        int rc = retain->tally_count == COUNTED_MAX ? write_tallies(retain, slice, diag) : 0;

        if (rc < 0)
            return rc;
        tally = &retain->tallies[retain->tally_count++];
        *tally = (struct tally){session_id, 0, INT64_MAX, INT64_MIN};
    }
    tally->count++;
    tally->start_ns = start_ns < tally->start_ns ? start_ns : tally->start_ns;
    tally->end_ns = end_ns > tally->end_ns ? end_ns : tally->end_ns;
    return 0;
}

/* STORE_NULL for a lane that is not there: others may have written, too. */
static int session_of(struct store *store, int64_t lane_id, int64_t *out_session, struct diag *diag)
{
    struct lane *lane = store_lane_slot(&store->lanes, lane_id);
    int rc = 0;

    if (lane->lane_id != lane_id || lane_id == 0)
        rc = store_lane_read(store, lane_id, lane, diag);
    *out_session = rc == 0 ? lane->session_id : STORE_NULL;
    return rc == -EINVAL || rc == -EUCLEAN ? 0 : rc;
}

/* What reports on this host need for as long as it is there. */
static int is_calibration(struct retain *retain, int64_t op_id, struct diag *diag)
{
    struct known_op *known = &retain->known_ops[(uint64_t)op_id % KNOWN_OPS];
    sqlite3_stmt *statement;
    int rc;

    if (known->op_id == op_id && op_id != 0)
        return known->is_calibration;
    rc = store_statement(retain->store, STORE_GET_OP_IS_CALIBRATION,
                         "SELECT type='counter' AND name LIKE 'calibration.%' FROM op_row"
                         " WHERE op_id=?",
                         &statement, diag);
    if (rc < 0)
        return rc;
    sqlite3_bind_int64(statement, 1, op_id);
    rc = step_row(retain->store, statement, diag);
    if (rc < 0)
        return rc;
    *known = (struct known_op){op_id, rc == 1 && sqlite3_column_int(statement, 0)};
    sqlite3_reset(statement);
    return known->is_calibration;
}

/* Whether the slice ends before this row. */
static int is_kept(struct retain *retain, const struct slice *slice, sqlite3_stmt *row,
                   struct diag *diag)
{
    if (sqlite3_column_int64(row, 0) > slice->last)
        return 1;
    if (slice->before_ns != STORE_NULL && slice->table != STORE_ROWS_EVENT &&
        sqlite3_column_int64(row, 2) >= slice->before_ns)
        return 1;
    return slice->table == STORE_ROWS_COUNTER
               ? is_calibration(retain, sqlite3_column_int64(row, 4), diag)
               : 0;
}

static int count_one(struct retain *retain, const struct slice *slice, sqlite3_stmt *row,
                     struct diag *diag)
{
    int64_t session_id;
    int rc = session_of(retain->store, sqlite3_column_int64(row, 1), &session_id, diag);

    if (rc < 0 || session_id == STORE_NULL)
        return rc;
    return count_row(retain, slice, session_id, sqlite3_column_int64(row, 2),
                     sqlite3_column_int64(row, 3), diag);
}

/* Counts the rows of the slice, which ends before the first that is kept. *out_count is how many
 * there are. */
static int count_rows(struct retain *retain, struct slice *slice, size_t *out_count,
                      struct diag *diag)
{
    const struct row_kind *kind = &row_kinds[slice->table];
    int64_t last = slice->first - 1;
    sqlite3_stmt *row;
    size_t count = 0;
    int rc = store_statement(retain->store, kind->read, kind->read_sql, &row, diag);

    if (rc < 0)
        return rc;
    sqlite3_bind_int64(row, 1, slice->first);
    /* A batch goes whole, whatever its size. */
    sqlite3_bind_int64(row, 2, slice->table == STORE_ROWS_EVENT ? INT64_MAX : SLICE_ROWS);
    while ((rc = step_row(retain->store, row, diag)) == 1) {
        rc = is_kept(retain, slice, row, diag);
        if (rc != 0)
            break;
        last = sqlite3_column_int64(row, 0);
        count++;
        rc = count_one(retain, slice, row, diag);
        if (rc < 0)
            break;
    }
    sqlite3_reset(row);
    slice->last = last;
    *out_count = count;
    return rc < 0 ? rc : 0;
}

/* --- Which slice is next. --- */

/* The oldest batch of events. Returns 1, or 0 when there is none, or none that may go. */
static int find_batch(struct retain *retain, bool may_be_last, struct slice *slice,
                      struct diag *diag)
{
    sqlite3_stmt *row;
    int rc = store_statement(retain->store, STORE_GET_BATCHES,
                             "SELECT first_rowid,last_rowid,start_ns,end_ns,session_min,"
                             "session_max FROM event_batch ORDER BY first_rowid LIMIT 2",
                             &row, diag);

    if (rc == 0)
        rc = step_row(retain->store, row, diag);
    if (rc <= 0)
        return rc;
    slice->table = STORE_ROWS_EVENT;
    slice->first = sqlite3_column_int64(row, 0);
    slice->last = sqlite3_column_int64(row, 1);
    slice->start_ns = sqlite3_column_int64(row, 2);
    slice->end_ns = sqlite3_column_int64(row, 3);
    slice->session_id = sqlite3_column_int64(row, 4);
    if (sqlite3_column_int64(row, 5) != slice->session_id)
        slice->session_id = STORE_NULL;
    if (may_be_last) {
        sqlite3_reset(row);
        return 1;
    }
    rc = step_row(retain->store, row, diag);
    sqlite3_reset(row);
    return rc;
}

/* The oldest rows of another table: of them only the first is looked at here. */
static int find_rows(struct retain *retain, enum store_rows table, struct slice *out_slice,
                     struct diag *diag)
{
    struct store *store = retain->store;
    const struct row_kind *kind = &row_kinds[table];
    sqlite3_stmt *row;
    int rc = store_statement(store, kind->read, kind->read_sql, &row, diag);

    if (rc < 0)
        return rc;
    sqlite3_bind_int64(row, 1, table == STORE_ROWS_COUNTER ? store->kept_counter + 1 : INT64_MIN);
    sqlite3_bind_int64(row, 2, INT64_MAX);
    while ((rc = step_row(store, row, diag)) == 1) {
        rc = table == STORE_ROWS_COUNTER
                 ? is_calibration(retain, sqlite3_column_int64(row, 4), diag)
                 : 0;
        if (rc == 1) {
            store->kept_counter = sqlite3_column_int64(row, 0);
            continue;
        }
        *out_slice = (struct slice){
            .table = table,
            .first = sqlite3_column_int64(row, 0),
            .last = INT64_MAX,
            .start_ns = sqlite3_column_int64(row, 2),
            .end_ns = sqlite3_column_int64(row, 2),
            .session_id = STORE_NULL,
        };
        sqlite3_reset(row);
        return rc < 0 ? rc : 1;
    }
    return rc;
}

/* The oldest rows that may go: those that ended before a time, or, with STORE_NULL, any. */
static int find_oldest(struct retain *retain, int64_t before_ns, struct slice *out_slice,
                       struct diag *diag)
{
    struct slice slices[STORE_ROWS_COUNT] = {{0}};
    int found = 0;

    for (int table = 0; table < STORE_ROWS_COUNT; table++) {
        struct slice *slice = &slices[table];
        int rc = table == STORE_ROWS_EVENT
                     ? find_batch(retain, before_ns != STORE_NULL, slice, diag)
                     : find_rows(retain, (enum store_rows)table, slice, diag);

        if (rc < 0)
            return rc;
        if (rc == 0 || (before_ns != STORE_NULL && slice->end_ns >= before_ns))
            continue;
        if (!found || slice->start_ns < out_slice->start_ns)
            *out_slice = *slice;
        found = 1;
    }
    out_slice->before_ns = before_ns;
    return found;
}

/* For the pages in use: rows of a slice, or FOUND_REST, which comes first as long as it keeps up.
 */
static int find_for_bytes(struct retain *retain, int64_t used_bytes, int64_t bound_bytes,
                          struct slice *out_slice, struct diag *diag)
{
    struct store *store = retain->store;
    int rc = store_shed_is_due(store, used_bytes, bound_bytes, retain->now_ns, diag);

    if (rc < 0 || (rc > 0 && used_bytes - bound_bytes <= bound_bytes / LATE_PART))
        return rc < 0 ? rc : FOUND_REST;
    rc = find_oldest(retain, STORE_NULL, out_slice, diag);
    if (rc != 0 || store->shed.is_done)
        return rc;
    return FOUND_REST;
}

/* What waits in memory is written in one transaction, before rows that it counts may go. Where it
 * is more than what is kept free for that, file and log need room for it. */
static int64_t bytes_to_come(const struct store *store)
{
    const int64_t beyond = store_waiting_bytes(store) - store->room.batch_bytes;

    return store->room.waiting_max && beyond > 0 ? 2 * beyond : 0;
}

/* Returns 1 when something is out of bounds and can be dropped, FOUND_REST when it is no slice. */
static int find_slice(struct retain *retain, struct slice *out_slice, struct diag *diag)
{
    const struct store_bounds *bounds = retain->bounds;
    int64_t used_bytes, wanted_bytes;
    int rc = 0;

    retain->done.over_bytes = 0;
    if (bounds->keep_events_ns)
        rc = find_oldest(retain, retain->now_ns - bounds->keep_events_ns, out_slice, diag);
    if (rc != 0 || !(bounds->budget_bytes || bounds->disk_bytes)) {
        out_slice->reason = "age";
        return rc;
    }
    rc = store_used_bytes(retain->store, &used_bytes, diag);
    if (rc < 0)
        return rc;
    wanted_bytes = used_bytes + bytes_to_come(retain->store);
    if (bounds->budget_bytes && wanted_bytes > bounds->budget_bytes) {
        rc = find_for_bytes(retain, wanted_bytes, bounds->budget_bytes, out_slice, diag);
        out_slice->reason = "budget";
        if (rc == 0 && used_bytes > bounds->budget_bytes)
            retain->done.over_bytes = used_bytes - bounds->budget_bytes;
    } else if (bounds->disk_bytes && used_bytes > bounds->disk_bytes) {
        rc = find_for_bytes(retain, used_bytes, bounds->disk_bytes, out_slice, diag);
        out_slice->reason = "disk";
    }
    return rc;
}

/* --- Dropping it. --- */

/* The events of a batch, and the batch. The next event may get the number of the first one again
 * where it was the last batch; a batch that is being filled is then begun anew. */
static int forget_batch(struct store *store, int64_t first_rowid, struct diag *diag)
{
    int rc = delete_rows(store, STORE_DELETE_BATCH, "DELETE FROM event_batch WHERE first_rowid=?",
                         first_rowid, 0, diag);

    if (rc == 0 && store->batch.first_rowid == first_rowid) {
        store_batch_clear(&store->batch);
        store_lane_cache_clear(&store->lanes); /* they say that they are counted in it */
        store->next_event = 0;
    }
    return rc;
}

/* The rows of a batch whose sessions are known were deleted. */
static int write_known(struct retain *retain, const struct slice *slice, size_t count,
                       struct diag *diag)
{
    struct store *store = retain->store;
    struct tally_list *known = &store->tallies;
    int rc = 0;

    if (sqlite3_changes64(store->db) != slice->last - slice->first + 1) {
        store_tally_clear(known); /* read it the next time */
        return diag_set(diag, -EAGAIN, "%s lacks events that were written", store->path);
    }
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = write_tally(retain, slice, &store_tally_at(known, known->first + i)->tally, diag);
    if (rc == 0)
        known->first += count;
    return rc;
}

static int drop_slice(struct retain *retain, struct slice *slice, size_t *out_count,
                      struct diag *diag)
{
    const struct row_kind *kind = &row_kinds[slice->table];
    struct store *store = retain->store;
    struct tally all = {slice->session_id, 0, slice->start_ns, slice->end_ns};
    bool is_of_one = slice->session_id != STORE_NULL;
    size_t known = 0;
    /* Asked also where it is not needed: what is older is forgotten then. */
    bool is_known = slice->table == STORE_ROWS_EVENT &&
                    store_tally_find(&store->tallies, slice->first, slice->last, &known) &&
                    !is_of_one;
    int rc = is_of_one || is_known ? 0 : count_rows(retain, slice, out_count, diag);

    if (rc == 0 && slice->table == STORE_ROWS_EVENT)
        rc = store_rollup_settle_events(store, slice->last, diag);
    if (rc == 0 && slice->first <= slice->last)
        rc = delete_rows(store, kind->drop, kind->drop_sql, slice->first, slice->last, diag);
    if (rc == 0 && is_known) {
        *out_count = (size_t)(slice->last - slice->first + 1);
        rc = write_known(retain, slice, known, diag);
    }
    if (rc == 0 && is_of_one) {
        all.count = sqlite3_changes64(store->db);
        *out_count = (size_t)all.count;
        rc = all.count ? write_tally(retain, slice, &all, diag) : 0;
    }
    if (rc == 0)
        rc = write_tallies(retain, slice, diag);
    if (rc == 0 && slice->table == STORE_ROWS_EVENT)
        rc = forget_batch(store, slice->first, diag);
    return rc;
}

/* Inside a transaction. Returns 1 when there is more. */
static int drop_slices(struct retain *retain, size_t row_max, struct diag *diag)
{
    struct slice slice = {0};
    size_t dropped = 0, count = 0;
    int rc;

    while ((rc = find_slice(retain, &slice, diag)) > 0 && dropped < row_max) {
        count = 0;
        if (rc == FOUND_REST) {
            rc = store_shed_step(retain->store, retain->now_ns, diag);
            dropped += SHED_ROWS;
            retain->done.shed_count += rc == 1;
        } else {
            rc = drop_slice(retain, &slice, &count, diag);
        }
        if (rc < 0)
            return rc;
        dropped += count + 1; /* a batch without rows is work, too */
        retain->done.row_count += count;
    }
    return rc > 0 ? 1 : rc;
}

/* Whether there is a session to drop. */
static int find_session(struct retain *retain, struct diag *diag)
{
    int64_t keep_ns = retain->bounds->keep_sessions_ns;

    return keep_ns
               ? store_forget_find(retain->store, retain->now_ns - keep_ns, retain->now_ns, diag)
               : 0;
}

static int drop_and_merge(struct retain *retain, size_t row_max, struct diag *diag)
{
    int more = drop_slices(retain, row_max, diag);
    int merges =
        more < 0 ? more : store_merge_rollups(retain->store, retain->now_ns, MERGES_MAX, diag);
    int rc = merges < 0 ? merges : find_session(retain, diag);
    size_t dropped;

    if (rc != 1)
        return rc < 0 ? rc : more || merges;
    rc = store_forget_step(retain->store, retain->now_ns, &dropped, diag);
    retain->done.row_count += dropped;
    return rc < 0 ? rc : 1;
}

/* A bound of bytes, when so many more are to come. */
static int64_t leave_room(int64_t bound_bytes, int64_t bytes)
{
    return bound_bytes == 0 ? 0 : bound_bytes > bytes ? bound_bytes - bytes : 1;
}

int store_retain_ahead(struct store *store, const struct store_bounds *bounds, int64_t now_ns,
                       size_t row_count, struct store_retained *out_retained, struct diag *diag)
{
    const int64_t bytes = (int64_t)row_count * AHEAD_ROW_BYTES;
    const struct store_bounds ahead = {
        .budget_bytes = leave_room(bounds->budget_bytes, bytes),
        .disk_bytes = leave_room(bounds->disk_bytes, bytes),
        .keep_events_ns = bounds->keep_events_ns,
    };
    struct retain retain = {.store = store, .bounds = &ahead, .now_ns = now_ns};
    struct slice slice = {0};
    size_t count;
    int rc = go_backwards(store, diag);

    while (rc == 0 && retain.done.row_count < row_count &&
           (rc = find_slice(&retain, &slice, diag)) == 1) {
        count = 0;
        rc = drop_slice(&retain, &slice, &count, diag);
        retain.done.row_count += count;
    }
    if (rc < 0)
        return rc;
    *out_retained = (struct store_retained){.row_count = retain.done.row_count};
    return 0;
}

int store_retain(struct store *store, const struct store_bounds *bounds, int64_t now_ns,
                 size_t row_max, struct store_retained *out_retained, struct diag *diag)
{
    struct retain retain = {.store = store, .bounds = bounds, .now_ns = now_ns};
    struct slice slice = {0};
    int more, rc = go_backwards(store, diag);

    if (rc == 0)
        rc = find_slice(&retain, &slice, diag);
    if (rc == 0)
        rc = find_session(&retain, diag);
    if (rc > 0 || (rc == 0 && store_merge_is_due(store, now_ns))) {
        rc = store_begin(store, diag);
        if (rc < 0)
            return rc;
        more = drop_and_merge(&retain, row_max, diag);
        rc = more < 0 ? more : store_commit(store, diag);
        if (rc < 0)
            store_rollback(store);
        else
            rc = more;
    }
    if (rc >= 0)
        *out_retained = retain.done;
    return rc;
}
