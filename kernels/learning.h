/* SPDX-License-Identifier: Apache-2.0 */
/* Contracts of models of machine learning: ensembles of trees, distances, probabilities, n-grams. What is common to all contracts stands in
 * kernels.h, which includes this. */
#ifndef OPTRACE_KERNELS_LEARNING_H
#define OPTRACE_KERNELS_LEARNING_H

#include "kernels/dtype.h"

enum kernel_tree_test { TREE_LEAF, TREE_LEQ, TREE_LT, TREE_GEQ, TREE_GT, TREE_EQ, TREE_NEQ };

/** A branch, or a leaf: then `yes` is its first weight and `no` how many it has. */
struct kernel_tree_node {
    double threshold;
    int32_t feature; /* of x, which stands on the left side of the test */
    int32_t yes, no; /* places of nodes */
    uint8_t test;    /* enum kernel_tree_test */
    bool takes_nan;  /* where the feature is no number the answer is yes, else no */
};

struct kernel_tree_weight {
    double weight;
    int32_t target;
};

enum kernel_tree_sum { TREE_SUM, TREE_AVERAGE, TREE_MIN, TREE_MAX };

struct kernel_trees {
    enum kernel_dtype dtype;  /* of x: f32 or f64 */
    enum kernel_dtype result; /* of y: likewise */
    int64_t rows, features, targets;
    enum kernel_tree_sum sum; /* of the trees; the average is over all, whether they tell or not */
    int64_t tree_count;
    bool has_only_less;   /* its tests are <= and <, no others */
    const int32_t *roots; /* of each tree */
    const struct kernel_tree_node *nodes;
    const struct kernel_tree_weight *weights;
    const double *base; /* of each target, added at last; NULL: 0 */
};

/** y [rows, targets] = what the leaves that each row of x [rows, features] comes to tell together;
 *  of a target that none tells of, 0, and its base. Sums are in f64; agrees with ref to 1e-5 of the
 *  sum of magnitudes, f64 to 1e-12. */
typedef void trees_fn(void *y, const void *x, const struct kernel_trees *trees);

struct kernel_distances {
    enum kernel_dtype dtype; /* a real one */
    int64_t m, n, k;
    bool is_root;     /* the distance itself, not its square */
    bool is_absolute; /* the sum of |a[i] - b[j]|, which has no root */
};

/** y [m, n] = the sum of (a[i] - b[j])^2 over the k elements of row i of a [m, k] and row j of
 *  b [n, k]: differences are squared, not products taken apart, so that rows next to each other are
 *  so. Agrees with ref to 2e-6 relative. */
typedef void distances_fn(void *y, const void *a, const void *b,
                          const struct kernel_distances *shape);

struct kernel_coupling {
    int64_t rows, classes; /* at least 2 classes */
};

/** y [rows, classes] = probabilities that fit best to those of pairs, for scores [rows, pairs] of all
 *  pairs i < j of classes, in order, of which the first wins with 1 / (1 + exp(a * score + b)), a and b
 *  [pairs], and at least with 1e-7: T.-F. Wu, C.-J. Lin, R. C. Weng, Probability Estimates for Multi-class
 *  Classification by Pairwise Coupling (2004), second method, algorithm 2. As in LIBSVM it starts with
 *  equal ones, ends where none is off by 0.005 / classes, and after 100 steps or as many as classes.
 *  Returns 0, -ENOMEM. */
typedef int coupling_fn(float *y, const float *scores, const float *a, const float *b,
                        const struct kernel_coupling *shape);

/** Elements one after the other, or with others between them, that are counted in a column of y. */
struct kernel_gram {
    int64_t first; /* place of its first item */
    int32_t size;
    int32_t column;
    float weight;
};

struct kernel_ngrams {
    enum kernel_dtype dtype; /* of x: i32 or i64 */
    int64_t rows, length, columns;
    int64_t shortest, longest; /* sizes of grams that are counted, from 1 on */
    int64_t skips;   /* so many elements may stand between two of a gram, the same for all */
    bool has_counts; /* each time that a gram occurs its weight is added, else it is what y is */
    /* Those that are known, as a hash table: slot kernel_gram_hash() & slot_mask or the first behind
     * it (the first of all behind the last) that holds the gram, or 0, which ends the search; else
     * 1 + its place in grams. At least one slot is 0. */
    const int64_t *items;
    const struct kernel_gram *grams;
    const uint32_t *slots;
    uint64_t slot_mask; /* their number, a power of two, - 1 */
};

/** The hash of a gram and an item more; of none it is 0. */
static inline uint64_t kernel_gram_hash(uint64_t hash, int64_t item)
{
    hash = (hash ^ (uint64_t)item) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

/** y [rows, columns] = what the grams in each row of x [rows, length] weigh, 0 without one: with 0 to
 *  `skips` elements between those of a gram, one of a single element but once. */
typedef void ngrams_fn(float *y, const void *x, const struct kernel_ngrams *shape);

/* See KERNEL_DECLARE(). */
#define LEARNING_KERNELS(KERNEL)                                                                   \
    KERNEL(coupling, REF);                                                                         \
    KERNEL(distances, EACH);                                                                       \
    KERNEL(ngrams, REF);                                                                           \
    KERNEL(trees, PORTABLE)
LEARNING_KERNELS(KERNEL_DECLARE);

#endif
