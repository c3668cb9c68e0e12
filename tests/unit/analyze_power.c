/* SPDX-License-Identifier: Apache-2.0 */
/* So many sessions find a change as surely as is said, and half of them do not. Seeds are fixed. */
#include "analyze/stats/power.h"

#include <math.h>

#include "analyze/stats/random.h"
#include "analyze/stats/significance.h"
#include "tests/support/check.h"

enum { LINES_MAX = 20, ROUNDS = 200 };

static const struct compare_gates gates = {.alpha = 0.01, .threshold = 0.03};
static double values[2][LINES_MAX][POWER_SESSIONS_MAX];

/* Box, Muller. */
static double draw_normal(uint64_t *seed)
{
    const double angle = 2 * M_PI * random_unit(seed);

    return sqrt(-2 * log(1 - random_unit(seed))) * cos(angle);
}

/* How often a change of the first of some lines is found. */
static double share_found(size_t sessions, size_t lines, double variation, double change)
{
    struct compare_case cases[LINES_MAX];
    size_t found = 0;
    uint64_t seed = 7;

    for (int round = 0; round < ROUNDS; round++) {
        for (size_t line = 0; line < lines; line++) {
            const double level = line == 0 ? 1 + change : 1;

            for (size_t i = 0; i < sessions; i++) {
                values[0][line][i] = 1e6 * (1 + variation * draw_normal(&seed));
                values[1][line][i] = 1e6 * level * (1 + variation * draw_normal(&seed));
            }
            cases[line] = (struct compare_case){.base = values[0][line],
                                                .new = values[1][line],
                                                .base_count = sessions,
                                                .new_count = sessions};
        }
        CHECK_OK(compare_judge(cases, lines, &gates));
        found += cases[0].result.verdict == COMPARE_SLOWER;
    }
    return (double)found / ROUNDS;
}

static void check_power(double variation, double change, size_t lines)
{
    const size_t sessions = power_sessions(variation, change, lines, gates.alpha);
    const double all = share_found(sessions, lines, variation, change);
    const double half = share_found(sessions / 2, lines, variation, change);

    if (all < POWER_SHARE - 0.03 || half > 0.8)
        fail_msg("%zu sessions of %g and %g, %zu lines: %g, half of them %g", sessions, variation,
                 change, lines, all, half);
}

static void sessions_find_what_they_are_said_to(void **state)
{
    (void)state;
    check_power(0.03, 0.06, 1);
    check_power(0.03, 0.06, LINES_MAX);
    check_power(0.05, 0.06, 1);
    check_power(0.05, 0.08, LINES_MAX);
}

static void numbers_follow_the_formula(void **state)
{
    (void)state;
    /* 2.0944 * 0.25 * (2.5758 + 1.6449)^2 = 9.33, and 1.66; of 20 lines, by 3.4808, 13.8 and 3.03 */
    CHECK_U64(power_sessions(0.03, 0.06, 1, 0.01), 11);
    CHECK_U64(power_sessions(0.03, 0.06, 20, 0.01), 17);
    CHECK_U64(power_sessions(0.06, 0.06, 1, 0.01), 39);
    CHECK_U64(power_sessions(0, 0.06, 1, 0.01), 2);
    CHECK_U64(power_sessions(0, 0.06, 1, 1), 1);
    CHECK_U64(power_sessions(10, 0.01, 1, 0.01), POWER_SESSIONS_MAX);
    CHECK_U64(power_sessions(INFINITY, 0.01, 1, 0.01), POWER_SESSIONS_MAX);
    assert_true(power_sessions(0.03, 0.06, 1, 1e-30) > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_follow_the_formula),
        cmocka_unit_test(sessions_find_what_they_are_said_to),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
