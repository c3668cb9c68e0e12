/* SPDX-License-Identifier: Apache-2.0 */
/* CPU time of runs, by the readings of their threads' clocks. */
#include "analyze/query/off_cpu.h"

#include <math.h>

#include "analyze/query/statement.h"

/* Readings of a thread's clock grow; each lane has one thread's. */
static const char readings_sql[] =
    "SELECT run, 1 - sum(cpu_ns) / sum(wall_ns) FROM ("
    "    SELECT c.run, max(c.time_ns) - min(c.time_ns) AS wall_ns,"
    "           max(c.value) - min(c.value) AS cpu_ns FROM counter c"
    "     WHERE c.run IS NOT NULL AND c.op_id IN ("
    "           SELECT op_id FROM op WHERE session_id = ?1 AND type = 'counter'"
    "              AND name = 'perf.task-clock_ns')"
    "     GROUP BY c.run, c.lane_id)"
    " GROUP BY run HAVING sum(wall_ns) > 0 ORDER BY run";

int query_off_cpu(struct store *store, int64_t session_id, struct off_cpu_shares *shares,
                  struct diag *diag)
{
    sqlite3_stmt *statement = NULL;
    int rc = query_prepare(store, readings_sql, &statement, diag);

    if (rc == 0)
        sqlite3_bind_int64(statement, 1, session_id);
    while (rc == 0 && (rc = query_step(store, statement, diag)) == 1) {
        struct off_cpu_share share = {
            .session_id = session_id,
            .run = query_int(statement, 0),
            .share = fmax(0, sqlite3_column_double(statement, 1)),
        };

        rc = array_push(shares, share);
        if (rc < 0)
            diag_set(diag, rc, "no memory for the runs");
    }
    sqlite3_finalize(statement);
    return rc;
}
