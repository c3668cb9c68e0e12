/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of trees, a tree at a time for a block of rows, so that its nodes stay in the caches. Extremes and
 * other tests than <= and < are the reference's. */
#include "kernels/trees.h"

#include <math.h>
#include <string.h>

#include "kernels/cpu/team.h"

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
    const struct kernel_tree_walk *walk; /* NULL: nodes alone */
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

/* --- By steps --- */

/* The largest float32 that passes the test of a branch; of none NaN, which nothing is at most. */
static float highest(const struct kernel_tree_node *node)
{
    float threshold = (float)node->threshold;

    if ((double)threshold < node->threshold ||
        ((double)threshold == node->threshold && node->test == TREE_LEQ))
        return threshold;
    return threshold == -INFINITY ? NAN : nextafterf(threshold, -INFINITY);
}

bool trees_can_step(const struct kernel_trees *trees)
{
    return trees->dtype == KERNEL_F32 && trees->targets <= TARGETS && trees->tree_count > 0 &&
           trees->features > 0 && (trees->sum == TREE_SUM || trees->sum == TREE_AVERAGE) &&
           trees->has_only_less;
}

bool trees_want_values(int64_t leaves, int64_t targets, int64_t weights)
{
    return targets <= TARGETS && leaves < INT32_MAX / TARGETS && weights >= leaves * targets / 2;
}

static void put_leaf(const struct kernel_trees *trees, const struct kernel_tree_node *leaf,
                     double *values)
{
    memset(values, 0, (size_t)trees->targets * sizeof(*values));
    for (int32_t i = 0; i < leaf->no; i++)
        values[trees->weights[leaf->yes + i].target] += trees->weights[leaf->yes + i].weight;
}

enum { PLACES = 2 }; /* of a step */

/* Level by level: what has a place but no step yet is what stands between `at` and `end`. */
void trees_lay_out(const struct kernel_trees *trees, const struct kernel_tree_walk *walk)
{
    struct kernel_tree_step *steps = walk->steps;
    int32_t at = 0, end = 0, values = 0;

    for (int64_t tree = 0; tree < trees->tree_count; tree++) {
        int32_t level_end;

        walk->roots[tree] = (struct kernel_tree_root){(uint32_t)end * PLACES, -1};
        steps[end++].leaf = trees->roots[tree];
        for (level_end = at; at < end; at++) {
            const struct kernel_tree_node *node = &trees->nodes[steps[at].leaf];
            uint32_t place = (uint32_t)at * PLACES;

            if (at == level_end) {
                walk->roots[tree].depth++;
                level_end = end;
            }
            if (node->test != TREE_LEAF) {
                steps[at] = (struct kernel_tree_step){highest(node), (uint32_t)node->feature,
                                                      (uint32_t)end * PLACES, 0};
                steps[end++].leaf = node->yes;
                steps[end++].leaf = node->no;
                continue;
            }
            steps[at] = (struct kernel_tree_step){INFINITY, 0, place, steps[at].leaf};
            if (!walk->values)
                continue;
            put_leaf(trees, node, walk->values + values);
            steps[at].leaf = values;
            values += (int32_t)trees->targets;
        }
    }
}

struct steps {
    uint32_t at[PATHS]; /* roots, then leaves */
    const float *rows[PATHS];
    double *sums[PATHS];
    int32_t depth; /* of the deepest tree among them */
};

static const struct kernel_tree_step *step_at(const struct kernel_tree_step *steps, uint32_t place)
{
    return (const struct kernel_tree_step *)((const char *)steps + place * (size_t)8);
}

static uint32_t go_on(const struct kernel_tree_step *steps, uint32_t place, const float *row)
{
    const struct kernel_tree_step *step = step_at(steps, place);

    return step->next + PLACES * !(row[step->feature] <= step->threshold);
}

/* Two levels at a time: a leaf leads to itself. */
static void find_ends(struct steps *paths, const struct kernel_tree_step *steps)
{
    uint32_t moved = 1;

    for (int32_t level = 0; level < paths->depth && moved; level += 2) {
        moved = 0;
        for (int i = 0; i < PATHS; i++)
            paths->at[i] = go_on(steps, paths->at[i], paths->rows[i]);
        for (int i = 0; i < PATHS; i++) {
            uint32_t next = go_on(steps, paths->at[i], paths->rows[i]);

            moved |= next ^ paths->at[i];
            paths->at[i] = next;
        }
    }
}

static void add_end(const struct ensemble *e, uint32_t at, double *sums)
{
    int32_t leaf = step_at(e->walk->steps, at)->leaf;

    if (!e->walk->values) {
        add_leaf(e->trees, leaf, sums);
        return;
    }
    for (int64_t i = 0; i < e->trees->targets; i++)
        sums[i] += e->walk->values[leaf + i];
}

/* All rows through a tree, then through the next one; the last path goes as often as there is room. */
static void add_walks(const struct ensemble *e, int64_t first, int64_t count, double *sums)
{
    const struct kernel_trees *t = e->trees;
    const float *x = row_of(e, first);
    int64_t row = 0, tree = 0;
    struct steps paths;

    for (int64_t left = count * t->tree_count; left > 0; left -= PATHS) {
        int64_t taken = left < PATHS ? left : PATHS;

        paths.depth = 0;
        for (int64_t i = 0; i < PATHS; i++) {
            const struct kernel_tree_root *root = &e->walk->roots[tree];

            paths.depth = root->depth > paths.depth ? root->depth : paths.depth;
            paths.at[i] = root->at;
            paths.rows[i] = x + row * t->features;
            paths.sums[i] = sums + row * t->targets;
            if (i >= taken - 1 && left <= PATHS)
                continue;
            tree += row == count - 1;
            row = row == count - 1 ? 0 : row + 1;
        }
        find_ends(&paths, e->walk->steps);
        for (int64_t i = 0; i < taken; i++)
            add_end(e, paths.at[i], paths.sums[i]);
    }
}

static bool has_nan(const struct ensemble *e, int64_t first, int64_t count)
{
    const float *x = row_of(e, first);
    int found = 0;

    for (int64_t i = 0; i < count * e->trees->features; i++)
        found |= x[i] != x[i];
    return found != 0;
}

static void add_rows(const struct ensemble *e, int64_t first, int64_t count)
{
    const struct kernel_trees *t = e->trees;
    double sums[ROWS * TARGETS];

    memset(sums, 0, (size_t)(count * t->targets) * sizeof(*sums));
    if (e->walk && !has_nan(e, first, count)) {
        add_walks(e, first, count, sums);
    } else if (count >= PATHS) {
        add_trees(e, first, count, sums);
    } else {
        for (int64_t i = 0; i < count; i++)
            add_row(e, first + i, sums + i * t->targets);
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
    return t->targets <= TARGETS && t->tree_count > 0 && t->features > 0 &&
           (t->sum == TREE_SUM || t->sum == TREE_AVERAGE) && t->has_only_less;
}

void trees_portable(void *y, const void *x, const struct kernel_trees *trees)
{
    struct ensemble e = {y, x, trees, NULL};

    if (is_plain(trees))
        team_for(trees->rows, GRAIN / trees->tree_count + 1, do_rows, &e);
    else
        trees_ref(y, x, trees);
}

void trees_by_steps(void *y, const void *x, const struct kernel_trees *trees,
                    const struct kernel_tree_walk *walk)
{
    struct ensemble e = {y, x, trees, walk};

    team_for(trees->rows, GRAIN / trees->tree_count + 1, do_rows, &e);
}
