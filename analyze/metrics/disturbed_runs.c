/* SPDX-License-Identifier: Apache-2.0 */
/* Shares of runs, session by session. */
#include "analyze/metrics/disturbed_runs.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/stats/describe.h"

enum { RUNS_MIN = 4 }; /* of a session, for a quartile */

/* Shares of the runs [first, end), which are of one session and in order. */
static void take_shares(const struct run_samples *samples, const struct off_cpu_shares *known,
                        size_t first, size_t end, double *shares)
{
    uint32_t session = samples->runs.items[first].session;
    int64_t session_id = samples->spans.windows.items[session].session_id;

    for (size_t i = 0; i < known->count; i++) {
        if (known->items[i].session_id != session_id)
            continue;
        for (; first < end; first++) {
            uint32_t row = samples->runs.items[first].row;
            int64_t own = row == SPAN_NONE ? INT64_MAX : samples->spans.runs.items[row].run;

            if (own == known->items[i].run)
                shares[first] = known->items[i].share;
            if (own >= known->items[i].run)
                break;
        }
    }
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

int disturbed_runs_find(const struct run_samples *samples, const struct off_cpu_shares *known,
                        struct disturbed_runs *out_runs)
{
    size_t runs = samples->runs.count;
    double *shares = malloc((runs ? runs : 1) * sizeof(*shares));
    int rc;

    *out_runs = (struct disturbed_runs){
        .is_disturbed = calloc(runs ? runs : 1, sizeof(*out_runs->is_disturbed)),
    };
    rc = shares && out_runs->is_disturbed ? 0 : -ENOMEM;
    for (size_t first = 0, end; first < runs && rc == 0; first = end) {
        for (end = first;
             end < runs && samples->runs.items[end].session == samples->runs.items[first].session;)
            shares[end++] = NAN;
        take_shares(samples, known, first, end, shares);
        rc = judge_session(shares, first, end, out_runs);
    }
    free(shares);
    return rc;
}
