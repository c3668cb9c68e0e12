/* SPDX-License-Identifier: Apache-2.0 */
/* The critical path part by part, what is predicted of it, and gaps with their causes are those of all spans
 * at once: random sessions of threads that launch, wait and copy, of streams that overlap and wait for each
 * other, with times that meet. */
#include "analyze/metrics/critical_parts.h"
#include "analyze/metrics/idle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/check.h"
#include "tests/support/store_support.h"
#include "tests/support/temp.h"

enum {
    SEEDS = 24,
    PART = 60,
    EVENTS_MAX = 3000,
    THREADS = 3,
    STREAMS = 2,
    KEPT_PER_EVENT = 32,
    AROUND = 60,
    AHEAD = 900 /* times the grid: so far streams fall behind */
};
enum {
    OP = 1,
    INNER,
    LABEL,
    LAUNCH,
    WAIT,
    STREAM_WAIT,
    KERNEL,
    SYNC_COPY,
    RECORD,
    PHASE,       /* of a stream that waits for the first */
    OTHER_PHASE, /* for the second */
    EVENT_WAIT,  /* of a thread, with a phase of its own */
    EVENT_PHASE,
    OPS = EVENT_PHASE
};

struct scene {
    uint64_t seed;
    int64_t grid_ns; /* all times are multiples of it */
    bool is_alone;   /* threads are never idle and launch nothing: no lane waits for another */
    bool waits;      /* streams wait for each other, and threads for events */
    /* Streams do what they are told one after the other, and an op is around bursts. */
    bool is_in_order;
    bool shares_times; /* bursts follow each other without a pause */
    bool is_ahead; /* the first thread launches long before streams, which do one after the other */
    bool is_around; /* a thread is in an op all the time, and in others, one after the other */
    struct store_event events[EVENTS_MAX];
    size_t count;
    int64_t correlation, recorded, burst_recorded, end_ns, host_ns, free_ns[STREAMS];
};

/* How recordings are cut in which something always runs. */
static enum span_cuts cuts;
static bool
    leaves_gaps; /* of streams that are behind, and wait for each other, gaps want all at once */

static int64_t pick(struct scene *scene, int64_t below)
{
    scene->seed ^= scene->seed << 13;
    scene->seed ^= scene->seed >> 7;
    scene->seed ^= scene->seed << 17;
    return (int64_t)((scene->seed >> 20) % (uint64_t)below);
}

static void add(struct scene *scene, int64_t lane, int64_t op, int64_t start_ns, int64_t dur_ns,
                int64_t correlation)
{
    if (scene->count == EVENTS_MAX)
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
static void run_on_stream(struct scene *scene, int64_t call_ns, int64_t call_dur_ns, int64_t op)
{
    const int64_t stream = pick(scene, STREAMS);
    const int64_t places = call_dur_ns / scene->grid_ns;
    int64_t start_ns = call_ns + (places ? pick(scene, places) : 0) * scene->grid_ns;
    int64_t dur_ns = pick(scene, 12) * scene->grid_ns;

    if (!scene->is_ahead && pick(scene, 60) == 0 && call_ns > STORE_SUPPORT_START_NS)
        start_ns = call_ns - scene->grid_ns;
    if (start_ns < scene->free_ns[stream] && op == KERNEL &&
        (scene->is_in_order || scene->is_ahead || pick(scene, 200) == 0))
        start_ns = scene->free_ns[stream];
    if (scene->is_ahead && op == KERNEL && start_ns < call_ns + AHEAD * scene->grid_ns)
        dur_ns += pick(scene, 120) * scene->grid_ns;
    add(scene, THREADS + 1 + stream, op, start_ns, dur_ns, scene->correlation);
    if (start_ns + dur_ns > scene->free_ns[stream])
        scene->free_ns[stream] = start_ns + dur_ns;
}

/* An event, and some that wait for it. */
static void record(struct scene *scene, int64_t start_ns, int64_t dur_ns)
{
    scene->recorded = scene->correlation;
    for (int64_t i = pick(scene, 4); i > 0; i--)
        run_on_stream(scene, start_ns, dur_ns, pick(scene, 2) ? PHASE : OTHER_PHASE);
}

static void add_call(struct scene *scene, int64_t lane, int64_t *now_ns, int depth)
{
    static const int64_t calls[] = {OP,   INNER,       LABEL,     LAUNCH, LAUNCH,
                                    WAIT, STREAM_WAIT, SYNC_COPY, RECORD, EVENT_WAIT};
    const int64_t count = (int64_t)(sizeof(calls) / sizeof(calls[0])) - !scene->is_in_order;
    const bool launches = lane == 1 || !(scene->is_in_order || scene->is_ahead);
    int64_t op = calls[pick(scene, launches ? count : LAUNCH - OP)];
    const int64_t start_ns = *now_ns;
    int64_t correlation = STORE_NULL;

    if (scene->is_ahead && (op == WAIT || op == STREAM_WAIT) && pick(scene, 16))
        op = LAUNCH; /* waits are rare */

    for (int64_t i = depth < 3 && (op == OP || op == LABEL) ? pick(scene, 4) : 0; i > 0; i--)
        add_call(scene, lane, now_ns, depth + 1);
    *now_ns += (pick(scene, 6) + (op == LAUNCH || op == SYNC_COPY)) * scene->grid_ns;
    for (size_t i = 0; scene->is_ahead && (op == WAIT || op == STREAM_WAIT) && i < STREAMS; i++)
        *now_ns = *now_ns > scene->free_ns[i] ? *now_ns : scene->free_ns[i];
    if (op == LAUNCH || op == SYNC_COPY || (op == RECORD && scene->waits))
        correlation = ++scene->correlation;
    add(scene, lane, op, start_ns, *now_ns - start_ns, correlation);
    if (op == LAUNCH)
        run_on_stream(scene, start_ns, *now_ns - start_ns, KERNEL);
    if (op == SYNC_COPY)
        run_on_stream(scene, start_ns, *now_ns - start_ns, KERNEL);
    if (op == RECORD && scene->waits)
        record(scene, start_ns, *now_ns - start_ns);
    if (op == EVENT_WAIT && scene->recorded > scene->burst_recorded)
        add(scene, THREADS + 1 + pick(scene, STREAMS), EVENT_PHASE, start_ns, *now_ns - start_ns,
            scene->recorded);
    *now_ns += pick(scene, 3) * scene->grid_ns;
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
static void number_launches(struct scene *scene)
{
    int64_t *keys = malloc((scene->count + 1) * 2 * sizeof(*keys));
    int64_t *numbers = malloc(((size_t)scene->correlation + 1) * sizeof(*numbers));
    size_t count = 0;

    assert_non_null(keys);
    assert_non_null(numbers);
    for (size_t i = 0; i < scene->count; i++) {
        const struct store_event *event = &scene->events[i];

        if (event->correlation != STORE_NULL && event->lane_id <= THREADS)
            keys[count++] =
                (event->start_ns - STORE_SUPPORT_START_NS) * EVENTS_MAX + event->correlation;
    }
    qsort(keys, count, sizeof(*keys), compare_numbers);
    for (size_t i = 0; i < count; i++)
        numbers[keys[i] % EVENTS_MAX] = (int64_t)i + 1;
    for (size_t i = 0; i < scene->count; i++) {
        if (scene->events[i].correlation != STORE_NULL)
            scene->events[i].correlation = numbers[scene->events[i].correlation];
    }
    free(keys);
    free(numbers);
}

/* Threads that all begin and end at the same times, so that parts can be cut, and are busy between. */
static void add_alone(struct scene *scene)
{
    const int64_t start_ns = scene->end_ns, end_ns = start_ns + 20 * scene->grid_ns;

    for (int64_t lane = 1; lane <= THREADS; lane++) {
        for (int64_t now_ns = start_ns; now_ns < end_ns;) {
            int64_t dur_ns = (1 + pick(scene, 6)) * scene->grid_ns;

            dur_ns = dur_ns < end_ns - now_ns ? dur_ns : end_ns - now_ns;
            add(scene, lane, OP + pick(scene, 2), now_ns, dur_ns, STORE_NULL);
            now_ns += dur_ns;
        }
    }
}

/* An op around all of a thread so far, and others, around AROUND bursts each, that touch. */
static void add_around(struct scene *scene, const int64_t *bursts, size_t count)
{
    const int64_t end_ns = scene->end_ns;

    for (size_t i = 0; i + AROUND < count; i += AROUND)
        add(scene, 1, INNER, bursts[i], bursts[i + AROUND] - bursts[i], STORE_NULL);
    add(scene, 1, OP, STORE_SUPPORT_START_NS, end_ns - STORE_SUPPORT_START_NS, STORE_NULL);
}

static void fill(struct scene *scene)
{
    int64_t bursts[EVENTS_MAX];
    size_t burst_count = 0;

    scene->end_ns = scene->host_ns = STORE_SUPPORT_START_NS;
    while (scene->count < EVENTS_MAX - 100) {
        const int64_t burst_ns = scene->is_ahead ? scene->host_ns : scene->end_ns;

        bursts[burst_count++] = burst_ns;
        scene->burst_recorded = scene->correlation;
        if (scene->is_alone) {
            add_alone(scene);
            continue;
        }
        for (int64_t lane = 1; lane <= THREADS; lane++) {
            int64_t now_ns =
                burst_ns + (scene->shares_times ? 0 : pick(scene, 30) * scene->grid_ns);

            for (int64_t i = pick(scene, 6); i > 0; i--)
                add_call(scene, lane, &now_ns, 0);
        }
        if (scene->end_ns == burst_ns)
            scene->end_ns += scene->grid_ns;
        if (scene->host_ns == burst_ns)
            scene->host_ns += scene->grid_ns;
        if (scene->is_in_order)
            add(scene, 2, OP, burst_ns, scene->end_ns - burst_ns, STORE_NULL);
    }
    if (scene->is_around)
        add_around(scene, bursts, burst_count);
    number_launches(scene);
    qsort(scene->events, scene->count, sizeof(scene->events[0]), compare_events);
}

static void put_store(const char *path, const struct scene *scene)
{
    struct store *store = store_support_open(path, STORE_WRITE);
    struct diag diag = {0};

    store_support_begin(store);
    store_support_define(store, OPS);
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
}

/* --- Both ways. --- */

/* Some ops take another time, each class with its factors: more predictions than are made together. */
enum { CLASSES = 3, PREDICTIONS = 11 };

static const uint32_t classes_of_ops[OPS + 1] = {[OP] = 1, [LABEL] = 2, [LAUNCH] = 1, [KERNEL] = 2};

static void fill_scales(size_t prediction, double *scales)
{
    scales[0] = 1;
    scales[1] = (double)prediction / 7;
    scales[2] = prediction % 3 ? 0 : 1.0 / 3;
}

struct told {
    ARRAY_OF(struct critical_step) steps;
    struct critical_parts *parts;
    struct critical_schedule schedule;
    double predicted_ns[PREDICTIONS];
    struct critical_window window;
    struct idle_parts *idle;
    uint64_t idle_sum; /* of gaps with their causes */
    size_t part_count, begin_count, most_kept;
};

static int tell(void *user, const struct critical_step *step)
{
    struct told *told = user;

    return array_push(&told->steps, *step);
}

static int begin(void *user, const struct spans_answer *spans)
{
    struct told *told = user;

    told->part_count = told->steps.count = told->most_kept = 0;
    told->idle_sum = 0;
    told->begin_count++;
    CHECK_OK(idle_begin(spans, &told->idle));
    return critical_parts_begin(spans, &told->window, &(struct critical_sink){told, tell},
                                &told->schedule, &told->parts);
}

static uint32_t *classes_of(const struct spans_answer *answer)
{
    uint32_t *of_ops = calloc(answer->ops.count + 1, sizeof(*of_ops)), *classes;

    assert_non_null(of_ops);
    for (size_t i = 0; i < answer->ops.count; i++)
        of_ops[i] = classes_of_ops[answer->ops.items[i].op_id];
    classes = critical_path_classes(answer, of_ops);
    assert_non_null(classes);
    free(of_ops);
    return classes;
}

static uint64_t sum_gaps(const struct idle_gap_array *gaps)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < gaps->count; i++) {
        const struct idle_gap *gap = &gaps->items[i];

        sum += ((uint64_t)gap->start_ns * 3 + (uint64_t)gap->end_ns * 5 + gap->lane) *
               (gap->cause + 7 + (gap->during_op + UINT64_C(1)) * 11);
    }
    return sum;
}

static int take(void *user, struct spans_answer *part)
{
    struct told *told = user;
    struct idle_gap_array gaps = {0};
    uint32_t *classes = classes_of(part);
    int rc = critical_parts_add(told->parts, part, classes);
    size_t kept = critical_parts_kept(told->parts);

    if (rc == 0 && !leaves_gaps)
        rc = idle_add(told->idle, part, &gaps);
    told->idle_sum += sum_gaps(&gaps);
    array_deinit(&gaps);
    told->most_kept = kept > told->most_kept ? kept : told->most_kept;
    told->part_count++;
    free(classes);
    return rc;
}

static const struct ops_question question = {
    .session_ids = &(const int64_t){1}, .session_count = 1, .totals = true};

static void predict_parts(struct told *told)
{
    double of_classes[PREDICTIONS][CLASSES];
    struct critical_scales scales[PREDICTIONS];

    for (size_t i = 0; i < PREDICTIONS; i++) {
        fill_scales(i, of_classes[i]);
        scales[i] = (struct critical_scales){.of_classes = of_classes[i]};
    }
    CHECK_OK(critical_schedule_predict(&told->schedule, CLASSES, scales, PREDICTIONS, NULL));
    for (size_t i = 0; i < PREDICTIONS; i++)
        told->predicted_ns[i] = scales[i].predicted_ns;
    CHECK_OK(critical_schedule_predict(&told->schedule, CLASSES, scales, 1, NULL));
    assert_true(scales[0].predicted_ns == told->predicted_ns[0]);
    critical_schedule_deinit(&told->schedule);
}

static void predict_whole(struct told *told, struct critical_path *path)
{
    uint32_t *classes = classes_of(path->answer);
    double scales[CLASSES];

    path->classes = classes;
    for (size_t i = 0; i < PREDICTIONS; i++) {
        fill_scales(i, scales);
        CHECK_OK(critical_path_predict(path, scales, &told->predicted_ns[i]));
    }
    CHECK_OK(critical_parts_tell(path, &(struct critical_sink){told, tell}));
    path->classes = NULL;
    free(classes);
}

static void tell_parts(struct store *store, struct critical_window window, struct told *out_told)
{
    const struct span_parts to = {out_told, begin, take, false, PART, SPAN_FRAMES_OPS, cuts};
    struct spans_answer answer;
    struct diag diag = {0};

    *out_told = (struct told){.window = window};
    CHECK_OK(query_span_parts(store, &question, &to, &answer, &diag));
    CHECK_OK(critical_parts_finish(out_told->parts, &answer));
    critical_parts_destroy(&out_told->parts);
    idle_parts_destroy(&out_told->idle);
    predict_parts(out_told);
    spans_answer_deinit(&answer);
}

static void tell_whole(struct store *store, struct critical_window window, struct told *out_told)
{
    struct idle_gap_array gaps = {0};
    struct spans_answer answer;
    struct critical_path path;
    struct diag diag = {0};

    *out_told = (struct told){.window = window};
    CHECK_OK(query_spans(store, &question, &answer, &diag));
    if (!window.is_run)
        window = (struct critical_window){false, answer.start_ns, answer.end_ns};
    CHECK_OK(critical_path_make(&answer, window.start_ns, window.end_ns, &path));
    predict_whole(out_told, &path);
    CHECK_OK(idle_find(&answer, &gaps));
    out_told->idle_sum = sum_gaps(&gaps);
    array_deinit(&gaps);
    critical_path_deinit(&path);
    spans_answer_deinit(&answer);
}

static void compare(struct store *store, struct critical_window window, struct told *out_parts)
{
    struct told whole;

    tell_parts(store, window, out_parts);
    tell_whole(store, window, &whole);
    for (size_t i = 0; i < whole.steps.count && i < out_parts->steps.count; i++) {
        const struct critical_step *step = &out_parts->steps.items[i];
        const struct critical_step *expected = &whole.steps.items[i];

        CHECK_U64((uint64_t)step->start_ns, (uint64_t)expected->start_ns);
        CHECK_U64((uint64_t)step->end_ns, (uint64_t)expected->end_ns);
        CHECK_U64(step->kind, expected->kind);
        CHECK_U64(step->op, expected->op);
        CHECK_U64(step->lane, expected->lane);
        CHECK_U64(step->is_shown, expected->is_shown);
        CHECK_U64(step->class, expected->class);
    }
    for (size_t i = 0; i < PREDICTIONS; i++) /* to the last bit */
        assert_true(out_parts->predicted_ns[i] == whole.predicted_ns[i]);
    CHECK_U64(out_parts->steps.count, whole.steps.count);
    if (!leaves_gaps)
        CHECK_U64(out_parts->idle_sum, whole.idle_sum);
    array_deinit(&whole.steps);
    array_deinit(&out_parts->steps);
}

/* What parts had to do, over some seeds. */
struct tally {
    size_t cut, anew, most_kept;
};

static struct tally try_seeds(const struct scene *like)
{
    struct scene *scene = malloc(sizeof(*scene));
    struct tally tally = {0};

    assert_non_null(scene);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        char *dir = temp_create(), *path = temp_path(dir, "a.db");
        struct store *store;
        struct told told;
        int64_t start_ns, end_ns;

        *scene = *like;
        scene->seed = seed * 2654435761u + 88172645463325252u;
        fill(scene);
        put_store(path, scene);
        store = store_support_open(path, STORE_READ);
        compare(store, (struct critical_window){0}, &told);
        tally.cut += told.part_count > 5;
        tally.anew += told.begin_count > 1;
        tally.most_kept = told.most_kept > tally.most_kept ? told.most_kept : tally.most_kept;
        start_ns = STORE_SUPPORT_START_NS + pick(scene, scene->end_ns - STORE_SUPPORT_START_NS);
        end_ns = start_ns + pick(scene, scene->end_ns - start_ns + 100);
        compare(store, (struct critical_window){true, start_ns, end_ns}, &told);
        store_close(&store);
        free(path);
        temp_destroy(&dir);
    }
    free(scene);
    return tally;
}

static void parts_of_streams_and_threads(void **state)
{
    const struct tally tally = try_seeds(&(struct scene){.grid_ns = 10});

    (void)state;
    assert_true(tally.cut > SEEDS * 3 / 4);
    assert_true(tally.most_kept < EVENTS_MAX * KEPT_PER_EVENT / 4); /* paths join */
}

/* What an op is that goes on in the next part is one step with what it was, and with nothing else. */
static void ops_around_are_known_again(void **state)
{
    const struct tally tally = try_seeds(&(struct scene){.grid_ns = 1000003, .is_around = true});

    (void)state;
    assert_true(tally.cut > SEEDS * 3 / 4);
}

/* Of an op that ends as a part does nothing is left for the next. */
static void ops_end_with_parts(void **state)
{
    const struct tally tally = try_seeds(&(struct scene){.grid_ns = 10, .is_in_order = true});

    (void)state;
    assert_true(tally.cut > SEEDS / 4);
}

static void bursts_that_touch(void **state)
{
    const struct tally fine = try_seeds(&(struct scene){.grid_ns = 997, .shares_times = true});

    (void)state;
    assert_true(fine.cut > SEEDS / 4);
    assert_true(fine.anew > 0); /* pieces without length meet */
}

static void threads_that_never_meet(void **state)
{
    const struct tally tally = try_seeds(&(struct scene){.grid_ns = 1000, .is_alone = true});

    (void)state;
    CHECK_U64(tally.cut, SEEDS);
    assert_true(tally.most_kept > EVENTS_MAX * 4 && tally.most_kept < EVENTS_MAX * KEPT_PER_EVENT);
}

static void streams_that_wait(void **state)
{
    const struct tally tally = try_seeds(&(struct scene){.grid_ns = 10, .waits = true});
    const struct tally in_order =
        try_seeds(&(struct scene){.grid_ns = 10, .waits = true, .is_in_order = true});

    (void)state;
    assert_true(tally.anew > 0);
    assert_true(in_order.cut > SEEDS / 4);
}

static void hosts_that_are_ahead(void **state)
{
    const struct tally straight = try_seeds(&(struct scene){.grid_ns = 1000, .is_ahead = true});
    struct tally stairs, coarse;

    (void)state;
    cuts = SPAN_CUT_LAUNCHES;
    stairs = try_seeds(&(struct scene){.grid_ns = 1000, .is_ahead = true});
    coarse = try_seeds(&(struct scene){.grid_ns = 100000, .is_ahead = true, .shares_times = true});
    cuts = SPAN_CUT_STRAIGHT;
    assert_true(straight.cut < SEEDS * 3 / 4 && stairs.cut > SEEDS * 3 / 4);
    assert_true(coarse.cut > SEEDS * 3 / 4 && stairs.anew + coarse.anew > 0);
}

static void streams_behind_that_wait(void **state)
{
    struct tally tally;

    (void)state;
    cuts = SPAN_CUT_LAUNCHES;
    leaves_gaps = true;
    tally = try_seeds(&(struct scene){.grid_ns = 1000, .is_ahead = true, .waits = true});
    cuts = SPAN_CUT_STRAIGHT;
    leaves_gaps = false;
    assert_true(tally.cut > SEEDS / 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_of_streams_and_threads),
        cmocka_unit_test(ops_around_are_known_again),
        cmocka_unit_test(ops_end_with_parts),
        cmocka_unit_test(bursts_that_touch),
        cmocka_unit_test(threads_that_never_meet),
        cmocka_unit_test(streams_that_wait),
        cmocka_unit_test(hosts_that_are_ahead),
        cmocka_unit_test(streams_behind_that_wait),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
