/* SPDX-License-Identifier: Apache-2.0 */
/* Placing by index, in order: types and operations that models have, a loop for each. The rest, and
 * indices of other types, are computed by the reference. */
#include <math.h>
#include <string.h>

#include "kernels/cpu/isa.h"
#include "kernels/kernels.h"

/* What is placed one behind the other: y[at[i] * slice + k] op= x[i * slice + k]. */
struct places {
    void *y;
    const void *x;
    const int64_t *at;
    int64_t count, slice;
};

typedef void place_fn(const struct places *p);

#define PLACE(name, type, expression)                                                              \
    static void name(const struct places *p)                                                       \
    {                                                                                              \
        for (int64_t i = 0; i < p->count; i++) {                                                   \
            type *y = (type *)p->y + p->at[i] * p->slice;                                          \
            const type *x = (const type *)p->x + i * p->slice;                                     \
                                                                                                   \
            for (int64_t k = 0; k < p->slice; k++) {                                               \
                const type a = y[k], b = x[k];                                                     \
                                                                                                   \
                y[k] = (type)(expression);                                                         \
            }                                                                                      \
        }                                                                                          \
    }

#define LARGER(a, b)  (isnan(a) || isnan(b) ? NAN : (a) > (b) ? (a) : (b))
#define SMALLER(a, b) (isnan(a) || isnan(b) ? NAN : (a) < (b) ? (a) : (b))

PLACE(add_f32, float, a + b)
PLACE(mul_f32, float, a *b)
PLACE(max_f32, float, LARGER(a, b))
PLACE(min_f32, float, SMALLER(a, b))
PLACE(add_f64, double, a + b)
PLACE(mul_f64, double, a *b)
PLACE(max_f64, double, LARGER(a, b))
PLACE(min_f64, double, SMALLER(a, b))
PLACE(add_i32, uint32_t, a + b) /* no sum of these overflows */
PLACE(mul_i32, uint32_t, a *b)
PLACE(max_i32, int32_t, a > b ? a : b)
PLACE(min_i32, int32_t, a < b ? a : b)
PLACE(add_i64, uint64_t, a + b)
PLACE(mul_i64, uint64_t, a *b)
PLACE(max_i64, int64_t, a > b ? a : b)
PLACE(min_i64, int64_t, a < b ? a : b)
PLACE(add_u8, uint8_t, a + b)
PLACE(mul_u8, uint8_t, a *b)
PLACE(max_u8, uint8_t, a > b ? a : b)
PLACE(min_u8, uint8_t, a < b ? a : b)
PLACE(max_i8, int8_t, a > b ? a : b)
PLACE(min_i8, int8_t, a < b ? a : b)
PLACE(add_bool, uint8_t, a | b)
PLACE(mul_bool, uint8_t, a &b)

/* Elements; a copy of known size is a load and a store. */
#define SET(name, type)                                                                            \
    static void name(const struct places *p)                                                       \
    {                                                                                              \
        for (int64_t i = 0; i < p->count; i++)                                                     \
            ((type *)p->y)[p->at[i]] = ((const type *)p->x)[i];                                    \
    }
SET(set_1, uint8_t)
SET(set_2, uint16_t)
SET(set_4, uint32_t)
SET(set_8, uint64_t)

/* NULL: the reference's. A row for each operation but SCATTER_SET. */
static place_fn *combiner_of(enum kernel_dtype dtype, enum kernel_scatter_op op)
{
    static place_fn *const f32[] = {add_f32, mul_f32, max_f32, min_f32};
    static place_fn *const f64[] = {add_f64, mul_f64, max_f64, min_f64};
    static place_fn *const i32[] = {add_i32, mul_i32, max_i32, min_i32};
    static place_fn *const i64[] = {add_i64, mul_i64, max_i64, min_i64};
    static place_fn *const u8[] = {add_u8, mul_u8, max_u8, min_u8};
    static place_fn *const i8[] = {add_u8, mul_u8, max_i8, min_i8}; /* sums keep the low bits */
    static place_fn *const bools[] = {add_bool, mul_bool, max_u8, min_u8};
    const int row = (int)op - SCATTER_ADD;

    switch (dtype) {
    case KERNEL_F32:
        return f32[row];
    case KERNEL_F64:
        return f64[row];
    case KERNEL_I32:
        return i32[row];
    case KERNEL_I64:
        return i64[row];
    case KERNEL_U8:
        return u8[row];
    case KERNEL_I8:
        return i8[row];
    case KERNEL_BOOL:
        return bools[row];
    default:
        return NULL;
    }
}

static place_fn *setter_of(enum kernel_dtype dtype)
{
    switch (kernel_dtype_bytes(dtype)) {
    case 1:
        return set_1;
    case 2:
        return set_2;
    case 4:
        return set_4;
    default:
        return set_8;
    }
}

static place_fn *placer_of(enum kernel_dtype dtype, enum kernel_dtype index_type,
                           enum kernel_scatter_op op)
{
    if (index_type != KERNEL_I64 && index_type != KERNEL_I32)
        return NULL;
    return op == SCATTER_SET ? setter_of(dtype) : combiner_of(dtype, op);
}

/* Index `i`, or -1. */
ISA_BODY int64_t index_at(const void *indices, bool is_wide, int64_t i, int64_t limit)
{
    int64_t index = is_wide ? ((const int64_t *)indices)[i] : ((const int32_t *)indices)[i];

    index += index < 0 ? limit : 0;
    return index < 0 || index >= limit ? -1 : index;
}

enum { BLOCK = 256 }; /* indices that are looked at together */

/* --- Elements along an axis. --- */

struct axis_walk {
    const struct kernel_elements *shape;
    int64_t strides[KERNEL_MAX_RANK]; /* of y */
    int64_t row_count, rows;          /* elements of the last axis; how many of these there are */
};

static void plan_walk(struct axis_walk *walk, const struct kernel_elements *shape)
{
    int64_t stride = 1;

    walk->shape = shape;
    walk->row_count = walk->rows = 1;
    for (int i = shape->rank - 1; i >= 0; i--) {
        walk->strides[i] = stride;
        stride *= shape->x_dims[i];
        if (i == shape->rank - 1)
            walk->row_count = shape->dims[i];
        else
            walk->rows *= shape->dims[i];
    }
}

/* Where a row begins, but for the axis. */
static int64_t row_base(const struct axis_walk *walk, int64_t row)
{
    const struct kernel_elements *s = walk->shape;
    int64_t base = 0;

    for (int i = s->rank - 2; i >= 0; i--) {
        base += i == s->axis ? 0 : row % s->dims[i] * walk->strides[i];
        row /= s->dims[i];
    }
    return base;
}

/* Places of elements `first` and on of a row; false where an index is out of range. */
static bool find_places(const struct axis_walk *walk, const void *indices, int64_t row,
                        int64_t first, int64_t count, int64_t *out_places)
{
    const struct kernel_elements *s = walk->shape;
    const int64_t limit = s->x_dims[s->axis], stride = walk->strides[s->axis];
    const int64_t base = row_base(walk, row), step = s->axis == s->rank - 1 ? 0 : 1;
    const int64_t from = row * walk->row_count + first;
    const bool is_wide = s->index_type == KERNEL_I64;

    for (int64_t j = 0; j < count; j++) {
        int64_t index = index_at(indices, is_wide, from + j, limit);

        if (index < 0)
            return false;
        out_places[j] = base + index * stride + (first + j) * step;
    }
    return true;
}

int scatter_elements_portable(void *y, const void *x, const void *indices, const void *updates,
                              const struct kernel_elements *shape)
{
    place_fn *place = placer_of(shape->dtype, shape->index_type, shape->op);
    const size_t bytes = kernel_dtype_bytes(shape->dtype);
    int64_t places[BLOCK], elements = 1;
    struct axis_walk walk;

    if (!place || shape->rank == 0)
        return scatter_elements_ref(y, x, indices, updates, shape);
    for (int i = 0; i < shape->rank; i++)
        elements *= shape->x_dims[i];
    if (y != x)
        memmove(y, x, (size_t)elements * bytes);
    plan_walk(&walk, shape);
    for (int64_t row = 0; row < walk.rows; row++) {
        for (int64_t first = 0; first < walk.row_count; first += BLOCK) {
            const int64_t left = walk.row_count - first, count = left < BLOCK ? left : BLOCK;
            const char *from =
                (const char *)updates + (size_t)(row * walk.row_count + first) * bytes;

            if (!find_places(&walk, indices, row, first, count, places))
                return -1;
            place(&(struct places){y, from, places, count, 1});
        }
    }
    return 0;
}

/* --- Slices by tuples. --- */

static int64_t slice_of(const void *indices, int64_t i, const struct kernel_tuples *s)
{
    int64_t place = i / s->tuples;

    for (int d = 0; d < s->depth; d++) {
        int64_t index =
            index_at(indices, s->index_type == KERNEL_I64, i * s->depth + d, s->dims[d]);

        if (index < 0)
            return -1;
        place = place * s->dims[d] + index;
    }
    return place;
}

static void set_slices(const struct places *p, size_t bytes)
{
    for (int64_t i = 0; i < p->count; i++)
        memcpy((char *)p->y + (size_t)p->at[i] * bytes, (const char *)p->x + (size_t)i * bytes,
               bytes);
}

int scatter_nd_portable(void *y, const void *x, const void *indices, const void *updates,
                        const struct kernel_tuples *shape)
{
    place_fn *place = placer_of(shape->dtype, shape->index_type, shape->op);
    const size_t bytes = (size_t)shape->slice * kernel_dtype_bytes(shape->dtype);
    const int64_t all = shape->batch * shape->tuples;
    int64_t places[BLOCK], slices = shape->batch;

    if (!place)
        return scatter_nd_ref(y, x, indices, updates, shape);
    for (int d = 0; d < shape->depth; d++)
        slices *= shape->dims[d];
    if (y != x)
        memmove(y, x, (size_t)slices * bytes);
    for (int64_t first = 0; first < all; first += BLOCK) {
        const int64_t count = all - first < BLOCK ? all - first : BLOCK;
        const struct places some = {y, (const char *)updates + (size_t)first * bytes, places, count,
                                    shape->slice};

        for (int64_t i = 0; i < count; i++) {
            places[i] = slice_of(indices, first + i, shape);
            if (places[i] < 0)
                return -1;
        }
        if (shape->op == SCATTER_SET && shape->slice != 1)
            set_slices(&some, bytes);
        else
            place(&some);
    }
    return 0;
}
