/* SPDX-License-Identifier: Apache-2.0 */
/* What is missing: events that were lost, spans that never ended. */
#include <errno.h>

#include "analyze/query_private.h"

static const char losses_sql[] =
    "SELECT lane_name, reason, lost_count, start_ns, end_ns, lane_id FROM v_loss"
    " WHERE session_id = ?1 ORDER BY lost_count DESC";

int query_losses(struct reading *reading, int64_t session_id, struct diag *diag)
{
    struct query_texts *texts = reading->texts;
    sqlite3_stmt *statement = NULL;
    int rc = query_prepare(reading->store, losses_sql, &statement, diag);

    sqlite3_bind_int64(statement, 1, session_id);
    while (rc == 0 && (rc = query_step(reading->store, statement, diag)) == 1) {
        struct loss_row loss = {
            .session_id = session_id,
            .lane_id = query_int(statement, 5),
            .lane = query_text(texts, statement, 0),
            .reason = query_text(texts, statement, 1),
            .lost_count = query_int(statement, 2),
            .start_ns = query_int(statement, 3),
            .end_ns = query_int(statement, 4),
        };

        rc = array_push(&reading->basis->losses, loss);
    }
    sqlite3_finalize(statement);
    return rc;
}

int query_unfinished(struct reading *reading, const struct scan *scan, struct diag *diag)
{
    struct query_texts *texts = reading->texts;
    sqlite3_stmt *statement = NULL;
    int rc = query_prepare(reading->store, "SELECT name, type, session_id FROM op WHERE op_id = ?1",
                           &statement, diag);

    for (uint64_t i = 0; i < scan->unfinished_count && i < SCAN_UNFINISHED_MAX && rc == 0; i++) {
        const struct scan_unfinished *span = &scan->unfinished[i];
        uint32_t lane = id_map_find(&scan->lane_map, span->lane_id);
        struct unfinished_row row = {
            .start_ns = span->start_ns,
            .lane = reading->lane_rows.items[lane].name,
        };

        sqlite3_bind_int64(statement, 1, span->op_id);
        rc = query_step(reading->store, statement, diag);
        if (rc == 1) {
            row.op = query_text(texts, statement, 0);
            row.type = query_text(texts, statement, 1);
            row.session_id = query_int(statement, 2);
            rc = array_push(&reading->basis->unfinished, row);
        }
        sqlite3_reset(statement);
    }
    sqlite3_finalize(statement);
    return rc;
}
