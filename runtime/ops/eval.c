/* SPDX-License-Identifier: Apache-2.0 */
/* One node, computed at once with the reference kernels. */
#include "runtime/ops/eval.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/ops/call/call.h"

/* Returns as call_bind_conv_plan(). */
static int bind_row_major(const struct call_request *request, struct call *out_call)
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

static bool is_one_of(const struct node *node, const char *a, const char *b)
{
    return strcmp(node->op_type, a) == 0 || strcmp(node->op_type, b) == 0;
}

/* What lays its weights out: small ones only where the call is kept. Returns as call_bind_conv_plan(), and
 * -EAGAIN where it is worth it each time, but weights that change cannot be kept. */
static int bind_plan(const struct call_request *request, struct call *out_call)
{
    const struct node *node = request->node;

    if (request->kernels->level == KERNEL_LEVEL_REF || node->domain[0] != '\0' ||
        node->fused.residual_input >= 0 || node->input_count < 2 || node->input_count > 3)
        return 1;
    if (is_one_of(node, "MatMul", "Gemm"))
        return request->shows_fixed ? call_bind_any(request, call_bind_gemm_plan, out_call) : 1;
    if (!is_one_of(node, "Conv", "ConvTranspose"))
        return 1;
    if (request->shows_fixed && !request->inputs[1].data)
        return call_is_large_conv(request) ? -EAGAIN : 1;
    return request->shows_fixed || call_is_large_conv(request) ? bind_row_major(request, out_call)
                                                               : 1;
}

int eval_bind(const struct call_request *request, struct call *out_call)
{
    int rc = bind_plan(request, out_call);

    return rc == 0 || rc == -EAGAIN ? rc : call_bind_any(request, call_bind, out_call);
}

int eval_run(const struct graph *graph, const struct node *node, struct call *call,
             const struct eval_options *options, struct diag *diag)
{
    const struct call_request request = {.graph = graph, .node = node, .diag = diag};
    int rc;

    call->watch = options->watch;
    call->first_inner = options->first_inner;
    if (options->watch && options->watch->wants_phases)
        options->watch->moment(options->watch->user, options->first_inner - 1, CALL_KERN);
    rc = call_run(call);
    return rc < 0 ? call_refuse(&request, rc, "%s", call_problem(call, rc)) : rc;
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
    int rc = eval_bind(&request, &call);

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
        rc = eval_run(graph, node, &call, options, diag);
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
