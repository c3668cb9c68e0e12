/* SPDX-License-Identifier: Apache-2.0 */
/* The same op in several sessions, and a kernel with other launch parameters, become one row. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/containers/text_order.h"
#include "analyze/query/op_class.h"
#include "analyze/query/private.h"

static int compare_identity(const struct op_row *a, const struct op_row *b)
{
    int order = compare_texts(a->name, b->name);

    if (!order)
        order = compare_texts(a->type, b->type);
    if (!order)
        order = compare_texts(a->node_id, b->node_id);
    if (!order)
        order = compare_texts(a->device, b->device);
    if (!order)
        order = compare_texts(a->input_shapes, b->input_shapes);
    if (!order)
        order = compare_texts(a->input_dtypes, b->input_dtypes);
    return order;
}

static bool may_merge(const struct op_row *a, const struct op_row *b, size_t session_count,
                      enum query_merge merge)
{
    if (compare_identity(a, b) != 0)
        return false;
    if (merge == QUERY_MERGE_EQUAL)
        return compare_texts(a->params, b->params) == 0;
    return session_count > 1 || op_is_launched(a);
}

bool merges_ops(const struct op_row *rows, size_t count, size_t session_count,
                enum query_merge merge)
{
    size_t launched = 0;

    for (size_t i = 0; i < count && merge == QUERY_MERGE_LAUNCHES && launched < 2; i++)
        launched += op_is_launched(&rows[i]);
    return session_count > 1 || launched > 1;
}

/* Equal ops stand in the order of their rows. */
static int compare_places(const void *a, const void *b)
{
    const struct op_row *left = *(const struct op_row *const *)a;
    const struct op_row *right = *(const struct op_row *const *)b;
    int order = compare_identity(left, right);

    if (!order)
        order = compare_texts(left->params, right->params);
    return order ? order : (left > right) - (left < right);
}

static double add_known(double a, double b)
{
    return isnan(a) ? b : isnan(b) ? a : a + b;
}

static void add_cost(struct op_cost *into, const struct op_cost *from)
{
    if (!from->calls)
        return;
    if (!into->calls) {
        *into = *from;
        return;
    }
    into->calls += from->calls;
    into->end_ns = add_known(into->end_ns, from->end_ns);
    into->whole_ns += from->whole_ns;
    into->kern_ns = add_known(into->kern_ns, from->kern_ns);
    into->exec_ns = add_known(into->exec_ns, from->exec_ns);
    into->min_ns = fmin(into->min_ns, from->min_ns);
    into->max_ns = fmax(into->max_ns, from->max_ns);
    into->computation_flop = add_known(into->computation_flop, from->computation_flop);
    into->memory_bytes = add_known(into->memory_bytes, from->memory_bytes);
}

static int merge_durations(struct op_durations *into, const struct op_durations *from)
{
    int rc = 0;

    for (int side = 0; side < OP_SIDES && rc == 0; side++)
        rc = store_histogram_merge(&into->of[side], &from->of[side]);
    return rc;
}

static void set_percentiles(struct op_row *row, const struct op_durations *durations)
{
    for (int side = 0; side < OP_SIDES; side++) {
        struct op_cost *cost = &row->cost[side];

        if (cost->calls)
            scan_percentiles(&durations->of[side], cost->min_ns, cost->max_ns, cost->percentile_ns);
    }
}

void op_durations_free(struct op_durations *durations, size_t count)
{
    for (size_t i = 0; i < count && durations; i++) {
        for (int side = 0; side < OP_SIDES; side++)
            store_histogram_deinit(&durations[i].of[side]);
    }
    free(durations);
}

static void add_row(struct op_row *into, const struct op_row *from)
{
    for (int side = 0; side < OP_SIDES; side++)
        add_cost(&into->cost[side], &from->cost[side]);
    if (compare_texts(into->params, from->params) != 0)
        into->params = NULL;
}

int merge_equal_ops(struct ops_answer *answer, struct op_durations *durations, size_t session_count,
                    enum query_merge merge)
{
    size_t count = answer->rows.count, kept = 0;
    struct op_row *rows = answer->rows.items;
    struct op_row **order = malloc((count ? count : 1) * sizeof(*order));
    bool *is_merged = calloc(count ? count : 1, sizeof(*is_merged));
    int rc = 0;

    if (!order || !is_merged) {
        free(order);
        free(is_merged);
        return -ENOMEM;
    }
    for (size_t i = 0; i < count; i++)
        order[i] = &rows[i];
    qsort(order, count, sizeof(*order), compare_places);
    for (size_t i = 1, first = 0; i < count && rc == 0; i++) {
        if (!may_merge(order[first], order[i], session_count, merge)) {
            first = i;
            continue;
        }
        add_row(order[first], order[i]);
        is_merged[order[i] - rows] = true;
        rc = merge_durations(&durations[order[first] - rows], &durations[order[i] - rows]);
    }
    for (size_t i = 0; i < count; i++) {
        if (is_merged[i])
            continue;
        set_percentiles(&rows[i], &durations[i]);
        rows[kept++] = rows[i];
    }
    answer->rows.count = kept;
    free(order);
    free(is_merged);
    return rc;
}
