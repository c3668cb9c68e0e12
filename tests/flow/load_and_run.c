/* SPDX-License-Identifier: Apache-2.0 */
/* load_and_run on small and on real models: what it prints, computes, verifies and profiles. */
#include <cjson/cJSON.h>
#include <dirent.h>
#include <sys/stat.h>

#include "base/exit_status.h"
#include "tests/support/check.h"
#include "tests/support/child.h"
#include "tests/support/onnx_sample.h"
#include "tests/support/place.h"
#include "tests/support/temp.h"

static char *program;
static char *folder;

enum { WORDS_MAX = 10 };

static struct child_result run(const char *const words[WORDS_MAX])
{
    /* The model's two operators stay two: these tests look at each. */
    const char *argv[WORDS_MAX + 3] = {program, "--no-enable-jit"};
    const char *environment[] = {"OPTRACE_SOCKET=/nonexistent/collector.sock", NULL};
    struct child_options options = {
        .environment = environment, .directory = folder, .timeout_ms = 300000};

    for (int i = 0; i < WORDS_MAX && words[i]; i++)
        argv[i + 2] = words[i];
    return child_run(argv, &options);
}

#define RUN(...) run((const char *const[WORDS_MAX]){__VA_ARGS__})

static cJSON *run_json(const char *const words[WORDS_MAX])
{
    struct child_result result = run(words);
    cJSON *root;

    if (result.status != EXIT_OK)
        fail_msg("status %d: %s", result.status, result.err);
    root = cJSON_Parse(result.out);
    if (!root)
        fail_msg("no JSON: %s", result.out);
    child_result_deinit(&result);
    return root;
}

static const cJSON *at(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

    if (!item)
        fail_msg("no %s", key);
    return item;
}

/* A data set for the sample: y = max(x + {0,1,2,3,4,5}, 0), with `off` added to the last output. */
static void write_data_set(const char *name, float off)
{
    char *path = temp_path(folder, name);
    Onnx__TensorProto tensor = ONNX__TENSOR_PROTO__INIT;
    int64_t dims[] = {2, 3};
    float x[] = {-9, 0.5f, 1, -3, 0, 1};
    float y[] = {0, 1.5f, 3, 0, 4, 6 + off};
    uint8_t bytes[128];

    CHECK_OK(mkdir(path, 0700));
    tensor.dims = dims;
    tensor.n_dims = 2;
    tensor.has_data_type = 1;
    tensor.data_type = 1;
    tensor.n_float_data = 6;
    tensor.float_data = x;
    free(temp_write(path, "input_0.pb", bytes, onnx__tensor_proto__pack(&tensor, bytes)));
    tensor.float_data = y;
    free(temp_write(path, "output_0.pb", bytes, onnx__tensor_proto__pack(&tensor, bytes)));
    free(path);
}

static void timing_lines_are_on_stdout(void **state)
{
    struct child_result result = RUN("good.onnx", "--iter", "3", "--warmup-iter", "2");

    assert_int_equal(result.status, EXIT_OK);
    CHECK_CONTAINS(result.out, "load model: ");
    CHECK_CONTAINS(result.out, "warm up 1  ");
    CHECK_CONTAINS(result.out, "\niter 0/3: e2e=");
    CHECK_CONTAINS(result.out, "\niter 2/3: e2e=");
    CHECK_LACKS(result.out, "iter 3/3");
    CHECK_CONTAINS(result.out, "=== finished test #0: time=");
    CHECK_CONTAINS(result.err, "input 'x' (float32 {2,3}) has no data, using random numbers");
    child_result_deinit(&result);
}

static void given_data_is_not_called_random(void **state)
{
    struct child_result result =
        RUN("good.onnx", "--iter", "1", "--input", "x:[1,2,3],[4,5,6]", "--no-trace");

    assert_int_equal(result.status, EXIT_OK);
    assert_string_equal(result.err, "");
    child_result_deinit(&result);
}

static void no_runs_print_no_runs(void **state)
{
    struct child_result result = RUN("good.onnx", "--iter", "0", "--warmup-iter", "0");

    assert_int_equal(result.status, EXIT_OK);
    CHECK_LACKS(result.out, "iter ");
    CHECK_LACKS(result.out, "finished");
    CHECK_CONTAINS(result.out, "=== total time: 0.000ms");
    child_result_deinit(&result);
}

static void json_replaces_the_lines(void **state)
{
    cJSON *root = run_json((const char *const[WORDS_MAX]){"good.onnx", "--iter", "4", "--json",
                                                          "--thread", "2", "--multithread", "2"});
    const cJSON *thread;
    int count = 0;

    assert_int_equal(at(root, "version")->valueint, 1);
    CHECK_CONTAINS(at(root, "trace")->valuestring, "not recording");
    cJSON_ArrayForEach(thread, at(root, "threads"))
    {
        count++;
        assert_int_equal(cJSON_GetArraySize(at(thread, "runs")), 4);
        assert_int_equal(cJSON_GetArraySize(at(thread, "warmups")), 1);
        assert_int_equal(at(thread, "threads")->valueint, 2);
        assert_int_equal(at(at(thread, "summary"), "count")->valueint, 4);
        assert_string_equal(at(at(thread, "inputs")->child, "data")->valuestring, "random");
    }
    assert_int_equal(count, 2);
    cJSON_Delete(root);
}

static void several_threads_print_one_after_the_other(void **state)
{
    struct child_result result = RUN("good.onnx", "--iter", "2", "--thread", "3");
    const char *second;

    assert_int_equal(result.status, EXIT_OK);
    assert_non_null(strstr(result.out, "thread 0:\nload model"));
    second = strstr(result.out, "thread 1:\nload model");
    assert_non_null(second);
    CHECK_CONTAINS(second, "=== total time");
    CHECK_CONTAINS(second, "thread 2:\n");
    child_result_deinit(&result);
}

static void model_info_shows_both_graphs(void **state)
{
    struct child_result result =
        RUN("good.onnx", "--model-info", "--iter", "0", "--warmup-iter", "0");

    assert_int_equal(result.status, EXIT_OK);
    CHECK_CONTAINS(result.out, "| INPUT  |  x   | {2,3} | float32 |\n");
    CHECK_CONTAINS(result.out, "before optimisation:\nmodule: \"main\"\nx = @param");
    CHECK_CONTAINS(result.out, "s = Add(x,w) -> float32, {2,3} # sum\n");
    CHECK_CONTAINS(result.out, "after optimisation:\n");
    child_result_deinit(&result);
}

static void verbose_names_the_kernels(void **state)
{
    struct child_result result = RUN("good.onnx", "--verbose", "--iter", "1");

    assert_int_equal(result.status, EXIT_OK);
    CHECK_CONTAINS(result.err, "2 nodes in the model");
    CHECK_CONTAINS(result.err, "step 0: sum (Add) by ");
    child_result_deinit(&result);
}

static void data_sets_are_verified(void **state)
{
    struct child_result result;

    write_data_set("test_data_set_0", 0);
    write_data_set("test_data_set_1", 0);
    result = RUN("good.onnx", "--verify", ".");
    if (result.status != EXIT_OK)
        fail_msg("%s%s", result.out, result.err);
    CHECK_CONTAINS(result.out, "test_data_set_0: output 'y': ok, float32 {2,3}");
    CHECK_CONTAINS(result.out, "passed: 2 of 2 data sets agree");
    child_result_deinit(&result);

    write_data_set("test_data_set_2", 0.5f);
    result = RUN("good.onnx", "--verify", "test_data_set_2");
    assert_int_equal(result.status, EXIT_NO);
    CHECK_CONTAINS(result.out, "output 'y': DIFFERS in 1 of 6 elements; worst at {1,2}: expected "
                               "6.5, got 6, error 0.5, allowed 0.0065");
    CHECK_CONTAINS(result.out, "FAILED: 0 of 1 data sets agree");
    child_result_deinit(&result);
    result = RUN("good.onnx", "--verify", ".");
    assert_int_equal(result.status, EXIT_NO);
    CHECK_CONTAINS(result.out, "FAILED: 2 of 3 data sets agree");
    child_result_deinit(&result);
    result = RUN("good.onnx", "--verify", ".", "--rtol", "0.2");
    assert_int_equal(result.status, EXIT_OK);
    child_result_deinit(&result);
}

static void the_case_sets_its_own_tolerance(void **state)
{
    struct child_result result;

    free(temp_write(folder, "data.json", "{\"rtol\": 0, \"atol\": 0.6}", 25));
    result = RUN("good.onnx", "--verify", "test_data_set_2");
    assert_int_equal(result.status, EXIT_OK);
    CHECK_CONTAINS(result.out, "allowed 0.6");
    child_result_deinit(&result);
    /* The command line beats the file. */
    result = RUN("good.onnx", "--verify", "test_data_set_2", "--atol", "0.1");
    assert_int_equal(result.status, EXIT_NO);
    child_result_deinit(&result);
    result = RUN("good.onnx", "--verify", "test_data_set_2", "--atol", "0.1", "--json");
    assert_int_equal(result.status, EXIT_NO);
    CHECK_CONTAINS(result.out, "\"passed\": false");
    CHECK_CONTAINS(result.out, "\"index\": [1, 2], \"expected\": 6.5, \"got\": 6, \"error\": 0.5");
    child_result_deinit(&result);
    free(temp_write(folder, "data.json", "{", 1));
    result = RUN("good.onnx", "--verify", "test_data_set_2");
    assert_int_equal(result.status, EXIT_INPUT);
    CHECK_CONTAINS(result.err, "data.json' is malformed JSON");
    child_result_deinit(&result);
}

static void profile_is_written_and_read_by_profile_analyze(void **state)
{
    char *analyze = place_program("analyze/profile_analyze");
    struct child_result result = RUN("good.onnx", "--profile", "p.json", "--iter", "2");
    const char *argv[] = {analyze, "p.json", "--format", "csv", NULL};
    struct child_options options = {.directory = folder};

    assert_int_equal(result.status, EXIT_OK);
    child_result_deinit(&result);
    result = child_run(argv, &options);
    if (result.status != EXIT_OK)
        fail_msg("%s", result.err);
    CHECK_CONTAINS(result.out, "Add");
    CHECK_CONTAINS(result.out, "Relu");
    child_result_deinit(&result);
    free(analyze);
}

static void verify_case(const char *path, const char *threads)
{
    char model[1024];
    struct child_result result;

    snprintf(model, sizeof(model), "%s/model.onnx", path);
    result = RUN(model, "--verify", path, "--multithread", threads);
    if (result.status != EXIT_OK)
        fail_msg("%s with %s threads: %s%s", path, threads, result.out, result.err);
    child_result_deinit(&result);
}

static void verify_folder(const char *category)
{
    char *path = place_shared(category);
    struct dirent **entries;
    int count, cases = 0;

    if (!path)
        CHECK_SKIP("the shared models are not here");
    count = scandir(path, &entries, NULL, alphasort);
    assert_true(count > 0);
    for (int i = 0; i < count; i++) {
        char *model = temp_path(path, entries[i]->d_name);

        if (strncmp(entries[i]->d_name, "test_", 5) == 0) {
            verify_case(model, "1");
            verify_case(model, "2");
            cases++;
        }
        free(model);
        free(entries[i]);
    }
    assert_int_equal(cases, 5);
    free(entries);
    free(path);
}

static void light_models_agree(void **state)
{
    verify_folder("onnx-cases/light");
}

static void light_models_with_random_weights_agree(void **state)
{
    verify_folder("onnx-cases/light-rand");
}

static void an_exported_resnet_agrees(void **state)
{
    char *path = place_shared("onnx-cases/exported/test_resnet18_w20");

    if (!path)
        CHECK_SKIP("the shared models are not here");
    verify_case(path, "1");
    verify_case(path, "2");
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timing_lines_are_on_stdout),
        cmocka_unit_test(given_data_is_not_called_random),
        cmocka_unit_test(no_runs_print_no_runs),
        cmocka_unit_test(json_replaces_the_lines),
        cmocka_unit_test(several_threads_print_one_after_the_other),
        cmocka_unit_test(model_info_shows_both_graphs),
        cmocka_unit_test(verbose_names_the_kernels),
        cmocka_unit_test(data_sets_are_verified),
        cmocka_unit_test(the_case_sets_its_own_tolerance),
        cmocka_unit_test(profile_is_written_and_read_by_profile_analyze),
        cmocka_unit_test(light_models_agree),
        cmocka_unit_test(light_models_with_random_weights_agree),
        cmocka_unit_test(an_exported_resnet_agrees),
    };
    struct onnx_sample sample;
    uint8_t *bytes;
    size_t size;
    int failed;

    program = place_program("runtime/load_and_run");
    folder = temp_create();
    onnx_sample_init(&sample);
    bytes = onnx_sample_pack(&sample, &size);
    free(temp_write(folder, "good.onnx", bytes, size));
    free(bytes);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    temp_destroy(&folder);
    free(program);
    return failed;
}
