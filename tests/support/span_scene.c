/* SPDX-License-Identifier: Apache-2.0 */
/* What nests is recorded inner before outer, as threads do. */
#include "tests/support/draw.h"
#include "tests/support/span_scene.h"

#include "tests/support/check.h"
#include "tests/support/store_support.h"

enum { QUEUE = 2, STREAM = 3 };

static uint64_t pick(struct span_scene *scene, uint64_t below)
{
    return (draw_u64(&scene->seed) >> 20) % below;
}

static void add_span(struct span_scene *scene, int depth)
{
    struct store_event event = {.lane_id = 1,
                                .op_id = 1 + (int64_t)pick(scene, SPAN_SCENE_OPS - scene->waits),
                                .run = scene->run,
                                .start_ns = scene->now_ns,
                                .kern_ns = STORE_NULL,
                                .correlation = STORE_NULL,
                                .bytes = STORE_NULL};
    int64_t late_ns = scene->crosses ? 90000 : 0;

    for (uint64_t i = depth < 3 ? pick(scene, 3) : 0; i > 0; i--)
        add_span(scene, depth + 1);
    scene->now_ns += (int64_t)pick(scene, 400) * (pick(scene, 8) > 0); /* some take no time */
    event.dur_ns = scene->now_ns - event.start_ns;
    if (scene->count + 2 > SPAN_SCENE_EVENTS)
        return;
    if (pick(scene, 2) && event.dur_ns > 1) {
        event.correlation = ++scene->correlation;
        event.kern_ns = pick(scene, 2) ? event.dur_ns / 2 : STORE_NULL;
        scene->events[scene->count++] = event;
        event.lane_id = scene->streams && pick(scene, 2) ? STREAM : QUEUE;
        event.kern_ns = STORE_NULL;
        event.bytes = pick(scene, 3) ? STORE_NULL : (int64_t)pick(scene, 4096);
        event.start_ns += event.dur_ns / 2;
        if (scene->waits && pick(scene, 5) == 0) {
            event.op_id = SPAN_SCENE_OPS;
            event.dur_ns = pick(scene, 2) ? 0 : (int64_t)pick(scene, 300);
        } else {
            event.start_ns += late_ns;
            event.dur_ns = event.dur_ns / 2 + (int64_t)pick(scene, 40);
        }
    }
    scene->events[scene->count++] = event;
}

static void end_run(struct span_scene *scene, int64_t start_ns)
{
    scene->runs[scene->run_count++] = (struct store_run){.session_id = 1,
                                                         .run = scene->run,
                                                         .model_id = STORE_NULL,
                                                         .lane_id = 1,
                                                         .start_ns = start_ns,
                                                         .end_ns = scene->now_ns};
    scene->run++;
}

void span_scene_fill(struct span_scene *scene)
{
    const size_t per_run = SPAN_SCENE_EVENTS / SPAN_SCENE_RUNS;
    int64_t run_start_ns = STORE_SUPPORT_START_NS;

    scene->now_ns = run_start_ns;
    while (scene->count + 400 < SPAN_SCENE_EVENTS) {
        if (scene->steps && scene->count >= (scene->run_count + 1) * per_run) {
            end_run(scene, run_start_ns);
            run_start_ns = scene->now_ns;
        }
        add_span(scene, 0);
        if (!scene->touches)
            scene->now_ns += (int64_t)pick(scene, 100);
    }
    end_run(scene, run_start_ns);
    scene->run = scene->steps ? STORE_NULL : scene->run - 1;
}

void span_scene_store(const char *path, const struct span_scene *scene, bool has_runs)
{
    struct store *store = store_support_open(path, STORE_WRITE);
    struct diag diag = {0};

    store_support_begin(store);
    store_support_define(store, SPAN_SCENE_OPS);
    for (size_t i = 0; i < scene->run_count && has_runs; i++)
        CHECK_OK(store_put_run(store, &scene->runs[i], &diag));
    CHECK_OK(store_add_events(store, scene->events, scene->count, &diag));
    store_support_commit(store);
    store_close(&store);
    if (scene->waits)
        store_support_run(path, "UPDATE op_row SET type = 'phase', params ="
                                " '{\"wait_on_stream\": 7}' WHERE op_id = 9");
    if (scene->streams)
        store_support_run(path, "UPDATE lane SET device = 'cuda:0' WHERE lane_id = 2");
    /* Shorter batches than the store's own make more parts. */
    store_support_run(path, "DELETE FROM event_batch;"
                            "INSERT INTO event_batch SELECT min(rowid), max(rowid), min(start_ns),"
                            " max(start_ns + dur_ns), max(dur_ns), 1, 1, '[1,2]' FROM event"
                            " GROUP BY (rowid - 1) / 50");
}
