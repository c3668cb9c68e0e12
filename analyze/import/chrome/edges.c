/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans of a Chrome trace that come as two events. A trace may have its events in any order, and
 * those that are written thread by thread do; what begins and what ends belongs together in the
 * order of time, so both wait until all are read.
 */
#include <errno.h>

#include "analyze/import/chrome/private.h"
#include "analyze/import/values.h"

/* --- Edges on their way through the sorter, as points: by time, then in the order of the file. */

static struct import_row row_of(const struct chrome_edge *edge)
{
    bool is_async = chrome_is_async(edge->phase);

    return (struct import_row){
        .kind = ROW_FLOW,
        .end_ns = edge->time_ns,
        .start_ns = edge->phase,
        .lane = edge->lane,
        .op = edge->op,
        .correlation = is_async ? (int64_t)edge->key.low : edge->correlation,
        .kern_ns = is_async ? (int64_t)edge->key.high : edge->external,
        .bytes = edge->bytes,
    };
}

static struct chrome_edge edge_of(const struct import_row *row)
{
    struct chrome_edge edge = {
        .time_ns = row->end_ns,
        .phase = (char)row->start_ns,
        .lane = row->lane,
        .op = row->op,
        .correlation = STORE_NULL,
        .external = STORE_NULL,
        .bytes = row->bytes,
    };

    if (chrome_is_async(edge.phase)) {
        edge.key = (struct place_key){(uint64_t)row->correlation, (uint64_t)row->kern_ns};
    } else {
        edge.correlation = row->correlation;
        edge.external = row->kern_ns;
    }
    return edge;
}

int chrome_keep_edge(struct chrome *chrome, const struct chrome_edge *edge, struct diag *diag)
{
    return row_sorter_add(&chrome->edges, row_of(edge), diag);
}

/* --- Pairs. --- */

int chrome_close_span(struct chrome *chrome, uint32_t lane, const struct chrome_edge *begin,
                      size_t depth, int64_t end_ns, struct diag *diag)
{
    struct import_span span = {
        .lane = lane,
        .op = begin->op,
        .start_ns = begin->time_ns,
        .dur_ns = end_ns == STORE_NULL ? STORE_NULL : end_ns - begin->time_ns,
        .kern_ns = STORE_NULL,
        .correlation = begin->correlation,
        .external = begin->external,
        .bytes = begin->bytes,
        .depth = depth,
    };

    if (!is_import_time(span.start_ns, span.dur_ns)) {
        chrome->bad_count++;
        return 0;
    }
    return importer_span(&chrome->importer, &span, diag);
}

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
        struct chrome_edge edge = edge_of(&row);

        rc = take(chrome, &edge, diag);
    }
    row_sorter_deinit(&chrome->edges);
    return rc < 0 ? rc : close_all(chrome, diag);
}
