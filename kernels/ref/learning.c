/* SPDX-License-Identifier: Apache-2.0 */
/* Ensembles of trees and distances, the truth. */
#include <math.h>

#include "kernels/kernels.h"
#include "kernels/ref/number.h"

static bool answer(const struct kernel_tree_node *node, double x)
{
    if (isnan(x) && node->takes_nan)
        return true;
    switch (node->test) {
    case TREE_LEQ:
        return x <= node->threshold;
    case TREE_LT:
        return x < node->threshold;
    case TREE_GEQ:
        return x >= node->threshold;
    case TREE_GT:
        return x > node->threshold;
    case TREE_EQ:
        return x == node->threshold;
    default:
        return x != node->threshold;
    }
}

/* What the tree tells of a target; false: nothing. */
static bool tell(const struct kernel_trees *t, int64_t tree, const void *x, int64_t row,
                 int64_t target, double *out_sum)
{
    const struct kernel_tree_node *node = &t->nodes[t->roots[tree]];
    bool found = false;

    while (node->test != TREE_LEAF) {
        double feature = ref_get_f64(x, t->dtype, row * t->features + node->feature);

        node = &t->nodes[answer(node, feature) ? node->yes : node->no];
    }
    *out_sum = 0.0;
    for (int32_t i = 0; i < node->no; i++) {
        const struct kernel_tree_weight *weight = &t->weights[node->yes + i];

        if (weight->target != target)
            continue;
        *out_sum += (double)weight->weight;
        found = true;
    }
    return found;
}

void trees_ref(float *y, const void *x, const struct kernel_trees *trees)
{
    const struct kernel_trees *t = trees;

    for (int64_t i = 0; i < t->rows * t->targets; i++) {
        double all = 0.0, one;
        bool found = false;

        for (int64_t tree = 0; tree < t->tree_count; tree++) {
            if (!tell(t, tree, x, i / t->targets, i % t->targets, &one))
                continue;
            if (!found || t->sum == TREE_SUM || t->sum == TREE_AVERAGE)
                all += one;
            else
                all = t->sum == TREE_MIN ? fmin(all, one) : fmax(all, one);
            found = true;
        }
        if (t->sum == TREE_AVERAGE)
            all /= (double)t->tree_count;
        y[i] = (float)(all + (t->base ? (double)t->base[i % t->targets] : 0.0));
    }
}

void distances_ref(void *y, const void *a, const void *b, const struct kernel_distances *shape)
{
    const struct kernel_distances *s = shape;

    for (int64_t i = 0; i < s->m * s->n; i++) {
        double sum = 0.0;

        for (int64_t p = 0; p < s->k; p++) {
            double difference = ref_get_f64(a, s->dtype, i / s->n * s->k + p) -
                                ref_get_f64(b, s->dtype, i % s->n * s->k + p);

            sum += difference * difference;
        }
        ref_set_f64(y, s->dtype, i, s->is_root ? sqrt(sum) : sum);
    }
}
