/* SPDX-License-Identifier: Apache-2.0 */
/* Spans part by part are the spans all at once: random sessions of nested spans on threads and what
 * they launched, with and without runs, with pauses and without. */
#include <stdlib.h>
#include <string.h>

#include "analyze/export/ordered.h"
#include "analyze/export/packed.h"
#include "analyze/export/rows.h"
#include "analyze/metrics/advice.h"
#include "analyze/metrics/device_use.h"
#include "analyze/metrics/idle.h"
#include "analyze/metrics/launch_queue.h"
#include "analyze/metrics/overhead.h"
#include "analyze/metrics/run_samples.h"
#include "analyze/metrics/sequences.h"
#include "analyze/query/spans.h"
#include "tests/support/check.h"
#include "tests/support/span_scene.h"
#include "tests/support/store_support.h"
#include "tests/support/temp.h"

enum { SEEDS = 30, TIMES_FEWER = 5, PART = 200 };

/* How recordings are cut in which something always runs. */
static enum span_cuts cuts;

/* What a span is, and what it is to others, whatever places they have. */
struct said {
    int64_t start_ns, end_ns, self_ns, own_ns, op, lane, depth, parent_ns, launch_ns, next_ns;
};

struct gathered {
    ARRAY_OF(struct said) spans;
    size_t part_count, begin_count;
    int64_t until_ns;   /* all parts so far end there, or before */
    int64_t settled_ns; /* later ones begin there, or later */
    bool is_shown_wrong;
};

static int64_t start_of(const struct spans_answer *spans, uint32_t place)
{
    return place == SPAN_NONE ? -1 : spans->spans.items[place].start_ns;
}

static int begin(void *user, const struct spans_answer *spans)
{
    struct gathered *gathered = user;

    CHECK_U64(spans->lanes.count, 3);
    CHECK_U64(spans->ops.count, SPAN_SCENE_OPS);
    gathered->spans.count = 0;
    gathered->part_count = 0;
    gathered->until_ns = 0;
    gathered->settled_ns = 0;
    gathered->begin_count++;
    return 0;
}

static int take(void *user, struct spans_answer *spans)
{
    struct gathered *gathered = user;
    int64_t until_ns = gathered->until_ns;

    gathered->part_count++;
    for (size_t i = 0; i < spans->spans.count; i++) {
        const struct span *span = &spans->spans.items[i];
        const struct said said = {
            .start_ns = span->start_ns,
            .end_ns = span->start_ns + span->dur_ns,
            .self_ns = span->self_ns,
            .own_ns = span_own_ns(spans, span),
            .op = span->op,
            .lane = span->lane,
            .depth = span->depth,
            .parent_ns = start_of(spans, span->parent),
            .launch_ns = start_of(spans, span->launch),
            .next_ns = start_of(spans, span->next),
        };

        assert_true(span->start_ns >= gathered->settled_ns);
        assert_true(cuts || span->start_ns >= gathered->until_ns);
        until_ns = said.end_ns > until_ns ? said.end_ns : until_ns;
        CHECK_OK(array_push(&gathered->spans, said));
    }
    gathered->until_ns = until_ns;
    gathered->settled_ns = span_settled_ns(spans);
    return 0;
}

/* Lane by lane, each as it was handed over: parts have the lanes in turn. */
static int compare_said(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct said));
}

static void gather(struct store *store, bool totals, bool is_whole, struct gathered *out_gathered)
{
    const int64_t session_id = 1;
    const struct ops_question question = {
        .session_ids = &session_id, .session_count = 1, .totals = totals, .warmups = true};
    const struct span_parts parts = {out_gathered,     begin, take, is_whole, PART,
                                     SPAN_FRAMES_NONE, cuts};
    struct spans_answer answer;
    struct diag diag = {0};

    *out_gathered = (struct gathered){0};
    CHECK_OK(query_span_parts(store, &question, &parts, &answer, &diag));
    CHECK_U64(answer.spans.count, 0);
    CHECK_U64(answer.basis.event_count, out_gathered->spans.count);
    CHECK_U64((uint64_t)answer.end_ns, (uint64_t)out_gathered->until_ns);
    CHECK_U64((uint64_t)answer.start_ns, STORE_SUPPORT_START_NS);
    spans_answer_deinit(&answer);
    qsort(out_gathered->spans.items, out_gathered->spans.count, sizeof(*out_gathered->spans.items),
          compare_said);
}

/* --- What is made of parts. --- */

struct measured {
    struct idle_parts *idle;
    struct idle_gap_array gaps, of_part;
    struct overhead_parts overhead_parts;
    struct overhead overhead;
};

static int begin_measuring(void *user, const struct spans_answer *spans)
{
    struct measured *measured = user;

    measured->gaps.count = 0;
    CHECK_OK(idle_begin(spans, &measured->idle));
    return overhead_begin(spans, &measured->overhead_parts);
}

static int measure(void *user, struct spans_answer *spans)
{
    struct measured *measured = user;
    int rc;

    measured->of_part.count = 0;
    rc = idle_add(measured->idle, spans, &measured->of_part);
    for (size_t i = 0; i < measured->of_part.count; i++) {
        struct idle_gap gap = measured->of_part.items[i];

        gap.before = gap.after = gap.during = SPAN_NONE; /* places are the part's own */
        CHECK_OK(array_push(&measured->gaps, gap));
    }
    return rc ? rc : overhead_add(&measured->overhead_parts, spans);
}

static int compare_gaps(const void *a, const void *b)
{
    const struct idle_gap *left = a, *right = b;

    if (left->lane != right->lane)
        return left->lane < right->lane ? -1 : 1;
    return (left->start_ns > right->start_ns) - (left->start_ns < right->start_ns);
}

static void measure_all(struct store *store, bool totals, bool is_whole,
                        struct measured *out_measured)
{
    const int64_t session_id = 1;
    const struct ops_question question = {
        .session_ids = &session_id, .session_count = 1, .totals = totals, .warmups = true};
    const struct span_parts parts = {out_measured, begin_measuring,  measure, is_whole,
                                     PART,         SPAN_FRAMES_NONE, cuts};
    struct spans_answer answer;
    struct diag diag = {0};

    *out_measured = (struct measured){0};
    CHECK_OK(query_span_parts(store, &question, &parts, &answer, &diag));
    overhead_finish(&out_measured->overhead_parts, &answer, &out_measured->overhead);
    for (uint32_t lane = 0; lane < 2; lane++)
        assert_true(idle_is_shown(out_measured->idle, lane));
    spans_answer_deinit(&answer);
    idle_parts_destroy(&out_measured->idle);
    array_deinit(&out_measured->of_part);
    overhead_parts_deinit(&out_measured->overhead_parts);
    if (out_measured->gaps.count)
        qsort(out_measured->gaps.items, out_measured->gaps.count, sizeof(*out_measured->gaps.items),
              compare_gaps);
}

static void compare_measures(struct store *store, bool totals)
{
    struct measured whole, parts;

    measure_all(store, totals, true, &whole);
    measure_all(store, totals, false, &parts);
    assert_true(whole.gaps.count > 100 || cuts);
    CHECK_U64(parts.gaps.count, whole.gaps.count);
    for (size_t i = 0; i < whole.gaps.count; i++) {
        const struct idle_gap *gap = &parts.gaps.items[i], *expected = &whole.gaps.items[i];

        CHECK_U64((uint64_t)gap->start_ns, (uint64_t)expected->start_ns);
        CHECK_U64((uint64_t)gap->end_ns, (uint64_t)expected->end_ns);
        CHECK_U64(gap->cause, expected->cause);
        CHECK_U64(gap->before_op, expected->before_op);
        CHECK_U64(gap->after_op, expected->after_op);
        CHECK_U64(gap->during_op, expected->during_op);
    }
    assert_memory_equal(&parts.overhead.times, &whole.overhead.times, sizeof(whole.overhead.times));
    assert_memory_equal(&parts.overhead.lanes, &whole.overhead.lanes, sizeof(whole.overhead.lanes));
    CHECK_U64(parts.overhead.sides.count, whole.overhead.sides.count);
    array_deinit(&whole.gaps);
    array_deinit(&parts.gaps);
    overhead_deinit(&whole.overhead);
    overhead_deinit(&parts.overhead);
}

static int begin_advice(void *user, const struct spans_answer *spans)
{
    return advice_begin(spans, user);
}

static int add_advice(void *user, struct spans_answer *spans)
{
    struct advice_parts **parts = user;

    return advice_add(*parts, spans);
}

static void compare_advice(struct store *store, bool totals)
{
    const int64_t session_id = 1;
    const struct ops_question question = {
        .session_ids = &session_id, .session_count = 1, .totals = totals, .warmups = true};
    struct advice_parts *advice = NULL;
    const struct span_parts to = {&advice, begin_advice,     add_advice, false,
                                  PART,    SPAN_FRAMES_NONE, cuts};
    struct advice_facts whole, parts;
    struct spans_answer answer;
    struct diag diag = {0};

    advice_facts_init(&whole);
    CHECK_OK(query_spans(store, &question, &answer, &diag));
    CHECK_OK(advice_measure_spans(&answer, &whole));
    spans_answer_deinit(&answer);
    advice_facts_init(&parts);
    CHECK_OK(query_span_parts(store, &question, &to, &answer, &diag));
    CHECK_OK(advice_finish(advice, &answer, &parts));
    spans_answer_deinit(&answer);
    advice_parts_destroy(&advice);
    assert_true(whole.launch_count > 0 && whole.tiny_count > 0);
    CHECK_NEAR(parts.idle_ns, whole.idle_ns, 0);
    CHECK_NEAR(parts.wall_ns, whole.wall_ns, 0);
    CHECK_NEAR(parts.recorded_ns, whole.recorded_ns, 0);
    CHECK_NEAR(parts.launch_ns, whole.launch_ns, 0);
    CHECK_NEAR(parts.launch_median_ns, whole.launch_median_ns, 0);
    CHECK_NEAR(parts.launched_median_ns, whole.launched_median_ns, 0);
    CHECK_NEAR(parts.call_median_ns, whole.call_median_ns, 0);
    CHECK_NEAR(parts.tiny_ns, whole.tiny_ns, 0);
    CHECK_U64(parts.launch_count, whole.launch_count);
    CHECK_U64(parts.call_count, whole.call_count);
    CHECK_U64(parts.tiny_count, whole.tiny_count);
}

/* What devices, queues of streams and sequences come to. */
struct used {
    struct device_parts *device_parts;
    struct device_use_array devices;
    struct launch_queue_parts queue_parts;
    struct launch_queue_array queues;
    struct sequences_gathered *gathered;
    struct sequences sequences;
};

static int begin_using(void *user, const struct spans_answer *spans)
{
    struct used *used = user;

    CHECK_OK(device_parts_begin(spans, &used->device_parts));
    CHECK_OK(sequences_begin(spans, &used->gathered));
    return launch_queues_begin(spans, &used->queue_parts);
}

static int use(void *user, struct spans_answer *spans)
{
    struct used *used = user;

    CHECK_OK(device_parts_add(used->device_parts, spans));
    CHECK_OK(sequences_add(used->gathered, spans));
    return launch_queues_add(&used->queue_parts, spans);
}

static void use_all(struct store *store, bool totals, bool is_whole, struct used *out_used)
{
    const int64_t session_id = 1;
    const struct ops_question question = {
        .session_ids = &session_id, .session_count = 1, .totals = totals, .warmups = true};
    const struct span_parts parts = {out_used, begin_using,      use, is_whole,
                                     PART,     SPAN_FRAMES_NONE, cuts};
    struct spans_answer answer;
    struct diag diag = {0};

    *out_used = (struct used){0};
    CHECK_OK(query_span_parts(store, &question, &parts, &answer, &diag));
    CHECK_OK(device_parts_finish(out_used->device_parts, &answer, &out_used->devices));
    CHECK_OK(launch_queues_finish(&out_used->queue_parts, &answer, &out_used->queues));
    CHECK_OK(sequences_finish(out_used->gathered, &answer, true, &out_used->sequences));
    for (size_t i = 0; i < out_used->devices.count; i++) { /* texts of the answer */
        out_used->devices.items[i].device = NULL;
        out_used->devices.items[i].lane = NULL;
    }
    device_parts_destroy(&out_used->device_parts);
    launch_queue_parts_deinit(&out_used->queue_parts);
    sequences_drop(&out_used->gathered);
    spans_answer_deinit(&answer);
}

static void drop_used(struct used *used)
{
    array_deinit(&used->devices);
    launch_queues_deinit(&used->queues);
    sequences_deinit(&used->sequences);
}

static void compare_uses(struct store *store, bool totals)
{
    struct used whole, parts;

    use_all(store, totals, true, &whole);
    use_all(store, totals, false, &parts);
    assert_true(whole.devices.count > 0 && whole.queues.count > 0);
    CHECK_U64(parts.devices.count, whole.devices.count);
    assert_memory_equal(parts.devices.items, whole.devices.items,
                        whole.devices.count * sizeof(*whole.devices.items));
    CHECK_U64(parts.queues.count, whole.queues.count);
    for (size_t i = 0; i < whole.queues.count; i++) {
        const struct launch_queue *queue = &parts.queues.items[i];
        const struct launch_queue *expected = &whole.queues.items[i];

        CHECK_U64(queue->launch_count, expected->launch_count);
        assert_memory_equal(&queue->length, &expected->length, sizeof(queue->length));
        assert_memory_equal(queue->curve.steps.items, expected->curve.steps.items,
                            expected->curve.steps.count * sizeof(struct curve_step));
    }
    CHECK_U64(parts.sequences.items.count, whole.sequences.items.count);
    assert_true(whole.sequences.items.count > 10);
    for (size_t i = 0; i < whole.sequences.items.count; i++)
        assert_memory_equal(&parts.sequences.items.items[i], &whole.sequences.items.items[i],
                            sizeof(struct sequence));
    drop_used(&whole);
    drop_used(&parts);
}

/* --- What exports keep of parts. --- */

struct kept {
    struct packed_spans packed;
    struct ordered_spans ordered;
    size_t part_count;
};

/* Some that nobody asked for. */
static void hide(struct spans_answer *spans)
{
    for (size_t i = 0; i < spans->spans.count; i++) {
        struct span *span = &spans->spans.items[i];

        span->is_shown = (uint64_t)(span->start_ns + span->dur_ns) % 5 > 0;
    }
}

static int begin_keeping(void *user, const struct spans_answer *spans)
{
    struct kept *kept = user;

    kept->part_count = 0;
    CHECK_OK(ordered_begin(&kept->ordered, spans));
    return packed_begin(&kept->packed, spans);
}

static int keep(void *user, struct spans_answer *spans)
{
    struct kept *kept = user;

    hide(spans);
    kept->part_count++;
    CHECK_OK(ordered_take(&kept->ordered, spans));
    return packed_take(&kept->packed, spans);
}

static void check_launch(const struct spans_answer *whole, const struct export_rows *rows,
                         const struct span *span, const struct packed_span *packed)
{
    const struct span *items = whole->spans.items;
    bool is_device = span_is_device(whole, span), is_same = false;

    CHECK_U64(packed->is_device, is_device);
    CHECK_U64(packed->launches, !is_device && span->launch != SPAN_NONE);
    CHECK_U64(packed->launch, is_device ? span->launch : SPAN_NONE);
    for (uint32_t i = span->launch; i != SPAN_NONE && !is_device; i = items[i].next)
        is_same |= items[i].op == span->op;
    CHECK_U64(packed->counts_on_device, is_same);
    if (packed->launch == SPAN_NONE)
        return;
    CHECK_U64((uint64_t)packed->launch_start_ns, (uint64_t)items[span->launch].start_ns);
    CHECK_U64(packed->launch_lane, items[span->launch].lane);
    CHECK_U64(packed->launch_row, rows->row[span->launch]);
    CHECK_U64(packed->launch_is_shown, items[span->launch].is_shown);
}

static void check_packed(const struct spans_answer *whole, const struct export_rows *rows,
                         const struct packed_spans *all)
{
    size_t count = 0;

    CHECK_U64(all->count, whole->spans.count);
    for (size_t lane = 0; lane < whole->lanes.count; lane++) {
        struct packed_reader reader;

        CHECK_U64(all->lanes[lane].row_count, rows->count[lane]);
        packed_read(all, lane, &reader);
        for (; packed_next(&reader); count++) {
            const struct packed_span *packed = &reader.span;
            const struct span *span = &whole->spans.items[count];

            CHECK_U64(packed->place, count);
            CHECK_U64(packed->lane, span->lane);
            CHECK_U64(packed->op, span->op);
            CHECK_U64(packed->run, span->run);
            CHECK_U64(packed->depth, span->depth);
            CHECK_U64(packed->parent, span->parent);
            CHECK_U64(packed->shown_parent, export_shown_parent(whole, span));
            CHECK_U64(packed->row, rows->row[count]);
            CHECK_U64(packed->is_shown, span->is_shown);
            CHECK_U64((uint64_t)packed->start_ns, (uint64_t)span->start_ns);
            CHECK_U64((uint64_t)packed->dur_ns, (uint64_t)span->dur_ns);
            CHECK_U64((uint64_t)packed->self_ns, (uint64_t)span->self_ns);
            CHECK_U64((uint64_t)packed->kern_ns, (uint64_t)span->kern_ns);
            CHECK_U64((uint64_t)packed->bytes, (uint64_t)span->bytes);
            check_launch(whole, rows, span, packed);
        }
        CHECK_OK(packed_reader_deinit(&reader));
    }
    CHECK_U64(count, whole->spans.count);
}

/* As the store has its rows; lanes and ops have their ids in order. */
static void check_ordered(const struct spans_answer *whole, const struct span_scene *scene,
                          const struct ordered_spans *ordered)
{
    struct ordered_reader reader = ordered_read(ordered);
    size_t count = 0, shown = 0;

    while (ordered_next(&reader)) {
        const struct ordered_span *span = &reader.span;
        const struct store_event *event = &scene->events[span->order];

        CHECK_U64((uint64_t)whole->lanes.items[span->lane].lane_id, (uint64_t)event->lane_id);
        CHECK_U64((uint64_t)whole->ops.items[span->op].op_id, (uint64_t)event->op_id);
        CHECK_U64((uint64_t)span->start_ns, (uint64_t)event->start_ns);
        CHECK_U64((uint64_t)span->dur_ns, (uint64_t)event->dur_ns);
        CHECK_U64((uint64_t)span->kern_ns, (uint64_t)event->kern_ns);
        CHECK_U64((uint64_t)span->correlation, (uint64_t)event->correlation);
        CHECK_U64((uint64_t)span->bytes, (uint64_t)event->bytes);
        CHECK_U64(span->run, scene->run == STORE_NULL ? SPAN_NONE : 0);
        count++;
    }
    for (size_t i = 0; i < whole->spans.count; i++)
        shown += whole->spans.items[i].is_shown;
    CHECK_U64(count, shown);
    assert_true(shown < whole->spans.count);
}

/* --- Samples of ops and runs. --- */

static int begin_sampling(void *user, const struct spans_answer *spans)
{
    return run_samples_begin(spans, OP_SIDES, user);
}

static int sample(void *user, struct spans_answer *spans)
{
    struct run_samples_parts **parts = user;

    hide(spans);
    return run_samples_add(*parts, spans);
}

static void sample_all(struct store *store, bool is_whole, struct run_samples *out_samples)
{
    const int64_t session_id = 1;
    const struct ops_question question = {
        .session_ids = &session_id, .session_count = 1, .warmups = true};
    struct run_samples_parts *samples = NULL;
    const struct span_parts parts = {&samples, begin_sampling,  sample, is_whole,
                                     PART,     SPAN_FRAMES_OPS, cuts};
    struct spans_answer answer;
    struct diag diag = {0};

    CHECK_OK(query_span_parts(store, &question, &parts, &answer, &diag));
    assert_true(run_samples_saw_spans(samples));
    CHECK_OK(run_samples_finish(&samples, &answer, out_samples, &diag));
    assert_null(samples);
    spans_answer_deinit(&answer);
}

static void compare_samples(struct store *store)
{
    struct run_samples whole, parts;

    sample_all(store, true, &whole);
    sample_all(store, false, &parts);
    CHECK_U64(parts.side, whole.side);
    CHECK_U64(parts.has_runs, whole.has_runs);
    CHECK_U64(parts.unit_count, whole.unit_count);
    CHECK_U64(parts.ops.count, whole.ops.count);
    CHECK_U64(parts.runs.count, whole.runs.count);
    assert_true(whole.ops.count > 2 && whole.runs.count > 0);
    for (size_t i = 0; i < whole.ops.count; i++) {
        assert_string_equal(parts.ops.items[i].row->name, whole.ops.items[i].row->name);
        CHECK_NEAR(parts.ops.items[i].calls, whole.ops.items[i].calls, 0);
    }
    for (size_t i = 0; i < whole.runs.count; i++) {
        assert_true(whole.runs.items[i].other_ns > 0);
        CHECK_NEAR(parts.runs.items[i].run_ns, whole.runs.items[i].run_ns, 0);
        CHECK_NEAR(parts.runs.items[i].other_ns, whole.runs.items[i].other_ns, 0);
        CHECK_U64(parts.runs.items[i].row, whole.runs.items[i].row);
    }
    assert_memory_equal(parts.op_ns, whole.op_ns,
                        whole.ops.count * whole.runs.count * sizeof(*whole.op_ns));
    run_samples_deinit(&whole);
    run_samples_deinit(&parts);
}

/* --- How far it is. --- */

/* As if it had begun long ago. */
static struct progress long_ago(char **text, size_t *size)
{
    return (struct progress){.out = open_memstream(text, size), .is_shown = true, .start_ns = 1};
}

/* Something was said, and wiped. */
static void check_said(struct progress *progress, char **text, const char *what)
{
    fclose(progress->out);
    CHECK_CONTAINS(*text, what);
    assert_true(strlen(*text) > 4);
    assert_string_equal(*text + strlen(*text) - 4, "\r\033[K");
    free(*text);
    *text = NULL;
}

static void reading_and_writing_say_how_far_they_are(void **state)
{
    char *dir = temp_create(), *path = temp_path(dir, "a.db"), *text = NULL;
    struct span_scene *scene = malloc(sizeof(*scene));
    const int64_t session_id = 1;
    struct progress progress;
    struct ops_question question = {
        .session_ids = &session_id, .session_count = 1, .totals = true, .progress = &progress};
    struct kept kept = {0};
    const struct span_parts to = {&kept, begin_keeping, keep, false, PART};
    struct packed_reader reader;
    struct ordered_reader rows;
    struct spans_answer spans;
    struct ops_answer ops;
    struct diag diag = {0};
    struct store *store;
    size_t size;

    (void)state;
    assert_non_null(scene);
    *scene = (struct span_scene){.seed = 7, .run = STORE_NULL};
    span_scene_fill(scene);
    span_scene_store(path, scene, false);
    store = store_support_open(path, STORE_READ);
    progress = long_ago(&text, &size);
    CHECK_OK(query_ops(store, &question, &ops, &diag));
    check_said(&progress, &text, "reading events: ");
    progress = long_ago(&text, &size);
    CHECK_OK(query_span_parts(store, &question, &to, &spans, &diag));
    check_said(&progress, &text, "reading events: ");
    CHECK_OK(packed_finish(&kept.packed));
    progress = long_ago(&text, &size);
    kept.packed.progress = kept.ordered.progress = &progress;
    for (size_t lane = 0; lane < spans.lanes.count; lane++) {
        packed_read(&kept.packed, lane, &reader);
        while (packed_next(&reader))
            ;
        CHECK_OK(packed_reader_deinit(&reader));
    }
    progress_end(&progress);
    check_said(&progress, &text, "writing events: ");
    progress = long_ago(&text, &size);
    rows = ordered_read(&kept.ordered);
    while (ordered_next(&rows))
        ;
    progress_end(&progress);
    check_said(&progress, &text, "writing events: ");
    packed_deinit(&kept.packed);
    ordered_deinit(&kept.ordered);
    ops_answer_deinit(&ops);
    spans_answer_deinit(&spans);
    store_close(&store);
    free(scene);
    free(path);
    temp_destroy(&dir);
}

/* Returns in how many parts exports took it. */
static size_t compare_kept(struct store *store, const struct span_scene *scene, bool totals)
{
    const int64_t session_id = 1;
    const struct ops_question question = {
        .session_ids = &session_id, .session_count = 1, .totals = totals, .warmups = true};
    struct kept kept = {0};
    const struct span_parts to = {&kept, begin_keeping, keep, false, PART, SPAN_FRAMES_NONE, cuts};
    struct spans_answer whole, answer;
    struct export_rows rows;
    struct diag diag = {0};

    CHECK_OK(query_spans(store, &question, &whole, &diag));
    hide(&whole);
    CHECK_OK(export_rows_init(&rows, &whole));
    CHECK_OK(query_span_parts(store, &question, &to, &answer, &diag));
    CHECK_OK(packed_finish(&kept.packed));
    check_packed(&whole, &rows, &kept.packed);
    check_ordered(&whole, scene, &kept.ordered);
    packed_deinit(&kept.packed);
    ordered_deinit(&kept.ordered);
    export_rows_deinit(&rows);
    spans_answer_deinit(&answer);
    spans_answer_deinit(&whole);
    return kept.part_count;
}

/* Returns how many parts there were. */
static size_t compare(const char *path, const struct span_scene *scene, bool totals)
{
    struct store *store = store_support_open(path, STORE_READ);
    struct gathered whole, parts;
    size_t count, kept_count;

    gather(store, totals, true, &whole);
    gather(store, totals, false, &parts);
    CHECK_U64(whole.part_count, 1);
    CHECK_U64(parts.spans.count, whole.spans.count);
    assert_memory_equal(parts.spans.items, whole.spans.items,
                        whole.spans.count * sizeof(*whole.spans.items));
    count = parts.part_count;
    if (cuts && !scene->waits) /* whose store does not lie in pages of its own */
        CHECK_U64(parts.begin_count, 1);
    compare_measures(store, totals);
    compare_advice(store, totals);
    compare_uses(store, totals);
    kept_count = compare_kept(store, scene, totals);
    compare_samples(store);
    array_deinit(&whole.spans);
    array_deinit(&parts.spans);
    store_close(&store);
    return count < kept_count ? count : kept_count;
}

static size_t try_seed(struct span_scene *scene, uint64_t seed, bool touches, bool crosses,
                       bool waits)
{
    char *dir = temp_create(), *path = temp_path(dir, "a.db");
    bool has_runs = seed % 2;
    size_t count;

    *scene = (struct span_scene){.seed = seed * 2654435761u + 88172645463325252u,
                                 .run = has_runs ? 1 : STORE_NULL,
                                 .touches = touches,
                                 .crosses = crosses,
                                 .waits = waits};
    span_scene_fill(scene);
    span_scene_store(path, scene, has_runs);
    count = compare(path, scene, !has_runs);
    free(path);
    temp_destroy(&dir);
    return count;
}

static void parts_are_the_whole(void **state)
{
    struct span_scene *scene = malloc(sizeof(*scene));
    size_t crossing_parts = 0, stairs = 0, waiting = 0;

    (void)state;
    assert_non_null(scene);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        assert_true(try_seed(scene, seed, false, false, false) > 5);
        assert_true(try_seed(scene, seed, true, false, false) > 1);
        crossing_parts += try_seed(scene, seed, false, true, false);
        if (seed % TIMES_FEWER)
            continue;
        cuts = SPAN_CUT_LAUNCHES;
        stairs += try_seed(scene, seed, false, true, false);
        stairs += try_seed(scene, seed, true, true, false);
        assert_true(try_seed(scene, seed, false, false, false) > 5);
        waiting += try_seed(scene, seed, false, true, true);
        cuts = SPAN_CUT_STRAIGHT;
    }
    /* What is launched behind later launches cannot be cut from them. */
    assert_true(crossing_parts < 4 * SEEDS);
    /* But each lane can be cut by itself. */
    assert_true(stairs > 2 * 4 * SEEDS / TIMES_FEWER && waiting > 4 * SEEDS / TIMES_FEWER);
    free(scene);
}

static int refuse(void *user, struct spans_answer *spans)
{
    struct gathered *gathered = user;

    if (gathered->begin_count == 1 && gathered->part_count == 2)
        return SPAN_PARTS_WHOLE;
    return take(user, spans);
}

static void a_consumer_gets_all_at_once_where_it_must(void **state)
{
    char *dir = temp_create(), *path = temp_path(dir, "a.db");
    struct span_scene *scene = malloc(sizeof(*scene));
    const int64_t session_id = 1;
    const struct ops_question question = {
        .session_ids = &session_id, .session_count = 1, .totals = true};
    struct gathered gathered = {0};
    const struct span_parts parts = {&gathered, begin, refuse, false, PART};
    struct spans_answer answer;
    struct diag diag = {0};
    struct store *store;

    (void)state;
    assert_non_null(scene);
    *scene = (struct span_scene){.seed = 77, .run = STORE_NULL};
    span_scene_fill(scene);
    span_scene_store(path, scene, false);
    store = store_support_open(path, STORE_READ);
    CHECK_OK(query_span_parts(store, &question, &parts, &answer, &diag));
    CHECK_U64(gathered.begin_count, 2);
    CHECK_U64(gathered.part_count, 1);
    CHECK_U64(gathered.spans.count, scene->count);
    spans_answer_deinit(&answer);
    store_close(&store);
    array_deinit(&gathered.spans);
    free(scene);
    free(path);
    temp_destroy(&dir);
}

/* A batch that begins before it says so is found out. */
static void damaged_batches_do_no_harm(void **state)
{
    char *dir = temp_create(), *path = temp_path(dir, "a.db");
    struct span_scene *scene = malloc(sizeof(*scene));

    (void)state;
    assert_non_null(scene);
    *scene = (struct span_scene){.seed = 99, .run = STORE_NULL};
    span_scene_fill(scene);
    span_scene_store(path, scene, false);
    store_support_run(path,
                      "UPDATE event SET start_ns = (SELECT min(start_ns) FROM event), dur_ns ="
                      " 100000000 WHERE rowid = (SELECT max(rowid) FROM event)");
    CHECK_U64(compare(path, scene, true), 1);
    free(scene);
    free(path);
    temp_destroy(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_the_whole),
        cmocka_unit_test(reading_and_writing_say_how_far_they_are),
        cmocka_unit_test(a_consumer_gets_all_at_once_where_it_must),
        cmocka_unit_test(damaged_batches_do_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
