/* SPDX-License-Identifier: Apache-2.0 */
/* What the rules of advice.c look at, of sums per op: who takes most, what the machine allows. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/metrics/advice.h"
#include "analyze/stats/groups.h"

/* Where operators are looked at: on devices, when any computes there. */
static enum op_side side_of(const struct ops_answer *ops)
{
    for (size_t i = 0; i < ops->rows.count; i++) {
        const struct op_row *op = &ops->rows.items[i];

        if (op->cost[OP_DEVICE].calls && op_class_of(op) == OP_CLASS_WORK)
            return OP_DEVICE;
    }
    return OP_HOST;
}

/* Changes of layout, by their types and, of cuDNN, by their names. */
static bool is_layout(const struct op_row *op)
{
    static const char *const types[] = {"Reorder", "Transpose", "ReorderInput", "ReorderOutput"};

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (strcmp(op->type, types[i]) == 0)
            return true;
    }
    return strstr(op->name, "nchwToNhwc") || strstr(op->name, "nhwcToNchw");
}

/* Whether its type tells what it does; "span" is what no importer knows better. */
static bool has_telling_type(const struct op_row *op)
{
    return op_is_grouped_by_type(op) && strcmp(op->type, "span") != 0;
}

/* Self times by a text, and the text of each group. */
struct totals {
    struct groups groups;
    ARRAY_OF(const char *) texts;
};

static int add_total(struct totals *totals, const char *text, double ns)
{
    struct place_key key = {0};
    uint32_t group;
    int rc;

    groups_add_text(&key, text);
    rc = groups_find(&totals->groups, key, &group);
    if (rc == 1)
        rc = array_push(&totals->texts, text);
    return rc < 0 ? rc : groups_add(&totals->groups, group, ns);
}

/* The text whose self time is longest. */
static int find_top(struct totals *totals, const char **out_text, double *out_ns)
{
    struct group_summary *summaries = NULL;
    int rc = groups_summarize(&totals->groups, &summaries);

    for (size_t i = 0; i < totals->texts.count && rc == 0; i++) {
        if (summaries[i].sum > *out_ns) {
            *out_ns = summaries[i].sum;
            *out_text = totals->texts.items[i];
        }
    }
    free(summaries);
    return rc;
}

static void hold_against_roof(const struct op_row *op, const struct op_cost *cost,
                              const struct roofline_peaks *peaks, struct advice_facts *facts)
{
    double time_ns = isnan(cost->exec_ns) ? cost->end_ns : cost->exec_ns;
    struct roofline roofline =
        roofline_of(cost->computation_flop, cost->memory_bytes, time_ns, peaks);

    if (op_class_of(op) != OP_CLASS_WORK || roofline.bound == ROOFLINE_UNKNOWN)
        return;
    facts->bound_count++;
    facts->bound_ns += time_ns;
    facts->win_ns += roofline.win_ns;
}

int advice_measure_ops(const struct ops_answer *ops, const struct roofline_peaks *peaks,
                       bool (*has_peaks)(const struct op_row *op), struct advice_facts *facts)
{
    enum op_side side = side_of(ops);
    struct totals names = {0}, types = {0};
    bool has_untold = false;
    int rc = 0;

    for (size_t i = 0; i < ops->rows.count && rc == 0; i++) {
        const struct op_row *op = &ops->rows.items[i];
        const struct op_cost *cost = &op->cost[side];

        if (!cost->calls || op->is_label || op_class_of(op) == OP_CLASS_CALL || op_is_python(op))
            continue;
        facts->own_ns += cost->end_ns;
        if (is_layout(op)) {
            facts->layout_calls += cost->calls;
            facts->layout_ns += cost->end_ns;
        }
        if (!has_peaks || has_peaks(op))
            hold_against_roof(op, cost, peaks, facts);
        if (op_class_of(op) == OP_CLASS_WORK)
            rc = add_total(&names, op->name, cost->end_ns);
        if (rc == 0 && has_telling_type(op))
            rc = add_total(&types, op->type, cost->end_ns);
        else
            has_untold |= op_is_grouped_by_type(op);
    }
    facts->type_count = types.texts.count + has_untold;
    if (rc == 0)
        rc = find_top(&names, &facts->top_op, &facts->top_op_ns);
    if (rc == 0)
        rc = find_top(&types, &facts->top_type, &facts->top_type_ns);
    groups_deinit(&names.groups);
    groups_deinit(&types.groups);
    array_deinit(&names.texts);
    array_deinit(&types.texts);
    return rc;
}
