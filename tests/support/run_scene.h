/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs recorded by `optrace run`, each into a file of its own.
 *
 *     struct run_scene *scene = run_scene_create();
 *
 *     run_scene_record(scene, (const char *const[]){program, NULL});
 *     CHECK_U64(run_scene_count(scene, "SELECT count(*) FROM v_event"), 3);
 *     run_scene_destroy(&scene);
 *
 * All functions fail the test on a system error.
 */
#ifndef OPTRACE_TESTS_SUPPORT_RUN_SCENE_H
#define OPTRACE_TESTS_SUPPORT_RUN_SCENE_H

#include <stdint.h>

#include "tests/support/child.h"

struct run_scene {
    char *dir, *store, *optrace;
    struct child_result result; /* of the latest program */
};

struct run_scene *run_scene_create(void);
void run_scene_destroy(struct run_scene **scene);

/** Run it without and with `optrace run`, with further options (NULL: none), into a new store. Its
 *  exit status, output and errors are the same; the status must be `status`. */
void run_scene_record(struct run_scene *scene, const char *const *options, int status,
                      const char *const *argv);

/** The integer that a query on the store answers; -1: there is no store, or NULL. */
int64_t run_scene_count(const struct run_scene *scene, const char *sql);

/** Events of an op of this name. */
int64_t run_scene_count_of(const struct run_scene *scene, const char *name);

#endif
