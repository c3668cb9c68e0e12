/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions whose pads reach further than the blocks in which oneDNN's direct kernels for AVX2 go along
 * a row, as those of vocoders with dilated windows: it leaves them to products of unrolled images. The
 * image is copied between zeros into the workspace, and the direct kernel knows of no pads.
 */
#include "kernels/cpu/conv_plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/team.h"

static const char prefix[] = "padded:";

/* Lines along the innermost axis, in bytes. */
struct lines {
    int64_t in[KERNEL_SPATIAL], begin[KERNEL_SPATIAL]; /* x, and where it begins in the image */
    int64_t image[KERNEL_SPATIAL];
    int64_t images;
    size_t unit; /* an element of the innermost axis */
};

struct padded_plan {
    struct kernel_conv_plan base;
    struct kernel_conv_plan *inner; /* owned; its weights are this plan's */
    struct lines lines;
    size_t image_offset; /* in the workspace */
};

struct copying {
    const struct lines *lines;
    const char *x;
    char *image;
};

/* The same on images that hold their pads, as far as windows reach. */
static void make_inner(const struct kernel_conv *shape, struct kernel_conv *inner)
{
    struct kernel_window *w = &inner->window;

    *inner = *shape;
    for (int i = 0; i < KERNEL_SPATIAL; i++) {
        w->in[i] = (w->out[i] - 1) * w->stride[i] + (w->kernel[i] - 1) * w->dilation[i] + 1;
        w->pad_begin[i] = w->pad_end[i] = 0;
    }
}

static void make_lines(const struct kernel_conv *shape, const struct kernel_conv *inner,
                       struct lines *lines)
{
    const struct kernel_window *w = &shape->window;

    lines->images = shape->channels_last ? shape->batch : shape->batch * shape->channels;
    lines->unit = sizeof(float) * (size_t)(shape->channels_last ? shape->channels : 1);
    for (int i = 0; i < KERNEL_SPATIAL; i++) {
        lines->image[i] = inner->window.in[i];
        lines->begin[i] = w->pad_begin[i] < lines->image[i] ? w->pad_begin[i] : lines->image[i];
        lines->in[i] = w->in[i];
    }
}

static size_t image_bytes(const struct lines *lines)
{
    return (size_t)(lines->images * lines->image[0] * lines->image[1] * lines->image[2]) *
           lines->unit;
}

/* What windows read behind the last element of the innermost axis. */
static int64_t reach_behind(const struct kernel_window *w)
{
    return (w->out[2] - 1) * w->stride[2] + (w->kernel[2] - 1) * w->dilation[2] + 1 - w->in[2] -
           w->pad_begin[2];
}

static bool is_possible(const struct kernel_conv *shape)
{
    enum { BLOCK = 3 }; /* in which the kernel goes along a row (2.6.3) */
    const struct kernel_window *w = &shape->window;

    for (int i = 0; i < KERNEL_SPATIAL; i++)
        if (w->out[i] < 1 || w->in[i] < 1)
            return false;
    return !shape->is_transposed && shape->batch > 0 &&
           (w->pad_begin[2] > BLOCK || reach_behind(w) > BLOCK);
}

/* oneDNN's kernel behind it, of which it is not asked for the pads that each network has. */
static bool find_kernel(const struct kernel_conv *shape, bool has_bias, bool has_residual,
                        struct kernel_conv_version *out_kernel)
{
    struct kernel_conv inner;

    if (!is_possible(shape))
        return false;
    make_inner(shape, &inner);
    return conv_dnnl_find_direct(shape, &inner, has_bias, has_residual, prefix, out_kernel);
}

void conv_padded_list(const struct kernel_conv *shape, bool has_bias, bool has_residual,
                      struct kernel_conv_versions *versions)
{
    if (versions->count < KERNEL_CONV_VERSIONS_MAX &&
        find_kernel(shape, has_bias, has_residual, &versions->items[versions->count]))
        versions->count++;
}

const char *conv_padded_prefer(const struct kernel_conv *shape, bool has_bias, bool has_residual,
                               char out_name[KERNEL_CONV_VERSION_BYTES])
{
    struct kernel_conv_version kernel;

    if (!find_kernel(shape, has_bias, has_residual, &kernel))
        return NULL;
    memcpy(out_name, kernel.name, sizeof(kernel.name));
    return out_name;
}

static void copy_line(const struct lines *lines, char *to, const char *from)
{
    int64_t begin = lines->begin[2], count = lines->image[2] - begin;
    size_t left = (size_t)begin * lines->unit, middle, right;

    if (count > lines->in[2])
        count = lines->in[2];
    middle = (size_t)count * lines->unit;
    right = (size_t)(lines->image[2] - begin - count) * lines->unit;
    memset(to, 0, left);
    memcpy(to + left, from, middle);
    memset(to + left + middle, 0, right);
}

static void copy_lines(void *argument, int64_t begin, int64_t end)
{
    const struct copying *copying = argument;
    const struct lines *l = copying->lines;
    size_t to_bytes = (size_t)l->image[2] * l->unit, from_bytes = (size_t)l->in[2] * l->unit;

    for (int64_t line = begin; line < end; line++) {
        int64_t row = line % l->image[1] - l->begin[1];
        int64_t plane = line / l->image[1] % l->image[0] - l->begin[0];
        int64_t image = line / l->image[1] / l->image[0];
        char *to = copying->image + (size_t)line * to_bytes;

        if (row < 0 || row >= l->in[1] || plane < 0 || plane >= l->in[0])
            memset(to, 0, to_bytes);
        else
            copy_line(l, to,
                      copying->x +
                          (size_t)((image * l->in[0] + plane) * l->in[1] + row) * from_bytes);
    }
}

static int run(struct kernel_conv_plan *base, void *y, const void *x, void *workspace)
{
    enum { GRAIN_BYTES = 64 * 1024 };
    struct padded_plan *plan = (struct padded_plan *)base;
    const struct lines *l = &plan->lines;
    struct copying copying = {l, x, (char *)workspace + plan->image_offset};
    int64_t line_bytes = l->image[2] * (int64_t)l->unit;

    team_for(l->images * l->image[0] * l->image[1], GRAIN_BYTES / line_bytes + 1, copy_lines,
             &copying);
    return plan->inner->type->run(plan->inner, y, copying.image, workspace);
}

static void place(struct kernel_conv_plan *base, float *weights, float *bias)
{
    struct padded_plan *plan = (struct padded_plan *)base;

    plan->inner->type->place(plan->inner, weights, bias);
}

static void destroy(struct kernel_conv_plan *base)
{
    struct padded_plan *plan = (struct padded_plan *)base;

    if (plan->inner)
        plan->inner->type->destroy(plan->inner);
    free(plan->base.weights);
    free(plan);
}

static void take_inner(struct padded_plan *plan)
{
    struct kernel_conv_plan *base = &plan->base, *inner = plan->inner;

    conv_plan_take_weights(base, inner);
    plan->image_offset = conv_round_up(inner->workspace_bytes);
    base->workspace_bytes = plan->image_offset + conv_round_up(image_bytes(&plan->lines));
}

int conv_padded_create(const struct conv_request *request, const char *version,
                       struct kernel_conv_plan **out_plan)
{
    static const struct conv_plan_type type = {destroy, run, place};
    struct conv_request inner_request = *request;
    char kernel[KERNEL_CONV_VERSION_BYTES];
    struct kernel_conv inner;
    struct padded_plan *plan;
    int rc;

    if (!conv_dnnl_direct_name(version, prefix, kernel) || !is_possible(request->shape))
        return -ENOTSUP;
    plan = calloc(1, sizeof(*plan));
    if (!plan)
        return -ENOMEM;
    plan->base.type = &type;
    snprintf(plan->base.version, sizeof(plan->base.version), "%s", version);
    make_inner(request->shape, &inner);
    make_lines(request->shape, &inner, &plan->lines);
    inner_request.shape = &inner;
    rc = conv_dnnl_create(&inner_request, kernel, &plan->inner);
    if (rc < 0) {
        destroy(&plan->base);
        return rc;
    }
    take_inner(plan);
    *out_plan = &plan->base;
    return 0;
}
