/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines as users of MIGraphX and of gflags write them. */
#include "base/exit_status.h"
#include "tests/support/check.h"
#include "tests/support/child.h"
#include "tests/support/onnx_text.h"
#include "tests/support/place.h"
#include "tests/support/temp.h"

static char *program, *folder;

enum { WORDS_MAX = 16 };

static struct child_result run(const char *const words[WORDS_MAX])
{
    const char *const environment[] = {"OPTRACE_DISABLE=1", "FLAGS_iter=3", "FLAGS_verbose=false",
                                       NULL};
    struct child_options options = {
        .environment = environment, .directory = folder, .timeout_ms = 300000};
    const char *argv[WORDS_MAX + 2] = {program};

    for (int i = 0; i < WORDS_MAX && words[i]; i++)
        argv[1 + i] = words[i];
    return child_run(argv, &options);
}

/* Both texts must be there. */
static void expect(struct child_result result, int status, const char *out, const char *err)
{
    if (result.status != status)
        fail_msg("status %d: %s%s", result.status, result.out, result.err);
    CHECK_CONTAINS(result.out, out);
    CHECK_CONTAINS(result.err, err);
    child_result_deinit(&result);
}

static void expect_without(struct child_result result, const char *text)
{
    assert_int_equal(result.status, EXIT_OK);
    assert_null(strstr(result.out, text));
    child_result_deinit(&result);
}

#define RUN(...)   run((const char *const[WORDS_MAX]){__VA_ARGS__})
#define M          "model.onnx"
#define RUN_M(...) RUN(M, __VA_ARGS__)

static void write_file(const char *name, const char *text)
{
    free(temp_write(folder, name, text, strlen(text)));
}

static void commands_are_words(void **state)
{
    expect(RUN("read", M), EXIT_OK, "@2 = Neg", "");
    expect(RUN("compile", M), EXIT_OK, "FusedElementwise", "");
    expect_without(RUN("read", M), "FusedElementwise");
    expect(RUN("run", M), EXIT_OK, "iter 0", "");
    expect_without(RUN("run", M), "iter 1");
    expect(RUN("perf", M, "-n", "3"), EXIT_OK, "Total instructions time", "");
    expect(RUN("time", M, "-n2"), EXIT_OK, "iter 1", "");
    expect(RUN("verify", M), EXIT_OK, "passed", "");
    expect(RUN("verify", M, "--bisect"), EXIT_OK, "passed", "");
    expect(RUN("params", M), EXIT_OK, "x", "");
    expect(RUN("op", "--list"), EXIT_REFUSED, "",
           "the command op is not offered: docs/operators.md");
    expect(RUN("roctx", M), EXIT_REFUSED, "", "--trace records");
    expect(RUN("read"), EXIT_USAGE, "", "which model?");
}

static void flags_are_as_gflags_writes_them(void **state)
{
    write_file("flags", "# comment\n\n--iter=2\n  -warmup_iter=0 \n--flagfile=more\n");
    write_file("more", "--noverbose\n--cpu=true\n");
    write_file("ring", "--flagfile=ring\n");
    write_file("words", "iter\n");
    expect(RUN_M("--flagfile=flags"), EXIT_OK, "iter 1", "");
    expect_without(RUN_M("--flagfile", "flags"), "iter 2");
    expect(RUN_M("--flagfile=ring"), EXIT_USAGE, "", "files name each other");
    expect(RUN_M("--flagfile=words"), EXIT_USAGE, "", "'iter' in 'words' is no flag");
    expect(RUN_M("--flagfile=absent"), EXIT_INPUT, "", "absent");
    expect(RUN_M("--flagfile"), EXIT_USAGE, "", "--flagfile needs a value");
    expect(RUN_M("--fromenv=iter,verbose"), EXIT_OK, "iter 2", "");
    expect_without(RUN_M("--fromenv=iter"), "iter 3");
    expect(RUN_M("--fromenv=seed"), EXIT_USAGE, "", "there is no variable FLAGS_seed");
    expect(RUN_M("--tryfromenv=seed,iter"), EXIT_OK, "iter 2", "");
    expect(RUN_M("--json=true"), EXIT_OK, "\"version\": 1", "");
    expect_without(RUN_M("--json", "--json=false"), "\"version\"");
    expect_without(RUN_M("--json", "--nojson"), "\"version\"");
    expect(RUN_M("--json=perhaps"), EXIT_USAGE, "", "--json takes no value but true or false");
    /* where there is a flag that says the opposite, it is that */
    expect_without(RUN_M("--enable-jit=false", "--print-graph", "text"), "FusedElementwise");
    expect_without(RUN_M("--noenable-jit", "--print-graph", "text"), "FusedElementwise");
    expect(RUN_M("--enable-jit=true", "--iter", "1"), EXIT_OK, "",
           "--enable-jit: 2 operators are computed together");
}

static void inputs_are_as_migraphx_writes_them(void **state)
{
    write_file("x.json", "{\"x\": {\"shape\": [2, 3], \"type\": \"float32\", \"raw\": "
                         "[0,0,128,63,0,0,128,63,0,0,128,63,0,0,128,63,0,0,128,63,0,0,128,63]}}");
    expect(RUN_M("--fill1", "x", "--iter", "1", "--io-dump-stdout"), EXIT_OK, "min=-2 max=-2", "");
    expect(RUN_M("--fill0", "@x", "--trace-eval", "2", "--iter", "1"), EXIT_OK,
           "Min value: -0, Max value: -0", "");
    expect(RUN_M("--fill0", "z"), EXIT_INPUT, "", "the model has no input 'z'");
    expect(RUN_M("--fill0", "x", "--fill1", "x"), EXIT_INPUT, "", "input 'x' is given twice");
    expect(RUN_M("--fill1", "x", "--input-dim", "@x", "2", "3", "--iter", "1", "--io-dump-stdout"),
           EXIT_OK, "layout={2(3)", "");
    expect(RUN_M("--load-arg", "@x", "x.npy"), EXIT_INPUT, "", "x.npy");
    expect(RUN_M("--load-arg", "@x"), EXIT_USAGE, "", "--load-arg takes two words");
    expect(RUN_M("--dim-param", "@n", "4", "--iter", "1"), EXIT_OK, "", "float32 {4,3}");
    expect(RUN_M("--dim-param", "n", "5", "--input-dim", "@x", "4", "3"), EXIT_INPUT, "",
           "'n' is 4");
    expect(RUN_M("--dim-param", "@nobody", "4"), EXIT_INPUT, "",
           "no input has a dimension called 'nobody'");
    expect(RUN_M("--dim-param", "n", "four"), EXIT_INPUT, "", "has no size of a dimension");
    expect(RUN_M("--dyn-input-dim", "@x", "[{min:1, max:4, optimals:[2]}, 3]", "--batch", "2",
                 "--iter", "1"),
           EXIT_OK, "", "float32 {2,3}");
    expect(RUN_M("--dyn-input-dim", "@x", "[{\"min\": 3, \"max\": 4}, 3]"), EXIT_INPUT, "",
           "dimension 0 of 'x' is 3 to 4, and --batch 1 is not among these");
    expect(RUN_M("--dyn-input-dim", "@x", "[{min:1}, 3]"), EXIT_INPUT, "",
           "not \"@x [{min:1}, 3]\"");
}

static void models_may_end_earlier(void **state)
{
    expect(RUN_M("--output-names", "s", "--print-graph", "text"), EXIT_OK, "Add", "");
    expect_without(RUN_M("--output-names", "s", "--print-graph", "text"), "Neg");
    expect(RUN_M("--output-names", "s,y", "--iter", "1", "--bin-out-dump", "."), EXIT_OK, "", "");
    expect(RUN_M("--output-names", "nothing"), EXIT_INPUT, "", "nothing computes 'nothing'");
    expect(RUN_M("--output-names", "s,s"), EXIT_INPUT, "", "'s' is named twice");
    expect_without(RUN_M("--trim", "1", "--print-graph", "text"), "Neg");
    expect(RUN_M("--trim", "1", "--print-graph", "text"), EXIT_OK, "Add", "");
    expect(RUN_M("--trim", "2"), EXIT_INPUT, "", "--trim 2 leaves no node: the model has 2");
    expect(RUN_M("--trim", "1", "--verify", "."), EXIT_USAGE, "",
           "--trim has no effect on --verify");
}

static void differences_may_be_judged_as_a_whole(void **state)
{
    static const char *const data[][2] = {{"input_0.pb", "f32 2,3 = 1 2 3 4 5 100"},
                                          {"output_0.pb", "f32 2,3 = -2 -4 -6 -8 -10.01 -200"}};

    for (size_t i = 0; i < 2; i++) {
        size_t size;
        uint8_t *bytes = onnx_text_pack_tensor(data[i][1], &size);

        free(temp_write(folder, data[i][0], bytes, size));
        free(bytes);
    }
    /* 0.01 / sqrt(6) / 200 is 2e-5 */
    expect(RUN_M("--verify", ".", "--rtol", "1e-4"), EXIT_NO, "DIFFERS in 1 of 6", "");
    expect(RUN_M("--verify", ".", "--rms-tol", "1e-4"), EXIT_OK,
           "within a root mean square of 0.0001 of the largest number", "");
    expect(RUN_M("--verify", ".", "--rms-tol", "1e-5"), EXIT_NO, "root mean square 2.04e-05", "");
    expect(RUN_M("--verify", ".", "--rms-tol", "1e-5", "--rtol", "1"), EXIT_USAGE, "",
           "in place of");
    expect(RUN("verify", M, "--rms-tol", "0.001"), EXIT_OK, "passed", "");
}

static int begin(void **state)
{
    static const char text[] = "opset 13\ninput x f32 n,3\nnode Add x,x -> s\nnode Neg s -> y\n"
                               "output y\n";
    size_t size;
    uint8_t *bytes = onnx_text_pack(text, &size);

    program = place_program("runtime/load_and_run");
    folder = temp_create();
    if (!program || !folder)
        return -1;
    free(temp_write(folder, M, bytes, size));
    free(bytes);
    return 0;
}

static int end(void **state)
{
    temp_destroy(&folder);
    free(program);
    return 0;
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

    return cmocka_run_group_tests(tests, begin, end);
}
