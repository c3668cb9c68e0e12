/* SPDX-License-Identifier: Apache-2.0 */
/* The oneDNN engine of this process, and reorders. */
#include "kernels/cpu/dnnl.h"

#include <pthread.h>
#include <string.h>

#include "kernels/kernels.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static dnnl_engine_t engine;

static void create_engine(void)
{
    dnnl_engine_create(&engine, dnnl_cpu, 0);
}

dnnl_engine_t dnnl_cpu_engine(void)
{
    pthread_once(&once, create_engine);
    return engine;
}

dnnl_status_t dnnl_image_desc(dnnl_memory_desc_t *out_desc, int rank, const dnnl_dims_t dims,
                              dnnl_data_type_t type, bool channels_last)
{
    static const dnnl_format_tag_t tags[2][6] = {
        {[3] = dnnl_ncw, [4] = dnnl_nchw, [5] = dnnl_ncdhw},
        {[3] = dnnl_nwc, [4] = dnnl_nhwc, [5] = dnnl_ndhwc},
    };

    return dnnl_memory_desc_init_by_tag(out_desc, rank, dims, type, tags[channels_last][rank]);
}

bool kernel_multiplies_bf16(void)
{
    unsigned wanted = dnnl_cpu_isa_avx512_core_bf16; /* a bit of its own, and those below */

    return ((unsigned)dnnl_get_effective_cpu_isa() & wanted) == wanted;
}

bool dnnl_multiplies_bf16(const char *name)
{
    return strstr(name, "bf16") && strncmp(name, "ref", 3) != 0 && kernel_multiplies_bf16();
}

/* Others than the jitted ones compute: they make 0 of what is too small to be normal. */
static bool copies_bits(const_dnnl_primitive_desc_t desc)
{
    const char *name = "";

    return dnnl_primitive_desc_query(desc, dnnl_query_impl_info_str, 0, &name) == dnnl_success &&
           strncmp(name, "jit", 3) == 0;
}

static dnnl_status_t reorder_now(const dnnl_memory_desc_t *to, void *y,
                                 const dnnl_memory_desc_t *from, const void *x, bool is_exact)
{
    dnnl_primitive_desc_t desc = NULL;
    dnnl_primitive_t reorder = NULL;
    dnnl_stream_t stream = NULL;
    dnnl_memory_t to_memory = NULL, from_memory = NULL;
    dnnl_engine_t cpu = dnnl_cpu_engine();
    dnnl_status_t status = dnnl_reorder_primitive_desc_create(&desc, from, cpu, to, cpu, NULL);

    if (status == dnnl_success && is_exact && !copies_bits(desc))
        status = dnnl_unimplemented;
    if (status == dnnl_success)
        status = dnnl_primitive_create(&reorder, desc);
    if (status == dnnl_success)
        status = dnnl_memory_create(&to_memory, to, cpu, y);
    if (status == dnnl_success)
        status = dnnl_memory_create(&from_memory, from, cpu, (void *)x);
    if (status == dnnl_success)
        status = dnnl_stream_create(&stream, cpu, dnnl_stream_default_flags);
    if (status == dnnl_success) {
        dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, from_memory}, {DNNL_ARG_TO, to_memory}};

        status = dnnl_primitive_execute(reorder, stream, 2, args);
    }
    dnnl_stream_destroy(stream);
    dnnl_memory_destroy(to_memory);
    dnnl_memory_destroy(from_memory);
    dnnl_primitive_destroy(reorder);
    dnnl_primitive_desc_destroy(desc);
    return status;
}

dnnl_status_t dnnl_reorder_now(const dnnl_memory_desc_t *to, void *y,
                               const dnnl_memory_desc_t *from, const void *x)
{
    return reorder_now(to, y, from, x, false);
}

/* As bf16, the one type of 16 bits that it moves. */
dnnl_status_t dnnl_reorder_half_now(const dnnl_memory_desc_t *to, void *y,
                                    const dnnl_memory_desc_t *from, const void *x)
{
    dnnl_memory_desc_t half_to = *to, half_from = *from;

    if (to->extra.flags != 0 || from->extra.flags != 0)
        return dnnl_unimplemented;
    half_to.data_type = half_from.data_type = dnnl_bf16;
    if (dnnl_memory_desc_equal(&half_to, &half_from)) {
        memcpy(y, x, dnnl_memory_desc_get_size(&half_to));
        return dnnl_success;
    }
    return reorder_now(&half_to, y, &half_from, x, true);
}

static dnnl_status_t append_activation(dnnl_post_ops_t ops, const struct kernel_activation *f)
{
    switch (f->kind) {
    case KERNEL_RELU:
        return dnnl_post_ops_append_eltwise(ops, 1.0f, dnnl_eltwise_relu, 0.0f, 0.0f);
    case KERNEL_LEAKY_RELU:
        return dnnl_post_ops_append_eltwise(ops, 1.0f, dnnl_eltwise_relu, f->a, 0.0f);
    case KERNEL_CLIP:
        return dnnl_post_ops_append_eltwise(ops, 1.0f, dnnl_eltwise_clip, f->a, f->b);
    case KERNEL_SIGMOID:
        return dnnl_post_ops_append_eltwise(ops, 1.0f, dnnl_eltwise_logistic, 0.0f, 0.0f);
    case KERNEL_TANH:
        return dnnl_post_ops_append_eltwise(ops, 1.0f, dnnl_eltwise_tanh, 0.0f, 0.0f);
    case KERNEL_IDENTITY:
        return dnnl_success;
    default:
        return dnnl_unimplemented;
    }
}

dnnl_status_t dnnl_fused_attr(const struct kernel_activation *activation, bool has_residual,
                              dnnl_primitive_attr_t *out_attr)
{
    dnnl_post_ops_t ops = NULL;
    dnnl_primitive_attr_t attr = NULL;
    dnnl_status_t status = dnnl_post_ops_create(&ops);

    if (status == dnnl_success)
        status = dnnl_primitive_attr_create(&attr);
    if (status == dnnl_success && has_residual)
        status = dnnl_post_ops_append_sum(ops, 1.0f);
    if (status == dnnl_success)
        status = append_activation(ops, activation);
    if (status == dnnl_success)
        status = dnnl_primitive_attr_set_post_ops(attr, ops);
    if (status == dnnl_success)
        status = dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user);
    dnnl_post_ops_destroy(ops);
    if (status == dnnl_success)
        *out_attr = attr;
    else
        dnnl_primitive_attr_destroy(attr);
    return status;
}
