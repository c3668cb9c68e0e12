/* SPDX-License-Identifier: Apache-2.0 */
/* What an execution says of itself: steps, operands, the arena. */
#include <stdlib.h>
#include <string.h>

#include "runtime/exec/private.h"

/* Steps */

uint32_t exec_step_count(const struct exec *exec)
{
    return exec->bound->step_count;
}

const struct exec_step *exec_step(const struct exec *exec, uint32_t index)
{
    return &exec->bound->steps[index].info;
}

uint32_t exec_inner_count(const struct exec *exec)
{
    return exec->inner_count;
}

const struct exec_step *exec_inner(const struct exec *exec, uint32_t index)
{
    return &exec->inner[index].info;
}

uint32_t exec_inner_holder(const struct exec *exec, uint32_t index)
{
    return exec->inner[index].holder;
}

uint32_t exec_chunk_count(const struct exec *exec)
{
    return exec->chunk_count;
}

const struct exec_chunk *exec_chunk(const struct exec *exec, uint32_t index)
{
    return &exec->chunks[index];
}

uint32_t exec_threads(const struct exec *exec)
{
    return exec->threads;
}

/* Operands */

static bool get_operand(const struct exec *exec, const struct value *value, uint32_t buffer,
                        bool on_device, struct exec_operand *out_operand)
{
    const struct plan *plan = &exec->bound->plan;
    size_t offset;
    uint32_t root;

    if (!value || buffer == PLAN_NONE)
        return false;
    root = plan_root(plan, buffer, &offset);
    *out_operand = (struct exec_operand){
        .value = value,
        .bytes = (size_t)shape_bytes(&value->shape, value->dtype),
        .address = on_device ? bound_device_address(exec->bound, buffer)
                             : bound_address(exec->bound, buffer),
        .on_device = on_device,
        .layout = exec->bound->layouts[buffer],
    };
    if (!plan->buffers[root].is_external) {
        out_operand->offset = plan->buffers[root].offset + offset;
        return true;
    }
    for (uint32_t i = 0; i < exec->graph->input_count; i++)
        out_operand->is_input = out_operand->is_input || exec->bound->input_buffers[i] == root;
    out_operand->is_constant = !out_operand->is_input;
    return out_operand->address != NULL; /* a constant may have been freed */
}

bool exec_step_input(const struct exec *exec, uint32_t step, uint32_t i,
                     struct exec_operand *out_operand)
{
    const struct bound_step *bound = &exec->bound->steps[step];

    return i < bound->info.input_count &&
           get_operand(exec, bound->info.inputs[i], bound->input_buffers[i],
                       bound->info.on_device != (bound->copied != PLAN_NONE), out_operand);
}

bool exec_step_reads(const struct exec *exec, uint32_t step, uint32_t input)
{
    const struct bound_step *bound = &exec->bound->steps[step];
    size_t bytes;

    return !call_weights(&bound->call, &bytes) || input == 0 ||
           (int)input == bound->info.node->fused.residual_input;
}

bool exec_step_output(const struct exec *exec, uint32_t step, uint32_t i,
                      struct exec_operand *out_operand)
{
    const struct bound_step *bound = &exec->bound->steps[step];

    if (i >= bound->info.output_count)
        return false;
    /* Kernels may leave alone what nobody reads. */
    return (bound->value || call_is_read(bound->info.node, i)) &&
           get_operand(exec, bound->info.outputs[i], bound->output_buffers[i],
                       bound->info.on_device, out_operand);
}

void exec_read(const struct exec *exec, const struct exec_operand *operand, void *out_data)
{
    const struct shape *shape = &operand->value->shape;
    size_t item = dtype_bytes(operand->value->dtype);
    int64_t strides[SHAPE_MAX_RANK], at[SHAPE_MAX_RANK] = {0}, from = 0;
    int64_t count = shape_elements(shape);
    char *to = out_data, *copy = NULL;
    const char *source = operand->address;

    if (operand->on_device) {
        source = copy = malloc(operand->bytes + 1);
        if (!copy || exec->device_backend->copy_out(exec->device, copy, operand->address,
                                                    operand->bytes) < 0)
            memset(out_data, 0, operand->bytes);
    }
    layout_strides(&operand->layout, shape, strides);
    for (int64_t i = 0; source && i < count; i++, to += item) {
        memcpy(to, source + (size_t)from * item, item);
        for (int axis = shape->rank - 1; axis >= 0; axis--) {
            from += strides[axis];
            if (++at[axis] < shape->dims[axis])
                break;
            from -= strides[axis] * shape->dims[axis];
            at[axis] = 0;
        }
    }
    free(copy);
}

/* The arena */

size_t exec_arena_bytes(const struct exec *exec)
{
    return exec->bound->plan.arena_bytes;
}

uint32_t exec_block_count(const struct exec *exec)
{
    const struct plan *plan = &exec->bound->plan;
    uint32_t count = 0;

    for (uint32_t i = 0; i < plan->buffer_count; i++)
        count += plan->buffers[i].parent == PLAN_NONE && !plan->buffers[i].is_external &&
                 plan->buffers[i].first != PLAN_NONE;
    for (uint32_t i = 0; i < plan->step_count; i++)
        count += plan->steps[i].workspace_bytes > 0;
    return count;
}

/* The first value that a step writes into the buffer or into what lies in it. */
static const struct value *owner_of(const struct exec *exec, uint32_t buffer)
{
    size_t offset;

    for (uint32_t i = 0; i < exec->bound->step_count; i++) {
        const struct bound_step *step = &exec->bound->steps[i];

        for (uint32_t k = 0; k < step->info.output_count; k++) {
            if (step->output_buffers[k] != PLAN_NONE &&
                plan_root(&exec->bound->plan, step->output_buffers[k], &offset) == buffer)
                return step->info.outputs[k];
        }
    }
    return NULL;
}

void exec_blocks(const struct exec *exec, struct exec_block *out_blocks)
{
    const struct plan *plan = &exec->bound->plan;

    for (uint32_t i = 0; i < plan->buffer_count; i++) {
        const struct plan_buffer *buffer = &plan->buffers[i];

        if (buffer->parent != PLAN_NONE || buffer->is_external || buffer->first == PLAN_NONE)
            continue;
        *out_blocks++ = (struct exec_block){
            .owner = owner_of(exec, i),
            .offset = buffer->offset,
            .bytes = buffer->bytes,
            .first_step = buffer->first,
            .end_step = buffer->last < plan->step_count ? buffer->last + 1 : plan->step_count,
        };
    }
    for (uint32_t i = 0; i < plan->step_count; i++) {
        if (plan->steps[i].workspace_bytes > 0)
            *out_blocks++ = (struct exec_block){
                .offset = plan->steps[i].workspace_offset,
                .bytes = plan->steps[i].workspace_bytes,
                .first_step = i,
                .end_step = i + 1,
            };
    }
}
