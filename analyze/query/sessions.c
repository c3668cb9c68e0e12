/* SPDX-License-Identifier: Apache-2.0 */
/* Which sessions a store holds; and the small helpers of all queries. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/query/private.h"

/* These statements are right: what a store refuses about them is the store's fault. */
static int fail(struct store *store, int code, struct diag *diag)
{
    int rc = store_fail(store, code, "read", diag);

    return rc == -EINVAL ? -EUCLEAN : rc;
}

int query_prepare(struct store *store, const char *sql, sqlite3_stmt **out_statement,
                  struct diag *diag)
{
    int code = sqlite3_prepare_v2(store_handle(store), sql, -1, out_statement, NULL);

    return code == SQLITE_OK ? 0 : fail(store, code, diag);
}

int query_step(struct store *store, sqlite3_stmt *statement, struct diag *diag)
{
    int code = sqlite3_step(statement);

    if (code == SQLITE_ROW)
        return 1;
    return code == SQLITE_DONE ? 0 : fail(store, code, diag);
}

int64_t query_int(sqlite3_stmt *statement, int column)
{
    if (sqlite3_column_type(statement, column) == SQLITE_NULL)
        return STORE_NULL;
    return sqlite3_column_int64(statement, column);
}

const char *query_keep(struct query_texts *texts, const char *text)
{
    char *copy;

    if (!text)
        return NULL;
    copy = strdup(text);
    if (!copy || array_push(&texts->kept, copy) < 0) {
        free(copy);
        texts->failed = true;
        return NULL;
    }
    return copy;
}

const char *query_text(struct query_texts *texts, sqlite3_stmt *statement, int column)
{
    return query_keep(texts, (const char *)sqlite3_column_text(statement, column));
}

void query_texts_deinit(struct query_texts *texts)
{
    for (size_t i = 0; i < texts->kept.count; i++)
        free(texts->kept.items[i]);
    array_deinit(&texts->kept);
}

static const char sessions_sql[] =
    "SELECT s.session_id, s.start_ns,"
    "       coalesce(s.end_ns,"
    "                (SELECT max(end_ns) FROM event_batch b"
    "                  WHERE s.session_id BETWEEN b.session_min AND b.session_max),"
    "                (SELECT max(end_ns) FROM dropped d WHERE d.session_id = s.session_id),"
    "                s.start_ns),"
    "       s.end_ns IS NULL, s.program, s.command, s.host, s.source, s.end_reason, s.note, s.pid,"
    "       (SELECT group_concat(coalesce(m.name, m.path), ', ') FROM model m"
    "         WHERE m.session_id = s.session_id),"
    "       (SELECT count(*) FROM op o WHERE o.session_id = s.session_id"
    "           AND NOT (o.type = 'counter' AND o.name LIKE 'recording.%') AND o.type <> 'source'),"
    "       (SELECT CAST(total(g.lost_count) AS INTEGER) FROM gap g"
    "         WHERE g.session_id = s.session_id),"
    "       (SELECT min(o.type = 'counter' AND o.name LIKE 'calibration.%') FROM op o"
    "         WHERE o.session_id = s.session_id AND o.name NOT LIKE 'recording.%'"
    "           AND o.type <> 'source'),"
    "       (SELECT coalesce(sum(d.event_count), 0) FROM dropped d"
    "         WHERE d.session_id = s.session_id),"
    "       (SELECT min(coalesce(g.start_ns, s.start_ns)) FROM gap g"
    "         WHERE g.session_id = s.session_id AND g.lost_count IS NULL),"
    "       s.end_ns IS NULL AND s.source = 'live',"
    "       (SELECT c.complete_ns FROM ingest_cursor c"
    "         WHERE c.session_id = s.session_id AND c.ring_id = 0),"
    "       s.damage_count,"
    "       EXISTS (SELECT 1 FROM op o WHERE o.session_id = s.session_id AND o.type = 'source')"
    "  FROM session s ORDER BY s.start_ns, s.session_id";

static void read_session(struct query_texts *texts, sqlite3_stmt *row, bool has_writer,
                         struct session_row *out_session)
{
    *out_session = (struct session_row){
        .session_id = query_int(row, 0),
        .start_ns = query_int(row, 1),
        .end_ns = query_int(row, 2),
        .is_running = sqlite3_column_int(row, 3) != 0,
        .program = query_text(texts, row, 4),
        .command = query_text(texts, row, 5),
        .host = query_text(texts, row, 6),
        .source = query_text(texts, row, 7),
        .end_reason = query_text(texts, row, 8),
        .note = query_text(texts, row, 9),
        .pid = query_int(row, 10),
        .models = query_text(texts, row, 11),
        .op_count = query_int(row, 12),
        .lost_count = query_int(row, 13),
        .is_calibration = sqlite3_column_int(row, 14) != 0,
        .dropped_count = query_int(row, 15),
        .lost_unknown_since_ns = query_int(row, 16),
        .damage_count = (uint64_t)sqlite3_column_int64(row, 19),
        .is_from_outside = sqlite3_column_int(row, 20) != 0,
    };
    out_session->complete_ns =
        sqlite3_column_type(row, 18) == SQLITE_NULL ? out_session->end_ns : query_int(row, 18);
    if (!has_writer && sqlite3_column_int(row, 17) != 0) {
        out_session->is_abandoned = true;
        if (out_session->lost_unknown_since_ns == STORE_NULL)
            out_session->lost_unknown_since_ns = out_session->complete_ns;
    }
}

int query_sessions(struct store *store, struct session_rows *out_rows, struct diag *diag)
{
    const bool has_writer = store_has_writer(store);
    sqlite3_stmt *statement = NULL;
    int rc;

    *out_rows = (struct session_rows){0};
    rc = query_prepare(store, sessions_sql, &statement, diag);
    while (rc == 0 && (rc = query_step(store, statement, diag)) == 1) {
        struct session_row row;

        read_session(&out_rows->texts, statement, has_writer, &row);
        rc = out_rows->texts.failed ? -ENOMEM : array_push(&out_rows->rows, row);
    }
    sqlite3_finalize(statement);
    return rc == -ENOMEM ? diag_set(diag, rc, "no memory for the list of sessions") : rc;
}

int query_session_runs(struct store *store, int64_t session_id, struct session_run_counts *out_runs,
                       struct diag *diag)
{
    sqlite3_stmt *statement = NULL;
    int rc =
        query_prepare(store, "SELECT count(*), total(warmup <> 0) FROM run WHERE session_id = ?1",
                      &statement, diag);

    sqlite3_bind_int64(statement, 1, session_id);
    if (rc == 0)
        rc = query_step(store, statement, diag);
    if (rc == 1) {
        *out_runs = (struct session_run_counts){query_int(statement, 0),
                                                sqlite3_column_int64(statement, 1)};
        rc = 0;
    }
    sqlite3_finalize(statement);
    return rc;
}

void session_rows_deinit(struct session_rows *sessions)
{
    array_deinit(&sessions->rows);
    query_texts_deinit(&sessions->texts);
}
