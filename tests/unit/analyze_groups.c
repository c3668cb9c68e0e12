/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of values: which key is which group, and the statistics of each. */
#include "analyze/stats/groups.h"

#include <math.h>

#include "tests/support/check.h"

static uint32_t find(struct groups *groups, const char *name, int expected)
{
    struct place_key key = {0};
    uint32_t group;

    groups_add_text(&key, name);
    assert_int_equal(groups_find(groups, key, &group), expected);
    return group;
}

static void keys_make_groups_once(void **state)
{
    struct groups groups = {0};

    CHECK_U64(find(&groups, "a", 1), 0);
    CHECK_U64(find(&groups, "b", 1), 1);
    CHECK_U64(find(&groups, "a", 0), 0);
    CHECK_U64(find(&groups, NULL, 1), 2);
    CHECK_U64(find(&groups, "", 1), 3);
    CHECK_U64(groups.count, 4);
    groups_deinit(&groups);
}

/* 10, 20, ..., 100: mean 55, median 55, sample variance 8250 / 9; of P90 the place is 9. */
static void statistics_are_those_of_the_group(void **state)
{
    struct groups groups = {0};
    struct group_summary *summaries;
    uint32_t tens = find(&groups, "tens", 1), one = find(&groups, "one", 1);
    uint32_t none = find(&groups, "none", 1);

    for (int i = 10; i > 0; i--) {
        CHECK_OK(groups_add(&groups, tens, i * 10));
        if (i == 5)
            CHECK_OK(groups_add(&groups, one, 7));
        CHECK_OK(groups_add(&groups, none, NAN));
    }
    CHECK_OK(groups_summarize(&groups, &summaries));
    CHECK_U64(summaries[tens].count, 10);
    CHECK_NEAR(summaries[tens].sum, 550, 1e-9);
    CHECK_NEAR(summaries[tens].mean, 55, 1e-9);
    CHECK_NEAR(summaries[tens].median, 55, 1e-9);
    CHECK_NEAR(summaries[tens].stddev, sqrt(8250.0 / 9), 1e-9);
    CHECK_NEAR(summaries[tens].min, 10, 0);
    CHECK_NEAR(summaries[tens].max, 100, 0);
    CHECK_NEAR(summaries[tens].p50, 50, 0);
    CHECK_NEAR(summaries[tens].p90, 90, 0);
    CHECK_NEAR(summaries[tens].p99, 100, 0);
    CHECK_U64(summaries[one].count, 1);
    CHECK_NEAR(summaries[one].median, 7, 0);
    assert_true(isnan(summaries[one].stddev));
    CHECK_U64(summaries[none].count, 0);
    assert_true(isnan(summaries[none].sum) && isnan(summaries[none].p99));
    free(summaries);
    groups_deinit(&groups);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_make_groups_once),
        cmocka_unit_test(statistics_are_those_of_the_group),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
