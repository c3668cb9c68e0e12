/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution plans: which kernels there are for a shape, and which one is taken. */
#include "kernels/cpu/conv_plan.h"

#include <errno.h>
#include <string.h>

static bool is_listed(const struct kernel_conv_versions *versions, const char *name)
{
    for (int i = 0; i < versions->count; i++)
        if (strcmp(versions->items[i].name, name) == 0)
            return true;
    return false;
}

/* NULL: the first of oneDNN's list. A name that this CPU does not have is on no list. */
static const char *prefer(const struct kernel_conv *shape, char name[KERNEL_CONV_VERSION_BYTES])
{
    const char *own = conv_winograd_prefer(shape, name);

    if (!own)
        own = conv_spread_prefer(shape, name);
    return own ? own : conv_dnnl_prefer(shape);
}

static int create(const struct conv_request *request, const char *version,
                  struct kernel_conv_plan **out_plan)
{
    int rc = version ? conv_winograd_create(request, version, out_plan) : -ENOTSUP;

    if (rc == -ENOTSUP && version)
        rc = conv_spread_create(request, version, out_plan);
    return rc == -ENOTSUP ? conv_dnnl_create(request, version, out_plan) : rc;
}

int kernel_conv_plan_list(const struct kernel_conv *shape, bool has_bias, bool has_residual,
                          bool with_slow, struct kernel_conv_versions *out_versions)
{
    struct kernel_conv_versions all = {0};
    char name[KERNEL_CONV_VERSION_BYTES];
    const char *preferred = prefer(shape, name);

    *out_versions = (struct kernel_conv_versions){0};
    conv_dnnl_list(shape, has_bias, has_residual, with_slow, &all);
    conv_winograd_list(shape, &all);
    if (!has_residual)
        conv_spread_list(shape, &all);
    for (int i = 0; preferred && i < all.count; i++)
        if (strcmp(all.items[i].name, preferred) == 0)
            out_versions->items[out_versions->count++] = all.items[i];
    for (int i = 0; i < all.count; i++)
        if (!is_listed(out_versions, all.items[i].name))
            out_versions->items[out_versions->count++] = all.items[i];
    return out_versions->count > 0 ? 0 : -ENOTSUP;
}

int kernel_conv_plan_create(const struct kernel_conv *shape, const float *w, const float *bias,
                            bool has_residual, const char *version,
                            struct kernel_conv_plan **out_plan)
{
    struct conv_request request = {shape, w, bias, has_residual};
    char name[KERNEL_CONV_VERSION_BYTES];
    const char *preferred = version ? NULL : prefer(shape, name);
    int rc = preferred ? create(&request, preferred, out_plan) : -ENOTSUP;

    return rc == -ENOTSUP ? create(&request, version, out_plan) : rc;
}

void kernel_conv_plan_destroy(struct kernel_conv_plan **plan)
{
    if (*plan)
        (*plan)->type->destroy(*plan);
    *plan = NULL;
}

int kernel_conv_plan_run(struct kernel_conv_plan *plan, float *y, const float *x, void *workspace)
{
    return plan->type->run(plan, y, x, workspace);
}

struct kernel_conv_plan_info kernel_conv_plan_info(const struct kernel_conv_plan *plan)
{
    return (struct kernel_conv_plan_info){plan->version, plan->workspace_bytes, plan->weights,
                                          plan->weights_bytes};
}
