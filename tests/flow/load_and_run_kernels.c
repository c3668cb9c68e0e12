/* SPDX-License-Identifier: Apache-2.0 */
/* Options of load_and_run that choose kernels: what they say, what they write, what they refuse. */
#include <unistd.h>

#include "base/exit_status.h"
#include "tests/support/check.h"
#include "tests/support/model_scene.h"
#include "tests/support/onnx_sample.h"
#include "tests/support/temp.h"

static const char *const no_daemon[] = {"OPTRACE_SOCKET=/nonexistent/collector.sock", NULL};

#define RUN(...) model_scene_run(no_daemon, MODEL_WORDS("good.onnx", "--iter", "2", __VA_ARGS__))

static void expect(struct child_result result, int status, const char *err)
{
    if (result.status != status)
        fail_msg("status %d: %s", result.status, result.err);
    if (status == EXIT_OK)
        CHECK_CONTAINS(result.out, "finished test");
    CHECK_CONTAINS(result.err, err);
    child_result_deinit(&result);
}

static char *read_policy(void)
{
    char *path = temp_path(model_scene.folder, "policy"), *text;
    size_t size;

    text = temp_read(path, &size);
    free(path);
    return text;
}

static void forget_policy(void)
{
    char *path = temp_path(model_scene.folder, "policy");

    unlink(path);
    free(path);
}

static void kernels_are_timed(void **state)
{
    expect(RUN("--fast-run"), EXIT_OK, "load_and_run: --fast-run: ");
    expect(RUN("--full-run", "--verbose"), EXIT_OK, " bytes of scratch, default");
    expect(RUN("--full-run", "--verbose"), EXIT_OK, "load_and_run:     ref, ");
}

static void a_policy_is_made_once_and_then_read(void **state)
{
    char *first, *second;

    expect(RUN("--fast-run-algo-policy", "policy"), EXIT_INPUT, "policy does not exist");
    expect(RUN("--fast-run", "--fast-run-algo-policy", "policy"), EXIT_OK, " shapes timed in ");
    first = read_policy();
    CHECK_CONTAINS(first, "optrace-policy 2\nmachine ");
    CHECK_CONTAINS(first, ", 1 threads, optrace ");
    expect(RUN("--fast-run-algo-policy", "policy"), EXIT_OK, "; 0 shapes timed, ");
    expect(RUN("--fast-run", "--fast-run-algo-policy", "policy"), EXIT_OK, "; 0 shapes timed, ");
    second = read_policy();
    assert_string_equal(first, second);
    free(first);
    free(second);
    /* Times of one thread say nothing about two. */
    expect(RUN("--fast-run-algo-policy", "policy", "--multithread", "2"), EXIT_OK,
           "; 0 shapes timed, 0 known");
    expect(RUN("--fast-run", "--fast-run-algo-policy", "policy", "--multithread", "2"), EXIT_OK,
           " shapes timed in ");
    second = read_policy();
    CHECK_CONTAINS(second, ", 1 threads, optrace ");
    CHECK_CONTAINS(second, ", 2 threads, optrace ");
    free(second);
    forget_policy();
}

/* Where nothing is to be chosen, the file is there all the same, for who asks for it next. */
static void a_policy_may_be_empty(void **state)
{
    char *text;

    model_scene_write("plain.onnx", "opset 13\ninput x f32 2\nnode Identity x -> y\noutput y\n");
    for (int i = 0; i < 2; i++) {
        expect(model_scene_run(no_daemon, MODEL_WORDS("plain.onnx", "--iter", "1", "--fast-run",
                                                      "--fast-run-algo-policy", "policy")),
               EXIT_OK, "0 of 0 operators with a choice");
        text = read_policy();
        CHECK_CONTAINS(text, "optrace-policy 2\nchecksum ");
        free(text);
    }
    expect(model_scene_run(no_daemon, MODEL_WORDS("plain.onnx", "--iter", "1",
                                                  "--fast-run-algo-policy", "policy")),
           EXIT_OK, "; 0 shapes timed, 0 known");
    /* Others add to it. */
    expect(RUN("--fast-run", "--fast-run-algo-policy", "policy"), EXIT_OK, " shapes timed in ");
    text = read_policy();
    CHECK_CONTAINS(text, "optrace-policy 2\nmachine ");
    free(text);
    forget_policy();
    /* What failed leaves none. */
    expect(
        model_scene_run(no_daemon, MODEL_WORDS("plain.onnx", "--iter", "1", "--input", "z:1",
                                               "--fast-run", "--fast-run-algo-policy", "policy")),
        EXIT_INPUT, "");
    text = temp_path(model_scene.folder, "policy");
    assert_int_not_equal(access(text, F_OK), 0);
    free(text);
}

static void foreign_and_damaged_policies_are_refused(void **state)
{
    char *text;

    free(temp_write(model_scene.folder, "policy", "hello\n", 6));
    expect(RUN("--fast-run-algo-policy", "policy"), EXIT_INPUT,
           "policy is no policy file of load_and_run: it does not begin with \"optrace-policy \"");
    forget_policy();
    expect(RUN("--fast-run", "--fast-run-algo-policy", "policy"), EXIT_OK, "");
    text = read_policy();
    free(temp_write(model_scene.folder, "policy", text, strlen(text) - 1));
    expect(RUN("--fast-run", "--fast-run-algo-policy", "policy"), EXIT_INPUT,
           "policy is truncated: it does not end in a checksum; delete it");
    text[20] = text[20] == 'x' ? 'y' : 'x';
    free(temp_write(model_scene.folder, "policy", text, strlen(text)));
    expect(RUN("--fast-run", "--fast-run-algo-policy", "policy"), EXIT_INPUT,
           "policy is damaged: its checksum does not fit; delete it");
    free(text);
    forget_policy();
    expect(RUN("--fast-run", "--fast-run-algo-policy", "nowhere/policy"), EXIT_INPUT,
           "cannot write nowhere/policy: No such file or directory");
}

static void properties_are_asked_for(void **state)
{
    expect(RUN("--reproducible"), EXIT_OK, "load_and_run: --reproducible: 0 of ");
    expect(RUN("--binary-equal-between-batch"), EXIT_OK, "--binary-equal-between-batch: ");
    expect(RUN("--workspace-limit", "0"), EXIT_OK, "--workspace-limit: ");
}

static void write_model(const char *name, const char *layouts)
{
    Onnx__StringStringEntryProto entry = ONNX__STRING_STRING_ENTRY_PROTO__INIT;
    Onnx__StringStringEntryProto *entries[] = {&entry};
    struct onnx_sample sample;

    onnx_sample_init(&sample);
    entry.key = "optrace.layout";
    entry.value = (char *)layouts;
    sample.model.n_metadata_props = layouts != NULL;
    sample.model.metadata_props = entries;
    model_scene_write_sample(name, &sample);
}

static struct child_result run_model(const char *model)
{
    return model_scene_run(no_daemon, MODEL_WORDS(model, "--iter", "1"));
}

static void layouts_are_chosen_and_kept(void **state)
{
    expect(RUN("--layout-transform", "cpu"), EXIT_OK,
           "load_and_run: --layout-transform: 0 of 0 operators that know two layouts");
    expect(RUN("--layout-transform", "cpu", "--layout-transform-dump", "planned.onnx"), EXIT_OK,
           "");
    expect(run_model("planned.onnx"), EXIT_OK,
           "0 operators compute in the layout that the model's metadata says");
    /* Once more, over what it was made from: the last word holds. */
    expect(model_scene_run(no_daemon, MODEL_WORDS("planned.onnx", "--layout-transform", "cpu",
                                                  "--layout-transform-dump", "planned.onnx")),
           EXIT_OK, "");
    expect(run_model("planned.onnx"), EXIT_OK, "0 operators compute");
    write_model("told.onnx", "optrace-layout 1\nrow-major sum\n");
    expect(run_model("told.onnx"), EXIT_OK, "1 operators compute in the layout");
    write_model("damaged.onnx", "optrace-layout 1\nsomehow sum\n");
    expect(run_model("damaged.onnx"), EXIT_INPUT,
           "damaged.onnx: its choice of layouts (metadata optrace.layout) is damaged: line 2");
    expect(RUN("--layout-transform", "cpu", "--layout-transform-dump", "nowhere/a.onnx"),
           EXIT_INPUT, "cannot write nowhere/a.onnx: No such file or directory");
    expect(RUN("--layout-transform", "cuda"), EXIT_USAGE, "--layout-transform");
    expect(RUN("--layout-transform-dump", "a.onnx"), EXIT_USAGE,
           "--layout-transform-dump needs --layout-transform, or --cuda with --fast-run or ");
    expect(RUN("--fast-run", "--layout-transform-dump", "a.onnx"), EXIT_USAGE,
           "--layout-transform-dump needs --layout-transform");
}

static void combinations_that_say_nothing_are_refused(void **state)
{
    expect(RUN("--fast-run", "--full-run"), EXIT_USAGE, "exclude each other");
    expect(RUN("--fast-run-shared-batch-size", "8"), EXIT_USAGE,
           "--fast-run-shared-batch-size needs --fast-run, --full-run or --fast-run-algo-policy");
    expect(RUN("--fast-run", "--fast-run-shared-batch-size", "0"), EXIT_USAGE, "");
    expect(model_scene_run(no_daemon, MODEL_WORDS("--calibrate", "--reproducible")), EXIT_USAGE,
           "--calibrate runs no model");
}

static int set_up(void **state)
{
    const int rc = model_scene_begin(state);

    write_model("good.onnx", NULL);
    return rc;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_are_timed),
        cmocka_unit_test(a_policy_is_made_once_and_then_read),
        cmocka_unit_test(a_policy_may_be_empty),
        cmocka_unit_test(foreign_and_damaged_policies_are_refused),
        cmocka_unit_test(properties_are_asked_for),
        cmocka_unit_test(layouts_are_chosen_and_kept),
        cmocka_unit_test(combinations_that_say_nothing_are_refused),
    };

    return cmocka_run_group_tests(tests, set_up, model_scene_end);
}
