/* SPDX-License-Identifier: Apache-2.0 */
/* When totals are written, and counting again what the file lacks. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "schema/store/private.h"

/* Times of writing that an entry stays after its last change, where there are many. */
enum { IDLE_MAX = 4 };

/* --- Counting again --- */

/* A row of `event`; those up to the mark may only lie inside of later ones. */
static int replay_row(struct store *store, sqlite3_stmt *row, struct diag *diag)
{
    struct totals *totals = &store->totals;
    const int64_t rowid = sqlite3_column_int64(row, 0);
    struct store_event event = {.lane_id = sqlite3_column_int64(row, 1),
                                .bytes = sqlite3_column_type(row, 7) == SQLITE_NULL
                                             ? STORE_NULL
                                             : sqlite3_column_int64(row, 7)};
    int64_t *const fields[] = {&event.op_id, &event.run, &event.start_ns, &event.dur_ns,
                               &event.kern_ns};
    struct lane *lane = store_lane_slot(&store->lanes, event.lane_id);
    struct total_event counted;
    int rc = 0;

    for (int i = 0; i < 5; i++)
        *fields[i] = sqlite3_column_type(row, 2 + i) == SQLITE_NULL
                         ? STORE_NULL
                         : sqlite3_column_int64(row, 2 + i);
    if (lane->lane_id != event.lane_id || event.lane_id == 0)
        rc = store_lane_read(store, event.lane_id, lane, diag);
    if (rc < 0) /* others may have written, too */
        return rc == -EINVAL || rc == -EUCLEAN ? 0 : rc;
    if (event.start_ns == STORE_NULL || (event.dur_ns < 0 && event.dur_ns != STORE_NULL))
        return 0;
    if (rowid <= totals->mark)
        return store_total_replay(store, lane, &event, diag);
    rc = store_total_look(store, lane, &event, rowid, &counted, diag);
    return rc == 1 ? store_total_count(store, &counted, 1, diag) : rc;
}

/* Events up to the mark that may lie inside of later ones are those of sessions that go on. */
static int find_first(struct store *store, int64_t *out_first, struct diag *diag)
{
    struct totals *totals = &store->totals;
    int64_t live_count, first = totals->mark + 1 - TOTAL_REPLAY_EVENTS;
    char sql[300];
    int rc = store_query_int(store, "SELECT count(*) FROM main.session WHERE end_ns IS NULL",
                             &live_count, diag);

    if (rc < 0)
        return rc;
    *out_first = live_count == 0 ? totals->mark + 1 : first > 1 ? first : 1;
    snprintf(sql, sizeof(sql),
             "SELECT ifnull(max(ns),%lld) FROM (SELECT max(end_ns) AS ns FROM main.event_batch"
             " WHERE first_rowid<%lld UNION ALL SELECT max(end_ns) FROM main.dropped)",
             (long long)INT64_MIN + 1, (long long)*out_first);
    return store_query_int(store, sql, &totals->before_ns, diag);
}

/* A program of before 1.4 knows no totals: it drops events that they do not count. Sessions of which
 * some went are not told by totals any more. */
static int drop_overtaken(struct store *store, struct diag *diag)
{
    int64_t first;
    int rc = store_query_int(store, "SELECT min(first_rowid) FROM main.event_batch", &first, diag);

    return rc < 0 || first <= store->totals.mark + 1
               ? rc
               : store_exec(store,
                            "DELETE FROM main.session_total WHERE session_id IN"
                            " (SELECT session_id FROM main.dropped WHERE event_count>0)",
                            "write", diag);
}

int store_total_prepare(struct store *store, struct diag *diag)
{
    struct totals *totals = &store->totals;
    sqlite3_stmt *row;
    int64_t first = 0;
    int code = SQLITE_DONE, rc;

    if (totals->is_ready || store->gathers)
        return 0;
    store_total_clear(totals);
    rc = store_total_read_mark(store, diag);
    if (rc == 0)
        rc = drop_overtaken(store, diag);
    if (rc == 0)
        rc = find_first(store, &first, diag);
    if (rc == 0)
        rc = store_statement(store, STORE_GET_UNCOUNTED,
                             "SELECT rowid,lane_id,op_id,run,start_ns,dur_ns,kern_ns,bytes FROM"
                             " main.event WHERE rowid>=? ORDER BY rowid",
                             &row, diag);
    if (rc < 0)
        return rc;
    totals->is_ready = true;
    totals->last_rowid = totals->mark;
    totals->last_ns = ot_clock_ns(CLOCK_MONOTONIC);
    totals->counts_again = true;
    sqlite3_bind_int64(row, 1, first);
    while (rc == 0 && (code = sqlite3_step(row)) == SQLITE_ROW)
        rc = replay_row(store, row, diag);
    if (rc == 0 && code != SQLITE_DONE)
        rc = store_fail(store, code, "read", diag);
    sqlite3_reset(row);
    if (rc == 0)
        rc = store_total_fold(store, diag);
    totals->counts_again = false;
    if (rc < 0)
        store_total_clear(totals);
    return rc;
}

/* --- Writing --- */

static int write_entry(struct store *store, const struct total_entry *entry, struct diag *diag)
{
    struct totals *totals = &store->totals;
    const struct total_sums *sums = &entry->all;
    bool is_open = entry->run_class >= TOTAL_OPEN;
    const char *kind = store_total_classes[is_open ? TOTAL_OPEN : entry->run_class];
    size_t length = store_histogram_format(&sums->histogram, totals->text);
    sqlite3_stmt *statement;
    int rc = store_statement(store, STORE_PUT_TOTAL,
                             "REPLACE INTO op_total(op_id,lane_kind,run_kind,run,event_count,"
                             "sum_ns,nested_ns,min_ns,max_ns,kern_count,kern_sum_ns,exec_sum_ns,"
                             "histogram,sized_count,sized_sum_ns,bytes,sort)"
                             " VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
                             &statement, diag);

    if (rc < 0)
        return rc;
    sqlite3_bind_int64(statement, 1, entry->op_id);
    sqlite3_bind_text(statement, 2, store_lane_kinds[entry->lane_kind], -1, SQLITE_STATIC);
    sqlite3_bind_text(statement, 3, kind, -1, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 4, is_open ? totals->runs[entry->run_class - TOTAL_OPEN].run : 0);
    sqlite3_bind_int64(statement, 5, sums->event_count);
    sqlite3_bind_int64(statement, 6, sums->sum_ns);
    store_bind_int(statement, 7, entry->is_unsure ? STORE_NULL : sums->nested_ns);
    sqlite3_bind_int64(statement, 8, sums->min_ns);
    sqlite3_bind_int64(statement, 9, sums->max_ns);
    sqlite3_bind_int64(statement, 10, sums->kern_count);
    sqlite3_bind_int64(statement, 11, sums->kern_sum_ns);
    sqlite3_bind_int64(statement, 12, sums->exec_sum_ns);
    sqlite3_bind_text(statement, 13, totals->text, (int)length, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 14, sums->sized_count);
    sqlite3_bind_int64(statement, 15, sums->sized_sum_ns);
    sqlite3_bind_int64(statement, 16, sums->bytes);
    store_bind_int(statement, 17, entry->is_mixed ? STORE_NULL : entry->sort);
    rc = store_step(store, statement, "write", diag);
    sqlite3_bind_null(statement, 13);
    return rc;
}

static int write_entries(struct store *store, struct diag *diag)
{
    struct totals *totals = &store->totals;
    int rc = 0;

    if (!totals->text)
        totals->text = malloc(STORE_HISTOGRAM_TEXT_MAX);
    if (!totals->text)
        return diag_set(diag, -ENOMEM, "no memory for the totals of %s", store->path);
    for (size_t i = 0; i < totals->entries.count && rc == 0; i++) {
        struct total_entry *entry = &totals->entries.items[i];

        if (!entry->is_dirty)
            continue;
        rc = write_entry(store, entry, diag);
        if (rc < 0)
            break;
        entry->is_dirty = false;
        entry->is_stored = true;
        totals->dirty_count--;
        if (entry->op_id > totals->stored_op_max)
            totals->stored_op_max = entry->op_id;
        if (entry->run_class >= TOTAL_OPEN)
            totals->runs[entry->run_class - TOTAL_OPEN].may_be_stored = true;
    }
    return rc;
}

static int drop_gone(struct store *store, struct diag *diag)
{
    struct totals *totals = &store->totals;
    sqlite3_stmt *statement;
    int rc = 0;

    for (size_t i = 0; i < totals->gone.count && rc == 0; i++) {
        const struct total_gone *gone = &totals->gone.items[i];

        rc = store_statement(store, STORE_DROP_TOTAL,
                             "DELETE FROM op_total WHERE op_id=? AND lane_kind=? AND"
                             " run_kind='open' AND run=?",
                             &statement, diag);
        if (rc < 0)
            return rc;
        sqlite3_bind_int64(statement, 1, gone->op_id);
        sqlite3_bind_text(statement, 2, store_lane_kinds[gone->lane_kind], -1, SQLITE_STATIC);
        sqlite3_bind_int64(statement, 3, gone->run);
        rc = store_step(store, statement, "write", diag);
    }
    if (rc == 0)
        totals->gone.count = 0;
    return rc;
}

static int write_session(struct store *store, const struct total_session *session,
                         struct diag *diag)
{
    bool has_unfinished = session->unfinished_count > 0;
    sqlite3_stmt *statement;
    int rc =
        session->is_counted
            ? store_statement(store, STORE_PUT_SESSION_TOTAL,
                              "REPLACE INTO session_total(session_id,unfinished_count,"
                              "first_unfinished,last_unfinished,bad_count)"
                              " VALUES(?,?,?,?,?)",
                              &statement, diag)
            : store_statement(store, STORE_DROP_SESSION_TOTAL,
                              "DELETE FROM session_total WHERE session_id=?", &statement, diag);

    if (rc < 0)
        return rc;
    sqlite3_bind_int64(statement, 1, session->session_id);
    if (session->is_counted) {
        sqlite3_bind_int64(statement, 2, session->unfinished_count);
        store_bind_int(statement, 3, has_unfinished ? session->first_unfinished : STORE_NULL);
        store_bind_int(statement, 4, has_unfinished ? session->last_unfinished : STORE_NULL);
        sqlite3_bind_int64(statement, 5, session->bad_count);
    }
    return store_step(store, statement, "write", diag);
}

static int put_mark(struct store *store, int64_t mark, struct diag *diag)
{
    sqlite3_stmt *statement;
    int rc = store_statement(store, STORE_PUT_TOTALLED,
                             "REPLACE INTO main.meta VALUES('totalled',CAST(? AS TEXT))",
                             &statement, diag);

    if (rc < 0)
        return rc;
    sqlite3_bind_int64(statement, 1, mark);
    return store_step(store, statement, "write", diag);
}

int store_total_write(struct store *store, struct diag *diag)
{
    struct totals *totals = &store->totals;
    int rc = store_total_fold(store, diag);

    if (rc == 0)
        rc = store_cover_seal(store, diag);
    if (rc == 0)
        rc = drop_gone(store, diag); /* before a run of that number is written again */
    if (rc == 0)
        rc = write_entries(store, diag);
    for (size_t i = 0; i < totals->sessions.count && rc == 0; i++) {
        if (totals->sessions.items[i].is_dirty)
            rc = write_session(store, &totals->sessions.items[i], diag);
        totals->sessions.items[i].is_dirty = false;
    }
    if (rc == 0)
        rc = store_cover_write(store, diag);
    if (rc == 0)
        rc = put_mark(store, totals->last_rowid, diag);
    if (rc < 0)
        return rc;
    totals->mark = totals->last_rowid;
    totals->last_ns = ot_clock_ns(CLOCK_MONOTONIC);
    totals->wants_write = totals->covers.has_ended = false;
    store_total_forget_idle(totals, IDLE_MAX);
    if (totals->sessions.count > TOTAL_SESSIONS_MAX)
        store_total_clear(totals); /* begun anew with the next event */
    return 0;
}

int64_t store_total_least_wait_ns(int64_t row_ns, int64_t rows)
{
    int64_t wait_ns;

    if (__builtin_mul_overflow(row_ns, rows, &wait_ns))
        return INT64_MAX;
    if (wait_ns >= TOTAL_WAIT_MAX_NS)
        return wait_ns;
    return wait_ns < TOTAL_WAIT_MAX_NS / 2 ? 2 * wait_ns : TOTAL_WAIT_MAX_NS;
}

bool store_total_is_due(const struct store *store)
{
    const struct totals *totals = &store->totals;
    const int64_t row_ns = store->rollup.row_ns;
    const int64_t dirty = (int64_t)totals->dirty_count + totals->fresh_count; /* at most */
    int64_t events = totals->last_rowid - totals->mark, waited_ns;

    if (!totals->is_ready || (events <= 0 && !totals->covers.has_ended))
        return false;
    if (totals->entries.count - totals->free_count > TOTAL_ENTRIES_MAX ||
        store_waiting_is_much(store))
        return true;
    waited_ns = (int64_t)(ot_clock_ns(CLOCK_MONOTONIC) - totals->last_ns);
    if (waited_ns < store_total_least_wait_ns(row_ns, dirty + 1))
        return false;
    return totals->wants_write || waited_ns >= TOTAL_WAIT_NS ||
           events >= TOTAL_WAIT_EVENTS + dirty * TOTAL_EVENTS_PER_ROW;
}

/* Nobody counts what is imported: reports look at its events, which are all there. */
static int pass_over_imported(struct store *store, struct diag *diag)
{
    struct totals *totals = &store->totals;
    int rc = 0;

    if (!totals->has_mark)
        rc = store_total_read_mark(store, diag);
    if (rc < 0 || totals->mark != store->first_gathered - 1)
        return rc;
    rc = put_mark(store, store->next_event - 1, diag);
    totals->mark = store->next_event - 1;
    store->first_gathered = store->next_event;
    return rc;
}

int store_total_commit(struct store *store, struct diag *diag)
{
    if (store->gathers)
        return store->next_event > store->first_gathered && store->first_gathered
                   ? pass_over_imported(store, diag)
                   : 0;
    return store_total_is_due(store) ? store_total_write(store, diag)
                                     : store_cover_commit(store, diag);
}

int store_total_is_waiting(struct store *store, bool *out_is_waiting, struct diag *diag)
{
    struct totals *totals = &store->totals;
    int64_t last_rowid = totals->last_rowid;
    int rc = 0;

    if (!totals->is_ready) {
        rc = store_query_int(store, "SELECT max(rowid) FROM main.event", &last_rowid, diag);
        if (rc == 0)
            rc = store_total_read_mark(store, diag);
    }
    *out_is_waiting = last_rowid > totals->mark || totals->covers.has_ended;
    return rc;
}

int store_total_settle_events(struct store *store, int64_t last_rowid, struct diag *diag)
{
    struct totals *totals = &store->totals;
    int rc = totals->has_mark ? 0 : store_total_read_mark(store, diag);

    if (rc < 0 || last_rowid <= totals->mark || store->gathers)
        return rc;
    rc = store_total_prepare(store, diag);
    return rc < 0 ? rc : store_total_write(store, diag);
}
