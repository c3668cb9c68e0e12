/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of several ranks, made by hand: which are one step, who is late, by which op. */
#include "analyze/metrics/ranks.h"

#include <math.h>

#include "tests/support/check.h"

enum { CONV, FC, OPS };

static void make(const struct rank_run *runs, size_t run_count, uint32_t rank_count,
                 const double *op_ns, size_t op_count, bool by_time, struct ranks *out_ranks)
{
    const struct ranks_question question = {
        .runs = runs,
        .run_count = run_count,
        .rank_count = rank_count,
        .op_ns = op_ns,
        .op_count = op_count,
        .op_stride = run_count,
        .by_time = by_time,
    };

    CHECK_OK(ranks_make(&question, out_ranks));
}

/* Three ranks, two steps; the last run of rank 0 is alone. */
static void late_ranks_have_a_cause(void **state)
{
    static const struct rank_run runs[] = {
        {.rank = 0, .run = 1, .dur_ns = 100}, {.rank = 0, .run = 2, .dur_ns = 100},
        {.rank = 0, .run = 3, .dur_ns = 999}, {.rank = 1, .run = 1, .dur_ns = 110},
        {.rank = 1, .run = 2, .dur_ns = 90},  {.rank = 2, .run = 1, .dur_ns = 160, .unshown_ns = 5},
        {.rank = 2, .run = 2, .dur_ns = 120},
    };
    static const double op_ns[] = {
        60, 60, 900, 65, 55, 110, 75, /* CONV */
        30, 30, 50,  30, 30, 31,  40, /* FC */
    };
    struct ranks ranks;
    const struct rank_step *steps;

    make(runs, 7, 3, op_ns, OPS, false, &ranks);
    steps = ranks.steps.items;
    CHECK_U64(ranks.steps.count, 2);
    CHECK_U64(ranks.skipped, 1);
    CHECK_U64(steps[0].count, 3);
    CHECK_U64(steps[0].slowest, 5);
    CHECK_U64(steps[0].fastest, 0);
    CHECK_NEAR(steps[0].fastest_ns, 100, 1e-9);
    CHECK_NEAR(steps[0].median_ns, 110, 1e-9);
    CHECK_NEAR(steps[0].slowest_ns, 160, 1e-9);
    CHECK_U64(steps[0].part, CONV);
    CHECK_NEAR(steps[0].part_ns, 110 - 62.5, 1e-9); /* the others took 60 and 65 */
    CHECK_U64(steps[1].fastest, 4);
    CHECK_U64(steps[1].part, CONV);
    CHECK_NEAR(steps[1].part_ns, 75 - 57.5, 1e-9);

    CHECK_U64(ranks.ranks[2].step_count, 2);
    CHECK_U64(ranks.ranks[2].slowest_count, 2);
    CHECK_NEAR(ranks.ranks[2].p50_ns, 120, 1e-9);
    CHECK_NEAR(ranks.ranks[2].p90_ns, 160, 1e-9);
    CHECK_NEAR(ranks.ranks[2].behind_fastest_ns, (60 + 30) / 2.0, 1e-9);
    CHECK_NEAR(ranks.ranks[2].behind_fastest_share, 90 / 190.0, 1e-9);
    CHECK_NEAR(ranks.ranks[2].behind_median_ns, (50 + 20) / 2.0, 1e-9);
    CHECK_NEAR(ranks.ranks[2].behind_median_share, 70 / 210.0, 1e-9);
    CHECK_U64(ranks.ranks[2].part, CONV);
    CHECK_NEAR(ranks.ranks[2].part_ns, (47.5 + 17.5) / 2, 1e-9);
    /* Ahead of the median on average: nothing to explain. */
    CHECK_U64(ranks.ranks[0].slowest_count, 0);
    CHECK_NEAR(ranks.ranks[0].behind_fastest_ns, 5, 1e-9);
    CHECK_NEAR(ranks.ranks[0].behind_median_ns, -5, 1e-9);
    CHECK_U64(ranks.ranks[0].part, SIZE_MAX);
    assert_true(isnan(ranks.ranks[0].part_ns));
    ranks_deinit(&ranks);
}

/* What no op took and what was not asked for are causes too. */
static void causes_need_not_be_ops(void **state)
{
    static const struct rank_run runs[] = {
        {.rank = 0, .run = 1, .dur_ns = 100},
        {.rank = 1, .run = 1, .dur_ns = 150},
        {.rank = 0, .run = 2, .dur_ns = 100, .unshown_ns = 10},
        {.rank = 1, .run = 2, .dur_ns = 300, .unshown_ns = 200},
    };
    static const double op_ns[] = {90, 95, 80, 85};
    struct ranks ranks;

    make(runs, 4, 2, op_ns, 1, false, &ranks);
    CHECK_U64(ranks.steps.items[0].part, rank_part_between(1));
    CHECK_NEAR(ranks.steps.items[0].part_ns, 45, 1e-9);
    CHECK_U64(ranks.steps.items[1].part, rank_part_unshown(1));
    CHECK_NEAR(ranks.steps.items[1].part_ns, 190, 1e-9);
    CHECK_U64(ranks.ranks[1].part, rank_part_unshown(1));
    CHECK_NEAR(ranks.ranks[1].part_ns, 95, 1e-9);
    ranks_deinit(&ranks);
}

static void equal_runs_have_no_slowest(void **state)
{
    static const struct rank_run runs[] = {
        {.rank = 0, .run = 1, .dur_ns = 100},
        {.rank = 1, .run = 1, .dur_ns = 100},
        {.rank = 2, .run = 7, .dur_ns = 100},
    };
    static const double op_ns[] = {10, 90, 0};
    struct ranks ranks;

    make(runs, 3, 3, op_ns, 1, false, &ranks);
    CHECK_U64(ranks.steps.count, 1);
    CHECK_U64(ranks.skipped, 1);
    CHECK_U64(ranks.steps.items[0].part, SIZE_MAX);
    for (int i = 0; i < 2; i++) {
        CHECK_U64(ranks.ranks[i].slowest_count, 0);
        CHECK_NEAR(ranks.ranks[i].behind_fastest_ns, 0, 1e-9);
        CHECK_U64(ranks.ranks[i].part, SIZE_MAX);
    }
    CHECK_U64(ranks.ranks[2].step_count, 0);
    assert_true(isnan(ranks.ranks[2].behind_fastest_ns));
    assert_true(isnan(ranks.ranks[2].p50_ns));
    ranks_deinit(&ranks);
}

/* Where the events of a run are gone, it is late all the same. */
static void without_ops_there_is_no_cause(void **state)
{
    static const struct rank_run runs[] = {
        {.rank = 0, .run = 1, .dur_ns = 100},
        {.rank = 0, .run = 2, .dur_ns = 100},
        {.rank = 1, .run = 1, .dur_ns = 150},
        {.rank = 1, .run = 2, .dur_ns = 140},
    };
    static const double op_ns[] = {90, 90, 0, 120};
    struct ranks ranks;

    make(runs, 4, 2, op_ns, 1, false, &ranks);
    assert_false(ranks.steps.items[0].has_parts);
    CHECK_U64(ranks.steps.items[0].part, SIZE_MAX);
    CHECK_U64(ranks.steps.items[1].part, 0);
    CHECK_U64(ranks.ranks[1].slowest_count, 2);
    CHECK_U64(ranks.ranks[1].part, 0);
    CHECK_NEAR(ranks.ranks[1].part_ns, 30, 1e-9);
    ranks_deinit(&ranks);
}

/* Numbers that have nothing to do with each other: each run belongs to the mark it overlaps
 * longest, of two runs only the one that overlaps it longer. */
static void steps_by_time(void **state)
{
    static const struct rank_run runs[] = {
        {.rank = 0, .run = 1, .start_ns = 1000, .dur_ns = 100},
        {.rank = 0, .run = 2, .start_ns = 1100, .dur_ns = 100},
        {.rank = 0, .run = 3, .start_ns = 5000, .dur_ns = 100}, /* alone */
        {.rank = 1, .run = 8, .start_ns = 900, .dur_ns = 50},   /* before all */
        {.rank = 1, .run = 9, .start_ns = 1060, .dur_ns = 90},  /* 40 of run 1, 50 of run 2 */
        {.rank = 1, .run = 10, .start_ns = 1150, .dur_ns = 20}, /* 20 of run 2 */
        {.rank = 2, .run = 5, .start_ns = 990, .dur_ns = 30},   /* 20 of run 1 */
        {.rank = 2, .run = 6, .start_ns = 1200, .dur_ns = 30},  /* begins where run 2 ends */
    };
    struct ranks ranks;
    const struct rank_step *steps;

    make(runs, 8, 3, NULL, 0, true, &ranks);
    steps = ranks.steps.items;
    CHECK_U64(ranks.steps.count, 2);
    CHECK_U64(ranks.skipped, 4);
    CHECK_U64((uint64_t)steps[0].number, 1);
    CHECK_U64(steps[0].count, 2);
    CHECK_U64(ranks.members.items[steps[0].first], 0);
    CHECK_U64(ranks.members.items[steps[0].first + 1], 6);
    CHECK_U64((uint64_t)steps[1].number, 2);
    CHECK_U64(steps[1].count, 2);
    CHECK_U64(ranks.members.items[steps[1].first], 1);
    CHECK_U64(ranks.members.items[steps[1].first + 1], 4);
    ranks_deinit(&ranks);
}

/* A long mark is still there when a short one that began after it has ended. */
static void marks_may_overlap(void **state)
{
    static const struct rank_run runs[] = {
        {.rank = 0, .run = 1, .start_ns = 0, .dur_ns = 1000},
        {.rank = 0, .run = 2, .start_ns = 10, .dur_ns = 20},
        {.rank = 1, .run = 1, .start_ns = 500, .dur_ns = 100},
    };
    struct ranks ranks;

    make(runs, 3, 2, NULL, 0, true, &ranks);
    CHECK_U64(ranks.steps.count, 1);
    CHECK_U64((uint64_t)ranks.steps.items[0].number, 1);
    CHECK_NEAR(ranks.steps.items[0].slowest_ns, 1000, 1e-9);
    ranks_deinit(&ranks);
}

static void nothing_is_no_step(void **state)
{
    static const struct rank_run alone = {.rank = 1, .run = 1, .dur_ns = 1};
    struct ranks ranks;

    for (int by_time = 0; by_time < 2; by_time++) {
        make(NULL, 0, 0, NULL, 0, by_time, &ranks);
        CHECK_U64(ranks.steps.count, 0);
        ranks_deinit(&ranks);
        make(&alone, 1, 2, NULL, 0, by_time, &ranks);
        CHECK_U64(ranks.steps.count, 0);
        CHECK_U64(ranks.skipped, 1);
        ranks_deinit(&ranks);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(late_ranks_have_a_cause),
        cmocka_unit_test(causes_need_not_be_ops),
        cmocka_unit_test(equal_runs_have_no_slowest),
        cmocka_unit_test(without_ops_there_is_no_cause),
        cmocka_unit_test(steps_by_time),
        cmocka_unit_test(marks_may_overlap),
        cmocka_unit_test(nothing_is_no_step),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
