/* SPDX-License-Identifier: Apache-2.0 */
/* Gathering single elements by index: a row of the last axis at a time, whose place in x is worked
 * out once. */
#include <stdatomic.h>

#include "kernels/cpu/isa.h"
#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

enum {
    BLOCK = 128, /* indices that are checked together */
    LINE = 64,   /* of a cache */
    FETCHED = 1 << 14,
    GRAIN = 1 << 13, /* elements that are worth a second thread */
};

/* Element j of a row is x[base + index * stride + j * step]. */
struct rows {
    char *y;
    const char *x, *indices;
    const struct kernel_elements *shape;
    int64_t x_stride[KERNEL_MAX_RANK];
    int64_t count, limit, stride, step;
    size_t bytes;
    atomic_bool is_bad;
};

/* Instructions that gather are slower than loads, but compilers take them where they can. */
#define ONE_BY_ONE(place) __asm__("" : "+r"(place))

/* All of a row that is read in any order, where it is small enough and much of it is read. */
ISA_BODY void fetch_row(const char *x, int64_t bytes, int64_t count)
{
    if (bytes <= FETCHED && bytes / LINE <= count)
        for (int64_t i = 0; i < bytes; i += LINE)
            __builtin_prefetch(x + i);
}

/* name(): a row; false where an index is out of range. */
#define ROW(name, type, index_type)                                                                \
    ISA_BODY bool name(const struct rows *r, int64_t row, int64_t base)                            \
    {                                                                                              \
        type *restrict y = (type *)(void *)r->y + row * r->count;                                  \
        const type *x = (const type *)(const void *)r->x + base;                                   \
        const index_type *indices = (const index_type *)(const void *)r->indices + row * r->count; \
        int64_t limit = r->limit, stride = r->stride, step = r->step;                              \
        bool is_dense = step == 0 && stride == 1;                                                  \
                                                                                                   \
        if (is_dense)                                                                              \
            fetch_row((const char *)x, limit *(int64_t)sizeof(*x), r->count);                      \
                                                                                                   \
        for (int64_t first = 0; first < r->count; first += BLOCK) {                                \
            int64_t last = r->count - first < BLOCK ? r->count : first + BLOCK;                    \
            int64_t outside = 0, places[BLOCK];                                                    \
            /* What is written next: a processor that waits for it has nothing else to do. */      \
            for (int64_t j = first + BLOCK; j < last + BLOCK; j += LINE / (int64_t)sizeof(*y))     \
                __builtin_prefetch(y + j, 1);                                                      \
                                                                                                   \
            for (int64_t j = first; j < last; j++) {                                               \
                int64_t index = indices[j], is_negative = index >> 63;                             \
                                                                                                   \
                index += is_negative & limit; /* no sum overflows */                               \
                outside |= index | (limit - 1 - index);                                            \
                places[j - first] = index;                                                         \
            }                                                                                      \
            if (outside < 0)                                                                       \
                return false;                                                                      \
            if (is_dense) {                                                                        \
                for (int64_t j = first; j < last; j++) {                                           \
                    int64_t place = places[j - first];                                             \
                                                                                                   \
                    ONE_BY_ONE(place);                                                             \
                    y[j] = x[place];                                                               \
                }                                                                                  \
                continue;                                                                          \
            }                                                                                      \
            for (int64_t j = first; j < last; j++) {                                               \
                int64_t place = places[j - first];                                                 \
                                                                                                   \
                ONE_BY_ONE(place);                                                                 \
                y[j] = x[place * stride + j * step];                                               \
            }                                                                                      \
        }                                                                                          \
        return true;                                                                               \
    }

ROW(row_1_i32, uint8_t, int32_t)
ROW(row_2_i32, uint16_t, int32_t)
ROW(row_4_i32, uint32_t, int32_t)
ROW(row_8_i32, uint64_t, int32_t)
ROW(row_1_i64, uint8_t, int64_t)
ROW(row_2_i64, uint16_t, int64_t)
ROW(row_4_i64, uint32_t, int64_t)
ROW(row_8_i64, uint64_t, int64_t)

ISA_BODY bool do_row(const struct rows *r, int64_t row, int64_t base)
{
    bool is_wide = r->shape->index_type == KERNEL_I64;

    switch (r->bytes) {
    case 1:
        return is_wide ? row_1_i64(r, row, base) : row_1_i32(r, row, base);
    case 2:
        return is_wide ? row_2_i64(r, row, base) : row_2_i32(r, row, base);
    case 4:
        return is_wide ? row_4_i64(r, row, base) : row_4_i32(r, row, base);
    default:
        return is_wide ? row_8_i64(r, row, base) : row_8_i32(r, row, base);
    }
}

ISA_BODY void do_rows(struct rows *r, int64_t begin, int64_t end)
{
    const struct kernel_elements *s = r->shape;

    for (int64_t row = begin; row < end; row++) {
        int64_t base = 0, rest = row;

        for (int i = s->rank - 2; i >= 0; i--) {
            base += i == s->axis ? 0 : rest % s->dims[i] * r->x_stride[i];
            rest /= s->dims[i];
        }
        if (!do_row(r, row, base)) {
            atomic_store_explicit(&r->is_bad, true, memory_order_relaxed);
            return;
        }
    }
}

/* False where there is nothing to do. */
static bool plan_rows(struct rows *r, const struct kernel_elements *shape, int64_t *out_rows)
{
    int64_t stride = 1, rows = 1;

    for (int i = shape->rank - 1; i >= 0; i--) {
        r->x_stride[i] = stride;
        stride *= shape->x_dims[i];
        rows *= i < shape->rank - 1 ? shape->dims[i] : 1;
    }
    r->shape = shape;
    r->count = shape->dims[shape->rank - 1];
    r->limit = shape->x_dims[shape->axis];
    r->stride = r->x_stride[shape->axis];
    r->step = shape->axis == shape->rank - 1 ? 0 : 1;
    r->bytes = kernel_dtype_bytes(shape->dtype);
    *out_rows = rows;
    return r->count > 0 && rows > 0;
}

#define GATHER(isa)                                                                                \
    ISA_TARGET_##isa static void do_rows_##isa(void *argument, int64_t begin, int64_t end)         \
    {                                                                                              \
        do_rows(argument, begin, end);                                                             \
    }                                                                                              \
                                                                                                   \
    int gather_elements_##isa(void *y, const void *x, const void *indices,                         \
                              const struct kernel_elements *shape)                                 \
    {                                                                                              \
        struct rows r = {.y = y, .x = x, .indices = indices};                                      \
        int64_t rows;                                                                              \
                                                                                                   \
        if (shape->rank < 1)                                                                       \
            return gather_elements_ref(y, x, indices, shape);                                      \
        if (plan_rows(&r, shape, &rows))                                                           \
            team_for(rows, GRAIN / r.count + 1, do_rows_##isa, &r);                                \
        return atomic_load(&r.is_bad) ? -1 : 0;                                                    \
    }

ISA_VERSIONS(GATHER)
