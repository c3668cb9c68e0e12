/* SPDX-License-Identifier: Apache-2.0 */
/* Tuning: a step as a request of its own, and memory to run calls of it in. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/graph/run_limits.h"
#include "runtime/tune/private.h"

static struct tensor_view view_of(const struct value *value)
{
    if (!value)
        return (struct tensor_view){.dtype = DTYPE_NONE};
    return (struct tensor_view){value->dtype, value->shape,
                                value->data ? value->data : value->known};
}

/* The first axis before all others. */
static struct layout lead(struct layout layout, int rank)
{
    int at = 0;

    while (at < rank && layout.order[at] != 0)
        at++;
    for (; at > 0 && at < rank; at--)
        layout.order[at] = layout.order[at - 1];
    if (rank > 0)
        layout.order[0] = 0;
    return layout;
}

/* The step's layouts; row-major where it has no buffer. Axes of one element stand anywhere: they go
 * where they belong, for the case that they become longer; prepared convolutions know theirs. */
static struct layout layout_of(const struct tune_job *job, const struct value *value,
                               uint32_t buffer, bool is_plan)
{
    int rank = value ? value->shape.rank : 0;
    const struct layout *layout = buffer != PLAN_NONE ? &job->layouts[buffer] : NULL;

    if (layout && is_plan)
        return *layout;
    if (!layout || layout_is_row_major(layout, &value->shape))
        return layout_row_major(rank);
    if (layout_is_channels_last(layout, &value->shape))
        return layout_channels_last(rank);
    return value->shape.dims[0] == 1 ? lead(*layout, rank) : *layout;
}

static void scale(struct tensor_view *view, int rank, int64_t leading, int64_t from, int64_t to)
{
    if (view->dtype != DTYPE_NONE && !view->data && view->shape.rank == rank &&
        view->shape.dims[0] == leading)
        view->shape.dims[0] = leading / from * to;
}

int subject_init(struct subject *subject, const struct tune_job *job, const struct bound_step *step,
                 int64_t batch, struct diag *diag)
{
    const struct exec_step *info = &step->info;
    int rank;
    int64_t leading;

    *subject = (struct subject){
        .inputs = calloc((size_t)info->input_count + 1, sizeof(*subject->inputs)),
        .outputs = calloc((size_t)info->output_count + 1, sizeof(*subject->outputs)),
        .input_layouts = calloc((size_t)info->input_count + 1, sizeof(*subject->input_layouts)),
        .output_layouts = calloc((size_t)info->output_count + 1, sizeof(*subject->output_layouts)),
        .is_plan = step->call.plan != NULL,
    };
    if (!subject->inputs || !subject->outputs || !subject->input_layouts ||
        !subject->output_layouts)
        return -ENOMEM;
    for (uint32_t i = 0; i < info->input_count; i++) {
        subject->inputs[i] = view_of(info->inputs[i]);
        subject->input_layouts[i] =
            layout_of(job, info->inputs[i], step->input_buffers[i], subject->is_plan);
    }
    for (uint32_t i = 0; i < info->output_count; i++) {
        subject->outputs[i] = view_of(info->outputs[i]);
        subject->output_layouts[i] =
            layout_of(job, info->outputs[i], step->output_buffers[i], subject->is_plan);
    }
    subject->request = (struct call_request){
        .graph = job->graph,
        .node = info->node,
        .inputs = subject->inputs,
        .outputs = subject->outputs,
        .input_layouts = subject->input_layouts,
        .output_layouts = subject->output_layouts,
        .diag = diag,
    };
    rank = subject->outputs[0].shape.rank;
    leading = rank > 0 ? subject->outputs[0].shape.dims[0] : 0;
    subject->has_batch =
        leading > 0 && leading % job->batch == 0 && call_has_batch(&subject->request);
    if (!subject->has_batch || batch == job->batch)
        return 0;
    for (uint32_t i = 0; i < info->input_count; i++)
        scale(&subject->inputs[i], rank, leading, job->batch, batch);
    for (uint32_t i = 0; i < info->output_count; i++)
        scale(&subject->outputs[i], rank, leading, job->batch, batch);
    return 0;
}

void subject_deinit(struct subject *subject)
{
    free(subject->inputs);
    free(subject->outputs);
    free(subject->input_layouts);
    free(subject->output_layouts);
    *subject = (struct subject){0};
}

/* Memory */

static float next_float(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) / (float)(1u << 23) - 1.0f;
}

static const enum dtype random_types[] = {DTYPE_F32, DTYPE_F16, DTYPE_BF16};

enum { RANDOM_TYPES = sizeof(random_types) / sizeof(random_types[0]) };

bool tune_memory_is_random(enum dtype dtype, int *out_list)
{
    for (int i = 0; i < RANDOM_TYPES; i++) {
        if (random_types[i] == dtype) {
            *out_list = i;
            return true;
        }
    }
    return false;
}

static void fill_shorts(uint16_t *shorts, size_t count, enum dtype dtype, uint32_t state)
{
    uint16_t base = dtype == DTYPE_F16 ? 0x3800 : 0x3f00;
    uint16_t mask = dtype == DTYPE_F16 ? 0x83ff : 0x807f;

    for (size_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        shorts[i] = (uint16_t)(base | (state >> 16 & mask));
    }
}

/* Never denormal, and never all the same: some kernels are faster on zeros. In the short types
 * random bits stand behind the exponent of 0.5. */
void tune_fill(void *data, size_t bytes, enum dtype dtype, uint32_t state)
{
    float *floats = data;
    double *doubles = data;
    uint8_t *octets = data;

    if (dtype == DTYPE_F16 || dtype == DTYPE_BF16)
        fill_shorts(data, bytes / sizeof(uint16_t), dtype, state);
    else if (dtype == DTYPE_F32)
        for (size_t i = 0; i < bytes / sizeof(*floats); i++)
            floats[i] = next_float(&state);
    else if (dtype == DTYPE_F64)
        for (size_t i = 0; i < bytes / sizeof(*doubles); i++)
            doubles[i] = (double)next_float(&state);
    else if (dtype == DTYPE_I8 || dtype == DTYPE_U8 || dtype == DTYPE_BOOL)
        for (size_t i = 0; i < bytes; i++)
            octets[i] = (uint8_t)((state = state * 1664525u + 1013904223u) >> 24 &
                                  (dtype == DTYPE_BOOL ? 1 : 0xff));
    else
        memset(data, 0, bytes);
}

static int grow_slot(struct tune_slot *slot, size_t bytes, enum dtype dtype)
{
    size_t rounded = (bytes + 63) / 64 * 64 + 64;
    void *data;

    if (bytes <= slot->bytes && slot->data) /* also for no element: kernels add to it */
        return 0;
    data = limits_allow(rounded) ? aligned_alloc(64, rounded) : NULL;
    if (!data)
        return -ENOMEM;
    tune_fill(data, rounded, dtype, 1);
    free(slot->data);
    *slot = (struct tune_slot){data, rounded};
    return 0;
}

static int grow_plain(void **memory, size_t *have, size_t bytes)
{
    size_t rounded = (bytes + 63) / 64 * 64 + 64;
    void *grown;

    if (bytes <= *have && *memory)
        return 0;
    grown = limits_allow(rounded) ? aligned_alloc(64, rounded) : NULL;
    if (!grown)
        return -ENOMEM;
    memset(grown, 0, rounded);
    free(*memory);
    *memory = grown;
    *have = rounded;
    return 0;
}

static size_t bytes_of(const struct tensor_view *view)
{
    return view->dtype == DTYPE_NONE ? 0 : (size_t)shape_bytes(&view->shape, view->dtype);
}

static int make_room(struct tune_memory *memory, const struct subject *subject, size_t workspace)
{
    const struct node *node = subject->request.node;
    size_t count = node->input_count + node->output_count;
    int rc = 0;

    for (int i = 0; i < RANDOM_TYPES; i++)
        while (rc == 0 && memory->inputs[i].count < node->input_count)
            rc = array_push(&memory->inputs[i], (struct tune_slot){0});
    while (rc == 0 && memory->outputs.count < node->output_count)
        rc = array_push(&memory->outputs, (struct tune_slot){0});
    if (rc == 0 && memory->list_count < count) {
        const void **inputs = realloc(memory->input_list, count * sizeof(*inputs));
        void **outputs = realloc(memory->output_list, count * sizeof(*outputs));

        memory->input_list = inputs ? inputs : memory->input_list;
        memory->output_list = outputs ? outputs : memory->output_list;
        rc = inputs && outputs ? 0 : -ENOMEM;
        memory->list_count = rc == 0 ? count : memory->list_count;
    }
    for (uint32_t i = 0; rc == 0 && i < node->input_count; i++) {
        const struct tensor_view *view = &subject->inputs[i];
        int list;

        if (!view->data && tune_memory_is_random(view->dtype, &list))
            rc = grow_slot(&memory->inputs[list].items[i], bytes_of(view), view->dtype);
        else if (!view->data)
            rc = grow_plain(&memory->zeros, &memory->zero_bytes, bytes_of(view));
    }
    for (uint32_t i = 0; rc == 0 && i < node->output_count; i++)
        rc = grow_slot(&memory->outputs.items[i], bytes_of(&subject->outputs[i]), DTYPE_F32);
    return rc == 0 ? grow_plain(&memory->workspace, &memory->workspace_bytes, workspace) : rc;
}

int tune_memory_place(struct tune_memory *memory, const struct subject *subject, struct call *call)
{
    const struct node *node = subject->request.node;
    int rc = make_room(memory, subject, call->workspace_bytes);

    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < node->input_count; i++) {
        const struct tensor_view *view = &subject->inputs[i];
        int list;

        if (view->dtype == DTYPE_NONE || view->data)
            memory->input_list[i] = view->data;
        else if (tune_memory_is_random(view->dtype, &list))
            memory->input_list[i] = memory->inputs[list].items[i].data;
        else
            memory->input_list[i] = memory->zeros;
    }
    for (uint32_t i = 0; i < node->output_count; i++)
        memory->output_list[i] = node->outputs[i] ? (void *)memory->outputs.items[i].data : NULL;
    call->inputs = memory->input_list;
    call->outputs = memory->output_list;
    call->workspace = memory->workspace;
    return 0;
}

void tune_memory_deinit(struct tune_memory *memory)
{
    for (int i = 0; i < RANDOM_TYPES; i++) {
        for (size_t k = 0; k < memory->inputs[i].count; k++)
            free(memory->inputs[i].items[k].data);
        array_deinit(&memory->inputs[i]);
    }
    for (size_t i = 0; i < memory->outputs.count; i++)
        free(memory->outputs.items[i].data);
    array_deinit(&memory->outputs);
    free(memory->zeros);
    free(memory->workspace);
    free(memory->input_list);
    free(memory->output_list);
    *memory = (struct tune_memory){0};
}
