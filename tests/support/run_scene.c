/* SPDX-License-Identifier: Apache-2.0 */
/* The same program twice: alone, and recorded. */
#include "tests/support/run_scene.h"

#include "tests/support/check.h"
#include "tests/support/optraced.h"
#include "tests/support/place.h"
#include "tests/support/temp.h"

enum { WORDS_MAX = 32 };

struct run_scene *run_scene_create(void)
{
    struct run_scene *scene = calloc(1, sizeof(*scene));

    scene->dir = temp_create();
    scene->store = temp_path(scene->dir, "run.db");
    scene->optrace = place_program("client/cli/optrace");
    return scene;
}

void run_scene_destroy(struct run_scene **scene)
{
    if (!*scene)
        return;
    child_result_deinit(&(*scene)->result);
    temp_destroy(&(*scene)->dir);
    free((*scene)->store);
    free((*scene)->optrace);
    free(*scene);
    *scene = NULL;
}

void run_scene_record(struct run_scene *scene, const char *const *options, int status,
                      const char *const *argv)
{
    const char *words[WORDS_MAX] = {scene->optrace, "run", "--quiet",
                                    "--force",      "-o",  scene->store};
    const struct child_options place = {.directory = scene->dir};
    struct child_result alone = child_run(argv, &place);
    size_t count = 6;

    for (size_t i = 0; options && options[i]; i++)
        words[count++] = options[i];
    words[count++] = "--";
    for (size_t i = 0; argv[i] && count < WORDS_MAX - 1; i++)
        words[count++] = argv[i];
    child_result_deinit(&scene->result);
    scene->result = child_run(words, &place);
    if (alone.status != status || scene->result.status != status)
        fail_msg("%s: status %d alone, %d recorded, not %d: %s%s", argv[0], alone.status,
                 scene->result.status, status, alone.err, scene->result.err);
    assert_string_equal(scene->result.out, alone.out);
    assert_string_equal(scene->result.err, alone.err);
    child_result_deinit(&alone);
}

int64_t run_scene_count(const struct run_scene *scene, const char *sql)
{
    const struct optraced view = {.store = scene->store};

    return optraced_query(&view, sql);
}

int64_t run_scene_count_of(const struct run_scene *scene, const char *name)
{
    char sql[1000];

    snprintf(sql, sizeof(sql), "SELECT count(*) FROM v_event WHERE op_name = '%s'", name);
    return run_scene_count(scene, sql);
}
