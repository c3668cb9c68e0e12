/* SPDX-License-Identifier: Apache-2.0 */
/* Options of load_and_run on threads, memory and debugging: that each does what it says. */
#include <cjson/cJSON.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/exit_status.h"
#include "tests/support/check.h"
#include "tests/support/model_scene.h"
#include "tests/support/place.h"
#include "tests/support/temp.h"

static const char *const no_daemon[] = {"OPTRACE_SOCKET=/nonexistent/collector.sock", NULL};

/* The model's two operators stay two, unless these are what a test is about. */
#define RUN(...)                                                                                   \
    model_scene_run(no_daemon,                                                                     \
                    MODEL_WORDS("good.onnx", "--no-enable-jit", "--iter", "2", __VA_ARGS__))
#define RUN_FUSED(...) model_scene_run(no_daemon, MODEL_WORDS("good.onnx", __VA_ARGS__))

/* The output of the first run that was dumped. */
static void expect_y(void)
{
    char *path = temp_path(model_scene.folder, "run0-var3"), *bytes;
    float y[6];
    size_t size;

    bytes = temp_read(path, &size);
    memcpy(y, bytes + size - sizeof(y), sizeof(y));
    assert_memory_equal(y, ((float[]){0, 1.5f, 3, 0, 4, 6}), sizeof(y));
    free(bytes);
    unlink(path);
    free(path);
}

/* y is max(x + {0..5}, 0), whoever computes it. */
static void every_way_to_compute_gives_the_same(void **state)
{
    static const char *const ways[][4] = {
        {"--cpu-default"},
        {"--multithread", "2"},
        {"--multithread-default", "2"},
        {"--multithread", "1", "--multi-thread-core-ids", "0"},
        {"--multithread-default", "1", "--multi-thread-core-ids", "0"},
        {"--record-comp-seq"},
        {"--record-comp-seq2", "--no-sanity-check"},
        {"--disable-mem-opt"},
    };

    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        struct child_result result = RUN("--input", "x:[-9,0.5,1],[-3,0,1]", "--bin-out-dump", ".",
                                         ways[i][0], ways[i][1], ways[i][2], ways[i][3]);

        model_scene_expect(result, EXIT_OK, "finished test", "");
        expect_y();
    }
    model_scene_expect(RUN_FUSED("--input", "x:[-9,0.5,1],[-3,0,1]", "--bin-out-dump", "."),
                       EXIT_OK, "finished test", "");
    expect_y();
}

static void effects_are_told(void **state)
{
    model_scene_expect(RUN("--record-comp-seq"), EXIT_OK, "finished test",
                       "--record-comp-seq: 2 operators are handed over as one");
    model_scene_expect(RUN("--disable-mem-opt"), EXIT_OK, "finished test",
                       "--disable-mem-opt: 2 tensors");
    model_scene_expect(RUN_FUSED("--disable-mem-opt"), EXIT_OK, "finished test",
                       "--disable-mem-opt: 1 tensor");
    model_scene_expect(RUN_FUSED("--enable-jit"), EXIT_OK, "finished test",
                       "--enable-jit: 2 operators are computed together, in 1 chains");
    model_scene_expect(RUN("--enable-jit", "--no-enable-jit"), EXIT_USAGE, "",
                       "exclude each other");
}

static void the_first_run_may_compute_nothing(void **state)
{
    model_scene_expect(
        RUN("--fake-first", "--warmup-iter", "2"), EXIT_OK, "warm up 1",
        "--fake-first: the first run hands over 2 operators, computes none and touches 112 B\n");
    model_scene_expect(RUN("--fake-first", "--warmup-iter", "0"), EXIT_USAGE, "", "leaves none");
    /* What a dump follows is the runs that compute: the second warm-up and two more. */
    model_scene_expect(RUN("--fake-first", "--warmup-iter", "2", "--io-dump-stdout"), EXIT_OK,
                       "warm up 1", "");
    model_scene_expect(RUN("--fake-first", "--warmup-iter", "2", "--input", "x:[-9,0.5,1],[-3,0,1]",
                           "--bin-out-dump", "."),
                       EXIT_OK, "", "");
    expect_y();
}

static void the_first_run_may_be_checked(void **state)
{
    model_scene_expect(RUN("--sanity-check"), EXIT_OK, "finished test",
                       "--sanity-check: none of 4 tensors was changed before it was read");
    model_scene_expect(RUN("--no-sanity-check"), EXIT_OK, "finished test", "");
    model_scene_expect(RUN("--sanity-check", "--no-sanity-check"), EXIT_USAGE, "",
                       "exclude each other");
}

static void a_sequence_may_free_the_graph(void **state)
{
    model_scene_expect(RUN("--record-comp-seq2"), EXIT_USAGE, "", "it needs --no-sanity-check");
    model_scene_expect(RUN("--record-comp-seq2", "--no-sanity-check", "--fake-first"), EXIT_USAGE,
                       "", "exclude each other");
    model_scene_expect(RUN("--record-comp-seq2", "--no-sanity-check", "--record-comp-seq"),
                       EXIT_USAGE, "", "exclude each other");
    model_scene_expect(RUN("--record-comp-seq2", "--no-sanity-check", "--trace"), EXIT_USAGE, "",
                       "which look at each");
    model_scene_expect(RUN("--record-comp-seq2", "--no-sanity-check", "--copy-to-host"), EXIT_OK,
                       "finished test", "--record-comp-seq2: 2 operators are handed over as one");
}

/* Parameters that convolutions have in their own order are most of this model. */
static void what_is_freed_is_told(void **state)
{
    char *model = place_shared("onnx-cases/light/test_light_squeezenet/model.onnx");
    struct child_result result;
    const char *freed;

    if (!model)
        CHECK_SKIP("the shared models are not here");
    result = model_scene_run(
        no_daemon, MODEL_WORDS(model, "--iter", "3", "--record-comp-seq2", "--no-sanity-check"));
    assert_int_equal(result.status, EXIT_OK);
    freed = strstr(result.err, "--record-comp-seq2: 4.");
    if (!freed || !strstr(freed, "MiB of the graph are freed"))
        fail_msg("%s", result.err);
    child_result_deinit(&result);
    free(model);
}

static void expect_absent(const char *text, const char *part)
{
    if (strstr(text, part))
        fail_msg("\"%s\" in %s", part, text);
}

static void the_best_options_are_found(void **state)
{
    struct child_result result = RUN("--fitting");

    CHECK_CONTAINS(result.err, "profile option: as given avg_time=");
    CHECK_CONTAINS(result.err, "profile option: --cpu-default avg_time=");
    CHECK_CONTAINS(result.err, "profile option: --cpu-default --record-comp-seq avg_time=");
    CHECK_CONTAINS(result.err, "--no-enable-fuse-conv-bias-with-z left out: it changes nothing");
    CHECK_CONTAINS(result.out, "the best options:");
    model_scene_expect(result, EXIT_OK, "finished test", "");
}

/* Of these options nothing is tried that contradicts them. */
static void what_is_given_stays(void **state)
{
    struct child_result result =
        RUN("--fitting", "--multithread", "2", "--optimize-for-inference", "--io-dump", "dump");

    CHECK_CONTAINS(result.err, "profile option: --multithread-default=2 avg_time=");
    expect_absent(result.err, "--record-comp-seq");
    expect_absent(result.err, "--no-optimize-for-inference");
    model_scene_expect(result, EXIT_OK, "finished test", "");
    result = RUN("--fitting", "--cpu-default", "--json");
    expect_absent(result.err, "option: --cpu-default");
    CHECK_CONTAINS(result.err, "the best options:");
    assert_int_equal(result.out[0], '{');
    model_scene_expect(result, EXIT_OK, "", "");
    model_scene_expect(RUN("--fitting", "--input", "y:1"), EXIT_INPUT, "",
                       "the model has no input 'y'");
    model_scene_expect(
        model_scene_run(no_daemon, MODEL_WORDS("good.onnx", "--fitting", "--perf-report")),
        EXIT_USAGE, "", "--fitting has no effect on --perf-report");
}

static void fusions_are_counted_and_switched_off(void **state)
{
    char *model = place_shared("onnx-cases/light/test_light_squeezenet/model.onnx");
    char *data = place_shared("onnx-cases/light/test_light_squeezenet/test_data_set_0");

    if (!model || !data)
        CHECK_SKIP("the shared models are not here");
#define MODEL(...) model_scene_run(no_daemon, MODEL_WORDS(model, "--iter", "1", __VA_ARGS__))
    model_scene_expect(
        MODEL("--enable-fuse-conv-bias-nonlinearity"), EXIT_OK, "",
        "--enable-fuse-conv-bias-nonlinearity: 26 operators compute their activation, too");
    model_scene_expect(MODEL("--weight-preprocess"), EXIT_OK, "",
                       "--weight-preprocess: 26 operators have");
    model_scene_expect(MODEL("--const-shape", "--no-enable-fuse-conv-bias-nonlinearity"), EXIT_OK,
                       "", "--const-shape: 65 operators have shapes");
    model_scene_expect(MODEL("--optimize-for-inference", "--enable-fuse-conv-bias-with-z"), EXIT_OK,
                       "", "--enable-fuse-conv-bias-with-z: 0 operators");
    model_scene_expect(
        model_scene_run(no_daemon,
                        MODEL_WORDS(model, "--verify", data, "--no-optimize-for-inference",
                                    "--no-enable-fuse-conv-bias-nonlinearity")),
        EXIT_OK, "passed", "");
    model_scene_expect(MODEL("--optimize-for-inference", "--no-optimize-for-inference"), EXIT_USAGE,
                       "", "exclude each other");
    free(model);
    free(data);
}

static void cores_are_checked(void **state)
{
    model_scene_expect(RUN("--multi-thread-core-ids", "0"), EXIT_USAGE, "", "needs --multithread");
    model_scene_expect(RUN("--multithread", "2", "--multi-thread-core-ids", "0"), EXIT_USAGE, "",
                       "names 1 cores for 2 threads");
    model_scene_expect(RUN("--multithread", "1", "--multi-thread-core-ids", "0,x"), EXIT_USAGE, "",
                       "numbers of cores with commas");
    model_scene_expect(RUN("--multithread", "1", "--multi-thread-core-ids", "9999"), EXIT_INPUT, "",
                       "cannot be used");
    model_scene_expect(RUN("--multithread", "2", "--multithread-default", "2"), EXIT_USAGE, "",
                       "exclude each other");
}

static void what_is_not_offered_has_its_own_status(void **state)
{
    model_scene_expect(RUN("--enable-nchw44"), EXIT_REFUSED, "",
                       "--enable-nchw44 is not offered: the layout packs channels for ARM");
    model_scene_expect(RUN("--tensorrt_cache", "x"), EXIT_REFUSED, "", "TensorRT");
}

static void static_memory_is_written_and_told(void **state)
{
    char *path, *text;
    cJSON *root;
    const cJSON *chunk;

    model_scene_expect(
        RUN("--get-static-mem-info", "memory"), EXIT_OK,
        "64 B for intermediate tensors; at most 24 B of it are live, in sum (Add):\n", "");
    path = temp_path(model_scene.folder, "memory/StaticMemoryInfo.json");
    text = temp_read(path, NULL);
    root = cJSON_Parse(text);
    chunk = cJSON_GetObjectItem(cJSON_GetObjectItem(root, "chunk"), "0");
    assert_non_null(chunk);
    assert_string_equal(cJSON_GetObjectItem(chunk, "type")->valuestring, "static_mem");
    assert_string_equal(cJSON_GetObjectItem(chunk, "owner")->valuestring, "s");
    assert_string_equal(cJSON_GetObjectItem(chunk, "logic_addr_end")->valuestring, "24");
    assert_string_equal(cJSON_GetObjectItem(chunk, "time_end")->valuestring, "2");
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(root, "opr")), 2);
    cJSON_Delete(root);
    free(text);
    free(path);
    path = temp_path(model_scene.folder, "memory/graph.json");
    text = temp_read(path, NULL);
    CHECK_CONTAINS(text, "\"comp_seq\": [\"0\", \"1\"]");
    free(text);
    free(path);
    model_scene_expect(RUN("--get-static-mem-info", "no/such/place"), EXIT_INPUT, "",
                       "cannot make the folder no/such/place");
}

static void debuggers_are_waited_for(void **state)
{
    model_scene_expect(RUN("--wait-gdb"), EXIT_OK, "finished test", "wait for gdb attach (pid=");
}

static void differences_may_be_reported_only(void **state)
{
    char *model = place_shared("onnx-cases/light/test_light_squeezenet/model.onnx");

    if (!model)
        CHECK_SKIP("the shared models are not here");
    model_scene_expect(
        model_scene_run(no_daemon, MODEL_WORDS(model, "--verify-against", "ref", "--rtol", "0",
                                               "--atol", "0", "--disable-assert-throw")),
        EXIT_OK, "operators differ, the first is @", "");
    free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_way_to_compute_gives_the_same),
        cmocka_unit_test(effects_are_told),
        cmocka_unit_test(the_first_run_may_compute_nothing),
        cmocka_unit_test(the_first_run_may_be_checked),
        cmocka_unit_test(a_sequence_may_free_the_graph),
        cmocka_unit_test(what_is_freed_is_told),
        cmocka_unit_test(the_best_options_are_found),
        cmocka_unit_test(what_is_given_stays),
        cmocka_unit_test(fusions_are_counted_and_switched_off),
        cmocka_unit_test(cores_are_checked),
        cmocka_unit_test(what_is_not_offered_has_its_own_status),
        cmocka_unit_test(static_memory_is_written_and_told),
        cmocka_unit_test(debuggers_are_waited_for),
        cmocka_unit_test(differences_may_be_reported_only),
    };

    return cmocka_run_group_tests(tests, model_scene_begin_good, model_scene_end);
}
