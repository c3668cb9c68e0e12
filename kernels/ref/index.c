/* SPDX-License-Identifier: Apache-2.0 */
/* Picking and placing by index, the truth. */
#include "kernels/kernels.h"
#include "kernels/ref/number.h"

#include <math.h>
#include <string.h>

/* An index into `limit` places, or -1. */
static int64_t index_at(const void *indices, enum kernel_dtype type, int64_t i, int64_t limit)
{
    int64_t index = ref_get_i64(indices, type, i);

    if (index < -limit || index >= limit)
        return -1;
    return index < 0 ? index + limit : index;
}

static void move(void *y, int64_t to, const void *x, int64_t from, size_t bytes)
{
    memcpy((char *)y + (size_t)to * bytes, (const char *)x + (size_t)from * bytes, bytes);
}

static double combine_reals(enum kernel_scatter_op op, double a, double b)
{
    switch (op) {
    case SCATTER_ADD:
        return a + b;
    case SCATTER_MUL:
        return a * b;
    case SCATTER_MAX:
        return isnan(a) || isnan(b) ? (double)NAN : a > b ? a : b;
    default:
        return isnan(a) || isnan(b) ? (double)NAN : a < b ? a : b;
    }
}

static int64_t combine_integers(enum kernel_scatter_op op, enum kernel_dtype dtype, int64_t a,
                                int64_t b)
{
    bool is_more = ref_order(a, dtype) > ref_order(b, dtype);

    switch (op) {
    case SCATTER_ADD:
        if (dtype == KERNEL_BOOL)
            return a | b;
        return (int64_t)((uint64_t)a + (uint64_t)b);
    case SCATTER_MUL:
        return (int64_t)((uint64_t)a * (uint64_t)b);
    case SCATTER_MAX:
        return is_more ? a : b;
    default:
        return is_more ? b : a;
    }
}

/* y[to] op= x[from]. */
static void combine(enum kernel_scatter_op op, enum kernel_dtype dtype, void *y, int64_t to,
                    const void *x, int64_t from)
{
    if (op == SCATTER_SET)
        move(y, to, x, from, kernel_dtype_bytes(dtype));
    else if (kernel_dtype_is_real(dtype))
        ref_set_f64(y, dtype, to,
                    combine_reals(op, ref_get_f64(y, dtype, to), ref_get_f64(x, dtype, from)));
    else
        ref_set_i64(
            y, dtype, to,
            combine_integers(op, dtype, ref_get_i64(y, dtype, to), ref_get_i64(x, dtype, from)));
}

/* Where element `at` of the indices points in x, or -1. */
static int64_t element_of(const int64_t *at, int64_t index, const struct kernel_elements *s)
{
    int64_t place = 0;

    for (int i = 0; i < s->rank; i++)
        place = place * s->x_dims[i] + (i == s->axis ? index : at[i]);
    return place;
}

int gather_elements_ref(void *y, const void *x, const void *indices,
                        const struct kernel_elements *shape)
{
    int64_t count = ref_product(shape->dims, shape->rank);
    int64_t at[KERNEL_MAX_RANK] = {0};

    for (int64_t i = 0; i < count; i++) {
        int64_t index = index_at(indices, shape->index_type, i, shape->x_dims[shape->axis]);

        if (index < 0)
            return -1;
        move(y, i, x, element_of(at, index, shape), kernel_dtype_bytes(shape->dtype));
        ref_step(at, shape->dims, shape->rank);
    }
    return 0;
}

int scatter_elements_ref(void *y, const void *x, const void *indices, const void *updates,
                         const struct kernel_elements *shape)
{
    int64_t count = ref_product(shape->dims, shape->rank);
    int64_t at[KERNEL_MAX_RANK] = {0};

    memmove(y, x,
            (size_t)ref_product(shape->x_dims, shape->rank) * kernel_dtype_bytes(shape->dtype));
    for (int64_t i = 0; i < count; i++) {
        int64_t index = index_at(indices, shape->index_type, i, shape->x_dims[shape->axis]);

        if (index < 0)
            return -1;
        combine(shape->op, shape->dtype, y, element_of(at, index, shape), updates, i);
        ref_step(at, shape->dims, shape->rank);
    }
    return 0;
}

/* The number of the slice that tuple i names, or -1. */
static int64_t slice_of(const void *indices, int64_t i, const struct kernel_tuples *s)
{
    int64_t place = 0;

    for (int d = 0; d < s->depth; d++) {
        int64_t index = index_at(indices, s->index_type, i * s->depth + d, s->dims[d]);

        if (index < 0)
            return -1;
        place = place * s->dims[d] + index;
    }
    return place + i / s->tuples * ref_product(s->dims, s->depth);
}

int gather_nd_ref(void *y, const void *x, const void *indices, const struct kernel_tuples *shape)
{
    size_t bytes = (size_t)shape->slice * kernel_dtype_bytes(shape->dtype);

    for (int64_t i = 0; i < shape->batch * shape->tuples; i++) {
        int64_t slice = slice_of(indices, i, shape);

        if (slice < 0)
            return -1;
        move(y, i, x, slice, bytes);
    }
    return 0;
}

int scatter_nd_ref(void *y, const void *x, const void *indices, const void *updates,
                   const struct kernel_tuples *shape)
{
    int64_t all = shape->batch * ref_product(shape->dims, shape->depth) * shape->slice;

    memmove(y, x, (size_t)all * kernel_dtype_bytes(shape->dtype));
    for (int64_t i = 0; i < shape->batch * shape->tuples; i++) {
        int64_t slice = slice_of(indices, i, shape);

        if (slice < 0)
            return -1;
        for (int64_t k = 0; k < shape->slice; k++)
            combine(shape->op, shape->dtype, y, slice * shape->slice + k, updates,
                    i * shape->slice + k);
    }
    return 0;
}

int nonzero_ref(int64_t *y, const void *x, const struct kernel_nonzero *shape)
{
    int64_t count = ref_product(shape->dims, shape->rank), found = 0;
    int64_t at[KERNEL_MAX_RANK] = {0};

    for (int64_t i = 0; i < count; i++) {
        if (ref_get_f64(x, shape->dtype, i) != 0.0) {
            if (found == shape->count)
                return -1;
            for (int axis = 0; axis < shape->rank; axis++)
                y[axis * shape->count + found] = at[axis];
            found++;
        }
        ref_step(at, shape->dims, shape->rank);
    }
    return found == shape->count ? 0 : -1;
}

int compress_ref(void *y, const void *x, const uint8_t *condition,
                 const struct kernel_compress *shape)
{
    size_t bytes = (size_t)shape->inner_bytes;
    int64_t limit = shape->conditions < shape->axis ? shape->conditions : shape->axis;

    for (int64_t o = 0; o < shape->outer; o++) {
        int64_t found = 0;

        for (int64_t i = 0; i < limit; i++) {
            if (!condition[i])
                continue;
            if (found == shape->count)
                return -1;
            move(y, o * shape->count + found++, x, o * shape->axis + i, bytes);
        }
        if (found != shape->count)
            return -1;
    }
    return 0;
}

void one_hot_ref(void *y, const void *indices, const void *values,
                 const struct kernel_one_hot *shape)
{
    for (int64_t o = 0; o < shape->outer; o++) {
        for (int64_t d = 0; d < shape->depth; d++) {
            for (int64_t i = 0; i < shape->inner; i++) {
                double index = trunc(ref_get_f64(indices, shape->index_type, o * shape->inner + i));
                bool is_on = index == (double)d || index + (double)shape->depth == (double)d;

                move(y, (o * shape->depth + d) * shape->inner + i, values, is_on,
                     shape->element_bytes);
            }
        }
    }
}

void triangle_ref(void *y, const void *x, int64_t k, const struct kernel_triangle *shape)
{
    size_t bytes = shape->element_bytes;

    for (int64_t i = 0; i < shape->batch * shape->rows * shape->cols; i++) {
        int64_t row = i / shape->cols % shape->rows, col = i % shape->cols;
        bool stays = shape->is_upper ? col - row >= k : col - row <= k;

        if (!stays)
            memset((char *)y + (size_t)i * bytes, 0, bytes);
        else if (y != x)
            move(y, i, x, i, bytes);
    }
}

void eye_ref(void *y, enum kernel_dtype dtype, int64_t rows, int64_t cols, int64_t k)
{
    for (int64_t i = 0; i < rows * cols; i++)
        ref_set_f64(y, dtype, i, i % cols - i / cols == k);
}

void range_ref(void *y, const void *start, const void *step, enum kernel_dtype dtype, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        if (kernel_dtype_is_real(dtype))
            ref_set_f64(y, dtype, i,
                        ref_get_f64(start, dtype, 0) + (double)i * ref_get_f64(step, dtype, 0));
        else
            ref_set_i64(y, dtype, i,
                        (int64_t)((uint64_t)ref_get_i64(start, dtype, 0) +
                                  (uint64_t)i * (uint64_t)ref_get_i64(step, dtype, 0)));
    }
}

int reverse_ref(void *y, const void *x, const int64_t *lengths, const struct kernel_reverse *shape)
{
    for (int64_t b = 0; b < shape->batch; b++) {
        if (lengths[b] < 0 || lengths[b] > shape->time)
            return -1;
        for (int64_t t = 0; t < shape->time; t++) {
            int64_t from = t < lengths[b] ? lengths[b] - 1 - t : t;
            int64_t batch_step = shape->is_time_first ? 1 : shape->time;
            int64_t time_step = shape->is_time_first ? shape->batch : 1;

            move(y, b * batch_step + t * time_step, x, b * batch_step + from * time_step,
                 (size_t)shape->inner_bytes);
        }
    }
    return 0;
}

int cache_write_ref(void *y, const void *cache, const void *update, const int64_t *at,
                    const struct kernel_cache_write *shape)
{
    size_t bytes = (size_t)shape->inner_bytes;

    memmove(y, cache, (size_t)(shape->batch * shape->outer * shape->places) * bytes);
    for (int64_t i = 0; i < shape->batch * shape->outer * shape->steps; i++) {
        int64_t row = i / shape->steps, step = i % shape->steps;
        /* Behind the last number it is negative. */
        int64_t place = (int64_t)((at ? (uint64_t)at[row / shape->outer] : 0) + (uint64_t)step);

        if (place < 0 || (place >= shape->places && !shape->is_circular))
            return -1;
        move(y, row * shape->places + place % shape->places, update, i, bytes);
    }
    return 0;
}

/* Top k */

/* Whether x[a] comes before x[b]. */
static bool comes_first(const void *x, int64_t a, int64_t b, const struct kernel_top_k *s)
{
    if (kernel_dtype_is_real(s->dtype)) {
        double va = ref_get_f64(x, s->dtype, a), vb = ref_get_f64(x, s->dtype, b);

        if (isnan(va) || isnan(vb))
            return isnan(va) && isnan(vb) ? a < b : isnan(va) != s->is_smallest;
        return va == vb ? a < b : (va < vb) == s->is_smallest;
    }
    if (ref_get_i64(x, s->dtype, a) == ref_get_i64(x, s->dtype, b))
        return a < b;
    return (ref_get_order(x, s->dtype, a) < ref_get_order(x, s->dtype, b)) == s->is_smallest;
}

void top_k_ref(void *values, int64_t *indices, const void *x, const struct kernel_top_k *shape)
{
    for (int64_t line = 0; line < shape->outer * shape->inner; line++) {
        int64_t o = line / shape->inner, i = line % shape->inner;
        int64_t base = o * shape->axis * shape->inner + i, last = -1;

        /* The next one is the first of those that come after the last one. */
        for (int64_t k = 0; k < shape->k; k++) {
            int64_t next = -1, to = (o * shape->k + k) * shape->inner + i;

            for (int64_t j = 0; j < shape->axis; j++) {
                int64_t at = base + j * shape->inner;

                if ((last < 0 || comes_first(x, last, at, shape)) &&
                    (next < 0 || comes_first(x, at, next, shape)))
                    next = at;
            }
            if (values)
                move(values, to, x, next, kernel_dtype_bytes(shape->dtype));
            if (indices)
                indices[to] = (next - base) / shape->inner;
            last = next;
        }
    }
}
