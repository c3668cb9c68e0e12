/* SPDX-License-Identifier: Apache-2.0 */
/* load_and_run --share-param-mem and --batch-size: parameters that stay in their file, and inputs
 * of another first dimension, give what the model gives without. */
#include <unistd.h>

#include "base/exit_status.h"
#include "tests/support/check.h"
#include "tests/support/model_scene.h"
#include "tests/support/onnx_sample.h"
#include "tests/support/temp.h"

#define RUN(...) model_scene_run(NULL, MODEL_WORDS("model.onnx", "--iter", "1", __VA_ARGS__))

/* What the last run wrote for y, and that alone. */
static void expect_output(const float *wanted, size_t count)
{
    char *path = temp_path(model_scene.folder, "run0-var3");
    size_t size;
    char *bytes = temp_read(path, &size);

    assert_true(size > count * sizeof(*wanted));
    assert_memory_equal(bytes + size - count * sizeof(*wanted), wanted, count * sizeof(*wanted));
    free(bytes);
    unlink(path);
    free(path);
}

static const char six[] = "x:[-9,0.5,1],[-3,0,1]";
static const float six_wanted[] = {0, 1.5f, 3, 0, 4, 6};

static void keep_raw(struct onnx_sample *s)
{
    s->weight.n_float_data = 0;
    s->weight.has_raw_data = 1;
    s->weight.raw_data = (ProtobufCBinaryData){sizeof(s->weight_data), (uint8_t *)s->weight_data};
}

/* A name of each length moves the parameter by a byte: at one place in four it is aligned. */
static void aligned_parameters_stay_in_the_model(void **state)
{
    static char *const names[] = {"p", "pp", "ppp", "pppp"};
    int shared = 0;

    for (int i = 0; i < 4; i++) {
        struct onnx_sample sample;
        struct child_result result;

        onnx_sample_init(&sample);
        keep_raw(&sample);
        sample.model.producer_name = names[i];
        model_scene_write_sample("model.onnx", &sample);
        result = RUN("--share-param-mem", "--input", six, "--bin-out-dump", ".");
        shared += strstr(result.err, "--share-param-mem: 1 of 1 parameters, ") != NULL;
        model_scene_expect(result, EXIT_OK, "finished test", "--share-param-mem: ");
        expect_output(six_wanted, 6);
    }
    assert_int_equal(shared, 1);
}

static void typed_parameters_are_copied(void **state)
{
    struct onnx_sample sample;

    onnx_sample_init(&sample);
    model_scene_write_sample("model.onnx", &sample);
    model_scene_expect(RUN("--share-param-mem", "--input", six, "--bin-out-dump", "."), EXIT_OK, "",
                       "--share-param-mem: 0 of 1 parameters");
    expect_output(six_wanted, 6);
}

/* In a file of their own, at the beginning or anywhere in it. */
static void parameters_stay_in_other_files(void **state)
{
    static char *const offsets[] = {"0", "4", "6"};
    uint8_t bytes[40] = {0};

    for (int i = 0; i < 3; i++) {
        struct onnx_sample s;
        char *const pairs[3][2] = {
            {"location", "weights"}, {"offset", offsets[i]}, {"length", "24"}};

        onnx_sample_init(&s);
        memcpy(bytes + atoi(offsets[i]), s.weight_data, sizeof(s.weight_data));
        free(temp_write(model_scene.folder, "weights", bytes, sizeof(bytes)));
        s.weight.n_float_data = 0;
        s.weight.has_data_location = 1;
        s.weight.data_location = 1;
        s.weight.n_external_data = 3;
        for (int k = 0; k < 3; k++) {
            s.external[k].key = pairs[k][0];
            s.external[k].value = pairs[k][1];
        }
        model_scene_write_sample("model.onnx", &s);
        model_scene_expect(RUN("--share-param-mem", "--input", six, "--bin-out-dump", "."), EXIT_OK,
                           "",
                           i < 2 ? "--share-param-mem: 1 of 1 parameters"
                                 : "--share-param-mem: 0 of 1 parameters");
        expect_output(six_wanted, 6);
    }
}

/* With the same sentences as otherwise. */
static void damaged_models_are_refused(void **state)
{
    struct onnx_sample sample;
    size_t size;
    uint8_t *bytes;

    onnx_sample_init(&sample);
    keep_raw(&sample);
    sample.weight.raw_data.len = 20;
    model_scene_write_sample("model.onnx", &sample);
    model_scene_expect(RUN("--share-param-mem"), EXIT_INPUT, "",
                       "initialiser 'w' holds 20 bytes where its shape needs 24");
    keep_raw(&sample);
    bytes = onnx_sample_pack(&sample, &size);
    free(temp_write(model_scene.folder, "model.onnx", bytes, size - 7));
    free(bytes);
    model_scene_expect(RUN("--share-param-mem"), EXIT_INPUT, "", "the model is truncated");
}

/* y = max(x + {0, 1, 2}, 0), declared for two rows. */
static void write_rows(void)
{
    struct onnx_sample sample;

    onnx_sample_init(&sample);
    sample.weight_dims[0] = 1;
    sample.weight.n_float_data = 3;
    model_scene_write_sample("model.onnx", &sample);
}

static void data_is_repeated_to_fill_a_batch(void **state)
{
    static const char json[] = "{\"x\": {\"shape\": [1, 3], \"type\": \"float32\", "
                               "\"raw\": [5, -5, 5]}}";

    write_rows();
    free(temp_write(model_scene.folder, "x.json", json, sizeof(json) - 1));
    model_scene_expect(
        RUN("--batch-size", "5", "--input", "x:[1,2,3],[-4,-5,-6]", "--bin-out-dump", "."), EXIT_OK,
        "", "--batch-size: the first dimension of 1 inputs is 5");
    expect_output((const float[]){1, 3, 5, 0, 0, 0, 1, 3, 5, 0, 0, 0, 1, 3, 5}, 15);
    model_scene_expect(RUN("--batch-size", "3", "--input", "x.json", "--bin-out-dump", "."),
                       EXIT_OK, "", "");
    expect_output((const float[]){5, 0, 7, 5, 0, 7, 5, 0, 7}, 9);
    model_scene_expect(
        RUN("--batch-size", "1", "--input", "x:[1,2,3],[-4,-5,-6]", "--bin-out-dump", "."), EXIT_OK,
        "", "");
    expect_output((const float[]){1, 3, 5}, 3);
    model_scene_expect(RUN("--batch-size", "2", "--input", "x:{7,3}", "--bin-out-dump", "."),
                       EXIT_OK, "", "");
    expect_output((const float[]){1, 2, 3, 1, 2, 3}, 6);
    model_scene_expect(RUN("--batch-size", "4"), EXIT_OK, "", "(float32 {4,3}) has no data");
}

static void what_does_not_fit_a_batch_is_refused(void **state)
{
    struct onnx_sample sample;

    write_rows();
    model_scene_expect(RUN("--batch-size", "5", "--input", "x:[1,2],[3,4]"), EXIT_INPUT, "",
                       "input 'x' has shape {2,3} in the model, but {2,2} was given");
    model_scene_expect(RUN("--batch-size", "5", "--batch", "5"), EXIT_USAGE, "",
                       "exclude each other");
    model_scene_expect(RUN("--batch-size", "5", "--input", "x:{0,3}"), EXIT_INPUT, "",
                       "no row to repeat");
    onnx_sample_init(&sample);
    model_scene_write_sample("model.onnx", &sample);
    model_scene_expect(RUN("--batch-size", "5"), EXIT_INPUT, "", "node \"sum\" (Add");
    sample.shape.n_dim = 0;
    model_scene_write_sample("model.onnx", &sample);
    model_scene_expect(RUN("--batch-size", "5"), EXIT_INPUT, "",
                       "no input of the model has dimensions");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(aligned_parameters_stay_in_the_model),
        cmocka_unit_test(typed_parameters_are_copied),
        cmocka_unit_test(parameters_stay_in_other_files),
        cmocka_unit_test(damaged_models_are_refused),
        cmocka_unit_test(data_is_repeated_to_fill_a_batch),
        cmocka_unit_test(what_does_not_fit_a_batch_is_refused),
    };

    return cmocka_run_group_tests(tests, model_scene_begin, model_scene_end);
}
