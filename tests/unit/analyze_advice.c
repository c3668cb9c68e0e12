/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of --report advice: each speaks on facts that call for it and is silent just below; and
 * the facts, from spans and ops made by hand. */
#include "analyze/metrics/advice.h"

#include <math.h>

#include "analyze/reports/report.h"
#include "tests/support/check.h"
#include "tests/support/hand_spans.h"

#define MS 1000000.0

/* A recording in which all is well, a second long. */
static struct advice_facts good(void)
{
    struct advice_facts facts;

    advice_facts_init(&facts);
    facts.wall_ns = 1000 * MS;
    facts.recorded_ns = 1000 * MS;
    facts.own_ns = 800 * MS;
    facts.top_op = "conv1";
    facts.top_op_ns = 100 * MS;
    facts.top_type = "Conv";
    facts.top_type_ns = 300 * MS;
    facts.type_count = 4;
    facts.call_count = 1000;
    facts.run_count = 10;
    facts.spread = (struct spread){.variation = 0.01, .drift = 0.001, .drift_p = 0.5};
    return facts;
}

static const struct advice_finding *find(struct advice_findings *all, const char *rule)
{
    for (size_t i = 0; i < all->count; i++) {
        if (strcmp(all->items[i].rule, rule) == 0)
            return &all->items[i];
    }
    return NULL;
}

/* The rule speaks of `triggering` with that share and words, and of `silent` it does not; no other
 * one speaks of either. */
static void check_rule(const char *rule, const struct advice_facts *triggering,
                       const struct advice_facts *silent, double share, const char *words)
{
    struct advice_findings found = {0}, none = {0};
    const struct advice_finding *finding;

    CHECK_OK(advice_find(triggering, &found));
    CHECK_OK(advice_find(silent, &none));
    finding = find(&found, rule);
    if (!finding)
        fail_msg("%s does not speak", rule);
    CHECK_U64(found.count, 1);
    if (isnan(share))
        assert_true(isnan(finding->share));
    else
        assert_true(fabs(finding->share - share) < 1e-9);
    CHECK_CONTAINS(finding->text, words);
    if (none.count)
        fail_msg("%s speaks: %s", none.items[0].rule, none.items[0].text);
    array_deinit(&found);
    array_deinit(&none);
}

static void nothing_is_said_without_need(void **state)
{
    struct advice_facts facts = good(), unknown;
    struct advice_findings found = {0};

    CHECK_OK(advice_find(&facts, &found));
    CHECK_U64(found.count, 0);
    advice_facts_init(&unknown);
    CHECK_OK(advice_find(&unknown, &found));
    CHECK_U64(found.count, 0);
    array_deinit(&found);
}

static void copies(void **state)
{
    struct advice_facts yes = good(), no = good();

    yes.blocking_count = no.blocking_count = 12;
    yes.blocking_ns = 10 * MS;
    no.blocking_ns = 9.9 * MS;
    check_rule(
        "copies-block", &yes, &no, 0.01,
        "12 copies blocked the host, synchronous or with pageable memory, and ran for 10.0 ms");
    yes = no = good();
    yes.copying_ns = 101 * MS;
    no.copying_ns = 100 * MS;
    check_rule("copies-dominate", &yes, &no, 0.101, "ran for 101 ms while nothing");
    yes = no = good();
    yes.small_count = 101;
    no.small_count = 99; /* too few */
    yes.sized_count = no.sized_count = 150;
    yes.small_ns = no.small_ns = 2 * MS;
    check_rule("copies-small", &yes, &no, 0.002, "101 of 150 copies move less than 64 KiB");
    no.small_count = 101;
    no.sized_count = 202; /* no more than half of them */
    check_rule("copies-small", &yes, &no, 0.002, "take 2.00 ms");
}

static void devices(void **state)
{
    struct advice_facts yes = good(), no = good();

    yes.idle_device = no.idle_device = "cuda:1";
    yes.idle_ns = 300 * MS;
    no.idle_ns = 100 * MS;
    check_rule("device-idle", &yes, &no, 0.3, "cuda:1 did nothing for 300 ms");
    yes = no = good();
    yes.launch_count = no.launch_count = 20;
    yes.launch_median_ns = no.launch_median_ns = 8000;
    yes.launched_median_ns = 7999;
    no.launched_median_ns = 8000;
    yes.launch_ns = no.launch_ns = 50 * MS;
    check_rule("launch-bound", &yes, &no, 0.05, "Of 20 launches the call takes 8.00 µs");
    no = yes;
    no.launch_count = 19;
    check_rule("launch-bound", &yes, &no, 0.05, "device 8.00 µs");
}

static void operators(void **state)
{
    struct advice_facts yes = good(), no = good();

    yes.top_op_ns = 401 * MS;
    no.top_op_ns = 400 * MS;
    check_rule("one-dominates", &yes, &no, 0.401, "operator conv1 takes 401 ms, 50.1 %");
    yes = no = good();
    yes.top_type_ns = 600 * MS;
    no.top_type_ns = 600 * MS;
    no.type_count = 1; /* says nothing */
    check_rule("one-dominates", &yes, &no, 0.6, "type Conv take 600 ms, 75.0 %");
    yes = no = good();
    yes.bound_count = no.bound_count = 7;
    yes.bound_ns = no.bound_ns = 400 * MS;
    yes.win_ns = 201 * MS;
    no.win_ns = 200 * MS; /* half of the roof */
    check_rule("below-roof", &yes, &no, 0.201, "7 operators take 400 ms where the machine");
    no.bound_ns = 150 * MS;
    no.win_ns = 100 * MS; /* too little to win */
    check_rule("below-roof", &yes, &no, 0.201, ": 49.8 % of it is reached");
    yes = no = good();
    yes.layout_calls = no.layout_calls = 30;
    yes.layout_ns = 81 * MS;
    no.layout_ns = 80 * MS;
    check_rule("layout-changes", &yes, &no, 0.081, "Transpose; 30) take 81.0 ms, 10.1 %");
    yes = no = good();
    yes.tiny_count = 501;
    no.tiny_count = 500;
    yes.call_median_ns = no.call_median_ns = 4000;
    yes.tiny_ns = no.tiny_ns = 2 * MS;
    check_rule("tiny-ops", &yes, &no, 0.002, "501 of 1000 calls take less than 5 µs");
    no.call_count = 99; /* too few */
    no.tiny_count = 99;
    check_rule("tiny-ops", &yes, &no, 0.002, "the median 4.00 µs");
}

static void runs(void **state)
{
    struct advice_facts yes = good(), no = good();

    yes.later_count = no.later_count = 3;
    yes.later_median_ns = no.later_median_ns = 10 * MS;
    yes.first_run_ns = 15 * MS;
    no.first_run_ns = 14.9 * MS;
    check_rule("warm-up", &yes, &no, 0.005, "took 15.0 ms, the median of the 3 later ones is");
    yes = no = good();
    yes.spread.variation = 0.11;
    no.spread.variation = 0.1;
    yes.excess_ns = no.excess_ns = 20 * MS;
    check_rule("runs-vary", &yes, &no, 0.02, "10 runs vary by 11.0 %");
    no.spread.variation = 0.5;
    no.run_count = 4; /* too few */
    check_rule("runs-vary", &yes, &no, 0.02, "20.0 ms in all");
    yes = no = good();
    yes.spread.drift = -0.06;
    yes.spread.drift_p = 0.001;
    no.spread.drift = 0.04;
    no.spread.drift_p = 0.001;
    yes.drift_ns = no.drift_ns = 30 * MS;
    check_rule("runs-drift", &yes, &no, 0.03, "6.0 % faster than the earlier");
    yes.spread.drift = 0.06;
    check_rule("runs-drift", &yes, &no, 0.03, "6.0 % slower than the earlier");
}

static void memory(void **state)
{
    struct advice_facts yes = good(), no = good();

    yes.memory_device = "cuda:0";
    yes.growth = (struct slope){4096, 4000, 4200};
    no.growth = (struct slope){4096, -10, 9000}; /* not sure */
    check_rule("memory-grows", &yes, &no, NAN, "cuda:0 grows by 4 KiB from run to run");
}

static void missing(void **state)
{
    struct advice_facts yes = good(), no = good();

    yes.lost_count = 1;
    check_rule("events-lost", &yes, &no, NAN, "1 event was lost");
    yes = good();
    yes.unfinished_count = 2;
    check_rule("unfinished", &yes, &no, NAN, "2 spans never ended and are in no number");
    yes = good();
    yes.recorded_ns = 750 * MS;
    no.recorded_ns = 800 * MS;
    check_rule("coverage", &yes, &no, 0.25, "In 250 ms of 1.00 s wall time");
}

/* A share is at most the whole. */
static void work_on_several_lanes_is_no_more_than_all(void **state)
{
    struct advice_facts facts = good();
    struct advice_findings found = {0};

    facts.own_ns = 4000 * MS;
    facts.top_op_ns = 3000 * MS;
    CHECK_OK(advice_find(&facts, &found));
    assert_true(find(&found, "one-dominates")->share == 1);
    array_deinit(&found);
}

/* --- Facts. --- */

enum { HOST, STREAM, OTHER_STREAM, LANES };
enum { OP, CALL, SYNC_CALL, KERNEL, NCHW, TO_DEVICE, PAGEABLE, ON_DEVICE, CONV, REORDER, OPS };

static struct lane_row lanes[LANES] = {
    [HOST] = {.side = OP_HOST, .session_id = 1, .kind = "thread", .name = "main"},
    [STREAM] = {.side = OP_DEVICE, .session_id = 1, .device = "cuda:0", .name = "stream 7"},
    [OTHER_STREAM] = {.side = OP_DEVICE, .session_id = 1, .device = "cuda:0", .name = "stream 8"},
};

static struct op_row ops[OPS] = {
    [OP] = {.name = "conv", .type = "cpu_op"},
    [CALL] = {.name = "cudaLaunchKernel", .type = "cuda_runtime"},
    [SYNC_CALL] = {.name = "cudaMemcpy", .type = "cuda_runtime"},
    [KERNEL] = {.name = "gemm", .type = "kernel"},
    [NCHW] = {.name = "nchwToNhwcKernel", .type = "kernel"},
    [TO_DEVICE] = {.name = "Memcpy HtoD (Pinned -> Device)", .type = "copy"},
    [PAGEABLE] = {.name = "Memcpy DtoH (Device -> Pageable)", .type = "copy"},
    [ON_DEVICE] = {.name = "Memcpy DtoD (Device -> Device)", .type = "copy"},
    [CONV] = {.name = "conv1", .type = "Conv"},
    [REORDER] = {.name = "reorder1", .type = "Reorder"},
};
static uint8_t kinds[OPS];
static struct session_window window = {.session_id = 1, .until_ns = INT64_MAX};

static void measure(const struct span *items, size_t count, struct run_row *runs, size_t run_count,
                    struct advice_facts *facts)
{
    struct spans_answer spans = {
        .ops = {.items = ops, .count = OPS},
        .op_kinds = kinds,
        .lanes = {.items = lanes, .count = LANES},
        .windows = {.items = &window, .count = 1},
        .basis = {.wall_is_runs = run_count > 0},
    };

    spans.runs.items = runs;
    spans.runs.count = run_count;
    hand_spans_build(&spans, items, count);
    advice_facts_init(facts);
    CHECK_OK(advice_measure_spans(&spans, facts));
    hand_spans_drop(&spans);
}

/* The host launches a copy it waits for, and two kernels late; a copy on the other stream runs
 * between them. */
static void facts_of_devices(void **state)
{
    const struct span spans[] = {
        {.start_ns = 0, .dur_ns = 1000000, .op = OP},
        {.start_ns = 1000, .dur_ns = 100000, .op = SYNC_CALL, .correlation = 1},
        {.start_ns = 200000, .dur_ns = 8000, .op = CALL, .correlation = 2},
        {.start_ns = 700000, .dur_ns = 6000, .op = CALL, .correlation = 3},
        {.start_ns = 2000,
         .dur_ns = 98000,
         .op = TO_DEVICE,
         .lane = STREAM,
         .correlation = 1,
         .bytes = 65535},
        {.start_ns = 210000, .dur_ns = 3000, .op = KERNEL, .lane = STREAM, .correlation = 2},
        {.start_ns = 710000, .dur_ns = 2000, .op = KERNEL, .lane = STREAM, .correlation = 3},
        {.start_ns = 300000,
         .dur_ns = 100000,
         .op = ON_DEVICE,
         .lane = OTHER_STREAM,
         .bytes = 65536},
    };
    struct advice_facts facts;

    measure(spans, 8, NULL, 0, &facts);
    assert_true(facts.wall_ns == 1000000);
    assert_true(facts.recorded_ns == 1000000);
    CHECK_U64(facts.blocking_count, 1);
    assert_true(facts.blocking_ns == 98000);
    CHECK_U64(facts.sized_count, 2);
    CHECK_U64(facts.small_count, 1);
    assert_true(facts.small_ns == 98000);
    assert_true(facts.copying_ns == 198000);
    assert_string_equal(facts.idle_device, "cuda:0");
    assert_true(facts.idle_ns == 110000 + 497000 - 100000); /* the other stream worked */
    CHECK_U64(facts.launch_count, 2);                       /* not that of the copy */
    assert_true(facts.launch_median_ns == 7000);
    assert_true(facts.launched_median_ns == 2500);
    assert_true(facts.launch_ns == 14000);
    CHECK_U64(facts.call_count, 2);
    CHECK_U64(facts.tiny_count, 2);
    assert_true(facts.tiny_ns == 5000);
}

/* Asynchronous ones make the host wait only where memory is pageable; nothing blocks on a device.
 */
static void facts_of_copies(void **state)
{
    struct op_row call = ops[CALL];
    const struct span spans[] = {
        {.start_ns = 0, .dur_ns = 10, .op = CALL, .correlation = 1},
        {.start_ns = 20, .dur_ns = 10, .op = CALL, .correlation = 2},
        {.start_ns = 40, .dur_ns = 10, .op = SYNC_CALL, .correlation = 3},
        {.start_ns = 100, .dur_ns = 50, .op = TO_DEVICE, .lane = STREAM, .correlation = 1},
        {.start_ns = 200, .dur_ns = 60, .op = PAGEABLE, .lane = STREAM, .correlation = 2},
        {.start_ns = 300, .dur_ns = 70, .op = ON_DEVICE, .lane = STREAM, .correlation = 3},
    };
    struct advice_facts facts;

    ops[CALL].name = "cudaMemcpyAsync";
    measure(spans, 6, NULL, 0, &facts);
    ops[CALL] = call;
    CHECK_U64(facts.blocking_count, 1);
    assert_true(facts.blocking_ns == 60);
    CHECK_U64(facts.sized_count, 0);
}

static struct run_row run_of(int64_t number, int64_t start_ns, int64_t dur_ns)
{
    return (struct run_row){.session_id = 1,
                            .run = number,
                            .start_ns = start_ns,
                            .end_ns = start_ns + dur_ns,
                            .lane = SPAN_NONE,
                            .selected = true};
}

/* Runs of 300 and then 100, 100, 120, 80, 100: the first one is said once. */
static void facts_of_runs(void **state)
{
    static const int64_t durations[] = {300, 100, 100, 120, 80, 100};
    const struct span spans[] = {{.start_ns = 0, .dur_ns = 400, .op = CONV}};
    struct run_row runs[7];
    struct advice_facts facts;

    for (int i = 0; i < 6; i++)
        runs[i] = run_of(i + 1, i * 1000, durations[i]);
    runs[6] = run_of(7, 6000, 5000);
    runs[6].end_ns = STORE_NULL; /* never ended */
    measure(spans, 1, runs, 7, &facts);
    assert_true(facts.wall_ns == 800);
    assert_true(facts.recorded_ns == 300); /* 100 of it lie between runs */
    assert_true(facts.first_run_ns == 300);
    assert_true(facts.later_median_ns == 100);
    CHECK_U64(facts.later_count, 5);
    CHECK_U64(facts.run_count, 5);
    assert_true(fabs(facts.spread.variation - sqrt(200) / 100) < 1e-12);
    assert_true(facts.excess_ns == 20);
    /* Not the first of its session: it is one run among others. */
    for (int i = 0; i < 6; i++)
        runs[i].run++;
    measure(spans, 1, runs, 6, &facts);
    assert_true(isnan(facts.first_run_ns));
    CHECK_U64(facts.run_count, 6);
    assert_true(facts.excess_ns == 220);
}

static void facts_of_ops(void **state)
{
    const struct roofline_peaks peaks = {1e9, 1e9};
    struct advice_facts facts;
    struct ops_answer answer = {.rows = {.items = ops, .count = OPS}};

    ops[CONV].cost[OP_HOST] = (struct op_cost){
        .calls = 2, .end_ns = 3000, .exec_ns = 2000, .computation_flop = 1500, .memory_bytes = 100};
    ops[REORDER].cost[OP_HOST] = (struct op_cost){
        .calls = 5, .end_ns = 1000, .exec_ns = NAN, .computation_flop = NAN, .memory_bytes = NAN};
    advice_facts_init(&facts);
    CHECK_OK(advice_measure_ops(&answer, &peaks, NULL, &facts));
    assert_true(facts.own_ns == 4000);
    assert_string_equal(facts.top_op, "conv1");
    assert_string_equal(facts.top_type, "Conv");
    assert_true(facts.top_type_ns == 3000);
    CHECK_U64(facts.type_count, 2);
    CHECK_U64(facts.layout_calls, 5);
    assert_true(facts.layout_ns == 1000);
    CHECK_U64(facts.bound_count, 1);
    assert_true(facts.bound_ns == 2000);
    assert_true(fabs(facts.win_ns - 500) < 1e-9);
    /* Where kernels ran, the host's operators do not count; kernels have no type. */
    ops[NCHW].cost[OP_DEVICE] = (struct op_cost){
        .calls = 1, .end_ns = 70, .exec_ns = NAN, .computation_flop = NAN, .memory_bytes = NAN};
    ops[PAGEABLE].cost[OP_DEVICE] = (struct op_cost){
        .calls = 1, .end_ns = 90, .exec_ns = NAN, .computation_flop = NAN, .memory_bytes = NAN};
    advice_facts_init(&facts);
    CHECK_OK(advice_measure_ops(&answer, &peaks, NULL, &facts));
    assert_true(facts.own_ns == 160);
    assert_string_equal(facts.top_op, "nchwToNhwcKernel"); /* a copy is none */
    CHECK_U64(facts.type_count, 0);
    assert_true(facts.layout_ns == 70);
    CHECK_U64(facts.bound_count, 0);
    for (int i = 0; i < OPS; i++)
        ops[i].cost[OP_HOST] = ops[i].cost[OP_DEVICE] = (struct op_cost){0};
}

/* --- What shows it. --- */

static bool has_column(const struct report_kind *kind, const char *name)
{
    for (size_t i = 0; i < kind->lines.column_count; i++) {
        if (strcmp(kind->lines.columns[i].out.name, name) == 0)
            return true;
    }
    return false;
}

/* Facts on which every rule speaks; each names a report and a column that there are. */
static void every_rule_names_a_report(void **state)
{
    struct advice_facts facts = good();
    struct advice_findings found = {0};

    facts.blocking_count = facts.launch_count = facts.layout_calls = facts.bound_count = 100;
    facts.small_count = facts.sized_count = facts.tiny_count = facts.call_count = 100;
    facts.blocking_ns = facts.copying_ns = facts.idle_ns = facts.layout_ns = 500 * MS;
    facts.top_op_ns = facts.bound_ns = facts.win_ns = 500 * MS;
    facts.idle_device = "cuda:0";
    facts.launch_median_ns = 2;
    facts.launched_median_ns = 1;
    facts.later_count = 5;
    facts.first_run_ns = 2;
    facts.later_median_ns = 1;
    facts.spread = (struct spread){.variation = 1, .drift = 1, .drift_p = 0};
    facts.growth = (struct slope){2, 1, 3};
    facts.lost_count = facts.unfinished_count = 1;
    facts.recorded_ns = 1;
    CHECK_OK(advice_find(&facts, &found));
    CHECK_U64(found.count, advice_rule_count);
    for (size_t i = 0; i < found.count; i++) {
        const struct advice_finding *finding = &found.items[i];
        const struct report_kind *kind = NULL;

        assert_string_equal(finding->rule, advice_rule_name(i));
        for (size_t k = 0; report_kinds[k] && !kind; k++)
            kind = strcmp(report_kinds[k]->name, finding->report) == 0 ? report_kinds[k] : NULL;
        if (!kind || (finding->order_by && !has_column(kind, finding->order_by)))
            fail_msg("%s names %s", finding->rule, finding->report);
    }
    array_deinit(&found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_said_without_need),
        cmocka_unit_test(copies),
        cmocka_unit_test(devices),
        cmocka_unit_test(operators),
        cmocka_unit_test(runs),
        cmocka_unit_test(memory),
        cmocka_unit_test(missing),
        cmocka_unit_test(work_on_several_lanes_is_no_more_than_all),
        cmocka_unit_test(facts_of_devices),
        cmocka_unit_test(facts_of_copies),
        cmocka_unit_test(facts_of_runs),
        cmocka_unit_test(facts_of_ops),
        cmocka_unit_test(every_rule_names_a_report),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
