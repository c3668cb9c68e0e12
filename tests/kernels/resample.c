/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of resampling, over two axes with any places and weights. */
#include <math.h>

#include "tests/kernels/harness.h"

static void random_axis(struct test *test, struct kernel_resample *s, int axis)
{
    int64_t taps = test_range(test, 1, 4), terms;
    bool has_outside = test_chance(test, 3);
    int64_t *places;
    double *weights;

    s->x_dims[axis] = test_range(test, 1, 9);
    s->y_dims[axis] = test_range(test, 0, axis == 1 && test_chance(test, 4) ? 400 : 9);
    terms = taps * s->y_dims[axis];
    places = test_input_bytes(test, (size_t)terms * sizeof(*places));
    weights = test_input_bytes(test, (size_t)terms * sizeof(*weights));
    for (int64_t i = 0; i < terms; i++) {
        places[i] =
            test_range(test, has_outside && test_chance(test, 5) ? -1 : 0, s->x_dims[axis] - 1);
        weights[i] = test_float(test);
    }
    s->axes[axis] = (struct kernel_resample_axis){taps, places, weights};
}

static void check_resample(struct test *test, const struct kernel_table *table)
{
    struct kernel_resample s = {.dtype = KERNEL_F32, .rank = 2, .outside = 7.0};
    float *x, *want, *got;
    size_t count;

    random_axis(test, &s, 0);
    random_axis(test, &s, 1);
    count = (size_t)(s.y_dims[0] * s.y_dims[1]);
    x = test_input(test, (size_t)(s.x_dims[0] * s.x_dims[1]));
    want = test_output(test, count * sizeof(*want));
    got = test_output(test, count * sizeof(*got));
    test_describe(test, "%lldx%lld to %zu elements", (long long)s.x_dims[0], (long long)s.x_dims[1],
                  count);
    for (int64_t i = 0; i < (int64_t)count; i++) {
        const struct kernel_resample_axis *rows = &s.axes[0], *cols = &s.axes[1];
        bool is_outside = false;
        double sum = 0.0;

        for (int64_t r = i / s.y_dims[1] * rows->taps, rt = 0; rt < rows->taps; rt++, r++) {
            for (int64_t c = i % s.y_dims[1] * cols->taps, ct = 0; ct < cols->taps; ct++, c++) {
                is_outside = is_outside || rows->places[r] < 0 || cols->places[c] < 0;
                if (!is_outside)
                    sum += rows->weights[r] * cols->weights[c] *
                           x[rows->places[r] * s.x_dims[1] + cols->places[c]];
            }
        }
        want[i] = is_outside ? 7.0f : (float)sum;
    }
    TEST_RUN(test, TEST_NEW, table->resample.fn(got, x, &s));
    test_compare(test, got, want, count, &(struct test_tolerance){.absolute = 5e-6});
}

/* Bytes, to the nearest one of what the same weights make of them as f64. */
static void check_bytes(struct test *test, const struct kernel_table *table)
{
    bool is_signed = test_chance(test, 2);
    struct kernel_resample s = {
        .dtype = is_signed ? KERNEL_I8 : KERNEL_U8, .rank = 2, .outside = 7.0};
    struct kernel_resample wide;
    uint8_t *x, *got;
    double *reals, *want;
    size_t count, from;

    random_axis(test, &s, 0);
    random_axis(test, &s, 1);
    count = (size_t)(s.y_dims[0] * s.y_dims[1]);
    from = (size_t)(s.x_dims[0] * s.x_dims[1]);
    x = test_input_bytes(test, from);
    reals = test_input_bytes(test, from * sizeof(*reals));
    want = test_output(test, count * sizeof(*want));
    got = test_output(test, count);
    test_describe(test, "%lldx%lld to %zu %s bytes", (long long)s.x_dims[0], (long long)s.x_dims[1],
                  count, is_signed ? "signed" : "unsigned");
    for (size_t i = 0; i < from; i++)
        reals[i] = is_signed ? (int8_t)x[i] : x[i];
    wide = s;
    wide.dtype = KERNEL_F64;
    TEST_RUN(test, TEST_REF, resample_ref(want, reals, &wide));
    TEST_RUN(test, TEST_NEW, table->resample.fn(got, x, &s));
    for (size_t i = 0; i < count; i++) {
        double low = is_signed ? -128 : 0, number = is_signed ? (int8_t)got[i] : got[i];
        double right = fmin(fmax(want[i], low), low + 255);

        if (!(fabs(number - right) <= 0.5 + 2e-3))
            test_fail(test, "element %zu is %g, not %g", i, number, right);
    }
}

/* One to five axes, some of which stay as they are, or pick elements, as the reference has them: sums of f32, f64 and
 * i32, with weights of which many sums lie between two integers, picked elements of any type. */
static void check_axes(struct test *test, const struct kernel_table *table)
{
    static const enum kernel_dtype types[] = {KERNEL_F32, KERNEL_F64, KERNEL_I32, KERNEL_I64,
                                              KERNEL_U8,  KERNEL_F16, KERNEL_I8};
    bool picks = test_chance(test, 2);
    int64_t parts = test_chance(test, 3) ? 0 : test_chance(test, 2) ? 4 : 6; /* of weights */
    int64_t most = test_chance(test, 2) ? 20 : INT32_MAX;
    struct kernel_resample s = {.dtype = types[test_range(test, 0, picks ? 6 : 2)],
                                .rank = (int)test_range(test, 1, 5),
                                .outside = 7.0};
    size_t from = 1, count = 1, bytes = kernel_dtype_bytes(s.dtype);
    float *numbers;
    void *x, *want, *got;

    for (int i = 0; i < s.rank; i++) {
        struct kernel_resample_axis *a = &s.axes[i];
        bool is_same = test_chance(test, 3), is_twice = test_chance(test, 3);
        int64_t *places;
        double *weights;

        s.x_dims[i] = test_range(test, 1, i == s.rank - 1 && test_chance(test, 3) ? 80 : 6);
        s.y_dims[i] = is_same ? s.x_dims[i] : is_twice ? 2 * s.x_dims[i] : test_range(test, 1, 7);
        a->taps = is_same || is_twice || picks ? 1 : test_range(test, 1, 3);
        a->places = places = test_output(test, (size_t)(s.y_dims[i] * a->taps) * sizeof(*places));
        a->weights = weights =
            test_output(test, (size_t)(s.y_dims[i] * a->taps) * sizeof(*weights));
        for (int64_t o = 0; o < s.y_dims[i] * a->taps; o++) {
            places[o] = is_same ? o
                        : is_twice
                            ? o / 2
                            : test_range(test, test_chance(test, 40) ? -1 : 0, s.x_dims[i] - 1);
            weights[o] = is_same || is_twice || picks ? 1.0
                         : parts > 0 ? (double)test_range(test, -1, parts - 1) / (double)parts
                                     : (double)test_float(test);
        }
        from *= (size_t)s.x_dims[i];
        count *= (size_t)s.y_dims[i];
    }
    numbers = test_input(test, from);
    x = test_output(test, from * bytes);
    for (size_t i = 0; picks && i < from; i++)
        numbers[i] = (float)test_range(test, 0, 100);
    for (size_t i = 0; !picks && s.dtype == KERNEL_I32 && i < from; i++)
        numbers[i] *= (float)most;
    cast_ref(x, s.dtype, numbers, KERNEL_F32, from);
    want = test_output(test, count * bytes);
    got = test_output(test, count * bytes);
    test_describe(test, "%d axes, %zu to %zu elements of type %d%s", s.rank, from, count,
                  (int)s.dtype, picks ? ", picked" : "");
    TEST_RUN(test, TEST_REF, resample_ref(want, x, &s));
    TEST_RUN(test, TEST_NEW, table->resample.fn(got, x, &s));
    for (size_t i = 0; !picks && s.dtype == KERNEL_F64 && i < count; i++)
        if (!(fabs(((double *)got)[i] - ((double *)want)[i]) <= 1e-12))
            test_fail(test, "element %zu is %.17g, not %.17g", i, ((double *)got)[i],
                      ((double *)want)[i]);
    if (picks || s.dtype == KERNEL_I32)
        test_compare_bytes(test, got, want, count * bytes);
    else if (s.dtype == KERNEL_F32)
        test_compare(test, got, want, count, &(struct test_tolerance){.absolute = 2e-5});
}

const struct test_op test_ops_resample[] = {
    {"resample", check_resample, offsetof(struct kernel_table, resample)},
    {"resample_axes", check_axes, offsetof(struct kernel_table, resample)},
    {"resample_bytes", check_bytes, offsetof(struct kernel_table, resample)},
};
const size_t test_ops_resample_count = sizeof(test_ops_resample) / sizeof(test_ops_resample[0]);
