/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that are wrong, crash or write where they must not: what the search has to find. They run
 * where they are asked for by name only. */
#include <signal.h>
#include <string.h>

#include "tests/kernels/harness.h"

/* Wrong from 17 x 4 on. */
static void check_wrong(struct test *test, const struct kernel_table *table)
{
    int64_t rows = test_range(test, 1, 40), columns = test_range(test, 1, 20);
    size_t count = (size_t)(rows * columns);
    float *x = test_input(test, count), *want = test_output(test, count * sizeof(*want));
    float *got = test_output(test, count * sizeof(*got));

    test_describe(test, "%lldx%lld", (long long)rows, (long long)columns);
    test_kernel(test, "broken:wrong");
    memcpy(want, x, count * sizeof(*want));
    memcpy(got, x, count * sizeof(*got));
    if (rows >= 17 && columns >= 4)
        got[count - 1] += 1.0f;
    test_compare(test, got, want, count, &(struct test_tolerance){0});
}

/* From 9 columns on. */
static void check_crash(struct test *test, const struct kernel_table *table)
{
    int64_t columns = test_range(test, 1, 20);

    test_describe(test, "%lld columns", (long long)columns);
    test_kernel(test, "broken:crash");
    if (columns >= 9)
        raise(SIGKILL); /* no sanitizer has a word in this one */
}

static void check_guards(struct test *test, const struct kernel_table *table)
{
    int64_t columns = test_range(test, 1, 20);
    char *got = test_output(test, (size_t)columns);

    test_describe(test, "%lld columns", (long long)columns);
    test_kernel(test, "broken:guards");
    memset(got, 1, (size_t)columns + (columns % 8 == 7));
}

/* The entry is one that has no version but the reference. */
static void check_itself(struct test *test, const struct kernel_table *table)
{
    const struct kernel_determinant s = {
        .dtype = KERNEL_F32, .batch = test_range(test, 1, 20), .size = 1};
    float *x = test_input(test, (size_t)s.batch), *want = test_output(test, (size_t)s.batch * 4);
    float *got = test_output(test, (size_t)s.batch * 4);
    double workspace[1];

    test_describe(test, "%lld matrices", (long long)s.batch);
    TEST_RUN(test, TEST_REF, determinant_ref(want, x, workspace, &s));
    TEST_RUN(test, TEST_NEW, table->determinant.fn(got, x, workspace, &s));
    test_compare_bytes(test, got, want, (size_t)s.batch * 4);
}

const struct test_op test_ops_broken[] = {
    {"broken_wrong", check_wrong, TEST_ALWAYS},
    {"broken_crash", check_crash, TEST_ALWAYS},
    {"broken_guards", check_guards, TEST_ALWAYS},
    {"broken_itself", check_itself, offsetof(struct kernel_table, determinant)},
};
const size_t test_ops_broken_count = sizeof(test_ops_broken) / sizeof(test_ops_broken[0]);
