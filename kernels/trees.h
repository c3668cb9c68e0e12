/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ensembles of trees laid out for walking, which pays where they are asked more than once: trees_can_step(),
 * trees_lay_out(), then trees_by_steps() for each run, in place of trees_fn of kernels/learning.h.
 */
#ifndef OPTRACE_KERNELS_TREES_H
#define OPTRACE_KERNELS_TREES_H

#include "kernels/kernels.h"

/** A row whose feature is at most the threshold goes to `next`, any other to the place behind that; a leaf leads to
 *  itself. Places are counted in halves of a step: processors multiply by 8 as they add to an address, and not by 16. */
struct kernel_tree_step {
    float threshold;
    uint32_t feature, next;
    int32_t leaf; /* the node that it was, or its place in `values`; of a branch nothing */
};

struct kernel_tree_root {
    uint32_t at;   /* a place, as above */
    int32_t depth; /* branches to the deepest leaf */
};

struct kernel_tree_walk {
    struct kernel_tree_step *steps; /* as many as there are nodes */
    struct kernel_tree_root *roots; /* as many as there are trees */
    double *values; /* what a leaf adds to each target, of all leaves; NULL: weights of the nodes */
};

/** Whether the trees are sums over float32 features whose tests are <= and < alone. */
bool trees_can_step(const struct kernel_trees *trees);

/** Whether `values` pay for leaves with so many weights in all: most add to most targets. */
bool trees_want_values(int64_t leaves, int64_t targets, int64_t weights);

/** Fills what `walk` points to. Trees as trees_can_step() wants them, no node of which has two parents. */
void trees_lay_out(const struct kernel_trees *trees, const struct kernel_tree_walk *walk);

/** As trees_fn, by what trees_lay_out() made of these trees, with as little rounding. */
void trees_by_steps(void *y, const void *x, const struct kernel_trees *trees,
                    const struct kernel_tree_walk *walk);

#endif
