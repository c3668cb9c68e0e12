/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of trees, a tree at a time for a block of rows, so that its nodes stay in the caches. Extremes and
 * other tests than <= and < are the reference's. */
#include <string.h>

#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

enum {
    ROWS = 64,       /* that go through a tree before the next one */
    PATHS = 8,       /* that are walked side by side */
    GRAIN = 1 << 12, /* paths down a tree that are worth a second thread */
    TARGETS = 64,    /* of a row whose sums are kept in float64 */
};

struct ensemble {
    void *y;
    const void *x;
    const struct kernel_trees *trees;
};

/* Paths that are walked side by side: none waits for what another one reads, and where they turn is no branch that a
 * processor would guess. */
struct paths {
    int32_t at[PATHS]; /* roots, then leaves */
    const void *rows[PATHS];
};

/* Of rows of either type: what differs is how a feature is read. A leaf stays where it is; what is chosen is chosen by
 * masks, as compilers may make branches of conditions. */
#define FIND_LEAVES(NAME, TYPE)                                                                    \
    static void NAME(struct paths *paths, const struct kernel_tree_node *nodes)                    \
    {                                                                                              \
        int32_t are_inner;                                                                         \
                                                                                                   \
        do {                                                                                       \
            are_inner = 0;                                                                         \
            for (int i = 0; i < PATHS; i++) {                                                      \
                const struct kernel_tree_node *node = &nodes[paths->at[i]];                        \
                int32_t is_inner = -(node->test != TREE_LEAF);                                     \
                double x = (double)((const TYPE *)paths->rows[i])[node->feature & is_inner];       \
                int32_t is_yes = -((x < node->threshold) |                                         \
                                   ((x <= node->threshold) & (node->test == TREE_LEQ)) |           \
                                   (!(x == x) & node->takes_nan));                                 \
                int32_t next = node->no ^ ((node->no ^ node->yes) & is_yes);                       \
                                                                                                   \
                paths->at[i] ^= (paths->at[i] ^ next) & is_inner;                                  \
                are_inner |= is_inner;                                                             \
            }                                                                                      \
        } while (are_inner);                                                                       \
    }
FIND_LEAVES(find_leaves_f32, float)
FIND_LEAVES(find_leaves_f64, double)

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

static const void *row_of(const struct ensemble *e, int64_t row)
{
    const struct kernel_trees *t = e->trees;

    return (const char *)e->x + (size_t)(row * t->features) * kernel_dtype_bytes(t->dtype);
}

static void find_leaves(const struct kernel_trees *t, struct paths *paths)
{
    if (t->dtype == KERNEL_F64)
        find_leaves_f64(paths, t->nodes);
    else
        find_leaves_f32(paths, t->nodes);
}

static void add_leaf(const struct kernel_trees *t, int32_t at, double *sums)
{
    const struct kernel_tree_node *leaf = &t->nodes[at];

    for (int32_t i = 0; i < leaf->no; i++)
        sums[t->weights[leaf->yes + i].target] += t->weights[leaf->yes + i].weight;
}

/* A tree after the other, by some rows at a time; what is left over walks with the last one. */
static void add_trees(const struct ensemble *e, int64_t first, int64_t count, double *sums)
{
    const struct kernel_trees *t = e->trees;
    struct paths paths;

    for (int64_t tree = 0; tree < t->tree_count; tree++) {
        for (int64_t begin = 0; begin < count; begin += PATHS) {
            int64_t end = count - begin < PATHS ? count - begin : PATHS;

            for (int64_t i = 0; i < PATHS; i++) {
                paths.at[i] = t->roots[tree];
                paths.rows[i] = row_of(e, first + begin + (i < end ? i : end - 1));
            }
            find_leaves(t, &paths);
            for (int64_t i = 0; i < end; i++)
                add_leaf(t, paths.at[i], sums + (begin + i) * t->targets);
        }
    }
}

/* A row by some trees at a time, where rows are too few to walk side by side. */
static void add_row(const struct ensemble *e, int64_t row, double *sums)
{
    const struct kernel_trees *t = e->trees;
    struct paths paths;

    for (int64_t begin = 0; begin < t->tree_count; begin += PATHS) {
        int64_t end = t->tree_count - begin < PATHS ? t->tree_count - begin : PATHS;

        for (int64_t i = 0; i < PATHS; i++) {
            paths.at[i] = t->roots[begin + (i < end ? i : end - 1)];
            paths.rows[i] = row_of(e, row);
        }
        find_leaves(t, &paths);
        for (int64_t i = 0; i < end; i++)
            add_leaf(t, paths.at[i], sums);
    }
}

static void add_rows(const struct ensemble *e, int64_t first, int64_t count)
{
    const struct kernel_trees *t = e->trees;
    double sums[ROWS * TARGETS];

    memset(sums, 0, (size_t)(count * t->targets) * sizeof(*sums));
    if (count >= PATHS)
        add_trees(e, first, count, sums);
    for (int64_t i = 0; count < PATHS && i < count; i++)
        add_row(e, first + i, sums + i * t->targets);
    put_sums(e, first, count, sums);
}

static void do_rows(void *argument, int64_t begin, int64_t end)
{
    for (int64_t row = begin; row < end; row += ROWS)
        add_rows(argument, row, end - row < ROWS ? end - row : ROWS);
}

static bool is_plain(const struct kernel_trees *t)
{
    return t->targets <= TARGETS && t->tree_count > 0 && t->features > 0 &&
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
