/* SPDX-License-Identifier: Apache-2.0 */
/* Times of ops by run, from the small store. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/metrics/run_samples.h"
#include "tests/support/check.h"
#include "tests/support/small_store.h"

#define MS 1e6

static struct store *store;

static int start(void **state)
{
    struct diag diag = {0};

    CHECK_OK(store_open("", STORE_MEMORY, &store, &diag));
    small_store_fill(store);
    return 0;
}

static int stop(void **state)
{
    store_close(&store);
    return 0;
}

static void take(const int64_t *sessions, size_t count, enum op_side side, bool warmups,
                 struct run_samples *out_samples)
{
    const struct ops_question question = {
        .session_ids = sessions, .session_count = count, .warmups = warmups};
    struct spans_answer spans;
    struct diag diag = {0};

    CHECK_OK(query_spans(store, &question, &spans, &diag));
    CHECK_OK(run_samples_take(&spans, side, out_samples, &diag));
}

static uint32_t find_op(const struct run_samples *samples, const char *name)
{
    for (uint32_t i = 0; i < samples->ops.count; i++) {
        if (strcmp(samples->ops.items[i].row->name, name) == 0)
            return i;
    }
    fail_msg("no op %s", name);
    return 0;
}

static void check_sum(const struct run_samples *samples, enum sampled_part part, const char *name,
                      const double *wanted_ms, double mean_ms)
{
    uint32_t op = name ? find_op(samples, name) : 0;
    const struct sampled_sum sum = {.part = part, .ops = &op, .op_count = name ? 1 : 0};
    double units[8], mean;

    CHECK_OK(run_samples_sum(samples, &sum, units, &mean));
    for (size_t i = 0; i < samples->unit_count; i++)
        CHECK_NEAR(units[i], wanted_ms[i] * MS, 1e-3);
    CHECK_NEAR(mean, mean_ms * MS, 1e-3);
}

static void runs_are_the_units_of_one_session(void **state)
{
    const int64_t session = 2;
    struct run_samples samples;

    take(&session, 1, OP_SIDES, false, &samples);
    assert_int_equal(samples.side, OP_DEVICE);
    assert_true(samples.has_runs);
    assert_false(samples.units_are_sessions);
    assert_int_equal(samples.unit_count, 2); /* without the warm-up and the unfinished one */
    assert_int_equal(samples.ops.count, 2);
    assert_string_equal(samples.ops.items[0].row->name, "conv1");
    CHECK_NEAR(samples.ops.items[0].calls, 1, 1e-12);
    check_sum(&samples, SAMPLED_RUN, NULL, (double[]){10, 12}, 11);
    check_sum(&samples, SAMPLED_OPS, "conv1", (double[]){6, 8}, 7);
    check_sum(&samples, SAMPLED_OPS, "relu1", (double[]){2, 2}, 2);
    check_sum(&samples, SAMPLED_BETWEEN, NULL, (double[]){2, 2}, 2);
    check_sum(&samples, SAMPLED_OTHER, NULL, (double[]){0, 0}, 0);
    run_samples_deinit(&samples);
}

static void the_host_side_can_be_asked_for(void **state)
{
    const int64_t session = 2;
    struct run_samples samples;

    take(&session, 1, OP_HOST, true, &samples);
    assert_int_equal(samples.unit_count, 3);
    check_sum(&samples, SAMPLED_OPS, "conv1", (double[]){1, 0.5, 0.5}, 2.0 / 3);
    run_samples_deinit(&samples);
}

static void a_session_without_runs_is_one_run(void **state)
{
    const int64_t session = 1;
    struct run_samples samples;

    take(&session, 1, OP_SIDES, false, &samples);
    assert_int_equal(samples.side, OP_HOST);
    assert_false(samples.has_runs);
    assert_int_equal(samples.unit_count, 1);
    check_sum(&samples, SAMPLED_RUN, NULL, (double[]){34}, 34);
    check_sum(&samples, SAMPLED_OPS, "outer", (double[]){18}, 18); /* without inner */
    check_sum(&samples, SAMPLED_OPS, "inner", (double[]){12}, 12);
    check_sum(&samples, SAMPLED_BETWEEN, NULL, (double[]){4}, 4);
    run_samples_deinit(&samples);
}

static void sessions_are_units_where_there_are_several(void **state)
{
    const int64_t sessions[] = {1, 2};
    struct run_samples samples;

    take(sessions, 2, OP_HOST, false, &samples);
    assert_true(samples.units_are_sessions);
    assert_int_equal(samples.unit_count, 2);
    /* By session 2's runs of 10 and 12 ms, then session 1, which has none. */
    check_sum(&samples, SAMPLED_RUN, NULL, (double[]){10, 34}, (11 + 34) / 2.0);
    check_sum(&samples, SAMPLED_OPS, "outer", (double[]){0, 18}, 9);
    run_samples_deinit(&samples);
}

/* A part made by hand. */
struct hand {
    struct span spans[4];
    size_t count;
};

static void add_hand(struct run_samples_parts *parts, struct spans_answer *answer,
                     const struct hand *hand)
{
    answer->spans.items = (struct span *)hand->spans;
    answer->spans.count = hand->count;
    CHECK_OK(run_samples_add(parts, answer));
    answer->spans.items = NULL;
    answer->spans.count = 0;
}

static void push_run(struct spans_answer *answer, int64_t session, int64_t run, int64_t start_ns,
                     bool lacks_events)
{
    const struct run_row row = {.session_id = session,
                                .run = run,
                                .start_ns = start_ns,
                                .end_ns = start_ns + 100,
                                .counts = true,
                                .selected = true,
                                .lacks_events = lacks_events};

    CHECK_OK(array_push(&answer->runs, row));
}

/* Lanes and ops by session: thread and queue of session 7, thread of 9; an op each. */
static struct spans_answer make_answer(bool has_runs)
{
    const struct lane_row lanes[] = {{.session_id = 7, .side = OP_HOST},
                                     {.session_id = 7, .side = OP_DEVICE},
                                     {.session_id = 9, .side = OP_HOST}};
    struct spans_answer answer = {0};

    for (int i = 0; i < 3; i++)
        CHECK_OK(array_push(&answer.lanes, lanes[i]));
    for (int64_t session = 7; session <= 9; session += 2) {
        const struct op_row op = {.session_id = session, .name = "same", .type = "Conv"};
        const struct session_window window = {session, INT64_MIN, INT64_MAX};

        CHECK_OK(array_push(&answer.ops, op));
        CHECK_OK(array_push(&answer.windows, window));
    }
    answer.op_kinds = calloc(2, 1);
    assert_non_null(answer.op_kinds);
    if (has_runs) {
        push_run(&answer, 7, 1, 0, true);
        push_run(&answer, 7, 2, 1000, false);
    }
    return answer;
}

#define AT(start, lane_, op_, run_)                                                                \
    {                                                                                              \
        .start_ns = (start), .dur_ns = 10, .self_ns = 10, .lane = (lane_), .op = (op_),            \
        .run = (run_), .is_shown = true                                                            \
    }

/* The first part has times of the host only; they do not count once the device has some. A run that
 * lacks events does not count, nor does an op in the runs of another session. */
static void parts_count_the_device_from_its_first_time_on(void **state)
{
    static const struct hand first = {{AT(1, 0, 0, 0), AT(1001, 0, 0, 1)}, 2};
    static const struct hand second = {
        {AT(1, 1, 0, 0), AT(1020, 1, 0, 1), AT(1040, 1, 1, 1), AT(5000, 2, 1, SPAN_NONE)}, 4};
    struct spans_answer answer = make_answer(true);
    struct run_samples_parts *parts = NULL;
    struct run_samples samples;
    struct diag diag = {0};

    (void)state;
    for (int i = 0; i < 2; i++) { /* begun anew, all is forgotten */
        CHECK_OK(run_samples_begin(&answer, OP_SIDES, &parts));
        assert_false(run_samples_saw_spans(parts));
        add_hand(parts, &answer, &first);
        add_hand(parts, &answer, &second);
    }
    assert_true(run_samples_saw_spans(parts));
    CHECK_OK(run_samples_finish(&parts, &answer, &samples, &diag));
    assert_int_equal(samples.side, OP_DEVICE);
    CHECK_U64(samples.runs.count, 2); /* and session 9 as a whole */
    CHECK_U64(samples.ops.count, 1);
    CHECK_NEAR(samples.op_ns[0], 10, 0);
    CHECK_NEAR(samples.op_ns[1], 0, 0);
    CHECK_NEAR(samples.runs.items[0].other_ns, 10, 0);
    CHECK_NEAR(samples.runs.items[1].run_ns, 10, 0);
    CHECK_NEAR(samples.ops.items[0].calls, 0.5, 0);
    run_samples_deinit(&samples);
}

/* Runs are known where all of their events are gone; a session without runs and ops is none. */
static void without_spans_runs_are_known(void **state)
{
    struct spans_answer answer = make_answer(true);
    struct run_samples_parts *parts = NULL;
    struct run_samples samples;
    struct diag diag = {0};

    (void)state;
    CHECK_OK(run_samples_begin(&answer, OP_SIDES, &parts));
    CHECK_OK(run_samples_finish(&parts, &answer, &samples, &diag));
    CHECK_U64(samples.runs.count, 2);
    CHECK_U64(samples.ops.count, 0);
    run_samples_deinit(&samples);
    answer = make_answer(false);
    CHECK_OK(run_samples_begin(&answer, OP_SIDES, &parts));
    assert_int_equal(run_samples_finish(&parts, &answer, &samples, &diag), 1);
    CHECK_CONTAINS(diag.text, "no run has ended");
    run_samples_deinit(&samples);
}

/* Sessions without runs stand last, whatever their number, each with its own times of one op. */
static void sessions_are_told_apart_in_parts(void **state)
{
    static const struct hand first = {{AT(1, 0, 0, SPAN_NONE), AT(40, 0, 0, SPAN_NONE)}, 2};
    static const struct hand second = {{AT(100, 2, 1, SPAN_NONE)}, 1};
    struct spans_answer answer = make_answer(false);
    struct run_samples_parts *parts = NULL;
    struct run_samples samples;
    struct diag diag = {0};

    (void)state;
    CHECK_OK(run_samples_begin(&answer, OP_HOST, &parts));
    add_hand(parts, &answer, &second);
    add_hand(parts, &answer, &first);
    CHECK_OK(run_samples_finish(&parts, &answer, &samples, &diag));
    CHECK_U64(samples.runs.count, 2);
    CHECK_U64(samples.ops.count, 1); /* the same op of both */
    CHECK_NEAR(samples.op_ns[0], 20, 0);
    CHECK_NEAR(samples.op_ns[1], 10, 0);
    CHECK_NEAR(samples.runs.items[0].run_ns, 49, 0);
    CHECK_NEAR(samples.ops.items[0].calls, 1.5, 0);
    run_samples_deinit(&samples);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_are_the_units_of_one_session),
        cmocka_unit_test(the_host_side_can_be_asked_for),
        cmocka_unit_test(a_session_without_runs_is_one_run),
        cmocka_unit_test(sessions_are_units_where_there_are_several),
        cmocka_unit_test(parts_count_the_device_from_its_first_time_on),
        cmocka_unit_test(without_spans_runs_are_known),
        cmocka_unit_test(sessions_are_told_apart_in_parts),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
