/* SPDX-License-Identifier: Apache-2.0 */
/* The length of a union of intervals, against a slow one that marks every ns. */
#include "analyze/containers/interval.h"
#include "tests/support/check.h"

static int64_t total_of(struct interval_union *set)
{
    int64_t total;

    CHECK_OK(interval_total(set, &total));
    return total;
}

static void overlap_counts_once(void **state)
{
    struct interval_union set = {0};

    CHECK_OK(interval_add(&set, 10, 20));
    CHECK_OK(interval_add(&set, 15, 25));
    CHECK_OK(interval_add(&set, 25, 30));
    CHECK_OK(interval_add(&set, 40, 40));
    CHECK_OK(interval_add(&set, 60, 50));
    CHECK_U64((uint64_t)total_of(&set), 20);
    CHECK_OK(interval_add(&set, 0, 100));
    CHECK_U64((uint64_t)total_of(&set), 100);
    CHECK_U64(set.late_count, 0);
    interval_deinit(&set);
}

static void random_ones_match_marking(void **state)
{
    enum { NS = 4096, ROUNDS = 200 };
    uint32_t seed = 1;

    for (int round = 0; round < ROUNDS; round++) {
        struct interval_union set = {0};
        bool marked[NS] = {false};
        uint64_t wanted = 0;
        int count = round * 3;

        for (int i = 0; i < count; i++) {
            int64_t start, length;

            seed = seed * 1664525 + 1013904223;
            start = (seed >> 8) % NS;
            length = (seed >> 20) % 64;
            length = start + length > NS ? NS - start : length;
            for (int64_t at = start; at < start + length; at++)
                marked[at] = true;
            CHECK_OK(interval_add(&set, start, start + length));
        }
        for (int i = 0; i < NS; i++)
            wanted += marked[i];
        CHECK_U64((uint64_t)total_of(&set), wanted);
        interval_deinit(&set);
    }
}

static void two_lanes_in_turns(void **state)
{
    struct interval_union set = {0};
    const int64_t count = 20000;

    /* Batches of one lane, then of the other, which fills the gaps by half. */
    for (int64_t batch = 0; batch < count; batch += 5000) {
        for (int64_t i = batch; i < batch + 5000; i++)
            CHECK_OK(interval_add(&set, i * 10, i * 10 + 5));
        for (int64_t i = batch; i < batch + 5000; i++)
            CHECK_OK(interval_add(&set, i * 10 + 3, i * 10 + 8));
    }
    CHECK_U64((uint64_t)total_of(&set), (uint64_t)count * 8);
    interval_deinit(&set);
}

static void old_ones_are_folded(void **state)
{
    struct interval_union set = {0};
    const int64_t count = INTERVAL_KEPT_MAX + 100000;

    for (int64_t i = 0; i < count; i++)
        CHECK_OK(interval_add(&set, i * 10, i * 10 + 5));
    CHECK_U64((uint64_t)total_of(&set), (uint64_t)count * 5);
    CHECK_U64(set.late_count, 0);
    assert_true(set.kept.count <= INTERVAL_KEPT_MAX);
    CHECK_OK(interval_add(&set, 5, 10)); /* behind what is kept: counted, not guessed */
    CHECK_U64(set.late_count, 1);
    CHECK_U64((uint64_t)total_of(&set), (uint64_t)count * 5);
    interval_deinit(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(overlap_counts_once),
        cmocka_unit_test(random_ones_match_marking),
        cmocka_unit_test(two_lanes_in_turns),
        cmocka_unit_test(old_ones_are_folded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
