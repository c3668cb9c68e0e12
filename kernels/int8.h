/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contracts of products and convolutions of 8-bit integers alone: what product_fn and convolve_fn
 * compute, fast. What is common to all contracts stands in kernels.h, which includes this.
 */
#ifndef OPTRACE_KERNELS_INT8_H
#define OPTRACE_KERNELS_INT8_H

#include "kernels/convolve.h"
#include "kernels/product.h"

/** Whether product_int8_fn computes this: a and b of 8 bits and a not transposed, y int32 or of 8
 *  bits, nothing but the product, and a number for each column where y is quantised; sums that int32 holds then. */
bool kernel_product_int8_fits(const struct kernel_product *shape);

/** Bytes of b as product_int8_fn wants it; 0 where it has several matrices, which are packed by
 *  each call. */
size_t kernel_product_int8_packed(const struct kernel_product *shape);

/** packed: 64-byte aligned, the bytes above. */
typedef void pack_int8_fn(void *packed, const void *b, const struct kernel_product *shape);
pack_int8_fn kernel_pack_int8;

/** Bytes of 64-byte aligned scratch, for the calling thread's team. */
size_t kernel_product_int8_room(const struct kernel_product *shape, bool is_packed);

/** As product_fn, of what fits. packed: b by kernel_pack_int8(), or NULL. Exact where y is int32,
 *  else but for quotients within 1e-15 of a half. */
typedef void product_int8_fn(const struct kernel_product_data *data, const void *packed,
                             const struct kernel_product *shape, void *workspace);

/** Whether convolve_int8_fn computes this: as above, and a bias is int32; of images that lie channels-last, those with at most
 *  two axes, by filters that see all channels or one. */
bool kernel_convolve_int8_fits(const struct kernel_convolve *shape, bool has_bias,
                               bool is_quantised);

/** Bytes of the filters as convolve_int8_fn likes to have them; 0: as they are. */
size_t kernel_convolve_int8_packed(const struct kernel_convolve *shape);

/** packed: 64-byte aligned, the bytes above. */
void kernel_pack_filters_int8(void *packed, const void *w, const struct kernel_convolve *shape);

/** Bytes of 64-byte aligned scratch, for the calling thread's team. */
size_t kernel_convolve_int8_room(const struct kernel_convolve *shape);

/** Whether images had better lie channels-last for a convolution that fits so, wherever they come from and go to. */
bool kernel_convolve_int8_likes_last(const struct kernel_convolve *shape);

/** As convolve_fn, of what fits; exact as above. packed: w by kernel_pack_filters_int8(), or NULL.
 */
typedef void convolve_int8_fn(const struct kernel_convolve_data *data, const void *packed,
                              const struct kernel_convolve *shape, void *workspace);

/* See KERNEL_DECLARE(). */
#define INT8_KERNELS(KERNEL)                                                                       \
    KERNEL(product_int8, EACH);                                                                    \
    KERNEL(convolve_int8, EACH)
INT8_KERNELS(KERNEL_DECLARE);

#endif
