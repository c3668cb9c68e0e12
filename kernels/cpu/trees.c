/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of trees, a tree at a time for a block of rows, so that its nodes stay in the caches. Extremes and
 * other tests than <= and < are the reference's. */
#include <math.h>
#include <string.h>

#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

enum {
    ROWS = 64,       /* that go through a tree together */
    GRAIN = 1 << 12, /* paths down a tree that are worth a second thread */
    TARGETS = 64,    /* of a row whose sums are kept in float64 */
};

struct ensemble {
    void *y;
    const void *x;
    const struct kernel_trees *trees;
};

/* Of a row of either type: what differs is how a feature is read. */
#define FIND_LEAF(NAME, TYPE)                                                                      \
    static const struct kernel_tree_node *NAME(const struct kernel_tree_node *nodes,               \
                                               const struct kernel_tree_node *node, const TYPE *x) \
    {                                                                                              \
        while (node->test != TREE_LEAF) {                                                          \
            double feature = (double)x[node->feature];                                             \
            bool is_yes =                                                                          \
                node->test == TREE_LEQ ? feature <= node->threshold : feature < node->threshold;   \
                                                                                                   \
            if (node->takes_nan && isnan(feature))                                                 \
                is_yes = true;                                                                     \
            node = &nodes[is_yes ? node->yes : node->no];                                          \
        }                                                                                          \
        return node;                                                                               \
    }
FIND_LEAF(find_leaf_f32, float)
FIND_LEAF(find_leaf_f64, double)

static void put_sums(const struct ensemble *e, int64_t first, int64_t count, const double *sums)
{
    const struct kernel_trees *t = e->trees;
    double scale = t->sum == TREE_AVERAGE ? 1.0 / (double)t->tree_count : 1.0;

    for (int64_t i = 0; i < count * t->targets; i++) {
        double sum = sums[i] * scale + (t->base ? t->base[i % t->targets] : 0.0);

        if (t->result == KERNEL_F64)
            ((double *)e->y)[first * t->targets + i] = sum;
        else
            ((float *)e->y)[first * t->targets + i] = (float)sum;
    }
}

static void add_rows(const struct ensemble *e, int64_t first, int64_t count)
{
    const struct kernel_trees *t = e->trees;
    bool is_wide = t->dtype == KERNEL_F64;
    double sums[ROWS * TARGETS];

    memset(sums, 0, (size_t)(count * t->targets) * sizeof(*sums));
    for (int64_t tree = 0; tree < t->tree_count; tree++) {
        for (int64_t row = 0; row < count; row++) {
            const struct kernel_tree_node *root = &t->nodes[t->roots[tree]], *leaf;
            int64_t at = (first + row) * t->features;

            leaf = is_wide ? find_leaf_f64(t->nodes, root, (const double *)e->x + at)
                           : find_leaf_f32(t->nodes, root, (const float *)e->x + at);

            for (int32_t i = 0; i < leaf->no; i++) {
                const struct kernel_tree_weight *weight = &t->weights[leaf->yes + i];

                sums[row * t->targets + weight->target] += weight->weight;
            }
        }
    }
    put_sums(e, first, count, sums);
}

static void do_rows(void *argument, int64_t begin, int64_t end)
{
    for (int64_t row = begin; row < end; row += ROWS)
        add_rows(argument, row, end - row < ROWS ? end - row : ROWS);
}

static bool is_plain(const struct kernel_trees *t)
{
    return t->targets <= TARGETS && t->tree_count > 0 &&
           (t->sum == TREE_SUM || t->sum == TREE_AVERAGE) && t->has_only_less;
}

void trees_portable(void *y, const void *x, const struct kernel_trees *trees)
{
    struct ensemble e = {y, x, trees};

    if (is_plain(trees))
        team_for(trees->rows, GRAIN / trees->tree_count + 1, do_rows, &e);
    else
        trees_ref(y, x, trees);
}
