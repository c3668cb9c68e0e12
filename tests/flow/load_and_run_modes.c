/* SPDX-License-Identifier: Apache-2.0 */
/* load_and_run: what nobody computes is not looked at, what is there without being computed is, and
 * modes that look at results go with the ways of computing them. */
#include <sys/stat.h>
#include <unistd.h>

#include "base/exit_status.h"
#include "tests/support/check.h"
#include "tests/support/model_scene.h"
#include "tests/support/temp.h"

/* Memory that nobody wrote holds something. */
static const char *const environment[] = {"OPTRACE_DISABLE=1", "MALLOC_PERTURB_=85", NULL};

#define RUN(...) model_scene_run(environment, MODEL_WORDS("model.onnx", __VA_ARGS__))

/* Outputs that nobody reads */

static void outputs_that_nobody_reads_are_not_checked(void **state)
{
    static const char *const models[] = {
        "opset 14\ninput x f32 3,2,4\nconst w f32 1,15,4\nconst r f32 1,15,5\n"
        "node GRU x,w,r -> y,h hidden_size=5\noutput h f32 1,2,5\n",
        "opset 14\ninput x f32 3,2,4\nconst w f32 1,20,4\nconst r f32 1,20,5\n"
        "node LSTM x,w,r -> y,h,c hidden_size=5\noutput c f32 1,2,5\n",
        "opset 14\ninput x f32 3,2,4\nconst w f32 1,5,4\nconst r f32 1,5,5\n"
        "node Neg x -> n\nnode RNN n,w,r -> y,h hidden_size=5\nnode Neg h -> z\noutput z\n",
        "opset 13\ninput x f32 3,8\nconst k i64 1 = 3\nnode TopK x,k -> v,i\noutput i\n",
        "opset 13\ninput x f32 3,8\nconst k i64 1 = 3\nnode TopK x,k -> v,i\noutput v\n",
        "opset 13\ninput x f32 3,8\nnode Split x -> a,b axis=1\nnode Neg b -> y\noutput y\n",
        "opset 13\ninput x f32 1,2,6,6\nnode MaxPool x -> y,i kernel_shape=[2,2]\noutput i\n",
        "opset 13\ninput x f32 1,2,6,6\nnode MaxPool x -> y,i kernel_shape=[2,2]\noutput y\n",
        "opset 17\ninput x f32 3,8\nconst s f32 8\nnode LayerNormalization x,s -> y,m,d\n"
        "output m\n",
        "opset 15\ninput x f32 2,3,4\nconst s f32 3\nconst b f32 3\nconst m f32 3\n"
        "const v f32 3 = 1 2 3\nnode BatchNormalization x,s,b,m,v -> y,n,w training_mode=1\n"
        "output n\n",
        "opset 11\ninput x f32 3,8\nnode Unique x -> y,i,j,c\noutput c\n",
        "opset 11\ninput x f32 3,8\nnode DynamicQuantizeLinear x -> y,s,z\noutput s\n",
    };

    for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
        struct child_result result;

        model_scene_write("model.onnx", models[i]);
        result = RUN("--verify-against", "ref");
        if (result.status != EXIT_OK)
            fail_msg("%s\n%s%s", models[i], result.out, result.err);
        CHECK_CONTAINS(result.out, "agree with their reference");
        child_result_deinit(&result);
        /* Nor is what lies there told as a value. */
        model_scene_expect(RUN("--range", "1e30", "--iter", "3"), EXIT_OK, "", "");
    }
}

/* How many there are is found with the kernels of a run before the model is folded: the plain ones
 * round differently. */
static void what_is_folded_has_the_size_that_was_found(void **state)
{
    model_scene_write(
        "model.onnx",
        "opset 13\ninput x f32 40,50\nconst w f32 40,50\nnode Exp w -> e\nnode Log e -> l\n"
        "node Sub l,w -> d\nnode NonZero d -> z\nnode Add d,x -> y\noutput z\noutput y\n");
    model_scene_expect(RUN("--iter", "1"), EXIT_OK, "", "");
}

/* A bias of one row is no part of the sample that is computed alone. */
static void what_all_samples_share_is_not_a_sample(void **state)
{
    model_scene_write(
        "model.onnx",
        "opset 18\ninput x f32 2,2\ninput b f32 1,2\nconst w f32 2,2\nnode Gemm x,w,b -> y\n"
        "output y\n");
    model_scene_expect(RUN("--binary-equal-between-batch"), EXIT_OK, "",
                       "--binary-equal-between-batch: ");
}

static void what_nobody_wrote_is_not_dumped(void **state)
{
    char *path = temp_path(model_scene.folder, "dump"), *text;

    model_scene_write("model.onnx",
                      "opset 14\ninput x f32 3,2,4\nconst w f32 1,15,4\nconst r f32 1,15,5\n"
                      "node GRU x,w,r -> unread,h hidden_size=5\noutput h f32 1,2,5\n");
    model_scene_expect(RUN("--io-dump", "dump", "--iter", "1"), EXIT_OK, "", "");
    text = temp_read(path, NULL);
    CHECK_CONTAINS(text, "name=h ");
    CHECK_LACKS(text, "name=unread ");
    free(text);
    free(path);
    model_scene_expect(RUN("--print-graph", "text"), EXIT_OK, "GRU", "");
    model_scene_expect(RUN("--trace-eval", "3", "--iter", "1"), EXIT_OK, "GRU", "");
}

/* Outputs that no step makes */

static void expect_file(const char *name, const float *wanted, size_t count)
{
    char *path = temp_path(model_scene.folder, name), *bytes;
    size_t size;

    if (access(path, F_OK) != 0)
        fail_msg("no %s", name);
    bytes = temp_read(path, &size);
    assert_true(size > count * sizeof(*wanted));
    assert_memory_equal(bytes + size - count * sizeof(*wanted), wanted, count * sizeof(*wanted));
    free(bytes);
    unlink(path);
    free(path);
}

/* Folded, an initialiser, an input, views of an input and of what a step makes, and that. */
static const char ends[] = "opset 13\n"
                           "input x f32 2,2\n"
                           "const c f32 2 = 3 4\n"
                           "const k i64 1 = 4\n"
                           "node Neg c -> folded\n"
                           "node Reshape x,k -> flat\n"
                           "node Neg x -> made\n"
                           "node Reshape made,k -> shown\n"
                           "output folded\noutput c\noutput x\noutput flat\n"
                           "output shown\noutput made\n";

static void find_ids(char *text, unsigned ids[6])
{
    static const char *const names[] = {"folded", "c", "x", "flat", "shown", "made"};

    for (int i = 0; i < 6; i++) {
        char wanted[40];
        char *at, *var;

        snprintf(wanted, sizeof(wanted), " produced: name=%s ", names[i]);
        at = strstr(text, wanted);
        if (!at)
            fail_msg("no %s in\n%s", names[i], text);
        for (var = at; var > text && var[-1] != '\n'; var--)
            ;
        ids[i] = (unsigned)strtoul(var + 3, NULL, 10);
        assert_null(strstr(at + 1, wanted));
    }
}

static void outputs_that_no_step_makes_are_dumped(void **state)
{
    static const float wanted[6][4] = {{-3, -4},     {3, 4},           {1, 2, 3, 4},
                                       {1, 2, 3, 4}, {-1, -2, -3, -4}, {-1, -2, -3, -4}};
    static const size_t counts[] = {2, 2, 4, 4, 4, 4};
    char *path = temp_path(model_scene.folder, "dump"),
         *vars = temp_path(model_scene.folder, "vars"), *text;
    unsigned ids[6];

    model_scene_write("model.onnx", ends);
    CHECK_OK(mkdir(vars, 0700));
    model_scene_expect(RUN("--input", "x:[1,2],[3,4]", "--io-dump", "dump", "--bin-out-dump", ".",
                           "--bin-io-dump", "vars", "--iter", "1", "--warmup-iter", "0"),
                       EXIT_OK, "", "");
    text = temp_read(path, NULL);
    find_ids(text, ids);
    CHECK_CONTAINS(text, "name=folded layout={2(1) Float32} owner_opr=folded{Constant}\n deps:\n "
                         "val: [-3, -4]min=-4 ");
    CHECK_CONTAINS(text, "name=x layout={2(2),2(1) Float32} owner_opr=x{Input}\n");
    CHECK_CONTAINS(text, "name=flat layout={4(1) Float32} owner_opr=Reshape_1{Reshape} opr1\n "
                         "deps:\n  [i0]var");
    for (int i = 0; i < 6; i++) {
        char name[60];

        snprintf(name, sizeof(name), "run0-var%u", ids[i]);
        expect_file(name, wanted[i], counts[i]);
        snprintf(name, sizeof(name), "vars/%06x", ids[i]);
        expect_file(name, wanted[i], counts[i]);
    }
    free(text);
    free(vars);
    free(path);
}

/* A model whose only output is folded has no step at all. */
static void a_model_without_steps_is_dumped(void **state)
{
    static const float wanted[] = {-3, -4};

    model_scene_write("model.onnx", "opset 13\nconst c f32 2 = 3 4\nnode Neg c -> y\noutput y\n");
    model_scene_expect(RUN("--bin-out-dump", ".", "--iter", "2", "--warmup-iter", "0"), EXIT_OK, "",
                       "");
    expect_file("run0-var1", wanted, 2);
    expect_file("run1-var1", wanted, 2);
}

/* Comparing with data sets */

/* A convolution whose weights are packed, a parameter that is not, a folded output. */
static void write_case(void)
{
    static const char *const sets[] = {"test_data_set_0", "test_data_set_1"};

    model_scene_write(
        "model.onnx",
        "opset 13\ninput x f32 1,1,2,2\nconst w f32 2,1,1,1 = 2 3\nconst b f32 1,2,1,1 = 10 20\n"
        "const c f32 2 = 1 2\nnode Conv x,w -> s\nnode Add s,b -> t\nnode Relu t -> y\n"
        "node Neg c -> folded\noutput y\noutput folded\n");
    for (int i = 0; i < 2; i++) {
        char *path = temp_path(model_scene.folder, sets[i]), place[60];

        mkdir(path, 0700);
        free(path);
        snprintf(place, sizeof(place), "%s/input_0.pb", sets[i]);
        model_scene_write_tensor(place,
                                 i == 0 ? "f32 1,1,2,2 = 1 2 3 4" : "f32 1,1,2,2 = -5 -6 -7 -8");
        snprintf(place, sizeof(place), "%s/output_0.pb", sets[i]);
        model_scene_write_tensor(place, i == 0 ? "f32 1,2,2,2 = 12 14 16 18 23 26 29 32"
                                               : "f32 1,2,2,2 = 0 0 0 0 5 2 0 0");
        snprintf(place, sizeof(place), "%s/output_1.pb", sets[i]);
        model_scene_write_tensor(place, "f32 2 = -1 -2");
    }
}

#define VERIFY(...) RUN("--verify", ".", __VA_ARGS__)

static void every_way_to_compute_is_verified(void **state)
{
    write_case();
    model_scene_expect(VERIFY("--share-param-mem"), EXIT_OK,
                       "passed: 2 of 2 data sets agree within ",
                       "load_and_run: --share-param-mem: ");
    model_scene_expect(VERIFY("--record-comp-seq"), EXIT_OK,
                       "passed: 2 of 2 data sets agree within ",
                       "load_and_run: --record-comp-seq: ");
    model_scene_expect(VERIFY("--record-comp-seq2", "--no-sanity-check"), EXIT_OK,
                       "passed: 2 of 2 data sets agree within ", "of the graph are freed");
    model_scene_expect(VERIFY("--sanity-check"), EXIT_OK, "passed: 2 of 2 data sets agree within ",
                       "load_and_run: --sanity-check: none of ");
    model_scene_expect(VERIFY("--thread", "3"), EXIT_OK, "passed: 6 of 6 data sets agree within ",
                       "");
    model_scene_expect(VERIFY("--thread", "2"), EXIT_OK,
                       "test_data_set_1, thread 1: output 'y': ok, ", "");
    model_scene_expect(
        VERIFY("--thread", "2", "--share-param-mem", "--sanity-check", "--record-comp-seq"),
        EXIT_OK, "passed: 4 of 4 data sets agree within ", "");
    model_scene_expect(VERIFY("--thread", "2", "--json"), EXIT_OK, "\"test_data_set_0, thread 1\"",
                       "");
    model_scene_expect(VERIFY("--no-sanity-check"), EXIT_OK, "passed: 2 of 2", "");
    model_scene_expect(VERIFY("--record-comp-seq2"), EXIT_USAGE, "", "it needs --no-sanity-check");
    model_scene_expect(VERIFY("--fake-first"), EXIT_USAGE, "",
                       "--fake-first has no effect on --verify");
}

/* All of these see a difference, too. */
static void differences_are_seen_in_each(void **state)
{
    write_case();
    model_scene_write_tensor("test_data_set_1/output_0.pb", "f32 1,2,2,2 = 0 0 0 0 5 3 0 0");
    model_scene_expect(VERIFY("--share-param-mem"), EXIT_NO,
                       "FAILED: 1 of 2 data sets agree within ", "");
    model_scene_expect(VERIFY("--record-comp-seq"), EXIT_NO,
                       "FAILED: 1 of 2 data sets agree within ", "");
    model_scene_expect(VERIFY("--record-comp-seq2", "--no-sanity-check"), EXIT_NO,
                       "FAILED: 1 of 2 data sets agree within ", "");
    model_scene_expect(VERIFY("--sanity-check"), EXIT_NO, "FAILED: 1 of 2 data sets agree within ",
                       "");
    model_scene_expect(VERIFY("--thread", "3"), EXIT_NO, "FAILED: 3 of 6 data sets agree within ",
                       "");
    model_scene_expect(
        VERIFY("--thread", "3"), EXIT_NO,
        "test_data_set_1, thread 2: output 'y': DIFFERS in 1 of 8 elements; worst at {0,1,0,1}",
        "");
    model_scene_write_tensor("test_data_set_1/input_0.pb", "f32 1,1,2,3 = 0 0 0 0 5 3");
    model_scene_expect(VERIFY("--thread", "3"), EXIT_INPUT, "", "load_and_run: ");
}

static void dumps_go_with_sequences(void **state)
{
    static const float y[] = {12, 14, 16, 18, 23, 26, 29, 32}, made[] = {-1, -2};
    static const char *const ways[][3] = {{"--record-comp-seq", NULL, NULL},
                                          {"--record-comp-seq2", "--no-sanity-check", NULL}};
    char *path = temp_path(model_scene.folder, "dump"), *text, name[40];
    unsigned y_id, folded_id;

    write_case();
    model_scene_expect(RUN("--record-comp-seq", "--input", "x:[[[1,2],[3,4]]]", "--io-dump", "dump",
                           "--iter", "1", "--warmup-iter", "0"),
                       EXIT_OK, "", "operators are handed over one by one, as dumps look at each");
    text = temp_read(path, NULL);
    CHECK_CONTAINS(text, "val: [12, 14, 16, 18, 23, ...]");
    y_id = (unsigned)atoi(strstr(text, "name=y ") - strlen("7 produced: "));
    folded_id = (unsigned)atoi(strstr(text, "name=folded ") - strlen("7 produced: "));
    free(text);
    free(path);
    for (int i = 0; i < 2; i++) {
        model_scene_expect(RUN("--input", "x:[[[1,2],[3,4]]]", "--bin-out-dump", ".", "--iter", "1",
                               "--warmup-iter", "1", ways[i][0], ways[i][1]),
                           EXIT_OK, "", "operators are handed over as one");
        for (int run = 0; run < 2; run++) {
            snprintf(name, sizeof(name), "run%d-var%u", run, y_id);
            expect_file(name, y, 8);
            snprintf(name, sizeof(name), "run%d-var%u", run, folded_id);
            expect_file(name, made, 2);
        }
    }
    model_scene_expect(
        RUN("--record-comp-seq2", "--no-sanity-check", "--io-dump", "dump"), EXIT_USAGE, "",
        "--record-comp-seq2 frees parameters that --io-dump and --bin-io-dump would write");
    model_scene_expect(RUN("--record-comp-seq2", "--no-sanity-check", "--bin-io-dump", "."),
                       EXIT_USAGE, "", "dump the outputs alone with --bin-out-dump");
    model_scene_expect(RUN("--record-comp-seq", "--range", "5"), EXIT_USAGE, "",
                       "--record-comp-seq runs all operators as one");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_that_nobody_reads_are_not_checked),
        cmocka_unit_test(what_is_folded_has_the_size_that_was_found),
        cmocka_unit_test(what_all_samples_share_is_not_a_sample),
        cmocka_unit_test(what_nobody_wrote_is_not_dumped),
        cmocka_unit_test(outputs_that_no_step_makes_are_dumped),
        cmocka_unit_test(a_model_without_steps_is_dumped),
        cmocka_unit_test(every_way_to_compute_is_verified),
        cmocka_unit_test(differences_are_seen_in_each),
        cmocka_unit_test(dumps_go_with_sequences),
    };

    return cmocka_run_group_tests(tests, model_scene_begin, model_scene_end);
}
