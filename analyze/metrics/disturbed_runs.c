/* SPDX-License-Identifier: Apache-2.0 */
/* CPU time of runs, session by session. */
#include "analyze/metrics/disturbed_runs.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/query/private.h"
#include "analyze/stats/describe.h"

enum { RUNS_MIN = 4 }; /* of a session, for a quartile */

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

/* Shares of the runs [first, end), which are of one session and in order. */
static int read_shares(struct store *store, sqlite3_stmt *statement,
                       const struct run_samples *samples, size_t first, size_t end, double *shares,
                       struct diag *diag)
{
    uint32_t session = samples->runs.items[first].session;
    int rc;

    sqlite3_reset(statement);
    sqlite3_bind_int64(statement, 1, samples->spans.windows.items[session].session_id);
    while ((rc = query_step(store, statement, diag)) == 1) {
        int64_t number = query_int(statement, 0);

        for (; first < end; first++) {
            uint32_t row = samples->runs.items[first].row;
            int64_t own = row == SPAN_NONE ? INT64_MAX : samples->spans.runs.items[row].run;

            if (own == number)
                shares[first] = fmax(0, sqlite3_column_double(statement, 1));
            if (own >= number)
                break;
        }
    }
    return rc;
}

static int judge_session(const double *shares, size_t first, size_t end,
                         struct disturbed_runs *out_runs)
{
    double *known = malloc((end - first) * sizeof(*known)), quartile;
    size_t count = 0;

    if (!known)
        return -ENOMEM;
    for (size_t i = first; i < end; i++) {
        if (!isnan(shares[i]))
            known[count++] = shares[i];
    }
    out_runs->read_count += count;
    stats_sort(known, count);
    quartile = count >= RUNS_MIN ? stats_percentile(known, count, 25) : NAN;
    free(known);
    for (size_t i = first; i < end; i++) {
        out_runs->is_disturbed[i] = shares[i] > quartile + DISTURBED_SHARE;
        out_runs->count += out_runs->is_disturbed[i];
    }
    return 0;
}

int disturbed_runs_find(struct store *store, const struct run_samples *samples,
                        struct disturbed_runs *out_runs, struct diag *diag)
{
    size_t runs = samples->runs.count;
    double *shares = malloc((runs ? runs : 1) * sizeof(*shares));
    sqlite3_stmt *statement = NULL;
    int rc;

    *out_runs = (struct disturbed_runs){
        .is_disturbed = calloc(runs ? runs : 1, sizeof(*out_runs->is_disturbed)),
    };
    rc = shares && out_runs->is_disturbed ? 0 : diag_set(diag, -ENOMEM, "no memory for the runs");
    if (rc == 0)
        rc = query_prepare(store, readings_sql, &statement, diag);
    for (size_t first = 0, end; first < runs && rc == 0; first = end) {
        for (end = first;
             end < runs && samples->runs.items[end].session == samples->runs.items[first].session;)
            shares[end++] = NAN;
        rc = read_shares(store, statement, samples, first, end, shares, diag);
        if (rc == 0 && judge_session(shares, first, end, out_runs) < 0)
            rc = diag_set(diag, -ENOMEM, "no memory for the runs");
    }
    sqlite3_finalize(statement);
    free(shares);
    return rc;
}
