/* SPDX-License-Identifier: Apache-2.0 */
/* Binding for a device: on which side each buffer has its content, and the copies between. */
#include "runtime/exec/bind_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* What a copy needs when it runs. */
struct copy_params {
    const struct device_backend *backend;
    struct device *device;
    size_t bytes;
};

static int run_copy_in(const struct call *call)
{
    const struct copy_params *p = call->params;

    return p->backend->copy_in(p->device, call->outputs[0], call->inputs[0], p->bytes);
}

static int run_copy_out(const struct call *call)
{
    const struct copy_params *p = call->params;

    return p->backend->copy_out(p->device, call->outputs[0], call->inputs[0], p->bytes);
}

struct copies {
    const struct bind_options *options;
    struct bound *bound;
    uint8_t *valid_on; /* by buffer, of roots */
    ARRAY_OF(struct bound_step) steps;
};

static uint32_t root_of(const struct bound *bound, uint32_t buffer)
{
    while (bound->plan.buffers[buffer].parent != PLAN_NONE)
        buffer = bound->plan.buffers[buffer].parent;
    return buffer;
}

/* The whole of a buffer to the side of a step, which needs `value` in it. */
static int add_copy(struct copies *copies, const struct bound_step *reader,
                    const struct value *value, uint32_t root)
{
    bool to_device = reader->info.on_device;
    struct copy_params *params = malloc(sizeof(*params));
    struct bound_step step = {.value = value, .copied = root, .in_place_input = PLAN_NONE};

    step.call = (struct call){
        .run = to_device ? run_copy_in : run_copy_out, .version = "copy", .params = params};
    if (asprintf(&step.name, "%s:%s", reader->info.name, to_device ? "to_device" : "to_host") < 0)
        step.name = NULL;
    step.info = (struct exec_step){.name = step.name,
                                   .type = to_device ? "CopyToDevice" : "CopyToHost",
                                   .implementation = "copy",
                                   .node = reader->info.node,
                                   .input_count = 1,
                                   .output_count = 1,
                                   .on_device = to_device};
    step.input_buffers = calloc(1, sizeof(*step.input_buffers));
    step.output_buffers = calloc(1, sizeof(*step.output_buffers));
    step.inputs = calloc(2, sizeof(*step.inputs));
    step.outputs = calloc(2, sizeof(*step.outputs));
    if (!params || !step.name || !step.input_buffers || !step.output_buffers || !step.inputs ||
        !step.outputs || array_reserve(&copies->steps, copies->steps.count + 1) < 0) {
        bound_step_deinit(&step);
        return -ENOMEM;
    }
    *params = (struct copy_params){copies->options->backend, copies->options->device,
                                   copies->bound->plan.buffers[root].bytes};
    step.input_buffers[0] = root;
    step.output_buffers[0] = PLAN_NONE; /* it makes no new content */
    return array_push(&copies->steps, step);
}

/* Constants and inputs are brought to both sides before any run. */
static int need(struct copies *copies, const struct bound_step *step, const struct value *value,
                uint32_t buffer)
{
    uint8_t side = step->info.on_device ? ON_DEVICE : ON_HOST;
    uint32_t root;
    int rc;

    if (buffer == PLAN_NONE)
        return 0;
    root = root_of(copies->bound, buffer);
    copies->bound->needed_on[root] |= side;
    if (copies->bound->plan.buffers[root].is_external || (copies->valid_on[root] & side))
        return 0;
    rc = add_copy(copies, step, value, root);
    copies->valid_on[root] |= side;
    return rc;
}

static int add_step(struct copies *copies, struct bound_step *step)
{
    uint8_t side = step->info.on_device ? ON_DEVICE : ON_HOST;
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < step->info.input_count; i++)
        rc = need(copies, step, step->value ? step->value : step->info.inputs[i],
                  step->input_buffers[i]);
    if (rc == 0)
        rc = array_reserve(&copies->steps, copies->steps.count + 1);
    for (uint32_t i = 0; rc == 0 && i < step->info.output_count; i++) {
        if (step->output_buffers[i] != PLAN_NONE)
            copies->valid_on[root_of(copies->bound, step->output_buffers[i])] = side;
    }
    return rc < 0 ? rc : array_push(&copies->steps, *step);
}

int bound_add_copies(struct bound *bound, const struct bind_options *options, struct diag *diag)
{
    uint32_t buffers = bound->plan.buffer_count, done = 0;
    struct copies copies = {.options = options, .bound = bound};
    int rc = 0;

    bound->needed_on = calloc((size_t)buffers + 1, sizeof(*bound->needed_on));
    bound->device_memory = calloc((size_t)buffers + 1, sizeof(*bound->device_memory));
    bound->ends_on = copies.valid_on = calloc((size_t)buffers + 1, sizeof(*copies.valid_on));
    if (!bound->needed_on || !bound->device_memory || !copies.valid_on)
        return diag_set(diag, -ENOMEM, "out of memory");
    for (uint32_t i = 0; i < buffers; i++)
        if (bound->plan.buffers[i].is_external)
            copies.valid_on[i] = ON_HOST;
    for (; rc == 0 && done < bound->step_count; done++)
        rc = add_step(&copies, &bound->steps[done]);
    for (uint32_t i = 0; i < bound->graph->output_count; i++) {
        uint32_t buffer = bound->output_buffers[i];

        copies.valid_on[buffer] = copies.valid_on[root_of(bound, buffer)];
    }
    /* What was not taken over is given back with the old list. */
    if (rc < 0)
        done--;
    for (uint32_t i = done; i < bound->step_count; i++)
        bound_step_deinit(&bound->steps[i]);
    free(bound->steps);
    bound->steps = copies.steps.items;
    bound->step_count = (uint32_t)copies.steps.count;
    return rc < 0 ? diag_set(diag, rc, "out of memory") : 0;
}
