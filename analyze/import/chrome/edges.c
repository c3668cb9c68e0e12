/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans of a Chrome trace that come as two events. A trace may have its events in any order, and
 * those that are written thread by thread do; what begins and what ends belongs together in the
 * order of time, so both wait until all are read.
 */
#include <errno.h>

#include "analyze/import/chrome/private.h"
#include "analyze/import/values.h"

/* --- Pairs. --- */

static int end_span(struct chrome *chrome, uint32_t lane, int64_t end_ns, struct diag *diag)
{
    struct chrome_lane *state = &chrome->lane_states.items[lane];
    size_t depth = state->open.count;

    if (!depth) {
        chrome->unmatched_count++;
        return 0;
    }
    state->open.count--;
    return chrome_close_span(chrome, lane, &state->open.items[depth - 1], depth, end_ns, diag);
}

static int take(struct chrome *chrome, const struct chrome_edge *edge, struct diag *diag)
{
    if (chrome_is_async(edge->phase))
        return chrome_take_async(chrome, edge, diag);
    if (edge->phase == 'E')
        return end_span(chrome, edge->lane, edge->time_ns, diag);
    return array_push(&chrome->lane_states.items[edge->lane].open, *edge) < 0
               ? diag_set(diag, -ENOMEM, "no memory for the trace")
               : 0;
}

/* What began and did not end before the trace did. */
static int close_all(struct chrome *chrome, struct diag *diag)
{
    int rc = 0;

    for (size_t i = 0; i < chrome->lane_states.count; i++) {
        while (rc == 0 && chrome->lane_states.items[i].open.count)
            rc = end_span(chrome, (uint32_t)i, STORE_NULL, diag);
    }
    return rc < 0 ? rc : chrome_close_asyncs(chrome, diag);
}

int chrome_pair_edges(struct chrome *chrome, struct diag *diag)
{
    struct import_row row;
    int rc = row_sorter_sort(&chrome->edges, diag);

    while (rc == 0 && (rc = row_sorter_next(&chrome->edges, &row, diag)) == 1) {
        struct chrome_edge edge = chrome_edge_of(&row);

        rc = take(chrome, &edge, diag);
    }
    row_sorter_deinit(&chrome->edges);
    return rc < 0 ? rc : close_all(chrome, diag);
}
