/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution by oneDNN, and its transpose: channels-last images, weights in the order that its
 * kernel asks for. */
#include "kernels/cpu/conv_plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <oneapi/dnnl/dnnl.h>

#include "kernels/cpu/dnnl.h"
#include "kernels/cpu/team.h"

enum { ARGS_MAX = 5 };

struct dnnl_plan {
    struct kernel_conv_plan base;
    dnnl_stream_t stream; /* its own: plans may run on several threads at once */
    dnnl_primitive_t primitive;
    dnnl_primitive_desc_t desc;
    dnnl_memory_t y, x, w, bias, workspace;
    dnnl_exec_arg_t args[ARGS_MAX];
    int arg_count;
    bool is_free; /* its loops have no barriers */

    /* Of a kernel of bf16 whose x is f32: it is rounded into the workspace. */
    narrow_fn *narrow;
    size_t x_count, x_offset;
};

/* Geometry in oneDNN's words */

struct geometry {
    int rank; /* of the images */
    bool channels_last;
    dnnl_dims_t x, y, w, bias;
    int w_rank;
    dnnl_dims_t strides, dilations, pad_begin, pad_end;
    bool is_transposed;
    dnnl_data_type_t type, y_type; /* of x and w; of y */
};

union description {
    dnnl_convolution_desc_t conv;
    dnnl_deconvolution_desc_t transposed;
};

static void make_geometry(const struct kernel_conv *shape, struct geometry *g)
{
    const struct kernel_window *window = &shape->window;
    /* A sequence is an image of one row: kernels for AVX2 leave out sequences above 11,264 (2.6.3). */
    int rank = shape->rank == 1 ? 2 : shape->rank;
    int first = KERNEL_SPATIAL - rank, w_first = shape->groups > 1 ? 3 : 2;

    *g = (struct geometry){
        .rank = rank + 2,
        .channels_last = shape->channels_last,
        .w_rank = rank + w_first,
        .x = {shape->batch, shape->channels},
        .y = {shape->batch, shape->filters},
        .bias = {shape->filters},
        .is_transposed = shape->is_transposed,
        .type = dnnl_f32,
        .y_type = dnnl_f32,
    };
    if (shape->groups > 1) {
        g->w[0] = shape->groups;
        g->w[1] = shape->filters / shape->groups;
        g->w[2] = shape->channels / shape->groups;
    } else {
        g->w[0] = shape->filters;
        g->w[1] = shape->channels;
    }
    for (int i = 0; i < rank; i++) {
        int axis = first + i;
        int64_t reach = (window->kernel[axis] - 1) * window->dilation[axis] + 1;

        g->x[2 + i] = shape->is_transposed ? window->out[axis] : window->in[axis];
        g->y[2 + i] = shape->is_transposed ? window->in[axis] : window->out[axis];
        g->w[w_first + i] = window->kernel[axis];
        g->strides[i] = window->stride[axis];
        g->dilations[i] = window->dilation[axis] - 1;
        g->pad_begin[i] = window->pad_begin[axis];
        /* Exactly what the last output reads: oneDNN derives the size of y from it. */
        g->pad_end[i] = (window->out[axis] - 1) * window->stride[axis] + reach - window->in[axis] -
                        window->pad_begin[axis];
    }
}

static void set_types(const struct kernel_conv *shape, bool is_bf16, struct geometry *g)
{
    g->type = is_bf16 ? dnnl_bf16 : dnnl_f32;
    g->y_type = is_bf16 && shape->types.y == KERNEL_BF16 ? dnnl_bf16 : dnnl_f32;
}

static dnnl_status_t conv_desc(const struct geometry *g, bool has_bias, union description *out_desc)
{
    dnnl_memory_desc_t x, y, w, bias;
    dnnl_format_tag_t w_tag = dnnl_format_tag_any;
    dnnl_status_t status = dnnl_image_desc(&x, g->rank, g->x, g->type, g->channels_last);

    if (status == dnnl_success)
        status = dnnl_image_desc(&y, g->rank, g->y, g->y_type, g->channels_last);
    if (status == dnnl_success)
        status = dnnl_memory_desc_init_by_tag(&w, g->w_rank, g->w, g->type, w_tag);
    if (status == dnnl_success)
        status = dnnl_memory_desc_init_by_tag(&bias, 1, g->bias, dnnl_f32, dnnl_x);
    if (status == dnnl_success && g->is_transposed)
        status = dnnl_dilated_deconvolution_forward_desc_init(
            &out_desc->transposed, dnnl_forward_inference, dnnl_deconvolution_direct, &x, &w,
            has_bias ? &bias : NULL, &y, g->strides, g->dilations, g->pad_begin, g->pad_end);
    else if (status == dnnl_success)
        status = dnnl_dilated_convolution_forward_desc_init(
            &out_desc->conv, dnnl_forward_inference, dnnl_convolution_direct, &x, &w,
            has_bias ? &bias : NULL, &y, g->strides, g->dilations, g->pad_begin, g->pad_end);
    return status;
}

/* Creation */

static bool is_reference(const char *name)
{
    return strncmp(name, "ref", 3) == 0;
}

/* Forward kernels of these families share images, rows and filters out, and never the sum of an
 * output; nor do they use atomics. Of others we do not know. */
static bool is_reproducible(const char *name)
{
    static const char *const families[] = {"jit", "brg", "gemm:", "x64:gemm:", "ref"};

    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
        if (strncmp(name, families[i], strlen(families[i])) == 0)
            return true;
    return false;
}

/* oneDNN lists what it can do, the best first. */
static bool is_usable(const char *name, bool with_slow)
{
    return with_slow || !is_reference(name);
}

/* An output on whose axis the window lies in the pads alone. */
static bool has_empty_window(const struct kernel_window *w, int axis)
{
    for (int64_t o = 0; o < w->out[axis]; o++) {
        int64_t begin = o * w->stride[axis] - w->pad_begin[axis], k = 0;

        while (k < w->kernel[axis] &&
               (begin + k * w->dilation[axis] < 0 || begin + k * w->dilation[axis] >= w->in[axis]))
            k++;
        if (k == w->kernel[axis])
            return true;
    }
    return false;
}

/* Whether a kernel computes this shape as it should. */
static bool is_sound(const struct kernel_conv *shape, bool has_residual, const char *name)
{
    /* It crashes where it adds a residual and the channels are no multiple of 8 (2.6.3). */
    if (strcmp(name, "jit_dw:sse41") == 0)
        return false;
    /* Outputs that read no input are left to a kernel of post-ops alone. Where it adds a residual
     * without a buffer of sums it leaves out the bias, and runs the activation without the table
     * and the registers that that needs: wrong results, or SIGSEGV (2.6.3 to 3.0; mended in 3.1 by
     * "x64: fix postops handling in brgconv postops kernel"). Whether there is a buffer is not to
     * be seen from here. */
    if (has_residual && strncmp(name, "brgconv:", strlen("brgconv:")) == 0)
        for (int axis = 0; axis < KERNEL_SPATIAL; axis++)
            if (has_empty_window(&shape->window, axis))
                return false;
    return true;
}

/* Walks the list of what computes this shape until `take` says that it has what it wants. */
typedef bool take_fn(void *user, dnnl_primitive_desc_t desc, const char *name);

static dnnl_status_t walk_kernels(const struct kernel_conv *shape, bool is_bf16, bool has_bias,
                                  bool has_residual, take_fn *take, void *user)
{
    struct geometry g;
    union description desc;
    dnnl_primitive_attr_t attr = NULL;
    dnnl_primitive_desc_iterator_t candidates = NULL;
    dnnl_status_t status;

    make_geometry(shape, &g);
    set_types(shape, is_bf16, &g);
    status = conv_desc(&g, has_bias, &desc);
    if (status == dnnl_success)
        status = dnnl_fused_attr(&shape->activation, has_residual, &attr);
    if (status == dnnl_success)
        status =
            dnnl_primitive_desc_iterator_create(&candidates, &desc, attr, dnnl_cpu_engine(), NULL);
    while (status == dnnl_success) {
        dnnl_primitive_desc_t found = dnnl_primitive_desc_iterator_fetch(candidates);
        const char *name = "";

        status = dnnl_primitive_desc_query(found, dnnl_query_impl_info_str, 0, &name);
        if (status == dnnl_success && is_sound(shape, has_residual, name) &&
            take(user, found, name))
            break;
        dnnl_primitive_desc_destroy(found);
        if (status == dnnl_success)
            status = dnnl_primitive_desc_iterator_next(candidates);
    }
    dnnl_primitive_desc_iterator_destroy(candidates);
    dnnl_primitive_attr_destroy(attr);
    return status;
}

static bool multiplies_bf16(const struct kernel_conv *shape)
{
    return shape->types.weights == KERNEL_BF16 && !shape->types.keeps_x;
}

struct listing {
    struct kernel_conv_versions *versions;
    bool with_slow, is_bf16;
};

static bool take_name(void *user, dnnl_primitive_desc_t desc, const char *name)
{
    struct listing *listing = user;
    struct kernel_conv_versions *versions = listing->versions;

    (void)desc;
    if (listing->is_bf16 && !dnnl_multiplies_bf16(name))
        return false;
    if (versions->count < KERNEL_CONV_VERSIONS_MAX && is_usable(name, listing->with_slow)) {
        struct kernel_conv_version *version = &versions->items[versions->count++];

        snprintf(version->name, sizeof(version->name), "dnnl:%s", name);
        version->is_reference = is_reference(name);
        version->is_reproducible = is_reproducible(name);
    }
    return false;
}

void conv_dnnl_list(const struct kernel_conv *shape, bool has_bias, bool has_residual,
                    bool with_slow, struct kernel_conv_versions *versions)
{
    struct listing listing = {versions, with_slow, multiplies_bf16(shape)};

    /* The end of the list is a failure to go on, too. */
    if (listing.is_bf16)
        walk_kernels(shape, true, has_bias, has_residual, take_name, &listing);
    listing.is_bf16 = false;
    walk_kernels(shape, false, has_bias, has_residual, take_name, &listing);
}

/* Forward kernels of these families share out outputs, and wait for each other nowhere. */
static bool has_free_loops(const char *name)
{
    return strncmp(name, "brgconv", 7) == 0 || strncmp(name, "jit:", 4) == 0 ||
           strncmp(name, "jit_1x1:", 8) == 0 || strncmp(name, "jit_dw:", 7) == 0;
}

struct choice {
    struct dnnl_plan *plan;
    const char *version; /* NULL: the first one that is good */
    bool is_bf16;
};

static bool take_kernel(void *user, dnnl_primitive_desc_t desc, const char *name)
{
    struct choice *choice = user;
    struct dnnl_plan *plan = choice->plan;

    snprintf(plan->base.version, sizeof(plan->base.version), "dnnl:%s", name);
    if (choice->version ? strcmp(plan->base.version, choice->version) != 0
                        : !is_usable(name, false))
        return false;
    if (choice->is_bf16 && !dnnl_multiplies_bf16(name))
        return false;
    plan->desc = desc;
    plan->is_free = has_free_loops(name);
    return true;
}

struct kernel_conv_version conv_dnnl_first(const struct kernel_conv *shape, bool has_bias,
                                           bool has_residual)
{
    struct kernel_conv_versions versions = {0};

    conv_dnnl_list(shape, has_bias, has_residual, false, &versions);
    return versions.count > 0 ? versions.items[0] : (struct kernel_conv_version){.name = ""};
}

bool conv_dnnl_unrolls(const char *version)
{
    return strstr(version, "gemm:") != NULL;
}

static bool is_direct(const char *name)
{
    static const char dense[] = "dnnl:jit:avx2", depthwise[] = "dnnl:jit_dw:avx2";

    return strncmp(name, dense, strlen(dense)) == 0 ||
           strncmp(name, depthwise, strlen(depthwise)) == 0;
}

bool conv_dnnl_find_direct(const struct kernel_conv *shape, const struct kernel_conv *inner,
                           bool has_bias, bool has_residual, const char *prefix,
                           struct kernel_conv_version *out_version)
{
    struct kernel_conv_version kernel;

    if (!conv_dnnl_unrolls(conv_dnnl_first(shape, has_bias, has_residual).name))
        return false;
    kernel = conv_dnnl_first(inner, has_bias, has_residual);
    if (!is_direct(kernel.name))
        return false;
    *out_version = kernel;
    snprintf(out_version->name, sizeof(out_version->name), "%s%s", prefix,
             kernel.name + strlen("dnnl:"));
    return true;
}

bool conv_dnnl_direct_name(const char *version, const char *prefix,
                           char out_name[KERNEL_CONV_VERSION_BYTES])
{
    if (strncmp(version, prefix, strlen(prefix)) != 0)
        return false;
    snprintf(out_name, KERNEL_CONV_VERSION_BYTES, "dnnl:%s", version + strlen(prefix));
    return is_direct(out_name);
}

const char *conv_dnnl_prefer(const struct kernel_conv *shape)
{
    /* One filter per channel: the older kernel needs 0.5 to 0.8 of the time up to some hundreds of
     * channels, half where they do not fill a register (2.6.3, measured on Zen 5). */
    enum { MOST_CHANNELS = 512 };

    if (shape->channels_last && !shape->is_transposed && shape->groups == shape->channels &&
        shape->filters == shape->channels && shape->channels <= MOST_CHANNELS)
        return "dnnl:jit_dw:avx512_core";
    return NULL;
}

static dnnl_status_t choose_kernel(struct dnnl_plan *plan, const struct conv_request *request,
                                   bool is_bf16, const char *version)
{
    struct choice choice = {plan, version, is_bf16};
    dnnl_status_t status = walk_kernels(request->shape, is_bf16, request->bias != NULL,
                                        request->has_residual, take_kernel, &choice);

    if (status == dnnl_success)
        status = dnnl_stream_create(&plan->stream, dnnl_cpu_engine(), dnnl_stream_default_flags);
    if (status == dnnl_success)
        status = dnnl_primitive_create(&plan->primitive, plan->desc);
    return status;
}

static dnnl_status_t plan_memory(struct dnnl_plan *plan, dnnl_query_t what, int arg, void *data,
                                 dnnl_memory_t *out_memory)
{
    const dnnl_memory_desc_t *desc = dnnl_primitive_desc_query_md(plan->desc, what, 0);
    dnnl_status_t status = dnnl_memory_create(out_memory, desc, dnnl_cpu_engine(), data);

    if (status == dnnl_success)
        plan->args[plan->arg_count++] = (dnnl_exec_arg_t){arg, *out_memory};
    return status;
}

/* How the weights of a plan are made. */
struct source {
    const void *w;
    /* f32: as the kernel takes them; else in this type for a kernel of f32. */
    enum kernel_dtype stored;
};

static bool is_stored(const struct source *source)
{
    return source->stored != KERNEL_F32;
}

/* Copies w into the order of the plan's weights. */
static dnnl_status_t pack_weights(struct dnnl_plan *plan, const struct geometry *g,
                                  const struct source *source)
{
    static const dnnl_format_tag_t dense[] = {
        [3] = dnnl_abc, [4] = dnnl_abcd, [5] = dnnl_abcde, [6] = dnnl_abcdef};
    /* Channels before filters; groups before both. */
    static const dnnl_format_tag_t swapped[] = {[3] = dnnl_bac, [4] = dnnl_bacd, [5] = dnnl_bacde};
    static const dnnl_format_tag_t swapped_groups[] = {
        [4] = dnnl_acbd, [5] = dnnl_acbde, [6] = dnnl_acbdef};
    const dnnl_format_tag_t *tags = !g->is_transposed     ? dense
                                    : g->w_rank > g->rank ? swapped_groups
                                                          : swapped;
    const dnnl_memory_desc_t *to =
        dnnl_primitive_desc_query_md(plan->desc, dnnl_query_weights_md, 0);
    dnnl_memory_desc_t from;
    dnnl_status_t status =
        dnnl_memory_desc_init_by_tag(&from, g->w_rank, g->w, g->type, tags[g->w_rank]);

    if (status != dnnl_success)
        return status;
    return is_stored(source) ? dnnl_reorder_half_now(to, plan->base.weights, &from, source->w)
                             : dnnl_reorder_now(to, plan->base.weights, &from, source->w);
}

static dnnl_status_t bind_memory(struct dnnl_plan *plan, const struct geometry *g,
                                 const struct source *source, const float *bias)
{
    struct kernel_conv_plan *base = &plan->base;
    size_t bias_bytes = bias ? (size_t)g->bias[0] * sizeof(*bias) : 0;
    dnnl_status_t status;
    char *at;

    base->workspace_bytes = dnnl_memory_desc_get_size(
        dnnl_primitive_desc_query_md(plan->desc, dnnl_query_scratchpad_md, 0));
    base->w_bytes = conv_round_up(dnnl_memory_desc_get_size(
        dnnl_primitive_desc_query_md(plan->desc, dnnl_query_weights_md, 0)));
    at = plan_half_place(&base->half, source->stored, base->w_bytes, bias_bytes,
                         &base->workspace_bytes, &base->weights, &base->weights_bytes);
    if (!at)
        return dnnl_out_of_memory;
    status = pack_weights(plan, g, source);
    if (status == dnnl_success)
        status = plan_memory(plan, dnnl_query_weights_md, DNNL_ARG_WEIGHTS, plan->base.weights,
                             &plan->w);
    if (status == dnnl_success && bias) {
        const dnnl_memory_desc_t *desc =
            dnnl_primitive_desc_query_md(plan->desc, dnnl_query_weights_md, 1);

        memcpy(at, bias, bias_bytes);
        status = dnnl_memory_create(&plan->bias, desc, dnnl_cpu_engine(), at);
        plan->args[plan->arg_count++] = (dnnl_exec_arg_t){DNNL_ARG_BIAS, plan->bias};
    }
    if (status == dnnl_success)
        status = plan_memory(plan, dnnl_query_src_md, DNNL_ARG_SRC, DNNL_MEMORY_NONE, &plan->x);
    if (status == dnnl_success)
        status = plan_memory(plan, dnnl_query_dst_md, DNNL_ARG_DST, DNNL_MEMORY_NONE, &plan->y);
    if (status == dnnl_success)
        status = plan_memory(plan, dnnl_query_scratchpad_md, DNNL_ARG_SCRATCHPAD, DNNL_MEMORY_NONE,
                             &plan->workspace);
    return status;
}

static void destroy(struct kernel_conv_plan *base)
{
    struct dnnl_plan *plan = (struct dnnl_plan *)base;

    dnnl_memory_destroy(plan->y);
    dnnl_memory_destroy(plan->x);
    dnnl_memory_destroy(plan->w);
    dnnl_memory_destroy(plan->bias);
    dnnl_memory_destroy(plan->workspace);
    dnnl_primitive_destroy(plan->primitive);
    dnnl_primitive_desc_destroy(plan->desc);
    dnnl_stream_destroy(plan->stream);
    free(plan->base.weights);
    free(plan);
}

static void place(struct kernel_conv_plan *base, float *weights, float *bias)
{
    struct dnnl_plan *plan = (struct dnnl_plan *)base;

    dnnl_memory_set_data_handle(plan->w, weights);
    if (plan->bias)
        dnnl_memory_set_data_handle(plan->bias, bias);
}

static int run(struct kernel_conv_plan *base, void *y, const void *x, void *workspace)
{
    struct dnnl_plan *plan = (struct dnnl_plan *)base;
    dnnl_status_t status;

    if (plan->narrow) {
        void *rounded = (char *)workspace + plan->x_offset;

        plan->narrow(rounded, KERNEL_BF16, x, plan->x_count);
        x = rounded;
    }
    dnnl_memory_set_data_handle(plan->y, y);
    dnnl_memory_set_data_handle(plan->x, (void *)x);
    dnnl_memory_set_data_handle(plan->workspace, workspace);
    team_free_loops(plan->is_free);
    /* The CPU stream of oneDNN is in order and done when this returns. */
    status = dnnl_primitive_execute(plan->primitive, plan->stream, plan->arg_count, plan->args);
    team_free_loops(false);
    return status == dnnl_success ? 0 : -EIO;
}

static int create(const struct conv_request *request, const struct source *source, bool is_bf16,
                  const char *version, struct dnnl_plan **out_plan)
{
    static const struct conv_plan_type type = {destroy, run, place};
    struct dnnl_plan *plan = calloc(1, sizeof(*plan));
    struct geometry geometry;
    dnnl_status_t status;

    if (!plan)
        return -ENOMEM;
    plan->base.type = &type;
    make_geometry(request->shape, &geometry);
    set_types(request->shape, is_bf16, &geometry);
    status = choose_kernel(plan, request, is_bf16, version);
    if (status == dnnl_success)
        status = bind_memory(plan, &geometry, source, request->bias);
    if (status != dnnl_success) {
        destroy(&plan->base);
        return status == dnnl_out_of_memory ? -ENOMEM : -ENOTSUP;
    }
    *out_plan = plan;
    return 0;
}

int conv_dnnl_create(const struct conv_request *request, const char *version,
                     struct kernel_conv_plan **out_plan)
{
    struct source source = {request->w, KERNEL_F32};
    struct dnnl_plan *plan;
    int rc = create(request, &source, false, version, &plan);

    if (rc == 0)
        *out_plan = &plan->base;
    return rc;
}

int conv_dnnl_create_half(const struct conv_request *request, const char *version,
                          struct kernel_conv_plan **out_plan)
{
    struct source source = {request->stored_w, request->shape->types.weights};
    struct dnnl_plan *plan;
    int rc = create(request, &source, false, version, &plan);

    if (rc == 0)
        *out_plan = &plan->base;
    return rc;
}

int conv_dnnl_create_bf16(const struct conv_request *request, const char *version,
                          struct kernel_conv_plan **out_plan)
{
    const struct kernel_conv *s = request->shape;
    struct source source = {request->stored_w, KERNEL_F32};
    struct dnnl_plan *plan;
    int rc;

    if (!multiplies_bf16(s))
        return -ENOTSUP;
    rc = create(request, &source, true, version, &plan);
    if (rc < 0)
        return rc;
    plan->base.computes = s->types;
    if (s->types.x == KERNEL_F32) {
        plan->narrow = plan_half_narrow();
        plan->x_offset = conv_round_up(plan->base.workspace_bytes);
        plan->x_count = dnnl_memory_desc_get_size(
                            dnnl_primitive_desc_query_md(plan->desc, dnnl_query_src_md, 0)) /
                        kernel_dtype_bytes(KERNEL_BF16);
        plan->base.workspace_bytes = plan->x_offset + conv_round_up(2 * plan->x_count);
    }
    *out_plan = &plan->base;
    return 0;
}
