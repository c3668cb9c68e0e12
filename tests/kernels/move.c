/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of the kernels that move elements. */
#include <math.h>
#include <string.h>

#include "tests/kernels/harness.h"

/* A permutation of the axes, sometimes with an axis repeated (stride 0) or reversed: what
 * Transpose, Tile, Slice and the changes of layout ask for. */
static void check_copy(struct test *test, const struct kernel_table *table)
{
    static const size_t sizes[] = {1, 2, 4, 8};
    bool is_long = test_chance(test, 3); /* along all axes: blocks of 8 by 8 */
    struct kernel_copy s = {
        .element_bytes = test_chance(test, 3) ? 4 : sizes[test_range(test, 0, 3)],
        .rank = (int)(is_long ? test_range(test, 2, 3) : test_range(test, 0, 5)),
    };
    int64_t y_stride = 1, x_stride = 1, x_offset = 0;
    int order[KERNEL_MAX_AXES];
    char *x, *want, *got;

    for (int i = s.rank - 1; i >= 0; i--) {
        s.dims[i] = test_range(test, 1, is_long || test_chance(test, 3) ? 37 : 6);
        if (i == s.rank - 1 && test_chance(test, 4))
            s.dims[i] = 2; /* which is done in pairs */
        s.y_stride[i] = y_stride;
        y_stride *= s.dims[i];
        order[i] = i;
    }
    for (int i = s.rank - 1; i > 0 && !test_chance(test, 4); i--) {
        int j = (int)test_range(test, 0, i), other = order[i];

        order[i] = order[j];
        order[j] = other;
    }
    for (int i = s.rank - 1; i >= 0; i--) {
        int axis = order[i];

        if (test_chance(test, 8)) {
            s.x_stride[axis] = 0;
            continue;
        }
        s.x_stride[axis] = x_stride;
        x_stride *= s.dims[axis];
        if (test_chance(test, 8)) {
            x_offset += (s.dims[axis] - 1) * s.x_stride[axis];
            s.x_stride[axis] = -s.x_stride[axis];
        }
    }
    if (s.rank > 1 && test_chance(test, 4)) { /* not as y has them */
        int i = (int)test_range(test, 0, s.rank - 2), j = s.rank - 1;
        int64_t dim = s.dims[i], y = s.y_stride[i], other = s.x_stride[i];

        s.dims[i] = s.dims[j];
        s.y_stride[i] = s.y_stride[j];
        s.x_stride[i] = s.x_stride[j];
        s.dims[j] = dim;
        s.y_stride[j] = y;
        s.x_stride[j] = other;
    }
    test_describe(test, "rank %d, %lld elements of %zu bytes from %lld", s.rank,
                  (long long)y_stride, s.element_bytes, (long long)x_stride);
    x = test_input_bytes(test, (size_t)x_stride * s.element_bytes);
    want = test_output(test, (size_t)y_stride * s.element_bytes);
    got = test_output(test, (size_t)y_stride * s.element_bytes);
    x += x_offset * (int64_t)s.element_bytes;
    TEST_RUN(test, TEST_REF, copy_ref(want, x, &s));
    TEST_RUN(test, TEST_NEW, table->copy.fn(got, x, &s));
    test_compare_bytes(test, got, want, (size_t)y_stride * s.element_bytes);
}

/* Where NumPy's pad looks, by walking instead of by division; -1: the constant. */
static int64_t walk(int64_t from, int64_t dim, enum kernel_pad_mode mode)
{
    int64_t at = from < 0 ? 0 : dim - 1, step = from < 0 ? -1 : 1;
    int64_t left = from < 0 ? -from : from - (dim - 1);

    if (from >= 0 && from < dim)
        return from;
    if (mode == KERNEL_PAD_CONSTANT)
        return -1;
    for (; mode != KERNEL_PAD_EDGE && dim > 1 && left > 0; left--) {
        if (at + step < 0 || at + step >= dim) {
            at = mode == KERNEL_PAD_WRAP ? (step < 0 ? dim : -1) : at;
            step = mode == KERNEL_PAD_WRAP ? step : -step;
        }
        at += step;
    }
    return at;
}

/* The same for output o of an axis, in what is left of it when both ends are cut off. */
static int64_t walk_kept(const struct kernel_pad *s, int axis, int64_t o)
{
    int64_t end = s->y_dims[axis] - s->x_dims[axis] - s->begin[axis], kept = s->x_dims[axis], at;
    int64_t first = 0, from = o - s->begin[axis];

    for (; s->begin[axis] + first < 0; first++, from--)
        kept--;
    for (; end < 0; end++)
        kept--;
    at = walk(from, kept, s->mode);
    return at < 0 ? at : first + at;
}

/* Two axes of int16, so that both the constant and what is mirrored show. */
static void check_pad(struct test *test, const struct kernel_table *table)
{
    struct kernel_pad s = {.element_bytes = 2,
                           .mode = (enum kernel_pad_mode)test_range(test, 0, KERNEL_PAD_WRAP),
                           .rank = 2};
    size_t count = 1;
    int16_t *x, *y, value = -7;

    for (int i = 0; i < 2; i++) {
        s.x_dims[i] = test_range(test, 1, 5);
        /* At least one element is left of what either end cuts off. */
        s.begin[i] = test_range(test, 1 - s.x_dims[i], 9);
        s.y_dims[i] = s.x_dims[i] + s.begin[i];
        s.y_dims[i] += test_range(test, 1 - (s.begin[i] < 0 ? s.y_dims[i] : s.x_dims[i]), 9);
        count *= (size_t)s.y_dims[i];
    }
    test_describe(test, "%lldx%lld to %lldx%lld at %lld %lld, mode %d", (long long)s.x_dims[0],
                  (long long)s.x_dims[1], (long long)s.y_dims[0], (long long)s.y_dims[1],
                  (long long)s.begin[0], (long long)s.begin[1], (int)s.mode);
    x = test_input_bytes(test, (size_t)(s.x_dims[0] * s.x_dims[1]) * sizeof(*x));
    y = test_output(test, count * sizeof(*y));
    TEST_RUN(test, TEST_NEW, table->pad.fn(y, x, &value, &s));
    for (int64_t i = 0; i < (int64_t)count; i++) {
        int64_t row = walk_kept(&s, 0, i / s.y_dims[1]);
        int64_t col = walk_kept(&s, 1, i % s.y_dims[1]);
        int16_t want = row < 0 || col < 0 ? value : x[row * s.x_dims[1] + col];

        if (y[i] != want)
            test_fail(test, "element %lld is %d, not %d", (long long)i, y[i], want);
    }
}

/* More axes and other sizes of elements, some of them enough for two threads: the reference's. */
static void check_pad_ranks(struct test *test, const struct kernel_table *table)
{
    struct kernel_pad s = {.element_bytes = (size_t)1 << test_range(test, 0, 3),
                           .mode = (enum kernel_pad_mode)test_range(test, 0, KERNEL_PAD_WRAP),
                           .rank = (int)test_range(test, 1, 4)};
    int64_t limit = s.rank < 4 && test_chance(test, 8) ? 60 : 5, value = 0x0102030405060708;
    size_t x_count = 1, y_count = 1;
    void *x, *want, *got;

    for (int i = 0; i < s.rank; i++) {
        s.x_dims[i] = test_range(test, 1, limit);
        s.begin[i] = test_range(test, 0, 3);
        s.y_dims[i] = s.x_dims[i] + s.begin[i] + test_range(test, 0, 3);
        if (test_chance(test, 4) && s.x_dims[i] > 1) { /* cut off in front */
            s.y_dims[i] -= s.begin[i] + 1;
            s.begin[i] = -1;
        }
        if (test_chance(test, 12)) /* behind */
            s.y_dims[i] = s.begin[i] < 0 ? test_range(test, 1, s.x_dims[i] - 1)
                                         : s.begin[i] + test_range(test, 1, s.x_dims[i]);
        if (test_chance(test, 24))
            s.y_dims[i] = 0;
        x_count *= (size_t)s.x_dims[i];
        y_count *= (size_t)s.y_dims[i];
    }
    test_describe(test, "rank %d, %zu to %zu of %zu bytes, mode %d", s.rank, x_count, y_count,
                  s.element_bytes, (int)s.mode);
    x = test_input_bytes(test, x_count * s.element_bytes);
    want = test_output(test, y_count * s.element_bytes);
    got = test_output(test, y_count * s.element_bytes);
    TEST_RUN(test, TEST_REF, pad_ref(want, x, &value, &s));
    TEST_RUN(test, TEST_NEW, table->pad.fn(got, x, &value, &s));
    test_compare_bytes(test, got, want, y_count * s.element_bytes);
}

static void check_fill(struct test *test, const struct kernel_table *table)
{
    static const size_t sizes[] = {1, 2, 4, 8};
    size_t bytes = sizes[test_range(test, 0, 3)], count = (size_t)test_range(test, 0, 99);
    char *value = test_input_bytes(test, bytes), *y = test_output(test, count * bytes);

    test_describe(test, "%zu elements of %zu bytes", count, bytes);
    TEST_RUN(test, TEST_NEW, table->fill.fn(y, value, bytes, count));
    for (size_t i = 0; i < count; i++)
        test_compare_bytes(test, y + i * bytes, value, bytes);
}

/* Slices by index, some from the end; one beyond the axis is refused. */
static void check_gather(struct test *test, const struct kernel_table *table)
{
    const bool is_large = test_chance(test, 50); /* enough for more threads than one */
    struct kernel_gather s = {
        .outer = (size_t)test_range(test, 0, 3),
        .axis = (size_t)test_range(test, 1, 6),
        .inner_bytes = (size_t)(is_large ? test_range(test, 3000, 9000) : test_range(test, 0, 9)),
        .index_count = (size_t)test_range(test, 0, is_large ? 60 : 8)};
    char *x = test_input_bytes(test, s.outer * s.axis * s.inner_bytes);
    char *y = test_output(test, s.outer * s.index_count * s.inner_bytes);
    int64_t *indices = test_input_bytes(test, s.index_count * sizeof(*indices));
    int64_t axis = (int64_t)s.axis;
    int rc = 0;

    test_describe(test, "%zux%zux%zu, %zu indices", s.outer, s.axis, s.inner_bytes, s.index_count);
    for (size_t i = 0; i < s.index_count; i++)
        indices[i] = test_range(test, -axis, axis - 1);
    TEST_RUN(test, TEST_NEW, rc = table->gather.fn(y, x, indices, &s));
    if (rc != 0)
        test_fail(test, "it returned %d", rc);
    for (size_t i = 0; i < s.outer * s.index_count; i++) {
        size_t o = i / s.index_count;
        int64_t at = indices[i % s.index_count];

        at += at < 0 ? axis : 0;
        test_compare_bytes(test, y + i * s.inner_bytes,
                           x + (o * s.axis + (size_t)at) * s.inner_bytes, s.inner_bytes);
    }
    if (s.outer > 0 && s.index_count > 0) {
        indices[0] = test_chance(test, 2) ? axis : -axis - 1;
        if (table->gather.fn(y, x, indices, &s) != -1)
            test_fail(test, "index %lld was not refused", (long long)indices[0]);
    }
}

/* Small integers survive a way through any other type but bool. */
static void check_cast(struct test *test, const struct kernel_table *table)
{
    enum kernel_dtype through = (enum kernel_dtype)test_range(test, 0, KERNEL_DTYPES - 1);
    size_t count = (size_t)test_range(test, 0, 50);
    uint8_t *x = test_input_bytes(test, count), *back = test_output(test, count);
    void *middle = test_output(test, count * kernel_dtype_bytes(through));

    for (size_t i = 0; i < count; i++)
        x[i] %= through == KERNEL_BOOL ? 2 : 128;
    test_describe(test, "%zu elements through type %d", count, (int)through);
    TEST_RUN(test, TEST_NEW, table->cast.fn(middle, through, x, KERNEL_U8, count));
    table->cast.fn(back, KERNEL_U8, middle, through, count);
    test_compare_bytes(test, back, x, count);
}

static void check_eye(struct test *test, const struct kernel_table *table)
{
    int64_t rows = test_range(test, 0, 6), cols = test_range(test, 0, 6);
    int64_t k = test_range(test, -7, 7);
    size_t count = (size_t)(rows * cols);
    float *y = test_output(test, count * sizeof(*y));

    test_describe(test, "%lldx%lld, diagonal %lld", (long long)rows, (long long)cols, (long long)k);
    TEST_RUN(test, TEST_NEW, table->eye.fn(y, KERNEL_F32, rows, cols, k));
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++)
            if (y[i * cols + j] != (i + k == j ? 1.0f : 0.0f))
                test_fail(test, "row %lld, column %lld is %g", (long long)i, (long long)j,
                          (double)y[i * cols + j]);
}

static void check_range(struct test *test, const struct kernel_table *table)
{
    int32_t *given = test_output(test, 2 * sizeof(*given)); /* start and step */
    int32_t start = given[0] = (int32_t)test_range(test, -99, 99);
    int32_t step = given[1] = (int32_t)test_range(test, -9, 9);
    int64_t count = test_range(test, 0, 40);
    int32_t *y = test_output(test, (size_t)count * sizeof(*y)), want = start;

    test_describe(test, "%lld from %d by %d", (long long)count, start, step);
    TEST_RUN(test, TEST_NEW, table->range.fn(y, given, given + 1, KERNEL_I32, count));
    for (int64_t i = 0; i < count; i++, want += step)
        if (y[i] != want)
            test_fail(test, "element %lld is %d, not %d", (long long)i, y[i], want);
}

/* Of every type, as the reference has them. */
static void check_made_types(struct test *test, const struct kernel_table *table)
{
    enum kernel_dtype dtype = (enum kernel_dtype)test_range(test, 0, KERNEL_DTYPES - 1);
    float given[2] = {truncf(test_float(test) * 30), truncf(test_float(test) * 5)};
    int64_t count = test_range(test, 0, 60), rows = test_range(test, 0, 9);
    size_t bytes = kernel_dtype_bytes(dtype);
    char *numbers = test_output(test, 2 * bytes);
    void *want = test_output(test, (size_t)count * bytes);
    void *got = test_output(test, (size_t)count * bytes);
    int64_t columns = rows > 0 ? count / rows : 0, k = test_range(test, -9, 9);

    test_describe(test, "%lld of type %d, %lld rows, diagonal %lld", (long long)count, (int)dtype,
                  (long long)rows, (long long)k);
    cast_ref(numbers, dtype, given, KERNEL_F32, 2);
    TEST_RUN(test, TEST_REF, range_ref(want, numbers, numbers + bytes, dtype, count));
    TEST_RUN(test, TEST_NEW, table->range.fn(got, numbers, numbers + bytes, dtype, count));
    test_compare_bytes(test, got, want, (size_t)count * bytes);
    eye_ref(want, dtype, rows, columns, k);
    table->eye.fn(got, dtype, rows, columns, k);
    test_compare_bytes(test, got, want, (size_t)count * bytes);
}

/* Every half and brain float widened, and floats of all sizes narrowed; NaNs only have to be one.
 */
static void check_cast_half(struct test *test, const struct kernel_table *table)
{
    enum kernel_dtype half = test_chance(test, 2) ? KERNEL_F16 : KERNEL_BF16;
    size_t count = (size_t)test_range(test, 0, 400);
    uint16_t *halves = test_output(test, 65536 * sizeof(*halves));
    float *all = test_output(test, 65536 * sizeof(*all)), *x = test_input(test, count);
    uint16_t *want = test_output(test, count * sizeof(*want));
    uint16_t *got = test_output(test, count * sizeof(*got));

    test_describe(test, "%zu elements, type %d", count, (int)half);
    for (size_t i = 0; i < 65536; i++)
        halves[i] = (uint16_t)i;
    table->cast.fn(all, KERNEL_F32, halves, half, 65536);
    for (size_t i = 0; i < 65536; i++) {
        float one;

        cast_ref(&one, KERNEL_F32, &halves[i], half, 1);
        if (isnan(one) ? !isnan(all[i]) : memcmp(&one, &all[i], sizeof(one)) != 0)
            test_fail(test, "0x%04zx becomes %.9g, not %.9g", i, (double)all[i], (double)one);
    }
    for (size_t i = 0; i < count; i++) {
        if (test_chance(test, 20))
            x[i] = test_chance(test, 2) ? NAN : -INFINITY;
        else
            x[i] = ldexpf(x[i], (int)test_range(test, -30, 20));
        if (test_chance(test, 4)) /* in the middle between two */
            x[i] = (all[i * 97 % 31000] + all[i * 97 % 31000 + 1]) / 2;
    }
    TEST_RUN(test, TEST_REF, cast_ref(want, half, x, KERNEL_F32, count));
    TEST_RUN(test, TEST_NEW, table->cast.fn(got, half, x, KERNEL_F32, count));
    for (size_t i = 0; i < count; i++) {
        float back;

        cast_ref(&back, KERNEL_F32, &got[i], half, 1);
        if (isnan(x[i]) ? !isnan(back) : got[i] != want[i])
            test_fail(test, "%.9g becomes 0x%04x, not 0x%04x", (double)x[i], (unsigned)got[i],
                      (unsigned)want[i]);
    }
}

/* Between any two of the usual types, held to the reference: halves between two others, what is beyond a type's range,
 * and none at all. */
static void check_cast_types(struct test *test, const struct kernel_table *table)
{
    static const enum kernel_dtype types[] = {
        KERNEL_F32, KERNEL_F64, KERNEL_F16, KERNEL_BF16, KERNEL_I8,   KERNEL_U8,
        KERNEL_I16, KERNEL_U16, KERNEL_I32, KERNEL_I64,  KERNEL_BOOL,
    };
    enum kernel_dtype from = types[test_range(test, 0, 10)], to = types[test_range(test, 0, 10)];
    size_t count = (size_t)test_range(test, 0, 1200);
    double *numbers = test_output(test, count * sizeof(*numbers));
    void *x = test_output(test, count * kernel_dtype_bytes(from));
    void *want = test_output(test, count * kernel_dtype_bytes(to));
    void *got = test_output(test, count * kernel_dtype_bytes(to));

    test_describe(test, "%zu elements of type %d to type %d", count, (int)from, (int)to);
    for (size_t i = 0; i < count; i++) {
        int bits = (int)test_range(test, 0, 60);

        numbers[i] = ldexp((double)test_range(test, -65536, 65536), bits - 40);
        if (test_chance(test, 3)) /* in the middle between two halves, or next to it */
            numbers[i] = ldexp((double)(test_range(test, 1024, 2047) * 2 + 1), bits - 40) *
                         (1.0 + (double)test_range(test, -1, 1) * 0x1p-40);
        if (test_chance(test, 200))
            numbers[i] = test_chance(test, 2) ? NAN : -INFINITY;
    }
    cast_ref(x, from, numbers, KERNEL_F64, count);
    TEST_RUN(test, TEST_REF, cast_ref(want, to, x, from, count));
    TEST_RUN(test, TEST_NEW, table->cast.fn(got, to, x, from, count));
    for (size_t i = 0; kernel_dtype_is_real(to) && i < count;
         i++) { /* a NaN is one whatever its bits */
        size_t bytes = kernel_dtype_bytes(to);
        double a, b;

        cast_ref(&a, KERNEL_F64, (char *)got + i * bytes, to, 1);
        cast_ref(&b, KERNEL_F64, (char *)want + i * bytes, to, 1);
        if (isnan(a) && isnan(b))
            memcpy((char *)got + i * bytes, (char *)want + i * bytes, bytes);
    }
    test_compare_bytes(test, got, want, count * kernel_dtype_bytes(to));
}

const struct test_op test_ops_move[] = {
    {"copy", check_copy, offsetof(struct kernel_table, copy)},
    {"pad", check_pad, offsetof(struct kernel_table, pad)},
    {"pad_ranks", check_pad_ranks, offsetof(struct kernel_table, pad)},
    {"fill", check_fill, offsetof(struct kernel_table, fill)},
    {"gather", check_gather, offsetof(struct kernel_table, gather)},
    {"cast", check_cast, offsetof(struct kernel_table, cast)},
    {"cast_half", check_cast_half, offsetof(struct kernel_table, cast)},
    {"cast_types", check_cast_types, offsetof(struct kernel_table, cast)},
    {"made_types", check_made_types, offsetof(struct kernel_table, range)},
    {"eye", check_eye, offsetof(struct kernel_table, eye)},
    {"range", check_range, offsetof(struct kernel_table, range)},
};
const size_t test_ops_move_count = sizeof(test_ops_move) / sizeof(test_ops_move[0]);
