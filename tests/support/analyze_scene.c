/* SPDX-License-Identifier: Apache-2.0 */
/* profile_analyze in a folder of its own. */
#include "tests/support/analyze_scene.h"

#include "tests/support/check.h"
#include "tests/support/place.h"
#include "tests/support/temp.h"

struct analyze_scene *analyze_scene_create(void)
{
    struct analyze_scene *scene = calloc(1, sizeof(*scene));

    assert_non_null(scene);
    scene->dir = temp_create();
    scene->program = place_program("analyze/profile_analyze");
    return scene;
}

void analyze_scene_destroy(struct analyze_scene **scene)
{
    temp_destroy(&(*scene)->dir);
    free((*scene)->program);
    free(*scene);
    *scene = NULL;
}

struct child_result analyze_scene_run(const struct analyze_scene *scene,
                                      const char *const *arguments)
{
    static const char *const environment[] = {"TZ=UTC", "NO_COLOR", NULL};
    const struct child_options options = {.environment = environment, .directory = scene->dir};
    const char *argv[ANALYZE_ARGUMENTS_MAX + 2] = {scene->program};

    for (size_t i = 0; i < ANALYZE_ARGUMENTS_MAX && arguments[i]; i++)
        argv[i + 1] = arguments[i];
    return child_run(argv, &options);
}

char *analyze_scene_output(const struct analyze_scene *scene, const char *const *arguments)
{
    struct child_result result = analyze_scene_run(scene, arguments);
    char *out = result.out;

    if (result.status != 0)
        fail_msg("%s: status %d: %s", arguments[0], result.status, result.err);
    assert_string_equal(result.err, "");
    result.out = NULL;
    child_result_deinit(&result);
    return out;
}

char *analyze_scene_read(const struct analyze_scene *scene, const char *name)
{
    char *path = temp_path(scene->dir, name), *text = temp_read(path, NULL);

    free(path);
    return text;
}
