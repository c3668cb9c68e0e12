/* SPDX-License-Identifier: Apache-2.0 */
/* load_and_run: whatever a model's file calls things, and whatever files are called, nothing that
 * it prints steers a terminal, turns the direction of writing or begins a line that is not its own.
 */
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "tests/support/check.h"
#include "tests/support/model_scene.h"
#include "tests/support/onnx_text.h"
#include "tests/support/temp.h"

/* What stands for words in the text of a model; control characters of ASCII are refused in names.
 */
static const char *const tokens[][2] = {
    {"FIRSTTOK", "\xc2\x9b[7m\xe2\x80\xae"},
    {"OTHERTOK", "\xe2\x80\xa8\xc2\x85"
                 "abc"},
    {"Conv_0", "\xc2\x9d"
               "8;;x"},
    {"Add_1", "\xe2\x81\xa6"
              "ab"},
    {"MatMul_", "\xe2\x80\xa9\xd8\x9c_\x7e"},
    {"CONTROL", "\nFORGED"},
    {"ESCAPES", "\x1b[7m\r\b\x7f"},
};

#define EVIL "e\x1b[7m\nFORGED\xe2\x80\xae"

/* All of it may be looked at. */
static void check_harmless(const char *what, const char *text, size_t length)
{
    uint32_t code;

    for (size_t at = 0, size; at < length; at += size) {
        size = text_decode(text + at, length - at, &code);
        if (size == 0 || (code != '\n' && text_is_steering(code)))
            fail_msg("%s: byte %02x at %zu of: %s", what, (unsigned char)text[at], at, text);
    }
    if (strstr(text, "\nFORGE") || strncmp(text, "FORGE", 5) == 0)
        fail_msg("%s: a line of somebody else's: %s", what, text);
}

static void run_with(const char *model, const char *const words[MODEL_WORDS_MAX], int status)
{
    /* A daemon's absence is told. */
    const char *const environment[] = {"OPTRACE_SOCKET=/nonexistent/" EVIL, NULL};
    const char *line[MODEL_WORDS_MAX] = {model};
    struct child_result result;

    for (int i = 0; i < MODEL_WORDS_MAX - 1 && words[i]; i++)
        line[1 + i] = words[i];
    result = model_scene_run(environment, line);
    if (result.status != status)
        fail_msg("status %d: %s%s", result.status, result.out, result.err);
    check_harmless(words[0] ? words[0] : model, result.out, strlen(result.out));
    check_harmless(words[0] ? words[0] : model, result.err, strlen(result.err));
    child_result_deinit(&result);
}

#define RUN(...)  run_with("model.onnx", MODEL_WORDS(__VA_ARGS__), 0)
#define FAIL(...) run_with("model.onnx", MODEL_WORDS(__VA_ARGS__), 3)

static void check_file(const char *name)
{
    char *path = temp_path(model_scene.folder, name);
    size_t size;
    char *text = temp_read(path, &size);

    check_harmless(name, text, size);
    free(text);
    free(path);
}

static void write_model(const char *name, const char *text)
{
    size_t size;
    uint8_t *bytes = onnx_text_pack(text, &size);

    for (size_t i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++) {
        size_t length = strlen(tokens[i][0]);

        assert_true(length == strlen(tokens[i][1]));
        for (uint8_t *at = bytes;
             (at = memmem(at, size - (size_t)(at - bytes), tokens[i][0], length));)
            memcpy(at, tokens[i][1], length);
    }
    free(temp_write(model_scene.folder, name, bytes, size));
    free(bytes);
}

static void write_all(void)
{
    static const char *const sets[] = {"test_data_set_0", "test_data_set_" EVIL};
    char *path;

    write_model("model.onnx", "opset 13\ninput xFIRSTTOK f32 1,1,4,4\nconst wFIRSTTOK f32 2,1,3,3\n"
                              "const bOTHERTOK f32 1,2,4,4\nconst mFIRSTTOK f32 4,4\n"
                              "node Conv xFIRSTTOK,wFIRSTTOK -> cFIRSTTOK pads=[1,1,1,1]\n"
                              "node Add cFIRSTTOK,bOTHERTOK -> aOTHERTOK\n"
                              "node MatMul aOTHERTOK,mFIRSTTOK -> yFIRSTTOK\n"
                              "node Softmax aOTHERTOK -> zOTHERTOK\n"
                              "output yFIRSTTOK f32 1,2,4,4\noutput zOTHERTOK f32 1,2,4,4\n");
    for (int i = 0; i < 2; i++) {
        char place[80];

        path = temp_path(model_scene.folder, sets[i]);
        mkdir(path, 0700);
        free(path);
        snprintf(place, sizeof(place), "%s/input_0.pb", sets[i]);
        model_scene_write_tensor(place, "f32 1,1,4,4");
        for (int k = 0; k < 2; k++) {
            snprintf(place, sizeof(place), "%s/output_%d.pb", sets[i], k);
            model_scene_write_tensor(place, "f32 1,2,4,4");
        }
    }
}

static void timing_shows_them(void **state)
{
    write_all();
    RUN("--iter", "1");
    RUN("--verbose", "--iter", "1");
    RUN("--model-info", "--iter", "1");
    RUN("--model-info", "--iter", "1", "--thread", "2");
    RUN("--json", "--iter", "1", "--model-info");
    RUN("--fast-run", "--verbose", "--iter", "1");
    RUN("--layout-transform", "cpu", "--verbose", "--iter", "1");
    RUN("--check-dispatch", "--iter", "1");
    RUN("--get-static-mem-info", ".", "--iter", "1");
    RUN("--fitting", "--iter", "1");
    RUN("--profile", "profile.json", "--iter", "1");
    check_file("profile.json");
    RUN("--enable-ioc16", "--verbose", "--iter", "1");
}

static void printers_show_them(void **state)
{
    write_all();
    for (int i = 0; i < 4; i++) {
        static const char *const formats[] = {"text", "dot", "json", "brief"};

        RUN("--print-graph", formats[i]);
    }
    RUN("--perf-report", "--detailed", "--iter", "2");
    RUN("--perf-report", "--json", "--iter", "2");
    for (const char *const *level = (const char *const[]){"1", "2", "3", NULL}; *level; level++)
        RUN("--trace-eval", *level, "--iter", "1");
    RUN("--io-dump", "dump.txt", "--iter", "1");
    check_file("dump.txt");
    RUN("--io-dump-stdout", "--iter", "1");
    RUN("--io-dump-stderr", "--iter", "1");
    RUN("--check-var-value", "1", "--iter", "20");
    run_with("model.onnx", MODEL_WORDS("--range", "1e-20", "--iter", "1"), 1);
}

static void verification_shows_them(void **state)
{
    write_all();
    run_with("model.onnx", MODEL_WORDS("--verify", "."), 1);
    run_with("model.onnx", MODEL_WORDS("--verify", "test_data_set_" EVIL), 1);
    run_with("model.onnx", MODEL_WORDS("--verify", ".", "--json"), 1);
    RUN("--verify", ".", "--disable-assert-throw", "--thread", "2");
    RUN("--verify-against", "ref", "--verbose");
    run_with("model.onnx",
             MODEL_WORDS("--verify-against", "ref", "--rtol", "0", "--atol", "0", "--bf16"), 1);
}

static void refusals_show_them(void **state)
{
    static const char *const bad[] = {
        "opset 13\ninput x f32 2\nnode FIRSTTOK x -> y\noutput y\n",
        "opset 13\ninput x f32 2\nnode OTHERTOK.FIRSTTOK x -> y\noutput y\n",
        "opset 13\ninput x f32 2\nnode Neg FIRSTTOK -> y\noutput y\n",
        "opset 13\ninput x f32 2\nnode Neg x -> y FIRSTTOK=1\noutput y\n",
        "opset 13\ninput x f32 2\nnode Neg x -> y\noutput OTHERTOK\n",
        "opset 13\ninput FIRSTTOK f32 2\nconst OTHERTOK f32 3\n"
        "node Add FIRSTTOK,OTHERTOK -> y\noutput y\n",
        "opset 13\ninput x f32 1,1,4,4\nconst w f32 1,1,3,3\n"
        "node Conv x,w -> y auto_pad=\"OTHERTOK\"\noutput y\n",
        "opset 13\ninput CONTROL f32 2\nnode Neg CONTROL -> y\noutput y\n",
        "opset 13\ninput x f32 2\nnode CONTROL x -> y\noutput y\n",
        "opset 13\ninput x f32 2\nnode Neg x -> y ESCAPES=1\noutput y\n",
        "opset 13\ninput x f32 1,1,4,4\nconst w f32 1,1,3,3\n"
        "node Conv x,w -> y auto_pad=\"ESCAPES\"\noutput y\n",
        "opset 999\ninput x f32 2\nnode Neg x -> y\noutput y\n",
        "opset 13\nopset 1 FIRSTTOK\ninput x f32 2\nnode FIRSTTOK.Neg x -> y\noutput y\n",
    };

    write_all();
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        write_model("bad.onnx", bad[i]);
        run_with("bad.onnx", MODEL_WORDS(NULL), 3);
    }
    run_with(EVIL ".onnx", MODEL_WORDS(NULL), 3);
    FAIL("--input", EVIL ":1");
    FAIL("--input", "data:" EVIL ".npy");
    FAIL("--input-dim", "{\"" EVIL "\": [1]}");
    FAIL("--verify", EVIL);
    FAIL("--c-opr-lib", "./" EVIL ".so");
    FAIL("--fast-run-algo-policy", EVIL);
    run_with("model.onnx", MODEL_WORDS("--profile", EVIL "/x/y"), 4);
    run_with("model.onnx", MODEL_WORDS("--" EVIL), 2);
    run_with("model.onnx", MODEL_WORDS("--iter", EVIL), 2);
    run_with("model.onnx", MODEL_WORDS("--print-graph", EVIL), 2);
    run_with("model.onnx", MODEL_WORDS(EVIL), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timing_shows_them),
        cmocka_unit_test(printers_show_them),
        cmocka_unit_test(verification_shows_them),
        cmocka_unit_test(refusals_show_them),
    };

    return cmocka_run_group_tests(tests, model_scene_begin, model_scene_end);
}
