/* SPDX-License-Identifier: Apache-2.0 */
/* Gathering the first answer from what other reports ask, too. */
#include "analyze/reports/brief/brief.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/containers/text_order.h"
#include "analyze/reports/roofline_machine.h"
#include "analyze/stats/describe.h"

/* A side of less than this share of the other is not worth a column. */
#define SIDE_SHARE 0.001

/* Of so many events are findings, where all else is of totals, which take a hundredth of a second. */
enum { FINDINGS_EVENTS = 1 << 16 };

/* A device that is busy for less of the wall time does not say what takes it. */
#define DEVICE_SHARE 0.1

/* --- Ops. --- */

static double own_of(const struct brief_row *row)
{
    return row->own_ns[OP_HOST] + row->own_ns[OP_DEVICE];
}

static int compare_keys(const void *a, const void *b)
{
    const struct brief_row *left = a, *right = b;
    int order = compare_texts(left->type, right->type);

    if (order == 0)
        order = compare_texts(left->name, right->name);
    if (order == 0)
        order = (own_of(left) < own_of(right)) - (own_of(left) > own_of(right));
    return order ? order : (left->op > right->op) - (left->op < right->op);
}

static void add_row(struct brief_row *to, const struct brief_row *from)
{
    for (int side = 0; side < OP_SIDES; side++) {
        to->own_ns[side] += from->own_ns[side];
        to->calls[side] += from->calls[side];
    }
    to->flop += from->flop;
    to->flop_ns += from->flop_ns;
    to->op_count += from->op_count;
    to->has_other_shapes |= compare_texts(to->op->input_shapes, from->op->input_shapes) != 0;
}

/* Rows of the same key become one; with `by_type` names do not matter. */
static void merge_rows(struct brief_rows *rows, bool by_type)
{
    size_t kept = 0;

    for (size_t i = 0; i < rows->count && by_type; i++)
        rows->items[i].name = NULL;
    if (rows->count)
        qsort(rows->items, rows->count, sizeof(*rows->items), compare_keys);
    for (size_t i = 0; i < rows->count; i++) {
        struct brief_row *last = kept ? &rows->items[kept - 1] : NULL;

        if (last && compare_texts(last->type, rows->items[i].type) == 0 &&
            compare_texts(last->name, rows->items[i].name) == 0)
            add_row(last, &rows->items[i]);
        else
            rows->items[kept++] = rows->items[i];
    }
    rows->count = kept;
}

static int compare_on(const struct brief_row *left, const struct brief_row *right,
                      enum op_side side)
{
    enum op_side other = side == OP_HOST ? OP_DEVICE : OP_HOST;
    double more = right->own_ns[side] - left->own_ns[side];

    if (more == 0)
        more = right->own_ns[other] - left->own_ns[other];
    if (more != 0)
        return more > 0 ? 1 : -1;
    return compare_keys(left, right);
}

static int compare_on_host(const void *a, const void *b)
{
    return compare_on(a, b, OP_HOST);
}

static int compare_on_device(const void *a, const void *b)
{
    return compare_on(a, b, OP_DEVICE);
}

/* How much of the time ops cover, by these spans or sums. */
static void take_coverage(struct brief *brief, const struct basis *basis)
{
    for (int side = 0; side < OP_SIDES; side++)
        brief->covered[side] =
            basis->wall_ns[side] > 0 ? basis->covered_ns[side] / basis->wall_ns[side] : NAN;
    brief->covered_is_exact = basis->covered_is_exact;
}

static void order_rows(const struct brief *brief, struct brief_rows *rows)
{
    if (rows->count)
        qsort(rows->items, rows->count, sizeof(*rows->items),
              brief->side == OP_DEVICE ? compare_on_device : compare_on_host);
}

/* Of one run, or in all. */
static double calls_of(const struct brief *brief, uint64_t calls)
{
    const struct basis *basis = &brief->ops.basis;

    return basis->is_per_run && basis->runs ? (double)calls / (double)basis->runs : (double)calls;
}

static bool make_row(const struct brief *brief, const struct op_row *op, struct brief_row *out_row)
{
    *out_row = (struct brief_row){.name = op->name, .type = op->type, .op = op, .op_count = 1};
    for (int side = 0; side < OP_SIDES; side++) {
        const struct op_cost *cost = &op->cost[side];
        double ns = isnan(cost->exec_ns) ? cost->end_ns : cost->exec_ns;

        if (!cost->calls)
            continue;
        out_row->own_ns[side] = isnan(cost->end_ns) ? 0 : cost->end_ns;
        out_row->calls[side] = calls_of(brief, cost->calls);
        if (cost->computation_flop > 0 && ns > 0 && roofline_is_timed(op)) {
            out_row->flop += cost->computation_flop;
            out_row->flop_ns += ns;
        }
    }
    return out_row->calls[OP_HOST] + out_row->calls[OP_DEVICE] > 0;
}

static void choose_sides(struct brief *brief)
{
    double *own_ns = brief->own_ns;

    for (size_t i = 0; i < brief->names.count; i++) {
        for (int side = 0; side < OP_SIDES; side++)
            own_ns[side] += brief->names.items[i].own_ns[side];
    }
    brief->side = own_ns[OP_DEVICE] > SIDE_SHARE * own_ns[OP_HOST] ? OP_DEVICE : OP_HOST;
    if (own_ns[OP_HOST] > own_ns[OP_DEVICE] && brief->covered[OP_DEVICE] < DEVICE_SHARE)
        brief->side = OP_HOST; /* not, where it is not known */
    for (int side = 0; side < OP_SIDES; side++)
        brief->has_side[side] =
            own_ns[side] > 0 && own_ns[side] >= SIDE_SHARE * own_ns[OP_SIDES - 1 - side];
}

static int gather_ops(struct brief *brief, struct diag *diag)
{
    struct ops_question *question = &brief->selection.question;
    bool failed = false;
    int rc;

    question->allows_rollups = question->without_percentiles = true;
    /* Without runs the time is from the first event to the last, which totals do not tell. */
    if (brief->runs.count && !brief->report->options->exact)
        question->totals_from = REPORT_TOTALS_FROM;
    rc = query_ops(brief->report->source->store, question, &brief->ops, diag);
    question->allows_rollups = question->without_percentiles = false;
    question->totals_from = 0;
    for (size_t i = 0; i < brief->ops.rows.count && rc == 0; i++) {
        struct brief_row row;

        if (brief->ops.rows.items[i].is_label || !make_row(brief, &brief->ops.rows.items[i], &row))
            continue;
        failed |= array_push(&brief->names, row) < 0 || array_push(&brief->types, row) < 0;
    }
    if (failed)
        return diag_set(diag, -ENOMEM, "no memory for the operators");
    if (rc < 0)
        return rc;
    brief->has_events = brief->names.count > 0;
    merge_rows(&brief->names, false);
    merge_rows(&brief->types, true);
    take_coverage(brief, &brief->ops.basis);
    return 0;
}

/* Once the spans of the last runs have told what totals do not. */
static void order_ops(struct brief *brief)
{
    const struct basis *basis = &brief->advice.ops.basis;

    if (brief->ops.basis.is_of_totals && brief->has_events) {
        take_coverage(brief, basis);
        brief->covered_is_of_last_runs = brief->advice.is_of_last_runs;
    }
    choose_sides(brief);
    order_rows(brief, &brief->names);
    order_rows(brief, &brief->types);
}

/* --- Runs. --- */

static int measure_runs(struct brief_runs *runs)
{
    double *sorted = malloc(runs->count * sizeof(*sorted)), distance;

    if (!sorted)
        return -ENOMEM;
    memcpy(sorted, runs->ns, runs->count * sizeof(*sorted));
    stats_sort(sorted, runs->count);
    distance = stats_median_distance(sorted, runs->count);
    runs->p50_ns = stats_percentile(sorted, runs->count, 50);
    runs->p99_ns = stats_percentile(sorted, runs->count, 99);
    runs->min_ns = sorted[0];
    runs->max_ns = sorted[runs->count - 1];
    for (size_t i = 0; i < runs->count; i++) {
        if (sorted[i] < runs->p50_ns * BRIEF_SLOW)
            continue;
        runs->outlier_count +=
            0.6745 * (sorted[i] - runs->p50_ns) > SPREAD_OUTLIER_Z * distance ? 1 : 0;
    }
    free(sorted);
    return spread_of(runs->ns, runs->count, &runs->spread);
}

static int gather_runs(struct brief *brief, struct diag *diag)
{
    struct ops_question *question = &brief->selection.question;
    struct brief_runs *runs = &brief->runs;
    int rc;

    question->runs_without_events = true; /* their durations are known */
    rc = query_runs(brief->report->source->store, question, &brief->counted, diag);
    question->runs_without_events = false;
    if (rc < 0 || !brief->counted.count)
        return rc;
    runs->ns = malloc(brief->counted.count * sizeof(*runs->ns));
    if (!runs->ns)
        return diag_set(diag, -ENOMEM, "no memory for the runs");
    for (size_t i = 0; i < brief->counted.count; i++) {
        const struct counted_run *run = &brief->counted.items[i];

        if (run->end_ns != STORE_NULL && run->end_ns >= run->start_ns)
            runs->ns[runs->count++] = (double)(run->end_ns - run->start_ns);
    }
    if (runs->count && measure_runs(runs) < 0)
        return diag_set(diag, -ENOMEM, "no memory for the runs");
    return 0;
}

/* --- Findings. --- */

static int gather_advice(struct brief *brief, struct diag *diag)
{
    int rc;

    if (brief->ops.basis.is_of_totals)
        brief->advice.events_max = FINDINGS_EVENTS;
    rc = report_advice_find_last(brief->report, &brief->selection, &brief->counted,
                                 brief->ops.basis.event_count, &brief->advice, diag);

    return rc < 0 ? rc : 0; /* no event is no fault */
}

static int gather_memory(struct brief *brief, struct diag *diag)
{
    struct memory_view *view = &brief->advice.view;
    struct diag why = {0};
    int rc = 0;

    if (!view->blocks.pools.count) {
        memory_view_deinit(view);
        *view = (struct memory_view){0};
        rc = memory_view_init(view, brief->report, &brief->selection, &why);
        if (rc < 0)
            *diag = why;
    }
    brief->has_memory =
        rc == 0 && (view->blocks.pools.count || view->counters.count || view->plans.count);
    return rc < 0 ? rc : 0; /* no memory is no fault */
}

static int gather_machine(struct brief *brief, struct diag *diag)
{
    struct roofline_machine machine;
    int rc = roofline_find_machine(brief->report, NAN, &machine, diag);

    brief->knows_peaks = rc == 0 && !isnan(machine.peaks.flop_per_s);
    return rc;
}

int brief_gather(struct brief *brief, const struct report *report, struct diag *diag)
{
    int rc;

    brief->report = report;
    rc = report_select(report, &brief->selection, diag);
    if (rc == 0)
        rc = query_environment(report->source->store, report->session_ids, report->session_count,
                               &brief->environment, diag);
    if (rc == 0)
        rc = gather_runs(brief, diag);
    if (rc == 0)
        rc = gather_ops(brief, diag);
    if (rc == 0)
        rc = brief_find_slowest(brief, diag);
    if (rc == 0 && brief->has_events)
        rc = gather_advice(brief, diag);
    if (rc == 0) {
        order_ops(brief);
        rc = gather_memory(brief, diag);
    }
    return rc == 0 ? gather_machine(brief, diag) : rc;
}

void brief_deinit(struct brief *brief)
{
    report_advice_deinit(&brief->advice);
    spans_answer_deinit(&brief->slowest.spans);
    array_deinit(&brief->types);
    array_deinit(&brief->names);
    free(brief->runs.ns);
    array_deinit(&brief->counted);
    ops_answer_deinit(&brief->ops);
    environment_deinit(&brief->environment);
    report_selection_deinit(&brief->selection);
}
