/* SPDX-License-Identifier: Apache-2.0 */
/* Threads in bursts of calls, and what these make streams do. */
#include "tests/support/draw.h"
#include "tests/support/stream_scene.h"

#include <stdlib.h>

#include "tests/support/check.h"
#include "tests/support/store_support.h"

enum {
    THREADS = 3,
    STREAMS = STREAM_SCENE_STREAMS,
    AROUND = 60,
    AHEAD = 900 /* times the grid: so far streams fall behind */
};
enum {
    INNER = STREAM_OP + 1,
    WAIT = STREAM_LAUNCH + 1,
    STREAM_WAIT,
    SYNC_COPY = STREAM_KERNEL + 1,
    RECORD,
    PHASE,       /* of a stream that waits for the first */
    OTHER_PHASE, /* for the second */
    EVENT_WAIT,  /* of a thread, with a phase of its own */
    EVENT_PHASE,
    GRAPH_LAUNCH,
    DEVICE_RECORD, /* of a stream, within a graph */
};

/* Numbers of what is recorded and waited for within a graph are before that of its launch. */
enum { NUMBERS_PER_CALL = 8 };

int64_t stream_scene_pick(struct stream_scene *scene, int64_t below)
{
    return (int64_t)((draw_u64(&scene->seed) >> 20) % (uint64_t)below);
}

static void add(struct stream_scene *scene, int64_t lane, int64_t op, int64_t start_ns,
                int64_t dur_ns, int64_t correlation)
{
    if (scene->count == STREAM_SCENE_EVENTS)
        return;
    scene->events[scene->count++] = (struct store_event){
        lane, op, STORE_NULL, start_ns, dur_ns, STORE_NULL, correlation, STORE_NULL};
    if (start_ns + dur_ns > scene->end_ns)
        scene->end_ns = start_ns + dur_ns;
    if (lane <= THREADS && start_ns + dur_ns > scene->host_ns)
        scene->host_ns = start_ns + dur_ns;
}

/* What a call launched: it begins within it, by a clock that is late a little before it, or behind what
 * the stream does. Mostly something runs from the call until then, so that parts can be cut. */
static void run_on_stream(struct stream_scene *scene, int64_t call_ns, int64_t call_dur_ns,
                          int64_t op, int64_t correlation)
{
    const int64_t stream = stream_scene_pick(scene, STREAMS);
    const int64_t places = call_dur_ns / scene->grid_ns;
    int64_t start_ns = call_ns + (places ? stream_scene_pick(scene, places) : 0) * scene->grid_ns;
    int64_t dur_ns = (stream_scene_pick(scene, 12) + scene->is_busy) * scene->grid_ns;

    if (!scene->is_ahead && stream_scene_pick(scene, 60) == 0 && call_ns > STORE_SUPPORT_START_NS)
        start_ns = call_ns - scene->grid_ns;
    if (start_ns < scene->free_ns[stream] && op == STREAM_KERNEL &&
        (scene->is_in_order || scene->is_ahead || scene->is_busy ||
         stream_scene_pick(scene, 200) == 0))
        start_ns = scene->free_ns[stream];
    if (scene->is_ahead && op == STREAM_KERNEL && start_ns < call_ns + AHEAD * scene->grid_ns)
        dur_ns += stream_scene_pick(scene, 120) * scene->grid_ns;
    add(scene, THREADS + 1 + stream, op, start_ns, dur_ns, correlation);
    if (start_ns + dur_ns > scene->free_ns[stream])
        scene->free_ns[stream] = start_ns + dur_ns;
}

/* A stream of a graph waits for what the other one did last in it, until `now_ns`, and does its part then. */
static void wait_in_graph(struct stream_scene *scene, int64_t stream, int64_t ended_ns,
                          int64_t now_ns, int64_t step)
{
    const int64_t number = -(scene->correlation * NUMBERS_PER_CALL + step);

    add(scene, THREADS + 1 + !stream, DEVICE_RECORD, ended_ns, 0, number);
    add(scene, THREADS + 1 + stream, stream ? PHASE : OTHER_PHASE, now_ns, 0, number);
}

static void run_graph(struct stream_scene *scene, int64_t call_ns)
{
    const int64_t steps = 2 + stream_scene_pick(scene, NUMBERS_PER_CALL - 3);
    int64_t ended_ns[STREAMS] = {0};

    for (int64_t i = 1; i <= steps; i++) {
        const int64_t stream = stream_scene_pick(scene, STREAMS);
        int64_t start_ns = call_ns + stream_scene_pick(scene, 3) * scene->grid_ns;
        int64_t dur_ns = (1 + stream_scene_pick(scene, 12)) * scene->grid_ns;

        if (scene->is_ahead && start_ns < call_ns + AHEAD * scene->grid_ns)
            dur_ns += stream_scene_pick(scene, 60) * scene->grid_ns;
        if (start_ns < scene->free_ns[stream])
            start_ns = scene->free_ns[stream] + stream_scene_pick(scene, 3) * scene->grid_ns;
        if (ended_ns[!stream] && stream_scene_pick(scene, 2)) {
            start_ns = start_ns > ended_ns[!stream] ? start_ns : ended_ns[!stream];
            wait_in_graph(scene, stream, ended_ns[!stream], start_ns, i);
        }
        add(scene, THREADS + 1 + stream, STREAM_KERNEL, start_ns, dur_ns, scene->correlation);
        scene->free_ns[stream] = ended_ns[stream] = start_ns + dur_ns;
    }
}

/* An event, and some that wait for it. */
static void record(struct stream_scene *scene, int64_t start_ns, int64_t dur_ns)
{
    scene->recorded = scene->correlation;
    scene->records[scene->record_count++ % STREAM_SCENE_RECORDS] = scene->correlation;
    for (int64_t i = stream_scene_pick(scene, 4); i > 0; i--) {
        const int64_t op = stream_scene_pick(scene, 2) ? PHASE : OTHER_PHASE;
        int64_t number = scene->correlation;

        if (scene->recalls && scene->record_count > STREAM_SCENE_RECORDS &&
            stream_scene_pick(scene, 2))
            number = scene->records[stream_scene_pick(scene, STREAM_SCENE_RECORDS)];
        run_on_stream(scene, start_ns, dur_ns, op, number);
    }
}

static void add_call(struct stream_scene *scene, int64_t lane, int64_t *now_ns, int depth)
{
    static const int64_t calls[] = {STREAM_OP,     INNER,     STREAM_LABEL, STREAM_LAUNCH,
                                    STREAM_LAUNCH, WAIT,      STREAM_WAIT,  SYNC_COPY,
                                    RECORD,        EVENT_WAIT};
    const int64_t count = (int64_t)(sizeof(calls) / sizeof(calls[0])) - !scene->is_in_order;
    const bool launches = lane == 1 || !(scene->is_in_order || scene->is_ahead || scene->is_busy);
    int64_t op = calls[stream_scene_pick(scene, launches ? count : STREAM_LAUNCH - STREAM_OP)];
    const int64_t start_ns = *now_ns;
    int64_t correlation = STORE_NULL;

    if (scene->is_ahead && (op == WAIT || op == STREAM_WAIT) && stream_scene_pick(scene, 16))
        op = STREAM_LAUNCH; /* waits are rare */
    if (scene->graphs && op == STREAM_LAUNCH && stream_scene_pick(scene, 2))
        op = GRAPH_LAUNCH;

    for (int64_t i =
             depth < 3 && (op == STREAM_OP || op == STREAM_LABEL) ? stream_scene_pick(scene, 4) : 0;
         i > 0; i--)
        add_call(scene, lane, now_ns, depth + 1);
    *now_ns += (stream_scene_pick(scene, 6) +
                (op == STREAM_LAUNCH || op == SYNC_COPY || op == GRAPH_LAUNCH || scene->is_busy)) *
               scene->grid_ns;
    for (size_t i = 0;
         (scene->is_ahead || scene->is_busy) && (op == WAIT || op == STREAM_WAIT) && i < STREAMS;
         i++)
        *now_ns = *now_ns > scene->free_ns[i] ? *now_ns : scene->free_ns[i];
    if (op == STREAM_LAUNCH || op == SYNC_COPY || op == GRAPH_LAUNCH ||
        (op == RECORD && scene->waits))
        correlation = ++scene->correlation;
    add(scene, lane, op, start_ns, *now_ns - start_ns, correlation);
    if (op == STREAM_LAUNCH)
        run_on_stream(scene, start_ns, *now_ns - start_ns, STREAM_KERNEL, correlation);
    if (op == GRAPH_LAUNCH)
        run_graph(scene, start_ns);
    if (op == SYNC_COPY)
        run_on_stream(scene, start_ns, *now_ns - start_ns, STREAM_KERNEL, correlation);
    if (op == RECORD && scene->waits)
        record(scene, start_ns, *now_ns - start_ns);
    if (op == EVENT_WAIT && scene->recorded > scene->burst_recorded)
        add(scene, THREADS + 1 + stream_scene_pick(scene, STREAMS), EVENT_PHASE, start_ns,
            *now_ns - start_ns, scene->recorded);
    *now_ns += stream_scene_pick(scene, 3) * scene->grid_ns;
}

/* By end, inner before outer: as they are recorded. */
static int compare_events(const void *a, const void *b)
{
    const struct store_event *left = a, *right = b;
    const int64_t left_ns = left->start_ns + left->dur_ns;
    const int64_t right_ns = right->start_ns + right->dur_ns;

    if (left_ns != right_ns)
        return left_ns < right_ns ? -1 : 1;
    return (left->start_ns < right->start_ns) - (left->start_ns > right->start_ns);
}

static int compare_numbers(const void *a, const void *b)
{
    const int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

    return (left > right) - (left < right);
}

/* Numbers of launches grow with the time of calls, as a driver gives them. */
static void number_launches(struct stream_scene *scene)
{
    int64_t *keys = malloc((scene->count + 1) * 2 * sizeof(*keys));
    int64_t *numbers = malloc(((size_t)scene->correlation + 1) * sizeof(*numbers));
    size_t count = 0;

    assert_non_null(keys);
    assert_non_null(numbers);
    for (size_t i = 0; i < scene->count; i++) {
        const struct store_event *event = &scene->events[i];

        if (event->correlation != STORE_NULL && event->lane_id <= THREADS)
            keys[count++] = (event->start_ns - STORE_SUPPORT_START_NS) * STREAM_SCENE_EVENTS +
                            event->correlation;
    }
    qsort(keys, count, sizeof(*keys), compare_numbers);
    for (size_t i = 0; i < count; i++)
        numbers[keys[i] % STREAM_SCENE_EVENTS] = (int64_t)i + 1;
    for (size_t i = 0; i < scene->count; i++) {
        int64_t *number = &scene->events[i].correlation;

        if (*number == STORE_NULL)
            continue;
        *number = *number > 0 ? numbers[*number] * NUMBERS_PER_CALL
                              : numbers[-*number / NUMBERS_PER_CALL] * NUMBERS_PER_CALL -
                                    -*number % NUMBERS_PER_CALL;
    }
    free(keys);
    free(numbers);
}

/* Threads that all begin and end at the same times, so that parts can be cut, and are busy between. */
static void add_alone(struct stream_scene *scene)
{
    const int64_t start_ns = scene->end_ns, end_ns = start_ns + 20 * scene->grid_ns;

    for (int64_t lane = 1; lane <= THREADS; lane++) {
        for (int64_t now_ns = start_ns; now_ns < end_ns;) {
            int64_t dur_ns = (1 + stream_scene_pick(scene, 6)) * scene->grid_ns;

            dur_ns = dur_ns < end_ns - now_ns ? dur_ns : end_ns - now_ns;
            add(scene, lane, STREAM_OP + stream_scene_pick(scene, 2), now_ns, dur_ns, STORE_NULL);
            now_ns += dur_ns;
        }
    }
}

/* Each thread goes on by itself, in ops that hold others, and rests now and then. */
static void add_busy(struct stream_scene *scene)
{
    int64_t now_ns[THREADS + 1];

    for (int64_t lane = 1; lane <= THREADS; lane++)
        now_ns[lane] = scene->end_ns;
    while (scene->count < STREAM_SCENE_EVENTS - 100) {
        int64_t lane = 1;

        for (int64_t i = 2; i <= THREADS; i++)
            lane = now_ns[i] < now_ns[lane] ? i : lane;
        scene->burst_recorded = 0;
        add_call(scene, lane, &now_ns[lane], 0);
        if (stream_scene_pick(scene, 12) == 0)
            now_ns[lane] += stream_scene_pick(scene, 30) * scene->grid_ns;
    }
}

/* An op around all of a thread so far, and others, around AROUND bursts each, that touch. */
static void add_around(struct stream_scene *scene, const int64_t *bursts, size_t count)
{
    const int64_t end_ns = scene->end_ns;

    for (size_t i = 0; i + AROUND < count; i += AROUND)
        add(scene, 1, INNER, bursts[i], bursts[i + AROUND] - bursts[i], STORE_NULL);
    add(scene, 1, STREAM_OP, STORE_SUPPORT_START_NS, end_ns - STORE_SUPPORT_START_NS, STORE_NULL);
}

void stream_scene_fill(struct stream_scene *scene)
{
    int64_t bursts[STREAM_SCENE_EVENTS];
    size_t burst_count = 0;

    scene->end_ns = scene->host_ns = STORE_SUPPORT_START_NS;
    if (scene->is_busy)
        add_busy(scene);
    while (scene->count < STREAM_SCENE_EVENTS - 100) {
        const int64_t burst_ns = scene->is_ahead ? scene->host_ns : scene->end_ns;

        bursts[burst_count++] = burst_ns;
        scene->burst_recorded = scene->correlation;
        if (scene->is_alone) {
            add_alone(scene);
            continue;
        }
        for (int64_t lane = 1; lane <= THREADS; lane++) {
            int64_t now_ns =
                burst_ns +
                (scene->shares_times ? 0 : stream_scene_pick(scene, 30) * scene->grid_ns);

            for (int64_t i = stream_scene_pick(scene, 6); i > 0; i--)
                add_call(scene, lane, &now_ns, 0);
        }
        if (scene->end_ns == burst_ns)
            scene->end_ns += scene->grid_ns;
        if (scene->host_ns == burst_ns)
            scene->host_ns += scene->grid_ns;
        if (scene->is_in_order)
            add(scene, 2, STREAM_OP, burst_ns, scene->end_ns - burst_ns, STORE_NULL);
    }
    if (scene->is_around)
        add_around(scene, bursts, burst_count);
    number_launches(scene);
    qsort(scene->events, scene->count, sizeof(scene->events[0]), compare_events);
}

void stream_scene_store(const char *path, const struct stream_scene *scene)
{
    struct store *store = store_support_open(path, STORE_WRITE);
    struct diag diag = {0};

    store_support_begin(store);
    store_support_define(store, STREAM_SCENE_OPS);
    CHECK_OK(
        store_put_lane(store, &(struct store_lane){4, 1, 4, "stream", "a", "cuda:0", 7}, &diag));
    CHECK_OK(
        store_put_lane(store, &(struct store_lane){5, 1, 5, "stream", "b", "cuda:0", 20}, &diag));
    CHECK_OK(store_add_events(store, scene->events, scene->count, &diag));
    store_support_commit(store);
    store_close(&store);
    store_support_run(
        path, "UPDATE lane SET kind = 'thread', device = NULL, native_id = lane_id"
              " WHERE lane_id < 4;"
              "UPDATE op_row SET type = 'label', name = 'step' WHERE op_id = 3;"
              "UPDATE op_row SET type = 'cuda_runtime', name = 'cudaLaunchKernel' WHERE op_id = 4;"
              "UPDATE op_row SET type = 'cuda_runtime', name = 'cudaDeviceSynchronize'"
              " WHERE op_id = 5;"
              "UPDATE op_row SET type = 'cuda_runtime', name = 'cudaStreamSynchronize'"
              " WHERE op_id = 6;"
              "UPDATE op_row SET type = 'cuda_runtime', name = 'cudaMemcpy' WHERE op_id = 8;"
              "UPDATE op_row SET type = 'cuda_runtime', name = 'cudaEventRecord' WHERE op_id = 9;"
              "UPDATE op_row SET type = 'phase', name = 'Stream Wait Event',"
              " params = '{\"wait_on_stream\":7}' WHERE op_id = 10;"
              "UPDATE op_row SET type = 'phase', name = 'Stream Wait Event',"
              " params = '{\"wait_on_stream\":20}' WHERE op_id = 11;"
              "UPDATE op_row SET type = 'cuda_runtime', name = 'cudaEventSynchronize'"
              " WHERE op_id = 12;"
              "UPDATE op_row SET type = 'phase', name = 'Event Sync',"
              " params = '{\"wait_on_stream\":7}' WHERE op_id = 13;"
              "DELETE FROM event_batch;"
              "INSERT INTO event_batch SELECT min(rowid), max(rowid), min(start_ns),"
              " max(start_ns + dur_ns), max(dur_ns), 1, 1, '[1,2]' FROM event"
              " GROUP BY (rowid - 1) / 20");
    if (scene->graphs)
        store_support_run(
            path, "UPDATE op_row SET type = 'cuda_runtime', name = 'cudaGraphLaunch'"
                  " WHERE op_id = 14;"
                  "UPDATE op_row SET type = 'phase', name = 'cuEventRecord' WHERE op_id = 15;");
}
