/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines as users of MIGraphX and of gflags write them. */
#include "base/exit_status.h"
#include "tests/support/check.h"
#include "tests/support/model_scene.h"
#include "tests/support/temp.h"

static const char *const environment[] = {"OPTRACE_DISABLE=1", "FLAGS_iter=3",
                                          "FLAGS_verbose=false", NULL};

static void expect_without(struct child_result result, const char *text)
{
    assert_int_equal(result.status, EXIT_OK);
    assert_null(strstr(result.out, text));
    child_result_deinit(&result);
}

#define RUN(...)   model_scene_run(environment, MODEL_WORDS(__VA_ARGS__))
#define M          "model.onnx"
#define RUN_M(...) RUN(M, __VA_ARGS__)

static void write_file(const char *name, const char *text)
{
    free(temp_write(model_scene.folder, name, text, strlen(text)));
}

static void commands_are_words(void **state)
{
    model_scene_expect(RUN("read", M), EXIT_OK, "@2 = Neg", "");
    model_scene_expect(RUN("compile", M), EXIT_OK, "FusedElementwise", "");
    expect_without(RUN("read", M), "FusedElementwise");
    model_scene_expect(RUN("run", M), EXIT_OK, "iter 0", "");
    expect_without(RUN("run", M), "iter 1");
    model_scene_expect(RUN("perf", M, "-n", "3"), EXIT_OK, "Total instructions time", "");
    model_scene_expect(RUN("time", M, "-n2"), EXIT_OK, "iter 1", "");
    model_scene_expect(RUN("verify", M), EXIT_OK, "passed", "");
    model_scene_expect(RUN("verify", M, "--bisect"), EXIT_OK, "passed", "");
    model_scene_expect(RUN("params", M), EXIT_OK, "x", "");
    model_scene_expect(RUN("op", "--list"), EXIT_REFUSED, "",
                       "the command op is not offered: docs/operators.md");
    model_scene_expect(RUN("roctx", M), EXIT_REFUSED, "", "--trace records");
    model_scene_expect(RUN("read"), EXIT_USAGE, "", "which model?");
}

static void flags_are_as_gflags_writes_them(void **state)
{
    write_file("flags", "# comment\n\n--iter=2\n  -warmup_iter=0 \n--flagfile=more\n");
    write_file("more", "--noverbose\n--cpu=true\n");
    write_file("ring", "--flagfile=ring\n");
    write_file("words", "iter\n");
    model_scene_expect(RUN_M("--flagfile=flags"), EXIT_OK, "iter 1", "");
    expect_without(RUN_M("--flagfile", "flags"), "iter 2");
    model_scene_expect(RUN_M("--flagfile=ring"), EXIT_USAGE, "", "files name each other");
    model_scene_expect(RUN_M("--flagfile=words"), EXIT_USAGE, "", "'iter' in 'words' is no flag");
    model_scene_expect(RUN_M("--flagfile=absent"), EXIT_INPUT, "", "absent");
    model_scene_expect(RUN_M("--flagfile"), EXIT_USAGE, "", "--flagfile needs a value");
    model_scene_expect(RUN_M("--fromenv=iter,verbose"), EXIT_OK, "iter 2", "");
    expect_without(RUN_M("--fromenv=iter"), "iter 3");
    model_scene_expect(RUN_M("--fromenv=seed"), EXIT_USAGE, "", "there is no variable FLAGS_seed");
    model_scene_expect(RUN_M("--tryfromenv=seed,iter"), EXIT_OK, "iter 2", "");
    model_scene_expect(RUN_M("--json=true"), EXIT_OK, "\"version\": 1", "");
    expect_without(RUN_M("--json", "--json=false"), "\"version\"");
    expect_without(RUN_M("--json", "--nojson"), "\"version\"");
    model_scene_expect(RUN_M("--json=perhaps"), EXIT_USAGE, "",
                       "--json takes no value but true or false");
    /* where there is a flag that says the opposite, it is that */
    expect_without(RUN_M("--enable-jit=false", "--print-graph", "text"), "FusedElementwise");
    expect_without(RUN_M("--noenable-jit", "--print-graph", "text"), "FusedElementwise");
    model_scene_expect(RUN_M("--enable-jit=true", "--iter", "1"), EXIT_OK, "",
                       "--enable-jit: 2 operators are computed together");
}

static void inputs_are_as_migraphx_writes_them(void **state)
{
    write_file("x.json", "{\"x\": {\"shape\": [2, 3], \"type\": \"float32\", \"raw\": "
                         "[0,0,128,63,0,0,128,63,0,0,128,63,0,0,128,63,0,0,128,63,0,0,128,63]}}");
    model_scene_expect(RUN_M("--fill1", "x", "--iter", "1", "--io-dump-stdout"), EXIT_OK,
                       "min=-2 max=-2", "");
    model_scene_expect(RUN_M("--fill0", "@x", "--trace-eval", "2", "--iter", "1"), EXIT_OK,
                       "Min value: -0, Max value: -0", "");
    model_scene_expect(RUN_M("--fill0", "z"), EXIT_INPUT, "", "the model has no input 'z'");
    model_scene_expect(RUN_M("--fill0", "x", "--fill1", "x"), EXIT_INPUT, "",
                       "input 'x' is given twice");
    model_scene_expect(
        RUN_M("--fill1", "x", "--input-dim", "@x", "2", "3", "--iter", "1", "--io-dump-stdout"),
        EXIT_OK, "layout={2(3)", "");
    model_scene_expect(RUN_M("--load-arg", "@x", "x.npy"), EXIT_INPUT, "", "x.npy");
    model_scene_expect(RUN_M("--load-arg", "@x"), EXIT_USAGE, "", "--load-arg takes two words");
    model_scene_expect(RUN_M("--dim-param", "@n", "4", "--iter", "1"), EXIT_OK, "",
                       "float32 {4,3}");
    model_scene_expect(RUN_M("--dim-param", "n", "5", "--input-dim", "@x", "4", "3"), EXIT_INPUT,
                       "", "'n' is 4");
    model_scene_expect(RUN_M("--dim-param", "@nobody", "4"), EXIT_INPUT, "",
                       "no input has a dimension called 'nobody'");
    model_scene_expect(RUN_M("--dim-param", "n", "four"), EXIT_INPUT, "",
                       "has no size of a dimension");
    model_scene_expect(RUN_M("--dyn-input-dim", "@x", "[{min:1, max:4, optimals:[2]}, 3]",
                             "--batch", "2", "--iter", "1"),
                       EXIT_OK, "", "float32 {2,3}");
    model_scene_expect(RUN_M("--dyn-input-dim", "@x", "[{\"min\": 3, \"max\": 4}, 3]"), EXIT_INPUT,
                       "", "dimension 0 of 'x' is 3 to 4, and --batch 1 is not among these");
    model_scene_expect(RUN_M("--dyn-input-dim", "@x", "[{min:1}, 3]"), EXIT_INPUT, "",
                       "not \"@x [{min:1}, 3]\"");
}

static void models_may_end_earlier(void **state)
{
    model_scene_expect(RUN_M("--output-names", "s", "--print-graph", "text"), EXIT_OK, "Add", "");
    expect_without(RUN_M("--output-names", "s", "--print-graph", "text"), "Neg");
    model_scene_expect(RUN_M("--output-names", "s,y", "--iter", "1", "--bin-out-dump", "."),
                       EXIT_OK, "", "");
    model_scene_expect(RUN_M("--output-names", "nothing"), EXIT_INPUT, "",
                       "nothing computes 'nothing'");
    model_scene_expect(RUN_M("--output-names", "s,s"), EXIT_INPUT, "", "'s' is named twice");
    expect_without(RUN_M("--trim", "1", "--print-graph", "text"), "Neg");
    model_scene_expect(RUN_M("--trim", "1", "--print-graph", "text"), EXIT_OK, "Add", "");
    model_scene_expect(RUN_M("--trim", "2"), EXIT_INPUT, "",
                       "--trim 2 leaves no node: the model has 2");
    model_scene_expect(RUN_M("--trim", "1", "--verify", "."), EXIT_USAGE, "",
                       "--trim has no effect on --verify");
}

static void differences_may_be_judged_as_a_whole(void **state)
{
    static const char *const data[][2] = {{"input_0.pb", "f32 2,3 = 1 2 3 4 5 100"},
                                          {"output_0.pb", "f32 2,3 = -2 -4 -6 -8 -10.01 -200"}};

    for (size_t i = 0; i < 2; i++)
        model_scene_write_tensor(data[i][0], data[i][1]);
    /* 0.01 / sqrt(6) / 200 is 2e-5 */
    model_scene_expect(RUN_M("--verify", ".", "--rtol", "1e-4"), EXIT_NO, "DIFFERS in 1 of 6", "");
    model_scene_expect(RUN_M("--verify", ".", "--rms-tol", "1e-4"), EXIT_OK,
                       "within a root mean square of 0.0001 of the largest number", "");
    model_scene_expect(RUN_M("--verify", ".", "--rms-tol", "1e-5"), EXIT_NO,
                       "root mean square 2.04e-05", "");
    model_scene_expect(RUN_M("--verify", ".", "--rms-tol", "1e-5", "--rtol", "1"), EXIT_USAGE, "",
                       "in place of");
    model_scene_expect(RUN("verify", M, "--rms-tol", "0.001"), EXIT_OK, "passed", "");
}

static int begin(void **state)
{
    const int rc = model_scene_begin(state);

    model_scene_write(M, "opset 13\ninput x f32 n,3\nnode Add x,x -> s\nnode Neg s -> y\n"
                         "output y\n");
    return rc;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_are_words),
        cmocka_unit_test(flags_are_as_gflags_writes_them),
        cmocka_unit_test(inputs_are_as_migraphx_writes_them),
        cmocka_unit_test(models_may_end_earlier),
        cmocka_unit_test(differences_may_be_judged_as_a_whole),
    };

    return cmocka_run_group_tests(tests, begin, model_scene_end);
}
