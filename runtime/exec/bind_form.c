/* SPDX-License-Identifier: Apache-2.0 */
/* Binding: buffers, the forms of values in different layouts, and the steps that change them. */
#include "runtime/exec/bind_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int binding_no_memory(struct binding *binding)
{
    return diag_set(binding->diag, -ENOMEM, "out of memory");
}

struct tensor_view binding_view(const struct value *value)
{
    if (!value)
        return (struct tensor_view){.dtype = DTYPE_NONE};
    return (struct tensor_view){value->dtype, value->shape,
                                value->data ? value->data : value->known};
}

size_t binding_bytes(const struct value *value)
{
    return (size_t)shape_bytes(&value->shape, value->dtype);
}

void bound_step_deinit(struct bound_step *step)
{
    call_deinit(&step->call);
    free(step->name);
    free(step->input_buffers);
    free(step->output_buffers);
    free(step->inputs);
    free(step->outputs);
    free(step->waits);
}

int binding_add_buffer(struct binding *binding, const struct plan_buffer *buffer,
                       const struct layout *layout, void *memory, uint32_t *out_buffer)
{
    if (array_push(&binding->buffers, *buffer) < 0 || array_push(&binding->memory, memory) < 0 ||
        array_push(&binding->layouts, *layout) < 0)
        return binding_no_memory(binding);
    *out_buffer = (uint32_t)binding->buffers.count - 1;
    return 0;
}

int binding_add_form(struct binding *binding, const struct value *value,
                     const struct layout *layout, uint32_t buffer)
{
    uint32_t *link = &binding->value_forms[value->index];
    struct form form = {*layout, buffer, PLAN_NONE};

    if (array_push(&binding->forms, form) < 0)
        return binding_no_memory(binding);
    while (*link != PLAN_NONE)
        link = &binding->forms.items[*link].next;
    *link = (uint32_t)binding->forms.count - 1;
    return 0;
}

int binding_make_form(struct binding *binding, const struct value *value,
                      const struct layout *layout, uint32_t *out_buffer)
{
    struct plan_buffer buffer = {.bytes = binding_bytes(value), .parent = PLAN_NONE};
    int rc = binding_add_buffer(binding, &buffer, layout, NULL, out_buffer);

    return rc < 0 ? rc : binding_add_form(binding, value, layout, *out_buffer);
}

const struct form *binding_find_form(const struct binding *binding, const struct value *value,
                                     const struct layout *layout)
{
    for (uint32_t i = binding->value_forms[value->index]; i != PLAN_NONE;
         i = binding->forms.items[i].next)
        if (layout_same(&binding->forms.items[i].layout, layout, &value->shape))
            return &binding->forms.items[i];
    return NULL;
}

const struct form *binding_first_form(const struct binding *binding, const struct value *value)
{
    return &binding->forms.items[binding->value_forms[value->index]];
}

int binding_copy_form(struct binding *binding, const struct node *node, const struct value *value,
                      const struct layout *layout, uint32_t *out_buffer)
{
    struct form from = *binding_first_form(binding, value);
    struct tensor_view view = binding_view(value);
    struct bound_step step = {.value = value, .copied = PLAN_NONE, .in_place_input = PLAN_NONE};
    struct plan_buffer buffer = {.bytes = binding_bytes(value), .parent = PLAN_NONE};
    int rc = binding_add_buffer(binding, &buffer, layout, NULL, out_buffer);

    if (rc < 0)
        return rc;
    if (asprintf(&step.name, "%s:reorder", node->name) < 0) {
        step.name = NULL;
        return binding_no_memory(binding);
    }
    step.info = (struct exec_step){
        .name = step.name, .type = "Reorder", .node = node, .input_count = 1, .output_count = 1};
    step.info.on_device = binding->backend != NULL;
    step.input_buffers = calloc(1, sizeof(*step.input_buffers));
    step.output_buffers = calloc(1, sizeof(*step.output_buffers));
    rc = call_bind_reorder(binding->backend ? &binding->device_kernels : &binding->kernels, &view,
                           &from.layout, layout, &step.call);
    if (rc < 0 || !step.input_buffers || !step.output_buffers) {
        bound_step_deinit(&step);
        return binding_no_memory(binding);
    }
    step.input_buffers[0] = from.buffer;
    step.output_buffers[0] = *out_buffer;
    return binding_add_step(binding, &step);
}

/* Once, before any run. */
static int turn_constant(struct binding *binding, const struct value *value,
                         const struct layout *layout, uint32_t *out_buffer)
{
    struct form from = *binding_first_form(binding, value);
    struct plan_buffer buffer = {
        .bytes = binding_bytes(value), .parent = PLAN_NONE, .is_external = true};
    size_t size = dtype_bytes(value->dtype);
    int64_t strides[SHAPE_MAX_RANK], dims[SHAPE_MAX_RANK], place[SHAPE_MAX_RANK] = {0};
    char *turned = malloc(buffer.bytes + 1);
    size_t count = (size_t)shape_elements(&value->shape);

    if (!turned || binding_add_buffer(binding, &buffer, layout, turned, out_buffer) < 0) {
        free(turned);
        return binding_no_memory(binding);
    }
    if (array_push(&binding->turned, ((struct bound_turned){value, *out_buffer})) < 0) {
        binding->memory.items[*out_buffer] = NULL;
        free(turned);
        return binding_no_memory(binding);
    }
    layout_strides(&from.layout, &value->shape, strides);
    for (int i = 0; i < layout->rank; i++)
        dims[i] = value->shape.dims[layout->order[i]];
    for (size_t n = 0; n < count; n++) {
        int64_t at = 0;

        for (int i = 0; i < layout->rank; i++)
            at += place[i] * strides[layout->order[i]];
        memcpy(turned + n * size, (const char *)value->data + (size_t)at * size, size);
        for (int i = layout->rank - 1; i >= 0 && ++place[i] == dims[i]; i--)
            place[i] = 0;
    }
    return 0;
}

int binding_get_form(struct binding *binding, const struct node *node, const struct value *value,
                     const struct layout *layout, uint32_t *out_buffer)
{
    const struct form *form = binding_find_form(binding, value, layout);
    int rc;

    if (form) {
        *out_buffer = form->buffer;
        return 0;
    }
    rc = binding->backend && value->data
             ? turn_constant(binding, value, layout, out_buffer)
             : binding_copy_form(binding, node, value, layout, out_buffer);
    return rc < 0 ? rc : binding_add_form(binding, value, layout, *out_buffer);
}

uint32_t binding_root(const struct binding *binding, uint32_t buffer)
{
    while (binding->buffers.items[buffer].parent != PLAN_NONE)
        buffer = binding->buffers.items[buffer].parent;
    return buffer;
}

bool binding_is_same(const struct binding *binding, uint32_t a, uint32_t b)
{
    return binding_root(binding, a) == binding_root(binding, b);
}

bool binding_ends_at(const struct binding *binding, const struct node *node, uint32_t buffer)
{
    uint32_t root = binding_root(binding, buffer);

    if (binding->buffers.items[root].is_external)
        return false;
    /* Every value that lies in the same memory. Those made later do so through one of these. */
    for (uint32_t i = 0; i < binding->graph->value_count; i++) {
        for (uint32_t j = binding->value_forms[i]; j != PLAN_NONE; j = binding->forms.items[j].next)
            if (binding_root(binding, binding->forms.items[j].buffer) == root &&
                (binding->last_use[i] == PLAN_NONE || binding->last_use[i] > node->index))
                return false;
    }
    return true;
}

int binding_add_step(struct binding *binding, struct bound_step *step)
{
    step->inputs = calloc(step->info.input_count + 1, sizeof(*step->inputs));
    step->outputs = calloc(step->info.output_count + 1, sizeof(*step->outputs));
    step->info.implementation = step->call.version;
    step->info.workspace_bytes = step->call.workspace_bytes;
    if (step->inputs && step->outputs && array_push(&binding->steps, *step) == 0)
        return 0;
    bound_step_deinit(step);
    return binding_no_memory(binding);
}
