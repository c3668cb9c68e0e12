/* SPDX-License-Identifier: Apache-2.0 */
/* profile_analyze --report ranks on made-up sessions: the late one is found, and the op that made
 * it late, against tests/golden/ranks/. */
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/analyze_scene.h"
#include "tests/support/check.h"
#include "tests/support/golden.h"
#include "tests/support/rank_store.h"
#include "tests/support/store_support.h"
#include "tests/support/temp.h"

static int start(void **state)
{
    struct analyze_scene *scene = analyze_scene_create();
    char *path = temp_path(scene->dir, "ranks.db");

    rank_store_make(path);
    free(path);
    *state = scene;
    return 0;
}

static int stop(void **state)
{
    analyze_scene_destroy((struct analyze_scene **)state);
    return 0;
}

static void reports_look_as_agreed(void **state)
{
    static const struct {
        const char *golden;
        const char *arguments[ANALYZE_ARGUMENTS_MAX];
    } cases[] = {
        {"several.txt", {"ranks.db", "--report", "ranks", "--session", "1..5", "--notes"}},
        {"two.txt",
         {"ranks.db", "--report", "ranks", "--session", "1,3", "-t2", "--order-by", "+p90",
          "--notes"}},
        {"warmup.json.txt",
         {"ranks.db", "--report", "ranks", "--session", "1..3", "--warmup", "--runs", "1..3",
          "--format", "json"}},
        {"time.txt",
         {"ranks.db", "--report", "ranks", "--session", "1,5", "--time", "..", "--opr-name",
          "conv1", "--notes"}},
        {"several.csv.txt",
         {"ranks.db", "--report", "ranks", "--session", "1..3", "--format", "csv"}},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct child_result result = analyze_scene_run(*state, cases[i].arguments);
        char name[64];

        if (result.status != 0)
            fail_msg("%s: status %d, %s", cases[i].golden, result.status, result.err);
        snprintf(name, sizeof(name), "ranks/%s", cases[i].golden);
        golden_check(name, result.out, strlen(result.out));
        child_result_deinit(&result);
    }
}

/* Where retention took the events of a session, it is late all the same; nobody knows why. */
static void sessions_without_events_have_no_cause(void **state)
{
    static const char *const arguments[] = {"old.db", "--report", "ranks", "--session",
                                            "1..3",   "--format", "csv",   NULL};
    static const char *const deletes[] = {
        "DELETE FROM event WHERE lane_id = 3; DELETE FROM event_batch WHERE session_max = 3",
        "DELETE FROM event; DELETE FROM event_batch",
    };
    const struct analyze_scene *scene = *state;
    char *path = temp_path(scene->dir, "old.db");

    rank_store_make(path);
    for (size_t i = 0; i < sizeof(deletes) / sizeof(deletes[0]); i++) {
        sqlite3 *db;
        struct child_result result;

        assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, deletes[i], NULL, NULL, NULL), SQLITE_OK);
        sqlite3_close(db);
        result = analyze_scene_run(scene, arguments);
        assert_int_equal(result.status, 0);
        CHECK_CONTAINS(result.out, "\n3,box,102,8,8242095,8288407,8,1,918302.875,");
        CHECK_LACKS(result.out, "conv2");
        CHECK_LACKS(result.out, "between ops");
        CHECK_CONTAINS(result.err, "Of 8 steps nobody knows what took longer");
        child_result_deinit(&result);
    }
    free(path);
}

/* Where an op is a collective. */
static void who_comes_last_to_collectives_is_told(void **state)
{
    static const char *const arguments[] = {"late.db", "--report", "ranks", "--session",
                                            "1..3",    "--format", "json",  NULL};
    const struct analyze_scene *scene = *state;
    char *path = temp_path(scene->dir, "late.db");
    struct child_result result;

    rank_store_make(path);
    store_support_run(path, "UPDATE op_row SET name = 'gloo:all_reduce', type = 'collective'"
                            " WHERE name = 'fc'");
    result = analyze_scene_run(scene, arguments);
    assert_int_equal(result.status, 0);
    CHECK_CONTAINS(result.out, "\"stragglers\"");
    CHECK_CONTAINS(result.out, "\"name\": \"gloo:all_reduce\"");
    CHECK_CONTAINS(result.out, "\"session_count\": 3");
    child_result_deinit(&result);
    free(path);
}

static void what_cannot_be_compared_is_one_sentence(void **state)
{
    static const struct {
        int status;
        const char *sentence;
        const char *arguments[ANALYZE_ARGUMENTS_MAX];
    } cases[] = {
        {1, "name several, as in --session all", {"ranks.db", "--report", "ranks"}},
        {1,
         "name several, as in --session all",
         {"ranks.db", "--report", "ranks", "--session", "2"}},
        {1,
         "only session 1 has a finished run in what is asked for",
         {"ranks.db", "--report", "ranks", "--session", "1,4"}},
        {1,
         "no runs of two sessions have the same number: --time .. compares",
         {"ranks.db", "--report", "ranks", "--session", "1,5"}},
        {1,
         "no runs of two sessions overlap in time",
         {"ranks.db", "--report", "ranks", "--session", "1,6", "--time", ".."}},
        {1,
         "events matches",
         {"ranks.db", "--report", "ranks", "--session", "all", "--type", "Relu"}},
        {1,
         "no run has ended in what is asked for",
         {"ranks.db", "--report", "ranks", "--session", "all", "--runs", "90.."}},
        {2,
         "--total has no effect on --report ranks",
         {"ranks.db", "--report", "ranks", "--session", "all", "--total"}},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct child_result result = analyze_scene_run(*state, cases[i].arguments);

        if (result.status != cases[i].status)
            fail_msg("%s: status %d: %s", cases[i].sentence, result.status, result.err);
        CHECK_CONTAINS(result.err, cases[i].sentence);
        assert_string_equal(result.out, "");
        child_result_deinit(&result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reports_look_as_agreed),
        cmocka_unit_test(sessions_without_events_have_no_cause),
        cmocka_unit_test(who_comes_last_to_collectives_is_told),
        cmocka_unit_test(what_cannot_be_compared_is_one_sentence),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
