/* SPDX-License-Identifier: Apache-2.0 */
/* Random sessions of threads that launch, wait and copy, and of streams of one device, which may wait for
 * each other; times meet, as they are on a grid. */
#ifndef OPTRACE_TESTS_SUPPORT_STREAM_SCENE_H
#define OPTRACE_TESTS_SUPPORT_STREAM_SCENE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/store/store.h"

enum { STREAM_SCENE_RECORDS = 40 };
enum { STREAM_SCENE_EVENTS = 3000, STREAM_SCENE_STREAMS = 2, STREAM_SCENE_OPS = 15 };
/* Ids of some ops. */
enum { STREAM_OP = 1, STREAM_LABEL = 3, STREAM_LAUNCH, STREAM_KERNEL = 7 };

struct stream_scene {
    uint64_t seed;
    int64_t grid_ns; /* all times are multiples of it */
    bool is_alone;   /* threads are never idle and launch nothing: no lane waits for another */
    bool waits;      /* streams wait for each other, and threads for events */
    /* Streams do what they are told one after the other, and an op is around bursts. */
    bool is_in_order;
    bool shares_times; /* bursts follow each other without a pause */
    bool is_ahead; /* the first thread launches long before streams, which do one after the other */
    bool is_around; /* a thread is in an op all the time, and in others, one after the other */
    bool is_busy;   /* there is hardly a time at which no thread is in an op */
    bool graphs;    /* some launches are of graphs, within which streams wait for each other */
    bool recalls;   /* what streams wait for was recorded long before, now and then */

    struct store_event events[STREAM_SCENE_EVENTS];
    size_t count;
    int64_t records[STREAM_SCENE_RECORDS]; /* numbers of the last ones */
    size_t record_count;
    int64_t correlation, recorded, burst_recorded, end_ns, host_ns;
    int64_t free_ns[STREAM_SCENE_STREAMS];
};

/** Events from {0} but for what is above them. */
void stream_scene_fill(struct stream_scene *scene);

/** A store of that, with short batches. */
void stream_scene_store(const char *path, const struct stream_scene *scene);

/** A number below `below`, from the scene's seed. */
int64_t stream_scene_pick(struct stream_scene *scene, int64_t below);

#endif
