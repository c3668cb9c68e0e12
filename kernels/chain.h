/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contract of chains: several element-wise operations over float32 in one go, block by block, so
 * that what lies between them never leaves the cache. What is common to all contracts stands in
 * kernels.h, which includes this.
 *
 * The first input may be of another type, smaller than the result and surrounded by a constant, and
 * in any order of axes: what is done to images before a network sees them.
 *
 * A chain is a list of steps. Each computes one number per element of the result from inputs of the
 * chain or from results of earlier steps; the last step's result is the chain's.
 */
#ifndef OPTRACE_KERNELS_CHAIN_H
#define OPTRACE_KERNELS_CHAIN_H

#include "kernels/elementwise.h"

enum {
    KERNEL_CHAIN_INPUTS = 16,
    KERNEL_CHAIN_STEPS = 32,
    KERNEL_CHAIN_RESULT = KERNEL_CHAIN_INPUTS, /* operand: this + s is the result of step s */
};

struct kernel_chain_step {
    bool has_two;        /* operands: then zip says what is done, else map */
    enum kernel_map map; /* kernel_chain_has_map() */
    enum kernel_zip zip; /* ZIP_ADD to ZIP_PRELU */
    double a, b;         /* parameters of map */
    int operands[2];
};

/** Input 0, where it is more than floats that are broadcast: coordinate c of the result's axis is
 *  c - begin there, and what is outside of dims is `value`. */
struct kernel_chain_pad {
    int64_t dims[KERNEL_MAX_RANK], begin[KERNEL_MAX_RANK];
    float value;
};

/** y has shape dims, dense. Strides in elements, 0 where an input is broadcast. At most as many
 *  inputs, at least one, and steps as stands above; without steps the result is input 0. */
struct kernel_chain {
    int rank;
    int64_t dims[KERNEL_MAX_RANK];
    int inputs;
    int64_t strides[KERNEL_CHAIN_INPUTS][KERNEL_MAX_RANK];
    enum kernel_dtype type; /* of input 0, converted as cast_fn does; the others are f32 */
    bool is_padded;
    struct kernel_chain_pad pad;
    int steps;
    struct kernel_chain_step step[KERNEL_CHAIN_STEPS];
};

/** Whether a chain may have this function: all but those whose result is a bool. */
bool kernel_chain_has_map(enum kernel_map op);

/** The rule for y being an input: it must lie there as y does, and not be broadcast. Each step
 *  agrees with the reference's to 2e-6 of the largest of its result, its operands, its parameters
 *  and 1; a sum, difference, product, quotient, maximum and minimum exactly. */
typedef void chain_fn(float *y, const void *const *inputs, const struct kernel_chain *chain);

/* See KERNEL_DECLARE(). */
#define CHAIN_KERNELS(KERNEL) KERNEL(chain, EACH)
CHAIN_KERNELS(KERNEL_DECLARE);

#endif
