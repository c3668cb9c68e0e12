/* SPDX-License-Identifier: Apache-2.0 */
/* Programs with NVTX, recorded as they are. */
#include <signal.h>

#include "tests/support/check.h"
#include "tests/support/place.h"
#include "tests/support/run_scene.h"

static int start(void **state)
{
    *state = run_scene_create();
    return 0;
}

static int stop(void **state)
{
    run_scene_destroy((struct run_scene **)state);
    return 0;
}

static void record(void **state, int status, const char *scene, const char *argument)
{
    char *program = place_program("tests/flow/inject_nvtx_program");

    run_scene_record(*state, NULL, status, (const char *const[]){program, scene, argument, NULL});
    free(program);
}

#define COUNT(sql)     ((uint64_t)run_scene_count(*state, sql))
#define COUNT_OF(name) ((uint64_t)run_scene_count_of(*state, name))

/* Events of `inner` that lie within one of `outer`, on its thread. */
static uint64_t count_inside(void **state, const char *outer, const char *inner)
{
    char sql[500];

    snprintf(sql, sizeof(sql),
             "SELECT count(*) FROM v_event o JOIN v_event i USING (lane_id) WHERE o.op_name = '%s'"
             " AND i.op_name = '%s' AND i.start_ns >= o.start_ns AND i.end_ns <= o.end_ns",
             outer, inner);
    return (uint64_t)run_scene_count(*state, sql);
}

static void ranges_and_marks_are_seen(void **state)
{
    record(state, 0, "ranges", NULL);
    CHECK_U64(COUNT("SELECT count(*) FROM session WHERE end_reason = 'done'"), 1);
    CHECK_U64(COUNT_OF("outer"), 1);
    CHECK_U64(count_inside(state, "outer", "inner"), 1);
    CHECK_U64(count_inside(state, "inner", "registered"), 1);
    CHECK_U64(count_inside(state, "inner", "crossed"), 1);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_name = 'here' AND op_type = 'mark' AND"
                    " dur_ns = 0"),
              1);
    CHECK_U64(COUNT_OF("step 0"), 50);
    CHECK_U64(COUNT_OF("step 1"), 50);
    CHECK_U64(COUNT_OF("wide \u00e9 \u4e16"), 1);
    CHECK_U64(COUNT("SELECT count(*) FROM op WHERE name LIKE 'bad %bytes \"quoted\"'"), 1);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE end_ns IS NULL"), 0);
}

static void domains_and_categories_are_told(void **state)
{
    record(state, 0, "ranges", NULL);
    CHECK_U64(COUNT("SELECT count(*) FROM op WHERE name = 'registered' AND"
                    " params ->> 'domain' = 'one'"),
              1);
    CHECK_U64(COUNT("SELECT count(*) FROM op WHERE name = 'sorted' AND params ->> 'domain' = 'one'"
                    " AND params ->> 'category' = 'loading'"),
              1);
    CHECK_U64(COUNT("SELECT count(*) FROM op WHERE name = 'outer' AND params IS NULL"), 1);
}

/* What the client does not record, it counts. */
static void deep_ranges_are_counted(void **state)
{
    record(state, 0, "deep", NULL);
    CHECK_U64(COUNT_OF("level"), 120);
    CHECK_U64(COUNT("SELECT sum(lost_count) FROM gap"), 80);
}

static void deepest_ranges_leave_the_rest_right(void **state)
{
    record(state, 0, "deepest", NULL);
    CHECK_U64(COUNT_OF("level"), 120);
    CHECK_U64(COUNT_OF("after"), 1);
}

static void long_texts_are_cut(void **state)
{
    record(state, 0, "large", NULL);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_name LIKE 'xxxx%'"), 3);
    CHECK_U64(COUNT("SELECT count(*) FROM op WHERE name LIKE 'xxxx%' AND length(name) > 500"), 1);
}

static void texts_are_told_apart_where_memory_ends(void **state)
{
    record(state, 0, "texts", NULL);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event"), 79 * 5);
    for (int length = 2; length <= 80; length++) {
        char name[81] = "", sql[160];

        memset(name, 'a' + length % 26, (size_t)length);
        snprintf(sql, sizeof(sql), "SELECT count(*) FROM v_event WHERE op_name = '%s'", name);
        CHECK_U64(COUNT(sql), 3);
    }
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_name LIKE '%!'"), 79);
}

static void names_have_an_end(void **state)
{
    record(state, 0, "many", NULL);
    assert_true(COUNT("SELECT count(*) FROM op") < 131072 + 10);
    assert_true(COUNT_OF("(further names)") > 0);
}

static void ranges_end_anywhere(void **state)
{
    record(state, 0, "anywhere", NULL);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE lane_kind = 'queue'"), 3);
    CHECK_U64(
        COUNT("SELECT count(*) FROM v_event a JOIN v_event b ON a.op_name = 'first' AND"
              " b.op_name = 'second' AND a.start_ns <= b.start_ns AND a.end_ns <= b.end_ns AND"
              " a.lane_id != b.lane_id"),
        1);
    /* The first one's lane is free again. */
    CHECK_U64(COUNT("SELECT count(*) FROM lane WHERE kind = 'queue'"), 2);
}

static void many_threads_are_seen(void **state)
{
    record(state, 0, "threads", NULL);
    CHECK_U64(COUNT_OF("one of many"), 64 * 500);
    CHECK_U64(COUNT_OF("odd"), 64 * 250);
    CHECK_U64(COUNT_OF("left open"), 64);
    CHECK_U64(COUNT("SELECT count(DISTINCT lane_id) > 0 FROM v_event WHERE lane_name = 'pusher'"),
              1);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE lane_name != 'pusher'"), 0);
}

static void each_library_has_a_way_in(void **state)
{
    char *unit = place_program("tests/flow/libinject_nvtx_unit.so");

    record(state, 0, "units", unit);
    CHECK_U64(COUNT("SELECT count(*) FROM session"), 1);
    CHECK_U64(count_inside(state, "before", "work of the library"), 2);
    CHECK_U64(COUNT_OF("after"), 1);
    free(unit);
}

static void children_have_sessions_of_their_own(void **state)
{
    record(state, 0, "forks", NULL);
    CHECK_U64(COUNT("SELECT count(*) FROM session WHERE end_reason = 'done'"), 2);
    CHECK_U64(COUNT_OF("in the child"), 1);
    CHECK_U64(COUNT_OF("around"), 1);
    CHECK_U64(COUNT_OF("of the parent"), 1);
}

static void the_last_range_is_seen(void **state)
{
    record(state, 128 + SIGKILL, "killed", NULL);
    CHECK_U64(COUNT("SELECT count(*) FROM session WHERE end_reason = 'died'"), 1);
    CHECK_U64(
        COUNT("SELECT count(*) FROM v_event WHERE op_name = 'the last one' AND end_ns IS NULL"), 1);
}

static void descriptors_may_be_closed(void **state)
{
    record(state, 0, "closes", NULL);
    CHECK_U64(COUNT_OF("before"), 1);
    CHECK_U64(COUNT_OF("after"), 1);
    record(state, 0, "executes", NULL);
    CHECK_U64(COUNT("SELECT count(*) FROM session"), 2);
    CHECK_U64(COUNT_OF("before"), 2);
}

static void who_calls_nothing_makes_no_session(void **state)
{
    record(state, 0, "none", NULL);
    CHECK_U64(COUNT("SELECT count(*) FROM session"), 0);
    record(state, 0, "prepares", NULL);
    CHECK_U64(COUNT("SELECT count(*) FROM session"), 0);
}

static void where_nobody_listens_nobody_keeps_track(void **state)
{
    char *program = place_program("tests/flow/inject_nvtx_program");
    const char *const argv[] = {"env", "OPTRACE_SOCKET=/nowhere/socket", program, "unheard", NULL};

    run_scene_record(*state, NULL, 0, argv);
    CHECK_U64(COUNT("SELECT count(*) FROM session"), 0);
    free(program);
}

static void a_program_with_liboptrace_has_one_session(void **state)
{
    char *program = place_program("tests/flow/inject_both_program");

    run_scene_record(*state, NULL, 0, (const char *const[]){program, NULL});
    CHECK_U64(COUNT("SELECT count(*) FROM session"), 1);
    CHECK_U64(count_inside(state, "by hand", "by nvtx"), 3);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_name = 'by nvtx' AND run > 0"), 3);
    free(program);
}

/* Two pushes in one are one run; what is around or beside is in none. */
static void names_begin_runs(void **state)
{
    char *program = place_program("tests/flow/inject_nvtx_program");

    run_scene_record(*state, (const char *const[]){"--runs-by", "^(step [01]|outer|inner)$", NULL},
                     0, (const char *const[]){program, "ranges", NULL});
    CHECK_U64(COUNT("SELECT count(*) FROM run WHERE end_ns IS NOT NULL"), 101);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_name LIKE 'step _' AND run IS NOT NULL"),
              100);
    CHECK_U64(COUNT("SELECT count(DISTINCT run) FROM v_event WHERE op_name IN ('outer', 'inner',"
                    " 'registered') AND run IS NOT NULL"),
              1);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_name = 'sorted' AND run IS NULL"), 1);
    run_scene_record(*state, (const char *const[]){"--runs-by", "one of many", NULL}, 0,
                     (const char *const[]){program, "threads", NULL});
    CHECK_U64(COUNT("SELECT count(*) FROM run WHERE end_ns IS NOT NULL"), 64 * 500);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_name = 'left open' AND run IS NULL"),
              64);
    free(program);
}

static void sources_are_chosen(void **state)
{
    char *program = place_program("tests/flow/inject_nvtx_program");
    const char *const argv[] = {program, "forks", NULL};

    run_scene_record(*state, (const char *const[]){"--sources", "itt", NULL}, 0, argv);
    CHECK_U64(COUNT("SELECT count(*) FROM session"), 0);
    run_scene_record(*state, (const char *const[]){"--sources", "itt,nvtx", NULL}, 0, argv);
    CHECK_U64(COUNT("SELECT count(*) FROM session"), 2);
    free(program);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(ranges_and_marks_are_seen),
        CASE(domains_and_categories_are_told),
        CASE(deep_ranges_are_counted),
        CASE(deepest_ranges_leave_the_rest_right),
        CASE(long_texts_are_cut),
        CASE(texts_are_told_apart_where_memory_ends),
        CASE(names_have_an_end),
        CASE(ranges_end_anywhere),
        CASE(many_threads_are_seen),
        CASE(each_library_has_a_way_in),
        CASE(children_have_sessions_of_their_own),
        CASE(the_last_range_is_seen),
        CASE(descriptors_may_be_closed),
        CASE(who_calls_nothing_makes_no_session),
        CASE(where_nobody_listens_nobody_keeps_track),
        CASE(a_program_with_liboptrace_has_one_session),
        CASE(names_begin_runs),
        CASE(sources_are_chosen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
