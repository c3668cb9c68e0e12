/* SPDX-License-Identifier: Apache-2.0 */
/* Reading back what a session had defined and how far it was committed. */
#include "daemon/resume.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "daemon/memory.h"
#include "daemon/share.h"

static int store_error(sqlite3 *db, struct diag *diag)
{
    return diag_set(diag, -EIO, "the store cannot be read: %s", sqlite3_errmsg(db));
}

/* Takes one row of an answer. Returns 0, or -EUCLEAN for a row that the daemon never wrote. */
typedef int take_row_fn(struct session *session, sqlite3_stmt *row);

/* Runs a statement whose only parameter is the session, and takes its rows. */
static int for_each_row(sqlite3 *db, const char *sql, struct session *session, take_row_fn *take,
                        struct diag *diag)
{
    sqlite3_stmt *statement = NULL;
    int rc = 0, step;

    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
        return store_error(db, diag);
    sqlite3_bind_int64(statement, 1, session->session_id);
    while (rc == 0 && (step = sqlite3_step(statement)) != SQLITE_DONE) {
        if (step != SQLITE_ROW)
            rc = store_error(db, diag);
        else if (take(session, statement) < 0)
            rc = diag_set(diag, -EUCLEAN,
                          "the store holds too many or impossible rows of session %lld",
                          (long long)session->session_id);
    }
    sqlite3_finalize(statement);
    return rc;
}

/* Columns: client's number, store's number, bytes in the store. */
static int take_id(struct session *session, struct id_table *table, sqlite3_stmt *row, uint32_t max)
{
    int64_t client = sqlite3_column_int64(row, 0);

    if (client < 1 || client > max ||
        session_reserve_id(session, table, (uint32_t)client, NULL) < 0)
        return -EUCLEAN;
    id_table_set(table, (uint32_t)client, sqlite3_column_int64(row, 1));
    share_add(session, sqlite3_column_int64(row, 2));
    return 0;
}

static int take_model(struct session *session, sqlite3_stmt *row)
{
    return take_id(session, &session->models, row, OT_WIRE_MODELS_MAX);
}

static int take_op(struct session *session, sqlite3_stmt *row)
{
    return take_id(session, &session->ops, row, OT_WIRE_OPS_MAX);
}

/* Columns: the highest number of a long text, bytes in the store. */
static int take_texts(struct session *session, sqlite3_stmt *row)
{
    int64_t highest = sqlite3_column_int64(row, 0);

    if (highest < 0 || highest > INT32_MAX)
        return -EUCLEAN;
    session->texts.stored_count = (uint32_t)highest;
    share_add(session, sqlite3_column_int64(row, 1));
    return 0;
}

static int take_lane(struct session *session, sqlite3_stmt *row)
{
    return take_id(session, &session->lanes, row, OT_WIRE_LANES_MAX);
}

/* Columns: ring_id, committed, gaps, clock, complete_ns, process. */
static int take_cursor(struct session *session, sqlite3_stmt *row)
{
    struct session_cursor cursor = {.ring_id = (uint32_t)sqlite3_column_int64(row, 0),
                                    .committed = (uint64_t)sqlite3_column_int64(row, 1)};
    const void *gaps = sqlite3_column_blob(row, 2), *clock = sqlite3_column_blob(row, 3);

    if (cursor.committed > OT_RING_HEAD_MASK)
        return -EUCLEAN;
    if (cursor.ring_id == 0) {
        const char *process = (const char *)sqlite3_column_text(row, 5);

        snprintf(session->process, sizeof(session->process), "%s", process ? process : "");
        session->complete_ns = sqlite3_column_int64(row, 4);
        session->inline_next = cursor.committed;
        return tick_clock_restore(&session->clock, clock, (size_t)sqlite3_column_bytes(row, 3),
                                  ot_clock_ns(CLOCK_BOOTTIME));
    }
    if (gaps && sqlite3_column_bytes(row, 2) == (int)sizeof(cursor.gap_seen))
        memcpy(cursor.gap_seen, gaps, sizeof(cursor.gap_seen));
    batch_push(&session->cursors, cursor);
    return 0;
}

static int load_parts(sqlite3 *db, struct session *session, struct diag *diag)
{
    static const struct {
        const char *sql;
        take_row_fn *take;
    } parts[] = {
        {"SELECT client_model, model_id, 100 + ifnull(length(name), 0) + ifnull(length(path), 0) +"
         " ifnull(length(format), 0) + ifnull(length(producer), 0) + ifnull(length(digest), 0)"
         " FROM model WHERE session_id = ?",
         take_model},
        {"SELECT client_op, op_id, 500 + length(name) + length(type) + ifnull(length(node_id), 0) +"
         " ifnull(length(device), 0) + ifnull(length(input_shapes), 0) +"
         " ifnull(length(input_dtypes), 0) + ifnull(length(output_shapes), 0) +"
         " ifnull(length(output_dtypes), 0) + ifnull(length(params), 0) +"
         " ifnull(length(source), 0) + ifnull(length(origin), 0) + ifnull(length(origin_texts), 0)"
         " FROM op_row WHERE session_id = ?",
         take_op},
        {"SELECT max(text_id), sum(20 + length(value)) FROM text WHERE session_id = ?", take_texts},
        {"SELECT client_lane, lane_id, 100 + ifnull(length(name), 0) + ifnull(length(device), 0)"
         " FROM lane WHERE session_id = ?",
         take_lane},
        {"SELECT ring_id, committed, gaps, clock, complete_ns, process FROM ingest_cursor"
         " WHERE session_id = ?",
         take_cursor},
    };
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < sizeof(parts) / sizeof(parts[0]); i++)
        rc = for_each_row(db, parts[i].sql, session, parts[i].take, diag);
    return rc;
}

/* Fills the identity of the session that is known by this uuid. */
static int load_identity(sqlite3 *db, struct session *session, struct diag *diag)
{
    const char *sql = "SELECT session_id, start_ns, pid, uid,"
                      " end_ns IS NOT NULL OR source <> 'live' FROM session WHERE uuid = ?";
    sqlite3_stmt *row = NULL;
    int rc = 0, step;

    if (sqlite3_prepare_v2(db, sql, -1, &row, NULL) != SQLITE_OK)
        return store_error(db, diag);
    sqlite3_bind_blob(row, 1, session->uuid, sizeof(session->uuid), SQLITE_STATIC);
    step = sqlite3_step(row);
    if (step == SQLITE_DONE) {
        rc = -ENOENT;
    } else if (step != SQLITE_ROW) {
        rc = store_error(db, diag);
    } else {
        session->session_id = sqlite3_column_int64(row, 0);
        session->start_ns = sqlite3_column_int64(row, 1);
        session->pid = sqlite3_column_int64(row, 2);
        session->uid = (uid_t)sqlite3_column_int64(row, 3);
        if (sqlite3_column_int(row, 4))
            rc = -ESTALE;
    }
    sqlite3_finalize(row);
    return rc;
}

int session_resume(struct store *reader, const uint8_t uuid[16], struct session_budget *budget,
                   struct session **out_session, struct diag *diag)
{
    struct session *session = session_alloc(uuid, budget);
    sqlite3 *db = store_handle(reader);
    int rc = load_identity(db, session, diag);

    if (rc == 0)
        rc = load_parts(db, session, diag);
    if (rc == 0 && session->clock.knots.count == 0)
        rc = diag_set(diag, -EUCLEAN, "the store holds no clock of session %lld",
                      (long long)session->session_id);
    if (rc < 0)
        session_destroy(&session);
    else
        *out_session = session;
    return rc;
}

static bool is_known(const struct session *known, int64_t session_id)
{
    for (; known; known = known->next)
        if (known->session_id == session_id)
            return true;
    return false;
}

int resume_end_strays(struct store *reader, const struct session *known, struct batch *batch,
                      struct diag *diag)
{
    /* The end of the last batch that holds events of it, or held, is the closest that is known. */
    const char *sql = "SELECT s.session_id, s.pid, max(s.start_ns, ifnull((SELECT max(end_ns)"
                      " FROM event_batch WHERE s.session_id BETWEEN session_min AND session_max),"
                      " 0), ifnull((SELECT max(end_ns) FROM dropped d WHERE d.session_id ="
                      " s.session_id), 0), ifnull(c.complete_ns, 0)), c.process, c.complete_ns"
                      " FROM session s LEFT JOIN ingest_cursor c"
                      " ON c.session_id = s.session_id AND c.ring_id = 0"
                      " WHERE s.end_ns IS NULL AND s.source = 'live'";
    sqlite3 *db = store_handle(reader);
    sqlite3_stmt *row = NULL;
    int living = 0, step;

    if (sqlite3_prepare_v2(db, sql, -1, &row, NULL) != SQLITE_OK)
        return store_error(db, diag);
    while ((step = sqlite3_step(row)) == SQLITE_ROW) {
        struct batch_end end = {.session_id = sqlite3_column_int64(row, 0),
                                .end_ns = sqlite3_column_int64(row, 2),
                                .reason = "died",
                                .note = "while no daemon was there"};
        int64_t complete_ns = sqlite3_column_int64(row, 4);

        if (is_known(known, end.session_id))
            continue;
        if (identity_lives(sqlite3_column_int64(row, 1),
                           (const char *)sqlite3_column_text(row, 3))) {
            living++;
            continue;
        }
        batch_add_unknown_gap(batch, end.session_id, ot_wire_loss_name(OT_LOSS_NO_DAEMON),
                              complete_ns ? complete_ns : end.end_ns);
        batch_push(&batch->ends, end);
    }
    if (step != SQLITE_DONE)
        living = store_error(db, diag);
    sqlite3_finalize(row);
    return living;
}

int session_come_back(struct session *session, const struct ot_wire_hello_view *hello,
                      const struct session_peer *peer, struct diag *diag)
{
    struct ot_clock_triple triple = session_hello_triple(&hello->fixed);

    if (hello->fixed.clock_kind != session->clock.kind)
        return diag_set(diag, -EPROTO, "HELLO: the session had another clock before");
    tick_clock_update(&session->clock, &triple, peer->now_ns);
    session->pid = peer->pid;
    identity_read(session->pid, session->process);
    session_set_names(session, hello->texts.program, hello->texts.command);
    session->alone_since_ns = 0;
    session->is_coming_back = hello->fixed.connection > 0;
    session->has_begun = hello->fixed.features & OT_FEATURE_RECORDS;
    session->is_touched = true;
    return 0;
}
