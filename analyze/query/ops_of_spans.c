/* SPDX-License-Identifier: Apache-2.0 */
/* What each op cost, summed up from single spans: where the question is about some of its spans
 * only, those in a label, on a lane or on a device. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/query/ops_of_spans.h"
#include "analyze/query/private.h"
#include "analyze/query/scan.h"

static double add_known(double sum, double value)
{
    return isnan(sum) ? value : sum + value;
}

static void add_span(struct op_cost *cost, const struct span *span, double own_ns)
{
    double dur_ns = (double)span->dur_ns;

    if (!cost->calls)
        *cost = (struct op_cost){.kern_ns = NAN,
                                 .exec_ns = NAN,
                                 .min_ns = dur_ns,
                                 .max_ns = dur_ns,
                                 .percentile_ns = {NAN, NAN, NAN}};
    cost->calls++;
    cost->end_ns += own_ns;
    cost->whole_ns += (double)span->dur_ns;
    cost->min_ns = dur_ns < cost->min_ns ? dur_ns : cost->min_ns;
    cost->max_ns = dur_ns > cost->max_ns ? dur_ns : cost->max_ns;
    if (span->kern_ns != STORE_NULL) {
        cost->kern_ns = add_known(cost->kern_ns, (double)span->kern_ns);
        cost->exec_ns = add_known(cost->exec_ns, (double)(span->dur_ns - span->kern_ns));
    }
}

static void finish_cost(const struct op_row *row, struct op_cost *cost, double divisor)
{
    double calls = (double)cost->calls / divisor;

    cost->end_ns /= divisor;
    cost->whole_ns /= divisor;
    cost->kern_ns /= divisor;
    cost->exec_ns /= divisor;
    cost->computation_flop =
        row->computation_flop == STORE_NULL ? NAN : (double)row->computation_flop * calls;
    cost->memory_bytes = row->memory_bytes == STORE_NULL ? NAN : (double)row->memory_bytes * calls;
}

/* Hands over the rows that are ops here, with the durations beside them. */
static void take_rows(const struct spans_answer *spans, bool labels, struct ops_answer *out_answer,
                      struct op_durations *durations)
{
    size_t kept = 0;

    for (size_t i = 0; i < out_answer->rows.count; i++) {
        struct op_row row = out_answer->rows.items[i];
        struct op_durations swapped = durations[i];
        enum span_kind kind = (enum span_kind)spans->op_kinds[i];

        if (kind != SPAN_OP && (kind != SPAN_LABEL || !labels))
            continue;
        for (int side = 0; side < OP_SIDES; side++) {
            struct op_cost *cost = &row.cost[side];

            finish_cost(&row, cost, out_answer->basis.divisor);
            if (!cost->calls)
                continue;
            scan_percentiles(&swapped.of[side], cost->min_ns, cost->max_ns, cost->percentile_ns);
            if (kind == SPAN_OP)
                out_answer->basis.total_ns[side] =
                    add_known(out_answer->basis.total_ns[side], cost->end_ns);
        }
        durations[i] = durations[kept];
        durations[kept] = swapped;
        out_answer->rows.items[kept++] = row;
    }
    out_answer->rows.count = kept;
}

int ops_sums_begin(const struct spans_answer *spans, struct ops_sums *sums)
{
    size_t count = spans->ops.count;

    ops_sums_deinit(sums);
    *sums = (struct ops_sums){.without_percentiles = sums->without_percentiles,
                              .op_count = count,
                              .costs = calloc(count + 1, sizeof(*sums->costs)),
                              .durations = calloc(count + 1, sizeof(*sums->durations))};
    return sums->costs && sums->durations ? 0 : -ENOMEM;
}

int ops_sums_add(struct ops_sums *sums, const struct spans_answer *spans)
{
    int rc = 0;

    for (size_t i = 0; i < spans->spans.count && rc == 0; i++) {
        const struct span *span = &spans->spans.items[i];
        enum op_side side = spans->lanes.items[span->lane].side;

        if (!span->is_shown)
            continue;
        if (span->frame == SPAN_FRAME_AGAIN) { /* it was counted, but for what lies in it here */
            if (spans->op_kinds[span->op] == SPAN_OP)
                sums->costs[span->op][side].end_ns += (double)span_own_ns(spans, span);
            continue;
        }
        if (!sums->without_percentiles)
            rc = store_histogram_count_many(&sums->durations[span->op].of[side],
                                            store_bin_of(span->dur_ns));
        add_span(&sums->costs[span->op][side], span,
                 (double)(spans->op_kinds[span->op] == SPAN_LABEL ? span->dur_ns
                                                                  : span_own_ns(spans, span)));
    }
    return rc;
}

int ops_sums_finish(struct ops_sums *sums, struct spans_answer *spans, bool labels,
                    enum query_merge merge, struct ops_answer *out_answer)
{
    *out_answer =
        (struct ops_answer){.rows = spans->ops, .basis = spans->basis, .texts = spans->texts};
    spans->ops = (struct op_row_array){0};
    spans->basis = (struct basis){0};
    spans->texts = (struct query_texts){0};
    for (int side = 0; side < OP_SIDES; side++) {
        out_answer->basis.total_ns[side] = NAN;
        for (size_t i = 0; i < sums->op_count; i++) {
            if (sums->costs[i][side].calls)
                out_answer->rows.items[i].cost[side] = sums->costs[i][side];
        }
    }
    take_rows(spans, labels, out_answer, sums->durations);
    if (!merges_ops(out_answer->rows.items, out_answer->rows.count, spans->windows.count, merge))
        return 0;
    return merge_equal_ops(out_answer, sums->durations, spans->windows.count, merge);
}

void ops_sums_deinit(struct ops_sums *sums)
{
    if (sums->durations)
        op_durations_free(sums->durations, sums->op_count);
    free(sums->costs);
    *sums = (struct ops_sums){.without_percentiles = sums->without_percentiles};
}
