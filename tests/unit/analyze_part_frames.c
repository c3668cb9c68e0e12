/* SPDX-License-Identifier: Apache-2.0 */
/* Labels around much of a recording, which end in it late, do not keep it from being cut: what is
 * made of such parts is what is made of all spans at once. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/export/packed.h"
#include "analyze/metrics/averages.h"
#include "analyze/metrics/idle.h"
#include "analyze/query/ops_of_spans.h"
#include "analyze/query/span_filter.h"
#include "tests/support/check.h"
#include "tests/support/span_scene.h"
#include "tests/support/store_support.h"
#include "tests/support/temp.h"

enum { SEEDS = 30, PART = 200, ALL = 7, HALF = 4 };

/* Ops 7 and 4 are labels around many of the others, a thread has some that begin in one and end
 * behind it, and batches are short. */
static const char scene_sql[] =
    "UPDATE lane SET kind = 'thread', device = NULL, native_id = 101 WHERE lane_id = 3;"
    "UPDATE event SET op_id = 3 WHERE op_id IN (4, 7);"
    "UPDATE event SET lane_id = 3 WHERE lane_id = 1 AND op_id = 5;"
    "UPDATE op_row SET type = 'label', name = 'all' WHERE op_id = 7;"
    "UPDATE op_row SET type = 'label', name = 'half' WHERE op_id = 4;"
    "UPDATE op_row SET type = 'label', name = 'short' WHERE op_id = 8;"
    "UPDATE op_row SET type = 'cpu_op', name = 'MulBackward0' WHERE op_id = 5;"
    "UPDATE op_row SET type = 'phase' WHERE op_id = 6;"
    "UPDATE op_row SET type = 'python_function' WHERE op_id = 2;";
#define BATCHES_SQL(rows)                                                                          \
    "DELETE FROM event_batch;"                                                                     \
    "INSERT INTO event_batch SELECT min(rowid), max(rowid), min(start_ns),"                        \
    " max(start_ns + dur_ns), max(dur_ns), 1, 1, '[1,2,3]' FROM event GROUP BY (rowid - 1) / " rows
static const char batches_sql[] = BATCHES_SQL("50");

/* What is known of a span, whatever part it is in; self times of one that is in several are added. */
struct said {
    int64_t start_ns, dur_ns, lane, op, depth, parent_ns, is_shown, self_ns;
};

/* A gap without places of a part. */
struct gap {
    int64_t start_ns, end_ns, lane, cause, during_op, before_op, after_op;
};

struct gathered {
    struct idle_parts *idle;
    ARRAY_OF(struct gap) gaps;
    struct filter *filter;
    struct span_filter_parts filtered;
    ARRAY_OF(struct said) spans;
    struct averages_parts *averages;
    struct ops_sums sums;
    struct packed_spans packed;
    size_t part_count, again_count;
};

static int begin(void *user, const struct spans_answer *spans)
{
    static const struct averages_options options = {.by_shape = false};
    struct gathered *gathered = user;

    gathered->part_count = gathered->again_count = 0;
    gathered->spans.count = 0;
    CHECK_OK(averages_begin(&options, &gathered->averages));
    CHECK_OK(ops_sums_begin(spans, &gathered->sums));
    CHECK_OK(packed_begin(&gathered->packed, spans));
    CHECK_OK(idle_begin(spans, &gathered->idle));
    gathered->gaps.count = 0;
    return span_filter_begin(&gathered->filtered, spans, gathered->filter);
}

static bool is_same(const struct said *said, const struct span *span)
{
    return said->start_ns == span->start_ns && said->dur_ns == span->dur_ns &&
           said->lane == span->lane && said->op == span->op;
}

static void say(struct gathered *gathered, const struct spans_answer *spans,
                const struct span *span)
{
    const struct said said = {
        .start_ns = span->start_ns,
        .dur_ns = span->dur_ns,
        .lane = span->lane,
        .op = span->op,
        .depth = span->depth,
        .parent_ns = span->parent == SPAN_NONE ? -1 : spans->spans.items[span->parent].start_ns,
        .is_shown = span->is_shown,
        .self_ns = span->self_ns,
    };

    for (size_t i = 0; i < gathered->spans.count && span->frame == SPAN_FRAME_AGAIN; i++) {
        struct said *before = &gathered->spans.items[i];

        if (!is_same(before, span))
            continue;
        before->self_ns += span->self_ns;
        CHECK_U64((uint64_t)before->is_shown, (uint64_t)said.is_shown);
        CHECK_U64((uint64_t)before->depth, (uint64_t)said.depth);
        CHECK_U64((uint64_t)before->parent_ns, (uint64_t)said.parent_ns);
        gathered->again_count++;
        return;
    }
    assert_true(span->frame != SPAN_FRAME_AGAIN);
    CHECK_OK(array_push(&gathered->spans, said));
}

static int add_gaps(struct gathered *gathered, const struct spans_answer *spans)
{
    struct idle_gap_array gaps = {0};
    int rc = idle_add(gathered->idle, spans, &gaps);

    for (size_t i = 0; i < gaps.count && rc == 0; i++) {
        const struct idle_gap *gap = &gaps.items[i];
        const struct gap said = {gap->start_ns,  gap->end_ns,    gap->lane,    gap->cause,
                                 gap->during_op, gap->before_op, gap->after_op};

        CHECK_OK(array_push(&gathered->gaps, said));
    }
    array_deinit(&gaps);
    return rc;
}

static int compare_gaps(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct gap));
}

static int take(void *user, struct spans_answer *spans)
{
    struct gathered *gathered = user;
    int rc;

    CHECK_OK(span_filter_add(&gathered->filtered, spans));
    for (size_t i = 0; i < spans->spans.count; i++)
        say(gathered, spans, &spans->spans.items[i]);
    gathered->part_count++;
    CHECK_OK(ops_sums_add(&gathered->sums, spans));
    rc = packed_take(&gathered->packed, spans);
    if (rc == 0)
        rc = add_gaps(gathered, spans);
    return rc ? rc : averages_add(gathered->averages, spans);
}

static int compare_said(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct said));
}

static void gather(struct store *store, struct filter *filter, bool is_whole,
                   struct gathered *out_gathered, struct spans_answer *out_answer)
{
    const int64_t session_id = 1;
    const struct ops_question question = {
        .session_ids = &session_id, .session_count = 1, .totals = true, .warmups = true};
    const struct span_parts parts = {out_gathered, begin, take, is_whole, PART, SPAN_FRAMES_LABELS};
    struct diag diag = {0};

    *out_gathered = (struct gathered){.filter = filter};
    CHECK_OK(query_span_parts(store, &question, &parts, out_answer, &diag));
    span_filter_finish(&out_gathered->filtered, out_answer);
    span_filter_deinit(&out_gathered->filtered);
    CHECK_OK(packed_finish(&out_gathered->packed));
    qsort(out_gathered->spans.items, out_gathered->spans.count, sizeof(*out_gathered->spans.items),
          compare_said);
    if (out_gathered->gaps.count)
        qsort(out_gathered->gaps.items, out_gathered->gaps.count, sizeof(*out_gathered->gaps.items),
              compare_gaps);
}

static void check_same(double value, double expected)
{
    if (isnan(expected))
        assert_true(isnan(value));
    else
        CHECK_NEAR(value, expected, 0);
}

static void compare_averages(struct gathered *parts, struct gathered *whole)
{
    struct averages got, expected;

    averages_finish(parts->averages, &got);
    averages_finish(whole->averages, &expected);
    CHECK_U64(got.lines.count, expected.lines.count);
    CHECK_U64(got.negative_count, expected.negative_count);
    check_same(got.self_cpu_ns, expected.self_cpu_ns);
    check_same(got.self_device_ns, expected.self_device_ns);
    for (size_t i = 0; i < expected.lines.count; i++) {
        const struct average_line *line = &expected.lines.items[i], *other = NULL;

        for (size_t k = 0; k < got.lines.count; k++) {
            if (got.lines.items[k].side == line->side &&
                got.lines.items[k].is_label == line->is_label &&
                strcmp(got.lines.items[k].name, line->name) == 0)
                other = &got.lines.items[k];
        }
        assert_non_null(other);
        CHECK_U64(other->calls, line->calls);
        check_same(other->cpu_ns, line->cpu_ns);
        check_same(other->self_cpu_ns, line->self_cpu_ns);
        check_same(other->device_ns, line->device_ns);
        check_same(other->self_device_ns, line->self_device_ns);
        check_same(other->computation_flop, line->computation_flop);
    }
    averages_deinit(&got);
    averages_deinit(&expected);
}

static void compare_packed(const struct packed_spans *parts, const struct packed_spans *whole)
{
    CHECK_U64(parts->count, whole->count);
    for (size_t lane = 0; lane < whole->lane_count; lane++) {
        struct packed_reader got, expected;

        CHECK_U64(parts->lanes[lane].row_count, whole->lanes[lane].row_count);
        packed_read(parts, lane, &got);
        packed_read(whole, lane, &expected);
        while (packed_next(&expected)) {
            const struct packed_span *span = &got.span, *like = &expected.span;

            assert_true(packed_next(&got));
            CHECK_U64(span->place, like->place);
            CHECK_U64(span->op, like->op);
            CHECK_U64(span->depth, like->depth);
            CHECK_U64(span->parent, like->parent);
            CHECK_U64(span->shown_parent, like->shown_parent);
            CHECK_U64(span->row, like->row);
            CHECK_U64(span->is_shown, like->is_shown);
            CHECK_U64(span->launch, like->launch);
            CHECK_U64(span->launch_row, like->launch_row);
            CHECK_U64((uint64_t)span->start_ns, (uint64_t)like->start_ns);
            CHECK_U64((uint64_t)span->dur_ns, (uint64_t)like->dur_ns);
            CHECK_U64((uint64_t)span->self_ns, (uint64_t)like->self_ns);
        }
        assert_false(packed_next(&got));
        CHECK_OK(packed_reader_deinit(&got));
        CHECK_OK(packed_reader_deinit(&expected));
    }
}

static void compare_ops(struct gathered *parts, struct spans_answer *part_spans,
                        struct gathered *whole, struct spans_answer *whole_spans)
{
    struct ops_answer got, expected;

    CHECK_OK(ops_sums_finish(&parts->sums, part_spans, true, QUERY_MERGE_SESSIONS, &got));
    CHECK_OK(ops_sums_finish(&whole->sums, whole_spans, true, QUERY_MERGE_SESSIONS, &expected));
    CHECK_U64(got.rows.count, expected.rows.count);
    for (size_t i = 0; i < expected.rows.count; i++) {
        for (int side = 0; side < OP_SIDES; side++) {
            const struct op_cost *cost = &expected.rows.items[i].cost[side];
            const struct op_cost *other = &got.rows.items[i].cost[side];

            CHECK_U64(other->calls, cost->calls);
            check_same(other->end_ns, cost->end_ns);
            check_same(other->whole_ns, cost->whole_ns);
            check_same(other->min_ns, cost->min_ns);
            check_same(other->max_ns, cost->max_ns);
        }
    }
    ops_answer_deinit(&got);
    ops_answer_deinit(&expected);
}

static void drop(struct gathered *gathered, struct spans_answer *answer)
{
    array_deinit(&gathered->spans);
    averages_parts_destroy(&gathered->averages);
    idle_parts_destroy(&gathered->idle);
    array_deinit(&gathered->gaps);
    ops_sums_deinit(&gathered->sums);
    packed_deinit(&gathered->packed);
    spans_answer_deinit(answer);
}

struct seen {
    size_t stores, parts, again, gaps;
};

static void compare(struct store *store, const char *label, struct seen *seen)
{
    struct spans_answer whole_spans, part_spans;
    struct gathered whole, parts;
    struct filter filter = {0};

    if (label)
        CHECK_OK(filter_set(&filter, FILTER_LABEL, &label, 1, NULL));
    gather(store, &filter, true, &whole, &whole_spans);
    gather(store, &filter, false, &parts, &part_spans);
    CHECK_U64(whole.part_count, 1);
    CHECK_U64(parts.spans.count, whole.spans.count);
    for (size_t i = 0; i < whole.spans.count; i++)
        assert_memory_equal(&parts.spans.items[i], &whole.spans.items[i], sizeof(struct said));
    CHECK_U64(part_spans.clipped_count, whole_spans.clipped_count);
    CHECK_U64((uint64_t)part_spans.start_ns, (uint64_t)whole_spans.start_ns);
    CHECK_U64((uint64_t)part_spans.end_ns, (uint64_t)whole_spans.end_ns);
    CHECK_U64(part_spans.basis.event_count, whole_spans.basis.event_count);
    CHECK_U64((uint64_t)part_spans.basis.backward_elsewhere_ns,
              (uint64_t)whole_spans.basis.backward_elsewhere_ns);
    compare_packed(&parts.packed, &whole.packed);
    compare_averages(&parts, &whole);
    compare_ops(&parts, &part_spans, &whole, &whole_spans);
    CHECK_U64(parts.gaps.count, whole.gaps.count);
    for (size_t i = 0; i < whole.gaps.count; i++)
        assert_memory_equal(&parts.gaps.items[i], &whole.gaps.items[i], sizeof(struct gap));
    seen->gaps += whole.gaps.count;
    seen->stores++;
    seen->parts += parts.part_count;
    seen->again += parts.again_count;
    drop(&whole, &whole_spans);
    drop(&parts, &part_spans);
    filter_deinit(&filter);
}

/* A label from one of the events to another one's end, told behind all of them. */
static void add_label(const char *path, int64_t op, int64_t lane, uint64_t from, uint64_t until)
{
    char sql[1024];

    snprintf(sql, sizeof(sql),
             "INSERT INTO event (lane_id, op_id, start_ns, dur_ns) SELECT %lld, %lld, a.start_ns,"
             " max(b.start_ns + b.dur_ns - a.start_ns, 0) FROM event a, event b"
             " WHERE a.rowid = 1 + %llu AND b.rowid = 1 + %llu",
             (long long)lane, (long long)op, (unsigned long long)from, (unsigned long long)until);
    store_support_run(path, sql);
}

static void try_seed(struct span_scene *scene, uint64_t seed, struct seen *seen)
{
    char *dir = temp_create(), *path = temp_path(dir, "a.db");
    uint64_t random = seed * 6364136223846793005u + 1442695040888963407u, last;
    struct store *store;

    *scene = (struct span_scene){.seed = seed * 2654435761u + 88172645463325252u,
                                 .run = STORE_NULL,
                                 .touches = seed % 4 == 1};
    span_scene_fill(scene);
    span_scene_store(path, scene, false);
    store_support_run(path, scene_sql);
    if (seed % 6 == 1)
        store_support_run(path, "UPDATE op_row SET name = 'Synchronize' WHERE op_id = 7");
    last = scene->count - 1;
    for (uint64_t i = 0; i < seed % 4; i++) {
        uint64_t from, until;

        random = random * 6364136223846793005u + 1442695040888963407u;
        from = (random >> 33) % last;
        random = random * 6364136223846793005u + 1442695040888963407u;
        until = from + (random >> 33) % (last - from + 1);
        add_label(path, seed % 5 ? HALF : ALL, i % 3 == 2 ? 3 : 1, from, until);
    }
    if (seed % 3)
        add_label(path, ALL, 1, 0, last);
    store_support_run(path, batches_sql);
    store = store_support_open(path, STORE_READ);
    compare(store, NULL, seen);
    compare(store, seed % 2 ? "half" : "all|short", seen);
    store_close(&store);
    free(path);
    temp_destroy(&dir);
}

static void parts_within_frames_are_the_whole(void **state)
{
    struct span_scene *scene = malloc(sizeof(*scene));
    struct seen seen = {0};

    (void)state;
    assert_non_null(scene);
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        try_seed(scene, seed, &seen);
    assert_true(seen.parts > 5 * seen.stores && seen.again > 5 * seen.stores);
    assert_true(seen.gaps > 100 * seen.stores);
    free(scene);
}

/* Spans one after the other; where the batch begins that is the ninth one of no duration stands, or
 * one of the length of the others, and a label from the first span until just then. */
static void put_point_at_end(const char *path, int64_t dur_ns)
{
    char sql[1024];

    snprintf(sql, sizeof(sql),
             "DELETE FROM event;"
             "INSERT INTO event (lane_id, op_id, start_ns, dur_ns)"
             " WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 799)"
             " SELECT 1, 3, 1767225600000000000 + i * 100, iif(i = 400, %lld, 50) FROM n;"
             "INSERT INTO event (lane_id, op_id, start_ns, dur_ns)"
             " SELECT 1, 7, 1767225600000000000, 40000",
             (long long)dur_ns);
    store_support_run(path, sql);
}

/* What takes no time where a label ends lies in it still, also where a part begins just there. */
static void a_point_at_the_end_of_a_frame_lies_in_it(void **state)
{
    struct span_scene *scene = malloc(sizeof(*scene));

    (void)state;
    assert_non_null(scene);
    *scene = (struct span_scene){.seed = 7, .run = STORE_NULL};
    span_scene_fill(scene);
    for (int64_t dur_ns = 0; dur_ns <= 50; dur_ns += 50) {
        char *dir = temp_create(), *path = temp_path(dir, "a.db");
        struct seen seen = {0};
        struct store *store;

        span_scene_store(path, scene, false);
        store_support_run(path, scene_sql);
        put_point_at_end(path, dur_ns);
        store_support_run(path, batches_sql);
        store = store_support_open(path, STORE_READ);
        compare(store, NULL, &seen);
        assert_true(seen.parts > 2 && seen.again > 0);
        store_close(&store);
        free(path);
        temp_destroy(&dir);
    }
    free(scene);
}

/* A device that is idle for longer than a part, again and again, while ops in a label around all
 * follow each other on the thread, or do not: what the thread did in the middle of such a time is
 * known from earlier parts, in which the label was, too. */
static void put_long_gaps(const char *path, int count, int every)
{
    char sql[2048];

    snprintf(
        sql, sizeof(sql),
        "DELETE FROM event;"
        "CREATE TEMP TABLE n AS WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n"
        " WHERE i < %d) SELECT i, 1767225600000000000 + i * 100 AS t, i %% %d = 0 AS launches"
        " FROM n;"
        "INSERT INTO event (lane_id, op_id, start_ns, dur_ns, correlation) SELECT 1, 3, t,"
        " iif(launches, 90, 50), iif(launches, i + 1, NULL) FROM n ORDER BY i;"
        "INSERT INTO event (lane_id, op_id, start_ns, dur_ns, correlation) SELECT 2, 1, t + 10,"
        " 20, i + 1 FROM n WHERE launches;"
        /* as they are told: in the order of time */
        "CREATE TEMP TABLE e AS SELECT * FROM event ORDER BY start_ns + dur_ns;"
        "DELETE FROM event; INSERT INTO event SELECT * FROM e",
        count - 1, every);
    store_support_run(path, sql);
    add_label(path, ALL, 1, 0, (uint64_t)count - 1);
}

static int begin_gaps(void *user, const struct spans_answer *spans)
{
    struct gathered *gathered = user;

    gathered->part_count = gathered->again_count = 0;
    gathered->gaps.count = 0;
    return idle_begin(spans, &gathered->idle);
}

static int take_gaps(void *user, struct spans_answer *spans)
{
    struct gathered *gathered = user;

    gathered->part_count++;
    for (size_t i = 0; i < spans->spans.count; i++)
        gathered->again_count += spans->spans.items[i].frame == SPAN_FRAME_AGAIN;
    return add_gaps(gathered, spans);
}

static void gather_gaps(struct store *store, bool is_whole, struct gathered *out_gathered)
{
    const int64_t session_id = 1;
    const struct ops_question question = {
        .session_ids = &session_id, .session_count = 1, .totals = true, .warmups = true};
    const struct span_parts parts = {out_gathered, begin_gaps, take_gaps,
                                     is_whole,     PART / 10,  true};
    struct spans_answer answer;
    struct diag diag = {0};

    *out_gathered = (struct gathered){0};
    CHECK_OK(query_span_parts(store, &question, &parts, &answer, &diag));
    spans_answer_deinit(&answer);
    idle_parts_destroy(&out_gathered->idle);
    assert_true(out_gathered->gaps.count > 0);
    qsort(out_gathered->gaps.items, out_gathered->gaps.count, sizeof(*out_gathered->gaps.items),
          compare_gaps);
}

/* Returns how many gaps of the device there are in which the thread was busy. */
static size_t compare_long_gaps(struct store *store)
{
    struct gathered whole, parts;
    size_t busy = 0;

    gather_gaps(store, true, &whole);
    gather_gaps(store, false, &parts);
    assert_true(parts.part_count > 150 && parts.again_count > 150);
    CHECK_U64(parts.gaps.count, whole.gaps.count);
    for (size_t i = 0; i < whole.gaps.count; i++) {
        const struct gap *gap = &parts.gaps.items[i], *expected = &whole.gaps.items[i];

        CHECK_U64((uint64_t)gap->start_ns, (uint64_t)expected->start_ns);
        CHECK_U64((uint64_t)gap->cause, (uint64_t)expected->cause);
        CHECK_U64((uint64_t)gap->during_op, (uint64_t)expected->during_op);
        busy += expected->cause == IDLE_HOST_BUSY;
    }
    array_deinit(&whole.gaps);
    array_deinit(&parts.gaps);
    return busy;
}

static void long_gaps_are_judged_by_what_was_kept(void **state)
{
    struct span_scene *scene = malloc(sizeof(*scene));
    size_t busy = 0;

    (void)state;
    assert_non_null(scene);
    *scene = (struct span_scene){.seed = 7, .run = STORE_NULL};
    span_scene_fill(scene);
    for (int every = 450; every < 800; every += 49) {
        char *dir = temp_create(), *path = temp_path(dir, "a.db");
        struct store *store;

        span_scene_store(path, scene, false);
        store_support_run(path, "UPDATE op_row SET type = 'label', name = 'all' WHERE op_id = 7");
        put_long_gaps(path, 6000, every);
        store_support_run(path, BATCHES_SQL("10"));
        store = store_support_open(path, STORE_READ);
        busy += compare_long_gaps(store);
        store_close(&store);
        free(path);
        temp_destroy(&dir);
    }
    assert_true(busy > 10);
    free(scene);
}

/* A device that does something at the beginning and in the end: of what a thread did between these there is
 * more than what is kept of other gaps. */
static void a_gap_of_nearly_all_is_judged_in_parts(void **state)
{
    char *dir = temp_create(), *path = temp_path(dir, "a.db");
    struct span_scene *scene = malloc(sizeof(*scene));
    struct store *store;

    (void)state;
    assert_non_null(scene);
    *scene = (struct span_scene){.seed = 7, .run = STORE_NULL};
    span_scene_fill(scene);
    span_scene_store(path, scene, false);
    store_support_run(path, "UPDATE op_row SET type = 'label', name = 'all' WHERE op_id = 7");
    put_long_gaps(path, 150001, 150000);
    store_support_run(path, BATCHES_SQL("10"));
    store = store_support_open(path, STORE_READ);
    CHECK_U64(compare_long_gaps(store), 1);
    store_close(&store);
    free(scene);
    free(path);
    temp_destroy(&dir);
}

/* Spans one after the other, of which each second one begins so long before the one before it ends,
 * in an op around all of them. */
static void put_in_one(const char *path, int64_t overlap_ns)
{
    char sql[1024];

    snprintf(sql, sizeof(sql),
             "DELETE FROM event;"
             "INSERT INTO event (lane_id, op_id, start_ns, dur_ns)"
             " WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 799)"
             " SELECT 1, 3, 1767225600000000000 + i * 50, iif(i %% 2, 50, 50 + %lld) FROM n;"
             "INSERT INTO event (lane_id, op_id, start_ns, dur_ns)"
             " SELECT 1, 7, 1767225600000000000, 40000",
             (long long)overlap_ns);
    store_support_run(path, sql);
}

/* What lies in a frame takes longer than it, which only all parts together tell. */
static void frames_that_hold_more_than_they_last_are_taken_at_once(void **state)
{
    struct span_scene *scene = malloc(sizeof(*scene));

    (void)state;
    assert_non_null(scene);
    *scene = (struct span_scene){.seed = 7, .run = STORE_NULL};
    span_scene_fill(scene);
    for (int64_t overlap_ns = 0; overlap_ns <= 10; overlap_ns += 10) {
        char *dir = temp_create(), *path = temp_path(dir, "a.db");
        struct seen seen = {0};
        struct store *store;

        span_scene_store(path, scene, false);
        store_support_run(path, scene_sql);
        put_in_one(path, overlap_ns);
        store_support_run(path, batches_sql);
        store = store_support_open(path, STORE_READ);
        compare(store, NULL, &seen);
        if (overlap_ns)
            CHECK_U64(seen.parts, 1);
        else
            assert_true(seen.parts > 2 && seen.again > 0);
        store_close(&store);
        free(path);
        temp_destroy(&dir);
    }
    free(scene);
}

/* In how many parts an op around all is there again. */
static size_t count_again(const char *path)
{
    const int64_t session_id = 1;
    const struct ops_question question = {
        .session_ids = &session_id, .session_count = 1, .totals = true, .warmups = true};
    struct gathered gathered = {0};
    const struct span_parts parts = {&gathered, begin_gaps, take_gaps,
                                     false,     PART,       SPAN_FRAMES_OPS};
    struct store *store = store_support_open(path, STORE_READ);
    struct spans_answer answer;
    struct diag diag = {0};

    CHECK_OK(query_span_parts(store, &question, &parts, &answer, &diag));
    CHECK_U64(answer.basis.event_count, 801);
    spans_answer_deinit(&answer);
    idle_parts_destroy(&gathered.idle);
    array_deinit(&gathered.gaps);
    store_close(&store);
    return gathered.again_count;
}

/* Each of the others is looked at as a whole: how long it took, how long one waited in it. */
static void ops_that_do_work_themselves_are_frames(void **state)
{
    static const struct {
        const char *type, *name;
        bool is_frame;
    } ops[] = {
        {"block", "all", true},
        {"cpu_op", "c10d::allreduce_", false},
        {"collective", "AllReduce", false},
        {"copy", "Memcpy HtoD", false},
        {"cuda_runtime", "cudaDeviceSynchronize", false},
    };
    char *dir = temp_create(), *path = temp_path(dir, "a.db");
    struct span_scene *scene = malloc(sizeof(*scene));

    (void)state;
    assert_non_null(scene);
    *scene = (struct span_scene){.seed = 7, .run = STORE_NULL};
    span_scene_fill(scene);
    span_scene_store(path, scene, false);
    put_in_one(path, 0);
    store_support_run(path, batches_sql);
    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
        char sql[256];
        size_t again;

        snprintf(sql, sizeof(sql), "UPDATE op_row SET type = '%s', name = '%s' WHERE op_id = 7",
                 ops[i].type, ops[i].name);
        store_support_run(path, sql);
        again = count_again(path);
        if (ops[i].is_frame ? again < 2 : again > 0)
            fail_msg("%s is there again in %zu parts", ops[i].name, again);
    }
    free(scene);
    free(path);
    temp_destroy(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_within_frames_are_the_whole),
        cmocka_unit_test(long_gaps_are_judged_by_what_was_kept),
        cmocka_unit_test(a_gap_of_nearly_all_is_judged_in_parts),
        cmocka_unit_test(a_point_at_the_end_of_a_frame_lies_in_it),
        cmocka_unit_test(frames_that_hold_more_than_they_last_are_taken_at_once),
        cmocka_unit_test(ops_that_do_work_themselves_are_frames),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
