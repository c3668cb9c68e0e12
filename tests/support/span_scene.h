/* SPDX-License-Identifier: Apache-2.0 */
/* Random sessions of nested spans on a thread and what they launched on a queue. */
#ifndef OPTRACE_TESTS_SUPPORT_SPAN_SCENE_H
#define OPTRACE_TESTS_SUPPORT_SPAN_SCENE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/store/store.h"

enum { SPAN_SCENE_EVENTS = 6000, SPAN_SCENE_OPS = 9, SPAN_SCENE_RUNS = 20 };

struct span_scene {
    uint64_t seed;
    int64_t run;  /* of all events; STORE_NULL: they are in none */
    bool touches; /* spans follow each other without a pause */
    bool crosses; /* what was launched runs behind later launches */
    bool waits; /* some that are launched are waits of the queue, where the thread asks for them */
    bool streams; /* what is launched goes to two of one device */
    bool steps;   /* in runs that follow each other, from `run` on */

    struct store_event events[SPAN_SCENE_EVENTS];
    struct store_run runs[SPAN_SCENE_RUNS];
    size_t count, run_count;
    int64_t now_ns, correlation;
};

/** Events from {0} but for what is above them. */
void span_scene_fill(struct span_scene *scene);

/** A store of that, with short batches; without has_runs nobody tells of its runs. */
void span_scene_store(const char *path, const struct span_scene *scene, bool has_runs);

#endif
