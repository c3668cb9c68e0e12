/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of the products over every type: reals held to gemm_f32_ref, integers and quantised ones to
 * sums that are worked out in another order. */
#include <math.h>

#include "kernels/experts.h"
#include "tests/kernels/harness.h"

/* Sizes, and operands of a batch either of which may be broadcast. */
static void random_product(struct test *test, struct kernel_product *s)
{
    *s = (struct kernel_product){
        .m = test_range(test, 0, 6),
        .n = test_range(test, 1, 7),
        .k = test_range(test, 0, 9),
        .trans_a = test_chance(test, 2),
        .trans_b = test_chance(test, 2),
        .alpha = 1.0,
        .beta = 1.0,
        .batch_rank = (int)test_range(test, 0, 2),
    };
    test_batch(test, s->batch_rank, s->m * s->k, s->k * s->n, s->batch_dims, s->a_batch_stride,
               s->b_batch_stride);
    test_describe(test, "%lldx%lldx%lld trans %d %d, batch rank %d", (long long)s->m,
                  (long long)s->n, (long long)s->k, s->trans_a, s->trans_b, s->batch_rank);
}

static int64_t batches(const struct kernel_product *s)
{
    int64_t count = 1;

    for (int i = 0; i < s->batch_rank; i++)
        count *= s->batch_dims[i];
    return count;
}

/* First element of an operand's matrix in batch number `index`. */
static int64_t matrix_at(const struct kernel_product *s, const int64_t *strides, int64_t index)
{
    int64_t at = 0;

    for (int i = s->batch_rank - 1; i >= 0; i--) {
        at += index % s->batch_dims[i] * strides[i];
        index /= s->batch_dims[i];
    }
    return at;
}

static void check_reals(struct test *test, const struct kernel_table *table,
                        struct kernel_product *s)
{
    size_t y_count = (size_t)(batches(s) * s->m * s->n);
    size_t a_count = (size_t)(batches(s) * s->m * s->k);
    size_t b_count = (size_t)(batches(s) * s->k * s->n);
    struct kernel_gemm gemm = {.m = s->m,
                               .n = s->n,
                               .k = s->k,
                               .trans_a = s->trans_a,
                               .trans_b = s->trans_b,
                               .alpha = 0.5f,
                               .beta = 2.0f,
                               .c_col_stride = 1,
                               .batch_rank = s->batch_rank};
    struct kernel_product_data data = {.a = test_input(test, a_count),
                                       .b = test_input(test, b_count),
                                       .c = test_input(test, (size_t)s->n),
                                       .y = test_output(test, y_count * sizeof(float))};
    struct test_tolerance tolerance = {.absolute = 1e-6, .relative = 1e-6};
    float *want = test_output(test, y_count * sizeof(float));

    for (int i = 0; i < s->batch_rank; i++) {
        gemm.batch_dims[i] = s->batch_dims[i];
        gemm.a_batch_stride[i] = s->a_batch_stride[i];
        gemm.b_batch_stride[i] = s->b_batch_stride[i];
    }
    s->a_type = s->b_type = s->y_type = KERNEL_F32;
    s->alpha = 0.5;
    s->beta = 2.0;
    s->c_col_stride = 1;
    TEST_RUN(test, TEST_REF, gemm_f32_ref(want, data.a, data.b, data.c, &gemm));
    TEST_RUN(test, TEST_NEW, table->product.fn(&data, s));
    test_compare(test, data.y, want, y_count, &tolerance);
}

/* The quantised product: each operand is made real first. */
static void check_quantised(struct test *test, const struct kernel_table *table,
                            struct kernel_product *s)
{
    size_t y_count = (size_t)(batches(s) * s->m * s->n);
    uint8_t *a = test_input_bytes(test, (size_t)(batches(s) * s->m * s->k));
    int8_t *b = test_input_bytes(test, (size_t)(batches(s) * s->k * s->n));
    uint8_t *a_zero = test_input_bytes(test, (size_t)s->m + 1);
    int8_t *b_zero = test_input_bytes(test, (size_t)s->n);
    uint8_t y_zero = 100;
    float *a_scale = test_input(test, (size_t)s->m + 1), *b_scale = test_input(test, (size_t)s->n);
    float y_scale = 70.0f;
    uint8_t *y = test_output(test, y_count);
    struct kernel_product_data data = {.y = y,
                                       .a = a,
                                       .b = b,
                                       .a_zero = a_zero,
                                       .b_zero = b_zero,
                                       .y_zero = &y_zero,
                                       .a_scale = a_scale,
                                       .b_scale = b_scale,
                                       .y_scale = &y_scale};

    s->a_type = s->y_type = KERNEL_U8;
    s->b_type = KERNEL_I8;
    s->scale_type = KERNEL_F32;
    s->a_lines.line_stride = s->b_lines.line_stride = 1;
    TEST_RUN(test, TEST_NEW, table->product.fn(&data, s));
    for (size_t at = 0; at < y_count; at++) {
        int64_t matrix = (int64_t)at / (s->m * s->n), i = (int64_t)at / s->n % s->m;
        int64_t j = (int64_t)at % s->n;
        double sum = 0.0, want;

        for (int64_t p = s->k - 1; p >= 0; p--) {
            int64_t from_a = s->trans_a ? p * s->m + i : i * s->k + p;
            int64_t from_b = s->trans_b ? j * s->k + p : p * s->n + j;

            sum += ((double)a[matrix_at(s, s->a_batch_stride, matrix) + from_a] - a_zero[i]) *
                   (double)a_scale[i] *
                   ((double)b[matrix_at(s, s->b_batch_stride, matrix) + from_b] - b_zero[j]) *
                   (double)b_scale[j];
        }
        want = fmin(fmax(sum / (double)y_scale + y_zero, 0.0), 255.0);
        if (fabs(want - y[at]) > 0.5001)
            test_fail(test, "element %zu is %d, not %g", at, y[at], want);
    }
}

/* f64, int32 and int64, as they lie: the reference's, in another order. */
static void check_plain(struct test *test, const struct kernel_table *table,
                        struct kernel_product *s)
{
    bool is_real = test_chance(test, 2);
    size_t a_count, b_count, y_count;
    struct kernel_product_data data = {0};
    void *a, *b, *want, *got;

    s->m = test_range(test, 0, 25); /* tiles of six and of four rows, and what is left */
    s->n = test_range(test, 1, 70);
    s->k = test_chance(test, 2) ? s->k : test_range(test, 0, 150);
    s->batch_rank = 0;
    s->a_type = s->b_type = s->y_type = is_real                ? KERNEL_F64
                                        : test_chance(test, 2) ? KERNEL_I64
                                                               : KERNEL_I32;
    test_describe(test, "%lldx%lldx%lld of type %d%s%s", (long long)s->m, (long long)s->n,
                  (long long)s->k, (int)s->a_type, s->trans_a ? ", a turned" : "",
                  s->trans_b ? ", b turned" : "");
    a_count = (size_t)(s->m * s->k);
    b_count = (size_t)(s->k * s->n);
    y_count = (size_t)(s->m * s->n);
    data.a = a = test_input_bytes(test, a_count * 8);
    data.b = b = test_input_bytes(test, b_count * 8);
    for (size_t i = 0; is_real && i < a_count; i++)
        ((double *)a)[i] = (double)test_range(test, -1000, 1000);
    for (size_t i = 0; is_real && i < b_count; i++)
        ((double *)b)[i] = (double)test_range(test, -1000, 1000);
    want = test_output(test, y_count * kernel_dtype_bytes(s->y_type));
    got = test_output(test, y_count * kernel_dtype_bytes(s->y_type));
    data.y = want;
    TEST_RUN(test, TEST_REF, product_ref(&data, s));
    data.y = got;
    TEST_RUN(test, TEST_NEW, table->product.fn(&data, s));
    test_compare_bytes(test, got, want, y_count * kernel_dtype_bytes(s->y_type));
}

static void check_product(struct test *test, const struct kernel_table *table)
{
    struct kernel_product s;

    random_product(test, &s);
    if (test_chance(test, 3))
        check_plain(test, table, &s);
    else if (test_chance(test, 2))
        check_reals(test, table, &s);
    else
        check_quantised(test, table, &s);
}

/* "bij,bkj->bik" of int32 as loops. */
static void check_einsum(struct test *test, const struct kernel_table *table)
{
    enum { B, I, K, J };
    int64_t d[4] = {test_range(test, 0, 3), test_range(test, 1, 4), test_range(test, 1, 5),
                    test_range(test, 0, 6)};
    struct kernel_einsum s = {
        .dtype = KERNEL_I32,
        .operands = 2,
        .kept = 3,
        .summed = 1,
        .dims = {d[B], d[I], d[K], d[J]},
        .strides = {{d[I] * d[J], d[J], 0, 1}, {d[K] * d[J], 0, d[J], 1}},
    };
    const int32_t *a = test_input_bytes(test, (size_t)(d[B] * d[I] * d[J]) * sizeof(*a));
    const int32_t *b = test_input_bytes(test, (size_t)(d[B] * d[K] * d[J]) * sizeof(*b));
    int32_t *y = test_output(test, (size_t)(d[B] * d[I] * d[K]) * sizeof(*y));
    const void *operands[] = {a, b};

    test_describe(test, "%lld %lld %lld %lld", (long long)d[B], (long long)d[I], (long long)d[K],
                  (long long)d[J]);
    TEST_RUN(test, TEST_NEW, table->einsum.fn(y, operands, &s));
    for (int64_t at = 0; at < d[B] * d[I] * d[K]; at++) {
        int64_t k = at % d[K], i = at / d[K] % d[I], n = at / d[K] / d[I];
        uint32_t want = 0;

        for (int64_t j = 0; j < d[J]; j++)
            want += (uint32_t)a[(n * d[I] + i) * d[J] + j] * (uint32_t)b[(n * d[K] + k) * d[J] + j];
        if (y[at] != (int32_t)want)
            test_fail(test, "element %lld is %d, not %d", (long long)at, y[at], (int32_t)want);
    }
}

/* Two operands with axes of every kind, in any order in memory: number for number, since sums of small
 * whole numbers are exact. */
static void check_einsum_pairs(struct test *test, const struct kernel_table *table)
{
    static const enum kernel_dtype types[] = {KERNEL_F32, KERNEL_F64, KERNEL_I32, KERNEL_I64};
    struct kernel_einsum s = {.dtype = types[test_range(test, 0, 3)],
                              .operands = 2,
                              .kept = (int)test_range(test, 0, 5),
                              .summed = (int)test_range(test, 0, 3)};
    int axes = s.kept + s.summed;
    int64_t sizes[2] = {1, 1}, count = 1, many = axes > 0 ? test_range(test, 0, axes - 1) : 0;
    size_t bytes = kernel_dtype_bytes(s.dtype);
    void *want, *got;
    const void *x[2];

    for (int i = 0; i < axes; i++) {
        s.dims[i] = test_range(test, 1, i == many ? 40 : 5);
        count *= i < s.kept ? s.dims[i] : 1;
    }
    for (int k = 0; k < 2; k++) {
        bool is_reversed = test_chance(test, 3);
        float *numbers;
        void *data;

        for (int i = 0; i < axes; i++) {
            int axis = is_reversed ? i : axes - 1 - i;

            if (test_chance(test, 3))
                continue; /* not its axis */
            s.strides[k][axis] = sizes[k];
            sizes[k] *= s.dims[axis];
        }
        numbers = test_input(test, (size_t)sizes[k]);
        for (int64_t i = 0; i < sizes[k]; i++)
            numbers[i] = (float)test_range(test, -9, 9);
        x[k] = data = test_output(test, (size_t)sizes[k] * bytes);
        cast_ref(data, s.dtype, numbers, KERNEL_F32, (size_t)sizes[k]);
    }
    test_describe(test, "%d kept, %d summed, %lld elements of type %d", s.kept, s.summed,
                  (long long)count, (int)s.dtype);
    want = test_output(test, (size_t)count * bytes);
    got = test_output(test, (size_t)count * bytes);
    TEST_RUN(test, TEST_REF, einsum_ref(want, x, &s));
    TEST_RUN(test, TEST_NEW, table->einsum.fn(got, x, &s));
    for (int64_t i = 0; i < count; i++) {
        double a, b;

        cast_ref(&a, KERNEL_F64, (char *)got + (size_t)i * bytes, s.dtype, 1);
        cast_ref(&b, KERNEL_F64, (char *)want + (size_t)i * bytes, s.dtype, 1);
        if (a != b)
            test_fail(test, "element %lld is %g, not %g", (long long)i, a, b);
    }
}

/* One to three operands of types whose sums are exact; some have an axis twice. */
static void check_einsum_types(struct test *test, const struct kernel_table *table)
{
    static const enum kernel_dtype types[] = {KERNEL_F32, KERNEL_F64, KERNEL_I32, KERNEL_I64,
                                              KERNEL_I8};
    struct kernel_einsum s = {.dtype = types[test_range(test, 0, 4)],
                              .operands = (int)test_range(test, 1, 3),
                              .kept = (int)test_range(test, 0, 3),
                              .summed = (int)test_range(test, 0, 2)};
    int axes = s.kept + s.summed, wide = axes > 0 ? (int)test_range(test, 0, axes - 1) : 0;
    size_t bytes = kernel_dtype_bytes(s.dtype);
    const void *x[3] = {NULL};
    int64_t count = 1;
    void *want, *got;

    for (int i = 0; i < axes; i++) {
        s.dims[i] = test_chance(test, 20) ? 0 : test_range(test, 1, i == wide ? 600 : 5);
        count *= i < s.kept ? s.dims[i] : 1;
    }
    for (int k = 0; k < s.operands; k++) {
        bool is_reversed = test_chance(test, 3), is_dense = test_chance(test, 2);
        int64_t size = 1, room = 1;
        float *numbers;
        void *data;

        for (int i = 0; i < axes; i++) {
            int axis = is_reversed ? i : axes - 1 - i;

            if (!is_dense && test_chance(test, 4))
                continue; /* not its axis */
            s.strides[k][axis] = size + (!is_dense && test_chance(test, 6));
            room += s.dims[axis] > 0 ? (s.dims[axis] - 1) * s.strides[k][axis] : 0;
            size *= s.dims[axis] + !is_dense;
        }
        numbers = test_input(test, (size_t)room);
        for (int64_t i = 0; i < room; i++)
            numbers[i] = (float)test_range(test, -9, 9);
        data = test_output(test, (size_t)room * bytes);
        cast_ref(data, s.dtype, numbers, KERNEL_F32, (size_t)room);
        x[k] = data;
    }
    test_describe(test, "%d operands of type %d, %d kept, %d summed, %lld elements", s.operands,
                  (int)s.dtype, s.kept, s.summed, (long long)count);
    want = test_output(test, (size_t)count * bytes);
    got = test_output(test, (size_t)count * bytes);
    TEST_RUN(test, TEST_REF, einsum_ref(want, x, &s));
    TEST_RUN(test, TEST_NEW, table->einsum.fn(got, x, &s));
    for (int64_t i = 0; s.dtype == KERNEL_F32 && i < count; i++) /* of either sign */
        if (((float *)got)[i] == 0 && ((float *)want)[i] == 0)
            ((float *)got)[i] = ((float *)want)[i];
    for (int64_t i = 0; s.dtype == KERNEL_F64 && i < count; i++)
        if (((double *)got)[i] == 0 && ((double *)want)[i] == 0)
            ((double *)got)[i] = ((double *)want)[i];
    test_compare_bytes(test, got, want, (size_t)count * bytes);
}

/* Of a product of two triangles, whose rows are exchanged now and then, it is known. */
static void check_determinant(struct test *test, const struct kernel_table *table)
{
    struct kernel_determinant s = {
        .dtype = KERNEL_F32, .batch = test_range(test, 0, 3), .size = test_range(test, 0, 7)};
    size_t n = (size_t)s.size, size = n * n;
    float *x = test_input(test, (size_t)s.batch * size), *low = test_input(test, size);
    float *high = test_input(test, size),
          *want = test_output(test, (size_t)s.batch * sizeof(float));
    float *got = test_output(test, (size_t)s.batch * sizeof(float));
    double *workspace = test_output(test, size * sizeof(double));

    test_describe(test, "%lld of size %zu", (long long)s.batch, n);
    for (int64_t b = 0; b < s.batch; b++) {
        float *matrix = x + (size_t)b * size;
        size_t first = (size_t)test_range(test, 0, (int64_t)n),
               second = (size_t)test_range(test, 0, (int64_t)n);
        double product = first < n && second < n && first != second ? -1.0 : 1.0;

        for (size_t i = 0; i < size; i++) {
            size_t row = i / n, column = i % n;

            low[i] = row == column ? 1.0f : row > column ? (float)test_range(test, -2, 2) : 0.0f;
            high[i] = row <= column ? (float)test_range(test, -3, 3) : 0.0f;
            product *= row == column ? (double)high[i] : 1.0;
        }
        for (size_t i = 0; i < size; i++) {
            size_t row = i / n, to = row;

            if (first < n && second < n)
                to = row == first ? second : row == second ? first : row;
            matrix[to * n + i % n] = 0.0f;
            for (size_t k = 0; k < n; k++)
                matrix[to * n + i % n] += low[row * n + k] * high[k * n + i % n];
        }
        want[b] = (float)product;
    }
    TEST_RUN(test, TEST_NEW, table->determinant.fn(got, x, workspace, &s));
    test_compare(test, got, want, (size_t)s.batch,
                 &(struct test_tolerance){.absolute = 1e-5, .relative = 1e-5});
}

/* Of a product of two triangles with ones on the diagonal, whole numbers and rows exchanged: times it, the
 * identity. */
static void check_inverse(struct test *test, const struct kernel_table *table)
{
    struct kernel_determinant s = {
        .dtype = KERNEL_F32, .batch = test_range(test, 0, 3), .size = test_range(test, 0, 5)};
    size_t n = (size_t)s.size, size = n * n;
    float *x = test_input(test, (size_t)s.batch * size), *low = test_input(test, size);
    float *high = test_input(test, size);
    float *got = test_output(test, (size_t)s.batch * size * sizeof(float));
    float *want = test_output(test, size * sizeof(float));
    float *product = test_output(test, size * sizeof(float));
    double *workspace = test_output(test, 2 * size * sizeof(double));

    test_describe(test, "%lld of size %zu", (long long)s.batch, n);
    for (size_t i = 0; i < (size_t)s.batch * size; i++) {
        size_t at = i % size, turn = n ? (at / n + i / size) % n : 0;

        if (at == 0)
            for (size_t k = 0; k < size; k++) {
                float number = (float)test_range(test, -2, 2);

                want[k] = k / n == k % n ? 1.0f : 0.0f;
                low[k] = k / n > k % n ? number : want[k];
                high[k] = k / n < k % n ? number : want[k];
            }
        x[i] = 0.0f;
        for (size_t k = 0; k < n; k++)
            x[i] += low[turn * n + k] * high[k * n + at % n];
    }
    TEST_RUN(test, TEST_NEW, table->inverse.fn(got, x, workspace, &s));
    for (size_t first = 0; first < (size_t)s.batch * size; first += size) {
        for (size_t i = 0; i < size; i++) {
            product[i] = 0.0f;
            for (size_t k = 0; k < n; k++)
                product[i] += got[first + i / n * n + k] * x[first + k * n + i % n];
        }
        test_compare(test, product, want, size, &(struct test_tolerance){.absolute = 1e-2});
    }
}

/* Rows by the matrices that they choose, one of which now and then is none. */
static void check_experts(struct test *test, const struct kernel_table *table)
{
    int64_t tokens = test_chance(test, 20) ? 700 : test_range(test, 0, 30);
    struct kernel_experts s = {.experts = test_range(test, 1, 5),
                               .k = test_range(test, 0, 40),
                               .n = test_range(test, 1, 70),
                               .each = test_range(test, 1, 3)};
    bool is_wrong = tokens > 0 && test_chance(test, 8);
    struct kernel_experts_data data = {0};
    size_t count;
    int64_t *chosen;
    float *want, *got;
    int old = 0, new = 0;

    s.dtype = KERNEL_F32;
    s.rows = tokens * s.each;
    count = (size_t)(s.rows * s.n);
    test_describe(test, "%lld rows of %lld, %lld each by %lld matrices of %lld columns%s",
                  (long long)tokens, (long long)s.k, (long long)s.each, (long long)s.experts,
                  (long long)s.n, is_wrong ? ", one that is not there" : "");
    data.x = test_input(test, (size_t)(tokens * s.k));
    data.w = test_input(test, (size_t)(s.experts * s.k * s.n));
    data.bias = test_chance(test, 2) ? test_input(test, (size_t)(s.experts * s.n)) : NULL;
    data.chosen = chosen = test_output(test, (size_t)s.rows * sizeof(*chosen));
    for (int64_t i = 0; i < s.rows; i++)
        chosen[i] = test_range(test, 0, s.experts - 1);
    if (is_wrong)
        chosen[test_range(test, 0, s.rows - 1)] = test_chance(test, 2) ? -1 : s.experts;
    data.y = want = test_output(test, count * sizeof(*want));
    TEST_RUN(test, TEST_REF, old = experts_ref(&data, &s, NULL));
    data.y = got = test_output(test, count * sizeof(*got));
    data.workspace = test_output(test, kernel_experts_room(&s));
    TEST_RUN(test, TEST_NEW, new = experts_grouped(&data, &s, table->gemm_f32.fn));
    if (old != new || old != (is_wrong ? -1 : 0))
        test_fail(test, "returned %d, the reference %d", new, old);
    if (!is_wrong)
        test_compare(test, got, want, count,
                     &(struct test_tolerance){.absolute = (1e-6 + 2e-7 * sqrt((double)s.k)) *
                                                          (double)(s.k + 1)});
}

const struct test_op test_ops_product[] = {
    {"experts", check_experts, offsetof(struct kernel_table, gemm_f32)},
    {"inverse", check_inverse, offsetof(struct kernel_table, inverse)},
    {"determinant", check_determinant, offsetof(struct kernel_table, determinant)},
    {"product", check_product, offsetof(struct kernel_table, product)},
    {"einsum", check_einsum, offsetof(struct kernel_table, einsum)},
    {"einsum_types", check_einsum_types, offsetof(struct kernel_table, einsum)},
    {"einsum_pairs", check_einsum_pairs, offsetof(struct kernel_table, einsum)},
};
const size_t test_ops_product_count = sizeof(test_ops_product) / sizeof(test_ops_product[0]);
