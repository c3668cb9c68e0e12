/* SPDX-License-Identifier: Apache-2.0 */
/* Correction for many tests, against the example of the paper. */
#include <math.h>

#include "analyze/stats/false_discovery.h"
#include "tests/support/check.h"

/* The fifteen p values of Benjamini and Hochberg's example; at 0.05 the first four stand. */
static void agrees_with_the_paper(void **state)
{
    const double p[] = {0.0298, 0.0001, 0.0004, 0.6528, 0.0019, 0.0095, 0.0201, 0.0278,
                        0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.7590, 1.0000};
    double corrected[15];
    int below = 0;

    CHECK_OK(false_discovery_correct(p, 15, corrected));
    for (int i = 0; i < 15; i++)
        below += corrected[i] <= 0.05;
    assert_int_equal(below, 4);
    CHECK_NEAR(corrected[1], 0.0001 * 15, 1e-12);
    CHECK_NEAR(corrected[2], 0.0004 * 15 / 2, 1e-12);
    CHECK_NEAR(corrected[5], 0.0095 * 15 / 4, 1e-12);
    CHECK_NEAR(corrected[6], 0.0201 * 15 / 5, 1e-12);
    /* 0.0278 * 15 / 6 is more than what 0.0298 has: */
    CHECK_NEAR(corrected[7], 0.0298 * 15 / 7, 1e-12);
    CHECK_NEAR(corrected[14], 1, 0);
}

static void what_was_not_tested_does_not_count(void **state)
{
    const double p[] = {NAN, 0.02, NAN, 0.04};
    double corrected[4];

    CHECK_OK(false_discovery_correct(p, 4, corrected));
    assert_true(isnan(corrected[0]) && isnan(corrected[2]));
    CHECK_NEAR(corrected[1], 0.04, 1e-12);
    CHECK_NEAR(corrected[3], 0.04, 1e-12);
    CHECK_OK(false_discovery_correct(p, 0, corrected));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_the_paper),
        cmocka_unit_test(what_was_not_tested_does_not_count),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
