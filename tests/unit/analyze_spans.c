/* SPDX-License-Identifier: Apache-2.0 */
/* Spans one by one: order, nesting, self time, launches; what a question selects of a store. */
#include <math.h>
#include <sqlite3.h>

#include "analyze/query/span_filter.h"
#include "analyze/query/spans.h"
#include "tests/support/check.h"
#include "tests/support/hand_spans.h"
#include "tests/support/small_store.h"
#include "tests/support/sum_spans.h"

#define MS 1000000

/* --- The tree alone. --- */

enum { HOST, DEVICE };                  /* lanes */
enum { OP, LABEL, PHASE, MARK, KINDS }; /* ops */

static struct lane_row lanes[] = {{.side = OP_HOST}, {.side = OP_DEVICE}};
static struct op_row ops[KINDS];
static uint8_t kinds[] = {SPAN_OP, SPAN_LABEL, SPAN_PHASE, SPAN_MARK};

static struct spans_answer tree(const struct span *spans, size_t count)
{
    struct spans_answer answer = {
        .ops = {.items = ops, .count = KINDS},
        .op_kinds = kinds,
        .lanes = {.items = lanes, .count = 2},
        .basis = {.runs = 3},
    };

    hand_spans_build(&answer, spans, count);
    return answer;
}

static void free_tree(struct spans_answer *answer)
{
    hand_spans_drop(answer);
}

static void inner_spans_take_from_outer_ones(void **state)
{
    const struct span spans[] = {
        {.start_ns = 20, .dur_ns = 10, .op = OP},    {.start_ns = 22, .dur_ns = 3, .op = PHASE},
        {.start_ns = 50, .dur_ns = 10, .op = LABEL}, {.start_ns = 10, .dur_ns = 90, .op = OP},
        {.start_ns = 100, .dur_ns = 5, .op = OP},    {.start_ns = 60, .dur_ns = 0, .op = MARK},
    };
    struct spans_answer answer = tree(spans, 6);
    const struct span *sorted = answer.spans.items;

    CHECK_U64((uint64_t)sorted[0].self_ns, 70);
    CHECK_U64((uint64_t)span_own_ns(&answer, &sorted[0]), 80); /* a label is no op */
    CHECK_U64((uint64_t)span_own_ns(&answer, &sorted[3]), 10);
    CHECK_U64(sorted[1].parent, 0);
    CHECK_U64((uint64_t)sorted[1].self_ns, 10); /* a phase is a part of its op */
    CHECK_U64(sorted[2].parent, 1);
    CHECK_U64(sorted[2].depth, 2);
    CHECK_U64(sorted[4].parent, 3); /* a mark at the very end of a label is in it */
    CHECK_U64(sorted[5].parent, SPAN_NONE);
    CHECK_U64(span_subtree_end(&answer, 0), 5);
    CHECK_U64(span_subtree_end(&answer, 5), 6);
    CHECK_U64(answer.ranges[HOST].count, 6);
    CHECK_U64((uint64_t)answer.start_ns, 10);
    CHECK_U64((uint64_t)answer.end_ns, 105);
    free_tree(&answer);
}

static void of_equal_spans_the_later_row_is_the_outer(void **state)
{
    const struct span spans[] = {{.start_ns = 10, .dur_ns = 10, .bytes = 1},
                                 {.start_ns = 10, .dur_ns = 10, .bytes = 2}};
    struct spans_answer answer = tree(spans, 2);

    CHECK_U64((uint64_t)answer.spans.items[0].bytes, 2);
    CHECK_U64((uint64_t)answer.spans.items[0].self_ns, 0);
    CHECK_U64(answer.spans.items[1].parent, 0);
    CHECK_U64(answer.clipped_count, 0);
    free_tree(&answer);
}

static void overlapping_spans_are_no_parents(void **state)
{
    const struct span spans[] = {
        {.start_ns = 0, .dur_ns = 100},
        {.start_ns = 10, .dur_ns = 20},
        {.start_ns = 20, .dur_ns = 30}, /* sticks out of the one before */
        {.start_ns = 35, .dur_ns = 5},
    };
    struct spans_answer answer = tree(spans, 4);
    const struct span *sorted = answer.spans.items;

    CHECK_U64(sorted[2].parent, 0);
    CHECK_U64(sorted[3].parent, 2);
    CHECK_U64((uint64_t)sorted[0].self_ns, 50);
    CHECK_U64((uint64_t)sorted[1].self_ns, 20);
    free_tree(&answer);
}

static void insides_longer_than_the_span_are_counted(void **state)
{
    const struct span spans[] = {
        {.start_ns = 0, .dur_ns = 50},
        {.start_ns = 0, .dur_ns = 30},
        {.start_ns = 10, .dur_ns = 40},
    };
    struct spans_answer answer = tree(spans, 3);

    CHECK_U64((uint64_t)answer.spans.items[0].self_ns, 0);
    CHECK_U64(answer.clipped_count, 1);
    free_tree(&answer);
}

static void on_a_device_only_labels_hold_others(void **state)
{
    const struct span spans[] = {
        {.start_ns = 0, .dur_ns = 100, .op = LABEL, .lane = DEVICE},
        {.start_ns = 10, .dur_ns = 50, .lane = DEVICE},
        {.start_ns = 20, .dur_ns = 10, .lane = DEVICE},
    };
    struct spans_answer answer = tree(spans, 3);

    CHECK_U64(answer.spans.items[1].parent, 0);
    CHECK_U64(answer.spans.items[2].parent, 0);
    CHECK_U64((uint64_t)answer.spans.items[1].self_ns, 50);
    free_tree(&answer);
}

/* A wait of the stream stands in what ran as it was asked for. */
static void phases_lie_in_their_op_behind_those_of_others(void **state)
{
    const struct span spans[] = {
        {.start_ns = 0, .dur_ns = 100, .lane = DEVICE, .correlation = 1},
        {.start_ns = 10, .dur_ns = 5, .op = PHASE, .lane = DEVICE, .correlation = 2},
        {.start_ns = 20, .dur_ns = 10, .op = PHASE, .lane = DEVICE, .correlation = 1},
    };
    struct spans_answer answer = tree(spans, 3);

    (void)state;
    CHECK_U64(answer.spans.items[1].parent, SPAN_NONE);
    CHECK_U64(answer.spans.items[2].parent, 0);
    free_tree(&answer);
}

static void launches_are_tied_by_correlation_and_run(void **state)
{
    const struct span spans[] = {
        {.start_ns = 10, .dur_ns = 80, .correlation = 7},
        {.start_ns = 20, .dur_ns = 10, .correlation = 7}, /* the innermost launches */
        {.start_ns = 500, .dur_ns = 10, .correlation = 7, .run = 1},
        {.start_ns = 40, .dur_ns = 30, .correlation = 7, .lane = DEVICE},
        {.start_ns = 90, .dur_ns = 30, .correlation = 7, .lane = DEVICE},
        {.start_ns = 600, .dur_ns = 30, .correlation = 7, .run = 1, .lane = DEVICE},
        {.start_ns = 700, .dur_ns = 30, .correlation = 8, .lane = DEVICE},
        {.start_ns = 800, .dur_ns = 30, .lane = DEVICE},
    };
    struct spans_answer answer = tree(spans, 8);
    const struct span *sorted = answer.spans.items;

    CHECK_U64(sorted[0].launch, SPAN_NONE);
    CHECK_U64(sorted[1].launch, 3);
    CHECK_U64(sorted[3].next, 4);
    CHECK_U64(sorted[4].next, SPAN_NONE);
    CHECK_U64(sorted[4].launch, 1);
    CHECK_U64(sorted[5].launch, 2);
    CHECK_U64(sorted[6].launch, SPAN_NONE);
    CHECK_U64(sorted[7].launch, SPAN_NONE);
    free_tree(&answer);
}

/* --- Of a store. --- */

static const int64_t hello[] = {1}, resnet[] = {2};

static void ask(struct store **store, const struct ops_question *question,
                struct spans_answer *answer)
{
    struct diag diag = {0};

    CHECK_OK(store_open("", STORE_MEMORY, store, &diag));
    small_store_fill(*store);
    if (query_spans(*store, question, answer, &diag) < 0)
        fail_msg("%s", diag.text);
}

static void runs_select_spans(void **state)
{
    const struct ops_question question = {
        .session_ids = resnet, .session_count = 1, .first_run = 3, .last_run = 3};
    struct spans_answer answer;
    struct store *store;
    int64_t device_ns = 0;

    ask(&store, &question, &answer);
    for (size_t i = 0; i < answer.spans.count; i++) {
        const struct span *span = &answer.spans.items[i];

        CHECK_U64((uint64_t)answer.runs.items[span->run].run, 3);
        device_ns += span_is_device(&answer, span) ? span->dur_ns : 0;
    }
    CHECK_U64((uint64_t)device_ns, 10 * MS); /* conv 8 ms, relu 2 */
    CHECK_U64(answer.runs.count, 4);
    assert_true(answer.runs.items[2].selected);
    assert_false(answer.runs.items[1].selected);
    CHECK_NEAR(answer.basis.total_ns[OP_DEVICE], 10.0 * MS, 0);
    CHECK_U64(answer.basis.losses.count, 1);
    spans_answer_deinit(&answer);
    store_close(&store);
}

static void unfinished_spans_stand_apart(void **state)
{
    struct ops_question question = {
        .session_ids = resnet, .session_count = 1, .totals = true, .warmups = true};
    struct spans_answer answer;
    struct store *store;

    ask(&store, &question, &answer);
    CHECK_U64(answer.spans.count, 16);
    CHECK_U64(answer.unfinished.count, 1);
    assert_string_equal(answer.ops.items[answer.unfinished.items[0].op].name, "relu1");
    CHECK_U64((uint64_t)answer.runs.items[answer.unfinished.items[0].run].run, 4);
    spans_answer_deinit(&answer);
    store_close(&store);
    question.first_run = 2;
    question.last_run = 3;
    ask(&store, &question, &answer);
    CHECK_U64(answer.unfinished.count, 0);
    spans_answer_deinit(&answer);
    store_close(&store);
}

static void all_kinds_of_spans_are_there(void **state)
{
    const struct ops_question question = {.session_ids = hello, .session_count = 1, .totals = true};
    uint64_t count[SPAN_MARK + 1] = {0};
    struct spans_answer answer;
    struct store *store;

    ask(&store, &question, &answer);
    for (size_t i = 0; i < answer.spans.count; i++)
        count[answer.op_kinds[answer.spans.items[i].op]]++;
    CHECK_U64(count[SPAN_LABEL], 1);
    CHECK_U64(count[SPAN_OP], 6);
    CHECK_U64(answer.op_kinds[answer.spans.items[0].op], SPAN_LABEL);
    CHECK_U64(span_subtree_end(&answer, 0), 7);
    CHECK_NEAR(answer.basis.total_ns[OP_HOST], 30.0 * MS, 0); /* the label adds nothing */
    spans_answer_deinit(&answer);
    store_close(&store);
}

static void memory_comes_in_the_order_of_time(void **state)
{
    const struct ops_question question = {.session_ids = hello, .session_count = 1, .totals = true};
    struct memory_row_array memory;
    struct counter_row_array counters;
    struct spans_answer answer;
    struct store *store;
    struct diag diag = {0};

    ask(&store, &question, &answer);
    CHECK_OK(sqlite3_exec(store_handle(store),
                          "INSERT INTO memory_event SELECT lane_id, NULL, NULL, start_ns + 2, 64,"
                          " -100 FROM event WHERE lane_id IN (SELECT lane_id FROM lane WHERE"
                          " session_id = 1) LIMIT 1;"
                          "INSERT INTO memory_event SELECT lane_id, op_id, NULL, start_ns + 1, 64,"
                          " 100 FROM event WHERE lane_id IN (SELECT lane_id FROM lane WHERE"
                          " session_id = 1) LIMIT 1;"
                          "INSERT INTO memory_event VALUES (99, 1, NULL, 1, 64, 100);"
                          "INSERT INTO memory_event SELECT lane_id, op_id, NULL, start_ns + 3, 65,"
                          " 9223372036854775807 FROM event WHERE lane_id IN (SELECT lane_id FROM"
                          " lane WHERE session_id = 1) LIMIT 1;"
                          "INSERT INTO counter SELECT lane_id, op_id, NULL, start_ns, 2.5 FROM"
                          " event WHERE lane_id IN (SELECT lane_id FROM lane WHERE session_id = 1)"
                          " LIMIT 1",
                          NULL, NULL, NULL));
    CHECK_OK(query_memory(store, &answer, &memory, &diag));
    CHECK_OK(query_counters(store, &answer, &counters, &diag));
    CHECK_U64(memory.count, 2);
    CHECK_U64(memory.unbelieved_count, 1);
    CHECK_U64((uint64_t)memory.items[0].bytes, 100);
    assert_true(memory.items[0].op < answer.ops.count);
    CHECK_U64(memory.items[1].op, SPAN_NONE);
    CHECK_U64(counters.count, 1);
    CHECK_NEAR(counters.items[0].value, 2.5, 0);
    array_deinit(&memory);
    array_deinit(&counters);
    spans_answer_deinit(&answer);
    store_close(&store);
}

/* --- What a filter shows of them. --- */

/* Places of the shown spans as digits. */
static const char *shown(struct spans_answer *answer, struct filter *filter)
{
    static char text[16];
    size_t count = 0;

    CHECK_OK(span_filter(answer, filter));
    for (size_t i = 0; i < answer->spans.count; i++) {
        if (answer->spans.items[i].is_shown)
            text[count++] = (char)('0' + i);
    }
    text[count] = '\0';
    return text;
}

/* 0 label { 1 op { 2 op launches 4 } }, 3 op launches 5; 4 and 5 on the device */
static struct spans_answer labelled_tree(void)
{
    const struct span spans[] = {
        {.start_ns = 0, .dur_ns = 100, .op = LABEL},
        {.start_ns = 10, .dur_ns = 50, .op = OP},
        {.start_ns = 20, .dur_ns = 10, .op = OP, .correlation = 1},
        {.start_ns = 200, .dur_ns = 10, .op = OP, .correlation = 2},
        {.start_ns = 300, .dur_ns = 10, .op = OP, .correlation = 1, .lane = DEVICE},
        {.start_ns = 400, .dur_ns = 10, .op = OP, .correlation = 2, .lane = DEVICE},
    };

    for (int i = 0; i < KINDS; i++)
        ops[i] = (struct op_row){.name = "", .type = ""};
    ops[LABEL].name = "step 1";
    ops[OP].name = "conv";
    ops[LABEL].type = "label";
    ops[OP].type = "Conv";
    lanes[HOST].name = "main";
    lanes[DEVICE].name = "stream 7";
    lanes[DEVICE].device = "cuda:0";
    return tree(spans, 6);
}

static void labels_show_what_they_hold_and_launch(void **state)
{
    struct spans_answer answer = labelled_tree();
    struct filter filter = {0};

    CHECK_OK(filter_set(&filter, FILTER_LABEL, &(const char *){"step"}, 1, NULL));
    assert_string_equal(shown(&answer, &filter), "0124");
    filter_deinit(&filter);
    free_tree(&answer);
}

/* 0 label on the thread that calls backward(), which runs 2 and 3 on a thread of its own, where
 * they launch 6; 1 an op in the label: what runs meanwhile (4), or behind it (5), is not its. */
static void labels_show_what_autograd_runs_for_them(void **state)
{
    static struct lane_row threads[] = {
        {.side = OP_HOST, .session_id = 1, .name = "main"},
        {.side = OP_HOST, .session_id = 1, .name = "autograd"},
        {.side = OP_DEVICE, .session_id = 1, .name = "stream 7", .device = "cuda:0"},
        {.side = OP_HOST, .session_id = 2, .name = "other"},
    };
    static struct op_row rows[] = {
        {.name = "step 1", .type = "label", .is_label = true},
        {.name = "aten::mm", .type = "cpu_op"},
        {.name = "autograd::engine::evaluate_function: MmBackward0", .type = "cpu_op"},
        {.name = "MmBackward12", .type = "cpu_op"},
        {.name = "Backward of mine", .type = "cpu_op"},
    };
    static uint8_t row_kinds[] = {SPAN_LABEL, SPAN_OP, SPAN_OP, SPAN_OP, SPAN_OP};
    const struct span spans[] = {
        {.start_ns = 0, .dur_ns = 100, .op = 0},
        {.start_ns = 10, .dur_ns = 10, .op = 1},
        {.start_ns = 30, .dur_ns = 50, .op = 2, .lane = 1},
        {.start_ns = 40, .dur_ns = 10, .op = 1, .lane = 1, .correlation = 1},
        {.start_ns = 84, .dur_ns = 10, .op = 4, .lane = 1}, /* it is only called so */
        {.start_ns = 95, .dur_ns = 10, .op = 3, .lane = 1}, /* the label ends before */
        {.start_ns = 200, .dur_ns = 10, .op = 1, .lane = 2, .correlation = 1},
        {.start_ns = 12, .dur_ns = 5, .op = 3, .lane = 1},  /* while the thread is in its op */
        {.start_ns = 30, .dur_ns = 10, .op = 3, .lane = 3}, /* another session */
    };
    struct spans_answer answer = {
        .ops = {.items = rows, .count = 5},
        .op_kinds = row_kinds,
        .lanes = {.items = threads, .count = 4},
    };
    struct filter filter = {0};

    hand_spans_build(&answer, spans, 9);
    CHECK_OK(filter_set(&filter, FILTER_LABEL, &(const char *){"step"}, 1, NULL));
    /* By lane and start: 0 label, 1 its op; 2 the one at 12, 3, 4 of autograd, 5, 6; 7 the kernel.
     */
    assert_string_equal(shown(&answer, &filter), "01347");
    /* Of session 1 what is called at 12 and 95 by itself; that of another is no matter of it. */
    CHECK_U64((uint64_t)answer.basis.backward_elsewhere_ns, 15);
    filter_deinit(&filter);
    hand_spans_drop(&answer);
}

static void conditions_hold_together(void **state)
{
    const char *const types[] = {"Conv"};
    struct spans_answer answer = labelled_tree();
    const char *const device = "host";
    struct filter filter = {0};

    CHECK_OK(filter_set(&filter, FILTER_TYPE, types, 1, NULL));
    CHECK_OK(filter_set(&filter, FILTER_DEVICE, &device, 1, NULL));
    CHECK_OK(filter_set(&filter, FILTER_LABEL, &(const char *){"step"}, 1, NULL));
    assert_string_equal(shown(&answer, &filter), "12");
    filter_deinit(&filter);
    free_tree(&answer);
}

static void costs_of_shown_spans_are_those_of_a_scan(void **state)
{
    const struct ops_question question = {.session_ids = resnet, .session_count = 1};
    const char *const device = "cpu";
    struct filter filter = {0};
    struct ops_answer scanned, summed;
    struct spans_answer answer;
    struct diag diag = {0};
    struct store *store;

    CHECK_OK(filter_set(&filter, FILTER_DEVICE, &device, 1, NULL));
    ask(&store, &question, &answer);
    CHECK_OK(query_ops(store, &question, &scanned, &diag));
    CHECK_OK(span_filter(&answer, &filter));
    assert_int_equal(sum_spans(&answer, &summed), 0);
    CHECK_U64(summed.rows.count, scanned.rows.count);
    for (size_t i = 0; i < summed.rows.count; i++) {
        const struct op_cost *left = &summed.rows.items[i].cost[OP_DEVICE];
        const struct op_cost *right = &scanned.rows.items[i].cost[OP_DEVICE];

        assert_string_equal(summed.rows.items[i].name, scanned.rows.items[i].name);
        CHECK_U64(left->calls, right->calls);
        CHECK_U64(summed.rows.items[i].cost[OP_HOST].calls, 0);
        if (!left->calls)
            continue;
        CHECK_NEAR(left->end_ns, right->end_ns, 0);
        CHECK_NEAR(left->max_ns, right->max_ns, 0);
        assert_int_equal(isnan(left->computation_flop), isnan(right->computation_flop));
        if (!isnan(left->computation_flop))
            CHECK_NEAR(left->computation_flop, right->computation_flop, 0);
    }
    CHECK_NEAR(summed.basis.total_ns[OP_DEVICE], scanned.basis.total_ns[OP_DEVICE], 0);
    assert_true(isnan(summed.basis.total_ns[OP_HOST]));
    ops_answer_deinit(&scanned);
    ops_answer_deinit(&summed);
    spans_answer_deinit(&answer);
    store_close(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inner_spans_take_from_outer_ones),
        cmocka_unit_test(of_equal_spans_the_later_row_is_the_outer),
        cmocka_unit_test(overlapping_spans_are_no_parents),
        cmocka_unit_test(insides_longer_than_the_span_are_counted),
        cmocka_unit_test(on_a_device_only_labels_hold_others),
        cmocka_unit_test(phases_lie_in_their_op_behind_those_of_others),
        cmocka_unit_test(launches_are_tied_by_correlation_and_run),
        cmocka_unit_test(runs_select_spans),
        cmocka_unit_test(unfinished_spans_stand_apart),
        cmocka_unit_test(all_kinds_of_spans_are_there),
        cmocka_unit_test(labels_show_what_they_hold_and_launch),
        cmocka_unit_test(labels_show_what_autograd_runs_for_them),
        cmocka_unit_test(conditions_hold_together),
        cmocka_unit_test(costs_of_shown_spans_are_those_of_a_scan),
        cmocka_unit_test(memory_comes_in_the_order_of_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
