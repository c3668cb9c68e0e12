/* SPDX-License-Identifier: Apache-2.0 */
/* What reports add up part by part is what all spans at once come to: averages, summaries, sums per
 * op, lanes, collectives and rows of events of random sessions. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/metrics/averages.h"
#include "analyze/metrics/collectives.h"
#include "analyze/metrics/event_tree.h"
#include "analyze/metrics/lane_busy.h"
#include "analyze/metrics/summary.h"
#include "analyze/query/ops_of_spans.h"
#include "tests/support/check.h"
#include "tests/support/span_scene.h"
#include "tests/support/store_support.h"
#include "tests/support/temp.h"

enum { SEEDS = 20, PART = 200, LANES = 3 };

/* Names that repeat, on both sides; collectives whose size an op around them tells. */
static const char ops_sql[] =
    "UPDATE op_row SET name = 'matmul' WHERE op_id IN (1, 2);"
    "UPDATE op_row SET type = 'cuda_runtime' WHERE op_id = 4;"
    "UPDATE op_row SET type = 'collective', name = 'gloo:all_reduce' WHERE op_id IN (3, 6);"
    "UPDATE op_row SET type = 'python_function' WHERE op_id = 7;"
    "UPDATE op_row SET params = '{\"collective\":\"allreduce\",\"dtype\":\"Float\","
    "\"in_elements\":1000,\"out_elements\":1000,\"group_size\":4}' WHERE op_id = 8;";

struct summed {
    const struct spans_answer *spans;
    size_t part_count;
    struct recording_overhead costs;
    struct averages_parts *averages_parts;
    struct summary_parts *summary_parts;
    struct ops_sums sums;
    struct lane_busy_parts *lanes;
    struct collectives_gathered *gathered;
    struct event_builder *events;
};

static const struct event_options event_options = {.detail = EVENTS_ALL, .state = EVENTS_SUM};

static int begin(void *user, const struct spans_answer *spans)
{
    struct summed *summed = user;
    const struct averages_options options = {.costs = &summed->costs};

    summed->part_count = 0;
    CHECK_OK(averages_begin(&options, &summed->averages_parts));
    CHECK_OK(summary_begin(spans, &summed->summary_parts));
    CHECK_OK(ops_sums_begin(spans, &summed->sums));
    CHECK_OK(lane_busy_begin(spans, &summed->lanes));
    CHECK_OK(event_tree_begin(spans, &event_options, &summed->events));
    return collectives_begin(spans, &summed->gathered);
}

static int take(void *user, struct spans_answer *spans)
{
    const double world_size = 8;
    struct summed *summed = user;

    for (size_t i = 0; i < spans->spans.count; i++)
        spans->spans.items[i].is_shown = spans->spans.items[i].start_ns % 7 > 0;
    summed->part_count++;
    CHECK_OK(summary_add(summed->summary_parts, spans));
    CHECK_OK(ops_sums_add(&summed->sums, spans));
    CHECK_OK(lane_busy_add(summed->lanes, spans));
    CHECK_OK(event_tree_add(summed->events, spans));
    CHECK_OK(collectives_add(summed->gathered, spans, &world_size));
    return averages_add(summed->averages_parts, spans);
}

/* NaN is NaN. */
static void check_same(double value, double expected)
{
    if (isnan(expected))
        assert_true(isnan(value));
    else
        CHECK_NEAR(value, expected, 0);
}

static void compare_averages(struct summed *parts, struct summed *whole)
{
    struct averages got, expected;

    averages_finish(parts->averages_parts, &got);
    averages_finish(whole->averages_parts, &expected);
    CHECK_U64(got.lines.count, expected.lines.count);
    assert_true(expected.lines.count >= 8);
    CHECK_U64(got.has_device, expected.has_device);
    CHECK_U64(got.negative_count, expected.negative_count);
    check_same(got.self_cpu_ns, expected.self_cpu_ns);
    check_same(got.self_device_ns, expected.self_device_ns);
    for (size_t i = 0; i < expected.lines.count; i++) {
        const struct average_line *line = &expected.lines.items[i], *other = NULL;

        for (size_t k = 0; k < got.lines.count; k++) {
            if (got.lines.items[k].side == line->side &&
                strcmp(got.lines.items[k].name, line->name) == 0)
                other = &got.lines.items[k];
        }
        assert_non_null(other);
        CHECK_U64(other->calls, line->calls);
        check_same(other->cpu_ns, line->cpu_ns);
        check_same(other->self_cpu_ns, line->self_cpu_ns);
        check_same(other->recording_ns, line->recording_ns);
        check_same(other->device_ns, line->device_ns);
        check_same(other->self_device_ns, line->self_device_ns);
        check_same(other->cpu_bytes, line->cpu_bytes);
        check_same(other->computation_flop, line->computation_flop);
    }
    averages_deinit(&got);
    averages_deinit(&expected);
}

static void compare_summaries(struct summed *parts, struct summed *whole)
{
    struct summary got, expected;

    CHECK_OK(summary_finish(parts->summary_parts, parts->spans, false, &got));
    CHECK_OK(summary_finish(whole->summary_parts, whole->spans, false, &expected));
    CHECK_U64(got.side, expected.side);
    CHECK_U64(got.run_count, expected.run_count);
    check_same(got.launch_ns, expected.launch_ns);
    CHECK_NEAR(got.instructions_ns, expected.instructions_ns, 1e-3);
    CHECK_U64(got.ops.count, expected.ops.count);
    assert_true(expected.ops.count > 5);
    for (size_t i = 0; i < expected.ops.count; i++) {
        const struct summary_op *op = &expected.ops.items[i], *other = &got.ops.items[i];

        CHECK_U64((uint64_t)other->op->op_id, (uint64_t)op->op->op_id);
        CHECK_U64(other->calls, op->calls);
        CHECK_U64(other->run_count, op->run_count);
        CHECK_U64((uint64_t)other->start_ns, (uint64_t)op->start_ns);
        check_same(other->mean_ns, op->mean_ns);
        check_same(other->plain_mean_ns, op->plain_mean_ns);
        check_same(other->median_ns, op->median_ns);
        check_same(other->min_ns, op->min_ns);
        check_same(other->max_ns, op->max_ns);
        check_same(other->part_ns, op->part_ns);
    }
    summary_deinit(&got);
    summary_deinit(&expected);
}

static void compare_lanes(struct summed *parts, struct summed *whole)
{
    const struct lane_busy *got = lane_busy_finish(parts->lanes, parts->spans);
    const struct lane_busy *expected = lane_busy_finish(whole->lanes, whole->spans);

    CHECK_U64(whole->spans->lanes.count, LANES);
    assert_true(expected[0].gap_count > 0 && expected[1].gap_count > 0 && expected[1].op_count > 5);
    assert_true(expected[1].use.wall_start_ns < expected[1].use.start_ns);
    for (size_t i = 0; i < LANES; i++) {
        CHECK_U64(got[i].span_count, expected[i].span_count);
        CHECK_U64(got[i].op_count, expected[i].op_count);
        CHECK_U64(got[i].gap_count, expected[i].gap_count);
        CHECK_U64((uint64_t)got[i].busy_ns, (uint64_t)expected[i].busy_ns);
        CHECK_U64((uint64_t)got[i].longest_gap_ns, (uint64_t)expected[i].longest_gap_ns);
        CHECK_U64(got[i].use.has_op, expected[i].use.has_op);
        CHECK_U64((uint64_t)got[i].use.start_ns, (uint64_t)expected[i].use.start_ns);
        CHECK_U64((uint64_t)got[i].use.end_ns, (uint64_t)expected[i].use.end_ns);
        CHECK_U64((uint64_t)got[i].use.wall_start_ns, (uint64_t)expected[i].use.wall_start_ns);
        CHECK_U64((uint64_t)got[i].use.wall_end_ns, (uint64_t)expected[i].use.wall_end_ns);
    }
}

static const struct collective_line *find_line(const struct collectives *collectives,
                                               const struct collective_line *like)
{
    for (size_t i = 0; i < collectives->lines.count; i++) {
        const struct collective_line *line = &collectives->lines.items[i];

        if (strcmp(line->name, like->name) == 0 && line->ranks == like->ranks &&
            (line->bytes == like->bytes || (isnan(line->bytes) && isnan(like->bytes))))
            return line;
    }
    fail_msg("no line like that of %s", like->name);
    return NULL;
}

static void compare_collectives(struct summed *parts, struct summed *whole)
{
    struct collectives got, expected;
    size_t told = 0;

    collectives_finish(parts->gathered, &got);
    collectives_finish(whole->gathered, &expected);
    CHECK_U64(got.lines.count, expected.lines.count);
    CHECK_U64(got.calls.count, expected.calls.count);
    assert_true(expected.calls.count > 100);
    for (size_t i = 0; i < expected.lines.count; i++) {
        const struct collective_line *line = &expected.lines.items[i];
        const struct collective_line *other = find_line(&got, line);

        told += line->bytes == 4000;
        CHECK_U64(other->calls, line->calls);
        check_same(other->total_ns, line->total_ns);
        check_same(other->min_ns, line->min_ns);
        check_same(other->max_ns, line->max_ns);
        check_same(other->bus_factor, line->bus_factor);
    }
    assert_true(told > 0);
    for (size_t i = 1; i < got.calls.count; i++) {
        const struct collective *call = &got.calls.items[i];

        assert_true(call[-1].line < call->line || call[-1].start_ns <= call->start_ns);
    }
    collectives_deinit(&got);
    collectives_deinit(&expected);
}

static void compare_row(const struct event_row *got, const struct event_row *expected)
{
    assert_string_equal(got->name, expected->name);
    CHECK_U64(got->kind, expected->kind);
    CHECK_U64(got->parent, expected->parent);
    CHECK_U64(got->calls, expected->calls);
    CHECK_U64((uint64_t)got->first_end_ns, (uint64_t)expected->first_end_ns);
    check_same(got->total_ns, expected->total_ns);
    check_same(got->min_ns, expected->min_ns);
    check_same(got->max_ns, expected->max_ns);
    check_same(got->host_ns, expected->host_ns);
    check_same(got->self_ns, expected->self_ns);
    check_same(got->device_ns, expected->device_ns);
}

static void compare_events(struct summed *parts, struct summed *whole)
{
    struct event_tree got, expected;
    size_t on_device = 0;

    CHECK_OK(event_tree_finish(parts->events, parts->spans, &got));
    CHECK_OK(event_tree_finish(whole->events, whole->spans, &expected));
    CHECK_U64(got.rows.count, expected.rows.count);
    assert_true(expected.rows.count > 20);
    for (size_t i = 0; i < expected.rows.count; i++) {
        compare_row(&got.rows.items[i], &expected.rows.items[i]);
        on_device += expected.rows.items[i].device_ns > 0;
    }
    assert_true(on_device > 10);
    event_tree_deinit(&got);
    event_tree_deinit(&expected);
}

/* The last, as it takes the ops of the spans. */
static void compare_ops(struct summed *parts, struct spans_answer *part_spans, struct summed *whole,
                        struct spans_answer *whole_spans)
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
            for (size_t k = 0; k < 3; k++)
                check_same(other->percentile_ns[k], cost->percentile_ns[k]);
        }
    }
    ops_answer_deinit(&got);
    ops_answer_deinit(&expected);
}

static void drop(struct summed *summed)
{
    averages_parts_destroy(&summed->averages_parts);
    summary_parts_destroy(&summed->summary_parts);
    ops_sums_deinit(&summed->sums);
    lane_busy_drop(&summed->lanes);
    collectives_drop(&summed->gathered);
    event_builder_destroy(&summed->events);
}

/* Returns how many parts there were. */
static size_t compare(struct store *store, bool totals, enum span_cuts cuts)
{
    static struct recording_overhead_rate plain[LANES] = {{20, 8}, {20, 8}, {20, 8}};
    static struct recording_overhead_rate counted[LANES] = {{60, 30}, {NAN, NAN}, {NAN, NAN}};
    const int64_t session_id = 1;
    const struct ops_question question = {
        .session_ids = &session_id, .session_count = 1, .totals = totals, .warmups = true};
    struct summed whole = {.costs = {plain, counted}}, parts = whole;
    const struct span_parts to_whole = {&whole, begin, take, true, PART};
    const struct span_parts to_parts = {&parts, begin, take, false, PART, SPAN_FRAMES_NONE, cuts};
    struct spans_answer whole_spans, part_spans;
    struct diag diag = {0};

    CHECK_OK(query_span_parts(store, &question, &to_whole, &whole_spans, &diag));
    CHECK_OK(query_span_parts(store, &question, &to_parts, &part_spans, &diag));
    CHECK_U64(whole.part_count, 1);
    whole.spans = &whole_spans;
    parts.spans = &part_spans;
    compare_averages(&parts, &whole);
    compare_summaries(&parts, &whole);
    compare_lanes(&parts, &whole);
    compare_collectives(&parts, &whole);
    compare_events(&parts, &whole);
    compare_ops(&parts, &part_spans, &whole, &whole_spans);
    drop(&whole);
    drop(&parts);
    spans_answer_deinit(&whole_spans);
    spans_answer_deinit(&part_spans);
    return parts.part_count;
}

/* is_ahead: the thread launches long before, on two streams. */
static size_t try_seed(struct span_scene *scene, uint64_t seed, bool is_ahead)
{
    char *dir = temp_create(), *path = temp_path(dir, "a.db");
    bool has_runs = seed % 2, has_labels = seed % 4 > 1;
    struct store *store;
    size_t part_count;

    *scene = (struct span_scene){.seed = seed * 2654435761u + 88172645463325252u,
                                 .run = has_runs ? 1 : STORE_NULL,
                                 .crosses = is_ahead,
                                 .streams = is_ahead,
                                 .waits = is_ahead && seed % 3 == 0,
                                 .steps = has_runs};
    span_scene_fill(scene);
    span_scene_store(path, scene, has_runs);
    store_support_run(path, ops_sql);
    if (has_labels)
        store_support_run(path, "UPDATE op_row SET type = 'label' WHERE op_id = 9;"
                                "UPDATE op_row SET type = 'phase' WHERE op_id = 5");
    store = store_support_open(path, STORE_READ);
    part_count = compare(store, !has_runs, is_ahead ? SPAN_CUT_LAUNCHES : SPAN_CUT_STRAIGHT);
    assert_true(is_ahead || has_labels || part_count > 5);
    store_close(&store);
    free(path);
    temp_destroy(&dir);
    return part_count;
}

static void parts_add_up_to_the_whole(void **state)
{
    struct span_scene *scene = malloc(sizeof(*scene));
    size_t stairs = 0;

    (void)state;
    assert_non_null(scene);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        try_seed(scene, seed, false);
        stairs += try_seed(scene, seed, true);
    }
    assert_true(stairs > 3 * SEEDS);
    free(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_add_up_to_the_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
