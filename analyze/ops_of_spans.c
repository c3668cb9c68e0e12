/* SPDX-License-Identifier: Apache-2.0 */
/* What each op cost, summed up from single spans: where the question is about some of its spans
 * only, those in a label, on a lane or on a device. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/ops_of_spans.h"
#include "analyze/scan.h"

static double add_known(double sum, double value)
{
    return isnan(sum) ? value : sum + value;
}

static void add_span(struct op_cost *cost, const struct span *span, bool is_label)
{
    double dur_ns = (double)span->dur_ns;

    if (!cost->calls)
        *cost = (struct op_cost){.kern_ns = NAN,
                                 .exec_ns = NAN,
                                 .min_ns = dur_ns,
                                 .max_ns = dur_ns,
                                 .percentile_ns = {NAN, NAN, NAN}};
    cost->calls++;
    cost->end_ns += is_label ? dur_ns : (double)span->self_ns;
    cost->min_ns = fmin(cost->min_ns, dur_ns);
    cost->max_ns = fmax(cost->max_ns, dur_ns);
    if (span->kern_ns != STORE_NULL) {
        cost->kern_ns = add_known(cost->kern_ns, (double)span->kern_ns);
        cost->exec_ns = add_known(cost->exec_ns, (double)(span->dur_ns - span->kern_ns));
    }
}

static void finish_cost(const struct op_row *row, struct op_cost *cost, double divisor)
{
    double calls = (double)cost->calls / divisor;

    cost->end_ns /= divisor;
    cost->kern_ns /= divisor;
    cost->exec_ns /= divisor;
    cost->computation_flop =
        row->computation_flop == STORE_NULL ? NAN : (double)row->computation_flop * calls;
    cost->memory_bytes = row->memory_bytes == STORE_NULL ? NAN : (double)row->memory_bytes * calls;
}

/* Durations of the single calls of each op on a side; without memory they stay unknown. */
static void find_percentiles(const struct spans_answer *spans, struct op_row *rows, size_t count,
                             enum op_side side)
{
    struct store_histogram *durations = calloc(count ? count : 1, sizeof(*durations));
    int rc = durations ? 0 : -ENOMEM;

    for (size_t i = 0; i < spans->spans.count && rc == 0; i++) {
        const struct span *span = &spans->spans.items[i];

        if (span->is_shown && spans->lanes.items[span->lane].side == side)
            rc = store_histogram_count(&durations[span->op], store_bin_of(span->dur_ns), 1);
    }
    for (size_t i = 0; i < count && durations; i++) {
        struct op_cost *cost = &rows[i].cost[side];

        if (rc == 0 && cost->calls)
            scan_percentiles(&durations[i], cost->min_ns, cost->max_ns, cost->percentile_ns);
        store_histogram_deinit(&durations[i]);
    }
    free(durations);
}

void ops_of_spans(struct spans_answer *spans, bool labels, struct ops_answer *out)
{
    size_t kept = 0;

    *out = (struct ops_answer){.rows = spans->ops, .basis = spans->basis, .texts = spans->texts};
    spans->ops = (struct op_row_array){0};
    spans->basis = (struct basis){0};
    spans->texts = (struct query_texts){0};
    for (size_t i = 0; i < spans->spans.count; i++) {
        const struct span *span = &spans->spans.items[i];
        enum op_side side = spans->lanes.items[span->lane].side;

        if (span->is_shown)
            add_span(&out->rows.items[span->op].cost[side], span,
                     spans->op_kinds[span->op] == SPAN_LABEL);
    }
    for (int side = 0; side < OP_SIDES; side++) {
        find_percentiles(spans, out->rows.items, out->rows.count, (enum op_side)side);
        out->basis.total_ns[side] = NAN;
    }
    for (size_t i = 0; i < out->rows.count; i++) {
        struct op_row row = out->rows.items[i];
        enum span_kind kind = (enum span_kind)spans->op_kinds[i];

        if (kind != SPAN_OP && (kind != SPAN_LABEL || !labels))
            continue;
        for (int side = 0; side < OP_SIDES; side++) {
            finish_cost(&row, &row.cost[side], out->basis.divisor);
            if (row.cost[side].calls && kind == SPAN_OP)
                out->basis.total_ns[side] =
                    add_known(out->basis.total_ns[side], row.cost[side].end_ns);
        }
        out->rows.items[kept++] = row;
    }
    out->rows.count = kept;
}
