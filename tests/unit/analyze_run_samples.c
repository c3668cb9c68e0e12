/* SPDX-License-Identifier: Apache-2.0 */
/* Times of ops by run, from the small store. */
#include <math.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_are_the_units_of_one_session),
        cmocka_unit_test(the_host_side_can_be_asked_for),
        cmocka_unit_test(a_session_without_runs_is_one_run),
        cmocka_unit_test(sessions_are_units_where_there_are_several),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
