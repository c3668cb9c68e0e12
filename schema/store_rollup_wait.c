/* SPDX-License-Identifier: Apache-2.0 */
/* When roll-ups are written, what the file says of those that wait, and counting these again. */
#include <errno.h>

#include "base/clock.h"
#include "schema/store_private.h"

/* --- The mark in the file --- */

static int read_mark(struct store *store, bool *out_has_mark, int64_t *out_mark, struct diag *diag)
{
    sqlite3_stmt *statement;
    int code;
    int rc = store_statement(store, STORE_GET_ROLLED_UP,
                             "SELECT CAST(value AS INTEGER) FROM main.meta WHERE key='rolled_up'",
                             &statement, diag);

    if (rc < 0)
        return rc;
    code = sqlite3_step(statement);
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        rc = store_fail(store, code, "read", diag);
    *out_has_mark = code == SQLITE_ROW;
    if (code == SQLITE_ROW)
        *out_mark = sqlite3_column_int64(statement, 0);
    sqlite3_reset(statement);
    return rc;
}

static int put_mark(struct store *store, struct diag *diag)
{
    sqlite3_stmt *statement;
    int rc = store_statement(store, STORE_PUT_ROLLED_UP,
                             "REPLACE INTO main.meta VALUES('rolled_up',CAST(? AS TEXT))",
                             &statement, diag);

    if (rc < 0)
        return rc;
    sqlite3_bind_int64(statement, 1, store->rollup.mark);
    rc = store_step(store, statement, "write", diag);
    store->rollup.has_mark = rc == 0;
    return rc;
}

static int drop_mark(struct store *store, struct diag *diag)
{
    sqlite3_stmt *statement;
    int rc = store->rollup.has_mark
                 ? store_statement(store, STORE_DROP_ROLLED_UP,
                                   "DELETE FROM main.meta WHERE key='rolled_up'", &statement, diag)
                 : 1;

    if (rc != 0)
        return rc < 0 ? rc : 0;
    rc = store_step(store, statement, "write", diag);
    store->rollup.has_mark = rc < 0;
    return rc;
}

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

static int count_waiting(struct store *store, struct diag *diag)
{
    sqlite3_stmt *row;
    int rc = store_statement(store, STORE_GET_WAITING,
                             "SELECT rowid,lane_id,op_id,start_ns,dur_ns,kern_ns FROM main.event"
                             " WHERE rowid>? AND op_id IS NOT NULL AND start_ns IS NOT NULL AND"
                             " dur_ns>=0 ORDER BY rowid",
                             &row, diag);

    if (rc < 0)
        return rc;
    sqlite3_bind_int64(row, 1, store->rollup.mark);
    rc = store_rollup_count(store, store, row, diag);
    sqlite3_reset(row);
    return rc;
}

int store_rollup_prepare(struct store *store, struct diag *diag)
{
    struct rollup *rollup = &store->rollup;
    int rc;

    if (rollup->knows_mark)
        return 0;
    rc = read_mark(store, &rollup->has_mark, &rollup->mark, diag);
    rollup->knows_mark = rc == 0;
    if (rc == 0 && rollup->has_mark)
        rc = count_waiting(store, diag);
    if (rc < 0)
        store_rollup_clear(rollup);
    return rc;
}

/* --- Writing --- */

/* A row costs the same whether it was touched once or a thousand times: the more rows there are,
 * the longer they wait. */
static bool is_due(const struct rollup *rollup)
{
    int64_t wait_ns = rollup->row_ns;

    if (__builtin_mul_overflow(wait_ns, (int64_t)rollup->dirty_count, &wait_ns) ||
        wait_ns > ROLLUP_WAIT_NS)
        wait_ns = rollup->row_ns > ROLLUP_WAIT_NS ? rollup->row_ns : ROLLUP_WAIT_NS;
    return rollup->row_ns == 0 ||
           ot_clock_ns(CLOCK_MONOTONIC) - rollup->last_ns >= (uint64_t)wait_ns;
}

int store_rollup_write(struct store *store, struct diag *diag)
{
    struct rollup *rollup = &store->rollup;
    int rc = store_rollup_prepare(store, diag);

    if (rc == 0)
        rc = store_rollup_write_rows(store, diag);
    if (rc == 0)
        rc = drop_mark(store, diag);
    if (rc == 0)
        rollup->last_ns = ot_clock_ns(CLOCK_MONOTONIC);
    return rc;
}

int store_rollup_commit(struct store *store, struct diag *diag)
{
    const struct rollup *rollup = &store->rollup;

    if (!rollup->knows_mark || (rollup->dirty_count == 0 && !rollup->has_mark))
        return 0;
    if (rollup->dirty_count == 0 || is_due(rollup))
        return store_rollup_write(store, diag);
    return rollup->has_mark ? 0 : put_mark(store, diag);
}

/* What the file says where nothing is known here. */
static int has_waiting(struct store *store, int64_t *out_mark, struct diag *diag)
{
    const struct rollup *rollup = &store->rollup;
    bool has_mark = rollup->dirty_count > 0;
    int rc = 0;

    *out_mark = rollup->mark;
    if (!rollup->knows_mark)
        rc = read_mark(store, &has_mark, out_mark, diag);
    return rc < 0 ? rc : has_mark;
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

    return rc == 1 && last_rowid > mark ? store_rollup_write(store, diag) : rc < 0 ? rc : 0;
}

/* --- For those who write for long --- */

void store_delay_rollups(struct store *store, int64_t row_ns)
{
    store->rollup.row_ns = row_ns;
}

bool store_rollups_are_due(const struct store *store)
{
    return store->rollup.dirty_count > 0 && is_due(&store->rollup);
}

int store_write_rollups(struct store *store, struct diag *diag)
{
    int64_t mark;
    int rc = has_waiting(store, &mark, diag);

    if (rc <= 0)
        return rc;
    rc = store_begin(store, diag);
    if (rc < 0)
        return rc;
    rc = store_rollup_write(store, diag);
    if (rc == 0)
        rc = store_commit(store, diag);
    if (rc < 0)
        store_rollback(store);
    return rc;
}
