/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contracts of what picks, places and orders elements by index. What is common to all contracts
 * stands in kernels.h, which includes this.
 *
 * Indices are of index_type, KERNEL_I32 or KERNEL_I64; a negative one counts from the end. All is
 * exact. Functions that return int: 0, or -1 when an index is out of range or the content asks for
 * another size than the shape has; what y then holds is not defined.
 */
#ifndef OPTRACE_KERNELS_INDEX_H
#define OPTRACE_KERNELS_INDEX_H

#include "kernels/dtype.h"

enum kernel_scatter_op { SCATTER_SET, SCATTER_ADD, SCATTER_MUL, SCATTER_MAX, SCATTER_MIN };

/** Indices along one axis, for each element. */
struct kernel_elements {
    enum kernel_dtype dtype, index_type;
    enum kernel_scatter_op op; /* of scatter */
    int rank, axis;
    int64_t x_dims[KERNEL_MAX_RANK]; /* of x; of y too when scattering */
    int64_t dims[KERNEL_MAX_RANK];   /* of the indices, and of y or the updates; <= x_dims except
                                        on the axis */
};

/** y[..., i, ...] = x[..., indices[..., i, ...], ...], y has the indices' shape. */
typedef int gather_elements_fn(void *y, const void *x, const void *indices,
                               const struct kernel_elements *shape);

/** y = x, then y[..., indices[..., i, ...], ...] op= updates[..., i, ...] in order. y may be x. */
typedef int scatter_elements_fn(void *y, const void *x, const void *indices, const void *updates,
                                const struct kernel_elements *shape);

/** Indices that are tuples of `depth` numbers, each naming a slice of x. */
struct kernel_tuples {
    enum kernel_dtype dtype, index_type;
    enum kernel_scatter_op op; /* of scatter */
    int64_t batch;             /* x and indices both begin with the same axes: their product */
    int64_t tuples;            /* in each batch */
    int depth;
    int64_t dims[KERNEL_MAX_RANK]; /* of x: those that a tuple names */
    int64_t slice;                 /* elements behind them */
};

/** y: [batch, tuples, slice]. */
typedef int gather_nd_fn(void *y, const void *x, const void *indices,
                         const struct kernel_tuples *shape);

/** y = x, then the named slices op= updates [batch, tuples, slice], in order. y may be x. */
typedef int scatter_nd_fn(void *y, const void *x, const void *indices, const void *updates,
                          const struct kernel_tuples *shape);

struct kernel_top_k {
    enum kernel_dtype dtype;
    int64_t outer, axis, inner;
    int64_t k; /* <= axis */
    bool is_smallest;
};

/** values, indices: [outer, k, inner], from the largest (or smallest) on; of equal ones the first
 *  comes first; NaN is the largest. Either may be NULL; versions are fast with indices. */
typedef void top_k_fn(void *values, int64_t *indices, const void *x,
                      const struct kernel_top_k *shape);

struct kernel_nonzero {
    enum kernel_dtype dtype;
    int rank;
    int64_t dims[KERNEL_MAX_RANK];
    int64_t count; /* of elements that are not zero */
};

/** y: [rank, count], the places of the elements that are not zero, in x's order. */
typedef int nonzero_fn(int64_t *y, const void *x, const struct kernel_nonzero *shape);

struct kernel_compress {
    int64_t outer, axis, inner_bytes; /* of x */
    int64_t conditions;               /* those beyond the axis are not looked at */
    int64_t count;                    /* of conditions that are true */
};

/** y [outer, count, inner_bytes]: the slices whose condition is true. */
typedef int compress_fn(void *y, const void *x, const uint8_t *condition,
                        const struct kernel_compress *shape);

struct kernel_one_hot {
    enum kernel_dtype index_type; /* any */
    size_t element_bytes;
    int64_t outer, depth, inner; /* indices: [outer, inner] */
};

/** y [outer, depth, inner] = values[1] where the depth is the index, values[0] elsewhere; an index
 *  outside of [-depth, depth) is nowhere. */
typedef void one_hot_fn(void *y, const void *indices, const void *values,
                        const struct kernel_one_hot *shape);

struct kernel_triangle {
    size_t element_bytes;
    int64_t batch, rows, cols;
    bool is_upper;
};

/** y = x on and above (or below) diagonal k, 0 elsewhere. y may be x. */
typedef void triangle_fn(void *y, const void *x, int64_t k, const struct kernel_triangle *shape);

/** y [rows, cols] = 1 on diagonal k, 0 elsewhere. */
typedef void eye_fn(void *y, enum kernel_dtype dtype, int64_t rows, int64_t cols, int64_t k);

/** y[i] = start + i * step. start and step point to one element of dtype. */
typedef void range_fn(void *y, const void *start, const void *step, enum kernel_dtype dtype,
                      int64_t count);

struct kernel_reverse {
    int64_t batch, time, inner_bytes;
    bool is_time_first; /* [time, batch, inner] instead of [batch, time, inner] */
};

/** Of each sequence the first lengths[b] steps in reverse, the others as they are. */
typedef int reverse_fn(void *y, const void *x, const int64_t *lengths,
                       const struct kernel_reverse *shape);

struct kernel_cache_write {
    int64_t batch, outer, places, steps, inner_bytes;
    bool is_circular; /* behind the last place comes the first */
};

/** y = cache [batch, outer, places, inner], then y[b, :, at[b] + i] = update[b, :, i] for update
 *  [batch, outer, steps, inner]. at NULL: 0. */
typedef int cache_write_fn(void *y, const void *cache, const void *update, const int64_t *at,
                           const struct kernel_cache_write *shape);

/** Slices along the middle axis of x [outer, axis, inner]. */
struct kernel_unique {
    enum kernel_dtype dtype;
    int64_t outer, axis, inner;
    bool is_sorted; /* else as the first of each comes */
};

/** Each may be NULL. */
struct kernel_unique_outputs {
    void *y;          /* [outer, count, inner]: the slices that differ */
    int64_t *first;   /* [count]: where the first of each stands in x */
    int64_t *inverse; /* [axis]: which of them each slice of x is */
    int64_t *counts;  /* [count]: how often each stands there */
    int64_t count;
};

/** Returns how many slices differ; writes only where that is outputs->count. NaN is like itself, and
 *  the largest. outputs may be NULL; scratch: kernel_unique_room() bytes, aligned to 8. */
typedef int64_t unique_fn(const struct kernel_unique_outputs *outputs, const void *x, void *scratch,
                          const struct kernel_unique *shape);

static inline size_t kernel_unique_room(const struct kernel_unique *shape)
{
    return (size_t)shape->axis * 3 * sizeof(int64_t);
}

/* See KERNEL_DECLARE(). */
#define INDEX_KERNELS(KERNEL)                                                                      \
    KERNEL(gather_elements, EACH);                                                                 \
    KERNEL(scatter_elements, PORTABLE);                                                            \
    KERNEL(gather_nd, REF);                                                                        \
    KERNEL(scatter_nd, PORTABLE);                                                                  \
    KERNEL(top_k, EACH);                                                                           \
    KERNEL(nonzero, PORTABLE);                                                                     \
    KERNEL(compress, PORTABLE);                                                                    \
    KERNEL(one_hot, PORTABLE);                                                                     \
    KERNEL(triangle, PORTABLE);                                                                    \
    KERNEL(eye, PORTABLE);                                                                         \
    KERNEL(range, PORTABLE);                                                                       \
    KERNEL(reverse, REF);                                                                          \
    KERNEL(cache_write, REF);                                                                      \
    KERNEL(unique, PORTABLE)
INDEX_KERNELS(KERNEL_DECLARE);

#endif
