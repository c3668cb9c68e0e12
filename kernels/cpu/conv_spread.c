/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transposed convolutions whose windows lie side by side, as those that make an image twice as large: no
 * two inputs meet in an output. With channels last a row of x and one row of the windows give a row of y,
 * which is a product: [columns of x, channels] by [channels, columns of the window and filters].
 */
#include "kernels/cpu/conv_plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <oneapi/dnnl/dnnl.h>

#include "kernels/kernels.h"

struct spread_plan {
    struct kernel_conv_plan base;
    gemm_f32_fn *multiply;
    struct kernel_gemm product;
    const float *w;
    const float *bias; /* of a row of the window; NULL: none */
};

struct isa {
    const char *name;
    gemm_f32_fn *multiply;
};

/* What this CPU can run, or what ONEDNN_MAX_CPU_ISA leaves of it. */
static struct isa best_isa(void)
{
#if defined(__x86_64__)
    dnnl_cpu_isa_t isa = dnnl_get_effective_cpu_isa();

    if ((isa & dnnl_cpu_isa_avx512_core) == dnnl_cpu_isa_avx512_core)
        return (struct isa){"avx512", gemm_f32_avx512};
    if ((isa & dnnl_cpu_isa_avx2) == dnnl_cpu_isa_avx2)
        return (struct isa){"avx2", gemm_f32_avx2};
#endif
    return (struct isa){"portable", gemm_f32_portable};
}

static void name_of(char out_name[KERNEL_CONV_VERSION_BYTES])
{
    snprintf(out_name, KERNEL_CONV_VERSION_BYTES, "spread:%s", best_isa().name);
}

static bool is_possible(const struct kernel_conv *shape)
{
    const struct kernel_window *w = &shape->window;

    for (int i = 0; i < KERNEL_SPATIAL; i++)
        if (w->kernel[i] != w->stride[i] || w->dilation[i] != 1 || w->pad_begin[i] != 0 ||
            w->out[i] < 1 || w->in[i] != w->out[i] * w->stride[i])
            return false;
    return shape->is_transposed && shape->channels_last && shape->groups == 1 &&
           shape->activation.kind == KERNEL_IDENTITY && shape->batch > 0 && shape->channels > 0 &&
           shape->filters > 0;
}

void conv_spread_list(const struct kernel_conv *shape, struct kernel_conv_versions *versions)
{
    if (!is_possible(shape) || versions->count == KERNEL_CONV_VERSIONS_MAX)
        return;
    name_of(versions->items[versions->count].name);
    conv_versions_add_own(versions);
}

const char *conv_spread_prefer(const struct kernel_conv *shape,
                               char out_name[KERNEL_CONV_VERSION_BYTES])
{
    if (!is_possible(shape))
        return NULL;
    name_of(out_name);
    return out_name;
}

/* Of each place of the outer axes a row of the window's, and a row of x. */
static void set_product(const struct kernel_conv *shape, struct kernel_gemm *p)
{
    const struct kernel_window *w = &shape->window;
    int64_t row = w->in[2] * shape->filters; /* of y, in elements */

    *p = (struct kernel_gemm){
        .m = w->out[2],
        .n = w->kernel[2] * shape->filters,
        .k = shape->channels,
        .alpha = 1.0f,
        .beta = 1.0f,
        .c_col_stride = 1,
        .batch_rank = 4,
        .batch_dims = {shape->batch * w->out[0], w->kernel[0], w->out[1], w->kernel[1]},
        .y_line = w->kernel[2] * shape->filters,
        .y_batch_stride = {w->kernel[0] * w->in[1] * row, w->in[1] * row, w->kernel[1] * row, row},
    };
    p->a_batch_stride[0] = w->out[1] * p->m * p->k;
    p->a_batch_stride[2] = p->m * p->k;
    p->b_batch_stride[1] = w->kernel[1] * p->k * p->n;
    p->b_batch_stride[3] = p->k * p->n;
}

static void destroy(struct kernel_conv_plan *plan)
{
    free(plan->weights);
    free(plan);
}

static int run(struct kernel_conv_plan *base, void *y, const void *x, void *workspace)
{
    const struct spread_plan *plan = (const struct spread_plan *)base;

    (void)workspace;
    plan->multiply(y, x, plan->w, plan->bias, &plan->product);
    return 0;
}

static void place(struct kernel_conv_plan *base, float *weights, float *bias)
{
    struct spread_plan *plan = (struct spread_plan *)base;

    plan->w = weights;
    plan->bias = plan->bias ? bias : NULL;
}

/* From [channels, filters, kernel...] to [rows of the window, channels, columns of it, filters]. */
static int set_weights(struct spread_plan *plan, const struct conv_request *request)
{
    const struct kernel_conv *s = request->shape;
    const int64_t *kernel = s->window.kernel;
    int64_t rows = kernel[0] * kernel[1], columns = kernel[2], filters = s->filters;
    size_t w_bytes =
        conv_round_up((size_t)(rows * s->channels * columns * filters) * sizeof(float));
    size_t bias_bytes = request->bias ? (size_t)(columns * filters) * sizeof(float) : 0;
    float *weights, *bias;

    plan->base.w_bytes = w_bytes;
    plan->base.weights_bytes = w_bytes + conv_round_up(bias_bytes);
    weights = aligned_alloc(64, plan->base.weights_bytes);
    if (!weights)
        return -ENOMEM;
    plan->base.weights = weights;
    plan->w = weights;
    for (int64_t i = 0; i < rows * s->channels * columns * filters; i++) {
        int64_t f = i % filters, column = i / filters % columns;
        int64_t c = i / filters / columns % s->channels, row = i / filters / columns / s->channels;

        weights[i] = request->w[((c * filters + f) * rows + row) * columns + column];
    }
    if (!request->bias)
        return 0;
    bias = (float *)(void *)((char *)weights + w_bytes);
    for (int64_t column = 0; column < columns; column++)
        memcpy(bias + column * filters, request->bias, (size_t)filters * sizeof(*bias));
    plan->bias = bias;
    return 0;
}

int conv_spread_create(const struct conv_request *request, const char *version,
                       struct kernel_conv_plan **out_plan)
{
    static const struct conv_plan_type type = {destroy, run, place};
    struct spread_plan *plan;
    char name[KERNEL_CONV_VERSION_BYTES];

    name_of(name);
    if (strcmp(name, version) != 0 || !is_possible(request->shape) || request->has_residual)
        return -ENOTSUP;
    plan = calloc(1, sizeof(*plan));
    if (!plan)
        return -ENOMEM;
    plan->base.type = &type;
    plan->multiply = best_isa().multiply;
    memcpy(plan->base.version, name, sizeof(name));
    set_product(request->shape, &plan->product);
    if (set_weights(plan, request) < 0) {
        destroy(&plan->base);
        return -ENOMEM;
    }
    *out_plan = &plan->base;
    return 0;
}
