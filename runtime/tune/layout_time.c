/* SPDX-License-Identifier: Apache-2.0 */
/* Choice of layouts: what operators and moves of tensors cost, each in both layouts. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "runtime/exec/bind.h"
#include "runtime/tune/layout_private.h"

enum { UNTIMED_PASSES = 2, PASSES = 8 };

/* Nodes */

static struct tensor_view view_of(const struct value *value)
{
    if (!value)
        return (struct tensor_view){.dtype = DTYPE_NONE};
    return (struct tensor_view){value->dtype, value->shape,
                                value->data ? value->data : value->known};
}

static bool is_conv(const struct node *node)
{
    return node->domain[0] == '\0' && node_input(node, 1) && strcmp(node->op_type, "Conv") == 0;
}

/* A node as a request whose tensors lie in one layout; false where it cannot compute there. */
static int init_subject(struct layout_job *job, const struct node *node, int layout,
                        bool is_prepared, struct subject *subject)
{
    *subject = (struct subject){
        .inputs = calloc((size_t)node->input_count + 1, sizeof(*subject->inputs)),
        .outputs = calloc((size_t)node->output_count + 1, sizeof(*subject->outputs)),
        .input_layouts = calloc((size_t)node->input_count + 1, sizeof(*subject->input_layouts)),
        .output_layouts = calloc((size_t)node->output_count + 1, sizeof(*subject->output_layouts)),
        .is_plan = is_prepared && !job->backend,
    };
    if (!subject->inputs || !subject->outputs || !subject->input_layouts ||
        !subject->output_layouts)
        return -ENOMEM;
    for (uint32_t i = 0; i < node->input_count; i++)
        subject->inputs[i] = view_of(node->inputs[i]);
    for (uint32_t i = 0; i < node->output_count; i++) {
        subject->outputs[i] = view_of(node->outputs[i]);
        subject->output_layouts[i] = layout_row_major(subject->outputs[i].shape.rank);
    }
    subject->request = (struct call_request){
        .graph = job->graph,
        .node = node,
        .inputs = subject->inputs,
        .outputs = subject->outputs,
        .input_layouts = subject->input_layouts,
        .output_layouts = subject->output_layouts,
        .on_device = job->backend != NULL,
        .diag = &job->quiet,
    };
    if (job->backend && is_prepared)
        return format_device_layouts(node, layout_format_of(layout), subject->input_layouts,
                                     &subject->output_layouts[0]);
    return format_layouts(node, layout_format_of(layout), is_prepared, subject->input_layouts,
                          &subject->output_layouts[0]);
}

static void take_kernels(const struct layout_job *job, struct kernel_table *out_kernels)
{
    if (job->backend)
        job->backend->kernels(out_kernels);
    else
        kernel_table_init(out_kernels, kernel_best_level());
}

static int bind_in(struct layout_job *job, const struct node *node, int layout, bool is_prepared,
                   struct layout_trial *trial)
{
    struct subject *subject = &trial->subjects[layout];
    struct kernel_table kernels;
    int rc = init_subject(job, node, layout, is_prepared, subject);

    if (rc <= 0)
        return rc;
    take_kernels(job, &kernels);
    subject->request.kernels = &kernels;
    rc = call_bind_any(&subject->request,
                       is_prepared && !job->backend ? call_bind_conv_plan : call_bind,
                       &trial->calls[layout]);
    subject->request.kernels = NULL;
    trial->can[layout] =
        rc == 0 && (!job->backend || bound_is_on_device(job->backend, &trial->calls[layout]));
    return rc == -ENOMEM ? rc : 0;
}

static void deinit_trial(struct layout_trial *trial)
{
    for (int i = 0; i < SEARCH_LAYOUTS; i++) {
        subject_deinit(&trial->subjects[i]);
        call_deinit(&trial->calls[i]);
    }
    free(trial->key);
    *trial = (struct layout_trial){0};
}

/* Takes the trial, which may be there already. */
static int add_trial(struct layout_job *job, struct layout_trial *trial, uint32_t *out_index)
{
    for (size_t i = 0; i < job->trials.count; i++) {
        if (strcmp(job->trials.items[i].key, trial->key) == 0) {
            *out_index = (uint32_t)i;
            deinit_trial(trial);
            return 0;
        }
    }
    if (array_push(&job->trials, *trial) < 0) {
        deinit_trial(trial);
        return -ENOMEM;
    }
    *out_index = (uint32_t)job->trials.count - 1;
    return 0;
}

/* Left alone: where it computes in one layout only, and where the two are the same. */
static int try_node(struct layout_job *job, const struct node *node, bool is_prepared)
{
    struct layout_trial trial = {0};
    int rc = bind_in(job, node, 1, is_prepared, &trial);

    if (rc == 0 && trial.can[1])
        rc = bind_in(job, node, 0, is_prepared, &trial);
    if (rc == 0 && trial.can[0]) {
        trial.key = tune_key(&trial.subjects[1], false);
        rc = trial.key ? add_trial(job, &trial, &job->node_trials[node->index]) : -ENOMEM;
        return rc == 0 ? 1 : rc;
    }
    deinit_trial(&trial);
    return rc;
}

bool layout_passes_through(const struct node *node)
{
    return call_is_view(node) ||
           (node->domain[0] == '\0' && strcmp(node->op_type, "Transpose") == 0);
}

static int add_node(struct layout_job *job, const struct node *node)
{
    enum layout_need need = call_layout_need(node);
    int rc = 0;

    if (!node_output(node, 0) || shape_elements(&node->outputs[0]->shape) <= 0)
        return 0;
    if (is_conv(node))
        rc = try_node(job, node, true);
    else if (need != LAYOUT_ROW_MAJOR && need != LAYOUT_QUANTA && !layout_passes_through(node))
        rc = try_node(job, node, false);
    return rc < 0 ? rc : 0;
}

/* Values */

static int add_value(struct layout_job *job, const struct value *value)
{
    struct layout layouts[SEARCH_LAYOUTS];
    struct tensor_view view = view_of(value);
    struct layout_trial trial = {.bytes = (size_t)shape_bytes(&value->shape, value->dtype)};
    struct kernel_table kernels;
    char text[SHAPE_TEXT_BYTES];
    int rc = 0;

    if (value->data || value->shape.rank < 3 || shape_elements(&value->shape) <= 0)
        return 0;
    for (int i = 0; i < SEARCH_LAYOUTS; i++)
        layouts[i] = format_layout(layout_format_of(i), value->shape.rank);
    if (layout_same(&layouts[0], &layouts[1], &value->shape))
        return 0;
    take_kernels(job, &kernels);
    for (int i = 0; rc == 0 && i < SEARCH_LAYOUTS; i++) {
        rc = call_bind_reorder(&kernels, &view, &layouts[i], &layouts[1 - i], &trial.calls[i]);
        trial.can[i] = rc == 0;
    }
    if (rc == 0 && asprintf(&trial.key, "move %s %s", dtype_name(value->dtype),
                            shape_text(&value->shape, text)) < 0) {
        trial.key = NULL;
        rc = -ENOMEM;
    }
    if (rc == 0)
        return add_trial(job, &trial, &job->value_trials[value->index]);
    deinit_trial(&trial);
    return rc;
}

/* Memory of a move: as much as both sides need. */
struct buffers {
    void *from, *to;
    size_t bytes;
};

static int grow(struct buffers *buffers, size_t bytes)
{
    size_t rounded = (bytes + 63) / 64 * 64 + 64;

    if (bytes <= buffers->bytes)
        return 0;
    free(buffers->from);
    free(buffers->to);
    buffers->from = aligned_alloc(64, rounded);
    buffers->to = aligned_alloc(64, rounded);
    buffers->bytes = rounded;
    if (!buffers->from || !buffers->to)
        return -ENOMEM;
    memset(buffers->from, 0, rounded);
    memset(buffers->to, 0, rounded);
    return 0;
}

static int list(struct layout_job *job, struct buffers *buffers)
{
    const struct graph *graph = job->graph;
    int rc = 0;

    job->node_trials = calloc((size_t)graph->node_count + 1, sizeof(*job->node_trials));
    job->value_trials = calloc((size_t)graph->value_count + 1, sizeof(*job->value_trials));
    if (!job->node_trials || !job->value_trials)
        return -ENOMEM;
    for (uint32_t i = 0; i < graph->node_count; i++)
        job->node_trials[i] = SEARCH_NONE;
    for (uint32_t i = 0; i < graph->value_count; i++)
        job->value_trials[i] = SEARCH_NONE;
    for (uint32_t i = 0; rc == 0 && i < graph->node_count; i++)
        rc = add_node(job, graph->nodes[i]);
    for (uint32_t i = 0; rc == 0 && i < graph->value_count; i++) {
        rc = add_value(job, graph->values[i]);
        if (rc == 0 && job->value_trials[i] != SEARCH_NONE && !job->backend)
            rc = grow(buffers,
                      (size_t)shape_bytes(&graph->values[i]->shape, graph->values[i]->dtype));
    }
    return rc;
}

static int time_trial(struct layout_trial *trial, int layout, struct tune_memory *memory,
                      const struct buffers *buffers, uint64_t *out_ns)
{
    struct call *call = &trial->calls[layout];
    const void *inputs[] = {buffers->from};
    void *outputs[] = {buffers->to};
    uint64_t start;
    int rc = 0;

    if (trial->subjects[0].request.node) {
        rc = tune_memory_place(memory, &trial->subjects[layout], call);
    } else {
        call->inputs = inputs;
        call->outputs = outputs;
    }
    if (rc < 0)
        return rc;
    start = ot_clock_ns(CLOCK_MONOTONIC);
    rc = call_run(call);
    *out_ns = ot_clock_ns(CLOCK_MONOTONIC) - start + 1;
    /* Texts without a number, indices out of range, other counts: the data is made up, and a run's may be good. */
    return rc == -EINVAL || rc == -ESTALE ? 0 : rc;
}

/* Both layouts in turn, so that both meet the same moments of the machine. */
static int walk(struct layout_job *job, const struct buffers *buffers)
{
    struct tune_memory memory = {0};
    int rc = 0;

    for (size_t i = 0; i < job->trials.count; i++)
        for (int k = 0; k < SEARCH_LAYOUTS; k++)
            job->trials.items[i].times_ns[k] = UINT64_MAX;
    for (int pass = 0; rc == 0 && pass < PASSES; pass++) {
        for (size_t i = 0; rc == 0 && i < job->trials.count; i++) {
            struct layout_trial *trial = &job->trials.items[i];

            for (int k = 0; rc == 0 && k < SEARCH_LAYOUTS; k++) {
                int layout = (k + pass) % SEARCH_LAYOUTS;
                uint64_t time_ns = UINT64_MAX;

                rc = time_trial(trial, layout, &memory, buffers, &time_ns);
                if (pass >= UNTIMED_PASSES && time_ns < trial->times_ns[layout])
                    trial->times_ns[layout] = time_ns;
            }
        }
    }
    tune_memory_deinit(&memory);
    return rc;
}

int layout_time(struct layout_job *job)
{
    uint64_t start = ot_clock_ns(CLOCK_MONOTONIC);
    struct buffers buffers = {0};
    int rc = list(job, &buffers);

    if (rc == 0)
        rc = job->backend ? layout_time_on_device(job) : walk(job, &buffers);
    free(buffers.from);
    free(buffers.to);
    job->timing_ns = ot_clock_ns(CLOCK_MONOTONIC) - start;
    if (rc == -ENOMEM)
        return diag_set(job->diag, rc, "out of memory");
    if (rc == -ENOSPC)
        return diag_set(job->diag, rc, "--cuda: the device has no room to time layouts");
    if (rc < 0 && job->backend)
        return diag_set(job->diag, rc, "%s", job->backend->problem(job->device));
    return rc < 0 ? diag_set(job->diag, rc, "a kernel failed while layouts were timed") : 0;
}

void layout_time_deinit(struct layout_job *job)
{
    for (size_t i = 0; i < job->trials.count; i++)
        deinit_trial(&job->trials.items[i]);
    array_deinit(&job->trials);
    free(job->node_trials);
    free(job->value_trials);
}
