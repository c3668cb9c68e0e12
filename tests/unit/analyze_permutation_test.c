/* SPDX-License-Identifier: Apache-2.0 */
/* The permutation test against all ways to deal out, counted another way. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/stats/permutation_test.h"
#include "analyze/stats/random.h"
#include "tests/support/check.h"

static struct permutation_line line_of(const double *base, const double *new, bool is_op)
{
    return (struct permutation_line){.base = base, .new = new, .scale = 1, .is_op = is_op};
}

static void parted_samples_reach_the_floor(void **state)
{
    const double low[] = {1, 2, 3, 4, 5}, high[] = {16, 17, 18, 19, 20};
    struct permutation_line one = line_of(low, high, true);

    (void)state;
    CHECK_OK(permutation_test(&one, 1, 5, 5, NULL));
    CHECK_NEAR(one.p, 2.0 / 252, 1e-15);
    CHECK_NEAR(one.p_corrected, 2.0 / 252, 1e-15);
    CHECK_NEAR(permutation_p_floor(5, 5), 2.0 / 252, 1e-15);
    one = line_of(high, low, true);
    CHECK_OK(permutation_test(&one, 1, 4, 5, NULL));
    CHECK_NEAR(one.p, 1.0 / 126, 1e-15);
    CHECK_NEAR(permutation_p_floor(4, 5), 1.0 / 126, 1e-15);
    CHECK_NEAR(permutation_p_floor(1, 1), 1, 0);
    CHECK_NEAR(permutation_p_floor(0, 7), 1, 0);
    CHECK_NEAR(permutation_p_floor(100, 100), 1.0 / PERMUTATION_EXACT_MAX, 0);
}

/* Of one line the most striking ways are those of the largest distances of the means: counted bit
 * by bit. */
static void p_is_the_share_of_ways_as_far_apart(void **state)
{
    enum { BASE = 4, NEW = 3, ALL = BASE + NEW };
    uint64_t seed = 3;

    (void)state;
    for (int round = 0; round < 20; round++) {
        double values[ALL] = {0}, mean = 0;
        unsigned ways = 0, as_far = 0;
        struct permutation_line one = line_of(values, values + BASE, true);

        for (int i = 0; i < ALL; i++) {
            size_t other = random_below(&seed, (size_t)i + 1);

            values[i] = values[other];
            values[other] = i + 1;
        }
        for (int i = 0; i < ALL; i++)
            mean += values[i] / ALL;
        for (unsigned way = 0; way < 1U << ALL; way++) {
            double sum = 0, given = 0;

            if (__builtin_popcount(way) != NEW)
                continue;
            for (int i = 0; i < ALL; i++) {
                sum += way >> i & 1 ? values[i] - mean : 0;
                given += i >= BASE ? values[i] - mean : 0;
            }
            ways++;
            as_far += fabs(sum) >= fabs(given) - 1e-12;
        }
        CHECK_OK(permutation_test(&one, 1, BASE, NEW, NULL));
        assert_int_equal(ways, 35);
        CHECK_NEAR(one.p, (double)as_far / ways, 1e-12);
    }
}

static void correction_is_no_smaller_and_keeps_the_order(void **state)
{
    enum { LINES = 12, BASE = 6, NEW = 5 };
    uint64_t seed = 11;

    (void)state;
    for (int round = 0; round < 20; round++) {
        double values[LINES][BASE + NEW];
        struct permutation_line lines[LINES];

        for (int i = 0; i < LINES; i++) {
            for (int k = 0; k < BASE + NEW; k++)
                values[i][k] = 1 + random_unit(&seed) + (i == 4 && k >= BASE ? 5 : 0);
            lines[i] = line_of(values[i], values[i] + BASE, i > 0);
        }
        CHECK_OK(permutation_test(lines, LINES, BASE, NEW, NULL));
        for (int i = 0; i < LINES; i++)
            assert_true(lines[i].p_corrected >= lines[i].p - 1e-12 && lines[i].p > 0);
        CHECK_NEAR(lines[4].p_corrected, 1.0 / 462, 1e-12);
    }
}

/* A session that is slow as a whole, on one side, hides an op's change from no other test. */
static void a_slow_session_hides_no_op(void **state)
{
    enum { LINES = 8, SIDE = 6 };
    double values[LINES][2 * SIDE];
    struct permutation_line lines[LINES];
    uint64_t seed = 5;

    (void)state;
    for (int i = 0; i < LINES; i++) {
        for (int k = 0; k < 2 * SIDE; k++)
            values[i][k] = 1 + 0.01 * random_unit(&seed) + (k == 1 ? 0.4 : 0) +
                           (i == 3 && k >= SIDE ? 0.05 : 0);
        lines[i] = line_of(values[i], values[i] + SIDE, true);
    }
    CHECK_OK(permutation_test(lines, LINES, SIDE, SIDE, NULL));
    for (int i = 0; i < LINES; i++)
        assert_true(i == 3 ? lines[i].p_corrected <= 0.01 : lines[i].p_corrected > 0.01);
}

static void drawn_ways_meet_all_ways(void **state)
{
    enum { BASE = 8, NEW = 8 }; /* 12870 ways: drawn */
    double values[BASE + NEW];
    uint64_t seed = 8;
    unsigned ways = 0, as_far = 0;
    struct permutation_line one = line_of(values, values + BASE, true);

    (void)state;
    for (int i = 0; i < BASE + NEW; i++)
        values[i] = random_unit(&seed) + (i >= BASE ? 0.3 : 0);
    for (unsigned way = 0; way < 1U << (BASE + NEW); way++) {
        double sum = 0, given = 0;

        if (__builtin_popcount(way) != NEW)
            continue;
        for (int i = 0; i < BASE + NEW; i++) {
            sum += way >> i & 1 ? values[i] : -values[i];
            given += i >= BASE ? values[i] : -values[i];
        }
        ways++;
        as_far += fabs(sum) >= fabs(given) - 1e-12;
    }
    CHECK_OK(permutation_test(&one, 1, BASE, NEW, NULL));
    CHECK_NEAR(one.p, (double)as_far / ways, 0.02);
}

static void what_does_not_vary_does_not_differ(void **state)
{
    const double same[] = {2, 2, 2, 2, 2}, zeros[] = {0, 0, 0, 0, 0}, more[] = {3, 3, 3, 3, 3};
    double constant[40], risen[40];
    struct permutation_line lines[] = {line_of(same, same, true), line_of(zeros, zeros, true),
                                       line_of(same, more, true)};

    (void)state;
    CHECK_OK(permutation_test(lines, 3, 5, 5, NULL));
    CHECK_NEAR(lines[0].p_corrected, 1, 0);
    CHECK_NEAR(lines[1].p_corrected, 1, 0);
    CHECK_NEAR(lines[2].p_corrected, 2.0 / 252, 1e-15);
    /* One that never varies, by numbers that have no exact mean, hides none that does. */
    for (int i = 0; i < 40; i++) {
        constant[i] = 0.1;
        risen[i] = 1 + 0.001 * (i % 7) + (i >= 20 ? 0.1 : 0);
    }
    lines[0] = line_of(constant, constant + 20, false);
    lines[1] = line_of(risen, risen + 20, true);
    CHECK_OK(permutation_test(lines, 2, 20, 20, NULL));
    CHECK_NEAR(lines[0].p_corrected, 1, 0);
    CHECK_NEAR(lines[1].p_corrected, 1.0 / PERMUTATION_EXACT_MAX, 1e-15);
    CHECK_OK(permutation_test(NULL, 0, 5, 5, NULL));
}

/* Two that follow each other are disturbed together: as the two earlier ones that were. */
static void neighbours_are_not_dealt_out(void **state)
{
    enum { BASE = 20, NEW = 2 };
    double base[BASE], high[NEW] = {120, 120};
    size_t in_time[BASE + NEW], base_first[BASE + NEW];
    struct permutation_line one = {base, high, 100, true, 0, 0};

    (void)state;
    for (size_t i = 0; i < BASE + NEW; i++)
        in_time[i] = i;
    for (size_t i = 0; i < BASE; i++)
        base[i] = i == 7 || i == 8 ? 120 : 100;
    CHECK_OK(permutation_test(&one, 1, BASE, NEW, NULL));
    CHECK_NEAR(one.p, 6.0 / 231, 1e-12); /* of (22 over 2) ways those of the four high ones */
    CHECK_OK(permutation_test(&one, 1, BASE, NEW, in_time));
    CHECK_NEAR(one.p, 2.0 / 21, 1e-12);
    CHECK_NEAR(one.p_corrected, 2.0 / 21, 1e-12);
    assert_int_equal(permutation_places(BASE, NEW, in_time), 21);
    /* in the midst of the others, of which one is between the two */
    memcpy(base_first, in_time, sizeof(in_time));
    base_first[10] = 20;
    base_first[11] = 10;
    base_first[12] = 21;
    base_first[20] = 11;
    base_first[21] = 12;
    assert_int_equal(permutation_places(BASE, NEW, base_first), 20);
    CHECK_OK(permutation_test(&one, 1, BASE, NEW, base_first));
    CHECK_NEAR(one.p, 2.0 / 20, 1e-12); /* an earlier high one and a new one, two apart */
    assert_int_equal(permutation_places(BASE, 0, in_time), 0);
    assert_int_equal(permutation_places(0, NEW, in_time), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parted_samples_reach_the_floor),
        cmocka_unit_test(p_is_the_share_of_ways_as_far_apart),
        cmocka_unit_test(correction_is_no_smaller_and_keeps_the_order),
        cmocka_unit_test(a_slow_session_hides_no_op),
        cmocka_unit_test(drawn_ways_meet_all_ways),
        cmocka_unit_test(what_does_not_vary_does_not_differ),
        cmocka_unit_test(neighbours_are_not_dealt_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
