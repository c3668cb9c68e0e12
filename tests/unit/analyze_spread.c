/* SPDX-License-Identifier: Apache-2.0 */
/* Variation, drift, autocorrelation and outliers of a sample, against sums done by hand. */
#include <math.h>

#include "analyze/stats/random.h"
#include "analyze/stats/spread.h"
#include "tests/support/check.h"

static void variation_is_deviation_by_mean(void **state)
{
    const double values[] = {2, 4, 4, 4, 5, 5, 7, 9}; /* squares about the mean 5: 32 */
    struct spread spread;

    CHECK_OK(spread_of(values, 8, &spread));
    CHECK_NEAR(spread.variation, sqrt(32.0 / 7) / 5, 1e-12);
    /* (-3)(-1) + (-1)(-1) + (-1)(-1) + 0 + 0 + 0 + (2)(4), by 32 */
    CHECK_NEAR(spread.autocorrelation, 13.0 / 32, 1e-12);
    CHECK_NEAR(spread.drift, 6.0 / 4 - 1, 1e-12);
    CHECK_OK(spread_of(values, 1, &spread));
    assert_true(isnan(spread.variation) && isnan(spread.drift));
    assert_false(spread_drifts(&spread, 0.01));
}

static void a_drift_is_seen_and_noise_is_none(void **state)
{
    double warming[40], noise[40];
    struct spread spread;
    uint64_t seed = 1;

    for (int i = 0; i < 40; i++) {
        warming[i] = 100 + i + 4 * random_unit(&seed);
        noise[i] = 100 + 4 * random_unit(&seed);
    }
    CHECK_OK(spread_of(warming, 40, &spread));
    assert_true(spread_drifts(&spread, 0.03));
    assert_true(spread.autocorrelation > 0.5);
    CHECK_OK(spread_of(noise, 40, &spread));
    assert_false(spread_drifts(&spread, 0.03));
    assert_true(spread.autocorrelation < 0.3);
}

static void outliers_have_a_large_z(void **state)
{
    const double values[] = {10, 11, 9, 10, 12, 8, 10}; /* median 10, MAD 1 */
    const double same[] = {5, 5, 5};

    CHECK_NEAR(spread_mad_z(values, 7, 12), 0.6745 * 2, 1e-12);
    CHECK_NEAR(spread_mad_z(values, 7, 4), -0.6745 * 6, 1e-12);
    assert_true(spread_mad_z(values, 7, 16) > SPREAD_OUTLIER_Z);
    CHECK_NEAR(spread_mad_z(same, 3, 5), 0, 0);
    assert_true(isinf(spread_mad_z(same, 3, 6)));
    assert_true(isnan(spread_mad_z(same, 0, 6)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(variation_is_deviation_by_mean),
        cmocka_unit_test(a_drift_is_seen_and_noise_is_none),
        cmocka_unit_test(outliers_have_a_large_z),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
