/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of reductions, normalisations and what runs along an axis, held to sums that are worked out
 * in another order: over all elements, looking for those that belong together. */
#include <math.h>
#include <string.h>

#include "tests/kernels/harness.h"

/* Which group element i belongs to: its place on the axes that are not reduced. */
static size_t group_of(size_t i, int rank, const int64_t *dims, const bool *is_reduced)
{
    size_t group = 0, stride = 1;

    for (int axis = rank - 1; axis >= 0; axis--) {
        if (!is_reduced[axis]) {
            group += i % (size_t)dims[axis] * stride;
            stride *= (size_t)dims[axis];
        }
        i /= (size_t)dims[axis];
    }
    return group;
}

static size_t random_axes(struct test *test, int rank, int64_t *dims, bool *is_reduced,
                          size_t *out_groups)
{
    size_t count = 1;

    *out_groups = 1;
    for (int i = 0; i < rank; i++) {
        dims[i] = test_range(test, 1, 7);
        if (test->is_wide && test_chance(test, 4))
            dims[i] = test_range(test, 0, count < 40 ? 70 : 1);
        if (count * (size_t)dims[i] > 4000) /* what is wanted takes the square of it */
            dims[i] = 1;
        is_reduced[i] = test_chance(test, 2);
        count *= (size_t)dims[i];
        *out_groups *= is_reduced[i] ? 1 : (size_t)dims[i];
    }
    return count;
}

static double start_of(enum kernel_reduce_op op)
{
    return op == REDUCE_MAX ? -INFINITY : op == REDUCE_MIN ? INFINITY : op == REDUCE_PROD;
}

static double add_to(enum kernel_reduce_op op, double sum, double x)
{
    switch (op) {
    case REDUCE_L1:
        return sum + fabs(x);
    case REDUCE_L2:
    case REDUCE_SUM_SQUARE:
        return sum + x * x;
    case REDUCE_LOG_SUM_EXP:
        return sum + exp(x);
    case REDUCE_MAX:
        return fmax(sum, x);
    case REDUCE_MIN:
        return fmin(sum, x);
    case REDUCE_PROD:
        return sum * x;
    default:
        return sum + x;
    }
}

static void check_reduce(struct test *test, const struct kernel_table *table)
{
    struct kernel_reduce s = {.op = (enum kernel_reduce_op)test_range(test, 0, REDUCE_SUM_SQUARE),
                              .dtype = KERNEL_F32,
                              .rank = (int)test_range(test, 0, 5)};
    size_t groups, count = random_axes(test, s.rank, s.dims, s.is_reduced, &groups);
    float *x = test_input(test, count), *want = test_output(test, groups * sizeof(*want));
    float *got = test_output(test, groups * sizeof(*got));
    struct test_tolerance tolerance = {.absolute = 1e-6, .relative = 1e-5};
    static const float odds[] = {0.0f, -1.0f, INFINITY}; /* no numbers that have a logarithm */
    size_t odd = (size_t)test_range(test, 0, 2 * (int64_t)groups);

    test_describe(test, "operation %d, rank %d, %zu elements to %zu", (int)s.op, s.rank, count,
                  groups);
    for (size_t i = 0; s.op == REDUCE_LOG_SUM && i < count; i++)
        x[i] =
            group_of(i, s.rank, s.dims, s.is_reduced) == odd ? odds[odd % 3] : fabsf(x[i]) + 0.1f;
    for (size_t g = 0; g < groups; g++) {
        double sum = start_of(s.op);

        for (size_t i = 0; i < count; i++)
            if (group_of(i, s.rank, s.dims, s.is_reduced) == g)
                sum = add_to(s.op, sum, x[i]);
        sum = s.op == REDUCE_L2                                      ? sqrt(sum)
              : s.op == REDUCE_LOG_SUM || s.op == REDUCE_LOG_SUM_EXP ? log(sum)
              : s.op == REDUCE_MEAN ? sum / ((double)count / (double)groups)
                                    : sum;
        want[g] = (float)sum;
    }
    TEST_RUN(test, TEST_NEW, table->reduce.fn(got, x, &s));
    test_compare(test, got, want, groups, &tolerance);
}

/* Numbers of a type, whole ones of which many are equal; of f64 some that are none. */
static void *random_numbers(struct test *test, enum kernel_dtype dtype, size_t count, float most)
{
    float *numbers = test_input(test, count);
    void *x = test_output(test, count * kernel_dtype_bytes(dtype));

    for (size_t i = 0; i < count; i++)
        numbers[i] = dtype == KERNEL_F64 && test_chance(test, 300)
                         ? (test_chance(test, 2) ? NAN : -INFINITY)
                         : truncf(numbers[i] * most);
    cast_ref(x, dtype, numbers, KERNEL_F32, count);
    return x;
}

/* Other types than f32, held to the reference: whole numbers, whose sums are exact in any order. */
static void check_reduce_types(struct test *test, const struct kernel_table *table)
{
    static const enum kernel_dtype types[] = {KERNEL_F64, KERNEL_I32, KERNEL_I64,
                                              KERNEL_I8,  KERNEL_U8,  KERNEL_BOOL};
    struct kernel_reduce s = {.op = (enum kernel_reduce_op)test_range(test, 0, REDUCE_SUM_SQUARE),
                              .dtype = types[test_range(test, 0, 5)],
                              .rank = 4,
                              .dims = {test_range(test, 1, 3), test_range(test, 1, 70),
                                       test_range(test, 1, 9), test_range(test, 1, 20)}};
    size_t count = 1, bytes = kernel_dtype_bytes(s.dtype), groups = 1;
    int tail = (int)test_range(test, 0, 2);
    void *x, *want, *got;

    if (test_chance(test, 3))
        s.dims[2] = s.dims[3] = test_chance(test, 2) ? 1 : 30; /* more than a block of columns */
    for (int i = 0; i < s.rank; i++) {
        s.is_reduced[i] = tail == 0 ? test_chance(test, 2) : i >= tail && i < tail + 2;
        count *= (size_t)s.dims[i];
        groups *= s.is_reduced[i] ? 1 : (size_t)s.dims[i];
    }
    test_describe(test, "operation %d of type %d, %lldx%lldx%lldx%lld, %zu elements to %zu",
                  (int)s.op, (int)s.dtype, (long long)s.dims[0], (long long)s.dims[1],
                  (long long)s.dims[2], (long long)s.dims[3], count, groups);
    x = random_numbers(test, s.dtype, count,
                       s.op == REDUCE_PROD    ? 3.0f
                       : test_chance(test, 3) ? 4.0f
                                              : 100.0f);
    want = test_output(test, groups * bytes);
    got = test_output(test, groups * bytes);
    TEST_RUN(test, TEST_REF, reduce_ref(want, x, &s));
    TEST_RUN(test, TEST_NEW, table->reduce.fn(got, x, &s));
    for (size_t i = 0; s.dtype == KERNEL_F64 && i < groups; i++) {
        double a = ((double *)got)[i], b = ((double *)want)[i];

        if (isnan(a) && isnan(b)) /* of either sign */
            ((double *)got)[i] = b;
        if (s.op == REDUCE_PROD && fabs(a - b) <= 1e-12 * fabs(b)) /* beyond 53 bits */
            ((double *)got)[i] = b;
        if (s.op == REDUCE_LOG_SUM_EXP && fabs(a - b) <= 1e-13 * fmax(fabs(b), 1.0))
            ((double *)got)[i] = b;
    }
    test_compare_bytes(test, got, want, groups * bytes);
}

/* Integers whose sums are not exact, or whose roots and logarithms are next to a whole number, stored as the reference
 * stores them: squares that lie side by side, large ones of either sign, and powers that hardly count. */
static void check_reduce_whole(struct test *test, const struct kernel_table *table)
{
    static const enum kernel_reduce_op ops[] = {REDUCE_L2, REDUCE_LOG_SUM, REDUCE_LOG_SUM_EXP};
    struct kernel_reduce s = {.op = ops[test_range(test, 0, 2)],
                              .dtype = test_chance(test, 2) ? KERNEL_I32 : KERNEL_I64,
                              .rank = 3,
                              .dims = {test_range(test, 1, 5), test_range(test, 1, 90),
                                       test_chance(test, 2) ? 1 : test_range(test, 1, 300)},
                              .is_reduced = {false, true, false}};
    int64_t high = s.dtype == KERNEL_I32 ? INT32_MAX : INT64_MAX, step = test_range(test, 1, 62);
    size_t groups = (size_t)(s.dims[0] * s.dims[2]), count = groups * (size_t)s.dims[1];
    size_t bytes = kernel_dtype_bytes(s.dtype);
    int64_t *numbers = test_output(test, count * sizeof(*numbers));
    void *x = test_output(test, count * bytes);
    void *want = test_output(test, groups * bytes), *got = test_output(test, groups * bytes);
    bool is_device = strcmp(test->version, "cuda") == 0; /* which sums in an order of its own */

    if (is_device && s.op == REDUCE_LOG_SUM)
        s.op = REDUCE_L2;
    test_describe(test, "operation %d of type %d, %lldx%lldx%lld", (int)s.op, (int)s.dtype,
                  (long long)s.dims[0], (long long)s.dims[1], (long long)s.dims[2]);
    for (size_t i = 0; i < count; i++) {
        int64_t most = (high >> step) + 1, size = (int64_t)(test_random(test) % (uint64_t)most);

        numbers[i] = s.op == REDUCE_LOG_SUM_EXP && test_chance(test, 2) ? -(size % 40)
                     : test_chance(test, 2)                             ? size
                     : test_chance(test, 3)                             ? -1 - size
                                                                        : most - 1;
    }
    cast_ref(x, s.dtype, numbers, KERNEL_I64, count);
    TEST_RUN(test, TEST_REF, reduce_ref(want, x, &s));
    TEST_RUN(test, TEST_NEW, table->reduce.fn(got, x, &s));
    for (size_t i = 0; is_device && i < groups; i++) {
        bool is_wide = s.dtype == KERNEL_I64;
        double a = is_wide ? (double)((int64_t *)got)[i] : ((int32_t *)got)[i];
        double b = is_wide ? (double)((int64_t *)want)[i] : ((int32_t *)want)[i];

        if (!(fabs(a - b) <= 1.0 + 1e-12 * fabs(b)))
            test_fail(test, "result %zu is %.17g, not %.17g", i, a, b);
    }
    if (!is_device)
        test_compare_bytes(test, got, want, groups * bytes);
}

/* Logarithms of sums of powers along a middle axis, held to the reference: what is not finite among them. */
static void check_reduce_powers(struct test *test, const struct kernel_table *table)
{
    struct kernel_reduce s = {
        .op = REDUCE_LOG_SUM_EXP,
        .dtype = KERNEL_F32,
        .rank = 3,
        .dims = {test_range(test, 1, 3), test_range(test, 1, 100), test_range(test, 1, 700)},
        .is_reduced = {false, true, false}};
    size_t groups = (size_t)(s.dims[0] * s.dims[2]), count = groups * (size_t)s.dims[1];
    float *x = test_input(test, count), *want = test_output(test, groups * sizeof(*want));
    float *got = test_output(test, groups * sizeof(*got));

    test_describe(test, "%lldx%lldx%lld", (long long)s.dims[0], (long long)s.dims[1],
                  (long long)s.dims[2]);
    for (size_t i = 0; i < count; i++) {
        static const float odd[] = {NAN, INFINITY, -INFINITY, 1e30f, -1e30f};

        x[i] *= 30.0f;
        if (test_random(test) % 1000 == 0)
            x[i] = odd[test_random(test) % 5];
    }
    TEST_RUN(test, TEST_REF, reduce_ref(want, x, &s));
    TEST_RUN(test, TEST_NEW, table->reduce.fn(got, x, &s));
    for (size_t i = 0; i < groups; i++)
        if (isnan(want[i]) ? !isnan(got[i])
                           : got[i] != want[i] &&
                                 !(fabsf(got[i] - want[i]) <= 2e-6f * fmaxf(1.0f, fabsf(want[i]))))
            test_fail(test, "result %zu is %.9g, not %.9g", i, (double)got[i], (double)want[i]);
}

static void check_arg_reduce(struct test *test, const struct kernel_table *table)
{
    struct kernel_arg_reduce s = {.dtype = KERNEL_I8,
                                  .outer = test_range(test, 0, 5),
                                  .axis = test_range(test, 1, test->is_wide ? 400 : 40),
                                  .inner = test_range(test, 1, test->is_wide ? 90 : 7),
                                  .is_min = test_chance(test, 2),
                                  .takes_last = test_chance(test, 2)};
    size_t count = (size_t)(s.outer * s.inner);
    int8_t *x = test_input_bytes(test, count * (size_t)s.axis);
    int64_t *got = test_output(test, count * sizeof(*got));

    test_describe(test, "%lldx%lldx%lld", (long long)s.outer, (long long)s.axis,
                  (long long)s.inner);
    for (size_t i = 0; i < count * (size_t)s.axis; i++)
        x[i] = (int8_t)(x[i] / 16); /* so that some are equal */
    TEST_RUN(test, TEST_NEW, table->arg_reduce.fn(got, x, &s));
    for (int64_t i = 0; i < (int64_t)count; i++) {
        const int8_t *line = x + i / s.inner * s.axis * s.inner + i % s.inner;

        if (got[i] < 0 || got[i] >= s.axis) {
            test_fail(test, "result %lld is place %lld", (long long)i, (long long)got[i]);
            return;
        }
        for (int64_t k = 0; k < s.axis; k++) {
            int8_t here = line[k * s.inner], best = line[got[i] * s.inner];
            bool beats = s.is_min ? here < best : here > best;

            if (beats || (here == best && (s.takes_last ? k > got[i] : k < got[i])))
                test_fail(test, "result %lld is place %lld, not %lld", (long long)i,
                          (long long)got[i], (long long)k);
        }
    }
}

static struct kernel_arg_reduce some_lines(struct test *test, enum kernel_dtype dtype)
{
    if (test_chance(test, 4)) /* short rows */
        return (struct kernel_arg_reduce){.dtype = dtype,
                                          .outer = test_range(test, 0, 600),
                                          .axis = test_range(test, 1, 20),
                                          .inner = 1,
                                          .is_min = test_chance(test, 2),
                                          .takes_last = test_chance(test, 2)};
    return (struct kernel_arg_reduce){.dtype = dtype,
                                      .outer = test_range(test, 0, 4),
                                      .axis = test_range(test, 1, 150),
                                      .inner = test_chance(test, 2) ? 1 : test_range(test, 1, 600),
                                      .is_min = test_chance(test, 2),
                                      .takes_last = test_chance(test, 2)};
}

static void hold_to_reference(struct test *test, const struct kernel_table *table, const void *x,
                              const struct kernel_arg_reduce *s)
{
    size_t count = (size_t)(s->outer * s->inner);
    int64_t *want = test_output(test, count * sizeof(*want));
    int64_t *got = test_output(test, count * sizeof(*got));

    test_describe(test, "%lldx%lldx%lld of type %d", (long long)s->outer, (long long)s->axis,
                  (long long)s->inner, (int)s->dtype);
    TEST_RUN(test, TEST_REF, arg_reduce_ref(want, x, s));
    TEST_RUN(test, TEST_NEW, table->arg_reduce.fn(got, x, s));
    test_compare_bytes(test, got, want, count * sizeof(*got));
}

/* Numbers of which many are equal, zeros of both signs and NaN among them. */
static void check_arg_reals(struct test *test, const struct kernel_table *table)
{
    struct kernel_arg_reduce s = some_lines(test, KERNEL_F32);
    size_t count = (size_t)(s.outer * s.axis * s.inner);
    int64_t levels = test_chance(test, 2) ? 3 : 10000;
    float *x = test_input(test, count);

    for (size_t i = 0; i < count; i++) {
        x[i] = truncf(x[i] * (float)levels);
        if (test_chance(test, 400))
            x[i] = test_chance(test, 2) ? NAN : -INFINITY;
    }
    hold_to_reference(test, table, x, &s);
}

static void check_arg_types(struct test *test, const struct kernel_table *table)
{
    static const enum kernel_dtype types[] = {KERNEL_F64, KERNEL_I32, KERNEL_I64, KERNEL_I8,
                                              KERNEL_U8};
    struct kernel_arg_reduce s = some_lines(test, types[test_range(test, 0, 4)]);
    void *x = random_numbers(test, s.dtype, (size_t)(s.outer * s.axis * s.inner),
                             test_chance(test, 2) ? 3.0f : 120.0f);

    hold_to_reference(test, table, x, &s);
}

static void check_normalize(struct test *test, const struct kernel_table *table)
{
    struct kernel_normalize s = {.stat_dtype = KERNEL_F32,
                                 .rank = (int)test_range(test, 1, 4),
                                 .keeps_mean = test_chance(test, 3),
                                 .adds_to_root = test_chance(test, 3),
                                 .epsilon = 1e-3};
    size_t groups, count = random_axes(test, s.rank, s.dims, s.is_reduced, &groups);
    int last = s.rank - 1;
    float *x = test_input(test, count), *want = test_output(test, count * sizeof(*want));
    float *scale = test_input(test, (size_t)s.dims[last]), *bias = test_input(test, 1);
    float *got = test_output(test, count * sizeof(*got));
    float *mean = test_output(test, groups * sizeof(*mean));
    float *want_mean = test_output(test, groups * sizeof(*mean));
    struct kernel_normalize_data data = {.y = got, .mean = mean, .x = x, .scale = scale};
    struct test_tolerance tolerance = {.absolute = 1e-5, .relative = 1e-5};
    double each = (double)count / (double)groups;
    bool is_plain = test_chance(test, 2); /* as MeanVarianceNormalization is */

    test_describe(test, "rank %d, %zu elements in %zu groups%s", s.rank, count, groups,
                  is_plain ? ", plain" : "");
    s.scale_stride[last] = 1;
    data.bias = !is_plain && test_chance(test, 2) ? bias : NULL;
    for (int64_t i = 0; is_plain && i < s.dims[last]; i++)
        scale[i] = 1.0f;
    if (is_plain)
        data.scale = data.mean = NULL;
    for (size_t g = 0; g < groups; g++) {
        double sum = 0, squares = 0;

        for (int pass = 0; pass < 3; pass++) {
            double m = s.keeps_mean ? 0 : sum / each, root = sqrt(squares / each + 1e-3);

            for (size_t i = 0; i < count; i++) {
                if (group_of(i, s.rank, s.dims, s.is_reduced) != g)
                    continue;
                sum += pass == 0 ? x[i] : 0;
                squares += pass == 1 ? (x[i] - m) * (x[i] - m) : 0;
                root = s.adds_to_root ? sqrt(squares / each) + 1e-3 : root;
                if (pass == 2)
                    want[i] = (float)((x[i] - m) / root * scale[i % (size_t)s.dims[last]] +
                                      (data.bias ? bias[0] : 0));
            }
            want_mean[g] = (float)m;
        }
    }
    TEST_RUN(test, TEST_NEW, table->normalize.fn(&data, &s));
    test_compare(test, got, want, count, &tolerance);
    if (data.mean)
        test_compare(test, mean, want_mean, groups, &tolerance);
}

/* Scale and bias of each group, or of each channel of a group, held to the reference. */
static void check_normalize_groups(struct test *test, const struct kernel_table *table)
{
    struct kernel_normalize s = {.dtype = KERNEL_F32,
                                 .stat_dtype = KERNEL_F32,
                                 .rank = 4,
                                 .dims = {test_range(test, 1, 3), test_range(test, 1, 4),
                                          test_range(test, 1, 4), test_range(test, 1, 90)},
                                 .is_reduced = {false, false, true, true},
                                 .epsilon = 1e-3};
    bool is_by_channel = test_chance(test, 2), has_bias = test_chance(test, 2);
    size_t count = (size_t)(s.dims[0] * s.dims[1] * s.dims[2] * s.dims[3]);
    size_t scales = (size_t)(s.dims[1] * (is_by_channel ? s.dims[2] : 1));
    float *scale = test_input(test, scales), *bias = test_input(test, scales);
    float *want = test_output(test, count * sizeof(float));
    float *got = test_output(test, count * sizeof(float));
    struct kernel_normalize_data data = {
        .x = test_input(test, count), .scale = scale, .bias = has_bias ? bias : NULL};

    s.scale_stride[1] = s.bias_stride[1] = is_by_channel ? s.dims[2] : 1;
    s.scale_stride[2] = s.bias_stride[2] = is_by_channel;
    test_describe(test, "%lldx%lldx%lldx%lld, %zu scales", (long long)s.dims[0],
                  (long long)s.dims[1], (long long)s.dims[2], (long long)s.dims[3], scales);
    data.y = want;
    TEST_RUN(test, TEST_REF, normalize_ref(&data, &s));
    data.y = got;
    TEST_RUN(test, TEST_NEW, table->normalize.fn(&data, &s));
    test_compare(test, got, want, count,
                 &(struct test_tolerance){.absolute = 2e-5, .relative = 1e-5});
}

/* Which axes are reduced: rows, groups with a scale for each channel, or any; how many scales there are. */
static size_t random_scales(struct test *test, struct kernel_normalize *s)
{
    int kind = (int)test_range(test, 0, 3);

    for (int i = 0; i < s->rank; i++)
        s->is_reduced[i] = kind == 3 ? test_chance(test, 2) : i >= 4 - kind;
    if (kind == 2 && test_chance(test, 2)) { /* groups */
        s->scale_stride[1] = s->bias_stride[1] = s->dims[2];
        s->scale_stride[2] = s->bias_stride[2] = 1;
        return (size_t)(s->dims[1] * s->dims[2]);
    }
    s->scale_stride[3] = 1;
    s->bias_stride[3] = test_chance(test, 2);
    return (size_t)s->dims[3];
}

/* f64 with everything that may be left out, held to the reference. */
static void check_normalize_f64(struct test *test, const struct kernel_table *table)
{
    struct kernel_normalize s = {.dtype = KERNEL_F64,
                                 .stat_dtype = test_chance(test, 2) ? KERNEL_F32 : KERNEL_F64,
                                 .rank = 4,
                                 .dims = {test_range(test, 1, 3), test_range(test, 1, 4),
                                          test_range(test, 1, 4), test_range(test, 1, 90)},
                                 .keeps_mean = test_chance(test, 3),
                                 .adds_to_root = test_chance(test, 3),
                                 .epsilon = 1e-3};
    size_t count = (size_t)(s.dims[0] * s.dims[1] * s.dims[2] * s.dims[3]);
    size_t scales = random_scales(test, &s), stat_bytes = count * kernel_dtype_bytes(s.stat_dtype);
    bool is_plain = test_chance(test, 2), has_statistics = !is_plain && test_chance(test, 2);
    float *numbers = test_input(test, count), *factors = test_input(test, scales);
    double *x = test_output(test, count * 8), *scale = test_output(test, scales * 8);
    double *want = test_output(test, count * 8), *got = test_output(test, count * 8);
    void *means[2] = {test_output(test, stat_bytes), test_output(test, stat_bytes)};
    void *inverses[2] = {test_output(test, stat_bytes), test_output(test, stat_bytes)};
    struct kernel_normalize_data data = {.x = x, .scale = is_plain ? NULL : scale};

    test_describe(test, "%lldx%lldx%lldx%lld, %zu scales%s", (long long)s.dims[0],
                  (long long)s.dims[1], (long long)s.dims[2], (long long)s.dims[3], scales,
                  is_plain ? ", plain" : "");
    for (size_t i = 0; i < count; i++)
        numbers[i] += 9.0f; /* a mean that is no 0 */
    cast_ref(x, KERNEL_F64, numbers, KERNEL_F32, count);
    cast_ref(scale, KERNEL_F64, factors, KERNEL_F32, scales);
    data.bias = !is_plain && test_chance(test, 2) ? scale : NULL;
    for (int i = 0; i < 2; i++) {
        memset(means[i], 0, stat_bytes);
        memset(inverses[i], 0, stat_bytes);
        data.y = i ? got : want;
        data.mean = has_statistics ? means[i] : NULL;
        data.inverse = has_statistics ? inverses[i] : NULL;
        if (i)
            TEST_RUN(test, TEST_NEW, table->normalize.fn(&data, &s));
        else
            TEST_RUN(test, TEST_REF, normalize_ref(&data, &s));
    }
    for (size_t i = 0; i < count; i++)
        if (!(fabs(got[i] - want[i]) <= 1e-12 * fmax(1.0, fabs(want[i]))))
            test_fail(test, "element %zu is %.17g, not %.17g", i, got[i], want[i]);
    for (size_t i = 0; i < 2 * count; i++) {
        void *const *side = i < count ? means : inverses;
        bool is_f32 = s.stat_dtype == KERNEL_F32;
        double a = is_f32 ? (double)((float *)side[1])[i % count] : ((double *)side[1])[i % count];
        double b = is_f32 ? (double)((float *)side[0])[i % count] : ((double *)side[0])[i % count];

        if (!(fabs(a - b) <= (is_f32 ? 1e-6 : 1e-12) * fmax(1.0, fabs(b))))
            test_fail(test, "statistic %zu is %.17g, not %.17g", i, a, b);
    }
}

/* Each line alone gives what it gives among others. */
static void check_along(struct test *test, const struct kernel_table *table)
{
    struct kernel_along s = {.op = (enum kernel_along_op)test_range(test, 0, ALONG_PRODUCT),
                             .dtype = KERNEL_F32,
                             .outer = test_range(test, 0, 4),
                             .axis = test_range(test, 0, 40),
                             .inner = test_chance(test, 3) ? 1 : test_range(test, 1, 9),
                             .is_exclusive = test_chance(test, 2),
                             .is_reverse = test_chance(test, 2)};
    struct kernel_along one = s;
    size_t lines = (size_t)(s.outer * s.inner), count = lines * (size_t)s.axis;
    float *x = test_input(test, count), *want = test_output(test, count * sizeof(*want));
    float *got = test_output(test, count * sizeof(*got));
    float line[40], result[40];

    one.outer = one.inner = 1;
    test_describe(test, "operation %d of %lldx%lldx%lld", (int)s.op, (long long)s.outer,
                  (long long)s.axis, (long long)s.inner);
    for (size_t i = 0; i < lines; i++) {
        size_t base = i / (size_t)s.inner * (size_t)(s.axis * s.inner) + i % (size_t)s.inner;

        for (int64_t k = 0; k < s.axis; k++)
            line[k] = x[base + (size_t)(k * s.inner)];
        along_ref(result, line, &one);
        for (int64_t k = 0; k < s.axis; k++)
            want[base + (size_t)(k * s.inner)] = result[k];
    }
    TEST_RUN(test, TEST_NEW, table->along.fn(got, x, &s));
    if (s.op == ALONG_LOG_SOFTMAX || s.op == ALONG_L1_NORM || s.op == ALONG_L2_NORM)
        test_compare(test, got, want, count,
                     &(struct test_tolerance){.absolute = 2e-6, .relative = 2e-6});
    else
        test_compare_bytes(test, got, want, count * sizeof(*got));
}

/* Softmax and norms of f64, and their kin of f32, of many lines: what is infinite, or no number, among them. */
static void check_along_powers(struct test *test, const struct kernel_table *table)
{
    static const enum kernel_along_op ops[] = {ALONG_LOG_SOFTMAX, ALONG_L1_NORM, ALONG_L2_NORM,
                                               ALONG_SOFTMAX};
    bool is_wide = test_chance(test, 2);
    struct kernel_along s = {.op = ops[test_range(test, 0, is_wide ? 3 : 2)],
                             .dtype = is_wide ? KERNEL_F64 : KERNEL_F32,
                             .outer = test_range(test, 0, 90),
                             .axis = test_range(test, 1, 150),
                             .inner = test_chance(test, 2) ? 1 : test_range(test, 1, 40)};
    bool is_zero = test_chance(test, 9);
    size_t count = (size_t)(s.outer * s.axis * s.inner), bytes = kernel_dtype_bytes(s.dtype);
    float *x = test_input(test, count);
    void *numbers = test_input_bytes(test, count * bytes);
    void *want = test_output(test, count * bytes), *got = test_output(test, count * bytes);

    test_describe(test, "operation %d of %lldx%lldx%lld of type %d", (int)s.op, (long long)s.outer,
                  (long long)s.axis, (long long)s.inner, (int)s.dtype);
    for (size_t i = 0; i < count; i++) {
        static const float odd[] = {NAN, INFINITY, -INFINITY, 1e30f, -1e30f};

        x[i] *= is_zero ? 0.0f : 30.0f;
        if (test_random(test) % 500 == 0)
            x[i] = odd[test_random(test) % 5];
    }
    cast_ref(numbers, s.dtype, x, KERNEL_F32, count);
    TEST_RUN(test, TEST_REF, along_ref(want, numbers, &s));
    TEST_RUN(test, TEST_NEW, table->along.fn(got, numbers, &s));
    for (size_t i = 0; i < count; i++) {
        double a = is_wide ? ((double *)got)[i] : (double)((float *)got)[i];
        double b = is_wide ? ((double *)want)[i] : (double)((float *)want)[i];
        double size = fmax(fabs(b), fmax(fabs((double)x[i]), 1.0));
        double room = is_wide ? 4e-15 * (s.op == ALONG_SOFTMAX ? 1.0 : size) : 2e-6 * size;

        if (isnan(b) ? !isnan(a) : a != b && !(fabs(a - b) <= room))
            test_fail(test, "element %zu is %.17g, not %.17g", i, a, b);
    }
}

/* Running sums and products of other types, and long lines beside many others, held to the reference: numbers of
 * which many are equal, for the first of the largest, and NaN among them. */
static void check_along_types(struct test *test, const struct kernel_table *table)
{
    static const enum kernel_dtype types[] = {KERNEL_F32, KERNEL_F64, KERNEL_I32, KERNEL_U32,
                                              KERNEL_I64, KERNEL_U64, KERNEL_I8};
    struct kernel_along s = {.op = (enum kernel_along_op)test_range(test, ALONG_SUM, ALONG_PRODUCT),
                             .dtype = types[test_range(test, 0, 6)],
                             .outer = test_range(test, 0, 3),
                             .axis = test_range(test, 0, 150),
                             .inner = test_chance(test, 2) ? 1 : test_range(test, 0, 600),
                             .is_exclusive = test_chance(test, 2),
                             .is_reverse = test_chance(test, 2)};
    size_t count, bytes;
    float *numbers;
    void *x, *want, *got;

    if (s.dtype == KERNEL_F32 && test_chance(test, 2))
        s.op = ALONG_HARDMAX;
    if (s.op == ALONG_HARDMAX && test_chance(test, 3)) { /* short rows */
        s.outer = test_range(test, 0, 200);
        s.axis = test_range(test, 1, 40);
        s.inner = 1;
    }
    count = (size_t)(s.outer * s.axis * s.inner);
    bytes = count * kernel_dtype_bytes(s.dtype);
    test_describe(test, "operation %d of %lldx%lldx%lld, type %d", (int)s.op, (long long)s.outer,
                  (long long)s.axis, (long long)s.inner, (int)s.dtype);
    numbers = test_input(test, count);
    for (size_t i = 0; i < count; i++)
        numbers[i] = s.op == ALONG_HARDMAX && test_chance(test, 300) ? NAN : truncf(numbers[i] * 5);
    x = test_output(test, bytes);
    want = test_output(test, bytes);
    got = test_output(test, bytes);
    cast_ref(x, s.dtype, numbers, KERNEL_F32, count);
    TEST_RUN(test, TEST_REF, along_ref(want, x, &s));
    TEST_RUN(test, TEST_NEW, table->along.fn(got, x, &s));
    test_compare_bytes(test, got, want, bytes);
}

/* What one sample adds, by the chances of its classes. */
static double loss_of(const float *x, int64_t label, const struct kernel_class_loss *s)
{
    double sum = 0.0;

    if (!s->takes_scores)
        return -(double)x[label * s->inner];
    for (int64_t c = 0; c < s->classes; c++)
        sum += exp((double)x[c * s->inner]);
    return -log(exp((double)x[label * s->inner]) / sum);
}

static void random_loss(struct test *test, struct kernel_class_loss *s)
{
    *s = (struct kernel_class_loss){.dtype = KERNEL_F32,
                                    .label_type = test_chance(test, 2) ? KERNEL_I32 : KERNEL_I64,
                                    .reduction = (enum kernel_loss)test_range(test, 0, LOSS_MEAN),
                                    .takes_scores = test_chance(test, 2),
                                    .has_ignored = test_chance(test, 2),
                                    .ignored = test_range(test, -1, 3),
                                    .batch = test_range(test, 0, 5),
                                    .classes = test_range(test, 1, 9),
                                    .inner = test_chance(test, 2) ? 1 : test_range(test, 0, 6)};
    test_describe(test, "loss of %lldx%lldx%lld, reduction %d, scores %d", (long long)s->batch,
                  (long long)s->classes, (long long)s->inner, (int)s->reduction, s->takes_scores);
}

static bool is_loss(const struct kernel_class_loss *s, const float *x, const float *weights,
                    const int64_t *labels, float *want)
{
    double sum = 0.0, of_weights = 0.0;

    for (int64_t i = 0; i < s->batch * s->inner; i++) {
        bool is_ignored = s->has_ignored && labels[i] == s->ignored;
        double weight, loss;

        if (!is_ignored && (labels[i] < 0 || labels[i] >= s->classes))
            return false;
        weight = is_ignored ? 0.0 : weights ? (double)weights[labels[i]] : 1.0;
        loss = is_ignored
                   ? 0.0
                   : weight * loss_of(x + i / s->inner * s->classes * s->inner + i % s->inner,
                                      labels[i], s);
        if (s->reduction == LOSS_EACH)
            want[i] = (float)loss;
        sum += loss;
        of_weights += weight;
    }
    if (s->reduction != LOSS_EACH)
        want[0] = (float)(s->reduction == LOSS_SUM ? sum : sum / of_weights);
    return true;
}

static void check_class_loss(struct test *test, const struct kernel_table *table)
{
    struct kernel_class_loss s;
    size_t samples, count, outputs;
    float *x, *weights, *want, *got, *log_prob;
    int64_t *labels;
    void *given;
    bool is_right;
    int rc = 0;

    random_loss(test, &s);
    samples = (size_t)(s.batch * s.inner);
    count = samples * (size_t)s.classes;
    outputs = s.reduction == LOSS_EACH ? samples : 1;
    x = test_input(test, count);
    weights = test_chance(test, 2) ? test_input(test, (size_t)s.classes) : NULL;
    labels = test_input_bytes(test, samples * sizeof(*labels));
    given = test_input_bytes(test, samples * kernel_dtype_bytes(s.label_type));
    for (size_t i = 0; i < samples; i++)
        labels[i] = test_range(test, test_chance(test, 40) ? -2 : 0, s.classes - 1);
    cast_ref(given, s.label_type, labels, KERNEL_I64, samples);
    want = test_output(test, outputs * sizeof(*want));
    got = test_output(test, outputs * sizeof(*got));
    log_prob = s.takes_scores ? test_output(test, count * sizeof(*log_prob)) : NULL;
    is_right = is_loss(&s, x, weights, labels, want);
    TEST_RUN(test, TEST_NEW, rc = table->class_loss.fn(got, log_prob, x, given, weights, &s));
    if (!is_right || rc < 0) {
        if (is_right || rc == 0)
            test_fail(test, "labels that %s classes: %d returned", is_right ? "are" : "are no", rc);
        return;
    }
    test_compare(test, got, want, outputs,
                 &(struct test_tolerance){.absolute = 1e-5, .relative = 1e-5});
    for (size_t i = 0; log_prob && i < samples; i++) {
        const float *line =
            log_prob + i / (size_t)s.inner * (size_t)(s.classes * s.inner) + i % (size_t)s.inner;
        double sum = 0.0;

        for (int64_t c = 0; c < s.classes; c++)
            sum += exp((double)line[c * s.inner]);
        if (!(fabs(sum - 1.0) < 1e-5))
            test_fail(test, "chances of sample %zu are %g together", i, sum);
    }
}

/* More samples than are taken at once, of either type, held to the reference: what is not finite among them. */
static void check_loss_types(struct test *test, const struct kernel_table *table)
{
    struct kernel_class_loss s;
    size_t samples, count, bytes;
    void *x, *sides[2], *logs[2];
    int32_t *labels;
    float *numbers;

    random_loss(test, &s);
    s.dtype = test_chance(test, 2) ? KERNEL_F64 : KERNEL_F32;
    s.label_type = KERNEL_I32;
    s.classes = test_range(test, 1, 70);
    s.batch = s.inner == 1 ? test_range(test, 1, 600) : 2;
    s.inner = s.inner == 1 ? 1 : test_range(test, 2, 300);
    bytes = kernel_dtype_bytes(s.dtype);
    samples = (size_t)(s.batch * s.inner);
    count = samples * (size_t)s.classes;
    numbers = test_input(test, count);
    labels = test_output(test, samples * sizeof(*labels));
    x = test_output(test, count * bytes);
    for (size_t i = 0; i < samples; i++)
        labels[i] = (int32_t)test_range(test, 0, s.classes - 1);
    for (size_t i = 0; i < count; i++)
        numbers[i] = test_random(test) % 2000 == 0 ? (test_chance(test, 2) ? NAN : -INFINITY)
                                                   : numbers[i] * 20.0f;
    cast_ref(x, s.dtype, numbers, KERNEL_F32, count);
    test_describe(test, "loss of %lldx%lldx%lld of type %d, reduction %d, scores %d",
                  (long long)s.batch, (long long)s.classes, (long long)s.inner, (int)s.dtype,
                  (int)s.reduction, s.takes_scores);
    for (int i = 0; i < 2; i++) {
        sides[i] = test_output(test, samples * bytes);
        logs[i] = s.takes_scores ? test_output(test, count * bytes) : NULL;
    }
    TEST_RUN(test, TEST_REF, class_loss_ref(sides[0], logs[0], x, labels, NULL, &s));
    TEST_RUN(test, TEST_NEW, table->class_loss.fn(sides[1], logs[1], x, labels, NULL, &s));
    if (s.reduction != LOSS_EACH)
        samples = 1;
    for (size_t i = 0; i < samples + (logs[0] ? count : 0); i++) {
        void **side = i < samples ? sides : logs;
        size_t at = i < samples ? i : i - samples;
        bool is_f64 = s.dtype == KERNEL_F64;
        double a = is_f64 ? ((double *)side[1])[at] : (double)((float *)side[1])[at];
        double b = is_f64 ? ((double *)side[0])[at] : (double)((float *)side[0])[at];
        double room = (is_f64 ? 1e-14 : 2e-6) * fmax(fabs(b), 20.0);

        if (isnan(b) ? !isnan(a) : a != b && !(fabs(a - b) <= room))
            test_fail(test, "result %zu is %.17g, not %.17g", i, a, b);
    }
}

const struct test_op test_ops_reduce[] = {
    {"class_loss", check_class_loss, offsetof(struct kernel_table, class_loss)},
    {"class_loss_types", check_loss_types, offsetof(struct kernel_table, class_loss)},
    {"along", check_along, offsetof(struct kernel_table, along)},
    {"along_powers", check_along_powers, offsetof(struct kernel_table, along)},
    {"along_types", check_along_types, offsetof(struct kernel_table, along)},
    {"arg_reduce", check_arg_reduce, offsetof(struct kernel_table, arg_reduce)},
    {"arg_reduce_reals", check_arg_reals, offsetof(struct kernel_table, arg_reduce)},
    {"arg_reduce_types", check_arg_types, offsetof(struct kernel_table, arg_reduce)},
    {"normalize", check_normalize, offsetof(struct kernel_table, normalize)},
    {"normalize_groups", check_normalize_groups, offsetof(struct kernel_table, normalize)},
    {"normalize_f64", check_normalize_f64, offsetof(struct kernel_table, normalize)},
    {"reduce", check_reduce, offsetof(struct kernel_table, reduce)},
    {"reduce_powers", check_reduce_powers, offsetof(struct kernel_table, reduce)},
    {"reduce_whole", check_reduce_whole, offsetof(struct kernel_table, reduce)},
    {"reduce_types", check_reduce_types, offsetof(struct kernel_table, reduce)},
};
const size_t test_ops_reduce_count = sizeof(test_ops_reduce) / sizeof(test_ops_reduce[0]);
