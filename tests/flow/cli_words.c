/* SPDX-License-Identifier: Apache-2.0 */
/* optrace report, compare and top do what their names say. */
#include <string.h>

#include "tests/support/analyze_scene.h"
#include "tests/support/check.h"
#include "tests/support/optraced.h"
#include "tests/support/place.h"
#include "tests/support/small_store.h"
#include "tests/support/temp.h"

static int start(void **state)
{
    struct analyze_scene *scene = analyze_scene_create();
    char *path = temp_path(scene->dir, "store.db");

    small_store_make(path);
    free(path);
    *state = scene;
    return 0;
}

static int stop(void **state)
{
    analyze_scene_destroy((struct analyze_scene **)state);
    return 0;
}

/* Runs optrace in the scene's folder, with profile_analyze in the PATH. */
static struct child_result run(const struct analyze_scene *scene, const char *const *words)
{
    char *program = place_program("client/cli/optrace"), path[512];
    const char *argv[12] = {program};
    const char *environment[] = {"TZ=UTC", "NO_COLOR", path, NULL};
    const struct child_options options = {.environment = environment, .directory = scene->dir};
    struct child_result result;

    snprintf(path, sizeof(path), "PATH=%.*s:/usr/bin:/bin",
             (int)(strrchr(scene->program, '/') - scene->program), scene->program);
    for (size_t i = 0; words[i]; i++)
        argv[i + 1] = words[i];
    result = child_run(argv, &options);
    free(program);
    return result;
}

static void check_same(void **state, const char *const *words, const char *const *arguments)
{
    struct child_result ours = run(*state, words), theirs = analyze_scene_run(*state, arguments);

    assert_int_equal(ours.status, theirs.status);
    assert_string_equal(ours.out, theirs.out);
    assert_string_equal(ours.err, theirs.err);
    child_result_deinit(&ours);
    child_result_deinit(&theirs);
}

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

static void they_are_reports_of_profile_analyze(void **state)
{
    check_same(state, LIST("report", "ops", "store.db", "-t", "1"),
               LIST("--report", "ops", "store.db", "-t", "1"));
    check_same(state, LIST("report", "runs", "store.db", "--runs", "90.."),
               LIST("--report", "runs", "store.db", "--runs", "90.."));
    check_same(state, LIST("compare", "store.db:1", "store.db:2"),
               LIST("--compare", "store.db:1", "store.db:2"));
}

static void mistakes_are_told(void **state)
{
    struct child_result result = run(*state, LIST("compare"));

    assert_int_equal(result.status, 2);
    CHECK_CONTAINS(result.err, "name what to compare with");
    child_result_deinit(&result);
    result = run(*state, LIST("report", "--help"));
    assert_int_equal(result.status, 0);
    CHECK_CONTAINS(result.out, "optrace report: show a report");
    child_result_deinit(&result);
    result = run(*state, LIST("top", "--interval", "soon"));
    assert_int_equal(result.status, 2);
    child_result_deinit(&result);
    result = run(*state, LIST("top", "--socket", "nobody.sock"));
    assert_int_equal(result.status, 3);
    child_result_deinit(&result);
}

static void top_shows_pictures(void **state)
{
    struct optraced daemon;
    struct child_result result;

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    result = run(*state, LIST("top", "--socket", daemon.socket, "-i", "10ms", "-n", "2"));
    assert_int_equal(result.status, 0);
    CHECK_CONTAINS(result.out, "No program is connected.\n\noptraced on ");
    CHECK_LACKS(result.out, "\033");
    child_result_deinit(&result);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_are_reports_of_profile_analyze),
        cmocka_unit_test(mistakes_are_told),
        cmocka_unit_test(top_shows_pictures),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
