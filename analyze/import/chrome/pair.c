/* SPDX-License-Identifier: Apache-2.0 */
/* Spans that come as two events: their edges while they wait for the other, as points in the sorter,
 * and the span that two make. */
#include "analyze/import/chrome/private.h"
#include "analyze/import/values.h"

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

struct chrome_edge chrome_edge_of(const struct import_row *row)
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
