/* SPDX-License-Identifier: Apache-2.0 */
/* A library of operators that are not as they should be, for load_and_run --c-opr-lib. */
#include <stdlib.h>

#include "runtime/ops/copr.h"

static void release(struct copr_desc *self)
{
    free(self);
}

static void execute(const struct copr_desc *self, const struct copr_tensor *inputs,
                    const struct copr_tensor *outputs)
{
}

/* Two outputs: what came in, and one number. */
static void infer_shape(const struct copr_desc *self, const struct copr_shape *inputs,
                        struct copr_shape *outputs)
{
    outputs[0] = inputs[0];
    outputs[1] = (struct copr_shape){1, {1}};
}

static struct copr_desc *create(size_t input_count, const void *data, size_t data_bytes)
{
    struct copr_desc *desc = calloc(1, sizeof(*desc));

    if (!desc)
        return NULL;
    *desc = (struct copr_desc){.size = sizeof(*desc),
                               .output_count = 2,
                               .type_name = "odd",
                               .release = release,
                               .execute = execute,
                               .infer_shape = infer_shape};
    return desc;
}

/* As if built for an interface with more in it. */
static struct copr_desc *create_large(size_t input_count, const void *data, size_t data_bytes)
{
    static struct copr_desc desc;

    desc.size = sizeof(desc) + 8;
    return &desc;
}

/* The second output is the number of turns the first has seen: outputs nobody reads are written. */
static void execute_two(const struct copr_desc *self, const struct copr_tensor *inputs,
                        const struct copr_tensor *outputs)
{
    const float *x = inputs[0].data;
    float *y = outputs[0].data, *sum = outputs[1].data;
    uint32_t count = inputs[0].layout.shape.dims[0] * inputs[0].layout.shape.dims[1];

    *sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        y[i] = -x[i];
        *sum += x[i];
    }
}

/* Writes over what it is to read only, where that is not all zero already. */
static void execute_vandal(const struct copr_desc *self, const struct copr_tensor *inputs,
                           const struct copr_tensor *outputs)
{
    execute_two(self, inputs, outputs);
    *(float *)inputs[0].data = -4711;
}

static struct copr_desc *create_vandal(size_t input_count, const void *data, size_t data_bytes)
{
    struct copr_desc *desc = create(input_count, data, data_bytes);

    if (desc)
        desc->execute = execute_vandal;
    return desc;
}

/* Other numbers each time, which no operator may make. */
static void execute_counter(const struct copr_desc *self, const struct copr_tensor *inputs,
                            const struct copr_tensor *outputs)
{
    static float count = 1;

    execute_two(self, inputs, outputs);
    *(float *)outputs[0].data = count++;
}

static struct copr_desc *create_counter(size_t input_count, const void *data, size_t data_bytes)
{
    struct copr_desc *desc = create(input_count, data, data_bytes);

    if (desc)
        desc->execute = execute_counter;
    return desc;
}

static struct copr_desc *create_two(size_t input_count, const void *data, size_t data_bytes)
{
    struct copr_desc *desc = create(input_count, data, data_bytes);

    if (desc)
        desc->execute = execute_two;
    return desc;
}

static struct copr_desc *create_empty(size_t input_count, const void *data, size_t data_bytes)
{
    struct copr_desc *desc = create(input_count, data, data_bytes);

    if (desc)
        desc->execute = NULL;
    return desc;
}

static const struct copr_loader large = {"large", create_large};
static const struct copr_loader two = {"two", create_two};
static const struct copr_loader vandal = {"vandal", create_vandal};
static const struct copr_loader counter = {"counter", create_counter};
static const struct copr_loader empty = {"empty", create_empty};
static const struct copr_loader gone = {"gone", create};

void init_of_old(copr_get_api_fn *get_api);
void init_of_old(copr_get_api_fn *get_api)
{
    (void)get_api(COPR_VERSION - 1);
}

void init_of_nothing(copr_get_api_fn *get_api);
void init_of_nothing(copr_get_api_fn *get_api)
{
    (void)get_api(COPR_VERSION);
}

/* Names can be taken once, and be given back. */
void mgb_c_opr_init(copr_get_api_fn *get_api);
void mgb_c_opr_init(copr_get_api_fn *get_api)
{
    const struct copr_api *api = get_api(COPR_VERSION);

    if (!api || !api->register_loader(&large) || !api->register_loader(&gone) ||
        !api->register_loader(&empty) || !api->register_loader(&vandal) ||
        !api->register_loader(&counter) || api->register_loader(&large) ||
        !api->unregister_loader("gone") || api->unregister_loader("gone"))
        return;
    api->register_loader(&two);
}

/* One of those for memory of a device. */
void copr_param_device_ptr_h2d(void *param, void *host, size_t tensor);
void copr_param_device_ptr_h2d(void *param, void *host, size_t tensor)
{
}
