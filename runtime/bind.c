/* SPDX-License-Identifier: Apache-2.0 */
/* Binding a graph: one step per node, buffers for the values between them. */
#include "runtime/bind.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What is being built; it becomes a struct bound at the end. */
struct binding {
    const struct graph *graph;
    struct kernel_table kernels;
    struct diag *diag;
    uint32_t *value_buffers; /* by value->index, PLAN_NONE until there is one */
    ARRAY_OF(struct bound_step) steps;
    ARRAY_OF(struct plan_buffer) buffers;
    ARRAY_OF(void *) memory;
};

static int no_memory(struct binding *binding)
{
    return diag_set(binding->diag, -ENOMEM, "out of memory");
}

/* Buffers */

static int add_buffer(struct binding *binding, const struct plan_buffer *buffer, void *memory,
                      uint32_t *out_index)
{
    if (array_push(&binding->buffers, *buffer) < 0 || array_push(&binding->memory, memory) < 0)
        return no_memory(binding);
    *out_index = (uint32_t)binding->buffers.count - 1;
    return 0;
}

static size_t value_bytes(const struct value *value)
{
    return (size_t)shape_bytes(&value->shape, value->dtype);
}

/* Constants and graph inputs have memory of their own. */
static int bind_sources(struct binding *binding)
{
    const struct graph *graph = binding->graph;
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < graph->value_count; i++) {
        const struct value *value = graph->values[i];
        struct plan_buffer buffer = {.parent = PLAN_NONE, .is_external = true};

        if (!value->data && !value->is_input)
            continue;
        if (shape_bytes(&value->shape, value->dtype) < 0)
            return diag_set(binding->diag, -EINVAL, "the shape of \"%s\" is not known",
                            value->name);
        buffer.bytes = value_bytes(value);
        rc = add_buffer(binding, &buffer, value->data, &binding->value_buffers[i]);
    }
    return rc;
}

/* Steps */

static struct tensor_view view_of(const struct value *value)
{
    if (!value)
        return (struct tensor_view){.dtype = DTYPE_NONE};
    return (struct tensor_view){value->dtype, value->shape, value->data};
}

static int make_call(struct binding *binding, const struct node *node, struct call *out_call)
{
    struct tensor_view *inputs = calloc(node->input_count + 1, sizeof(*inputs));
    struct tensor_view *outputs = calloc(node->output_count + 1, sizeof(*outputs));
    struct call_request request = {&binding->kernels, binding->graph, node, inputs,
                                   outputs,           binding->diag};
    int rc;

    if (inputs && outputs) {
        for (uint32_t i = 0; i < node->input_count; i++)
            inputs[i] = view_of(node->inputs[i]);
        for (uint32_t i = 0; i < node->output_count; i++)
            outputs[i] = view_of(node->outputs[i]);
        rc = call_bind(&request, out_call);
    } else {
        rc = no_memory(binding);
    }
    free(inputs);
    free(outputs);
    return rc;
}

static void step_deinit(struct bound_step *step)
{
    call_deinit(&step->call);
    free(step->input_buffers);
    free(step->output_buffers);
    free(step->inputs);
    free(step->outputs);
}

static int step_arrays(struct binding *binding, struct bound_step *step, uint32_t input_count,
                       uint32_t output_count)
{
    step->input_buffers = calloc(input_count + 1, sizeof(*step->input_buffers));
    step->output_buffers = calloc(output_count + 1, sizeof(*step->output_buffers));
    step->inputs = calloc(input_count + 1, sizeof(*step->inputs));
    step->outputs = calloc(output_count + 1, sizeof(*step->outputs));
    if (!step->input_buffers || !step->output_buffers || !step->inputs || !step->outputs)
        return no_memory(binding);
    return 0;
}

/* Where the values of a node lie; its outputs get new buffers. */
static int step_buffers(struct binding *binding, const struct node *node, struct bound_step *step)
{
    int rc = 0;

    for (uint32_t i = 0; i < node->input_count; i++) {
        const struct value *value = node->inputs[i];

        step->input_buffers[i] = value ? binding->value_buffers[value->index] : PLAN_NONE;
        if (value && step->input_buffers[i] == PLAN_NONE)
            return diag_set(binding->diag, -EINVAL, "node \"%s\" reads \"%s\", which nothing makes",
                            node->name, value->name);
    }
    for (uint32_t i = 0; rc == 0 && i < node->output_count; i++) {
        const struct value *value = node->outputs[i];
        struct plan_buffer buffer = {.parent = PLAN_NONE};

        step->output_buffers[i] = PLAN_NONE;
        /* call_bind() refuses nodes with a second output that somebody reads. */
        if (!value || i > 0)
            continue;
        buffer.bytes = value_bytes(value);
        rc = add_buffer(binding, &buffer, NULL, &binding->value_buffers[value->index]);
        step->output_buffers[i] = binding->value_buffers[value->index];
    }
    return rc;
}

static int bind_node(struct binding *binding, const struct node *node)
{
    struct bound_step step = {
        .info = {.name = node->name,
                 .type = node->op_type,
                 .node = node,
                 .inputs = (const struct value *const *)node->inputs,
                 .input_count = node->input_count,
                 .outputs = (const struct value *const *)node->outputs,
                 .output_count = node->output_count},
    };
    int rc = make_call(binding, node, &step.call);

    if (rc == 0)
        rc = step_arrays(binding, &step, node->input_count, node->output_count);
    if (rc == 0)
        rc = step_buffers(binding, node, &step);
    step.info.implementation = step.call.version;
    step.info.workspace_bytes = step.call.workspace_bytes;
    if (rc == 0 && array_push(&binding->steps, step) < 0)
        rc = no_memory(binding);
    if (rc < 0)
        step_deinit(&step);
    return rc;
}

/* The output is the input's buffer under another name. */
static int bind_view(struct binding *binding, const struct node *node)
{
    const struct value *x = node_input(node, 0), *y = node->outputs[0];
    struct plan_buffer buffer = {.bytes = value_bytes(y)};
    struct call call = {0};
    int rc = make_call(binding, node, &call); /* checks the node */

    call_deinit(&call);
    if (rc < 0)
        return rc;
    buffer.parent = binding->value_buffers[x->index];
    return add_buffer(binding, &buffer, NULL, &binding->value_buffers[y->index]);
}

static bool is_view(const struct node *node)
{
    return call_is_view(node) && node->fused.activation == ACTIVATION_NONE;
}

/* The result */

static int make_plan(struct bound *bound, struct diag *diag)
{
    struct plan *plan = &bound->plan;
    int rc;

    plan->step_count = bound->step_count;
    plan->steps = calloc(plan->step_count + 1, sizeof(*plan->steps));
    if (!plan->steps)
        return diag_set(diag, -ENOMEM, "out of memory");
    for (uint32_t i = 0; i < bound->step_count; i++) {
        const struct bound_step *step = &bound->steps[i];

        plan->steps[i] = (struct plan_step){
            .reads = step->input_buffers,
            .read_count = step->info.input_count,
            .writes = step->output_buffers,
            .write_count = step->info.output_count,
            .workspace_bytes = step->call.workspace_bytes,
            .in_place_read = PLAN_NONE,
            .in_place_write = PLAN_NONE,
        };
    }
    rc = plan_make(plan);
    return rc < 0 ? diag_set(diag, rc, "no place for the intermediate tensors") : 0;
}

/* Moves what was built into its final form; binding keeps nothing. */
static struct bound *finish(struct binding *binding)
{
    const struct graph *graph = binding->graph;
    struct bound *bound = calloc(1, sizeof(*bound));

    if (!bound)
        return NULL;
    bound->graph = graph;
    bound->input_buffers = calloc(graph->input_count + 1, sizeof(*bound->input_buffers));
    bound->output_buffers = calloc(graph->output_count + 1, sizeof(*bound->output_buffers));
    if (!bound->input_buffers || !bound->output_buffers) {
        bound_destroy(&bound);
        return NULL;
    }
    for (uint32_t i = 0; i < graph->input_count; i++)
        bound->input_buffers[i] = binding->value_buffers[graph->inputs[i]->index];
    for (uint32_t i = 0; i < graph->output_count; i++)
        bound->output_buffers[i] = binding->value_buffers[graph->outputs[i]->index];
    bound->steps = binding->steps.items;
    bound->step_count = (uint32_t)binding->steps.count;
    bound->plan.buffers = binding->buffers.items;
    bound->plan.buffer_count = (uint32_t)binding->buffers.count;
    bound->memory = binding->memory.items;
    memset(&binding->steps, 0, sizeof(binding->steps));
    memset(&binding->buffers, 0, sizeof(binding->buffers));
    memset(&binding->memory, 0, sizeof(binding->memory));
    return bound;
}

static int bind_all(struct binding *binding)
{
    const struct graph *graph = binding->graph;
    int rc;

    binding->value_buffers = calloc(graph->value_count + 1, sizeof(*binding->value_buffers));
    if (!binding->value_buffers)
        return no_memory(binding);
    for (uint32_t i = 0; i < graph->value_count; i++)
        binding->value_buffers[i] = PLAN_NONE;
    rc = bind_sources(binding);
    for (uint32_t i = 0; rc == 0 && i < graph->node_count; i++)
        rc = is_view(graph->nodes[i]) ? bind_view(binding, graph->nodes[i])
                                      : bind_node(binding, graph->nodes[i]);
    for (uint32_t i = 0; rc == 0 && i < graph->output_count; i++) {
        uint32_t buffer = binding->value_buffers[graph->outputs[i]->index];

        if (buffer == PLAN_NONE)
            return diag_set(binding->diag, -EINVAL, "nothing makes the output \"%s\"",
                            graph->outputs[i]->name);
        binding->buffers.items[buffer].is_kept = true;
    }
    return rc;
}

int bind_graph(const struct graph *graph, struct bound **out_bound, struct diag *diag)
{
    struct binding binding = {.graph = graph, .diag = diag};
    struct bound *bound = NULL;
    int rc;

    kernel_table_init(&binding.kernels, kernel_best_level());
    rc = bind_all(&binding);
    if (rc == 0) {
        bound = finish(&binding);
        rc = bound ? make_plan(bound, diag) : no_memory(&binding);
    }
    for (size_t i = 0; i < binding.steps.count; i++)
        step_deinit(&binding.steps.items[i]);
    free(binding.steps.items);
    free(binding.buffers.items);
    free(binding.memory.items);
    free(binding.value_buffers);
    if (rc == 0)
        *out_bound = bound;
    else
        bound_destroy(&bound);
    return rc;
}

void *bound_address(const struct bound *bound, uint32_t buffer)
{
    size_t offset;
    uint32_t root;

    if (buffer == PLAN_NONE)
        return NULL;
    root = plan_root(&bound->plan, buffer, &offset);
    return (char *)bound->memory[root] + offset;
}

void bound_place(struct bound *bound, void *arena)
{
    struct plan *plan = &bound->plan;

    for (uint32_t i = 0; i < plan->buffer_count; i++)
        if (!plan->buffers[i].is_external && plan->buffers[i].parent == PLAN_NONE)
            bound->memory[i] = (char *)arena + plan->buffers[i].offset;
    for (uint32_t i = 0; i < bound->step_count; i++) {
        struct bound_step *step = &bound->steps[i];

        for (uint32_t j = 0; j < step->info.input_count; j++)
            step->inputs[j] = bound_address(bound, step->input_buffers[j]);
        for (uint32_t j = 0; j < step->info.output_count; j++)
            step->outputs[j] = bound_address(bound, step->output_buffers[j]);
        step->call.inputs = step->inputs;
        step->call.outputs = step->outputs;
        step->call.workspace = (char *)arena + plan->steps[i].workspace_offset;
    }
}

void bound_destroy(struct bound **bound_ptr)
{
    struct bound *bound = *bound_ptr;

    *bound_ptr = NULL;
    if (!bound)
        return;
    for (uint32_t i = 0; i < bound->step_count; i++)
        step_deinit(&bound->steps[i]);
    free(bound->steps);
    free(bound->plan.buffers);
    free(bound->plan.steps);
    free(bound->memory);
    free(bound->input_buffers);
    free(bound->output_buffers);
    free(bound);
}
