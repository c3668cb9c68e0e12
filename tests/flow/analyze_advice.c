/* SPDX-License-Identifier: Apache-2.0 */
/* The commands that --report advice names: a shell runs each as it stands, and it has an answer. */
#include <cjson/cJSON.h>
#include <string.h>

#include "tests/support/analyze_scene.h"
#include "tests/support/check.h"
#include "tests/support/place.h"
#include "tests/support/small_store.h"
#include "tests/support/temp.h"

/* A name that a shell would take apart. */
#define STORE_NAME "it's my $HOME \\Q.db"

static int start(void **state)
{
    struct analyze_scene *scene = analyze_scene_create();
    char *store, *source = place_source("tests/golden/analyze/gpu.json"), *bytes;
    size_t size;

    store = temp_path(scene->dir, STORE_NAME);
    small_store_make(store);
    free(store);
    bytes = temp_read(source, &size);
    free(temp_write(scene->dir, "gpu.json", bytes, size));
    free(bytes);
    free(source);
    *state = scene;
    return 0;
}

static int stop(void **state)
{
    analyze_scene_destroy((struct analyze_scene **)state);
    return 0;
}

static struct child_result run(const struct analyze_scene *scene, const char *const *argv)
{
    static const char *const environment[] = {"TZ=UTC", "NO_COLOR", NULL};
    const struct child_options options = {.environment = environment, .directory = scene->dir};

    return child_run(argv, &options);
}

static void check_command(const struct analyze_scene *scene, const char *command)
{
    char *script;
    struct child_result result;

    assert_true(
        asprintf(&script, "profile_analyze() { '%s' \"$@\"; }\n%s", scene->program, command) > 0);
    result = run(scene, (const char *[]){"sh", "-c", script, NULL});
    if (result.status != 0 || !result.out[0])
        fail_msg("%s: status %d: %s", command, result.status, result.err);
    child_result_deinit(&result);
    free(script);
}

/* argv: of --report advice --format json. Each command holds `words`. */
static void check_commands(const struct analyze_scene *scene, const char *const *argv,
                           const char *words, int least)
{
    struct child_result result = run(scene, argv);
    cJSON *json = cJSON_Parse(result.out);
    const cJSON *rows = cJSON_GetObjectItem(cJSON_GetObjectItem(json, "findings"), "rows"), *row;

    assert_int_equal(result.status, 0);
    assert_true(cJSON_GetArraySize(rows) >= least);
    cJSON_ArrayForEach(row, rows)
    {
        const char *command = cJSON_GetStringValue(cJSON_GetObjectItem(row, "command"));

        CHECK_CONTAINS(command, words);
        check_command(scene, command);
    }
    cJSON_Delete(json);
    child_result_deinit(&result);
}

static void commands_run_as_they_stand(void **state)
{
    const struct analyze_scene *scene = *state;

    check_commands(scene,
                   (const char *[]){scene->program, "gpu.json", "--report", "advice", "--format",
                                    "json", "--label", "st(e|x)p", "--device", "cuda", NULL},
                   " --label 'st(e|x)p' --device cuda", 2);
    check_commands(scene,
                   (const char *[]){scene->program, STORE_NAME, "--report", "advice", "--format",
                                    "json", "--session", "2", "--warmup", "--total", "--peak-flops",
                                    "1e12", NULL},
                   " 'it'\\''s my $HOME \\Q.db' --report ", 4);
    check_commands(scene,
                   (const char *[]){scene->program, STORE_NAME, "--report", "advice", "--format",
                                    "json", "--session", "all", "--time", "1ms..", "--type", "Conv",
                                    "--type", "Relu", NULL},
                   " --session 1,2 --time 1ms..", 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_run_as_they_stand),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
