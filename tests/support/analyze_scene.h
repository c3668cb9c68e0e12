/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_analyze in a folder of its own, where files have short names: for flow tests whose
 * outputs name them.
 *
 *     static int start(void **state)
 *     {
 *         struct analyze_scene *scene = analyze_scene_create();
 *         char *store = temp_path(scene->dir, "store.db");
 *         ...
 *         *state = scene;
 *         return 0;
 *     }
 *     static int stop(void **state)
 *     {
 *         analyze_scene_destroy((struct analyze_scene **)state);
 *         return 0;
 *     }
 *
 * The program runs with TZ=UTC and without NO_COLOR. All functions fail the test on a system error.
 */
#ifndef OPTRACE_TESTS_SUPPORT_ANALYZE_SCENE_H
#define OPTRACE_TESTS_SUPPORT_ANALYZE_SCENE_H

#include "tests/support/child.h"

enum { ANALYZE_ARGUMENTS_MAX = 30 };

struct analyze_scene {
    char *dir, *program;
};

struct analyze_scene *analyze_scene_create(void);
void analyze_scene_destroy(struct analyze_scene **scene);

/** Runs it in the folder; the arguments end with NULL. Give the result to child_result_deinit(). */
struct child_result analyze_scene_run(const struct analyze_scene *scene,
                                      const char *const *arguments);

/** The same where it must succeed and say nothing on standard error. Returns what it wrote on
 *  standard output; the caller frees it. */
char *analyze_scene_output(const struct analyze_scene *scene, const char *const *arguments);

/** A file of the folder, as temp_read() gives it. */
char *analyze_scene_read(const struct analyze_scene *scene, const char *name);

#endif
