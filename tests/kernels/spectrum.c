/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of transforms and of random numbers. */
#include <math.h>

#include "tests/kernels/harness.h"

static void check_dft(struct test *test, const struct kernel_table *table)
{
    struct kernel_dft s = {.dtype = test_chance(test, 4) ? KERNEL_F64 : KERNEL_F32,
                           .outer = test_range(test, 0, 3),
                           .in = test_range(test, 1, test->is_wide ? 300 : 70),
                           .inner = test_range(test, 1, 3),
                           .x_parts = (int)test_range(test, 1, 2),
                           .y_parts = (int)test_range(test, 1, 2),
                           .is_inverse = test_chance(test, 2)};
    struct test_tolerance tolerance = {0};
    size_t x_count, y_count;
    float *x, *want, *got;
    double sum = 0.0;
    void *workspace;

    s.length = test_chance(test, 2) ? s.in : test_range(test, 1, 90);
    s.is_half = s.is_inverse && s.y_parts == 1;
    s.out = test_chance(test, 2) ? s.length : s.length / 2 + 1;
    test_describe(test, "type %d, %lldx%lldx%lld of %d to %lld of %d parts, length %lld%s%s",
                  (int)s.dtype, (long long)s.outer, (long long)s.in, (long long)s.inner, s.x_parts,
                  (long long)s.out, s.y_parts, (long long)s.length, s.is_inverse ? ", inverse" : "",
                  s.is_half ? ", half" : "");
    x_count = (size_t)(s.outer * s.in * s.inner * s.x_parts);
    y_count = (size_t)(s.outer * s.out * s.inner * s.y_parts);
    x = test_input(test, x_count);
    want = test_output(test, y_count * sizeof(double));
    got = test_output(test, y_count * sizeof(double));
    workspace = test_output(test, kernel_dft_room(&s));
    for (size_t i = 0; i < x_count; i++)
        sum += (double)x[i] * (double)x[i];
    tolerance.absolute = 4e-6 * sqrt(sum) + 1e-6;
    if (s.dtype == KERNEL_F64) {
        double *wide = test_output(test, x_count * sizeof(double));

        for (size_t i = 0; i < x_count; i++)
            wide[i] = (double)x[i];
        TEST_RUN(test, TEST_REF, dft_ref(want, wide, workspace, &s));
        TEST_RUN(test, TEST_NEW, table->dft.fn(got, wide, workspace, &s));
        for (size_t i = 0; i < y_count; i++) {
            want[i] = (float)((double *)(void *)want)[i];
            got[i] = (float)((double *)(void *)got)[i];
        }
    } else {
        TEST_RUN(test, TEST_REF, dft_ref(want, x, workspace, &s));
        TEST_RUN(test, TEST_NEW, table->dft.fn(got, x, workspace, &s));
    }
    test_compare(test, got, want, y_count, &tolerance);
}

/* Every band has its peak, and nothing is outside of [0, 1]. */
static void check_mel(struct test *test, const struct kernel_table *table)
{
    struct kernel_mel s = {.dtype = KERNEL_F32,
                           .bands = test_range(test, 0, 12),
                           .length = test_range(test, 2, 500),
                           .sample_rate = 16000.0,
                           .low = (double)test_range(test, 0, 100),
                           .high = (double)test_range(test, 200, 7000)};
    int64_t frequencies = s.length / 2 + 1;
    size_t bytes = (size_t)(frequencies * s.bands) * sizeof(float);
    float *y = test_output(test, bytes), *want = test_output(test, bytes);
    int rc;

    test_describe(test, "%lld bands of %lld frequencies", (long long)s.bands,
                  (long long)frequencies);
    TEST_RUN(test, TEST_REF, mel_ref(want, &s));
    TEST_RUN(test, TEST_NEW, rc = table->mel.fn(y, &s));
    if (rc != 0)
        test_fail(test, "it returned %d", rc);
    test_compare_bytes(test, y, want, bytes);
    for (int64_t band = 0; band < s.bands; band++) {
        float most = 0.0f;

        for (int64_t j = 0; j < frequencies; j++) {
            most = fmaxf(most, y[j * s.bands + band]);
            if (!(y[j * s.bands + band] >= 0.0f))
                test_fail(test, "band %lld is below 0", (long long)band);
        }
        if (most != 1.0f)
            test_fail(test, "band %lld is at most %g", (long long)band, (double)most);
    }
    s.high = 1e6;
    if (s.bands > 0 && table->mel.fn(y, &s) != -1)
        test_fail(test, "frequencies beyond the transform's are taken");
}

/* Mean and deviation are what they are to be, equal seeds give equal numbers and others do not. */
static void check_random(struct test *test, const struct kernel_table *table)
{
    enum { COUNT = 20000 };
    struct kernel_random s = {.dtype = KERNEL_F32,
                              .is_normal = test_chance(test, 2),
                              .a = 3.0,
                              .b = 5.0,
                              .seed = test_random(test)};
    double sum = 0.0, squares = 0.0, mean = s.is_normal ? 3.0 : 4.0;
    double deviation = s.is_normal ? 5.0 : 2.0 / sqrt(12.0);
    float *y = test_output(test, COUNT * sizeof(*y)),
          *again = test_output(test, COUNT * sizeof(*y));
    int equal = 0;

    test_describe(test, "seed %llu", (unsigned long long)s.seed);
    TEST_RUN(test, TEST_NEW, table->random.fn(y, COUNT, &s));
    table->random.fn(again, COUNT, &s);
    test_compare_bytes(test, y, again, COUNT * sizeof(*y));
    s.seed++;
    table->random.fn(again, COUNT, &s);
    for (int i = 0; i < COUNT; i++) {
        sum += (double)y[i];
        squares += ((double)y[i] - mean) * ((double)y[i] - mean);
        equal += y[i] == again[i];
        if (!s.is_normal && !(y[i] >= 3.0f && y[i] <= 5.0f))
            test_fail(test, "number %d is %g", i, (double)y[i]);
    }
    if (fabs(sum / COUNT - mean) > 6.0 * deviation / sqrt(COUNT) ||
        fabs(sqrt(squares / COUNT) - deviation) > 0.05 * deviation)
        test_fail(test, "mean %g, deviation %g", sum / COUNT, sqrt(squares / COUNT));
    if (equal > 20)
        test_fail(test, "%d numbers of another seed are the same", equal);
}

const struct test_op test_ops_spectrum[] = {
    {"dft", check_dft, offsetof(struct kernel_table, dft)},
    {"mel", check_mel, offsetof(struct kernel_table, mel)},
    {"random", check_random, offsetof(struct kernel_table, random)},
};
const size_t test_ops_spectrum_count = sizeof(test_ops_spectrum) / sizeof(test_ops_spectrum[0]);
