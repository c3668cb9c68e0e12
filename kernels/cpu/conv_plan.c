/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution plans: which kernels there are for a shape, and which one is taken. */
#include "kernels/cpu/conv_plan.h"
#include "kernels/cpu/conv_few.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_listed(const struct kernel_conv_versions *versions, const char *name)
{
    for (int i = 0; i < versions->count; i++)
        if (strcmp(versions->items[i].name, name) == 0)
            return true;
    return false;
}

/* NULL: the first of oneDNN's list. A name that this CPU does not have is on no list. */
static const char *prefer_as_it_lies(const struct kernel_conv *shape, bool has_bias,
                                     bool has_residual, char name[KERNEL_CONV_VERSION_BYTES])
{
    const char *own = conv_few_prefer(shape);

    if (!own)
        own = conv_winograd_prefer(shape, name);
    if (!own)
        own = conv_panels_prefer(shape, name);
    if (!own)
        own = conv_spread_prefer(shape, name);
    if (!own)
        own = conv_added_prefer(shape, name);
    if (!own)
        own = conv_padded_prefer(shape, has_bias, has_residual, name);
    if (!own)
        own = conv_merged_prefer(shape, has_bias, has_residual, name);
    return own ? own : conv_dnnl_prefer(shape);
}

/* What is to compute turned images, where oneDNN would unroll those that there are and not these; an
 * empty name: nothing. */
static struct kernel_conv_version prefer_turned(const struct kernel_conv *shape, bool has_bias,
                                                bool has_residual)
{
    struct kernel_conv_version version = {.name = ""};
    char name[KERNEL_CONV_VERSION_BYTES];
    struct kernel_conv inner;
    const char *own;

    if (!conv_turned_inner(shape, &inner) ||
        !conv_dnnl_unrolls(conv_dnnl_first(shape, has_bias, has_residual).name))
        return version;
    own = prefer_as_it_lies(&inner, has_bias, has_residual, name);
    if (own && strncmp(own, "dnnl:", strlen("dnnl:")) != 0) {
        version.is_reproducible = true; /* our own are */
        snprintf(version.name, sizeof(version.name), "%s", own);
    } else {
        version = conv_dnnl_first(&inner, has_bias, has_residual);
    }
    if (!version.name[0] || conv_dnnl_unrolls(version.name))
        return (struct kernel_conv_version){.name = ""};
    conv_turned_name(version.name, name);
    memcpy(version.name, name, sizeof(name));
    return version;
}

static const char *prefer(const struct kernel_conv *shape, bool has_bias, bool has_residual,
                          char name[KERNEL_CONV_VERSION_BYTES])
{
    const char *own = prefer_as_it_lies(shape, has_bias, has_residual, name);
    struct kernel_conv_version turned;

    if (own)
        return own;
    turned = prefer_turned(shape, has_bias, has_residual);
    memcpy(name, turned.name, sizeof(turned.name));
    return name[0] ? name : NULL;
}

static const char *prefer_for(const struct conv_request *request,
                              char name[KERNEL_CONV_VERSION_BYTES])
{
    return prefer(request->shape, request->bias != NULL, request->has_residual, name);
}

static int create_as_it_lies(const struct conv_request *request, const char *version,
                             struct kernel_conv_plan **out_plan)
{
    int rc = version ? conv_few_create(request, version, out_plan) : -ENOTSUP;

    if (rc == -ENOTSUP && version)
        rc = conv_winograd_create(request, version, out_plan);
    if (rc == -ENOTSUP && version)
        rc = conv_spread_create(request, version, out_plan);
    if (rc == -ENOTSUP && version)
        rc = conv_added_create(request, version, out_plan);
    if (rc == -ENOTSUP && version)
        rc = conv_padded_create(request, version, out_plan);
    if (rc == -ENOTSUP && version && request->shape->types.weights == KERNEL_F32)
        rc = conv_panels_create(request, version, out_plan);
    if (rc == -ENOTSUP && version)
        rc = conv_merged_create(request, version, out_plan);
    return rc == -ENOTSUP ? conv_dnnl_create(request, version, out_plan) : rc;
}

static int create(const struct conv_request *request, const char *version,
                  struct kernel_conv_plan **out_plan)
{
    const char *inner_name = version ? conv_turned_inner_name(version) : NULL;
    struct conv_request inner_request = *request;
    struct kernel_conv_plan *plan = NULL;
    struct kernel_conv inner;
    int rc;

    if (!inner_name)
        return create_as_it_lies(request, version, out_plan);
    if (!conv_turned_inner(request->shape, &inner))
        return -ENOTSUP;
    inner_request.shape = &inner;
    rc = create_as_it_lies(&inner_request, inner_name, &plan);
    return rc ? rc : conv_turned_wrap(request, plan, out_plan);
}

int kernel_conv_plan_list(const struct kernel_conv *shape, bool has_bias, bool has_residual,
                          bool with_slow, struct kernel_conv_versions *out_versions)
{
    struct kernel_conv_versions all = {0};
    struct kernel_conv_version turned;
    char name[KERNEL_CONV_VERSION_BYTES];
    const char *preferred = prefer(shape, has_bias, has_residual, name);

    *out_versions = (struct kernel_conv_versions){0};
    conv_dnnl_list(shape, has_bias, has_residual, with_slow, &all);
    conv_few_list(shape, &all);
    conv_winograd_list(shape, &all);
    conv_panels_list(shape, &all);
    if (!has_residual) {
        conv_spread_list(shape, &all);
        conv_added_list(shape, &all);
    }
    conv_padded_list(shape, has_bias, has_residual, &all);
    conv_merged_list(shape, has_bias, has_residual, &all);
    turned = prefer_turned(shape, has_bias, has_residual);
    if (turned.name[0] && all.count < KERNEL_CONV_VERSIONS_MAX)
        all.items[all.count++] = turned;
    for (int i = 0; preferred && i < all.count; i++)
        if (strcmp(all.items[i].name, preferred) == 0)
            out_versions->items[out_versions->count++] = all.items[i];
    for (int i = 0; i < all.count; i++)
        if (!is_listed(out_versions, all.items[i].name))
            out_versions->items[out_versions->count++] = all.items[i];
    return out_versions->count > 0 ? 0 : -ENOTSUP;
}

static int create_f32(const struct conv_request *request, const char *version,
                      struct kernel_conv_plan **out_plan)
{
    char name[KERNEL_CONV_VERSION_BYTES];
    const char *preferred = version ? NULL : prefer_for(request, name);
    int rc = preferred ? create(request, preferred, out_plan) : -ENOTSUP;

    return rc == -ENOTSUP ? create(request, version, out_plan) : rc;
}

static bool is_of(const char *version, const char *family)
{
    return strncmp(version, family, strlen(family)) == 0;
}

/* The same choice as create_f32(): nothing of the weights is held as f32. -ENOTSUP where that chooses a kernel that
 * cannot take them so. */
static int create_stored(const struct conv_request *request, const char *version,
                         struct kernel_conv_plan **out_plan)
{
    char name[KERNEL_CONV_VERSION_BYTES];
    const char *preferred = version ? version : prefer_for(request, name);
    int rc;

    if (preferred && is_of(preferred, "winograd")) {
        struct conv_request stored = *request;

        stored.w = NULL;
        return conv_winograd_create(&stored, preferred, out_plan);
    }
    if (preferred && is_of(preferred, "panels:"))
        return conv_panels_create(request, preferred, out_plan);
    if (preferred && !is_of(preferred, "dnnl:"))
        return -ENOTSUP;
    rc = conv_dnnl_create_half(request, preferred, out_plan);
    return rc == -ENOTSUP && preferred && !version ? conv_dnnl_create_half(request, NULL, out_plan)
                                                   : rc;
}

/* By a kernel of f32, whose weights are then stored as they came. */
static int create_widened(struct conv_request *request, const char *version,
                          struct kernel_conv_plan **out_plan)
{
    const struct kernel_conv *s = request->shape;
    const int64_t *kernel = s->window.kernel;
    enum kernel_dtype dtype = s->types.weights;
    size_t count = (size_t)(s->filters * (s->channels / s->groups));
    struct kernel_conv_plan *plan = NULL;
    float *w;
    int rc;

    for (int axis = 0; axis < KERNEL_SPATIAL; axis++)
        count *= (size_t)kernel[axis];
    w = plan_half_copy(request->stored_w, dtype, count);
    if (!w)
        return -ENOMEM;
    request->w = w;
    rc = create_f32(request, version, &plan);
    free(w);
    if (rc == 0)
        rc = plan_half_store(&plan->half, dtype, &plan->weights, &plan->weights_bytes,
                             plan->w_bytes, &plan->workspace_bytes);
    if (rc < 0)
        kernel_conv_plan_destroy(&plan);
    *out_plan = plan;
    return rc;
}

int kernel_conv_plan_create(const struct kernel_conv *shape, const void *w, const float *bias,
                            bool has_residual, const char *version,
                            struct kernel_conv_plan **out_plan)
{
    struct conv_request request = {shape, w, bias, w, has_residual};
    int rc;

    if (shape->types.weights == KERNEL_F32)
        return create_f32(&request, version, out_plan);
    rc = conv_dnnl_create_bf16(&request, version, out_plan);
    if (rc == -ENOTSUP)
        rc = create_stored(&request, version, out_plan);
    return rc == -ENOTSUP ? create_widened(&request, version, out_plan) : rc;
}

void kernel_conv_plan_destroy(struct kernel_conv_plan **plan)
{
    if (*plan)
        (*plan)->type->destroy(*plan);
    *plan = NULL;
}

int kernel_conv_plan_run(struct kernel_conv_plan *plan, void *y, const void *x, void *workspace)
{
    if (plan->half.dtype != KERNEL_F32) {
        float *bias = (float *)(void *)((char *)plan->weights + plan->half.bias_offset);

        plan->type->place(plan, plan_half_widen(&plan->half, plan->weights, workspace), bias);
    }
    return plan->type->run(plan, y, x, workspace);
}

struct kernel_conv_plan_info kernel_conv_plan_info(const struct kernel_conv_plan *plan)
{
    return (struct kernel_conv_plan_info){plan->version,    plan->workspace_bytes,
                                          plan->weights,    plan->weights_bytes,
                                          plan->computes.x, plan->computes.y};
}
