/* SPDX-License-Identifier: Apache-2.0 */
/* Products with a constant right matrix by oneDNN, which packs it once and adds the bias and the
 * activation while a result is in registers; where it does not, by our own panels. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <oneapi/dnnl/dnnl.h>

#include "kernels/cpu/dnnl.h"
#include "kernels/cpu/gemm_panels.h"
#include "kernels/cpu/gemm_row.h"
#include "kernels/cpu/plan_half.h"

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

    size_t w_bytes;        /* of b, rounded up */
    struct plan_half half; /* where weights are f32 for the kernel, and kept in another type */
    struct kernel_plan_types took; /* in these types; x and y: as they come */
    narrow_fn *narrow;             /* of a kernel of bf16: rounds a into the workspace; or NULL */
    size_t a_count, a_offset;

    bool is_row; /* a product of one row; then there is no primitive */
    struct gemm_row row;
    bool has_panels; /* nor then */
    struct gemm_panels panels;
    float *own_bias; /* of a product of our own: behind the weights, or NULL */
};

static size_t round_up(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

static dnnl_status_t matrix_desc(dnnl_memory_desc_t *out_desc, int64_t rows, int64_t columns,
                                 dnnl_data_type_t type, dnnl_format_tag_t tag)
{
    dnnl_dims_t dims = {rows, columns};

    return dnnl_memory_desc_init_by_tag(out_desc, 2, dims, type, tag);
}

static dnnl_data_type_t type_of(enum kernel_dtype dtype)
{
    return dtype == KERNEL_BF16 ? dnnl_bf16 : dnnl_f32;
}

static dnnl_status_t make_desc(const struct kernel_gemm *s, const struct kernel_plan_types *types,
                               bool has_bias, dnnl_matmul_desc_t *out_desc)
{
    dnnl_data_type_t type = type_of(types->weights);
    dnnl_memory_desc_t y, a, b, bias;
    dnnl_status_t status = matrix_desc(&y, s->m, s->n, type_of(types->y), dnnl_ab);

    if (status == dnnl_success)
        status = matrix_desc(&a, s->m, s->k, type, dnnl_ab);
    if (status == dnnl_success)
        status = matrix_desc(&b, s->k, s->n, type, dnnl_format_tag_any);
    if (status == dnnl_success)
        status = matrix_desc(&bias, 1, s->n, dnnl_f32, dnnl_ab);
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
    dnnl_status_t status = make_desc(shape, &plan->took, has_bias, &desc);

    if (status == dnnl_success)
        status = dnnl_fused_attr(activation, false, &attr);
    if (status == dnnl_success)
        status = dnnl_primitive_desc_create(&plan->desc, &desc, attr, dnnl_cpu_engine(), NULL);
    dnnl_primitive_attr_destroy(attr);
    if (status == dnnl_success)
        status = dnnl_primitive_desc_query(plan->desc, dnnl_query_impl_info_str, 0, &name);
    if (status == dnnl_success && strncmp(name, "ref", 3) == 0)
        status = dnnl_unimplemented;
    if (status == dnnl_success && plan->took.weights == KERNEL_BF16 && !dnnl_multiplies_bf16(name))
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

/* How b is packed. */
struct source {
    const void *b;
    /* f32: as the kernel takes it; else in this type for a kernel of f32. */
    enum kernel_dtype stored;
};

/* The plan's copy of b in its order, and of the bias. */
static dnnl_status_t pack(struct kernel_gemm_plan *plan, const struct kernel_gemm *shape,
                          const struct source *source, const float *bias)
{
    const dnnl_memory_desc_t *to = desc_of(plan, dnnl_query_weights_md, 0);
    size_t bias_bytes = bias ? (size_t)shape->n * sizeof(*bias) : 0;
    dnnl_memory_desc_t from;
    dnnl_status_t status;
    char *at;

    plan->w_bytes = round_up(dnnl_memory_desc_get_size(to));
    at = plan_half_place(&plan->half, source->stored, plan->w_bytes, bias_bytes,
                         &plan->workspace_bytes, &plan->weights, &plan->weights_bytes);
    if (!at)
        return dnnl_out_of_memory;
    status = matrix_desc(&from, shape->k, shape->n, type_of(plan->took.weights),
                         shape->trans_b ? dnnl_ba : dnnl_ab);
    if (status == dnnl_success && source->stored != KERNEL_F32)
        status = dnnl_reorder_half_now(to, plan->weights, &from, source->b);
    else if (status == dnnl_success)
        status = dnnl_reorder_now(to, plan->weights, &from, source->b);
    if (status == dnnl_success)
        status = add_memory(plan, to, DNNL_ARG_WEIGHTS, plan->weights, &plan->b);
    if (status == dnnl_success && bias) {
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
    return status;
}

/* took: what the kernel computes in. */
static int create(const struct kernel_gemm *shape, const struct kernel_plan_types *took,
                  const struct source *source, const float *bias,
                  const struct kernel_activation *activation, struct kernel_gemm_plan **out_plan)
{
    struct kernel_gemm_plan *plan = calloc(1, sizeof(*plan));
    dnnl_status_t status;

    if (!plan)
        return -ENOMEM;
    plan->took = *took;
    status = choose_kernel(plan, shape, bias != NULL, activation);
    if (status == dnnl_success)
        plan->workspace_bytes =
            dnnl_memory_desc_get_size(desc_of(plan, dnnl_query_scratchpad_md, 0));
    if (status == dnnl_success)
        status = pack(plan, shape, source, bias);
    if (status == dnnl_success)
        status = add_operands(plan);
    if (status != dnnl_success) {
        kernel_gemm_plan_destroy(&plan);
        return status == dnnl_out_of_memory ? -ENOMEM : -ENOTSUP;
    }
    *out_plan = plan;
    return 0;
}

/* By the processor's products of bf16. */
static int create_bf16(const struct kernel_gemm *shape, const void *b, const float *bias,
                       const struct kernel_activation *activation,
                       struct kernel_gemm_plan **out_plan)
{
    struct source source = {b, KERNEL_F32};
    struct kernel_gemm_plan *plan;
    int rc = shape->types.weights == KERNEL_BF16 && !shape->types.keeps_x
                 ? create(shape, &shape->types, &source, bias, activation, &plan)
                 : -ENOTSUP;

    if (rc < 0)
        return rc;
    if (shape->types.x == KERNEL_F32) {
        plan->narrow = plan_half_narrow();
        plan->a_count = (size_t)(shape->m * shape->k);
        plan->a_offset = round_up(plan->workspace_bytes);
        plan->workspace_bytes = plan->a_offset + round_up(2 * plan->a_count);
    }
    *out_plan = plan;
    return 0;
}

/* By a kernel of f32, whose weights are stored as they came; by way of f32 where the processor cannot put them into
 * its order as they are. */
static int create_widened(const struct kernel_gemm *shape, const void *b, const float *bias,
                          const struct kernel_activation *activation,
                          struct kernel_gemm_plan **out_plan)
{
    static const struct kernel_plan_types f32;
    struct source source = {b, shape->types.weights};
    struct kernel_gemm_plan *plan = NULL;
    float *wide;
    int rc = create(shape, &f32, &source, bias, activation, out_plan);

    if (rc != -ENOTSUP)
        return rc;
    wide = plan_half_copy(b, shape->types.weights, (size_t)(shape->k * shape->n));
    source = (struct source){wide, KERNEL_F32};
    rc = wide ? create(shape, &f32, &source, bias, activation, &plan) : -ENOMEM;
    free(wide);
    if (rc == 0)
        rc = plan_half_store(&plan->half, shape->types.weights, &plan->weights,
                             &plan->weights_bytes, plan->w_bytes, &plan->workspace_bytes);
    if (rc < 0)
        kernel_gemm_plan_destroy(&plan);
    *out_plan = plan;
    return rc;
}

/* One row, or a few: weights stay as they lie, and in their type. */
static int create_row(const struct kernel_gemm *shape, const void *b, const float *bias,
                      const struct kernel_activation *activation,
                      struct kernel_gemm_plan **out_plan)
{
    size_t b_bytes = (size_t)(shape->k * shape->n) * kernel_dtype_bytes(shape->types.weights);
    size_t bias_bytes = bias ? (size_t)shape->n * sizeof(*bias) : 0;
    struct kernel_gemm_plan *plan = calloc(1, sizeof(*plan));

    if (!plan)
        return -ENOMEM;
    plan->is_row = true;
    gemm_row_init(&plan->row, shape, activation);
    plan->w_bytes = round_up(b_bytes);
    plan->weights_bytes = plan->w_bytes + round_up(bias_bytes);
    plan->weights = aligned_alloc(64, plan->weights_bytes);
    if (!plan->weights) {
        kernel_gemm_plan_destroy(&plan);
        return -ENOMEM;
    }
    memcpy(plan->weights, b, b_bytes);
    if (bias) {
        plan->own_bias = (float *)(void *)((char *)plan->weights + plan->w_bytes);
        memcpy(plan->own_bias, bias, bias_bytes);
    }
    plan->workspace_bytes = plan->row.workspace_bytes;
    snprintf(plan->version, sizeof(plan->version), "%s", plan->row.version);
    *out_plan = plan;
    return 0;
}

/* By our own panels, in the type of b. */
static int create_panels(const struct kernel_gemm *shape, const void *b, const float *bias,
                         const struct kernel_activation *activation,
                         struct kernel_gemm_plan **out_plan)
{
    struct kernel_gemm_plan *plan = calloc(1, sizeof(*plan));

    if (!plan)
        return -ENOMEM;
    if (!gemm_panels_init(&plan->panels, shape, activation)) {
        kernel_gemm_plan_destroy(&plan);
        return -ENOTSUP;
    }
    plan->has_panels = true;
    plan->w_bytes = gemm_panels_weights_bytes(&plan->panels);
    plan->weights_bytes = plan->w_bytes + gemm_panels_bias_bytes(&plan->panels);
    plan->weights = aligned_alloc(64, plan->weights_bytes);
    if (!plan->weights) {
        kernel_gemm_plan_destroy(&plan);
        return -ENOMEM;
    }
    plan->own_bias = (float *)(void *)((char *)plan->weights + plan->w_bytes);
    gemm_panels_pack(&plan->panels, plan->weights, b, shape->trans_b);
    gemm_panels_pack_bias(&plan->panels, plan->own_bias, bias);
    snprintf(plan->version, sizeof(plan->version), "%s", plan->panels.version);
    *out_plan = plan;
    return 0;
}

int kernel_gemm_plan_create(const struct kernel_gemm *shape, const void *b, const float *bias,
                            const struct kernel_activation *activation,
                            struct kernel_gemm_plan **out_plan)
{
    bool is_half = shape->types.weights != KERNEL_F32;
    int rc;

    if (shape->m < 1 || shape->n < 1 || shape->k < 1)
        return -ENOTSUP;
    /* One row reads b once, at the speed of memory, in any order. */
    if (is_half && gemm_row_takes(shape))
        return create_row(shape, b, bias, activation, out_plan);
    if (shape->m == 1)
        return -ENOTSUP;
    /* One column reads a once. */
    if (shape->n == 1 && !is_half)
        return -ENOTSUP;
    rc = create_panels(shape, b, bias, activation, out_plan);
    if (rc != -ENOTSUP)
        return rc;
    if (!is_half)
        return create(shape, &shape->types, &(struct source){b, KERNEL_F32}, bias, activation,
                      out_plan);
    rc = create_bf16(shape, b, bias, activation, out_plan);
    return rc == -ENOTSUP ? create_widened(shape, b, bias, activation, out_plan) : rc;
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

int kernel_gemm_plan_run(struct kernel_gemm_plan *plan, void *y, const void *a, void *workspace)
{
    if (plan->is_row) {
        gemm_row_run(&plan->row, y, a, plan->weights, plan->own_bias, workspace);
        return 0;
    }
    if (plan->has_panels) {
        gemm_panels_run(&plan->panels, y, a, plan->weights, plan->own_bias);
        return 0;
    }
    if (plan->half.dtype != KERNEL_F32) {
        dnnl_memory_set_data_handle(plan->b,
                                    plan_half_widen(&plan->half, plan->weights, workspace));
        if (plan->bias)
            dnnl_memory_set_data_handle(plan->bias, (char *)plan->weights + plan->half.bias_offset);
    }
    if (plan->narrow) {
        void *rounded = (char *)workspace + plan->a_offset;

        plan->narrow(rounded, KERNEL_BF16, a, plan->a_count);
        a = rounded;
    }
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
    return (struct kernel_gemm_plan_info){plan->version,       plan->workspace_bytes, plan->weights,
                                          plan->weights_bytes, plan->took.x,          plan->took.y};
}
