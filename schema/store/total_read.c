/* SPDX-License-Identifier: Apache-2.0 */
/* What the file says that the totals in memory are to know. */
#include <errno.h>
#include <string.h>

#include "schema/store/private.h"

/* What op_total says for enum total_class. */
const char *const store_total_classes[] = {"none",        "counted", "warm-up",
                                           "without ops", "unknown", "open"};

/* One row. Returns 1, 0 where there is none, or a negative errno; the caller resets it. */
static int read_one(struct store *store, sqlite3_stmt *statement, struct diag *diag)
{
    int code = sqlite3_step(statement);

    return code == SQLITE_ROW ? 1 : code == SQLITE_DONE ? 0 : store_fail(store, code, "read", diag);
}

static uint8_t op_kind_of(const char *type)
{
    static const char *const others[] = {"phase", "mark", "counter"};

    if (!type)
        return TOTAL_OP_MISSING;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (strcmp(type, others[i]) == 0)
            return TOTAL_OP_OTHER;
    }
    return strcmp(type, "label") == 0 ? TOTAL_OP_LABEL : TOTAL_OP_NESTING;
}

int store_total_read_op(struct store *store, int64_t op_id, int64_t session_id, uint8_t *out_kind,
                        uint8_t *out_sort, struct diag *diag)
{
    sqlite3_stmt *statement;
    int rc =
        store_statement(store, STORE_GET_OP_TYPE,
                        "SELECT type,ifnull(name,'') FROM main.op WHERE op_id=? AND session_id=?",
                        &statement, diag);

    if (rc < 0)
        return rc;
    sqlite3_bind_int64(statement, 1, op_id);
    sqlite3_bind_int64(statement, 2, session_id);
    rc = read_one(store, statement, diag);
    if (rc >= 0) {
        const char *type = rc ? (const char *)sqlite3_column_text(statement, 0) : NULL;
        const char *name = type ? (const char *)sqlite3_column_text(statement, 1) : NULL;

        *out_kind = op_kind_of(type);
        *out_sort = name ? (uint8_t)op_sort_bits(type, name) : OP_SORT_OTHER;
    }
    sqlite3_reset(statement);
    return rc < 0 ? rc : 0;
}

int store_total_read_run(struct store *store, int64_t session_id, int64_t run, uint32_t *out_class,
                         struct diag *diag)
{
    sqlite3_stmt *statement;
    int rc = store_statement(store, STORE_GET_RUN,
                             "SELECT without_ops,warmup FROM main.run WHERE session_id=? AND run=?"
                             " AND end_ns IS NOT NULL",
                             &statement, diag);

    if (rc < 0)
        return rc;
    sqlite3_bind_int64(statement, 1, session_id);
    sqlite3_bind_int64(statement, 2, run);
    rc = read_one(store, statement, diag);
    if (rc >= 0)
        *out_class = !rc ? TOTAL_OPEN
                         : store_total_class_of(sqlite3_column_int64(statement, 0) != 0,
                                                sqlite3_column_int64(statement, 1) != 0);
    sqlite3_reset(statement);
    return rc < 0 ? rc : 0;
}

/* Whether events of the session are in the file, or were, that no total counts. */
static int has_uncounted(struct store *store, int64_t session_id, struct diag *diag)
{
    sqlite3_stmt *statement;
    int rc = store_statement(
        store, STORE_HAS_UNCOUNTED,
        "SELECT 1 FROM main.dropped WHERE session_id=?1 UNION ALL SELECT 1 FROM main.event_batch b"
        " WHERE ?1 BETWEEN session_min AND session_max AND first_rowid<=?2 AND (lanes IS NULL OR"
        " EXISTS (SELECT 1 FROM json_each(b.lanes) JOIN main.lane l ON l.lane_id=value WHERE"
        " l.session_id=?1)) LIMIT 1",
        &statement, diag);

    if (rc < 0)
        return rc;
    sqlite3_bind_int64(statement, 1, session_id);
    sqlite3_bind_int64(statement, 2, store->totals.mark);
    rc = read_one(store, statement, diag);
    sqlite3_reset(statement);
    return rc;
}

static int read_stored_session(struct store *store, struct total_session *session,
                               struct diag *diag)
{
    sqlite3_stmt *statement;
    int rc = store_statement(
        store, STORE_GET_SESSION_TOTAL,
        "SELECT unfinished_count,ifnull(first_unfinished,0),ifnull(last_unfinished,0),bad_count,"
        "(SELECT ifnull(max(t.run),0) FROM main.op_row o CROSS JOIN main.op_total t ON"
        " t.op_id=o.op_id WHERE o.session_id=?1) FROM main.session_total WHERE session_id=?1",
        &statement, diag);

    if (rc < 0)
        return rc;
    sqlite3_bind_int64(statement, 1, session->session_id);
    rc = read_one(store, statement, diag);
    if (rc == 1) {
        session->unfinished_count = sqlite3_column_int64(statement, 0);
        session->first_unfinished = sqlite3_column_int64(statement, 1);
        session->last_unfinished = sqlite3_column_int64(statement, 2);
        session->bad_count = sqlite3_column_int64(statement, 3);
        session->stored_run_max = sqlite3_column_int64(statement, 4);
    }
    sqlite3_reset(statement);
    return rc;
}

int store_total_read_session(struct store *store, int64_t session_id,
                             struct total_session *out_session, struct diag *diag)
{
    struct total_session session = {.session_id = session_id};
    sqlite3_stmt *statement;
    int rc = store_statement(store, STORE_GET_RUN_MAX,
                             "SELECT max(run) FROM main.run WHERE session_id=?", &statement, diag);

    if (rc < 0)
        return rc;
    sqlite3_bind_int64(statement, 1, session_id);
    rc = read_one(store, statement, diag);
    if (rc == 1)
        session.run_max = sqlite3_column_int64(statement, 0);
    sqlite3_reset(statement);
    rc = rc < 0 ? rc : read_stored_session(store, &session, diag);
    session.is_counted = rc == 1;
    if (rc == 0) {
        rc = has_uncounted(store, session_id, diag);
        session.is_counted = session.is_dirty = rc == 0;
    }
    rc = rc < 0 ? rc : 0;
    if (rc == 0)
        rc = store_cover_read_session(store, session_id, session.is_dirty, diag);
    if (rc < 0)
        return rc;
    *out_session = session;
    return 0;
}

int store_total_read_row(struct store *store, int64_t run, struct total_entry *entry,
                         struct diag *diag)
{
    uint32_t class = entry->run_class < TOTAL_OPEN ? entry->run_class : TOTAL_OPEN;
    sqlite3_stmt *statement;
    int rc = store_statement(store, STORE_GET_TOTAL,
                             "SELECT event_count,sum_ns,nested_ns,min_ns,max_ns,kern_count,"
                             "kern_sum_ns,exec_sum_ns,histogram,sized_count,sized_sum_ns,"
                             "bytes,sort FROM main.op_total WHERE op_id=?"
                             " AND lane_kind=? AND run_kind=? AND run=?",
                             &statement, diag);

    if (rc < 0)
        return rc;
    sqlite3_bind_int64(statement, 1, entry->op_id);
    sqlite3_bind_text(statement, 2, store_lane_kinds[entry->lane_kind], -1, SQLITE_STATIC);
    sqlite3_bind_text(statement, 3, store_total_classes[class], -1, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 4, run);
    rc = read_one(store, statement, diag);
    if (rc == 1) {
        const char *text = (const char *)sqlite3_column_text(statement, 8);

        entry->all.event_count = sqlite3_column_int64(statement, 0);
        entry->all.sum_ns = sqlite3_column_int64(statement, 1);
        entry->all.nested_ns = sqlite3_column_int64(statement, 2);
        entry->is_unsure = sqlite3_column_type(statement, 2) == SQLITE_NULL;
        entry->all.min_ns = sqlite3_column_int64(statement, 3);
        entry->all.max_ns = sqlite3_column_int64(statement, 4);
        entry->all.kern_count = sqlite3_column_int64(statement, 5);
        entry->all.kern_sum_ns = sqlite3_column_int64(statement, 6);
        entry->all.exec_sum_ns = sqlite3_column_int64(statement, 7);
        entry->all.sized_count = sqlite3_column_int64(statement, 9);
        entry->all.sized_sum_ns = sqlite3_column_int64(statement, 10);
        entry->all.bytes = sqlite3_column_int64(statement, 11);
        entry->is_mixed = sqlite3_column_type(statement, 12) == SQLITE_NULL ||
                          sqlite3_column_int64(statement, 12) != entry->sort;
        entry->is_stored = true;
        rc = store_histogram_parse(text ? text : "", (size_t)sqlite3_column_bytes(statement, 8),
                                   &entry->all.histogram, diag);
    }
    sqlite3_reset(statement);
    return rc;
}

int store_total_read_mark(struct store *store, struct diag *diag)
{
    struct totals *totals = &store->totals;
    int rc =
        store_query_int(store, "SELECT CAST(value AS INTEGER) FROM main.meta WHERE key='totalled'",
                        &totals->mark, diag);

    if (rc == 0)
        rc = store_query_int(store, "SELECT max(op_id) FROM main.op_total", &totals->stored_op_max,
                             diag);
    if (rc == 0)
        rc = store_query_int(store, "SELECT max(lane_id) FROM main.lane", &totals->lane_max, diag);
    totals->has_mark = rc == 0;
    return rc;
}
