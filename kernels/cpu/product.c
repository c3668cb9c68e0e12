/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products of f64, int32 and int64: six or four rows by two registers of columns at a time, from
 * columns that are copied together first, as rows of a transposed left matrix are. Other types are the
 * reference's. */
#include <string.h>

#include "kernels/cpu/isa.h"
#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

enum {
    ROWS = 4,              /* of the smaller tile */
    MORE = 6,              /* of the larger one */
    DEPTH = 256,           /* of the columns that are copied at once */
    COPIED = 16,           /* of each, one after another */
    COPY = DEPTH * 2 * 64, /* bytes of these, at most */
    GRAIN = 1 << 16,       /* products that are worth a second thread */
};

struct product {
    void *y;
    const void *a, *b, *c; /* c: NULL: none */
    const struct kernel_product *shape;
    int64_t a_row, a_col, b_row, b_col; /* from one to the next, in elements */
};

#define EACH_4(DO) DO(0) DO(1) DO(2) DO(3)
#define EACH_6(DO) EACH_4(DO) DO(4) DO(5)

#define BEGIN(r)                                                                                   \
    vector s##r = *(const vector *)(y + (r)*n), t##r = *(const vector *)(y + (r)*n + LANES);
#define ADD(r)                                                                                     \
    s##r += a[(r)*line + p] * left;                                                                \
    t##r += a[(r)*line + p] * right;
#define STORE(r)                                                                                   \
    *(vector *)(y + (r)*n) = s##r;                                                                 \
    *(vector *)(y + (r)*n + LANES) = t##r;

/* The sums of some rows of a, `line` apart, by `depth` rows of copied columns go on in y. Written
 * out, so that they stay in registers. */
#define TILE(name, rows, type, bytes)                                                              \
    ISA_BODY void name##_tile_##rows(type *y, int64_t n, const type *a, int64_t line,              \
                                     const type *b, int64_t depth)                                 \
    {                                                                                              \
        enum { LANES = (bytes) / sizeof(type) };                                                   \
        typedef type vector __attribute__((vector_size(bytes), aligned(sizeof(type)), may_alias)); \
                                                                                                   \
        EACH_##rows(BEGIN) for (int64_t p = 0; p < depth; p++, b += 2 * LANES)                     \
        {                                                                                          \
            vector left = *(const vector *)b, right = *(const vector *)(b + LANES);                \
                                                                                                   \
            EACH_##rows(ADD)                                                                       \
        }                                                                                          \
        EACH_##rows(STORE)                                                                         \
    }

/* The sum of the products of two rows, by registers that do not wait for each other. */
#define DOT(name, type, bytes)                                                                     \
    ISA_BODY type name##_dot(const type *a, const type *b, int64_t k)                              \
    {                                                                                              \
        enum { LANES = (bytes) / sizeof(type) };                                                   \
        typedef type vector __attribute__((vector_size(bytes), aligned(sizeof(type)), may_alias)); \
        vector s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};                                             \
        type sum = 0;                                                                              \
        int64_t p = 0;                                                                             \
                                                                                                   \
        for (; p + 4 * LANES <= k; p += 4 * LANES) {                                               \
            s0 += *(const vector *)(a + p) * *(const vector *)(b + p);                             \
            s1 += *(const vector *)(a + p + LANES) * *(const vector *)(b + p + LANES);             \
            s2 += *(const vector *)(a + p + 2 * LANES) * *(const vector *)(b + p + 2 * LANES);     \
            s3 += *(const vector *)(a + p + 3 * LANES) * *(const vector *)(b + p + 3 * LANES);     \
        }                                                                                          \
        for (; p + LANES <= k; p += LANES)                                                         \
            s0 += *(const vector *)(a + p) * *(const vector *)(b + p);                             \
        s0 += s1 + (s2 + s3);                                                                      \
        for (int lane = 0; lane < LANES; lane++)                                                   \
            sum += s0[lane];                                                                       \
        for (; p < k; p++)                                                                         \
            sum += a[p] * b[p];                                                                    \
        return sum;                                                                                \
    }

/* How many of `left` rows come next. An even number from 4 stays one, until none is left. */
static inline int64_t tile_rows(int64_t left)
{
    return left >= MORE && left != 2 * (int64_t)ROWS ? MORE : ROWS;
}

static inline int64_t even_rows(int64_t rows)
{
    return rows < ROWS ? 0 : rows / 2 * 2;
}

/* Rows [begin, end) of one product. */
#define MATRIX(name, type, bytes)                                                                  \
    enum { name##_wide = 2 * (bytes) / sizeof(type) };                                             \
    TILE(name, 4, type, bytes)                                                                     \
    TILE(name, 6, type, bytes)                                                                     \
                                                                                                   \
    DOT(name, type, bytes)                                                                         \
                                                                                                   \
    /* One row of the columns [first, n). */                                                       \
    ISA_BODY void name##_row(const struct product *m, type *restrict y, const type *restrict a,    \
                             int64_t first)                                                        \
    {                                                                                              \
        enum { LANES = (bytes) / sizeof(type) };                                                   \
        typedef type vector __attribute__((vector_size(bytes), aligned(sizeof(type)), may_alias)); \
        const type *restrict b = m->b;                                                             \
        int64_t n = m->shape->n, k = m->shape->k;                                                  \
                                                                                                   \
        /* Few columns stay in registers. */                                                       \
        for (; m->b_col == 1 && n - first < name##_wide && n - first >= LANES; first += LANES) {   \
            vector sum = {0};                                                                      \
                                                                                                   \
            for (int64_t p = 0; p < k; p++)                                                        \
                sum += a[p * m->a_col] * *(const vector *)(b + p * m->b_row + first);              \
            *(vector *)(y + first) = sum;                                                          \
        }                                                                                          \
        for (int64_t j = first; j < n; j++)                                                        \
            y[j] = 0;                                                                              \
        for (int64_t p = 0; m->b_col == 1 && p < k; p++)                                           \
            for (int64_t j = first; j < n; j++)                                                    \
                y[j] += a[p * m->a_col] * b[p * m->b_row + j];                                     \
        for (int64_t j = first; m->b_col != 1 && j < n; j++)                                       \
            if (m->a_col == 1 && m->b_row == 1)                                                    \
                y[j] = name##_dot(a, b + j * m->b_col, k);                                         \
            else                                                                                   \
                for (int64_t p = 0; p < k; p++)                                                    \
                    y[j] += a[p * m->a_col] * b[p * m->b_row + j * m->b_col];                      \
    }                                                                                              \
                                                                                                   \
    /* `depth` rows of b from p on, of two registers of columns from j on. */                      \
    ISA_BODY void name##_copy(const struct product *m, type *restrict to, int64_t p, int64_t j,    \
                              int64_t depth)                                                       \
    {                                                                                              \
        const type *restrict from = (const type *)m->b + p * m->b_row + j * m->b_col;              \
                                                                                                   \
        for (int64_t q = 0; m->b_col == 1 && q < depth; q++)                                       \
            memcpy(to + q * name##_wide, from + q * m->b_row, name##_wide * sizeof(*to));          \
        /* A line of the cache of each column at a time: what is written would not stay there. */  \
        for (int64_t first = 0; m->b_col != 1 && first < depth; first += COPIED) {                 \
            int64_t last = depth - first < COPIED ? depth : first + COPIED;                        \
                                                                                                   \
            for (int64_t i = 0; i < name##_wide; i++)                                              \
                for (int64_t q = first; q < last; q++)                                             \
                    to[q * name##_wide + i] = from[i * m->b_col + q * m->b_row];                   \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    /* Some rows of a from p on, as the tiles take them: `turned`, or as they lie. */              \
    ISA_BODY const type *name##_rows_of(const struct product *m, const type *a, type *turned,      \
                                        int64_t rows, int64_t depth)                               \
    {                                                                                              \
        if (m->a_col == 1)                                                                         \
            return a;                                                                              \
        for (int64_t q = 0; q < depth; q++)                                                        \
            for (int64_t i = 0; i < rows; i++)                                                     \
                turned[i * DEPTH + q] = a[q * m->a_col + i * m->a_row];                            \
        return turned;                                                                             \
    }                                                                                              \
                                                                                                   \
    /* Two registers of columns from j on of `rows` rows, an even number. */                       \
    ISA_BODY void name##_columns(const struct product *m, type *y, const type *a, int64_t j,       \
                                 int64_t rows)                                                     \
    {                                                                                              \
        type copy[COPY / sizeof(type)], turned[MORE * DEPTH];                                      \
        int64_t n = m->shape->n, k = m->shape->k, line = m->a_col == 1 ? m->a_row : DEPTH;         \
                                                                                                   \
        for (int64_t i = 0; i < rows; i++)                                                         \
            memset(y + i * n, 0, name##_wide * sizeof(*y));                                        \
        for (int64_t p = 0; p < k; p += DEPTH) {                                                   \
            int64_t depth = k - p < DEPTH ? k - p : DEPTH;                                         \
                                                                                                   \
            name##_copy(m, copy, p, j, depth);                                                     \
            for (int64_t i = 0, step; i < rows; i += step) {                                       \
                const type *from;                                                                  \
                                                                                                   \
                step = tile_rows(rows - i);                                                        \
                from = name##_rows_of(m, a + i * m->a_row + p * m->a_col, turned, step, depth);    \
                if (step == MORE)                                                                  \
                    name##_tile_6(y + i * n, n, from, line, copy, depth);                          \
                else                                                                               \
                    name##_tile_4(y + i * n, n, from, line, copy, depth);                          \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    /* y = alpha * y + beta * c */                                                                 \
    ISA_BODY void name##_finish(const struct product *m, type *restrict y, int64_t row)            \
    {                                                                                              \
        const struct kernel_product *s = m->shape;                                                 \
        const type *restrict c = m->c;                                                             \
        type alpha = (type)s->alpha, beta = (type)s->beta;                                         \
                                                                                                   \
        for (int64_t j = 0; s->alpha != 1.0 && j < s->n; j++)                                      \
            y[j] *= alpha;                                                                         \
        if (c)                                                                                     \
            c += row * s->c_row_stride;                                                            \
        for (int64_t j = 0; c && j < s->n; j++)                                                    \
            y[j] += beta * c[j * s->c_col_stride];                                                 \
    }                                                                                              \
                                                                                                   \
    ISA_BODY void name##_rows(const struct product *m, int64_t begin, int64_t end)                 \
    {                                                                                              \
        int64_t n = m->shape->n, rows = even_rows(end - begin);                                    \
        int64_t columns = n / name##_wide * name##_wide;                                           \
        type *y = (type *)m->y + begin * n;                                                        \
        const type *a = (const type *)m->a + begin * m->a_row;                                     \
                                                                                                   \
        for (int64_t j = 0; rows > 0 && j < columns; j += name##_wide)                             \
            name##_columns(m, y + j, a, j, rows);                                                  \
        for (int64_t i = 0; i < end - begin; i++) {                                                \
            name##_row(m, y + i * n, a + i * m->a_row, i < rows ? columns : 0);                    \
            name##_finish(m, y + i * n, begin + i);                                                \
        }                                                                                          \
    }

static bool fits(const struct kernel_product_data *d, const struct kernel_product *s)
{
    return s->a_type == s->b_type && s->a_type == s->y_type && !d->a_zero && !d->b_zero &&
           !d->y_scale &&
           (s->a_type == KERNEL_F64 || ((s->a_type == KERNEL_I32 || s->a_type == KERNEL_I64) &&
                                        s->alpha == 1.0 && (!d->c || s->beta == 1.0)));
}

static void multiply(const struct kernel_product_data *d, const struct kernel_product *s,
                     team_fn *rows)
{
    int64_t bytes = (int64_t)kernel_dtype_bytes(s->y_type), count = 1;

    for (int i = 0; i < s->batch_rank; i++)
        count *= s->batch_dims[i];
    for (int64_t index = 0; index < count; index++) {
        int64_t a = 0, b = 0, rest = index;
        struct product m = {.shape = s,
                            .c = s->beta == 0.0 ? NULL : d->c,
                            .a_row = s->trans_a ? 1 : s->k,
                            .a_col = s->trans_a ? s->m : 1,
                            .b_row = s->trans_b ? 1 : s->n,
                            .b_col = s->trans_b ? s->k : 1};

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
    MATRIX(i64_##isa, uint64_t, ISA_BYTES_##isa)                                                   \
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
    ISA_TARGET_##isa static void i64_part_##isa(void *argument, int64_t begin, int64_t end)        \
    {                                                                                              \
        i64_##isa##_rows(argument, begin, end);                                                    \
    }                                                                                              \
                                                                                                   \
    void product_##isa(const struct kernel_product_data *data, const struct kernel_product *shape) \
    {                                                                                              \
        if (fits(data, shape))                                                                     \
            multiply(data, shape,                                                                  \
                     shape->a_type == KERNEL_F64   ? f64_part_##isa                                \
                     : shape->a_type == KERNEL_I32 ? i32_part_##isa                                \
                                                   : i64_part_##isa);                              \
        else                                                                                       \
            product_ref(data, shape);                                                              \
    }

ISA_VERSIONS(PRODUCT)
