/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of ensembles of trees and of distances, held to the reference; and one that is known: a chain of
 * branches that counts. */
#include <math.h>
#include <string.h>

#include "kernels/trees.h"
#include "tests/kernels/harness.h"

enum { NODES_MAX = 1 << 12 };

struct forest {
    struct kernel_trees trees;
    struct kernel_tree_node *nodes;
    struct kernel_tree_weight *weights;
    int32_t *roots;
    int32_t node_count, weight_count;
};

/* A tree whose nodes follow their parents; leaves have up to two weights. Returns its root. */
static int32_t grow(struct test *test, struct forest *f, int depth)
{
    int32_t at = f->node_count++;
    struct kernel_tree_node *node = &f->nodes[at];

    if (depth == 0 || f->node_count > NODES_MAX - 64 || test_chance(test, 5)) {
        *node = (struct kernel_tree_node){.test = TREE_LEAF, .yes = f->weight_count};
        node->no = (int32_t)test_range(test, 0, 2);
        for (int32_t i = 0; i < node->no; i++)
            f->weights[f->weight_count++] = (struct kernel_tree_weight){
                (double)test_float(test), (int32_t)test_range(test, 0, f->trees.targets - 1)};
        return at;
    }
    *node = (struct kernel_tree_node){
        .test = (uint8_t)(f->trees.has_only_less ? test_range(test, TREE_LEQ, TREE_LT)
                                                 : test_range(test, TREE_LEQ, TREE_NEQ)),
        .threshold = test_chance(test, 16)
                         ? (test_chance(test, 2) ? INFINITY : -INFINITY)
                         : (double)test_float(test) * (test_chance(test, 2) ? 1.0 + 1e-9 : 1.0),
        .feature = (int32_t)test_range(test, 0, f->trees.features - 1),
        .takes_nan = test_chance(test, 2),
    };
    node->yes = grow(test, f, depth - 1);
    node->no = grow(test, f, depth - 1);
    return at;
}

/* Now and then what a node compares with, or infinite, or no number. */
static double feature_of(struct test *test, const struct forest *f, bool has_nan)
{
    if (has_nan && test_chance(test, 20))
        return NAN;
    if (test_chance(test, 20))
        return test_chance(test, 2) ? INFINITY : -INFINITY;
    return test_chance(test, 3) ? f->nodes[test_range(test, 0, f->node_count - 1)].threshold
                                : (double)test_float(test);
}

/* Each reads and writes either type. */
static void fill_forest(struct test *test, struct forest *f, int depth, void *x, double *base)
{
    bool has_nan = test_chance(test, 2);

    f->nodes = test_input_bytes(test, NODES_MAX * sizeof(*f->nodes));
    f->weights = test_input_bytes(test, 2 * NODES_MAX * sizeof(*f->weights));
    f->roots = test_input_bytes(test, (size_t)f->trees.tree_count * sizeof(*f->roots));
    for (int64_t tree = 0; tree < f->trees.tree_count; tree++)
        f->roots[tree] = grow(test, f, depth);
    for (int64_t i = 0; i < f->trees.rows * f->trees.features; i++) {
        double value = feature_of(test, f, has_nan);

        if (f->trees.dtype == KERNEL_F64)
            ((double *)x)[i] = value;
        else
            ((float *)x)[i] = (float)value;
    }
    for (int64_t i = 0; i < f->trees.targets; i++)
        base[i] = (double)test_float(test);
    f->trees.nodes = f->nodes;
    f->trees.weights = f->weights;
    f->trees.roots = f->roots;
    f->trees.base = test_chance(test, 2) ? base : NULL;
}

/* By the table's, or by steps where these can and it is not the reference's. */
static void run_trees(struct test *test, const struct kernel_table *table, void *y, const void *x,
                      const struct forest *f)
{
    size_t nodes = (size_t)f->node_count;
    struct kernel_tree_walk walk = {
        .steps = test_input_bytes(test, nodes * sizeof(*walk.steps)),
        .roots = test_input_bytes(test, (size_t)f->trees.tree_count * sizeof(*walk.roots)),
        .values = test_input_bytes(test, nodes * (size_t)f->trees.targets * sizeof(*walk.values))};

    if (table->trees.fn == trees_ref || !trees_can_step(&f->trees) || test_chance(test, 3)) {
        TEST_RUN(test, TEST_NEW, table->trees.fn(y, x, &f->trees));
        return;
    }
    if (test_chance(test, 2))
        walk.values = NULL;
    trees_lay_out(&f->trees, &walk);
    TEST_RUN(test, TEST_NEW, trees_by_steps(y, x, &f->trees, &walk));
}

static void check_trees(struct test *test, const struct kernel_table *table)
{
    struct forest f = {.trees = {.dtype = test_chance(test, 3) ? KERNEL_F64 : KERNEL_F32,
                                 .result = test_chance(test, 3) ? KERNEL_F64 : KERNEL_F32,
                                 .rows = test_range(test, 0, 200),
                                 .features = test_range(test, 1, 9),
                                 .targets = test_range(test, 1, test_chance(test, 8) ? 70 : 4),
                                 .tree_count = test_range(test, 1, 12),
                                 .sum = (enum kernel_tree_sum)test_range(test, TREE_SUM, TREE_MAX),
                                 .has_only_less = !test_chance(test, 4)}};
    int depth = (int)test_range(test, 0, 6);
    bool is_wide = f.trees.result == KERNEL_F64;
    size_t count = (size_t)(f.trees.rows * f.trees.targets), words = is_wide ? 2 : 1;
    void *x = test_input_bytes(test, (size_t)(f.trees.rows * f.trees.features) * sizeof(double));
    double *base = test_input_bytes(test, (size_t)f.trees.targets * sizeof(*base));
    void *want = test_output(test, count * words * sizeof(float));
    void *got = test_output(test, count * words * sizeof(float));

    test_describe(test, "%s to %s, %lld rows of %lld, %lld trees, %lld targets, sum %d, depth %d",
                  f.trees.dtype == KERNEL_F64 ? "f64" : "f32", is_wide ? "f64" : "f32",
                  (long long)f.trees.rows, (long long)f.trees.features,
                  (long long)f.trees.tree_count, (long long)f.trees.targets, (int)f.trees.sum,
                  depth);
    fill_forest(test, &f, depth, x, base);
    TEST_RUN(test, TEST_REF, trees_ref(want, x, &f.trees));
    run_trees(test, table, got, x, &f);
    if (!is_wide)
        test_compare(test, got, want, count, &(struct test_tolerance){.absolute = 1e-5});
    for (size_t i = 0; is_wide && i < count; i++)
        if (!(fabs(((double *)got)[i] - ((double *)want)[i]) <= 1e-12))
            test_fail(test, "element %zu is %.17g, the reference's %.17g", i, ((double *)got)[i],
                      ((double *)want)[i]);
}

/* x is above so many of the thresholds 0, 1, 2, ...: each branch asks for one, and the leaf says how
 * many were passed. */
static void check_trees_count(struct test *test, const struct kernel_table *table)
{
    int32_t steps = (int32_t)test_range(test, 1, 20);
    int64_t rows = test_range(test, 1, 100);
    struct kernel_tree_node *nodes =
        test_input_bytes(test, (size_t)(2 * steps + 1) * sizeof(*nodes));
    struct kernel_tree_weight *weights =
        test_input_bytes(test, (size_t)(steps + 1) * sizeof(*weights));
    const int32_t root = 0;
    struct kernel_trees t = {.rows = rows,
                             .features = 1,
                             .targets = 1,
                             .tree_count = 1,
                             .has_only_less = true,
                             .roots = &root,
                             .nodes = nodes,
                             .weights = weights};
    float *x = test_input(test, (size_t)rows), *y = test_output(test, (size_t)rows * sizeof(*y));

    test_describe(test, "%d steps, %lld rows", (int)steps, (long long)rows);
    for (int32_t i = 0; i <= steps; i++) {
        weights[i] = (struct kernel_tree_weight){(double)i, 0};
        nodes[2 * i] = (struct kernel_tree_node){.test = TREE_LEAF, .yes = i, .no = 1};
        if (i == steps)
            break;
        nodes[2 * i + 1] = nodes[2 * i];
        nodes[2 * i] = (struct kernel_tree_node){
            .test = TREE_LEQ, .threshold = (double)i, .yes = 2 * i + 1, .no = 2 * i + 2};
    }
    for (int64_t i = 0; i < rows; i++)
        x[i] = (float)test_range(test, -1, steps + 1);
    TEST_RUN(test, TEST_NEW, table->trees.fn(y, x, &t));
    for (int64_t i = 0; i < rows; i++) {
        float want = fminf(fmaxf(x[i], 0.0f), (float)steps);

        if (y[i] != want)
            test_fail(test, "row %lld with %g is %g", (long long)i, (double)x[i], (double)y[i]);
    }
}

static void check_distances(struct test *test, const struct kernel_table *table)
{
    struct kernel_distances s = {.dtype = test_chance(test, 8) ? KERNEL_F64 : KERNEL_F32,
                                 .m = test_range(test, 0, test_chance(test, 3) ? 3 : 40),
                                 .n = test_range(test, 0, 70),
                                 .k = test_range(test, 0, test_chance(test, 3) ? 600 : 20),
                                 .is_root = test_chance(test, 2)};
    size_t count = (size_t)(s.m * s.n), words = s.dtype == KERNEL_F64 ? 2 : 1;
    float *a = test_input(test, (size_t)(s.m * s.k) * words);
    float *b = test_input(test, (size_t)(s.n * s.k) * words);
    float *want = test_output(test, count * words * sizeof(*want));
    float *got = test_output(test, count * words * sizeof(*got));

    s.is_absolute = !s.is_root && test_chance(test, 2);
    test_describe(test, "%s %lld and %lld rows of %lld%s", s.dtype == KERNEL_F64 ? "f64" : "f32",
                  (long long)s.m, (long long)s.n, (long long)s.k,
                  s.is_root       ? ", root"
                  : s.is_absolute ? ", absolute"
                                  : "");
    if (s.dtype == KERNEL_F64) {
        for (int64_t i = 0; i < s.m * s.k; i++)
            ((double *)a)[i] = (double)test_float(test);
        for (int64_t i = 0; i < s.n * s.k; i++)
            ((double *)b)[i] = (double)test_float(test);
    } else {
        for (int64_t i = 0; i < s.n * s.k && s.m > 0; i++) /* some rows meet */
            b[i] = test_chance(test, 400) ? NAN : i / s.k % 5 == 0 ? a[i % s.k] : b[i];
    }
    TEST_RUN(test, TEST_REF, distances_ref(want, a, b, &s));
    TEST_RUN(test, TEST_NEW, table->distances.fn(got, a, b, &s));
    if (s.dtype == KERNEL_F64)
        test_compare_bytes(test, got, want, count * sizeof(double));
    else
        test_compare(test, got, want, count, &(struct test_tolerance){.relative = 2e-6});
}

/* Where pairs are what the classes themselves give these come out again. */
static void check_coupling_known(struct test *test, const struct kernel_table *table)
{
    struct kernel_coupling s = {test_range(test, 0, 9), test_range(test, 2, 12)};
    const int64_t k = s.classes, pairs = k * (k - 1) / 2;
    float *want = test_input(test, (size_t)(s.rows * k));
    float *scores = test_input(test, (size_t)(s.rows * pairs));
    float *a = test_input(test, (size_t)pairs), *b = test_input(test, (size_t)pairs);
    float *got = test_output(test, (size_t)(s.rows * k) * sizeof(*got));

    test_describe(test, "%lld rows of %lld classes", (long long)s.rows, (long long)k);
    for (int64_t i = 0; i < pairs; i++) {
        a[i] = test_chance(test, 2) ? -1.5f : 2.0f;
        b[i] = (float)test_range(test, -2, 2);
    }
    for (int64_t row = 0, pair = 0; row < s.rows; row++, pair = 0) {
        float *p = want + row * k, all = 0.0f;

        for (int64_t i = 0; i < k; i++)
            all += p[i] = (float)test_range(test, 1, 20);
        for (int64_t i = 0; i < k; i++)
            p[i] /= all;
        for (int64_t i = 0; i < k; i++)
            for (int64_t j = i + 1; j < k; j++, pair++)
                scores[row * pairs + pair] = (logf(p[j] / p[i]) - b[pair]) / a[pair];
    }
    TEST_RUN(test, TEST_NEW, table->coupling.fn(got, scores, a, b, &s));
    test_compare(test, got, want, (size_t)(s.rows * k), &(struct test_tolerance){.absolute = 0.02});
}

/* As the text of the operator says it: each gram, each place, each distance between its elements. */
static float weigh_gram(const int64_t *row, const struct kernel_ngrams *s,
                        const struct kernel_gram *gram)
{
    float weight = 0.0f;

    for (int64_t step = 1; step <= s->skips + 1 && (gram->size > 1 || step == 1); step++)
        for (int64_t first = 0; first + (gram->size - 1) * step < s->length; first++) {
            int32_t same = 0;

            while (same < gram->size && row[first + same * step] == s->items[gram->first + same])
                same++;
            if (same == gram->size)
                weight = s->has_counts ? weight + gram->weight : gram->weight;
        }
    return gram->size >= s->shortest && gram->size <= s->longest ? weight : 0.0f;
}

/* All grams of two letters, of 1 to 3 of them, in a table that is half full at most. */
static void check_ngrams(struct test *test, const struct kernel_table *table)
{
    enum { GRAMS = 14, SLOTS = 32 };
    struct kernel_ngrams s = {.dtype = test_chance(test, 2) ? KERNEL_I32 : KERNEL_I64,
                              .rows = test_range(test, 0, 4),
                              .length = test_range(test, 0, 20),
                              .columns = GRAMS,
                              .shortest = test_range(test, 1, 3),
                              .skips = test_range(test, 0, 6),
                              .has_counts = test_chance(test, 2),
                              .slot_mask = SLOTS - 1};
    size_t count = (size_t)(s.rows * s.length);
    int64_t *x = test_output(test, count * sizeof(*x)), items[3 * GRAMS];
    float *want = test_output(test, (size_t)s.rows * GRAMS * sizeof(*want));
    float *got = test_output(test, (size_t)s.rows * GRAMS * sizeof(*got));
    struct kernel_gram grams[GRAMS];
    uint32_t slots[SLOTS] = {0};
    int place = 0;

    s.longest = test_range(test, s.shortest, 4);
    test_describe(test, "%lld rows of %lld, %lld to %lld, %lld skips", (long long)s.rows,
                  (long long)s.length, (long long)s.shortest, (long long)s.longest,
                  (long long)s.skips);
    for (int size = 1; size <= 3; size++)
        for (int bits = 0; bits < 1 << size; bits++, place++) {
            uint64_t hash = 0, slot;

            grams[place] = (struct kernel_gram){3 * place, size, GRAMS - 1 - place,
                                                (float)test_range(test, -3, 3)};
            for (int i = 0; i < size; i++) {
                items[3 * place + i] = -1 - (bits >> i & 1);
                hash = kernel_gram_hash(hash, items[3 * place + i]);
            }
            for (slot = hash & s.slot_mask; slots[slot]; slot = (slot + 1) & s.slot_mask)
                ;
            slots[slot] = (uint32_t)place + 1;
        }
    s.items = items;
    s.grams = grams;
    s.slots = slots;
    for (size_t i = 0; i < count; i++)
        x[i] = -(int64_t)test_range(test, 0, 2); /* 0 is in no gram */
    for (int64_t row = 0; row < s.rows; row++)
        for (int i = 0; i < GRAMS; i++)
            want[row * GRAMS + grams[i].column] = weigh_gram(x + row * s.length, &s, &grams[i]);
    for (size_t i = 0; s.dtype == KERNEL_I32 && i < count; i++)
        ((int32_t *)x)[i] = (int32_t)x[i];
    TEST_RUN(test, TEST_NEW, table->ngrams.fn(got, x, &s));
    test_compare(test, got, want, (size_t)s.rows * GRAMS, &(struct test_tolerance){.absolute = 0});
}

const struct test_op test_ops_learning[] = {
    {"coupling_known", check_coupling_known, offsetof(struct kernel_table, coupling)},
    {"distances", check_distances, offsetof(struct kernel_table, distances)},
    {"ngrams", check_ngrams, offsetof(struct kernel_table, ngrams)},
    {"trees", check_trees, offsetof(struct kernel_table, trees)},
    {"trees_count", check_trees_count, offsetof(struct kernel_table, trees)},
};
const size_t test_ops_learning_count = sizeof(test_ops_learning) / sizeof(test_ops_learning[0]);
