/* SPDX-License-Identifier: Apache-2.0 */
/* load_and_run: what nobody computes is not looked at, what is there without being computed is, and
 * modes that look at results go with the ways of computing them. */
#include <sys/stat.h>
#include <unistd.h>

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
    /* Memory that nobody wrote holds something. */
    const char *const environment[] = {"OPTRACE_DISABLE=1", "MALLOC_PERTURB_=85", NULL};
    struct child_options options = {
        .environment = environment, .directory = folder, .timeout_ms = 300000};
    const char *argv[WORDS_MAX + 3] = {program, "model.onnx"};

    for (int i = 0; i < WORDS_MAX && words[i] != NULL; i++)
        argv[2 + i] = words[i];
    return child_run(argv, &options);
}

#define RUN(...) run((const char *const[WORDS_MAX]){__VA_ARGS__})

static void expect(struct child_result result, int status, const char *out, const char *err)
{
    if (result.status != status)
        fail_msg("status %d: %s%s", result.status, result.out, result.err);
    CHECK_CONTAINS(result.out, out);
    CHECK_CONTAINS(result.err, err);
    child_result_deinit(&result);
}

static void write_model(const char *text)
{
    size_t size;
    uint8_t *bytes = onnx_text_pack(text, &size);

    free(temp_write(folder, "model.onnx", bytes, size));
    free(bytes);
}

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
        "opset 11\ninput x u8 3,8\nnode Unique x -> y,i,j,c\noutput c\n",
        "opset 11\ninput x f32 3,8\nnode DynamicQuantizeLinear x -> y,s,z\noutput s\n",
    };

    for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
        struct child_result result;

        write_model(models[i]);
        result = RUN("--verify-against", "ref");
        if (result.status == EXIT_INPUT && strstr(result.err, "is not supported") != NULL) {
            child_result_deinit(&result);
            continue;
        }
        if (result.status != EXIT_OK)
            fail_msg("%s\n%s%s", models[i], result.out, result.err);
        CHECK_CONTAINS(result.out, "agree with their reference");
        child_result_deinit(&result);
        /* Nor is what lies there told as a value. */
        expect(RUN("--range", "1e30", "--iter", "3"), EXIT_OK, "", "");
    }
}

static void what_nobody_wrote_is_not_dumped(void **state)
{
    char *path = temp_path(folder, "dump"), *text;

    write_model("opset 14\ninput x f32 3,2,4\nconst w f32 1,15,4\nconst r f32 1,15,5\n"
                "node GRU x,w,r -> unread,h hidden_size=5\noutput h f32 1,2,5\n");
    expect(RUN("--io-dump", "dump", "--iter", "1"), EXIT_OK, "", "");
    text = temp_read(path, NULL);
    CHECK_CONTAINS(text, "name=h ");
    CHECK_LACKS(text, "name=unread ");
    free(text);
    free(path);
    expect(RUN("--print-graph", "text"), EXIT_OK, "GRU", "");
    expect(RUN("--trace-eval", "3", "--iter", "1"), EXIT_OK, "GRU", "");
}

static int begin(void **state)
{
    program = place_program("runtime/load_and_run");
    folder = temp_create();
    return program != NULL && folder != NULL ? 0 : -1;
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
        cmocka_unit_test(outputs_that_nobody_reads_are_not_checked),
        cmocka_unit_test(what_nobody_wrote_is_not_dumped),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
