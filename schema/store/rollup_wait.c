/* SPDX-License-Identifier: Apache-2.0 */
/* When roll-ups are written, what the file says of those that wait, and counting these again. */
#include <errno.h>

#include "base/clock.h"
#include "schema/store/private.h"

/* --- Counting again --- */

/* Events of lanes that are not there count nowhere: others may have written, too. */
static int count_again(struct store *store, sqlite3_stmt *row, struct diag *diag)
{
    const struct store_event event = {
        .lane_id = sqlite3_column_int64(row, 1),
        .op_id = sqlite3_column_int64(row, 2),
        .start_ns = sqlite3_column_int64(row, 3),
        .dur_ns = sqlite3_column_int64(row, 4),
        .kern_ns =
            sqlite3_column_type(row, 5) == SQLITE_NULL ? STORE_NULL : sqlite3_column_int64(row, 5),
    };
    struct lane *lane = store_lane_slot(&store->lanes, event.lane_id);
    struct rollup_event counted;
    int rc = 0;

    if (lane->lane_id != event.lane_id || event.lane_id == 0)
        rc = store_lane_read(store, event.lane_id, lane, diag);
    if (rc < 0)
        return rc == -EINVAL || rc == -EUCLEAN ? 0 : rc;
    counted = (struct rollup_event){
        .event = &event, .rowid = sqlite3_column_int64(row, 0), .lane_kind = lane->kind};
    return store_rollup_add(store, &counted, 1, diag);
}

int store_rollup_count(struct store *store, struct store *source, sqlite3_stmt *rows,
                       struct diag *diag)
{
    int code = SQLITE_DONE, rc = 0;

    while (rc == 0 && (code = sqlite3_step(rows)) == SQLITE_ROW)
        rc = count_again(store, rows, diag);
    return rc == 0 && code != SQLITE_DONE ? store_fail(source, code, "read", diag) : rc;
}

static int count_waiting(struct store *store, const struct rollup_mark *mark, struct diag *diag)
{
    struct rollup *rollup = &store->rollup;
    sqlite3_stmt *row;
    int rc = store_statement(store, STORE_GET_WAITING,
                             "SELECT rowid,lane_id,op_id,start_ns,dur_ns,kern_ns FROM main.event"
                             " WHERE rowid>?1 AND (rowid>?2 OR start_ns>=?3) AND op_id IS"
                             " NOT NULL AND start_ns IS NOT NULL AND dur_ns>=0 ORDER BY rowid",
                             &row, diag);

    if (rc < 0)
        return rc;
    sqlite3_bind_int64(row, 1, mark->rowid);
    sqlite3_bind_int64(row, 2, mark->ended_rowid);
    sqlite3_bind_int64(row, 3, mark->ended_ns);
    rc = store_rollup_count(store, store, row, diag);
    sqlite3_reset(row);
    /* What began before that is written: it is not to be taken for what waits, the next time. */
    if (mark->ended_rowid && mark->ended_ns > rollup->newest_ns)
        rollup->newest_ns = mark->ended_ns;
    return rc;
}

int store_rollup_prepare(struct store *store, struct diag *diag)
{
    struct rollup *rollup = &store->rollup;
    struct rollup_mark mark = {0};
    int rc;

    if (rollup->knows_mark)
        return 0;
    rc = store_rollup_read_mark(store, &rollup->has_mark, &mark, diag);
    rollup->knows_mark = rc == 0;
    if (rc == 0 && rollup->has_mark)
        rc = count_waiting(store, &mark, diag);
    if (rc < 0)
        store_rollup_clear(rollup);
    return rc;
}

/* --- Writing --- */

/* What of it is to be written now. */
enum due { DUE_NOTHING, DUE_ENDED, DUE_ALL };

/* Those of buckets that have ended are not touched any more, but by events that come late. */
static enum due due_of_many(const struct rollup *rollup, uint64_t now_ns, uint64_t waited_ns)
{
    if (waited_ns >= ROLLUP_WAIT_MAX_NS)
        return DUE_ALL;
    return waited_ns >= ROLLUP_ENDED_NS && now_ns - rollup->newest_since_ns >= ROLLUP_LATE_NS
               ? DUE_ENDED
               : DUE_NOTHING;
}

/* A row costs the same whether it was touched once or a thousand times: the more rows there are,
 * the longer they wait. */
static enum due what_is_due(const struct store *store)
{
    const struct rollup *rollup = &store->rollup;
    const int64_t last_rowid = store->totals.last_rowid > rollup->last_rowid
                                   ? store->totals.last_rowid
                                   : rollup->last_rowid;
    uint64_t now_ns, waited_ns;
    int64_t wait_ns = rollup->row_ns;

    if (rollup->row_ns == 0 || store_waiting_is_much(store))
        return DUE_ALL;
    now_ns = ot_clock_ns(CLOCK_MONOTONIC);
    waited_ns = now_ns - rollup->last_ns;
    if (rollup->row_ns > ROLLUP_WAIT_NS)
        return waited_ns >= (uint64_t)rollup->row_ns ? DUE_ALL : DUE_NOTHING;
    if (__builtin_mul_overflow(wait_ns, store_waiting_rows(store), &wait_ns) ||
        wait_ns > ROLLUP_WAIT_NS)
        return due_of_many(rollup, now_ns, waited_ns);
    if (wait_ns < ROLLUP_CALM_NS && last_rowid - rollup->mark.rowid < (int64_t)ROLLUP_CALM_EVENTS)
        wait_ns = ROLLUP_CALM_NS;
    return waited_ns >= (uint64_t)wait_ns ? DUE_ALL : DUE_NOTHING;
}

int store_rollup_write(struct store *store, struct diag *diag)
{
    int rc = store_total_fold(store, diag);

    if (rc == 0)
        rc = store_rollup_prepare(store, diag);
    if (rc == 0)
        rc = store_rollup_write_counted(store, diag);
    store->rollup.must_write &= rc < 0;
    return rc;
}

/* The last event before the first of those that wait. */
static int64_t find_mark(const struct rollup *rollup)
{
    int64_t first = rollup->last_rowid + 1;

    for (uint32_t i = 0; i < rollup->entry_count; i++)
        if (rollup->entries[i].is_dirty && rollup->entries[i].first_rowid < first)
            first = rollup->entries[i].first_rowid;
    return first - 1;
}

/* The file says from where on events wait, what is fresh among them. */
static int say_waiting(struct store *store, struct diag *diag)
{
    struct rollup *rollup = &store->rollup;
    const struct totals *totals = &store->totals;

    if (rollup->has_mark)
        return 0;
    if (totals->fresh_count &&
        (rollup->dirty_count == 0 || totals->fresh_rowid - 1 < rollup->mark.rowid))
        rollup->mark = (struct rollup_mark){.rowid = totals->fresh_rowid - 1};
    return store_rollup_put_mark(store, diag);
}

/* The rows of buckets that have ended. */
static int write_ended(struct store *store, struct diag *diag)
{
    struct rollup *rollup = &store->rollup;
    const int64_t before_ns = rollup->newest_ns;
    uint32_t dirty_count;
    int rc = store_total_fold(store, diag);

    dirty_count = rollup->dirty_count;
    if (rc == 0)
        rc = store_rollup_write_rows(store, before_ns, diag);
    if (rc < 0)
        return rc;
    if (rollup->dirty_count == dirty_count) { /* none has: look again later */
        rollup->newest_since_ns = ot_clock_ns(CLOCK_MONOTONIC);
        return say_waiting(store, diag);
    }
    if (rollup->dirty_count == 0)
        return store_rollup_write(store, diag);
    rollup->mark = (struct rollup_mark){find_mark(rollup), rollup->last_rowid, before_ns};
    rollup->last_ns = ot_clock_ns(CLOCK_MONOTONIC);
    return store_rollup_put_mark(store, diag);
}

int store_rollup_commit(struct store *store, struct diag *diag)
{
    const struct rollup *rollup = &store->rollup;
    const int64_t waiting = store_waiting_rows(store);
    enum due due;

    if (!rollup->knows_mark || (waiting == 0 && !rollup->has_mark))
        return 0;
    due = waiting == 0 || rollup->must_write ? DUE_ALL : what_is_due(store);
    if (due == DUE_ALL)
        return store_rollup_write(store, diag);
    return due == DUE_ENDED ? write_ended(store, diag) : say_waiting(store, diag);
}

/* What the file says where nothing is known here. */
static int has_waiting(struct store *store, int64_t *out_mark, struct diag *diag)
{
    const struct rollup *rollup = &store->rollup;
    int rc = store_total_fold(store, diag);
    bool has_mark = rollup->dirty_count > 0;
    struct rollup_mark mark = rollup->mark;

    if (rc == 0 && !rollup->knows_mark)
        rc = store_rollup_read_mark(store, &has_mark, &mark, diag);
    *out_mark = mark.rowid;
    return rc < 0 ? rc : has_mark;
}

int store_rollup_is_waiting(struct store *store, bool *out_is_waiting, struct diag *diag)
{
    int64_t mark;
    int rc = has_waiting(store, &mark, diag);

    if (rc < 0)
        return rc;
    *out_is_waiting = rc == 1;
    return 0;
}

/* Whether one of those that wait may begin before this time. */
static bool waits_before(const struct rollup *rollup, int64_t before_ns)
{
    for (uint32_t i = 0; i < rollup->entry_count; i++)
        if (rollup->entries[i].is_dirty && rollup->entries[i].start_ns < before_ns)
            return true;
    return !rollup->knows_mark;
}

int store_rollup_settle(struct store *store, int64_t before_ns, struct diag *diag)
{
    int64_t mark;
    int rc = has_waiting(store, &mark, diag);

    if (rc == 1)
        rc = waits_before(&store->rollup, before_ns) ? store_rollup_write(store, diag) : 0;
    if (rc == 0)
        store_rollup_forget(&store->rollup, before_ns);
    return rc;
}

int store_rollup_settle_events(struct store *store, int64_t last_rowid, struct diag *diag)
{
    int64_t mark;
    int rc = has_waiting(store, &mark, diag);

    if (rc == 1)
        rc = last_rowid > mark ? store_rollup_write(store, diag) : 0;
    return rc < 0 ? rc : store_total_settle_events(store, last_rowid, diag);
}

/* --- For those who write for long --- */

void store_delay_rollups(struct store *store, int64_t row_ns)
{
    store->rollup.row_ns = row_ns;
}

bool store_rollups_are_due(const struct store *store)
{
    return (store_waiting_rows(store) > 0 && what_is_due(store) == DUE_ALL) ||
           store_total_is_due(store);
}
