/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arguments of the kernels in .cu files beyond those that the contracts have: C, for the launchers
 * and for the device. All are passed by value.
 */
#ifndef OPTRACE_KERNELS_CUDA_ARGS_H
#define OPTRACE_KERNELS_CUDA_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif
#include "kernels/kernels.h"
#if defined(__cplusplus)
}
#endif

enum {
    CUDA_BLOCK = 256,      /* threads of a block that works on elements */
    CUDA_LINE_BLOCK = 128, /* of one that works on a line, or a group, together */
    CUDA_TILE = 32,        /* rows and columns of a product that a block makes */
    CUDA_TILE_ROWS = 8,    /* of threads in it */
    CUDA_TURNED_TILE = 64, /* rows and columns of a matrix that a block transposes */
    CUDA_SHORT_LINE = 64,  /* up to which a thread works on a line alone */
    CUDA_ROW_PIECES = 8,   /* of a row that a thread keeps: each one or four elements */
    CUDA_ATTEND_TILE = 64, /* queries, keys and channels of attention that are worked on at once */
    CUDA_ATTEND_CHANNELS = 128, /* of values, at most, for that */
    CUDA_ATTEND_QUERIES = 16,   /* below which it would mostly work on none */
    CUDA_ATTEND_ROWS = 16,      /* of few queries, which a block works on */
    CUDA_PEAK_CHAINS = 8,       /* of multiply-adds in a thread */
    CUDA_RESIDENT = 2, /* blocks at least that a processor holds: without a number the compiler
                              spills registers where it could have more of them */
};

/** One element, where it is not in device memory but on the host. */
struct cuda_scalar {
    const void *address; /* on the device; NULL: it is in `bits` */
    uint64_t bits;
};

/** Where an input of a chain has what an element of the result takes. */
enum cuda_lies { CUDA_LIES_OTHERWISE, CUDA_LIES_DENSE, CUDA_LIES_ONCE };

struct cuda_chain {
    const void *input[KERNEL_CHAIN_INPUTS];
    uint8_t lies[KERNEL_CHAIN_INPUTS]; /* enum cuda_lies */
    struct kernel_chain chain;
};

struct cuda_chain_half {
    const void *input[KERNEL_CHAIN_INPUTS];
    uint8_t lies[KERNEL_CHAIN_INPUTS];
    struct kernel_chain_half half;
};

struct cuda_step_half {
    const void *input[2];
    int types[2], y_type;
    int64_t strides[2]; /* 1, or 0: one number */
    struct kernel_chain_step step;
    bool saturates;
};

struct cuda_operands {
    const void *address[KERNEL_EINSUM_OPERANDS];
};

/** The axes that stay and those that are summed up, of a reduction or a normalisation. */
struct cuda_groups {
    int kept, reduced;
    int64_t kept_dims[KERNEL_MAX_RANK], kept_stride[KERNEL_MAX_RANK];
    int64_t dims[KERNEL_MAX_RANK], stride[KERNEL_MAX_RANK];
    int64_t group_count, group_size;
};

/** Rows of float32, dense. y has as many, or one element for each, of a reduction. */
struct cuda_rows {
    float *y;
    const float *x, *scale, *bias; /* scale and bias: of a row, or NULL */
    void *mean, *inverse;          /* for each row, of stat_dtype, or NULL */
    int64_t count;
    int width, op, stat_dtype;
    bool is_plain, keeps_mean, adds_to_root;
    double epsilon;
};

/** Which step fails for an index out of range: written once by the first that sees one. */
struct cuda_fault {
    unsigned *word; /* 0 until then */
    unsigned mark;  /* what is written */
};

#endif
