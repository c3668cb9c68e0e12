/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where hostile peers meet a well-behaved client: a daemon and a client that records all the time,
 * in a thread of the test. At the end of a scene the daemon must be up and small, and the good
 * client must have lost nothing.
 *
 *     cmocka_unit_test_setup_teardown(some_evil, scene_begin, scene_end)
 */
#ifndef OPTRACE_TESTS_FLOW_HOSTILE_SCENE_H
#define OPTRACE_TESTS_FLOW_HOSTILE_SCENE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "tests/support/optraced.h"
#include "tests/support/raw_client.h"

struct good {
    struct raw_client client;
    struct raw_ring ring;
    pthread_t thread;
    bool ends;
    uint64_t ring_count, inline_count; /* spans recorded, on a lane each */
};

struct scene {
    struct optraced daemon;
    struct good good;
};

/** Setup and teardown; *state is a struct scene. */
int scene_begin(void **state);
int scene_end(void **state);

/** One more good client, whose lanes are called PREFIX-ring and PREFIX-inline. */
void good_start(struct good *good, const struct optraced *daemon, const char *prefix);

/** It says BYE; all that it recorded must be in the store, each once. */
void good_end(struct good *good, const struct optraced *daemon, const char *prefix);

/** The daemon has not grown beyond what its limits allow. */
void scene_check_memory(const struct scene *scene);

#endif
