/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of the nodes in bodies, kept from turn to turn and from run to run. */
#include "runtime/ops/body_calls.h"

#include <errno.h>
#include <stdlib.h>

#include "runtime/ops/call/call.h"

struct kept {
    struct call call;
    struct tensor_view *views; /* of inputs, then of outputs; data: of what is fixed */
    const void **inputs;
    void **outputs;
    bool is_bound;
    bool is_refused; /* it cannot be bound without what changes */
};

struct body_calls {
    uint32_t count;
    struct kept items[];
};

int body_calls_create(uint32_t count, struct body_calls **out_calls)
{
    struct body_calls *calls = calloc(1, sizeof(*calls) + count * sizeof(calls->items[0]));

    if (!calls)
        return -ENOMEM;
    calls->count = count;
    *out_calls = calls;
    return 0;
}

static void unbind(struct kept *kept)
{
    free(kept->call.workspace);
    call_deinit(&kept->call);
    kept->is_bound = false;
}

void body_calls_destroy(struct body_calls **calls_ptr)
{
    struct body_calls *calls = *calls_ptr;

    *calls_ptr = NULL;
    for (uint32_t i = 0; calls && i < calls->count; i++) {
        unbind(&calls->items[i]);
        free(calls->items[i].views);
        free(calls->items[i].inputs);
        free(calls->items[i].outputs);
    }
    free(calls);
}

static bool same_type(const struct tensor_view *a, const struct tensor_view *b)
{
    return a->dtype == b->dtype && (a->dtype == DTYPE_NONE || shape_equal(&a->shape, &b->shape));
}

static bool fits(const struct kept *kept, const struct node *node, const struct tensor_view *inputs,
                 const bool *is_fixed, const struct tensor_view *outputs)
{
    const struct tensor_view *views = kept->views;

    if (!kept->is_bound)
        return false;
    for (uint32_t i = 0; i < node->input_count; i++)
        if (!same_type(&views[i], &inputs[i]) ||
            views[i].data != (is_fixed[i] ? inputs[i].data : NULL))
            return false;
    for (uint32_t i = 0; i < node->output_count; i++)
        if (!same_type(&views[node->input_count + i], &outputs[i]))
            return false;
    return true;
}

static int make_room(struct kept *kept, const struct node *node)
{
    size_t count = (size_t)node->input_count + node->output_count;

    if (kept->views)
        return 0;
    kept->views = calloc(count + 1, sizeof(*kept->views));
    kept->inputs = calloc((size_t)node->input_count + 1, sizeof(*kept->inputs));
    kept->outputs = calloc((size_t)node->output_count + 1, sizeof(*kept->outputs));
    return kept->views && kept->inputs && kept->outputs ? 0 : -ENOMEM;
}

/* Returns 1 where it cannot be bound without content that changes. */
static int bind(struct kept *kept, const struct graph *body, const struct node *node,
                const struct tensor_view *inputs, const bool *is_fixed,
                const struct tensor_view *outputs, const struct eval_options *options)
{
    struct diag ignored = {0};
    struct call_request request = {.kernels = options->kernels,
                                   .graph = body,
                                   .node = node,
                                   .shows_fixed = true,
                                   .diag = &ignored};
    int rc = make_room(kept, node);

    if (rc < 0)
        return rc;
    unbind(kept);
    for (uint32_t i = 0; i < node->input_count; i++) {
        kept->views[i] = inputs[i];
        kept->views[i].data = is_fixed[i] ? inputs[i].data : NULL;
    }
    for (uint32_t i = 0; i < node->output_count; i++) {
        kept->views[node->input_count + i] = outputs[i];
        kept->views[node->input_count + i].data = NULL;
    }
    request.inputs = kept->views;
    request.outputs = kept->views + node->input_count;
    rc = eval_bind(&request, &kept->call);
    if (rc == 0 && kept->call.workspace_bytes) {
        kept->call.workspace = graph_alloc_data(kept->call.workspace_bytes);
        rc = kept->call.workspace ? 0 : -ENOMEM;
    }
    kept->is_bound = rc == 0;
    kept->is_refused = rc < 0 && rc != -ENOMEM;
    if (rc < 0)
        unbind(kept);
    return kept->is_refused ? 1 : rc;
}

int body_calls_run(struct body_calls *calls, uint32_t number, const struct graph *body,
                   const struct node *node, const struct tensor_view *inputs, const bool *is_fixed,
                   struct tensor_view *outputs, const struct eval_options *options,
                   struct diag *diag)
{
    struct kept *kept = &calls->items[number];
    struct call *call = &kept->call;
    int rc = 0;

    if (kept->is_refused)
        return 1;
    if (!fits(kept, node, inputs, is_fixed, outputs))
        rc = bind(kept, body, node, inputs, is_fixed, outputs, options);
    if (rc != 0)
        return rc;
    for (uint32_t i = 0; i < node->input_count; i++)
        kept->inputs[i] = inputs[i].data;
    for (uint32_t i = 0; i < node->output_count; i++)
        kept->outputs[i] = outputs[i].data;
    call->inputs = kept->inputs;
    call->outputs = kept->outputs;
    return eval_run(body, node, call, options, diag);
}
