/* SPDX-License-Identifier: Apache-2.0 */
/* CPU time of runs, by the readings of their threads' clocks. */
#include "analyze/query/off_cpu.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>

#include "analyze/query/statement.h"
#include "base/text_buffer.h"

/* Readings of a thread's clock grow; each lane has one thread's. */
static const char readings_sql[] =
    "SELECT session_id, run, 1 - sum(cpu_ns) / sum(wall_ns) FROM ("
    "    SELECT o.session_id, c.run, max(c.time_ns) - min(c.time_ns) AS wall_ns,"
    "           max(c.value) - min(c.value) AS cpu_ns FROM counter c JOIN"
    "           (SELECT op_id, session_id FROM op WHERE type = 'counter'"
    "               AND name = 'perf.task-clock_ns'"
    "               AND session_id IN (SELECT value FROM json_each(?1))) o ON o.op_id = c.op_id"
    "     WHERE c.run IS NOT NULL"
    "     GROUP BY o.session_id, c.run, c.lane_id)"
    " GROUP BY session_id, run HAVING sum(wall_ns) > 0 ORDER BY session_id, run";

static int read_shares(struct store *store, const char *ids, struct off_cpu_shares *shares,
                       struct diag *diag)
{
    sqlite3_stmt *statement = NULL;
    int rc = query_prepare(store, readings_sql, &statement, diag);

    if (rc == 0 && sqlite3_bind_text(statement, 1, ids, -1, SQLITE_STATIC) != SQLITE_OK)
        rc = diag_set(diag, -ENOMEM, "no memory for the runs");
    while (rc == 0 && (rc = query_step(store, statement, diag)) == 1) {
        struct off_cpu_share share = {
            .session_id = query_int(statement, 0),
            .run = query_int(statement, 1),
            .share = fmax(0, sqlite3_column_double(statement, 2)),
        };

        rc = array_push(shares, share);
        if (rc < 0)
            diag_set(diag, rc, "no memory for the runs");
    }
    sqlite3_finalize(statement);
    return rc;
}

int query_off_cpu(struct store *store, const int64_t *session_ids, size_t session_count,
                  struct off_cpu_shares *shares, struct diag *diag)
{
    struct text_buffer ids = {0};
    int rc;

    text_buffer_print(&ids, "[");
    for (size_t i = 0; i < session_count; i++)
        text_buffer_print(&ids, "%s%" PRId64, i ? "," : "", session_ids[i]);
    text_buffer_print(&ids, "]");
    rc = ids.failed ? diag_set(diag, -ENOMEM, "no memory for the sessions")
                    : read_shares(store, text_buffer_text(&ids), shares, diag);
    text_buffer_deinit(&ids);
    return rc;
}
