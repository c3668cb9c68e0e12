/* SPDX-License-Identifier: Apache-2.0 */
/* One node, computed at once with the reference kernels. */
#include "runtime/ops/eval.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/ops/call/call.h"

/* Whether a convolution is worth it: preparing takes some microseconds, and reads each weight once. */
static bool is_large_conv(const struct node *node, const struct tensor_view *inputs,
                          const struct tensor_view *outputs)
{
    enum { PRODUCTS_MIN = 1 << 18 };
    const struct shape *w = node->input_count < 2 ? NULL : &inputs[1].shape;
    const bool is_transposed = strcmp(node->op_type, "ConvTranspose") == 0;
    const struct shape *windows = is_transposed ? &inputs[0].shape : &outputs[0].shape;

    return w && node->domain[0] == '\0' && (is_transposed || strcmp(node->op_type, "Conv") == 0) &&
           node->fused.residual_input < 0 && node->input_count <= 3 && w->rank > 2 &&
           w->dims[0] > 0 && inputs[0].dtype == DTYPE_F32 && inputs[1].dtype == DTYPE_F32 &&
           shape_elements(windows) > PRODUCTS_MIN / (shape_elements(w) / w->dims[0] + 1);
}

/* Returns as call_bind_conv_plan(). */
static int bind_prepared(const struct call_request *request, struct call *out_call)
{
    struct call_request row_major = *request;
    struct layout layouts[3] = {{0}}, y;

    for (uint32_t i = 0; i < request->node->input_count; i++)
        layouts[i] = layout_row_major(request->inputs[i].shape.rank);
    y = layout_row_major(request->outputs[0].shape.rank);
    row_major.input_layouts = layouts;
    row_major.output_layouts = &y;
    return call_bind_conv_plan(&row_major, out_call);
}

int eval_node_with(const struct graph *graph, const struct node *node,
                   const struct tensor_view *inputs, struct tensor_view *outputs,
                   const struct eval_options *options, struct diag *diag)
{
    struct call_request request = {.kernels = options->kernels,
                                   .graph = graph,
                                   .node = node,
                                   .inputs = inputs,
                                   .outputs = outputs,
                                   .diag = diag};
    const void **input_data = calloc(node->input_count + 1, sizeof(*input_data));
    void **output_data = calloc(node->output_count + 1, sizeof(*output_data));
    struct call call = {0};
    int rc = 1;

    if (options->kernels->level > KERNEL_LEVEL_REF && is_large_conv(node, inputs, outputs))
        rc = bind_prepared(&request, &call);
    if (rc != 0)
        rc = call_bind_any(&request, call_bind, &call);
    if (rc == 0 && call.workspace_bytes)
        call.workspace = graph_alloc_data(call.workspace_bytes);
    if (rc == 0 && (!input_data || !output_data || (call.workspace_bytes && !call.workspace)))
        rc = call_refuse(&request, -ENOMEM, "out of memory");
    if (rc == 0) {
        for (uint32_t i = 0; i < node->input_count; i++)
            input_data[i] = inputs[i].data;
        for (uint32_t i = 0; i < node->output_count; i++)
            output_data[i] = outputs[i].data;
        call.inputs = input_data;
        call.outputs = output_data;
        call.watch = options->watch;
        call.first_inner = options->first_inner;
        if (options->watch && options->watch->wants_phases)
            options->watch->moment(options->watch->user, options->first_inner - 1, CALL_KERN);
        rc = call_run(&call);
        if (rc < 0)
            call_refuse(&request, rc, "%s", call_problem(&call, rc));
    }
    free(call.workspace);
    call_deinit(&call);
    free(input_data);
    free(output_data);
    return rc;
}

static int eval_at(enum kernel_level level, const struct graph *graph, const struct node *node,
                   const struct tensor_view *inputs, struct tensor_view *outputs, struct diag *diag)
{
    struct kernel_table kernels;
    struct eval_options options = {.kernels = &kernels};

    kernel_table_init(&kernels, level);
    return eval_node_with(graph, node, inputs, outputs, &options, diag);
}

int eval_node(const struct graph *graph, const struct node *node, const struct tensor_view *inputs,
              struct tensor_view *outputs, struct diag *diag)
{
    return eval_at(KERNEL_LEVEL_REF, graph, node, inputs, outputs, diag);
}

int eval_node_as_run(const struct graph *graph, const struct node *node,
                     const struct tensor_view *inputs, struct tensor_view *outputs,
                     struct diag *diag)
{
    return eval_at(kernel_best_level(), graph, node, inputs, outputs, diag);
}
