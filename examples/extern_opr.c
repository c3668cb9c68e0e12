/* SPDX-License-Identifier: Apache-2.0 */
/* A library of operators for load_and_run --c-opr-lib: see optrace/copr.h.
 *
 *     cc -shared -fPIC extern_opr.c -o libextern_opr.so
 *     load_and_run model.onnx --c-opr-lib ./libextern_opr.so
 *
 * Outside of this tree the header is <optrace/copr.h>.
 *
 * "example_scale": one output per input, y = x times the four bytes of a float in the node's data.
 * "example_append": y = all inputs one behind the other, as one row. */
#include <stdlib.h>
#include <string.h>

#include "runtime/ops/copr.h"

struct scale {
    struct copr_desc desc;
    float factor;
};

static void release(struct copr_desc *self)
{
    free(self);
}

static size_t count_of(const struct copr_shape *shape)
{
    size_t count = 1;

    for (uint32_t i = 0; i < shape->rank; i++)
        count *= shape->dims[i];
    return count;
}

/* --- example_scale --- */

static size_t hash_scale(const struct copr_desc *self)
{
    return (size_t)(((const struct scale *)self)->factor * 1000);
}

static int is_same_scale(const struct copr_desc *self, const struct copr_desc *other)
{
    return ((const struct scale *)self)->factor == ((const struct scale *)other)->factor;
}

static void execute_scale(const struct copr_desc *self, const struct copr_tensor *inputs,
                          const struct copr_tensor *outputs)
{
    const struct scale *scale = (const struct scale *)self;

    for (uint32_t k = 0; k < self->output_count; k++) {
        const float *x = inputs[k].data;
        float *y = outputs[k].data;
        size_t count = count_of(&inputs[k].layout.shape);

        for (size_t i = 0; i < count; i++)
            y[i] = x[i] * scale->factor;
    }
}

static void infer_scale_shape(const struct copr_desc *self, const struct copr_shape *inputs,
                              struct copr_shape *outputs)
{
    memcpy(outputs, inputs, self->output_count * sizeof(*outputs));
}

/* What is no float32 gets no dtype, so that the model is refused. */
static void infer_scale_dtype(const struct copr_desc *self, const uint32_t *inputs,
                              uint32_t *outputs)
{
    for (uint32_t i = 0; i < self->output_count; i++)
        if (inputs[i] == COPR_FLOAT32)
            outputs[i] = COPR_FLOAT32;
}

static struct copr_desc *create_scale(size_t input_count, const void *data, size_t data_bytes)
{
    struct scale *scale;

    if (input_count == 0 || data_bytes != sizeof(scale->factor))
        return NULL;
    scale = calloc(1, sizeof(*scale));
    if (!scale)
        return NULL;
    memcpy(&scale->factor, data, sizeof(scale->factor)); /* it need not be aligned */
    scale->desc = (struct copr_desc){
        .size = sizeof(scale->desc),
        .output_count = (uint32_t)input_count,
        .type_name = "scale",
        .release = release,
        .hash = hash_scale,
        .is_same = is_same_scale,
        .execute = execute_scale,
        .infer_shape = infer_scale_shape,
        .infer_dtype = infer_scale_dtype,
    };
    return &scale->desc;
}

/* --- example_append --- */

struct append {
    struct copr_desc desc;
    size_t input_count;
};

static size_t hash_append(const struct copr_desc *self)
{
    return ((const struct append *)self)->input_count;
}

static int is_same_append(const struct copr_desc *self, const struct copr_desc *other)
{
    return hash_append(self) == hash_append(other);
}

static void execute_append(const struct copr_desc *self, const struct copr_tensor *inputs,
                           const struct copr_tensor *outputs)
{
    static const size_t bytes_of[] = {4, 4, 1, 2, 2}; /* by enum copr_dtype */
    char *y = outputs[0].data;

    for (size_t i = 0; i < ((const struct append *)self)->input_count; i++) {
        size_t bytes = count_of(&inputs[i].layout.shape) * bytes_of[inputs[i].layout.dtype];

        memcpy(y, inputs[i].data, bytes);
        y += bytes;
    }
}

/* It takes matrices only: others get no shape. */
static void infer_append_shape(const struct copr_desc *self, const struct copr_shape *inputs,
                               struct copr_shape *outputs)
{
    size_t count = 0;

    for (size_t i = 0; i < ((const struct append *)self)->input_count; i++) {
        if (inputs[i].rank != 2)
            return;
        count += count_of(&inputs[i]);
    }
    outputs[0] = (struct copr_shape){1, {(uint32_t)count}};
}

static struct copr_desc *create_append(size_t input_count, const void *data, size_t data_bytes)
{
    struct append *append = calloc(1, sizeof(*append));

    (void)data;
    (void)data_bytes;
    if (!append)
        return NULL;
    append->input_count = input_count;
    append->desc = (struct copr_desc){
        .size = sizeof(append->desc),
        .output_count = 1,
        .type_name = "append",
        .release = release,
        .hash = hash_append,
        .is_same = is_same_append,
        .execute = execute_append,
        .infer_shape = infer_append_shape, /* no infer_dtype: all of one dtype, as the result */
    };
    return &append->desc;
}

/* --- What load_and_run looks for --- */

static const struct copr_loader scale_loader = {"example_scale", create_scale};
static const struct copr_loader append_loader = {"example_append", create_append};

void mgb_c_opr_init(copr_get_api_fn *get_api);
void mgb_c_opr_init(copr_get_api_fn *get_api)
{
    const struct copr_api *api = get_api(COPR_VERSION);

    if (!api) /* built for another version of the interface */
        return;
    api->register_loader(&scale_loader);
    api->register_loader(&append_loader);
}
