/* SPDX-License-Identifier: Apache-2.0 */
/* Counts of the last minute and the median of the last runs. */
#include "daemon/pace.h"

#include "tests/support/check.h"

#define SECOND UINT64_C(1000000000)

static void nothing_is_known_of_nothing(void **state)
{
    struct pace pace = {0};
    struct pace_view view = pace_look(&pace, 5 * SECOND, 7);

    CHECK_U64(view.window_ns, 0);
    CHECK_U64(view.event_count, 0);
    CHECK_U64(view.run_count, 0);
    CHECK_U64(view.run_p50_ns, 0);
    CHECK_U64(view.run_sample_count, 0);
    pace_sample(&pace, 5 * SECOND, 7);
    CHECK_U64(pace_look(&pace, 5 * SECOND, 7).window_ns, 0); /* the same moment */
}

/* A young session counts from its beginning. */
static void windows_begin_with_the_session(void **state)
{
    struct pace pace = {0};
    struct pace_view view;

    pace_sample(&pace, 100 * SECOND, 0);
    pace_note_run(&pace, 3, 0);
    view = pace_look(&pace, 102 * SECOND, 40);
    CHECK_U64(view.window_ns, 2 * SECOND);
    CHECK_U64(view.event_count, 40);
    CHECK_U64(view.run_count, 1);
}

/* Then it is the last minute, however long it goes on. */
static void windows_are_a_minute(void **state)
{
    struct pace pace = {0};
    struct pace_view view;
    uint64_t events = 0;

    for (uint64_t second = 1; second <= 1000; second += PACE_SAMPLE_MS / 1000) {
        pace_sample(&pace, second * SECOND, events);
        events += 10;
        pace_note_run(&pace, second, 0);
    }
    view = pace_look(&pace, 1001 * SECOND, events);
    CHECK_U64(view.window_ns, 65 * SECOND);
    CHECK_U64(view.event_count, 130);
    CHECK_U64(view.run_count, 13);
}

static void medians_are_of_the_last_runs(void **state)
{
    struct pace pace = {0};

    pace_note_run(&pace, 9, 1); /* a warm-up */
    CHECK_U64(pace_look(&pace, 1, 0).run_sample_count, 0);
    pace_note_run(&pace, 7, 0);
    CHECK_U64(pace_look(&pace, 1, 0).run_p50_ns, 7);
    pace_note_run(&pace, 4, 0);
    CHECK_U64(pace_look(&pace, 1, 0).run_p50_ns, 5); /* 5.5 */
    pace_note_run(&pace, UINT64_MAX, 0);
    CHECK_U64(pace_look(&pace, 1, 0).run_p50_ns, 7);
    pace_note_run(&pace, UINT64_MAX, 0);
    pace_note_run(&pace, UINT64_MAX, 0);
    pace_note_run(&pace, UINT64_MAX, 0);
    CHECK_U64(pace_look(&pace, 1, 0).run_p50_ns, UINT64_MAX); /* no overflow */
    for (unsigned i = 0; i < PACE_RUNS; i++)
        pace_note_run(&pace, 100 + i % 2, 0);
    CHECK_U64(pace_look(&pace, 1, 0).run_p50_ns, 100);
    CHECK_U64(pace_look(&pace, 1, 0).run_sample_count, PACE_RUNS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_known_of_nothing),
        cmocka_unit_test(windows_begin_with_the_session),
        cmocka_unit_test(windows_are_a_minute),
        cmocka_unit_test(medians_are_of_the_last_runs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
