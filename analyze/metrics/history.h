/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sessions of a model in the order in which they were recorded, each op's time in them, and
 * where it changed. Pure: sessions are handed in as samples (run_samples.h).
 *
 * A session's value is the median of its runs. An op is the same in two sessions when name, type,
 * shapes and dtypes are the same; of equal ones the first is the first.
 */
#ifndef OPTRACE_ANALYZE_METRICS_HISTORY_H
#define OPTRACE_ANALYZE_METRICS_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/metrics/run_samples.h"
#include "analyze/query/query.h"
#include "analyze/stats/change_points.h"
#include "analyze/stats/significance.h"

/* One op in one session, or what was asked for as a whole. */
struct history_value {
    const char *name, *type, *shapes, *dtypes; /* kept by the history; all NULL: the whole */
    uint32_t nth;
    uint32_t session; /* number of history_add()'s calls before */
    double median_ns;
};

struct history_series {
    const char *name, *type, *shapes; /* NULL: the whole */
    size_t first, count;              /* places in `values`, by session */
    double p, p_corrected;            /* that it ever changed; NaN: too few sessions to say */
};

struct history_change {
    uint32_t series;            /* place */
    uint32_t session;           /* the first one of the new level */
    uint32_t previous;          /* the last one before it that has the op */
    double before_ns, after_ns; /* medians of the levels beside it */
    double p;
    double share; /* of the whole's change in the same session; NaN when it did not change there */
};

struct history {
    size_t session_count;
    ARRAY_OF(struct history_value) values;
    ARRAY_OF(struct history_series) series;  /* series.items[0] is the whole */
    ARRAY_OF(struct history_change) changes; /* those of the whole first, then by series */
    struct query_texts texts;
};

/**
 * Add a session, the next one in time; {0} is the empty history.
 *
 * is_filtered  ops were chosen: the whole is their sum, and not the run
 *
 * Returns 0 or -ENOMEM.
 */
int history_add(struct history *history, const struct run_samples *samples, bool is_filtered);

/** Find the changes, when all sessions are there. Those of ops are corrected for their number, and
 *  all are larger than the threshold. Returns 0 or -ENOMEM. */
int history_find_changes(struct history *history, const struct compare_gates *gates);

void history_deinit(struct history *history);

#endif
