/* SPDX-License-Identifier: Apache-2.0 */
/* load_and_run in a folder with models. */
#include "tests/support/model_scene.h"

#include <stdlib.h>

#include "tests/support/check.h"
#include "tests/support/onnx_text.h"
#include "tests/support/place.h"
#include "tests/support/temp.h"

enum { RUN_MS = 300000 };

struct model_scene model_scene;

int model_scene_begin(void **state)
{
    (void)state;
    model_scene.program = place_program("runtime/load_and_run");
    model_scene.folder = temp_create();
    return model_scene.program && model_scene.folder ? 0 : -1;
}

int model_scene_end(void **state)
{
    (void)state;
    temp_destroy(&model_scene.folder);
    free(model_scene.program);
    return 0;
}

struct child_result model_scene_run(const char *const *environment,
                                    const char *const words[MODEL_WORDS_MAX])
{
    static const char *const unrecorded[] = {"OPTRACE_DISABLE=1", NULL};
    const struct child_options options = {.environment = environment ? environment : unrecorded,
                                          .directory = model_scene.folder,
                                          .timeout_ms = RUN_MS};
    const char *argv[MODEL_WORDS_MAX + 2] = {model_scene.program};

    for (int i = 0; i < MODEL_WORDS_MAX && words[i]; i++)
        argv[1 + i] = words[i];
    return child_run(argv, &options);
}

void model_scene_expect(struct child_result result, int status, const char *out, const char *err)
{
    if (result.status != status)
        fail_msg("status %d: %s%s", result.status, result.out, result.err);
    CHECK_CONTAINS(result.out, out);
    CHECK_CONTAINS(result.err, err);
    child_result_deinit(&result);
}

/* Frees the bytes. */
static void write_bytes(const char *name, uint8_t *bytes, size_t size)
{
    free(temp_write(model_scene.folder, name, bytes, size));
    free(bytes);
}

void model_scene_write(const char *name, const char *text)
{
    size_t size;
    uint8_t *bytes = onnx_text_pack(text, &size);

    write_bytes(name, bytes, size);
}

void model_scene_write_tensor(const char *name, const char *text)
{
    size_t size;
    uint8_t *bytes = onnx_text_pack_tensor(text, &size);

    write_bytes(name, bytes, size);
}

void model_scene_write_sample(const char *name, const struct onnx_sample *sample)
{
    size_t size;
    uint8_t *bytes = onnx_sample_pack(sample, &size);

    write_bytes(name, bytes, size);
}

int model_scene_begin_good(void **state)
{
    const int rc = model_scene_begin(state);
    struct onnx_sample sample;

    onnx_sample_init(&sample);
    model_scene_write_sample("good.onnx", &sample);
    return rc;
}
