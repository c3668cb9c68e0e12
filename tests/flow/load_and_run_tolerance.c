/* SPDX-License-Identifier: Apache-2.0 */
/* load_and_run --verify: what outputs may differ by, and that the result says which and why. */
#include <unistd.h>

#include "base/exit_status.h"
#include "tests/support/check.h"
#include "tests/support/model_scene.h"
#include "tests/support/temp.h"

#define VERIFY(...) model_scene_run(NULL, MODEL_WORDS("model.onnx", "--verify", ".", __VA_ARGS__))

/*
 * What lies between both products is 1.01 and 1: 1.0098 in float16, 1.0078 in bfloat16. Of the
 * difference, 0.01, a fortieth and a fifth are lost so, of the sum nearly nothing.
 */
static void write_case(void)
{
    model_scene_write("model.onnx",
                      "opset 13\ninput x f32 1,2\nconst v f32 2,2 = 1 0 0 1\n"
                      "const w f32 2,2 = 1 1 -1 1\nnode MatMul x,v -> h\nnode MatMul h,w -> y\n"
                      "output y\n");
    model_scene_write_tensor("input_0.pb", "f32 1,2 = 1.01 1");
    model_scene_write_tensor("output_0.pb", "f32 1,2 = 0.01 2.01");
}

static void tensors_in_half_are_allowed_their_rounding(void **state)
{
    write_case();
    model_scene_expect(
        VERIFY(NULL), EXIT_OK,
        "passed: 1 of 1 data sets agree within rtol 0.001 and atol 1e-07 (default)\n", "");
    model_scene_expect(
        VERIFY("--enable-ioc16"), EXIT_OK,
        "passed: 1 of 1 data sets agree within rtol 0.015625 and atol 0.00390625 of the largest "
        "number (tensors are stored in float16)\n",
        "");
    model_scene_expect(VERIFY("--fp16"), EXIT_OK, "(tensors are stored in float16)\n", "");
    model_scene_expect(
        VERIFY("--bf16"), EXIT_OK,
        "passed: 1 of 1 data sets agree within rtol 0.125 and atol 0.03125 of the largest "
        "number (tensors are stored in bfloat16)\n",
        "");
    model_scene_expect(VERIFY("--fp16", "--thread", "2"), EXIT_OK,
                       "passed: 2 of 2 data sets agree within ", "");
    model_scene_expect(VERIFY("--bf16", "--record-comp-seq"), EXIT_OK,
                       "(tensors are stored in bfloat16)\n", "");
    model_scene_expect(VERIFY("--bf16", "--record-comp-seq2", "--no-sanity-check"), EXIT_OK,
                       "(tensors are stored in bfloat16)\n", "");
}

/* That the case needs it. */
static void what_is_asked_for_decides(void **state)
{
    write_case();
    model_scene_expect(
        VERIFY("--enable-ioc16", "--rtol", "0.001", "--atol", "0"), EXIT_NO,
        "FAILED: 0 of 1 data sets agree within rtol 0.001 (--rtol) and atol 0 (--atol)\n", "");
    model_scene_expect(VERIFY("--bf16", "--rtol", "0.1", "--atol", "1e-7"), EXIT_NO,
                       "FAILED: ", "");
    model_scene_expect(
        VERIFY("--fp16", "--rtol", "0"), EXIT_OK,
        "within rtol 0 (--rtol) and atol 0.00390625 of the largest number (tensors are stored in "
        "float16)\n",
        "");
    model_scene_expect(VERIFY("--fp16", "--atol", "0"), EXIT_NO,
                       "within rtol 0.015625 (tensors are stored in float16) and atol 0 (--atol)\n",
                       "");
    model_scene_expect(VERIFY("--rtol", "0.01"), EXIT_OK,
                       "within rtol 0.01 (--rtol) and atol 1e-07 (default)\n", "");
}

static void wrong_numbers_are_seen(void **state)
{
    write_case();
    model_scene_write_tensor("output_0.pb", "f32 1,2 = 0.01 2.1");
    model_scene_expect(VERIFY("--enable-ioc16"), EXIT_NO,
                       "DIFFERS in 1 of 2 elements; worst at {0,1}", "");
    model_scene_expect(VERIFY("--fp16", "--thread", "2"), EXIT_NO,
                       "FAILED: 0 of 2 data sets agree within ", "");
    model_scene_write_tensor("output_0.pb", "f32 1,2 = 0.05 2.01");
    model_scene_expect(VERIFY("--enable-ioc16"), EXIT_NO,
                       "DIFFERS in 1 of 2 elements; worst at {0,0}", "");
    model_scene_write_tensor("output_0.pb", "f32 1,2 = 0.01 2.5");
    model_scene_expect(VERIFY("--bf16"), EXIT_NO, "DIFFERS in 1 of 2 elements; worst at {0,1}", "");
    /* Nothing is allowed of a number that is none. */
    model_scene_write_tensor("output_0.pb", "f32 1,2 = nan 2.01");
    model_scene_expect(VERIFY("--bf16"), EXIT_NO, "DIFFERS in 1 of 2 elements; worst at {0,0}", "");
    model_scene_write_tensor("output_0.pb", "f32 1,2 = inf 2.01");
    model_scene_expect(VERIFY("--bf16"), EXIT_NO, "DIFFERS in 1 of 2 elements; worst at {0,0}", "");
}

/* They are compared with their reference to 1e-5 of the largest number before they are taken: that
 * much, a small number between large ones may be off by. */
static void chosen_kernels_are_allowed_theirs(void **state)
{
    static const char *const ways[] = {"--fast-run", "--full-run", "--reproducible"};

    write_case();
    model_scene_write_tensor("output_0.pb", "f32 1,2 = 0.010015 2.01");
    model_scene_expect(VERIFY(NULL), EXIT_NO, "worst at {0,0}: expected 0.01001499", "");
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
        model_scene_expect(
            VERIFY(ways[i]), EXIT_OK,
            "within rtol 0.001 (default) and atol 1e-05 of the largest number (kernels are "
            "chosen)\n",
            "");
    model_scene_expect(VERIFY("--fast-run", "--atol", "1e-7"), EXIT_NO,
                       "within rtol 0.001 (default) and atol 1e-07 (--atol)\n", "");
    model_scene_expect(
        VERIFY("--fast-run", "--fp16"), EXIT_OK,
        "within rtol 0.015625 and atol 0.00390625 of the largest number (tensors are stored in "
        "float16)\n",
        "");
    model_scene_write_tensor("output_0.pb", "f32 1,2 = 0.0101 2.01");
    model_scene_expect(VERIFY("--fast-run"), EXIT_NO, "DIFFERS in 1 of 2 elements; worst at {0,0}",
                       "");
}

/* What is stored decides, not what was asked for. */
static void float32_is_held_to_float32(void **state)
{
    model_scene_write("model.onnx", "opset 13\ninput x f32 1,2\nnode Neg x -> y\noutput y\n");
    model_scene_write_tensor("input_0.pb", "f32 1,2 = 1 2");
    model_scene_write_tensor("output_0.pb", "f32 1,2 = -1 -2.01");
    model_scene_expect(VERIFY("--enable-ioc16"), EXIT_NO,
                       "within rtol 0.001 and atol 1e-07 (default)\n", "");
    model_scene_expect(VERIFY("--bf16"), EXIT_NO, "within rtol 0.001 and atol 1e-07 (default)\n",
                       "");
}

static void a_case_written_for_float32_is_widened(void **state)
{
    char *path;

    write_case();
    free(temp_write(model_scene.folder, "data.json", "{\"rtol\": 1e-4, \"atol\": 0.5}", 28));
    model_scene_expect(VERIFY(NULL), EXIT_OK, "within rtol 0.0001 and atol 0.5 (data.json)\n", "");
    model_scene_expect(
        VERIFY("--fp16"), EXIT_OK,
        "within rtol 0.015625 (tensors are stored in float16) and atol 0.5 (data.json) or "
        "0.00390625 of the largest number (tensors are stored in float16)\n",
        "");
    free(temp_write(model_scene.folder, "data.json", "{\"rtol\": 1e-5}", 14));
    model_scene_expect(VERIFY(NULL), EXIT_OK,
                       "within rtol 1e-05 (data.json) and atol 1e-07 (default)\n", "");
    model_scene_expect(VERIFY("--bf16"), EXIT_OK,
                       "within rtol 0.125 and atol 0.03125 of the largest number "
                       "(tensors are stored in bfloat16)\n",
                       "");
    free(temp_write(model_scene.folder, "data.json", "{\"rtol\": 0.5}", 13));
    model_scene_expect(
        VERIFY("--bf16"), EXIT_OK,
        "within rtol 0.5 (data.json) and atol 0.03125 of the largest number (tensors are stored "
        "in bfloat16)\n",
        "");
    path = temp_path(model_scene.folder, "data.json");
    unlink(path);
    free(path);
}

static void the_document_has_it(void **state)
{
    write_case();
    model_scene_expect(VERIFY("--json"), EXIT_OK, "\"rtol\": 0.001,", "");
    model_scene_expect(VERIFY("--json"), EXIT_OK, "\"atol\": 1e-07,", "");
    model_scene_expect(VERIFY("--json", "--fp16"), EXIT_OK, "\"rtol\": 0.015625,", "");
    model_scene_expect(VERIFY("--json", "--fp16"), EXIT_OK, "\"atol_of_largest\": 0.00390625,", "");
    model_scene_expect(VERIFY("--json", "--fp16"), EXIT_OK, "\"rtol_from\": \"storage\",", "");
    model_scene_expect(VERIFY("--json", "--fp16"), EXIT_OK, "\"stored\": \"float16\"", "");
    model_scene_expect(VERIFY("--json", "--fp16", "--atol", "1"), EXIT_OK,
                       "\"atol_from\": \"option\",", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_in_half_are_allowed_their_rounding),
        cmocka_unit_test(what_is_asked_for_decides),
        cmocka_unit_test(wrong_numbers_are_seen),
        cmocka_unit_test(chosen_kernels_are_allowed_theirs),
        cmocka_unit_test(float32_is_held_to_float32),
        cmocka_unit_test(a_case_written_for_float32_is_widened),
        cmocka_unit_test(the_document_has_it),
    };

    return cmocka_run_group_tests(tests, model_scene_begin, model_scene_end);
}
