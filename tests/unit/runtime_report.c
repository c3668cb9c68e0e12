/* SPDX-License-Identifier: Apache-2.0 */
/* What load_and_run prints and counts: summary, table, costs of ops, comparison, profile. */
#include "base/op_flop.h"
#include "runtime/exec/op_cost.h"
#include "runtime/graph/compare.h"
#include "runtime/modes/model_info.h"
#include "runtime/modes/profile.h"
#include "runtime/ops/operators.h"
#include "runtime/ops/shape/shape.h"
#include "runtime/session/report.h"
#include "tests/support/check.h"
#include "tests/support/graph_build.h"
#include "tests/support/temp.h"

#include <cjson/cJSON.h>
#include <math.h>

/* Summary */

static struct times_array make_times(const uint64_t *e2e, size_t count)
{
    struct times_array times = {0};

    for (size_t i = 0; i < count; i++)
        CHECK_OK(array_push(&times, ((struct session_times){e2e[i], e2e[i] / 2})));
    return times;
}

static void percentiles_are_nearest_rank(void **state)
{
    struct times_array times =
        make_times((const uint64_t[]){50, 10, 40, 20, 30, 60, 70, 80, 100, 90}, 10);
    struct report_summary s;

    CHECK_OK(report_summarise(&times, &s));
    CHECK_U64(s.total_ns, 550);
    CHECK_U64(s.min_ns, 10);
    CHECK_U64(s.max_ns, 100);
    CHECK_U64(s.median_ns, 50);
    CHECK_U64(s.p99_ns, 100);
    CHECK_NEAR(s.mean_ns, 55, 0);
    CHECK_NEAR(s.deviation_ns, 30.276503540974918, 1e-9);
    array_deinit(&times);
}

static void one_run_has_no_deviation_and_none_has_nothing(void **state)
{
    struct times_array times = make_times((const uint64_t[]){1234}, 1);
    struct times_array none = {0};
    struct report_summary s;

    CHECK_OK(report_summarise(&times, &s));
    CHECK_NEAR(s.deviation_ns, 0, 0);
    CHECK_U64(s.median_ns, 1234);
    array_deinit(&times);
    CHECK_OK(report_summarise(&none, &s));
    CHECK_U64(s.total_ns, 0);
}

static char *print_report(const struct report *report)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    report_loaded(out, report);
    report_prepared(out, report->prepare_ns);
    report_warmup(out, 0, &report->runs.items[0]);
    for (size_t i = 0; i < report->runs.count; i++)
        report_run(out, i, report->runs.count, &report->runs.items[i]);
    CHECK_OK(report_finished(out, report));
    fclose(out);
    return text;
}

static void the_lines_are_megengines(void **state)
{
    struct report report = {.load_ns = 1500000, .prepare_ns = 2250000};
    char *text;

    report.runs = make_times((const uint64_t[]){1000000, 2000000}, 2);
    text = print_report(&report);
    assert_string_equal(
        text, "load model: 1.500ms\n"
              "run testcase: 0 \n"
              "=== prepare: 2.250ms; going to warmup\n"
              "warm up 0  1.000ms\n"
              "iter 0/2: e2e=1.000 ms (host=0.500 ms)\n"
              "iter 1/2: e2e=2.000 ms (host=1.000 ms)\n"
              "=== finished test #0: time=3.000 ms avg_time=1.500 ms standard_deviation=0.707 ms "
              "min=1.000 ms max=2.000 ms median=1.000 ms p99=2.000 ms\n"
              "=== total time: 3.000ms\n");
    free(text);
    report_deinit(&report);
}

/* Table */

static void the_table_is_centred(void **state)
{
    struct graph *graph = build_graph(13);
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    build_node(graph, "Identity", "x:f32 1,3,32,32", "", "prob");
    build_output(graph, "prob");
    graph->outputs[0]->dtype = DTYPE_F32;
    graph->outputs[0]->shape = (struct shape){.rank = 2, .dims = {1, 10}};
    model_info_write(graph, out);
    fclose(out);
    assert_string_equal(text, "+Runtime Model Info-----------+---------+\n"
                              "|  type  | name |    shape    |  dtype  |\n"
                              "+--------+------+-------------+---------+\n"
                              "| INPUT  |  x   | {1,3,32,32} | float32 |\n"
                              "+--------+------+-------------+---------+\n"
                              "| OUTPUT | prob |   {1,10}    | float32 |\n"
                              "+--------+------+-------------+---------+\n");
    free(text);
    graph_destroy(&graph);
}

/* Costs of ops */

static struct op_cost count_node(const char *op_type, const char *inputs, const char *attributes,
                                 const struct fused *fused)
{
    struct graph *graph = build_graph(13);
    struct node *node = build_node(graph, op_type, inputs, attributes, "y");
    struct exec_step step = {.type = op_type, .node = node};
    struct op_cost cost;
    struct diag diag = {0};

    build_output(graph, "y");
    if (strcmp(op_type, "Frobnicate") == 0)
        node->outputs[0]->shape = (struct shape){.rank = 0};
    else if (shape_infer(graph, eval_node, &diag) != 0)
        fail_msg("%s: %s", op_type, diag.text);
    if (fused)
        node->fused = *fused;
    step.inputs = (const struct value *const *)node->inputs;
    step.input_count = node->input_count;
    step.outputs = (const struct value *const *)node->outputs;
    step.output_count = node->output_count;
    cost = op_cost_of(&step);
    graph_destroy(&graph);
    return cost;
}

static void formulas_give_known_counts(void **state)
{
    static const struct {
        const char *op_type, *inputs, *attributes;
        int64_t computation, memory_bytes;
    } cases[] = {
        /* The first row of the sample in MegEngine's documentation. */
        {"Conv", "x:f32 1,3,224,224; w:f32 64,3,7,7", "strides=[2,2] pads=[3,3,3,3]", 236027904,
         3851008},
        {"Conv", "x:f32 1,4,5,5; w:f32 4,1,3,3; b:f32 4", "group=4", 36 * 18 + 36,
         (100 + 36 + 4 + 36) * 4},
        {"Gemm", "a:f32 2,3; b:f32 3,4; c:f32 4", "", 2 * 2 * 3 * 4 + 8, (6 + 12 + 4 + 8) * 4},
        {"Gemm", "a:f32 3,2; b:f32 3,4", "transA=1", 2 * 2 * 3 * 4, (6 + 12 + 8) * 4},
        {"MatMul", "a:f32 5,2,3; b:f32 3,4", "", 2 * 5 * 2 * 3 * 4, (30 + 12 + 40) * 4},
        {"Add", "a:f32 2,3; b:f32 3", "", 6, (6 + 3 + 6) * 4},
        {"Sum", "a:f32 2; b:f32 2; c:f32 2", "", 4, 8 * 4},
        {"Relu", "x:f32 2,3", "", 6, 48},
        {"Clip", "x:f32 6; lo:f32 =0; hi:f32 =1", "", 6, (6 + 1 + 1 + 6) * 4},
        {"MaxPool", "x:f32 1,1,4,4", "kernel_shape=[2,2] strides=[2,2]", 16, 80},
        {"GlobalAveragePool", "x:f32 1,2,3,3", "", 18, 80},
        {"BatchNormalization", "x:f32 1,2,3; s:f32 2; b:f32 2; m:f32 2; v:f32 2", "", 12,
         (6 + 8 + 6) * 4},
        {"Softmax", "x:f32 2,5", "", 50, 80},
        {"LRN", "x:f32 1,4,1,1", "size=3", 40, 32},
        {"Concat", "a:f32 2; b:f32 3", "axis=0", 0, 40},
        {"Gather", "x:f32 100,8; i:i64 2", "", 0, 2 * 64 + 16},
        {"ConvTranspose", "x:f32 1,2,3,3; w:f32 2,4,2,2; b:f32 4", "strides=[2,2]",
         2 * 18 * 16 + 4 * 36, -1},
        {"ConvInteger", "x:u8 1,2,4,4; w:u8 3,2,3,3; z:u8 =1", "", 12 * 2 * 18, -1},
        {"MatMulInteger", "a:u8 5,3; b:i8 3,4", "", 2 * 5 * 3 * 4, 15 + 12 + 80},
        {"QLinearMatMul",
         "a:u8 2,3; s:f32 =1; z:u8 =0; b:u8 3,4; t:f32 =1; c:u8 =0; u:f32 =1; d:u8 =0", "",
         2 * 2 * 3 * 4 + 3 * 8, -1},
        {"Einsum", "a:f32 2,3,5; b:f32 2,5,7", "equation='bij,bjk->bik'", 2 * 2 * 3 * 5 * 7, -1},
        {"Einsum", "a:f32 4,4", "equation='ii->'", 4, -1},
        {"Einsum", "a:f32 2,3; b:f32 4", "equation='...i,j->...ij'", 24, -1},
        {"LSTM", "x:f32 5,2,3; w:f32 1,16,3; r:f32 1,16,4; b:f32 1,32", "hidden_size=4",
         10 * (2 * (48 + 64) + 4 * 4 * 3 + 4 * 9), -1},
        {"GRU", "x:f32 5,2,3; w:f32 1,12,3; r:f32 1,12,4", "hidden_size=4",
         10 * (2 * (36 + 48) + 4 * 3 + 4 * 8), -1},
        {"RNN", "x:f32 5,2,3; w:f32 2,4,3; r:f32 2,4,4", "hidden_size=4 direction='bidirectional'",
         10 * (2 * (24 + 32) + 8 + 8), -1},
        {"ReduceMean", "x:f32 2,3,4", "axes=[2]", 24 + 6, (24 + 6) * 4},
        {"ReduceL2", "x:f32 2,3,4", "axes=[2]", 48 + 6, -1},
        {"ReduceSumSquare", "x:f32 2,3,4", "axes=[2]", 48, -1},
        {"ArgMax", "x:f32 2,3,4", "axis=1", 24, -1},
        {"TopK", "x:f32 2,30; k:i64=3", "", 60, -1},
        {"Resize", "x:f32 1,1,4,4; -; s:f32=1,1,2,2", "mode='linear'", 64 * 2 * 4, -1},
        {"Resize", "x:f32 1,1,4,4; -; s:f32=1,1,2,1", "mode='cubic'", 32 * 2 * 4, -1},
        {"Resize", "x:f32 1,1,4,4; -; s:f32=1,1,2,2", "mode='nearest'", 0, -1},
        {"InstanceNormalization", "x:f32 2,3,4,4; s:f32 3; b:f32 3", "", 96 * 7 + 6 * 5, -1},
        {"LpPool", "x:f32 1,1,4,4", "kernel_shape=[2,2] strides=[2,2]", 4 * 9, -1},
        {"Mean", "a:f32 4; b:f32 4; c:f32 4", "", 12, -1},
        {"QuantizeLinear", "x:f32 6; s:f32 =1; z:u8 =0", "", 18, -1},
        {"DequantizeLinear", "x:u8 6; s:f32 =1; z:u8 =0", "", 12, -1},
        {"Where", "c:bool 3; a:f32 3; b:f32 3", "", 0, -1},
        {"Frobnicate", "x:f32 2", "", -1, -1}, /* not known, which is not 0 */
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct op_cost f = count_node(cases[i].op_type, cases[i].inputs, cases[i].attributes, NULL);

        if (f.computation != cases[i].computation)
            fail_msg("%s computes %lld, not %lld", cases[i].op_type, (long long)f.computation,
                     (long long)cases[i].computation);
        if (cases[i].memory_bytes >= 0 && f.memory_bytes != cases[i].memory_bytes)
            fail_msg("%s moves %lld, not %lld", cases[i].op_type, (long long)f.memory_bytes,
                     (long long)cases[i].memory_bytes);
    }
}

/* Whatever a model can hold has a place under the roofline. */
static void every_operator_has_a_formula(void **state)
{
    struct operator_facts facts;

    for (size_t i = 0; i < operators_count(); i++) {
        operators_get(i, &facts);
        if (!op_flop_knows(facts.op_type))
            fail_msg("%s has no formula", facts.op_type);
    }
    assert_false(op_flop_knows("Frobnicate"));
}

static void what_is_fused_counts(void **state)
{
    struct fused fused = {ACTIVATION_RELU, 0, 0, -1};

    assert_int_equal(count_node("Gemm", "a:f32 2,3; b:f32 3,4", "", &fused).computation, 48 + 8);
    fused.residual_input = 3;
    assert_int_equal(count_node("Gemm", "a:f32 2,3; b:f32 3,4", "", &fused).computation, 48 + 16);
}

/* Comparison */

static struct comparison compare_floats(const float *got, const float *expected, int64_t count)
{
    struct tensor_view a = {DTYPE_F32, {1, {count}}, (void *)got};
    struct tensor_view b = {DTYPE_F32, {1, {count}}, (void *)expected};
    struct tolerance tolerance = {.rtol = 1e-3, .atol = 1e-7};

    return compare_tensors(&a, &b, &tolerance);
}

static void the_worst_element_is_found(void **state)
{
    struct comparison c = compare_floats((float[]){1, 100.05f, 0.5f}, (float[]){1, 100, 0.51f}, 3);

    assert_false(comparison_passed(&c));
    assert_int_equal(c.mismatches, 1);
    /* 0.05 of 100 is allowed; 0.01 of 0.51 is not, and is worse in its own measure. */
    assert_int_equal(c.worst_index, 2);
    CHECK_NEAR(c.worst_error, 0.01, 1e-6);
    CHECK_NEAR(c.worst_allowed, 0.00051 + 1e-7, 1e-8);
    c = compare_floats((float[]){1, 100.05f}, (float[]){1, 100}, 2);
    assert_true(comparison_passed(&c));
    assert_int_equal(c.worst_index, 1);
}

static void nan_equals_nan_and_infinities_themselves(void **state)
{
    struct comparison c =
        compare_floats((float[]){NAN, INFINITY, -INFINITY}, (float[]){NAN, INFINITY, -INFINITY}, 3);

    assert_true(comparison_passed(&c));
    c = compare_floats((float[]){NAN}, (float[]){0}, 1);
    assert_int_equal(c.mismatches, 1);
    c = compare_floats((float[]){1e30f}, (float[]){INFINITY}, 1);
    assert_int_equal(c.mismatches, 1);
    c = compare_floats((float[]){-INFINITY}, (float[]){INFINITY}, 1);
    assert_int_equal(c.mismatches, 1);
}

static void integers_must_be_equal(void **state)
{
    int64_t got[] = {1000000, 5}, expected[] = {1000001, 5};
    struct tensor_view a = {DTYPE_I64, {1, {2}}, got};
    struct tensor_view b = {DTYPE_I64, {1, {2}}, expected};
    struct tolerance tolerance = {.rtol = 1e-3, .atol = 1e-7};
    struct comparison c = compare_tensors(&a, &b, &tolerance);

    assert_int_equal(c.mismatches, 1);
    b.shape = (struct shape){.rank = 2, .dims = {2, 1}};
    assert_false(compare_tensors(&a, &b, &tolerance).same_form);
    b = a;
    b.dtype = DTYPE_I32;
    assert_false(compare_tensors(&a, &b, &tolerance).same_form);
}

static void positions_are_written_per_dimension(void **state)
{
    struct shape shape = {.rank = 3, .dims = {2, 3, 4}};
    char text[SHAPE_TEXT_BYTES];

    assert_string_equal(compare_index_text(&shape, 23, text), "{1,2,3}");
    assert_string_equal(compare_index_text(&shape, 4, text), "{0,1,0}");
}

/* Profile */

static const cJSON *member(const cJSON *object, const char *path)
{
    char *copy = strdup(path);
    const cJSON *at = object;

    for (char *key = strtok(copy, "/"); key; key = strtok(NULL, "/")) {
        at = cJSON_GetObjectItemCaseSensitive(at, key);
        if (!at)
            fail_msg("no %s in %s", key, path);
    }
    free(copy);
    return at;
}

/* A small graph: Conv with Relu, then a Softmax. */
static struct session *small_session(void)
{
    struct session *session = calloc(1, sizeof(*session));
    struct graph *graph = build_graph(13);
    struct exec_options options = {.threads = 1};
    struct diag diag = {0};
    struct node *conv;

    conv = build_node(graph, "Conv", "x:f32 1,2,4,4; w:f32 2,2,1,1=1,2,3,4", "", "c");
    conv->fused.activation = ACTIVATION_RELU;
    build_node(graph, "Flatten", "c", "", "f");
    build_node(graph, "Softmax", "f", "", "y");
    build_output(graph, "y");
    CHECK_OK(shape_infer(graph, eval_node, &diag));
    session->graph = graph;
    if (exec_create(graph, &options, &session->exec, &diag) < 0)
        fail_msg("%s", diag.text);
    return session;
}

static void check_times(const cJSON *marks)
{
    double start = member(marks, "start")->valuedouble;
    double kern = member(marks, "kern")->valuedouble;
    double end = member(marks, "end")->valuedouble;

    if (!(start <= kern && kern <= end && end > 0 && end < 60))
        fail_msg("start %g, kern %g, end %g", start, kern, end);
}

static cJSON *run_and_write(struct session *session, bool with_device, const char *path)
{
    struct profile *profile;
    struct session_times times;
    struct diag diag = {0};
    char *text;
    cJSON *root;

    CHECK_OK(profile_create(session, &profile, &diag));
    for (int i = 0; i < 3; i++) {
        profile_run_begin(profile, i == 0);
        CHECK_OK(session_run(session, &times, &diag));
        CHECK_OK(profile_run_end(profile, &times));
    }
    CHECK_OK(profile_write(profile, with_device, path, &diag));
    text = temp_read(path, NULL);
    root = cJSON_Parse(text);
    assert_non_null(root);
    free(text);
    session_destroy(&session);
    profile_destroy(&profile);
    return root;
}

static void the_profile_has_megengines_shape(void **state)
{
    char *folder = temp_create();
    char *path = temp_path(folder, "p.json");
    cJSON *root = run_and_write(small_session(), true, path);
    const cJSON *operators = member(root, "graph_exec/operator");
    const cJSON *sequence = member(root, "graph_exec/comp_seq");
    const cJSON *id;

    assert_string_equal(member(operators, "0/type")->valuestring, "Conv");
    assert_string_equal(member(operators, "0/name")->valuestring, "Conv_0");
    assert_int_equal(cJSON_GetArraySize(operators), cJSON_GetArraySize(sequence));
    cJSON_ArrayForEach(id, sequence)
    {
        char key[100];

        snprintf(key, sizeof(key), "profiler/device/%s", id->valuestring);
        check_times(member(root, key)->child);
        snprintf(key, sizeof(key), "profiler/host/%s", id->valuestring);
        check_times(member(root, key)->child);
        snprintf(key, sizeof(key), "optrace/device_total/%s/count", id->valuestring);
        assert_int_equal(member(root, key)->valueint, 2);
        snprintf(key, sizeof(key), "profiler/opr_footprint/%s/memory", id->valuestring);
        assert_true(member(root, key)->valueint > 0);
    }
    /* 32 outputs, 2 products each, and the Relu. */
    assert_int_equal(member(root, "profiler/opr_footprint/0/computation")->valueint, 32 * 4 + 32);
    assert_string_equal(
        member(root, "profiler/opr_footprint/0/param/fused_activation")->valuestring, "Relu");
    for (const cJSON *var = member(root, "graph_exec/var")->child; var; var = var->next)
        assert_string_equal(member(var, "mem_plan/layout/dtype")->valuestring, "Float32");
    assert_int_equal(member(root, "optrace/run_count")->valueint, 3);
    assert_int_equal(member(root, "optrace/warmup_count")->valueint, 1);
    assert_int_equal(cJSON_GetArraySize(member(root, "optrace/runs")), 3);
    assert_true(member(root, "optrace/device_offset_s")->valuedouble > 0);
    cJSON_Delete(root);
    free(path);
    temp_destroy(&folder);
}

static void the_hosts_profile_has_no_device(void **state)
{
    char *folder = temp_create();
    char *path = temp_path(folder, "p.json");
    cJSON *root = run_and_write(small_session(), false, path);

    assert_int_equal(cJSON_GetArraySize(member(root, "profiler/device")), 0);
    assert_true(cJSON_GetArraySize(member(root, "profiler/host")) >= 2);
    cJSON_Delete(root);
    free(path);
    temp_destroy(&folder);
}

static void a_profile_that_cannot_be_written_says_so(void **state)
{
    struct session *session = small_session();
    char *folder = temp_create();
    char *path = temp_path(folder, "none/p.json");
    struct profile *profile;
    struct diag diag = {0};

    CHECK_OK(profile_create(session, &profile, &diag));
    assert_int_equal(profile_write(profile, true, path, &diag), -EIO);
    CHECK_CONTAINS(diag.text, "cannot write '");
    CHECK_CONTAINS(diag.text, path);
    session_destroy(&session);
    profile_destroy(&profile);
    free(path);
    temp_destroy(&folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(percentiles_are_nearest_rank),
        cmocka_unit_test(one_run_has_no_deviation_and_none_has_nothing),
        cmocka_unit_test(the_lines_are_megengines),
        cmocka_unit_test(the_table_is_centred),
        cmocka_unit_test(formulas_give_known_counts),
        cmocka_unit_test(every_operator_has_a_formula),
        cmocka_unit_test(what_is_fused_counts),
        cmocka_unit_test(the_worst_element_is_found),
        cmocka_unit_test(nan_equals_nan_and_infinities_themselves),
        cmocka_unit_test(integers_must_be_equal),
        cmocka_unit_test(positions_are_written_per_dimension),
        cmocka_unit_test(the_profile_has_megengines_shape),
        cmocka_unit_test(the_hosts_profile_has_no_device),
        cmocka_unit_test(a_profile_that_cannot_be_written_says_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
