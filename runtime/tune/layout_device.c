/* SPDX-License-Identifier: Apache-2.0 */
/* Choice of layouts on a device: each operator and each move of a tensor alone, by the device's clock. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/exec/backend.h"
#include "runtime/tune/layout_private.h"

enum { ALIGNMENT = 256 };

static size_t round_up(int64_t bytes)
{
    return bytes <= 0 ? ALIGNMENT : ((size_t)bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* One call on memory of the device. */
struct placed {
    struct call *call;
    const void **inputs;
    void **outputs;
    int result;
};

static void run_placed(void *argument)
{
    struct placed *placed = argument;

    placed->result = call_run(placed->call);
}

/* Where a tensor of a trial lies, from `at` on; memory NULL: sizes alone are asked for. */
static void *place(void *memory, const struct tensor_view *view, size_t *at)
{
    void *place = memory ? (char *)memory + *at : NULL;

    if (view->dtype == DTYPE_NONE)
        return NULL;
    *at += round_up(shape_bytes(&view->shape, view->dtype));
    return place;
}

/* Returns how many bytes it takes. */
static size_t place_node(const struct layout_trial *trial, int layout, void *memory,
                         struct placed *placed)
{
    const struct subject *subject = &trial->subjects[layout];
    const struct node *node = subject->request.node;
    size_t at = 0;

    for (uint32_t i = 0; i < node->input_count; i++)
        placed->inputs[i] = place(memory, &subject->inputs[i], &at);
    for (uint32_t i = 0; i < node->output_count; i++)
        placed->outputs[i] = place(memory, &subject->outputs[i], &at);
    placed->call->workspace = memory ? (char *)memory + at : NULL;
    return at + round_up((int64_t)placed->call->workspace_bytes);
}

static size_t place_move(const struct layout_trial *trial, void *memory, struct placed *placed)
{
    size_t bytes = round_up((int64_t)trial->bytes);

    placed->inputs[0] = memory;
    placed->outputs[0] = memory ? (char *)memory + bytes : NULL;
    placed->call->workspace = memory ? (char *)memory + 2 * bytes : NULL;
    return 2 * bytes + round_up((int64_t)placed->call->workspace_bytes);
}

/* With memory NULL its size alone. -ENOMEM. */
static int place_trial(struct layout_trial *trial, int layout, void *memory, struct placed *placed,
                       size_t *out_bytes)
{
    const struct node *node = trial->subjects[0].request.node;

    *placed = (struct placed){.call = &trial->calls[layout]};
    placed->inputs = calloc((node ? node->input_count : 1) + 1u, sizeof(*placed->inputs));
    placed->outputs = calloc((node ? node->output_count : 1) + 1u, sizeof(*placed->outputs));
    if (!placed->inputs || !placed->outputs)
        return -ENOMEM;
    *out_bytes =
        node ? place_node(trial, layout, memory, placed) : place_move(trial, memory, placed);
    placed->call->inputs = placed->inputs;
    placed->call->outputs = placed->outputs;
    return 0;
}

static void lift(struct placed *placed)
{
    placed->call->inputs = NULL;
    placed->call->outputs = NULL;
    placed->call->workspace = NULL;
    free(placed->inputs);
    free(placed->outputs);
}

static int find_most(struct layout_job *job, size_t *out_bytes)
{
    int rc = 0;

    *out_bytes = 0;
    for (size_t i = 0; rc == 0 && i < job->trials.count; i++) {
        for (int k = 0; rc == 0 && k < SEARCH_LAYOUTS; k++) {
            struct placed placed;
            size_t bytes = 0;

            rc = place_trial(&job->trials.items[i], k, NULL, &placed, &bytes);
            lift(&placed);
            *out_bytes = bytes > *out_bytes ? bytes : *out_bytes;
        }
    }
    return rc;
}

/* What computes it is decided first, as before any run. */
static int decide(const struct layout_job *job, struct placed *placed)
{
    const struct device_backend *backend = job->backend;
    int rc;

    backend->rehearse(job->device, true);
    rc = backend->begin_step(job->device, 0);
    if (rc == 0)
        run_placed(placed);
    backend->end_step(job->device);
    backend->rehearse(job->device, false);
    return rc == 0 && backend->problem(job->device)[0] != '\0' ? -EIO : rc;
}

static int time_call(const struct layout_job *job, struct placed *placed, uint64_t *out_ns)
{
    const struct device_backend *backend = job->backend;
    int rc = backend->begin_step(job->device, 0);

    if (rc == 0)
        rc = backend->time(job->device, run_placed, placed, out_ns);
    backend->end_step(job->device);
    return rc == 0 && backend->problem(job->device)[0] != '\0' ? -EIO : rc;
}

/* Each layout of a trial by its name, as what is kept of it. */
static bool recall(const struct layout_job *job, const char *task, struct layout_trial *trial)
{
    struct device_way ways[SEARCH_LAYOUTS];
    int count = job->memory ? job->memory->recall(job->memory, job->backend->describe(job->device),
                                                  task, ways, SEARCH_LAYOUTS)
                            : 0;
    int found = 0;

    for (int i = 0; i < count && i < SEARCH_LAYOUTS; i++)
        for (int k = 0; k < SEARCH_LAYOUTS; k++)
            if (strcmp(ways[i].name, format_name(layout_format_of(k))) == 0) {
                trial->times_ns[k] = ways[i].time_ns;
                found |= 1 << k;
            }
    return found == (1 << SEARCH_LAYOUTS) - 1;
}

static void keep(const struct layout_job *job, const char *task, const struct layout_trial *trial)
{
    struct device_way ways[SEARCH_LAYOUTS] = {0};

    for (int k = 0; k < SEARCH_LAYOUTS; k++) {
        snprintf(ways[k].name, sizeof(ways[k].name), "%s", format_name(layout_format_of(k)));
        ways[k].time_ns = trial->times_ns[k];
    }
    if (job->memory)
        job->memory->keep(job->memory, job->backend->describe(job->device), task, ways,
                          SEARCH_LAYOUTS);
}

/* All that its times hang on: also the library that was opened for a convolution. */
static char *name_task(const struct layout_job *job, const struct layout_trial *trial)
{
    struct device_library library = job->backend->library(job->device, DEVICE_CONVOLUTION);
    char *task = NULL;

    if (asprintf(&task, "%s%s: %s", library.name ? library.name : "own", job->conditions,
                 trial->key) < 0)
        return NULL;
    return task;
}

static int time_trial(struct layout_job *job, struct layout_trial *trial, void *memory)
{
    struct placed placed[SEARCH_LAYOUTS] = {{0}};
    char *task = NULL;
    size_t bytes;
    int rc = 0;

    for (int k = 0; rc == 0 && k < SEARCH_LAYOUTS; k++) {
        rc = place_trial(trial, k, memory, &placed[k], &bytes);
        if (rc == 0)
            rc = decide(job, &placed[k]);
    }
    if (rc == 0 && !(task = name_task(job, trial)))
        rc = -ENOMEM;
    if (rc == 0 && recall(job, task, trial)) {
        job->recalled++;
    } else if (rc == 0 && job->only_recalls) {
        job->unknown++;
    } else if (rc == 0) {
        for (int k = 0; rc == 0 && k < SEARCH_LAYOUTS; k++)
            rc = time_call(job, &placed[k], &trial->times_ns[k]);
        if (rc == 0)
            keep(job, task, trial);
    }
    for (int k = 0; k < SEARCH_LAYOUTS; k++)
        if (placed[k].call)
            lift(&placed[k]);
    free(task);
    return rc;
}

/* Without one that computes in both there is nothing to choose. */
static bool has_conv(const struct layout_job *job)
{
    for (uint32_t i = 0; i < job->graph->node_count; i++)
        if (job->node_trials[i] != SEARCH_NONE &&
            strcmp(job->graph->nodes[i]->op_type, "Conv") == 0)
            return true;
    return false;
}

int layout_time_on_device(struct layout_job *job)
{
    const struct device_backend *backend = job->backend;
    void *memory = NULL;
    uint32_t failed;
    size_t bytes;
    int rc;

    job->has_conv = has_conv(job);
    if (!job->has_conv)
        return 0;
    rc = find_most(job, &bytes);
    if (rc == 0)
        rc = backend->alloc(job->device, bytes, &memory);
    if (rc == 0)
        rc = backend->clear(job->device, memory, bytes);
    for (size_t i = 0; rc == 0 && i < job->trials.count; i++)
        rc = time_trial(job, &job->trials.items[i], memory);
    if (rc == 0) /* also what made-up data has led to */
        rc = backend->wait(job->device, &failed);
    backend->give_back(job->device, memory);
    return rc;
}
