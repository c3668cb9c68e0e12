/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products of f64 and int32: four rows by two registers of columns at a time, both matrices
 * as they lie. Transposed ones, sums and other types are the reference's. */
#include "kernels/cpu/isa.h"
#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

enum {
    ROWS = 4,
    GRAIN = 1 << 16, /* products that are worth a second thread */
};

typedef double doubles __attribute__((vector_size(64), aligned(8), may_alias));
typedef uint32_t wholes __attribute__((vector_size(64), aligned(4), may_alias));

struct product {
    void *y;
    const void *a, *b;
    const struct kernel_product *shape;
};

/* Rows [begin, end) of one product, `lanes` elements in a register. */
#define MATRIX(name, type, vector, lanes)                                                          \
    ISA_BODY void name##_tile(type *y, const type *a, const type *b, int64_t n, int64_t k)         \
    {                                                                                              \
        vector s00 = {0}, s01 = {0}, s10 = {0}, s11 = {0};                                         \
        vector s20 = {0}, s21 = {0}, s30 = {0}, s31 = {0};                                         \
                                                                                                   \
        for (int64_t p = 0; p < k; p++) {                                                          \
            vector left = *(const vector *)(b + p * n);                                            \
            vector right = *(const vector *)(b + p * n + (lanes));                                 \
                                                                                                   \
            s00 += a[p] * left;                                                                    \
            s01 += a[p] * right;                                                                   \
            s10 += a[k + p] * left;                                                                \
            s11 += a[k + p] * right;                                                               \
            s20 += a[2 * k + p] * left;                                                            \
            s21 += a[2 * k + p] * right;                                                           \
            s30 += a[3 * k + p] * left;                                                            \
            s31 += a[3 * k + p] * right;                                                           \
        }                                                                                          \
        *(vector *)y = s00;                                                                        \
        *(vector *)(y + (lanes)) = s01;                                                            \
        *(vector *)(y + n) = s10;                                                                  \
        *(vector *)(y + n + (lanes)) = s11;                                                        \
        *(vector *)(y + 2 * n) = s20;                                                              \
        *(vector *)(y + 2 * n + (lanes)) = s21;                                                    \
        *(vector *)(y + 3 * n) = s30;                                                              \
        *(vector *)(y + 3 * n + (lanes)) = s31;                                                    \
    }                                                                                              \
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
    ISA_BODY void name##_rows(const struct product *m, int64_t begin, int64_t end)                 \
    {                                                                                              \
        int64_t n = m->shape->n, k = m->shape->k, whole = n / (2 * (lanes)) * (2 * (lanes));       \
        type *y = m->y;                                                                            \
        const type *a = m->a, *b = m->b;                                                           \
                                                                                                   \
        for (int64_t i = begin; i < end;) {                                                        \
            int64_t rows = end - i < ROWS ? 1 : ROWS;                                              \
                                                                                                   \
            for (int64_t j = 0; rows == ROWS && j < whole; j += 2 * (lanes))                       \
                name##_tile(y + i * n + j, a + i * k, b + j, n, k);                                \
            for (int64_t r = i; r < i + rows; r++)                                                 \
                name##_row(y + r * n, a + r * k, b, rows == ROWS ? whole : 0, n, k);               \
            i += rows;                                                                             \
        }                                                                                          \
    }

MATRIX(f64, double, doubles, 8)
MATRIX(i32, uint32_t, wholes, 16)

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
    ISA_TARGET_##isa static void f64_part_##isa(void *argument, int64_t begin, int64_t end)        \
    {                                                                                              \
        f64_rows(argument, begin, end);                                                            \
    }                                                                                              \
                                                                                                   \
    ISA_TARGET_##isa static void i32_part_##isa(void *argument, int64_t begin, int64_t end)        \
    {                                                                                              \
        i32_rows(argument, begin, end);                                                            \
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
