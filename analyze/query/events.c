/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Feeding events to a scan. event_batch says which rows can belong to the time and the sessions
 * asked for. A good part of the table is read page by page (event_pages.c). Else each row goes
 * through one call of an aggregate function of ours, which keeps its sums in the scan: no sorting,
 * no row handed back (GROUP BY needs a sorter of all rows).
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/query/private.h"
#include "base/sorted.h"

/* A host may be that far ahead: a thousand launches in the queue of a stream, of a millisecond each. */
enum { LATE_NS = 1000000000 };

static int64_t argument(sqlite3_value *value)
{
    int64_t number = sqlite3_value_int64(value);

    if (number == 0 && sqlite3_value_type(value) == SQLITE_NULL)
        return STORE_NULL;
    return number;
}

struct scanning {
    struct scan *scan;
    struct rows_read rows;
};

/* scan_events(lane_id, op_id, run, start_ns, dur_ns, kern_ns) */
static void step(sqlite3_context *context, int count, sqlite3_value **values)
{
    struct scan_event event = {
        .lane_id = argument(values[0]),
        .op_id = argument(values[1]),
        .run = argument(values[2]),
        .start_ns = argument(values[3]),
        .dur_ns = argument(values[4]),
        .kern_ns = argument(values[5]),
    };

    struct scanning *scanning = sqlite3_user_data(context);

    scan_add(scanning->scan, &event);
    rows_read_add(&scanning->rows);
}

static void finish(sqlite3_context *context)
{
    sqlite3_result_null(context);
}

/* The window that encloses those of all sessions. */
static void find_bounds(const struct scan *scan, int64_t *out_from_ns, int64_t *out_until_ns)
{
    *out_from_ns = INT64_MAX;
    *out_until_ns = INT64_MIN;
    for (size_t i = 0; i < scan->session_count; i++) {
        if (scan->sessions[i].from_ns < *out_from_ns)
            *out_from_ns = scan->sessions[i].from_ns;
        if (scan->sessions[i].until_ns > *out_until_ns)
            *out_until_ns = scan->sessions[i].until_ns;
    }
}

/* --- Near the selected runs. --- */

/* Where the spans of a run lie: what it launched may go on after its end. */
static struct interval around(const struct scan_run *run)
{
    int64_t end_ns = run->end_ns == STORE_NULL ? INT64_MAX / 2 : run->end_ns, late_ns;

    late_ns = end_ns - run->start_ns < LATE_NS ? LATE_NS : end_ns - run->start_ns;
    return (struct interval){run->start_ns - LATE_NS, end_ns + late_ns};
}

static int compare_starts(const void *a, const void *b)
{
    const struct interval *left = a, *right = b;

    return (left->start_ns > right->start_ns) - (left->start_ns < right->start_ns);
}

/* Whether events far from selected runs may be left out. */
static bool only_near_runs(const struct scan *scan)
{
    for (size_t i = 0; i < scan->session_count; i++) {
        if (!scan->sessions[i].only_near_runs)
            return false;
    }
    return scan->session_count > 0;
}

/* The times around all selected runs, disjoint and in order. */
static int find_near(const struct scan *scan, struct interval_array *near)
{
    size_t kept = 0;

    for (size_t i = 0; i < scan->session_count; i++) {
        const struct scan_session *session = &scan->sessions[i];

        for (size_t k = 0; k < session->run_count; k++) {
            if (session->runs[k].selected && array_push(near, around(&session->runs[k])) < 0)
                return -ENOMEM;
        }
    }
    if (near->count)
        qsort(near->items, near->count, sizeof(*near->items), compare_starts);
    for (size_t i = 0; i < near->count; i++) {
        if (kept && near->items[i].start_ns <= near->items[kept - 1].end_ns) {
            if (near->items[i].end_ns > near->items[kept - 1].end_ns)
                near->items[kept - 1].end_ns = near->items[i].end_ns;
        } else {
            near->items[kept++] = near->items[i];
        }
    }
    near->count = kept;
    return 0;
}

static bool is_near(const struct interval_array *near, int64_t start_ns, int64_t end_ns)
{
    size_t first = search_past(0, near->count, i, near->items[i].end_ns < start_ns);

    return first < near->count && near->items[first].start_ns <= end_ns;
}

int query_event_ranges(struct store *store, const struct scan *scan, struct row_ranges *ranges,
                       struct diag *diag)
{
    int64_t from_ns, until_ns, low = INT64_MAX, high = INT64_MIN;
    struct interval_array near = {0};
    bool only_near = only_near_runs(scan);
    sqlite3_stmt *statement = NULL;
    int rc = query_prepare(store,
                           "SELECT first_rowid, last_rowid, start_ns, end_ns FROM event_batch"
                           " WHERE end_ns >= ?1 AND start_ns < ?2"
                           "   AND session_max >= ?3 AND session_min <= ?4 ORDER BY first_rowid",
                           &statement, diag);

    find_bounds(scan, &from_ns, &until_ns);
    for (size_t i = 0; i < scan->session_count; i++) {
        low = scan->sessions[i].session_id < low ? scan->sessions[i].session_id : low;
        high = scan->sessions[i].session_id > high ? scan->sessions[i].session_id : high;
    }
    if (rc == 0) {
        sqlite3_bind_int64(statement, 1, from_ns);
        sqlite3_bind_int64(statement, 2, until_ns);
        sqlite3_bind_int64(statement, 3, low);
        sqlite3_bind_int64(statement, 4, high);
        rc = only_near ? find_near(scan, &near) : 0;
    }
    while (rc == 0 && (rc = query_step(store, statement, diag)) == 1) {
        struct row_range range = {query_int(statement, 0), query_int(statement, 1)};
        struct row_range *last = ranges->count ? &ranges->items[ranges->count - 1] : NULL;

        rc = 0;
        if (only_near && !is_near(&near, query_int(statement, 2), query_int(statement, 3)))
            continue;
        if (last && last->last + 1 == range.first)
            last->last = range.last;
        else
            rc = array_push(ranges, range);
    }
    sqlite3_finalize(statement);
    array_deinit(&near);
    return rc;
}

int query_row_limits(struct store *store, const struct row_ranges *ranges,
                     struct row_limits *limits, struct diag *diag)
{
    sqlite3_stmt *statement = NULL;
    int rc = query_prepare(store,
                           "SELECT first_rowid, last_rowid, start_ns FROM event_batch"
                           " WHERE first_rowid BETWEEN ?1 AND ?2 ORDER BY first_rowid",
                           &statement, diag);

    for (size_t i = 0; i < ranges->count && rc == 0; i++) {
        sqlite3_bind_int64(statement, 1, ranges->items[i].first);
        sqlite3_bind_int64(statement, 2, ranges->items[i].last);
        while (rc == 0 && (rc = query_step(store, statement, diag)) == 1)
            rc = array_push(limits,
                            ((struct row_limit){query_int(statement, 0), query_int(statement, 1),
                                                query_int(statement, 2), INT64_MAX}));
        sqlite3_reset(statement);
    }
    sqlite3_finalize(statement);
    return rc;
}

void row_limits_look_ahead(struct row_limits *limits)
{
    int64_t later_ns = INT64_MAX;

    for (size_t i = limits->count; i-- > 0;) {
        struct row_limit *limit = &limits->items[i];

        limit->later_ns = later_ns;
        later_ns = limit->start_ns < later_ns ? limit->start_ns : later_ns;
    }
}

struct rows_read rows_read_begin(const struct row_ranges *ranges, struct progress *progress)
{
    struct rows_read rows = {.progress = progress};

    for (size_t i = 0; i < ranges->count; i++)
        rows.total += (uint64_t)(ranges->items[i].last - ranges->items[i].first) + 1;
    return rows;
}

static void add_to_scan(void *user, const struct event_row *row)
{
    struct scanning *scanning = user;

    scan_add(scanning->scan, &row->event);
    rows_read_add(&scanning->rows);
}

static int read_rows(struct store *store, struct scanning *scanning,
                     const struct row_ranges *ranges, struct diag *diag)
{
    sqlite3 *db = store_handle(store);
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_create_function(db, "scan_events", 6, SQLITE_UTF8 | SQLITE_DIRECTONLY,
                                       scanning, NULL, step, finish);
    int rc;

    if (code != SQLITE_OK)
        return store_fail(store, code, "read", diag);
    rc = query_prepare(store,
                       "SELECT scan_events(lane_id, op_id, run, start_ns, dur_ns, kern_ns)"
                       "  FROM event WHERE rowid BETWEEN ?1 AND ?2",
                       &statement, diag);
    for (size_t i = 0; i < ranges->count && rc == 0; i++) {
        sqlite3_bind_int64(statement, 1, ranges->items[i].first);
        sqlite3_bind_int64(statement, 2, ranges->items[i].last);
        rc = query_step(store, statement, diag);
        rc = rc < 0 ? rc : 0;
        sqlite3_reset(statement);
    }
    sqlite3_finalize(statement);
    /* The function points to the scan, which will not outlive its caller. */
    sqlite3_create_function(db, "scan_events", 6, SQLITE_UTF8, NULL, NULL, NULL, NULL);
    return rc;
}

int query_events(struct store *store, struct scan *scan, struct progress *progress,
                 struct diag *diag)
{
    struct row_ranges ranges = {0};
    struct scanning scanning = {.scan = scan};
    int rc = query_event_ranges(store, scan, &ranges, diag);

    scanning.rows = rows_read_begin(&ranges, progress);
    if (rc == 0 && event_pages_pay(store, &ranges) &&
        event_pages(store, &ranges, EVENT_OF_SCAN, add_to_scan, &scanning))
        goto out;
    if (rc == 0) {
        scan_restart(scan);
        scanning.rows.count = 0;
        rc = read_rows(store, &scanning, &ranges, diag);
    }
out:
    progress_end(progress);
    array_deinit(&ranges);
    if (rc == 0)
        rc = scan->error;
    return rc == -ENOMEM ? diag_set(diag, rc, "no memory to sum up the events") : rc;
}
