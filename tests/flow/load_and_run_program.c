/* SPDX-License-Identifier: Apache-2.0 */
/* What load_and_run tells of a model's instructions: printed, timed, looked into, checked. */
#include <cjson/cJSON.h>

#include "base/exit_status.h"
#include "tests/support/check.h"
#include "tests/support/model_scene.h"
#include "tests/support/onnx_sample.h"
#include "tests/support/place.h"
#include "tests/support/temp.h"

static struct child_result run_in(const char *const *environment,
                                  const char *const words[MODEL_WORDS_MAX])
{
    /* The model's two operators stay two: these tests look at each. */
    const char *line[MODEL_WORDS_MAX] = {"--no-enable-jit"};

    for (int i = 0; i < MODEL_WORDS_MAX - 1 && words[i]; i++)
        line[i + 1] = words[i];
    return model_scene_run(environment, line);
}

static const char *const no_daemon[] = {"OPTRACE_SOCKET=/nonexistent/collector.sock", NULL};

/* What it printed; the caller frees it. */
static char *run(int status, const char *const words[MODEL_WORDS_MAX])
{
    struct child_result result = run_in(no_daemon, words);
    char *out = strdup(result.out);

    if (result.status != status)
        fail_msg("status %d: %s", result.status, result.err);
    child_result_deinit(&result);
    return out;
}

#define RUN(...)            run(EXIT_OK, MODEL_WORDS(__VA_ARGS__))
#define RUN_AS(status, ...) run(status, MODEL_WORDS(__VA_ARGS__))

static const cJSON *at(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

    if (!item)
        fail_msg("no %s", key);
    return item;
}

/* Which kernel is chosen depends on the machine: by="..." becomes by=?. */
static void hide_kernels(char *text)
{
    char *by = text;

    while ((by = strstr(by, "by=\""))) {
        char *end = strchr(by + 4, '"');

        assert_non_null(end);
        by[3] = '?';
        memmove(by + 4, end + 1, strlen(end));
    }
}

static void instructions_before_and_after(void **state)
{
    char *text = RUN("good.onnx", "--print-graph", "text");

    hide_kernels(text);
    assert_string_equal(text, "module: \"main\"\n"
                              "x = @param:x -> float32, {2,3}, {3,1}\n"
                              "@1 = @literal{0, 1, 2, 3, 4, 5} -> float32, {2,3}, {3,1}\n"
                              "@2 = Add(x,@1) -> float32, {2,3}, {3,1} # sum\n"
                              "@3 = Relu(@2) -> float32, {2,3}, {3,1} # act\n"
                              "@4 = @return(@3)\n"
                              "\n"
                              "module: \"main\"\n"
                              "x = @param:x -> float32, {2,3}, {3,1}\n"
                              "@1 = @literal{0, 1, 2, 3, 4, 5} -> float32, {2,3}, {3,1}\n"
                              "@2 = Add[by=?,arena=0](x,@1) -> float32, {2,3}, {3,1} # sum\n"
                              "@3 = Relu[by=?,arena=0](@2) -> float32, {2,3}, {3,1} # act\n"
                              "@4 = @return(@3)\n");
    free(text);
}

static void graphs_for_graphviz(void **state)
{
    char *dot = RUN("good.onnx", "--print-graph", "dot", "--print-stage", "before");
    char *brief = RUN("good.onnx", "--print-graph", "brief", "--print-stage", "after");

    CHECK_CONTAINS(dot, "digraph \"before\" {\n");
    CHECK_CONTAINS(dot, "label=\"Add\\n@2\"");
    CHECK_CONTAINS(dot, "\"@0\" -> \"@2\" [label=\"float32 {2,3}\"]\n");
    CHECK_LACKS(dot, "digraph \"after\"");
    CHECK_CONTAINS(brief, "digraph \"after\" {\n");
    CHECK_CONTAINS(brief, "\"@0\" -> \"@2\"\n");
    CHECK_LACKS(brief, "float32");
    free(dot);
    free(brief);
}

static void graphs_as_json(void **state)
{
    char *text = RUN("good.onnx", "--print-graph", "json");
    cJSON *root = cJSON_Parse(text);
    const cJSON *after, *add;

    assert_non_null(root);
    assert_int_equal(cJSON_GetArraySize(at(root, "graphs")), 2);
    after = cJSON_GetArrayItem(at(root, "graphs"), 1);
    assert_string_equal(at(after, "name")->valuestring, "after");
    add = cJSON_GetArrayItem(at(after, "instructions"), 2);
    assert_string_equal(at(add, "operator")->valuestring, "Add");
    assert_string_equal(cJSON_GetArrayItem(at(add, "inputs"), 0)->valuestring, "x");
    assert_string_equal(cJSON_GetArrayItem(at(add, "origins"), 0)->valuestring, "sum");
    assert_int_equal(at(add, "arena_offset")->valueint, 0);
    cJSON_Delete(root);
    free(text);
}

static void what_is_known_of_a_bad_model_is_printed(void **state)
{
    struct child_result result =
        run_in(no_daemon, MODEL_WORDS("unknown.onnx", "--print-graph", "text"));

    assert_int_equal(result.status, EXIT_INPUT);
    CHECK_CONTAINS(result.err, "Frobnicate");
    child_result_deinit(&result);
}

static void performance_report(void **state)
{
    char *text = RUN("good.onnx", "--perf-report", "--iter", "8", "--detailed");

    CHECK_CONTAINS(text, "@2 = Add[by=");
    CHECK_CONTAINS(text, "%\n@4 = @return(@3)\n\nSummary:\n");
    CHECK_CONTAINS(text, "\nAdd<float32(2x3, 2x3)>: ");
    CHECK_CONTAINS(text, "\nBatch size: 2\nRate: ");
    CHECK_CONTAINS(text, "\nPercentiles (90%, 95%, 99%): (");
    CHECK_CONTAINS(text, "\nOverhead time: ");
    CHECK_CONTAINS(text, "\n8 runs after 1 warm-up. ");
    free(text);
}

static void the_numbers_of_the_report_agree(void **state)
{
    char *text = RUN("good.onnx", "--perf-report", "--iter", "9", "--json");
    cJSON *root = cJSON_Parse(text);
    const cJSON *total, *sorted;
    double sum = 0;

    assert_non_null(root);
    total = at(root, "total");
    sorted = at(total, "sorted_ms");
    assert_int_equal(cJSON_GetArraySize(sorted), 9);
    for (int i = 2; i < 7; i++) /* a quarter of nine, rounded down, is dropped on each side */
        sum += cJSON_GetArrayItem(sorted, i)->valuedouble;
    CHECK_NEAR(at(total, "interquartile_mean_ms")->valuedouble, sum / 5, 1e-12);
    CHECK_NEAR(at(total, "median_ms")->valuedouble, cJSON_GetArrayItem(sorted, 4)->valuedouble, 0);
    CHECK_NEAR(at(root, "inferences_per_s")->valuedouble, 2 * 1000 / (sum / 5), 1e-3);
    CHECK_NEAR(at(root, "other_overhead_ms")->valuedouble,
               sum / 5 - at(root, "instructions_ms")->valuedouble, 1e-12);
    sum = 0;
    assert_int_equal(cJSON_GetArraySize(at(root, "summary")), 2);
    for (int i = 0; i < 2; i++)
        sum += at(cJSON_GetArrayItem(at(root, "summary"), i), "share_of_instructions")->valuedouble;
    CHECK_NEAR(sum, 1, 1e-12);
    assert_int_equal(cJSON_GetArraySize(at(root, "instructions")), 2);
    cJSON_Delete(root);
    free(text);
}

static void values_of_each_instruction(void **state)
{
    char *text = RUN("good.onnx", "--trace-eval", "3", "--iter", "1", "--warmup-iter", "0",
                     "--input", "x:[-9,0.5,1],[-3,0,1]");

    CHECK_CONTAINS(text, "Run instruction: @3 = Relu[");
    CHECK_CONTAINS(text, "\nTime: ");
    CHECK_CONTAINS(text, "\nOutput has normal, zero\nOutput: 0, 1.5, 3, 0, 4, 6\n"
                         "Min value: 0, Max value: 6, Mean: 2.41667, StdDev: 2.16827\n");
    free(text);
}

static void the_environment_traces_too(void **state)
{
    const char *const environment[] = {"OPTRACE_SOCKET=/nonexistent/collector.sock",
                                       "OPTRACE_TRACE_EVAL=1", NULL};
    const char *const wrong[] = {"OPTRACE_TRACE_EVAL=7", NULL};
    const char *const words[MODEL_WORDS_MAX] = {"good.onnx", "--iter", "1"};
    struct child_result result = run_in(environment, words);

    assert_int_equal(result.status, EXIT_OK);
    CHECK_CONTAINS(result.out, "Run instruction: @2");
    CHECK_LACKS(result.out, "Output has");
    child_result_deinit(&result);
    result = run_in(wrong, words);
    assert_int_equal(result.status, EXIT_USAGE);
    CHECK_CONTAINS(result.err, "OPTRACE_TRACE_EVAL is a level from 0 to 3, not \"7\"");
    child_result_deinit(&result);
}

static void operators_against_their_reference(void **state)
{
    char *text = RUN("good.onnx", "--verify-against", "ref");

    assert_string_equal(text, "passed: all 2 operators agree with their reference\n");
    free(text);
}

/* A real network in fast kernels differs from its reference somewhere when nothing may differ. */
static void the_first_operator_that_differs_is_named(void **state)
{
    char *model = place_shared("onnx-cases/light/test_light_squeezenet/model.onnx");
    char *text;

    if (!model)
        CHECK_SKIP("the shared models are not here");
    text = RUN(model, "--verify-against", "ref");
    CHECK_CONTAINS(text, "operators agree with their reference\n");
    free(text);
    text = RUN_AS(EXIT_NO, model, "--verify-against", "ref", "--rtol", "0", "--atol", "0");
    CHECK_CONTAINS(text, "elements differ, worst at {");
    CHECK_CONTAINS(text, "operators differ, the first is @");
    free(text);
    free(model);
}

static int begin(void **state)
{
    const int rc = model_scene_begin_good(state);
    struct onnx_sample sample;

    onnx_sample_init(&sample);
    sample.nodes[1].op_type = "Frobnicate";
    model_scene_write_sample("unknown.onnx", &sample);
    return rc;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instructions_before_and_after),
        cmocka_unit_test(graphs_for_graphviz),
        cmocka_unit_test(graphs_as_json),
        cmocka_unit_test(what_is_known_of_a_bad_model_is_printed),
        cmocka_unit_test(performance_report),
        cmocka_unit_test(the_numbers_of_the_report_agree),
        cmocka_unit_test(values_of_each_instruction),
        cmocka_unit_test(the_environment_traces_too),
        cmocka_unit_test(operators_against_their_reference),
        cmocka_unit_test(the_first_operator_that_differs_is_named),
    };

    return cmocka_run_group_tests(tests, begin, model_scene_end);
}
