/* SPDX-License-Identifier: Apache-2.0 */
/* Dumps of what operators read and make, comparing them, and checks of values during runs. */
#include <sys/stat.h>

#include "base/exit_status.h"
#include "tests/support/check.h"
#include "tests/support/child.h"
#include "tests/support/onnx_sample.h"
#include "tests/support/place.h"
#include "tests/support/temp.h"

static char *program, *compare, *folder;

enum { WORDS_MAX = 16 };

static struct child_result run(const char *const words[WORDS_MAX])
{
    const char *const environment[] = {"OPTRACE_SOCKET=/nonexistent/collector.sock", NULL};
    struct child_options options = {
        .environment = environment, .directory = folder, .timeout_ms = 300000};

    return child_run(words, &options);
}

/* What it printed on stdout, or for other statuses on stderr; the caller frees it. */
static char *expect(int status, const char *const words[WORDS_MAX])
{
    struct child_result result = run(words);
    char *out = strdup(status == EXIT_OK || words[0] == compare ? result.out : result.err);

    if (result.status != status)
        fail_msg("status %d: %s", result.status, result.err);
    child_result_deinit(&result);
    return out;
}

/* The model's two operators stay two: these tests look at each. */
#define X "[-9,0.5,1],[-3,0,1]"
#define RUN(status, ...)                                                                           \
    expect(status, (const char *const[WORDS_MAX]){program, "good.onnx", "--no-enable-jit",         \
                                                  "--warmup-iter", "0", "--iter", "2", "--input",  \
                                                  "x:" X, __VA_ARGS__})
#define COMPARE(status, ...) expect(status, (const char *const[WORDS_MAX]){compare, __VA_ARGS__})

static void make_folder(const char *name)
{
    char *path = temp_path(folder, name);

    CHECK_OK(mkdir(path, 0700));
    free(path);
}

static void text_has_a_block_for_each_output(void **state)
{
    char *path = temp_path(folder, "dump.txt"), *text;
    const char *second;

    free(RUN(EXIT_OK, "--io-dump", "dump.txt"));
    text = temp_read(path, NULL);
    CHECK_CONTAINS(text, "name=s layout={2(3),3(1) Float32} owner_opr=sum{Add} opr0\n"
                         " deps:\n"
                         "  [i0]var");
    CHECK_CONTAINS(text, ": [-9, 0.5, 1, -3, 0, ...] s\n");
    CHECK_CONTAINS(text, " val: [-9, 1.5, 3, 0, 4, ...]min=-9 max=6 mean=0.917 l2=4.9 sd=5.28 "
                         "s\n");
    /* Relu works in place: what it read was kept before. */
    second = strstr(text, "owner_opr=act{Relu}");
    assert_non_null(second);
    CHECK_CONTAINS(second, ": [-9, 1.5, 3, 0, 4, ...] s\n val: [0, 1.5, 3, 0, 4, ...]min=0");
    assert_non_null(strstr(second + 1, "owner_opr=act{Relu}")); /* of the second run */
    free(text);
    free(path);
}

static void binary_dumps_are_compared(void **state)
{
    char *text;

    make_folder("a");
    make_folder("b");
    make_folder("outs");
    free(RUN(EXIT_OK, "--bin-io-dump", "a", "--bin-out-dump", "outs"));
    text = COMPARE(EXIT_OK, "a", "a");
    assert_string_equal(text, "all 2 variables agree\n");
    free(text);
    free(expect(EXIT_OK, (const char *const[WORDS_MAX]){program, "good.onnx", "--no-enable-jit",
                                                        "--bin-io-dump", "b", "--input",
                                                        "x:[-9,0.5,1],[-3,0,4]", "--iter", "1"}));
    text = COMPARE(EXIT_NO, "a", "b");
    CHECK_CONTAINS(text, "1 of 6 elements differ, worst at {1,2}: 6 against 9, error 0.333\n"
                         "    var={id:");
    CHECK_CONTAINS(text, "2 of 2 variables differ, the first is ");
    free(text);
    text = COMPARE(EXIT_OK, "a", "b", "--max-err", "0.5");
    assert_string_equal(text, "all 2 variables agree\n");
    free(text);
}

static void outputs_of_every_run_are_kept(void **state)
{
    char *text = COMPARE(EXIT_OK, "outs/run0-var3", "outs/run1-var3");

    assert_string_equal(text, "all 1 variables agree\n");
    free(text);
    text = COMPARE(EXIT_NO, "outs/run0-var3", "a/000002", "-s");
    CHECK_CONTAINS(text, "run0-var3: 1 of 6 elements differ, worst at {0,0}: 0 against -9");
    free(text);
}

/* Texts are shown, and compared, as what they say. */
static void texts_are_dumped(void **state)
{
    char *model = place_source("tests/graphs/cases/lowered_mappers/model.onnx"), *text;
    static const char words[] =
        "{\"x0\": {\"shape\": [3], \"type\": \"string\", \"raw\": [\"emu\", \"\\u001b\", \"emu\"]}}";

    make_folder("c");
    make_folder("d");
    free(temp_write(folder, "words.json", words, strlen(words)));
    text = expect(EXIT_OK, (const char *const[WORDS_MAX]){
                               program, model, "--input", "words.json;x1:1,7,3", "--iter", "1",
                               "--bin-out-dump", "c", "--io-dump-stdout"});
    CHECK_CONTAINS(text, ": [\"emu\", \"\\x1b\", \"emu\"] s\n");
    CHECK_CONTAINS(text, " val: [\"emu\", \"lynx\", \"none\"] s\n");
    free(text);
    free(expect(EXIT_OK,
                (const char *const[WORDS_MAX]){program, model, "--input", "words.json;x1:1,7,1",
                                               "--iter", "1", "--bin-out-dump", "d"}));
    free(COMPARE(EXIT_OK, "c", "c"));
    text = COMPARE(EXIT_NO, "c", "d", "--max-err", "0.5");
    CHECK_CONTAINS(text, "1 of 3 elements differ, worst at {2}: 'none' against 'emu', error inf");
    free(text);
    text =
        expect(EXIT_OK, (const char *const[WORDS_MAX]){program, model, "--input",
                                                       "words.json;x1:1,7,3", "--trace-eval", "2"});
    CHECK_CONTAINS(text, "Output has texts\nOutput: \"emu\", \"lynx\", \"none\"\n");
    free(text);
    free(model);
}

static void damaged_dumps_are_named(void **state)
{
    struct child_result result;

    free(temp_write(folder, "short", "abc", 3));
    free(temp_write(folder, "zeros", (char[64]){0}, 64));
    result = run((const char *const[WORDS_MAX]){compare, "short", "short"});
    assert_int_equal(result.status, EXIT_INPUT);
    CHECK_CONTAINS(result.err, "compare-io: short: 3 bytes are too few");
    child_result_deinit(&result);
    result = run((const char *const[WORDS_MAX]){compare, "zeros", "zeros"});
    assert_int_equal(result.status, EXIT_INPUT);
    CHECK_CONTAINS(result.err, "compare-io: zeros: this is no dump of a variable");
    child_result_deinit(&result);
    result = run((const char *const[WORDS_MAX]){compare, "absent", "zeros"});
    assert_int_equal(result.status, EXIT_INPUT);
    CHECK_CONTAINS(result.err, "compare-io: absent: No such file");
    child_result_deinit(&result);
}

static void bad_places_for_dumps(void **state)
{
    char *text = RUN(EXIT_INPUT, "--bin-io-dump", "no/such/folder");

    CHECK_CONTAINS(text, "cannot dump into no/such/folder: No such file or directory; make the");
    free(text);
    text = RUN(EXIT_INPUT, "--bin-io-dump", "good.onnx");
    CHECK_CONTAINS(text, "it is no folder");
    free(text);
    text = RUN(EXIT_INPUT, "--io-dump", "no/such/file");
    CHECK_CONTAINS(text, "cannot write no/such/file");
    free(text);
    text = RUN(EXIT_USAGE, "--io-dump-stdout", "--io-dump", "f");
    CHECK_CONTAINS(text, "exclude each other");
    free(text);
    text = RUN(EXIT_USAGE, "--io-dump-stdout", "--thread", "2");
    CHECK_CONTAINS(text, "need --thread 1");
    free(text);
}

static void values_out_of_range_end_the_run(void **state)
{
    char *text = RUN(EXIT_NO, "--range", "7.5");

    CHECK_CONTAINS(text, "float value out of range: \"s\" of operator \"sum\" (Add) is -9 at "
                         "{0,0} of {2,3}, beyond 7.5");
    free(text);
    text = RUN(EXIT_OK, "--range", "9.5");
    CHECK_CONTAINS(text, "finished test");
    free(text);
}

static void values_are_the_same_from_run_to_run(void **state)
{
    char *text = RUN(EXIT_OK, "--check-var-value", "1", "--iter", "3");

    CHECK_CONTAINS(text, "all 2 values passed; start from beginning\n");
    free(text);
    text = RUN(EXIT_NO, "--check-var-value", "1:9");
    CHECK_CONTAINS(text, "there are only 2 values, not 10");
    free(text);
    text = RUN(EXIT_USAGE, "--check-var-value", "0");
    CHECK_CONTAINS(text, "takes N or N:START");
    free(text);
}

static void outputs_are_copied(void **state)
{
    char *text = RUN(EXIT_OK, "--copy-to-host");

    CHECK_CONTAINS(text, "finished test");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_has_a_block_for_each_output),
        cmocka_unit_test(binary_dumps_are_compared),
        cmocka_unit_test(outputs_of_every_run_are_kept),
        cmocka_unit_test(texts_are_dumped),
        cmocka_unit_test(damaged_dumps_are_named),
        cmocka_unit_test(bad_places_for_dumps),
        cmocka_unit_test(values_out_of_range_end_the_run),
        cmocka_unit_test(values_are_the_same_from_run_to_run),
        cmocka_unit_test(outputs_are_copied),
    };
    struct onnx_sample sample;
    uint8_t *bytes;
    size_t size;
    int failed;

    program = place_program("runtime/load_and_run");
    compare = place_source("scripts/compare-io");
    folder = temp_create();
    onnx_sample_init(&sample);
    bytes = onnx_sample_pack(&sample, &size);
    free(temp_write(folder, "good.onnx", bytes, size));
    free(bytes);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    temp_destroy(&folder);
    free(program);
    free(compare);
    return failed;
}
