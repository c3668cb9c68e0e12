/* SPDX-License-Identifier: Apache-2.0 */
/* Quartiles of sessions, and what all of them have in common. */
#include "analyze/metrics/outlying_runs.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/stats/describe.h"

enum { RUNS_MIN = 8 };       /* of a session, for two percentiles of its faster runs */
#define LEAST          0.02  /* of the lower quartile: what is never looked at */
#define DEVIATIONS     4     /* above the lower quartile */
#define QUARTILE_TO_10 0.607 /* of a normal distribution, in standard deviations */
#define APART          0.25

/* The runs [first, end) of a session, and two percentiles of them. */
struct session_runs {
    int side;
    size_t first, end;
    double quartile, spread; /* spread: of the faster runs, as a share */
};
struct sessions ARRAY_FIELDS(struct session_runs);

static int measure_session(const struct run_samples *samples, struct session_runs *session)
{
    size_t count = session->end - session->first;
    double *sorted = malloc(count * sizeof(*sorted));

    if (!sorted)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        sorted[i] = samples->runs.items[session->first + i].run_ns;
    stats_sort(sorted, count);
    session->quartile = stats_percentile(sorted, count, 25);
    session->spread = session->quartile > 0
                          ? (session->quartile - stats_percentile(sorted, count, 10)) /
                                (QUARTILE_TO_10 * session->quartile)
                          : 0;
    free(sorted);
    return 0;
}

static int add_sessions(const struct run_samples *samples, int side, struct sessions *sessions)
{
    size_t runs = samples->runs.count;

    for (size_t first = 0, end; first < runs; first = end) {
        struct session_runs session = {.side = side, .first = first};

        for (end = first + 1;
             end < runs && samples->runs.items[end].session == samples->runs.items[first].session;)
            end++;
        session.end = end;
        if (end - first >= RUNS_MIN &&
            (measure_session(samples, &session) < 0 || array_push(sessions, session) < 0))
            return -ENOMEM;
    }
    return 0;
}

/* The median of all sessions' spreads. */
static int find_usual(const struct sessions *sessions, double *out_spread)
{
    double *spreads = malloc((sessions->count ? sessions->count : 1) * sizeof(*spreads));

    if (!spreads)
        return -ENOMEM;
    for (size_t i = 0; i < sessions->count; i++)
        spreads[i] = sessions->items[i].spread;
    stats_sort(spreads, sessions->count);
    *out_spread = sessions->count ? stats_median(spreads, sessions->count) : 0;
    free(spreads);
    return 0;
}

int outlying_runs_find(const struct run_samples *const samples[ALIGN_SIDES],
                       struct outlying_runs out_runs[ALIGN_SIDES])
{
    struct sessions sessions = {0};
    double usual = 0;
    bool has_sessions =
        samples[ALIGN_BASE]->units_are_sessions || samples[ALIGN_NEW]->units_are_sessions;
    int rc = 0;

    for (int side = 0; side < ALIGN_SIDES; side++) {
        size_t count = samples[side]->runs.count;

        out_runs[side] = (struct outlying_runs){.is_outlying = calloc(count ? count : 1, 1)};
        if (!out_runs[side].is_outlying)
            rc = -ENOMEM;
        if (rc == 0 && has_sessions)
            rc = add_sessions(samples[side], side, &sessions);
    }
    if (rc == 0)
        rc = find_usual(&sessions, &usual);
    for (size_t i = 0; i < sessions.count && rc == 0; i++) {
        const struct session_runs *session = &sessions.items[i];
        double limit_ns = session->quartile * (1 + fmax(LEAST, DEVIATIONS * usual));

        for (size_t run = session->first; run < session->end; run++) {
            bool is_outlying = samples[session->side]->runs.items[run].run_ns > limit_ns;

            out_runs[session->side].is_outlying[run] = is_outlying;
            out_runs[session->side].count += is_outlying;
        }
    }
    array_deinit(&sessions);
    return rc;
}

bool outlying_runs_are_apart(const struct run_samples *const samples[ALIGN_SIDES],
                             const struct outlying_runs runs[ALIGN_SIDES])
{
    double share[ALIGN_SIDES];

    for (int side = 0; side < ALIGN_SIDES; side++) {
        size_t count = samples[side]->runs.count;

        share[side] = count ? (double)runs[side].count / (double)count : 0;
    }
    return fabs(share[ALIGN_BASE] - share[ALIGN_NEW]) > APART;
}
