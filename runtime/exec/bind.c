/* SPDX-License-Identifier: Apache-2.0 */
/* Binding a graph: its constants, inputs and outputs, the order of the nodes, the plan. */
#include "runtime/exec/bind.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/exec/bind_private.h"
#include "runtime/exec/layout_format.h"

/* Constants and graph inputs have memory of their own, row-major. */
static int bind_sources(struct binding *binding)
{
    const struct graph *graph = binding->graph;
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < graph->value_count; i++) {
        const struct value *value = graph->values[i];
        struct layout layout = layout_row_major(value->shape.rank);
        struct plan_buffer buffer = {.parent = PLAN_NONE, .is_external = true};
        uint32_t index;

        if (!value->data && !value->is_input)
            continue;
        if (shape_bytes(&value->shape, value->dtype) < 0)
            return diag_set(binding->diag, -EINVAL, "the shape of \"%s\" is not known",
                            value->name);
        buffer.bytes = binding_bytes(value);
        rc = binding_add_buffer(binding, &buffer, &layout, value->data, &index);
        if (rc == 0)
            rc = binding_add_form(binding, value, &layout, index);
    }
    return rc;
}

static void find_last_uses(struct binding *binding)
{
    const struct graph *graph = binding->graph;

    for (uint32_t i = 0; i < graph->value_count; i++) {
        const struct value *value = graph->values[i];

        for (uint32_t j = 0; j < value->consumer_count; j++)
            if (value->consumers[j]->index > binding->last_use[i])
                binding->last_use[i] = value->consumers[j]->index;
        if (value->is_output)
            binding->last_use[i] = PLAN_NONE;
    }
}

/* The caller reads outputs row-major. */
static int bind_outputs(struct binding *binding, uint32_t *out_buffers)
{
    const struct graph *graph = binding->graph;
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < graph->output_count; i++) {
        const struct value *value = graph->outputs[i];
        struct layout layout = layout_row_major(value->shape.rank);

        if (binding->value_forms[value->index] == PLAN_NONE)
            return diag_set(binding->diag, -EINVAL, "nothing makes the output \"%s\"", value->name);
        /* Inputs and constants are row-major: who has no producer needs no reorder. */
        rc = binding_get_form(binding, value->producer, value, &layout, &out_buffers[i]);
        if (rc == 0)
            binding->buffers.items[out_buffers[i]].is_kept = true;
    }
    return rc;
}

static int bind_all(struct binding *binding, struct bound *bound)
{
    const struct graph *graph = binding->graph;
    int rc;

    binding->value_forms = calloc(graph->value_count + 1, sizeof(*binding->value_forms));
    binding->last_use = calloc(graph->value_count + 1, sizeof(*binding->last_use));
    bound->input_buffers = calloc(graph->input_count + 1, sizeof(*bound->input_buffers));
    bound->output_buffers = calloc(graph->output_count + 1, sizeof(*bound->output_buffers));
    if (!binding->value_forms || !binding->last_use || !bound->input_buffers ||
        !bound->output_buffers)
        return binding_no_memory(binding);
    for (uint32_t i = 0; i < graph->value_count; i++)
        binding->value_forms[i] = PLAN_NONE;
    find_last_uses(binding);
    rc = bind_sources(binding);
    for (uint32_t i = 0; rc == 0 && i < graph->input_count; i++)
        bound->input_buffers[i] = binding_first_form(binding, graph->inputs[i])->buffer;
    for (uint32_t i = 0; rc == 0 && i < graph->node_count; i++)
        rc = binding_bind_node(binding, graph->nodes[i]);
    return rc < 0 ? rc : bind_outputs(binding, bound->output_buffers);
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
        struct bound_step *step = &bound->steps[i];

        plan->steps[i] = (struct plan_step){
            .reads = step->input_buffers,
            .read_count = step->info.input_count,
            .writes = step->output_buffers,
            .write_count = step->info.output_count,
            .workspace_bytes = step->call.workspace_bytes,
            .in_place_read = step->in_place_input,
            .in_place_write =
                step->in_place_input == PLAN_NONE ? PLAN_NONE : step->output_buffers[0],
            .must_be_in_place = step->must_be_in_place,
        };
        if (step->value) {
            step->info.inputs = &step->value;
            step->info.outputs = &step->value;
        }
    }
    rc = plan_make(plan);
    return rc < 0 ? diag_set(diag, rc, "no place for the intermediate tensors") : 0;
}

/* In which layout which node computes, where the rules do not say. */
static int choose_formats(struct binding *binding, const struct bind_options *options)
{
    const struct graph *graph = binding->graph;
    uint8_t *formats;

    if (!options->layouts && !graph->layouts)
        return 0;
    formats = calloc((size_t)graph->node_count + 1, sizeof(*formats));
    binding->formats = formats;
    if (!formats)
        return binding_no_memory(binding);
    if (!layout_chooser_is_asked(options->layouts, graph))
        return format_parse(graph->layouts, graph, formats, binding->diag);
    return options->layouts->choose(options->layouts, graph, options->backend, options->device,
                                    formats, binding->diag);
}

int bind_graph(const struct graph *graph, const struct bind_options *options,
               struct bound **out_bound, struct diag *diag)
{
    struct binding binding = {.graph = graph, .diag = diag};
    struct bound *bound = calloc(1, sizeof(*bound));
    int rc;

    if (!bound)
        return binding_no_memory(&binding);
    bound->graph = graph;
    bound->plan.is_lavish = options->is_lavish;
    /* Kernels that are yet to be chosen pack constants, too. */
    binding.frees_packed = options->kernels ? NULL : options->frees_packed;
    kernel_table_init(&binding.kernels, kernel_best_level());
    binding.backend = options->backend;
    if (binding.backend)
        binding.backend->kernels(&binding.device_kernels);
    rc = choose_formats(&binding, options);
    if (rc == 0)
        rc = bind_all(&binding, bound);
    bound->steps = binding.steps.items;
    bound->step_count = (uint32_t)binding.steps.count;
    bound->plan.buffers = binding.buffers.items;
    bound->plan.buffer_count = (uint32_t)binding.buffers.count;
    bound->memory = binding.memory.items;
    bound->layouts = binding.layouts.items;
    bound->turned = binding.turned.items;
    bound->turned_count = (uint32_t)binding.turned.count;
    if (rc == 0 && options->kernels)
        rc = options->kernels->choose(options->kernels, graph, bound->steps, bound->step_count,
                                      bound->layouts, diag);
    binding.frees_packed = options->frees_packed;
    for (uint32_t i = 0; rc == 0 && options->kernels && i < bound->step_count; i++)
        binding_free_packed(&binding, &bound->steps[i]);
    if (rc == 0 && options->backend)
        rc = bound_add_copies(bound, options, diag);
    if (rc == 0 && options->backend && options->streams > 1)
        rc = bound_choose_streams(bound, options->streams, diag);
    if (rc == 0)
        rc = make_plan(bound, diag);
    if (rc == 0 && bound->stream_count > 1)
        rc = bound_add_waits(bound, diag);
    free(binding.value_forms);
    free(binding.last_use);
    free(binding.forms.items);
    free((void *)binding.formats);
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
    if (!bound->memory[root]) /* a constant that was freed when it was packed */
        return NULL;
    return (char *)bound->memory[root] + offset;
}

void *bound_device_address(const struct bound *bound, uint32_t buffer)
{
    size_t offset;
    uint32_t root;

    if (buffer == PLAN_NONE)
        return NULL;
    root = plan_root(&bound->plan, buffer, &offset);
    return bound->device_memory[root] ? (char *)bound->device_memory[root] + offset : NULL;
}

/* A copy takes the whole of a buffer from one side to the other. */
static void place_copy(const struct bound *bound, struct bound_step *step)
{
    void *host = bound_address(bound, step->copied);
    void *device = bound_device_address(bound, step->copied);

    step->inputs[0] = step->info.on_device ? host : device;
    step->outputs[0] = step->info.on_device ? device : host;
}

static void place_step(const struct bound *bound, struct bound_step *step)
{
    void *(*address)(const struct bound *, uint32_t) =
        step->info.on_device ? bound_device_address : bound_address;

    for (uint32_t j = 0; j < step->info.input_count; j++)
        step->inputs[j] = address(bound, step->input_buffers[j]);
    for (uint32_t j = 0; j < step->info.output_count; j++)
        step->outputs[j] = address(bound, step->output_buffers[j]);
}

void bound_place(struct bound *bound, void *arena, void *device_arena)
{
    struct plan *plan = &bound->plan;

    for (uint32_t i = 0; i < plan->buffer_count; i++) {
        if (plan->buffers[i].is_external || plan->buffers[i].parent != PLAN_NONE)
            continue;
        bound->memory[i] = arena ? (char *)arena + plan->buffers[i].offset : NULL;
        if (device_arena)
            bound->device_memory[i] = (char *)device_arena + plan->buffers[i].offset;
    }
    for (uint32_t i = 0; i < bound->step_count; i++) {
        struct bound_step *step = &bound->steps[i];
        char *workspace = step->info.on_device ? device_arena : arena;

        if (step->copied != PLAN_NONE)
            place_copy(bound, step);
        else
            place_step(bound, step);
        step->call.inputs = step->inputs;
        step->call.outputs = step->outputs;
        step->call.workspace = workspace ? workspace + plan->steps[i].workspace_offset : NULL;
    }
}

int bound_step_run_as_inferred(const struct bound_step *step)
{
    const void **inputs = calloc((size_t)step->info.input_count + 1, sizeof(*inputs));
    struct call call = step->call;
    int rc;

    if (!inputs)
        return -ENOMEM;
    for (uint32_t i = 0; i < step->info.input_count; i++) {
        const struct value *value = step->info.inputs[i];

        inputs[i] = value && value->known && step->inputs[i] ? value->known : step->inputs[i];
    }
    call.inputs = inputs;
    rc = call_run(&call);
    free(inputs);
    return rc;
}

void bound_destroy(struct bound **bound_ptr)
{
    struct bound *bound = *bound_ptr;

    *bound_ptr = NULL;
    if (!bound)
        return;
    for (uint32_t i = 0; i < bound->step_count; i++)
        bound_step_deinit(&bound->steps[i]);
    free(bound->steps);
    free(bound->plan.buffers);
    free(bound->plan.steps);
    free(bound->plan.kept_until);
    for (uint32_t i = 0; i < bound->turned_count; i++)
        free(bound->memory[bound->turned[i].buffer]);
    free(bound->turned);
    free(bound->memory);
    free(bound->layouts);
    free(bound->input_buffers);
    free(bound->output_buffers);
    free(bound->needed_on);
    free(bound->ends_on);
    free(bound->device_memory);
    free(bound);
}
