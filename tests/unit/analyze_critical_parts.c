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
#include "tests/support/stream_scene.h"
#include "tests/support/temp.h"

enum { SEEDS = 24, LEAST_PART = 30, PART_WIDTHS = 60, KEPT_PER_EVENT = 32 };

/* About so many spans are in a part. */
static size_t part_spans;
/* How recordings are cut in which something always runs. */
static enum span_cuts cuts;
/* Gaps can be told where paths cannot: where an op has begun behind a pause when a part ends. */
static bool gaps_alone;

/* --- Both ways. --- */

/* Some ops take another time, each class with its factors: more predictions than are made together. */
enum { CLASSES = 3, PREDICTIONS = 11 };

static const uint32_t classes_of_ops[STREAM_SCENE_OPS + 1] = {
    [STREAM_OP] = 1, [STREAM_LABEL] = 2, [STREAM_LAUNCH] = 1, [STREAM_KERNEL] = 2};

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
    uint32_t *classes = gaps_alone ? NULL : classes_of(part);
    int rc = gaps_alone ? 0 : critical_parts_add(told->parts, part, classes);
    size_t kept = critical_parts_kept(told->parts);

    if (rc == 0)
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
    const struct span_parts to = {
        out_told, begin, take, false, part_spans, gaps_alone ? SPAN_FRAMES_LEAVES : SPAN_FRAMES_OPS,
        cuts};
    struct spans_answer answer;
    struct diag diag = {0};

    *out_told = (struct told){.window = window};
    CHECK_OK(query_span_parts(store, &question, &to, &answer, &diag));
    if (!gaps_alone) {
        CHECK_OK(critical_parts_finish(out_told->parts, &answer));
        predict_parts(out_told);
    }
    critical_parts_destroy(&out_told->parts);
    idle_parts_destroy(&out_told->idle);
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
    CHECK_U64(out_parts->idle_sum, whole.idle_sum);
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
    for (size_t i = 0; i < PREDICTIONS && !gaps_alone; i++) /* to the last bit */
        assert_true(out_parts->predicted_ns[i] == whole.predicted_ns[i]);
    if (!gaps_alone)
        CHECK_U64(out_parts->steps.count, whole.steps.count);
    array_deinit(&whole.steps);
    array_deinit(&out_parts->steps);
}

/* What parts had to do, over some seeds. */
struct tally {
    size_t cut, anew, most_kept;
};

static struct tally try_seeds(const struct stream_scene *like)
{
    struct stream_scene *scene = malloc(sizeof(*scene));
    struct tally tally = {0};

    assert_non_null(scene);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        char *dir = temp_create(), *path = temp_path(dir, "a.db");
        struct store *store;
        struct told told;
        int64_t start_ns, end_ns;

        *scene = *like;
        scene->seed = seed * 2654435761u + 88172645463325252u;
        part_spans = LEAST_PART + (size_t)(seed * 11 % PART_WIDTHS);
        stream_scene_fill(scene);
        stream_scene_store(path, scene);
        store = store_support_open(path, STORE_READ);
        compare(store, (struct critical_window){0}, &told);
        tally.cut += told.part_count > 5;
        tally.anew += told.begin_count > 1;
        tally.most_kept = told.most_kept > tally.most_kept ? told.most_kept : tally.most_kept;
        start_ns = STORE_SUPPORT_START_NS +
                   stream_scene_pick(scene, scene->end_ns - STORE_SUPPORT_START_NS);
        end_ns = start_ns + stream_scene_pick(scene, scene->end_ns - start_ns + 100);
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
    const struct tally tally = try_seeds(&(struct stream_scene){.grid_ns = 10});

    (void)state;
    assert_true(tally.cut > SEEDS * 3 / 4);
    assert_true(tally.most_kept < STREAM_SCENE_EVENTS * KEPT_PER_EVENT / 4); /* paths join */
}

/* What an op is that goes on in the next part is one step with what it was, and with nothing else. */
static void ops_around_are_known_again(void **state)
{
    const struct tally tally =
        try_seeds(&(struct stream_scene){.grid_ns = 1000003, .is_around = true});

    (void)state;
    assert_true(tally.cut > SEEDS * 3 / 4);
}

/* Of an op that ends as a part does nothing is left for the next. */
static void ops_end_with_parts(void **state)
{
    const struct tally tally =
        try_seeds(&(struct stream_scene){.grid_ns = 10, .is_in_order = true});

    (void)state;
    assert_true(tally.cut > SEEDS / 4);
}

static void bursts_that_touch(void **state)
{
    const struct tally fine =
        try_seeds(&(struct stream_scene){.grid_ns = 997, .shares_times = true});

    (void)state;
    assert_true(fine.cut > SEEDS / 4);
    assert_true(fine.anew > 0); /* pieces without length meet */
}

static void threads_that_never_meet(void **state)
{
    const struct tally tally = try_seeds(&(struct stream_scene){.grid_ns = 1000, .is_alone = true});

    (void)state;
    CHECK_U64(tally.cut, SEEDS);
    assert_true(tally.most_kept > STREAM_SCENE_EVENTS * 4 &&
                tally.most_kept < STREAM_SCENE_EVENTS * KEPT_PER_EVENT);
}

static void streams_that_wait(void **state)
{
    const struct tally tally = try_seeds(&(struct stream_scene){.grid_ns = 10, .waits = true});
    const struct tally in_order =
        try_seeds(&(struct stream_scene){.grid_ns = 10, .waits = true, .is_in_order = true});

    (void)state;
    assert_true(tally.anew > 0);
    assert_true(in_order.cut > SEEDS / 4);
}

static void hosts_that_are_ahead(void **state)
{
    const struct tally straight =
        try_seeds(&(struct stream_scene){.grid_ns = 1000, .is_ahead = true});
    struct tally stairs, coarse;

    (void)state;
    cuts = SPAN_CUT_LAUNCHES;
    stairs = try_seeds(&(struct stream_scene){.grid_ns = 1000, .is_ahead = true});
    coarse = try_seeds(
        &(struct stream_scene){.grid_ns = 100000, .is_ahead = true, .shares_times = true});
    cuts = SPAN_CUT_STRAIGHT;
    assert_true(straight.cut < SEEDS * 3 / 4 && stairs.cut > SEEDS * 3 / 4);
    assert_true(coarse.cut > SEEDS * 3 / 4);
}

static void streams_behind_that_wait(void **state)
{
    struct tally tally;

    (void)state;
    cuts = SPAN_CUT_LAUNCHES;
    tally = try_seeds(&(struct stream_scene){.grid_ns = 1000, .is_ahead = true, .waits = true});
    cuts = SPAN_CUT_STRAIGHT;
    assert_true(tally.cut > SEEDS / 5);
}

static void streams_that_wait_for_long_ago(void **state)
{
    struct tally tally, busy, in_order, gaps;

    (void)state;
    cuts = SPAN_CUT_WAITS;
    tally = try_seeds(
        &(struct stream_scene){.grid_ns = 1000, .is_ahead = true, .waits = true, .recalls = true});
    busy = try_seeds(
        &(struct stream_scene){.grid_ns = 1000, .is_busy = true, .waits = true, .recalls = true});
    in_order = try_seeds(&(struct stream_scene){
        .grid_ns = 1000, .is_in_order = true, .waits = true, .recalls = true});
    gaps_alone = true;
    gaps = try_seeds(
        &(struct stream_scene){.grid_ns = 1000, .is_busy = true, .waits = true, .recalls = true});
    cuts = SPAN_CUT_STRAIGHT;
    gaps_alone = false;
    assert_true(tally.cut > SEEDS / 6 && busy.cut > SEEDS / 2 && in_order.cut > SEEDS * 3 / 4);
    assert_true(gaps.cut > SEEDS * 3 / 4);
}

static void streams_behind_that_wait_within_graphs(void **state)
{
    struct tally tally;

    (void)state;
    cuts = SPAN_CUT_LAUNCHES;
    tally = try_seeds(&(struct stream_scene){.grid_ns = 1000, .is_ahead = true, .graphs = true});
    cuts = SPAN_CUT_STRAIGHT;
    assert_true(tally.cut > SEEDS / 2);
}

/* What is open where a part ends goes on in the next one. */
static void threads_that_never_rest_together(void **state)
{
    struct tally fine, coarse, ahead, waiting;

    (void)state;
    cuts = SPAN_CUT_LAUNCHES;
    fine = try_seeds(&(struct stream_scene){.grid_ns = 1000, .is_busy = true});
    coarse = try_seeds(&(struct stream_scene){.grid_ns = 1000003, .is_busy = true});
    ahead = try_seeds(&(struct stream_scene){.grid_ns = 1000, .is_busy = true, .is_ahead = true});
    waiting = try_seeds(
        &(struct stream_scene){.grid_ns = 1000, .is_busy = true, .is_ahead = true, .waits = true});
    cuts = SPAN_CUT_STRAIGHT;
    assert_true(fine.cut > SEEDS / 2 && coarse.cut > SEEDS / 2);
    assert_true(ahead.cut > SEEDS * 3 / 4 && waiting.cut > SEEDS / 5);
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
        cmocka_unit_test(streams_that_wait_for_long_ago),
        cmocka_unit_test(streams_behind_that_wait_within_graphs),
        cmocka_unit_test(threads_that_never_rest_together),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
