/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over a small store whose numbers are known: runs, warm-ups, totals, windows, sessions. */
#include <math.h>

#include "analyze/query/query.h"
#include "tests/support/check.h"
#include "tests/support/small_store.h"
#include "tests/support/store_support.h"
#include "tests/support/sum_spans.h"

#define MS 1e6

struct fixture {
    struct store *store;
    struct ops_answer answer;
};

static const int64_t hello[] = {1}, resnet[] = {2}, both[] = {1, 2};

static void ask(struct fixture *fixture, const struct ops_question *question)
{
    struct diag diag = {0};

    CHECK_OK(store_open("", STORE_MEMORY, &fixture->store, &diag));
    small_store_fill(fixture->store);
    if (query_ops(fixture->store, question, &fixture->answer, &diag) < 0)
        fail_msg("%s", diag.text);
}

static void stop(struct fixture *fixture)
{
    ops_answer_deinit(&fixture->answer);
    store_close(&fixture->store);
}

static const struct op_row *find(const struct fixture *fixture, const char *name)
{
    for (size_t i = 0; i < fixture->answer.rows.count; i++) {
        if (strcmp(fixture->answer.rows.items[i].name, name) == 0)
            return &fixture->answer.rows.items[i];
    }
    return NULL;
}

static const struct op_cost *cost_of(const struct fixture *fixture, const char *name,
                                     enum op_side side)
{
    const struct op_row *row = find(fixture, name);

    if (!row)
        fail_msg("there is no %s", name);
    return &row->cost[side];
}

static void one_run_in_the_mean(void **state)
{
    const struct ops_question question = {.session_ids = resnet, .session_count = 1};
    const struct op_cost *conv;
    struct fixture fixture;

    ask(&fixture, &question);
    conv = cost_of(&fixture, "conv1", OP_DEVICE);
    CHECK_U64(conv->calls, 2);
    CHECK_NEAR(conv->end_ns, 7 * MS, 0);
    CHECK_NEAR(conv->kern_ns, 1 * MS, 0);
    CHECK_NEAR(conv->exec_ns, 6 * MS, 0);
    CHECK_NEAR(conv->min_ns, 6 * MS, 0);
    CHECK_NEAR(conv->max_ns, 8 * MS, 0);
    CHECK_NEAR(conv->computation_flop, 236027904, 0);
    CHECK_NEAR(conv->memory_bytes, 3851008, 0);
    CHECK_NEAR(cost_of(&fixture, "conv1", OP_HOST)->end_ns, 0.5 * MS, 0);
    CHECK_NEAR(cost_of(&fixture, "relu1", OP_DEVICE)->end_ns, 2 * MS, 0);
    assert_true(isnan(cost_of(&fixture, "relu1", OP_DEVICE)->kern_ns));
    assert_true(isnan(cost_of(&fixture, "relu1", OP_DEVICE)->memory_bytes));
    CHECK_U64(cost_of(&fixture, "load", OP_HOST)->calls, 0);
    assert_null(find(&fixture, "prepare_data"));
    CHECK_NEAR(fixture.answer.basis.total_ns[OP_DEVICE], 9 * MS, 0);
    CHECK_NEAR(fixture.answer.basis.total_ns[OP_HOST], 0.75 * MS, 0);
    assert_true(fixture.answer.basis.is_per_run);
    CHECK_U64(fixture.answer.basis.runs, 2);
    CHECK_U64(fixture.answer.basis.warmups_skipped, 1);
    CHECK_U64(fixture.answer.basis.run_ns_count, 2);
    CHECK_NEAR(fixture.answer.basis.run_ns[0], 10 * MS, 0);
    CHECK_NEAR(fixture.answer.basis.run_ns[1], 12 * MS, 0);
    stop(&fixture);
}

/* Calls of 12 (the warm-up), 6 and 8 ms; a bin is at most 1/32 off. */
static bool is_label(const struct op_row *op)
{
    return op->is_label;
}

static bool is_copy(const struct op_row *op)
{
    return strcmp(op->type, "copy") == 0;
}

/* Of the sessions that are asked for, whatever events there are. */
static void ops_are_there_or_not(void **state)
{
    struct store *store = NULL;
    struct diag diag = {0};

    CHECK_OK(store_open("", STORE_MEMORY, &store, &diag));
    small_store_fill(store);
    assert_int_equal(query_has_op(store, resnet, 1, is_label, &diag), 0);
    assert_int_equal(query_has_op(store, hello, 1, is_label, &diag), 1);
    assert_int_equal(query_has_op(store, both, 2, is_label, &diag), 1);
    assert_int_equal(query_has_op(store, both, 2, is_copy, &diag), 0);
    store_close(&store);
}

static void percentiles_are_of_single_calls(void **state)
{
    const struct ops_question question = {
        .session_ids = resnet, .session_count = 1, .warmups = true};
    struct spans_answer spans;
    struct ops_answer of_spans;
    const struct op_cost *conv;
    struct diag diag = {0};
    struct fixture fixture;

    ask(&fixture, &question);
    conv = cost_of(&fixture, "conv1", OP_DEVICE);
    CHECK_U64(conv->calls, 3);
    CHECK_NEAR(conv->percentile_ns[0], 8 * MS, 8 * MS / 32);
    CHECK_NEAR(conv->percentile_ns[1], 12 * MS, 12 * MS / 32);
    CHECK_NEAR(conv->percentile_ns[2], 12 * MS, 12 * MS / 32);
    assert_true(isnan(cost_of(&fixture, "load", OP_DEVICE)->percentile_ns[0]));
    /* Span by span the same. */
    CHECK_OK(query_spans(fixture.store, &question, &spans, &diag));
    assert_int_equal(sum_spans(&spans, &of_spans), 0);
    for (size_t i = 0; i < of_spans.rows.count; i++) {
        if (strcmp(of_spans.rows.items[i].name, "conv1") == 0)
            CHECK_NEAR(of_spans.rows.items[i].cost[OP_DEVICE].percentile_ns[0],
                       conv->percentile_ns[0], 0);
    }
    ops_answer_deinit(&of_spans);
    spans_answer_deinit(&spans);
    stop(&fixture);
}

static void nobody_asks_for_percentiles(void **state)
{
    const struct ops_question question = {
        .session_ids = resnet, .session_count = 1, .warmups = true, .without_percentiles = true};
    const struct op_cost *conv;
    struct fixture fixture;

    (void)state;
    ask(&fixture, &question);
    conv = cost_of(&fixture, "conv1", OP_DEVICE);
    CHECK_U64(conv->calls, 3);
    CHECK_NEAR(conv->max_ns, 12 * MS, 0);
    assert_true(isnan(conv->percentile_ns[0]));
    stop(&fixture);
}

static void footer_numbers(void **state)
{
    const struct ops_question question = {.session_ids = resnet, .session_count = 1};
    struct fixture fixture;

    ask(&fixture, &question);
    assert_true(fixture.answer.basis.wall_is_runs);
    CHECK_NEAR(fixture.answer.basis.wall_ns[OP_DEVICE], 22 * MS, 0);
    CHECK_NEAR(fixture.answer.basis.covered_ns[OP_DEVICE], 18 * MS, 0);
    CHECK_NEAR(fixture.answer.basis.covered_ns[OP_HOST], 1.5 * MS, 0);
    CHECK_U64(fixture.answer.basis.event_count, 8);
    CHECK_U64(fixture.answer.basis.outside_count, 1);
    CHECK_U64(fixture.answer.basis.losses.count, 1);
    assert_string_equal(fixture.answer.basis.losses.items[0].lane, "worker");
    assert_string_equal(fixture.answer.basis.losses.items[0].reason, "ring full");
    CHECK_U64((uint64_t)fixture.answer.basis.losses.items[0].lost_count, 42);
    CHECK_U64(fixture.answer.basis.unfinished_count, 1);
    assert_string_equal(fixture.answer.basis.unfinished.items[0].op, "relu1");
    assert_string_equal(fixture.answer.basis.unfinished.items[0].lane, "worker");
    stop(&fixture);
}

static void warmups_and_numbers(void **state)
{
    struct ops_question question = {.session_ids = resnet, .session_count = 1, .warmups = true};
    struct fixture fixture;

    ask(&fixture, &question);
    CHECK_U64(fixture.answer.basis.runs, 3);
    CHECK_U64(fixture.answer.basis.warmups_skipped, 0);
    CHECK_NEAR(cost_of(&fixture, "relu1", OP_DEVICE)->end_ns, 8 * MS / 3, 1e-6);
    stop(&fixture);

    question = (struct ops_question){
        .session_ids = resnet, .session_count = 1, .first_run = 1, .last_run = 1};
    ask(&fixture, &question);
    CHECK_U64(fixture.answer.basis.runs, 1);
    CHECK_NEAR(cost_of(&fixture, "relu1", OP_DEVICE)->end_ns, 4 * MS, 0);
    stop(&fixture);
}

static void totals_count_what_is_outside(void **state)
{
    const struct ops_question question = {
        .session_ids = resnet, .session_count = 1, .totals = true};
    struct fixture fixture;

    ask(&fixture, &question);
    assert_false(fixture.answer.basis.is_per_run);
    CHECK_NEAR(cost_of(&fixture, "conv1", OP_DEVICE)->end_ns, 14 * MS, 0);
    CHECK_NEAR(cost_of(&fixture, "conv1", OP_DEVICE)->computation_flop, 2 * 236027904.0, 0);
    CHECK_NEAR(cost_of(&fixture, "load", OP_HOST)->end_ns, 5 * MS, 0);
    CHECK_U64(fixture.answer.basis.outside_count, 0);
    stop(&fixture);
}

static void nested_and_without_runs(void **state)
{
    struct ops_question question = {.session_ids = hello, .session_count = 1};
    struct fixture fixture;

    ask(&fixture, &question);
    assert_false(fixture.answer.basis.is_per_run);
    CHECK_NEAR(cost_of(&fixture, "outer", OP_HOST)->end_ns, 18 * MS, 0);
    CHECK_NEAR(cost_of(&fixture, "inner", OP_HOST)->end_ns, 12 * MS, 0);
    CHECK_NEAR(fixture.answer.basis.total_ns[OP_HOST], 30 * MS, 0);
    assert_true(isnan(fixture.answer.basis.total_ns[OP_DEVICE]));
    CHECK_NEAR(fixture.answer.basis.wall_ns[OP_HOST], 34 * MS, 0);
    CHECK_NEAR(fixture.answer.basis.covered_ns[OP_HOST], 30 * MS, 0);
    assert_null(find(&fixture, "phase one"));
    stop(&fixture);

    question.labels = true;
    ask(&fixture, &question);
    CHECK_NEAR(cost_of(&fixture, "phase one", OP_HOST)->end_ns, 36 * MS, 0);
    CHECK_NEAR(fixture.answer.basis.total_ns[OP_HOST], 30 * MS, 0);
    stop(&fixture);
}

static void window_cuts_by_start(void **state)
{
    struct selection_window window;
    const struct ops_question question = {
        .session_ids = hello, .session_count = 1, .window = &window, .totals = true};
    struct fixture fixture;

    CHECK_OK(selection_parse_window("12ms..24ms", &window, NULL));
    ask(&fixture, &question);
    CHECK_U64(cost_of(&fixture, "outer", OP_HOST)->calls, 1);
    CHECK_U64(cost_of(&fixture, "inner", OP_HOST)->calls, 1);
    stop(&fixture);
    CHECK_OK(selection_parse_window("-5ms..", &window, NULL));
    ask(&fixture, &question);
    CHECK_U64(fixture.answer.basis.event_count, 0);
    stop(&fixture);
}

static void sessions_are_merged(void **state)
{
    const struct ops_question question = {.session_ids = both, .session_count = 2, .totals = true};
    const int64_t twice[] = {2, 2};
    const struct ops_question same = {.session_ids = twice, .session_count = 1};
    struct fixture fixture;

    ask(&fixture, &question);
    CHECK_U64(fixture.answer.rows.count, 5);
    CHECK_NEAR(cost_of(&fixture, "outer", OP_HOST)->end_ns, 18 * MS, 0);
    CHECK_NEAR(cost_of(&fixture, "conv1", OP_DEVICE)->end_ns, 14 * MS, 0);
    stop(&fixture);
    ask(&fixture, &same);
    CHECK_U64(fixture.answer.rows.count, 3);
    stop(&fixture);
}

static void the_same_op_of_two_sessions_is_one_row(void **state)
{
    const struct ops_question question = {
        .session_ids = (const int64_t[]){2, 3}, .session_count = 2, .totals = true};
    struct store_session session = {.session_id = 3,
                                    .uuid = {3},
                                    .start_ns = SMALL_STORE_SECOND_NS,
                                    .end_ns = SMALL_STORE_SECOND_NS,
                                    .pid = 1,
                                    .uid = 1,
                                    .clock = "tsc",
                                    .source = "live"};
    struct store_lane lane = {9, 3, 1, "queue", "worker", "cpu:0", 1};
    struct store_op op = {.op_id = 20,
                          .session_id = 3,
                          .client_op = 1,
                          .model_id = STORE_NULL,
                          .name = "relu1",
                          .type = "Relu",
                          .node_id = "1",
                          .device = "cpu:0",
                          .input_shapes = "[[null,64,112,112]]",
                          .input_dtypes = "[\"f32\"]",
                          .computation_flop = STORE_NULL,
                          .memory_bytes = STORE_NULL,
                          .workspace_bytes = STORE_NULL};
    const struct store_event event = {9,       20,         STORE_NULL, SMALL_STORE_SECOND_NS,
                                      1000000, STORE_NULL, STORE_NULL, STORE_NULL};
    struct fixture fixture;
    struct diag diag = {0};

    CHECK_OK(store_open("", STORE_MEMORY, &fixture.store, &diag));
    small_store_fill(fixture.store);
    CHECK_OK(store_begin(fixture.store, &diag));
    CHECK_OK(store_put_session(fixture.store, &session, &diag));
    CHECK_OK(store_put_lane(fixture.store, &lane, &diag));
    CHECK_OK(store_put_op(fixture.store, &op, &diag));
    CHECK_OK(store_add_events(fixture.store, &event, 1, &diag));
    CHECK_OK(store_commit(fixture.store, &diag));
    CHECK_OK(query_ops(fixture.store, &question, &fixture.answer, &diag));
    CHECK_U64(fixture.answer.rows.count, 3);
    CHECK_U64(cost_of(&fixture, "relu1", OP_DEVICE)->calls, 3);
    CHECK_NEAR(cost_of(&fixture, "relu1", OP_DEVICE)->end_ns, 5 * MS, 0);
    CHECK_NEAR(cost_of(&fixture, "relu1", OP_DEVICE)->min_ns, 1 * MS, 0);
    stop(&fixture);
}

/* A text that many ops have takes the memory of one. */
static void a_text_of_many_ops_is_kept_once(void **state)
{
    const char *strides =
        "{\"input_strides\":[[1,2]],\"a\":\"long enough to be in the other table\"}";
    const struct store_text texts[] = {{1, 1, "a text that all of them have"}, {1, 7, strides}};
    const struct ops_question question = {
        .session_ids = (const int64_t[]){1}, .session_count = 1, .totals = true};
    struct fixture fixture;
    struct diag diag = {0};

    CHECK_OK(store_open("", STORE_MEMORY, &fixture.store, &diag));
    CHECK_OK(store_begin(fixture.store, &diag));
    store_support_define(fixture.store, 1);
    CHECK_OK(store_put_text(fixture.store, &texts[0], &diag));
    CHECK_OK(store_put_text(fixture.store, &texts[1], &diag));
    for (int64_t i = 1; i <= 3; i++) {
        const struct store_op op = {.op_id = i,
                                    .session_id = 1,
                                    .client_op = i,
                                    .model_id = STORE_NULL,
                                    .name = "not stored",
                                    .type = i == 3 ? "a text that all of them have" : "Conv",
                                    .node_id = i == 1   ? "of op 1"
                                               : i == 2 ? "of op 2"
                                                        : NULL,
                                    .text_ids = {.name = i == 3 ? 9 : 1, .params = 7}};
        const struct store_event event = {1,    i,          STORE_NULL, STORE_SUPPORT_START_NS,
                                          1000, STORE_NULL, STORE_NULL, STORE_NULL};

        CHECK_OK(store_put_op(fixture.store, &op, &diag));
        CHECK_OK(store_add_events(fixture.store, &event, 1, &diag));
    }
    CHECK_OK(store_commit(fixture.store, &diag));
    CHECK_OK(query_ops(fixture.store, &question, &fixture.answer, &diag));
    CHECK_U64(fixture.answer.rows.count, 3);
    for (size_t i = 0; i < 3; i++) {
        const struct op_row *row = &fixture.answer.rows.items[i];

        /* The name of the third is not in the store. */
        assert_string_equal(row->name, row->op_id == 3 ? "" : "a text that all of them have");
        assert_string_equal(row->params, strides);
        assert_string_equal(row->input_strides, "[[1,2]]");
        assert_ptr_equal(row->params, fixture.answer.rows.items[0].params);
        assert_ptr_equal(row->input_strides, fixture.answer.rows.items[0].input_strides);
    }
    stop(&fixture);
}

static void sessions_are_listed(void **state)
{
    struct session_rows sessions;
    struct session_run_counts runs;
    struct store *store;
    struct diag diag = {0};

    CHECK_OK(store_open("", STORE_MEMORY, &store, &diag));
    CHECK_OK(query_sessions(store, &sessions, &diag));
    CHECK_U64(sessions.rows.count, 0);
    session_rows_deinit(&sessions);
    small_store_fill(store);
    CHECK_OK(query_sessions(store, &sessions, &diag));
    CHECK_U64(sessions.rows.count, 2);
    assert_string_equal(sessions.rows.items[1].models, "resnet");
    CHECK_OK(query_session_runs(store, sessions.rows.items[1].session_id, &runs, &diag));
    CHECK_U64((uint64_t)runs.count, 4);
    CHECK_U64((uint64_t)runs.warmup_count, 1);
    CHECK_U64((uint64_t)sessions.rows.items[1].lost_count, 42);
    assert_string_equal(sessions.rows.items[1].end_reason, "died");
    session_rows_deinit(&sessions);
    store_close(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_run_in_the_mean),
        cmocka_unit_test(percentiles_are_of_single_calls),
        cmocka_unit_test(nobody_asks_for_percentiles),
        cmocka_unit_test(ops_are_there_or_not),
        cmocka_unit_test(footer_numbers),
        cmocka_unit_test(warmups_and_numbers),
        cmocka_unit_test(totals_count_what_is_outside),
        cmocka_unit_test(nested_and_without_runs),
        cmocka_unit_test(window_cuts_by_start),
        cmocka_unit_test(sessions_are_merged),
        cmocka_unit_test(the_same_op_of_two_sessions_is_one_row),
        cmocka_unit_test(a_text_of_many_ops_is_kept_once),
        cmocka_unit_test(sessions_are_listed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
