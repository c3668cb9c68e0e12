/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products of f64 and int32: four rows by two registers of columns at a time, from columns
 * that are copied together first. Transposed ones, sums and other types are the reference's. */
#include <string.h>

#include "kernels/cpu/isa.h"
#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

enum {
    ROWS = 4,
    DEPTH = 256,           /* of the columns that are copied at once */
    COPY = DEPTH * 2 * 64, /* bytes of these, at most */
    GRAIN = 1 << 16,       /* products that are worth a second thread */
};

struct product {
    void *y;
    const void *a, *b;
    const struct kernel_product *shape;
};

/* The sums of four rows of a, `line` apart, by `depth` rows of copied columns go on in y. */
#define TILE(name, type, vector, lanes)                                                            \
    ISA_BODY void name##_tile(type *y, int64_t n, const type *a, int64_t line, const type *b,      \
                              int64_t depth)                                                       \
    {                                                                                              \
        vector s00 = *(const vector *)y, s01 = *(const vector *)(y + (lanes));                     \
        vector s10 = *(const vector *)(y + n), s11 = *(const vector *)(y + n + (lanes));           \
        vector s20 = *(const vector *)(y + 2 * n), s21 = *(const vector *)(y + 2 * n + (lanes));   \
        vector s30 = *(const vector *)(y + 3 * n), s31 = *(const vector *)(y + 3 * n + (lanes));   \
                                                                                                   \
        for (int64_t p = 0; p < depth; p++, b += 2 * (lanes)) {                                    \
            vector left = *(const vector *)b, right = *(const vector *)(b + (lanes));              \
                                                                                                   \
            s00 += a[p] * left;                                                                    \
            s01 += a[p] * right;                                                                   \
            s10 += a[line + p] * left;                                                             \
            s11 += a[line + p] * right;                                                            \
            s20 += a[2 * line + p] * left;                                                         \
            s21 += a[2 * line + p] * right;                                                        \
            s30 += a[3 * line + p] * left;                                                         \
            s31 += a[3 * line + p] * right;                                                        \
        }                                                                                          \
        *(vector *)y = s00;                                                                        \
        *(vector *)(y + (lanes)) = s01;                                                            \
        *(vector *)(y + n) = s10;                                                                  \
        *(vector *)(y + n + (lanes)) = s11;                                                        \
        *(vector *)(y + 2 * n) = s20;                                                              \
        *(vector *)(y + 2 * n + (lanes)) = s21;                                                    \
        *(vector *)(y + 3 * n) = s30;                                                              \
        *(vector *)(y + 3 * n + (lanes)) = s31;                                                    \
    }

/* Rows [begin, end) of one product. */
#define MATRIX(name, type, bytes)                                                                  \
    typedef type name##_vector                                                                     \
        __attribute__((vector_size(bytes), aligned(sizeof(type)), may_alias));                     \
    enum { name##_lanes = (bytes) / sizeof(type), name##_wide = 2 * name##_lanes };                \
    TILE(name, type, name##_vector, name##_lanes)                                                  \
                                                                                                   \
    /* One row of the columns [first, n). */                                                       \
    ISA_BODY void name##_row(type *restrict y, const type *restrict a, const type *restrict b,     \
                             int64_t first, int64_t n, int64_t k)                                  \
    {                                                                                              \
        for (int64_t j = first; j < n; j++)                                                        \
            y[j] = 0;                                                                              \
        for (int64_t p = 0; p < k; p++)                                                            \
            for (int64_t j = first; j < n; j++)                                                    \
                y[j] += a[p] * b[p * n + j];                                                       \
    }                                                                                              \
                                                                                                   \
    /* Two registers of columns of `rows` rows, a multiple of ROWS. */                             \
    ISA_BODY void name##_columns(type *y, const type *a, const type *b, int64_t rows, int64_t n,   \
                                 int64_t k)                                                        \
    {                                                                                              \
        type copy[COPY / sizeof(type)];                                                            \
                                                                                                   \
        for (int64_t i = 0; i < rows; i++)                                                         \
            memset(y + i * n, 0, name##_wide * sizeof(*y));                                        \
        for (int64_t p = 0; p < k; p += DEPTH) {                                                   \
            int64_t depth = k - p < DEPTH ? k - p : DEPTH;                                         \
                                                                                                   \
            for (int64_t q = 0; q < depth; q++)                                                    \
                memcpy(copy + q * name##_wide, b + (p + q) * n, name##_wide * sizeof(*copy));      \
            for (int64_t i = 0; i < rows; i += ROWS)                                               \
                name##_tile(y + i * n, n, a + i * k + p, k, copy, depth);                          \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    ISA_BODY void name##_rows(const struct product *m, int64_t begin, int64_t end)                 \
    {                                                                                              \
        int64_t n = m->shape->n, k = m->shape->k, rows = (end - begin) / ROWS * ROWS;              \
        int64_t columns = n / name##_wide * name##_wide;                                           \
        type *y = (type *)m->y + begin * n;                                                        \
        const type *a = (const type *)m->a + begin * k, *b = m->b;                                 \
                                                                                                   \
        for (int64_t j = 0; rows > 0 && j < columns; j += name##_wide)                             \
            name##_columns(y + j, a, b + j, rows, n, k);                                           \
        for (int64_t i = 0; i < end - begin; i++)                                                  \
            name##_row(y + i * n, a + i * k, b, i < rows ? columns : 0, n, k);                     \
    }

static bool fits(const struct kernel_product_data *d, const struct kernel_product *s)
{
    return s->a_type == s->b_type && s->a_type == s->y_type &&
           (s->a_type == KERNEL_F64 || s->a_type == KERNEL_I32) && !s->trans_a && !s->trans_b &&
           s->alpha == 1.0 && !d->c && !d->a_zero && !d->b_zero && !d->y_scale;
}

static void multiply(const struct kernel_product_data *d, const struct kernel_product *s,
                     team_fn *rows)
{
    int64_t bytes = (int64_t)kernel_dtype_bytes(s->y_type), count = 1;

    for (int i = 0; i < s->batch_rank; i++)
        count *= s->batch_dims[i];
    for (int64_t index = 0; index < count; index++) {
        int64_t a = 0, b = 0, rest = index;
        struct product m = {.shape = s};

        for (int i = s->batch_rank - 1; i >= 0; i--) {
            a += rest % s->batch_dims[i] * s->a_batch_stride[i];
            b += rest % s->batch_dims[i] * s->b_batch_stride[i];
            rest /= s->batch_dims[i];
        }
        m.y = (char *)d->y + index * s->m * s->n * bytes;
        m.a = (const char *)d->a + a * bytes;
        m.b = (const char *)d->b + b * bytes;
        team_for(s->m, GRAIN / (s->n * s->k + 1) + ROWS, rows, &m);
    }
}

#define PRODUCT(isa)                                                                               \
    MATRIX(f64_##isa, double, ISA_BYTES_##isa)                                                     \
    MATRIX(i32_##isa, uint32_t, ISA_BYTES_##isa)                                                   \
                                                                                                   \
    ISA_TARGET_##isa static void f64_part_##isa(void *argument, int64_t begin, int64_t end)        \
    {                                                                                              \
        f64_##isa##_rows(argument, begin, end);                                                    \
    }                                                                                              \
                                                                                                   \
    ISA_TARGET_##isa static void i32_part_##isa(void *argument, int64_t begin, int64_t end)        \
    {                                                                                              \
        i32_##isa##_rows(argument, begin, end);                                                    \
    }                                                                                              \
                                                                                                   \
    void product_##isa(const struct kernel_product_data *data, const struct kernel_product *shape) \
    {                                                                                              \
        if (fits(data, shape))                                                                     \
            multiply(data, shape, shape->a_type == KERNEL_F64 ? f64_part_##isa : i32_part_##isa);  \
        else                                                                                       \
            product_ref(data, shape);                                                              \
    }

ISA_VERSIONS(PRODUCT)
