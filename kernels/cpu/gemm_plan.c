/* SPDX-License-Identifier: Apache-2.0 */
/* Products with a constant right matrix by oneDNN, which packs it once and adds the bias and the
 * activation while a result is in registers. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <oneapi/dnnl/dnnl.h>

#include "kernels/cpu/dnnl.h"
#include "kernels/kernels.h"

enum { ARGS_MAX = 5 };

struct kernel_gemm_plan {
    dnnl_stream_t stream; /* its own: plans may run on several threads at once */
    dnnl_primitive_t primitive;
    dnnl_primitive_desc_t desc;
    dnnl_memory_t y, a, b, bias, workspace;
    void *weights; /* and the bias behind them */
    size_t weights_bytes, workspace_bytes;
    dnnl_exec_arg_t args[ARGS_MAX];
    int arg_count;
    char version[64];
};

static size_t round_up(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

static dnnl_status_t matrix_desc(dnnl_memory_desc_t *out_desc, int64_t rows, int64_t columns,
                                 dnnl_format_tag_t tag)
{
    dnnl_dims_t dims = {rows, columns};

    return dnnl_memory_desc_init_by_tag(out_desc, 2, dims, dnnl_f32, tag);
}

static dnnl_status_t make_desc(const struct kernel_gemm *s, bool has_bias,
                               dnnl_matmul_desc_t *out_desc)
{
    dnnl_memory_desc_t y, a, b, bias;
    dnnl_status_t status = matrix_desc(&y, s->m, s->n, dnnl_ab);

    if (status == dnnl_success)
        status = matrix_desc(&a, s->m, s->k, dnnl_ab);
    if (status == dnnl_success)
        status = matrix_desc(&b, s->k, s->n, dnnl_format_tag_any);
    if (status == dnnl_success)
        status = matrix_desc(&bias, 1, s->n, dnnl_ab);
    if (status == dnnl_success)
        status = dnnl_matmul_desc_init(out_desc, &a, &b, has_bias ? &bias : NULL, &y);
    return status;
}

/* oneDNN's first choice; its reference is slower than a product that packs each time. */
static dnnl_status_t choose_kernel(struct kernel_gemm_plan *plan, const struct kernel_gemm *shape,
                                   bool has_bias, const struct kernel_activation *activation)
{
    dnnl_matmul_desc_t desc;
    dnnl_primitive_attr_t attr = NULL;
    const char *name = "";
    dnnl_status_t status = make_desc(shape, has_bias, &desc);

    if (status == dnnl_success)
        status = dnnl_fused_attr(activation, false, &attr);
    if (status == dnnl_success)
        status = dnnl_primitive_desc_create(&plan->desc, &desc, attr, dnnl_cpu_engine(), NULL);
    dnnl_primitive_attr_destroy(attr);
    if (status == dnnl_success)
        status = dnnl_primitive_desc_query(plan->desc, dnnl_query_impl_info_str, 0, &name);
    if (status == dnnl_success && strncmp(name, "ref", 3) == 0)
        status = dnnl_unimplemented;
    snprintf(plan->version, sizeof(plan->version), "dnnl:%s", name);
    if (status == dnnl_success)
        status = dnnl_stream_create(&plan->stream, dnnl_cpu_engine(), dnnl_stream_default_flags);
    if (status == dnnl_success)
        status = dnnl_primitive_create(&plan->primitive, plan->desc);
    return status;
}

static const dnnl_memory_desc_t *desc_of(const struct kernel_gemm_plan *plan, dnnl_query_t what,
                                         int index)
{
    return dnnl_primitive_desc_query_md(plan->desc, what, index);
}

static dnnl_status_t add_memory(struct kernel_gemm_plan *plan, const dnnl_memory_desc_t *desc,
                                int arg, void *data, dnnl_memory_t *out_memory)
{
    dnnl_status_t status = dnnl_memory_create(out_memory, desc, dnnl_cpu_engine(), data);

    if (status == dnnl_success)
        plan->args[plan->arg_count++] = (dnnl_exec_arg_t){arg, *out_memory};
    return status;
}

/* The plan's copy of b in its order, and of the bias. */
static dnnl_status_t pack(struct kernel_gemm_plan *plan, const struct kernel_gemm *shape,
                          const float *b, const float *bias)
{
    const dnnl_memory_desc_t *to = desc_of(plan, dnnl_query_weights_md, 0);
    size_t b_bytes = round_up(dnnl_memory_desc_get_size(to));
    size_t bias_bytes = bias ? (size_t)shape->n * sizeof(*bias) : 0;
    dnnl_memory_desc_t from;
    dnnl_status_t status;

    plan->weights_bytes = b_bytes + round_up(bias_bytes);
    plan->weights = aligned_alloc(64, plan->weights_bytes);
    if (!plan->weights)
        return dnnl_out_of_memory;
    status = matrix_desc(&from, shape->k, shape->n, shape->trans_b ? dnnl_ba : dnnl_ab);
    if (status == dnnl_success)
        status = dnnl_reorder_now(to, plan->weights, &from, b);
    if (status == dnnl_success)
        status = add_memory(plan, to, DNNL_ARG_WEIGHTS, plan->weights, &plan->b);
    if (status == dnnl_success && bias) {
        char *at = (char *)plan->weights + b_bytes;

        memcpy(at, bias, bias_bytes);
        status = add_memory(plan, desc_of(plan, dnnl_query_weights_md, 1), DNNL_ARG_BIAS, at,
                            &plan->bias);
    }
    return status;
}

static dnnl_status_t add_operands(struct kernel_gemm_plan *plan)
{
    const dnnl_memory_desc_t *workspace = desc_of(plan, dnnl_query_scratchpad_md, 0);
    dnnl_status_t status = add_memory(plan, desc_of(plan, dnnl_query_src_md, 0), DNNL_ARG_SRC,
                                      DNNL_MEMORY_NONE, &plan->a);

    if (status == dnnl_success)
        status = add_memory(plan, desc_of(plan, dnnl_query_dst_md, 0), DNNL_ARG_DST,
                            DNNL_MEMORY_NONE, &plan->y);
    if (status == dnnl_success)
        status =
            add_memory(plan, workspace, DNNL_ARG_SCRATCHPAD, DNNL_MEMORY_NONE, &plan->workspace);
    plan->workspace_bytes = dnnl_memory_desc_get_size(workspace);
    return status;
}

int kernel_gemm_plan_create(const struct kernel_gemm *shape, const float *b, const float *bias,
                            const struct kernel_activation *activation,
                            struct kernel_gemm_plan **out_plan)
{
    struct kernel_gemm_plan *plan;
    dnnl_status_t status;

    /* One row reads b once, at the speed of memory, in any order. */
    if (shape->m < 2 || shape->n < 1 || shape->k < 1)
        return -ENOTSUP;
    plan = calloc(1, sizeof(*plan));
    if (!plan)
        return -ENOMEM;
    status = choose_kernel(plan, shape, bias != NULL, activation);
    if (status == dnnl_success)
        status = pack(plan, shape, b, bias);
    if (status == dnnl_success)
        status = add_operands(plan);
    if (status != dnnl_success) {
        kernel_gemm_plan_destroy(&plan);
        return status == dnnl_out_of_memory ? -ENOMEM : -ENOTSUP;
    }
    *out_plan = plan;
    return 0;
}

void kernel_gemm_plan_destroy(struct kernel_gemm_plan **plan_ptr)
{
    struct kernel_gemm_plan *plan = *plan_ptr;

    *plan_ptr = NULL;
    if (!plan)
        return;
    dnnl_memory_destroy(plan->y);
    dnnl_memory_destroy(plan->a);
    dnnl_memory_destroy(plan->b);
    dnnl_memory_destroy(plan->bias);
    dnnl_memory_destroy(plan->workspace);
    dnnl_primitive_destroy(plan->primitive);
    dnnl_primitive_desc_destroy(plan->desc);
    dnnl_stream_destroy(plan->stream);
    free(plan->weights);
    free(plan);
}

int kernel_gemm_plan_run(struct kernel_gemm_plan *plan, float *y, const float *a, void *workspace)
{
    dnnl_memory_set_data_handle(plan->y, y);
    dnnl_memory_set_data_handle(plan->a, (void *)a);
    dnnl_memory_set_data_handle(plan->workspace, workspace);
    /* The CPU stream of oneDNN is in order and done when this returns. */
    return dnnl_primitive_execute(plan->primitive, plan->stream, plan->arg_count, plan->args) ==
                   dnnl_success
               ? 0
               : -EIO;
}

struct kernel_gemm_plan_info kernel_gemm_plan_info(const struct kernel_gemm_plan *plan)
{
    return (struct kernel_gemm_plan_info){plan->version, plan->workspace_bytes, plan->weights,
                                          plan->weights_bytes};
}
