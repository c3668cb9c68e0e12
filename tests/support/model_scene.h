/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load_and_run in a folder of its own, where models have short names; one for each test program:
 *
 *     #define RUN(...) model_scene_run(NULL, MODEL_WORDS("model.onnx", __VA_ARGS__))
 *
 *     model_scene_write("model.onnx", "opset 13\ninput x f32 2\nnode Neg x -> y\noutput y\n");
 *     model_scene_expect(RUN("--iter", "1"), EXIT_OK, "finished test", "");
 *
 *     return cmocka_run_group_tests(tests, model_scene_begin, model_scene_end);
 *
 * All functions fail the test on a system error.
 */
#ifndef OPTRACE_TESTS_SUPPORT_MODEL_SCENE_H
#define OPTRACE_TESTS_SUPPORT_MODEL_SCENE_H

#include "tests/support/child.h"
#include "tests/support/onnx_sample.h"

enum { MODEL_WORDS_MAX = 24 };

/** What stands on a command line behind the program; NULL ends it earlier. */
#define MODEL_WORDS(...) ((const char *const[MODEL_WORDS_MAX]){__VA_ARGS__})

struct model_scene {
    char *program, *folder;
};

extern struct model_scene model_scene;

/** Of cmocka's groups. */
int model_scene_begin(void **state);
int model_scene_end(void **state);

/** The same as model_scene_begin(), with the model of onnx_sample.h as good.onnx. */
int model_scene_begin_good(void **state);

/** Runs it in the folder, with further variables (NULL: with OPTRACE_DISABLE=1). Give the result to
 *  child_result_deinit() or model_scene_expect(). */
struct child_result model_scene_run(const char *const *environment,
                                    const char *const words[MODEL_WORDS_MAX]);

/** It ended with this status, and said both texts, on standard output and standard error. */
void model_scene_expect(struct child_result result, int status, const char *out, const char *err);

/** A model, or a tensor as of a data set, from what onnx_text.h knows. */
void model_scene_write(const char *name, const char *text);
void model_scene_write_tensor(const char *name, const char *text);

void model_scene_write_sample(const char *name, const struct onnx_sample *sample);

#endif
