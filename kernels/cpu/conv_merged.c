/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Grouped convolutions of few channels each, as ResNeXt's of four: oneDNN's direct kernels for AVX2 want
 * eight, and it leaves these to a product for each group, which is ten times as slow. So many groups that
 * they have eight channels and eight filters become one, with zeros for what a filter does not read.
 */
#include "kernels/cpu/conv_plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char prefix[] = "merged:";

enum {
    LANES = 8,    /* what the channels of a group are to be a multiple of */
    TIMES_MAX = 4 /* as many products, of which the others are by 0 */
};

/* How many groups become one; 0: none do. */
static int64_t merged_groups(const struct kernel_conv *s)
{
    if (s->is_transposed || !s->channels_last || s->groups < 2 || s->batch < 1 || s->channels < 1 ||
        s->filters < 1 || s->groups == s->channels)
        return 0;
    for (int64_t times = 2; times <= TIMES_MAX; times *= 2)
        if (s->groups % times == 0 && s->channels / s->groups * times % LANES == 0 &&
            s->filters / s->groups * times % LANES == 0)
            return times;
    return 0;
}

static struct kernel_conv make_inner(const struct kernel_conv *shape)
{
    struct kernel_conv inner = *shape;

    inner.groups /= merged_groups(shape);
    return inner;
}

static bool find_kernel(const struct kernel_conv *shape, bool has_bias, bool has_residual,
                        struct kernel_conv_version *out_kernel)
{
    struct kernel_conv inner;

    if (merged_groups(shape) == 0)
        return false;
    inner = make_inner(shape);
    return conv_dnnl_find_direct(shape, &inner, has_bias, has_residual, prefix, out_kernel);
}

void conv_merged_list(const struct kernel_conv *shape, bool has_bias, bool has_residual,
                      struct kernel_conv_versions *versions)
{
    if (versions->count < KERNEL_CONV_VERSIONS_MAX &&
        find_kernel(shape, has_bias, has_residual, &versions->items[versions->count]))
        versions->count++;
}

const char *conv_merged_prefer(const struct kernel_conv *shape, bool has_bias, bool has_residual,
                               char out_name[KERNEL_CONV_VERSION_BYTES])
{
    struct kernel_conv_version kernel;

    if (!find_kernel(shape, has_bias, has_residual, &kernel))
        return NULL;
    memcpy(out_name, kernel.name, sizeof(kernel.name));
    return out_name;
}

/* The weights of the merged groups: each filter between zeros. NULL without memory; the caller frees it. */
static float *merge(const struct kernel_conv *shape, const float *w)
{
    int64_t times = merged_groups(shape), filters = shape->filters / shape->groups;
    int64_t each = shape->channels / shape->groups; /* numbers of a filter that are not 0 */
    float *merged;

    for (int i = 0; i < KERNEL_SPATIAL; i++)
        each *= shape->window.kernel[i];
    merged = calloc((size_t)(shape->filters * each * times) + 1, sizeof(*merged));
    for (int64_t f = 0; merged && f < shape->filters; f++)
        memcpy(merged + (f * times + f / filters % times) * each, w + f * each,
               (size_t)each * sizeof(*w));
    return merged;
}

int conv_merged_create(const struct conv_request *request, const char *version,
                       struct kernel_conv_plan **out_plan)
{
    struct conv_request inner_request = *request;
    char kernel[KERNEL_CONV_VERSION_BYTES];
    struct kernel_conv inner;
    float *merged;
    int rc;

    if (!conv_dnnl_direct_name(version, prefix, kernel) || merged_groups(request->shape) == 0)
        return -ENOTSUP;
    merged = merge(request->shape, request->w);
    if (!merged)
        return -ENOMEM;
    inner = make_inner(request->shape);
    inner_request.shape = &inner;
    inner_request.w = merged;
    rc = conv_dnnl_create(&inner_request, kernel, out_plan);
    free(merged);
    if (rc == 0)
        snprintf((*out_plan)->version, sizeof((*out_plan)->version), "%s", version);
    return rc;
}
