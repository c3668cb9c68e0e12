/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels that can compute one call, by name. */
#include "runtime/ops/call_version.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "runtime/ops/extern_library.h"

static bool is_listed(const struct call_versions *versions, const char *name)
{
    for (int i = 0; i < versions->count; i++)
        if (strcmp(versions->items[i].name, name) == 0)
            return true;
    return false;
}

static bool is_product(const struct node *node)
{
    return node->domain[0] == '\0' &&
           (strcmp(node->op_type, "Gemm") == 0 || strcmp(node->op_type, "MatMul") == 0);
}

static int list_plans(const struct call_request *request, struct call_versions *out_versions)
{
    struct kernel_conv_versions versions;
    struct kernel_conv shape;
    int residual = request->node->fused.residual_input;
    int rc = strcmp(request->node->op_type, "ConvTranspose") == 0
                 ? call_conv_transpose_shape(request, &shape)
                 : call_conv_shape(request, &shape);

    if (rc < 0)
        return rc;
    shape.channels_last = call_plan_is_channels_last(request);
    call_plan_weights(request, &shape.types);
    rc = kernel_conv_plan_list(&shape, residual != 2 && call_input(request, 2), residual >= 0, true,
                               &versions);
    if (rc < 0)
        return call_refuse(request, rc, "no kernel prepares its weights");
    out_versions->count = versions.count;
    for (int i = 0; i < versions.count; i++) {
        out_versions->items[i] =
            (struct call_version){.is_reference = versions.items[i].is_reference,
                                  .is_reproducible = versions.items[i].is_reproducible};
        memcpy(out_versions->items[i].name, versions.items[i].name,
               sizeof(out_versions->items[i].name));
    }
    return 0;
}

/* Adds what there is unless a higher level has it, too. A level may lack what a higher one has. */
static void list(const struct call_request *request, struct call_version version,
                 struct call_versions *out_versions)
{
    struct diag nothing = {0};
    struct call_request quiet = *request;
    struct call call = {0};

    quiet.diag = &nothing;
    if (call_bind_version(&quiet, false, &version, &call) < 0)
        return;
    snprintf(version.name, sizeof(version.name), "%s", call.version);
    version.is_reference = strncmp(version.name, "ref", 3) == 0;
    /* Loops are shared out in the same way each time, oneDNN's of products as well as ours. */
    version.is_reproducible = !extern_op_is(request->node);
    if (out_versions->count < CALL_VERSIONS_MAX && !is_listed(out_versions, version.name))
        out_versions->items[out_versions->count++] = version;
    call_deinit(&call);
}

int call_list_versions(const struct call_request *request, bool is_plan,
                       struct call_versions *out_versions)
{
    *out_versions = (struct call_versions){0};
    if (is_plan)
        return list_plans(request, out_versions);
    if (is_product(request->node))
        list(request, (struct call_version){.is_packed = true}, out_versions);
    for (int level = kernel_best_level(); level >= KERNEL_LEVEL_REF; level--) {
        list(request, (struct call_version){.level = (enum kernel_level)level}, out_versions);
        if (is_product(request->node))
            list(request,
                 (struct call_version){.level = (enum kernel_level)level, .is_row_by_row = true},
                 out_versions);
    }
    return out_versions->count > 0 ? 0 : call_refuse(request, -ENOTSUP, "no kernel for it");
}

int call_bind_version(const struct call_request *request, bool is_plan,
                      const struct call_version *version, struct call *out_call)
{
    struct call_request asking = *request;
    struct kernel_table kernels;

    bool is_prepared = is_plan || version->is_packed;
    int rc;

    kernel_table_init(&kernels, is_prepared ? kernel_best_level() : version->level);
    asking.kernels = &kernels;
    asking.row_by_row = version->is_row_by_row;
    asking.version = version->name;
    rc = call_bind_any(&asking,
                       is_plan              ? call_bind_conv_plan
                       : version->is_packed ? call_bind_gemm_plan
                                            : call_bind,
                       out_call);
    return rc > 0 ? call_refuse(request, -ENOTSUP, "no kernel %s", version->name) : rc;
}

/* A constant that is as large in each batch, although it has something for each of its samples. */
static bool has_fixed_batch(const struct call_request *request)
{
    const struct shape *y = &request->outputs[0].shape;
    int residual = request->node->fused.residual_input;

    for (int i = 0; i < (int)request->node->input_count; i++) {
        const struct tensor_view *x = &request->inputs[i];
        bool is_stack = is_product(request->node) && x->shape.rank > 2; /* of matrices */
        bool is_shared = (i == 1 && !is_stack) || x->shape.rank != y->rank ||
                         x->shape.dims[0] != y->dims[0] ||
                         (x->shape.dims[0] == 1 && i != 0 && i != residual);

        if (x->data && !is_shared)
            return true;
    }
    return false;
}

bool call_has_batch(const struct call_request *request)
{
    const struct node *node = request->node;
    const struct tensor_view *b = call_input(request, 1);

    if (node->domain[0] != '\0' || !b || request->outputs[0].shape.rank < 2)
        return false;
    if (has_fixed_batch(request))
        return false;
    if (strcmp(node->op_type, "Conv") == 0 || strcmp(node->op_type, "ConvTranspose") == 0)
        return b->data != NULL;
    if (!is_product(node) || request->inputs[0].shape.rank != request->outputs[0].shape.rank ||
        node_int(node, "transA", 0) != 0)
        return false;
    /* Rows of a, or matrices of a batch; the other operand is not shared out by them. */
    return b->data || b->shape.rank > 2;
}
