/* SPDX-License-Identifier: Apache-2.0 */
/* A program with oneDNN 2, and without us. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <oneapi/dnnl/dnnl.h>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        if ((call) != dnnl_success) {                                                              \
            fprintf(stderr, "%s failed\n", #call);                                                 \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static dnnl_engine_t engine;
static dnnl_stream_t stream;

static dnnl_memory_desc_t describe(int rank, const dnnl_dims_t dims, dnnl_format_tag_t tag)
{
    dnnl_memory_desc_t descriptor;

    CHECK(dnnl_memory_desc_init_by_tag(&descriptor, rank, dims, dnnl_f32, tag));
    return descriptor;
}

static dnnl_memory_t make(const dnnl_memory_desc_t *descriptor)
{
    dnnl_memory_t memory;
    void *bytes;

    CHECK(dnnl_memory_create(&memory, descriptor, engine, DNNL_MEMORY_ALLOCATE));
    CHECK(dnnl_memory_get_data_handle(memory, &bytes));
    memset(bytes, 0, dnnl_memory_desc_get_size(descriptor));
    return memory;
}

/* A primitive is made, used and destroyed each time, so that addresses come back. */
static void execute(const void *operation, const dnnl_memory_desc_t *src,
                    const dnnl_memory_desc_t *weights, const dnnl_memory_desc_t *dst)
{
    dnnl_exec_arg_t arguments[] = {
        {DNNL_ARG_SRC, make(src)}, {DNNL_ARG_WEIGHTS, make(weights)}, {DNNL_ARG_DST, make(dst)}};
    dnnl_primitive_desc_t description;
    dnnl_primitive_t primitive;

    CHECK(dnnl_primitive_desc_create(&description, operation, NULL, engine, NULL));
    CHECK(dnnl_primitive_create(&primitive, description));
    CHECK(dnnl_primitive_execute(primitive, stream, 3, arguments));
    CHECK(dnnl_stream_wait(stream));
    dnnl_primitive_destroy(primitive);
    dnnl_primitive_desc_destroy(description);
    for (int i = 0; i < 3; i++)
        dnnl_memory_destroy(arguments[i].memory);
}

static void product(dnnl_dim_t m, dnnl_dim_t n, dnnl_dim_t k)
{
    const dnnl_memory_desc_t src = describe(2, (dnnl_dims_t){m, k}, dnnl_ab),
                             weights = describe(2, (dnnl_dims_t){k, n}, dnnl_ab),
                             dst = describe(2, (dnnl_dims_t){m, n}, dnnl_ab);
    dnnl_matmul_desc_t operation;

    CHECK(dnnl_matmul_desc_init(&operation, &src, &weights, NULL, &dst));
    execute(&operation, &src, &weights, &dst);
}

/* Two groups, 3 x 3, padded by one. */
static void convolution(void)
{
    const dnnl_memory_desc_t src = describe(4, (dnnl_dims_t){1, 8, 10, 10}, dnnl_nchw),
                             weights = describe(5, (dnnl_dims_t){2, 6, 4, 3, 3}, dnnl_goihw),
                             dst = describe(4, (dnnl_dims_t){1, 12, 10, 10}, dnnl_nchw);
    dnnl_convolution_desc_t operation;

    CHECK(dnnl_convolution_forward_desc_init(
        &operation, dnnl_forward_inference, dnnl_convolution_direct, &src, &weights, NULL, &dst,
        (dnnl_dims_t){1, 1}, (dnnl_dims_t){1, 1}, (dnnl_dims_t){1, 1}));
    execute(&operation, &src, &weights, &dst);
}

int main(void)
{
    CHECK(dnnl_engine_create(&engine, dnnl_cpu, 0));
    CHECK(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags));
    for (int i = 0; i < 20; i++) {
        product(16, 24, 32);
        product(16, 24, 40);
        convolution();
    }
    puts("done");
    dnnl_stream_destroy(stream);
    dnnl_engine_destroy(engine);
    return 0;
}
