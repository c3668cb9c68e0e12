/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contract of products by weights of 4 bits in blocks, each with a scale of its own: com.microsoft.MatMulNBits. The left
 * matrix is rounded to 8 bits, block by block, as accuracy_level 4 allows, or what float32 makes of it is. Apart from the
 * kernel table: its versions are asked for by level.
 */
#ifndef OPTRACE_KERNELS_BLOCKS_H
#define OPTRACE_KERNELS_BLOCKS_H

#include "kernels/kernels.h"

enum { KERNEL_BLOCK_MIN = 16, KERNEL_BLOCK_MAX = 256, KERNEL_BLOCKS_WORTH = 1 << 16 };

struct kernel_blocks {
    int64_t m, n, k;
    int64_t
        size; /* of a block of k: a power of two between the two above; the last one may be shorter */
    bool has_zeros;  /* else the zero point is 8 */
    bool is_rounded; /* the left matrix, to 8 bits */
};

/** blocks: those of k. Bits lie from the lowest on. */
struct kernel_blocks_weights {
    const uint8_t *quanta; /* [n, blocks, size / 2] */
    const float *scales;   /* [n, blocks] */
    const uint8_t *zeros;  /* [n, (blocks + 1) / 2]; NULL: there are none */
};

/** Bytes of the weights as versions want them: their bits, scales and zero points. m is not read. */
size_t kernel_blocks_packed(const struct kernel_blocks *shape);

/** packed: 64-byte aligned, the bytes above. */
void kernel_pack_blocks(void *packed, const struct kernel_blocks_weights *weights,
                        const struct kernel_blocks *shape);

/** Bytes of 64-byte aligned scratch. */
size_t kernel_blocks_room(const struct kernel_blocks *shape);

/**
 * y = a * weights + bias; y [m, n] and a [m, k] are dense; bias [n] or NULL.
 *
 * Where it is rounded, of each block of a row the largest magnitude becomes 127, as MLAS has it: its scale is that by
 * 127, its numbers are rounded, halves to even. Sums of a block are exact. Where a block holds what is not finite, the
 * row is NaN. Else nothing is rounded but as float32 does. Blocks of numbers below 2^-100 may be 0. Agrees with ref to 1e-6 of the sum over the blocks of their
 * numbers' largest magnitude by the weights' magnitudes.
 */
typedef void product_blocks_fn(float *y, const float *a, const void *packed, const float *bias,
                               const struct kernel_blocks *shape, void *workspace);

/** The plain one, of the weights as they are stored. */
void product_blocks_ref(float *y, const float *a, const struct kernel_blocks_weights *weights,
                        const float *bias, const struct kernel_blocks *shape);

/** The fastest at or below a level: with VNNI, where a CPU of AVX-512 has it. NULL at the reference's. */
product_blocks_fn *kernel_product_blocks(enum kernel_level level, const char **out_version);

/** Whether what is not rounded is multiplied faster on this machine than by weights that are widened to float32, where
 *  there are at least KERNEL_BLOCKS_WORTH. */
bool kernel_blocks_pay(void);

/** Whether weights that are widened to bfloat16 are faster than that: the CPU multiplies these itself. */
bool kernel_blocks_yield_to_bf16(void);

#endif
