/* SPDX-License-Identifier: Apache-2.0 */
/* What a person can get wrong with load_and_run: one sentence on stderr, nothing on stdout, and the
 * documented exit status. */
#include <sys/stat.h>
#include <unistd.h>

#include "base/exit_status.h"
#include "tests/support/check.h"
#include "tests/support/model_scene.h"
#include "tests/support/onnx_sample.h"
#include "tests/support/temp.h"

static const char *const no_daemon[] = {"OPTRACE_SOCKET=/nonexistent/collector.sock", NULL};

static unsigned count_lines(const char *text)
{
    unsigned count = 0;

    for (; *text != '\0'; text++)
        count += *text == '\n';
    return count;
}

/* usage mistakes also get the line "Try ...". */
static void expect(const char *const words[MODEL_WORDS_MAX], int status, const char *sentence)
{
    struct child_result result = model_scene_run(no_daemon, words);

    if (result.status != status)
        fail_msg("status %d instead of %d (%s): %s", result.status, status, sentence, result.err);
    CHECK_CONTAINS(result.err, sentence);
    CHECK_CONTAINS(result.err, "load_and_run: ");
    assert_int_equal(count_lines(result.err), status == EXIT_USAGE ? 2 : 1);
    assert_string_equal(result.out, "");
    child_result_deinit(&result);
}

#define EXPECT(status, sentence, ...) expect(MODEL_WORDS(__VA_ARGS__), status, sentence)

static void write_text(const char *name, const char *text)
{
    free(temp_write(model_scene.folder, name, text, strlen(text)));
}

static void wrong_use(void **state)
{
    EXPECT(EXIT_USAGE, "which model?", NULL);
    EXPECT(EXIT_USAGE, "unknown option '--fast-runn'", "good.onnx", "--fast-runn");
    EXPECT(EXIT_REFUSED, "--tensorrt is not offered: it needs NVIDIA's TensorRT", "good.onnx",
           "--tensorrt");
    EXPECT(EXIT_USAGE, "--iter", "good.onnx", "--iter", "-1");
    EXPECT(EXIT_USAGE, "--thread", "good.onnx", "--thread", "0");
    EXPECT(EXIT_USAGE, "exclude each other", "good.onnx", "--trace", "--no-trace");
    EXPECT(EXIT_USAGE, "exclude each other", "good.onnx", "--counters", "cycles", "--no-trace");
    EXPECT(EXIT_USAGE, "no counter \"cycle\": did you mean cycles?", "good.onnx", "--counters",
           "cycle");
    EXPECT(EXIT_USAGE, "exclude each other", "good.onnx", "--profile", "a", "--profile-host", "b");
    EXPECT(EXIT_USAGE, "needs --thread 1", "good.onnx", "--profile", "a", "--thread", "2");
    EXPECT(EXIT_USAGE, "--rtol has no effect on timing runs", "good.onnx", "--rtol", "0.1");
    EXPECT(EXIT_USAGE, "--iter has no effect on --verify", "good.onnx", "--verify", ".", "--iter",
           "3");
    EXPECT(EXIT_USAGE, "it takes no model", "good.onnx", "--calibrate");
    EXPECT(EXIT_USAGE, "--iter has no effect on --calibrate", "--calibrate", "--iter", "3");
    EXPECT(EXIT_USAGE, "--verify and --perf-report exclude each other", "good.onnx", "--verify",
           ".", "--perf-report");
    EXPECT(EXIT_USAGE, "--json has no effect on --print-graph", "good.onnx", "--print-graph",
           "text", "--json");
    EXPECT(EXIT_USAGE, "--detailed has no effect on timing runs", "good.onnx", "-d");
    EXPECT(EXIT_USAGE, "--trace has no effect on --perf-report", "good.onnx", "--perf-report",
           "--trace");
    EXPECT(EXIT_USAGE, "--perf-report needs --iter 1", "good.onnx", "--perf-report", "--iter", "0");
    EXPECT(EXIT_USAGE, "do not go with --json", "good.onnx", "--trace-eval", "1", "--json");
    EXPECT(EXIT_USAGE, "", "good.onnx", "another.onnx");
}

static void models_that_cannot_be_read(void **state)
{
    struct onnx_sample sample;
    size_t size;
    uint8_t *bytes;

    onnx_sample_init(&sample);
    bytes = onnx_sample_pack(&sample, &size);
    free(temp_write(model_scene.folder, "truncated.onnx", bytes, size - 20));
    free(bytes);
    write_text("foreign.onnx", "this is no model\n");
    write_text("empty.onnx", "");
    sample.model.ir_version = 99;
    model_scene_write_sample("new.onnx", &sample);
    EXPECT(EXIT_INPUT, "cannot open 'absent.onnx': No such file", "absent.onnx");
    EXPECT(EXIT_INPUT, "truncated.onnx: the model is truncated", "truncated.onnx");
    EXPECT(EXIT_INPUT, "foreign.onnx: this is not an ONNX model", "foreign.onnx");
    EXPECT(EXIT_INPUT, "empty.onnx: the model is empty", "empty.onnx");
    EXPECT(EXIT_INPUT, "IR version 99, which is too new", "new.onnx");
    EXPECT(EXIT_INPUT, "'.' is a folder", ".");
}

static void a_model_without_permission(void **state)
{
    char *path;

    if (geteuid() == 0)
        CHECK_SKIP("root may read everything");
    path = temp_path(model_scene.folder, "good.onnx");
    CHECK_OK(chmod(path, 0));
    EXPECT(EXIT_SYSTEM, "Permission denied", "good.onnx");
    CHECK_OK(chmod(path, 0600));
    free(path);
}

static void operators_that_are_not_supported(void **state)
{
    struct onnx_sample sample;

    onnx_sample_init(&sample);
    sample.nodes[0].op_type = "Frobnicate";
    model_scene_write_sample("unknown.onnx", &sample);
    sample.nodes[0].op_type = "Add";
    sample.nodes[0].domain = "com.example";
    model_scene_write_sample("domain.onnx", &sample);
    sample.nodes[0].domain = NULL;
    sample.nodes[1].op_type = "Sigmoid"; /* of uint64, for which there is no kernel */
    sample.tensor_type.elem_type = 13;
    sample.weight.data_type = 13;
    sample.weight.n_float_data = 0;
    sample.weight.uint64_data = (uint64_t[6]){0};
    sample.weight.n_uint64_data = 6;
    model_scene_write_sample("kernel.onnx", &sample);
    EXPECT(EXIT_INPUT, "operator Frobnicate (opset 13) of node \"sum\" is not supported",
           "unknown.onnx");
    EXPECT(EXIT_INPUT, "operator com.example.Add (opset 0) of node \"sum\"", "domain.onnx");
    EXPECT(EXIT_INPUT, "node \"act\" (Sigmoid, opset 13)", "kernel.onnx");
}

static void input_that_does_not_fit(void **state)
{
    write_text("broken.json", "{\"x\": {\"shape\": [2,\n}}");
    write_text("double.json", "{\"x\": {\"shape\": [2,3], \"type\": \"float64\", "
                              "\"raw\": [1,2,3,4,5,6]}}");
    EXPECT(EXIT_INPUT, "the model has no input 'z'; its inputs are 'x'", "good.onnx", "--input",
           "z:{2,3}");
    EXPECT(EXIT_INPUT, "input 'x' has shape {2,3} in the model, but {3} was given", "good.onnx",
           "--input", "x:1,2,3");
    EXPECT(EXIT_INPUT, "input 'x' is float32 in the model, but float64 was given", "good.onnx",
           "--input", "double.json");
    EXPECT(EXIT_INPUT, "broken.json: malformed JSON at line 2", "good.onnx", "--input",
           "broken.json");
    EXPECT(EXIT_INPUT, "ragged", "good.onnx", "--input", "x:[1,2,3],[4,5]");
    EXPECT(EXIT_INPUT, "absent.npy", "good.onnx", "--input", "x:absent.npy");
    EXPECT(EXIT_INPUT, "--batch 4 does not fit input 'x', whose first dimension is 2", "good.onnx",
           "--batch", "4");
    EXPECT(EXIT_INPUT, "has shape {2,3} in the model, but {2,4} was given", "good.onnx",
           "--input-dim", "@x", "2", "4");
    EXPECT(EXIT_INPUT, "the model has no input 'y'", "good.onnx", "--input-dim", "@x", "2", "3",
           "@y", "2");
    EXPECT(EXIT_INPUT, "takes @NAME and the sizes", "good.onnx", "--input-dim", "x 2 3");
    EXPECT(EXIT_INPUT, "\"2x\" is no size", "good.onnx", "--input-dim", "@x 2x");
    EXPECT(EXIT_INPUT, "given twice", "good.onnx", "--input", "x:{2,3}", "--input", "{2,3}");
}

static void what_cannot_be_written(void **state)
{
    const char *const argv[] = {"/bin/sh", "-c", "\"$0\" good.onnx --json --no-trace >/dev/full",
                                model_scene.program, NULL};
    struct child_options options = {.directory = model_scene.folder};
    struct child_result result = child_run(argv, &options);

    assert_int_equal(result.status, EXIT_SYSTEM);
    CHECK_CONTAINS(result.err, "cannot write the result: No space left on device");
    child_result_deinit(&result);
    result = model_scene_run(
        no_daemon, MODEL_WORDS("good.onnx", "--profile", "no/such/model_scene.folder.json"));
    assert_int_equal(result.status, EXIT_SYSTEM);
    CHECK_CONTAINS(result.err, "cannot write 'no/such/model_scene.folder.json': No such file");
    child_result_deinit(&result);
}

static void no_daemon_for_a_required_trace(void **state)
{
    EXPECT(EXIT_SYSTEM, "not recording: /nonexistent/collector.sock", "good.onnx", "--trace");
    EXPECT(EXIT_SYSTEM, "not recording: /nonexistent/collector.sock", "good.onnx", "--counters",
           "task-clock");
}

static void several_threads_give_one_sentence(void **state)
{
    EXPECT(EXIT_INPUT, "cannot open 'absent.onnx'", "absent.onnx", "--thread", "3");
}

static void test_data_that_is_not_there(void **state)
{
    char *path = temp_path(model_scene.folder, "sets");

    CHECK_OK(mkdir(path, 0700));
    EXPECT(EXIT_INPUT, "'sets' holds neither output_0.pb nor a test_data_set_0", "good.onnx",
           "--verify", "sets");
    EXPECT(EXIT_INPUT, "cannot read 'absent'", "good.onnx", "--verify", "absent");
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_use),
        cmocka_unit_test(models_that_cannot_be_read),
        cmocka_unit_test(a_model_without_permission),
        cmocka_unit_test(operators_that_are_not_supported),
        cmocka_unit_test(input_that_does_not_fit),
        cmocka_unit_test(what_cannot_be_written),
        cmocka_unit_test(no_daemon_for_a_required_trace),
        cmocka_unit_test(several_threads_give_one_sentence),
        cmocka_unit_test(test_data_that_is_not_there),
    };

    return cmocka_run_group_tests(tests, model_scene_begin_good, model_scene_end);
}
