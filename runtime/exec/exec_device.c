/* SPDX-License-Identifier: Apache-2.0 */
/* Running on a device: its memory, what is copied, runs as a whole. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/amount.h"
#include "runtime/exec/private.h"

enum { ALIGNMENT = 256 };

int exec_device_open(struct exec *exec, const struct exec_options *options, struct diag *diag)
{
    int rc;

    if (!options->device)
        return 0;
    if (!options->device->open)
        return diag_set(diag, -ENOTSUP, "--%s: this build leaves GPUs out", options->device->name);
    exec->device_backend = options->device;
    snprintf(exec->device_name, sizeof(exec->device_name), "%s:%u", options->device->name,
             options->device_number);
    exec->offloads = options->offload;
    exec->zero = ot_clock_read_triple();
    rc = options->device->open(options->device_number, &exec->device, diag);
    if (rc == 0 && options->choice)
        options->device->choose_by(exec->device, options->choice);
    exec->device_memory = options->choice ? options->choice->memory : NULL;
    return rc;
}

void exec_device_close(struct exec *exec)
{
    for (uint32_t i = 0; exec->output_copies && i < exec->graph->output_count; i++)
        free(exec->output_copies[i]);
    free(exec->output_copies);
    if (exec->device_backend)
        exec->device_backend->close(&exec->device);
}

/* --- Memory --- */

static size_t round_up(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* "conv1" (Conv) is the last that fits, or what else there is to say. */
static int tell_no_room(struct exec *exec, size_t bytes, const char *what, int rc,
                        struct diag *diag)
{
    char wanted[AMOUNT_BYTES], room[AMOUNT_BYTES];

    if (rc != -ENOSPC)
        return diag_set(diag, rc, "%s", exec->device_backend->problem(exec->device));
    return diag_set(
        diag, rc, "--%s: the device has no room for %s: %s are needed, and %s are free",
        exec->device_backend->name, what,
        amount_format_bytes(wanted, sizeof(wanted), (double)bytes),
        amount_format_bytes(room, sizeof(room), (double)exec->device_backend->room(exec->device)));
}

/* Zero, as memory of the CPU is. */
static int take(struct exec *exec, size_t bytes, const char *what, void **out_memory,
                struct diag *diag)
{
    int rc = exec->device_backend->alloc(exec->device, bytes, out_memory);

    if (rc == 0)
        rc = exec->device_backend->clear(exec->device, *out_memory, bytes);
    if (rc < 0)
        return tell_no_room(exec, bytes, what, rc, diag);
    exec->chunks[exec->chunk_count++] =
        (struct exec_chunk){EXEC_MEMORY_DEVICE, *out_memory, bytes, what};
    return 0;
}

static bool is_input(const struct exec *exec, uint32_t buffer)
{
    for (uint32_t i = 0; i < exec->graph->input_count; i++)
        if (exec->bound->input_buffers[i] == buffer)
            return true;
    return false;
}

static void forget_turned(struct bound *bound, uint32_t buffer)
{
    if (bound->needed_on[buffer] & ON_HOST)
        return;
    free(bound->memory[buffer]);
    bound->memory[buffer] = NULL;
}

/* Constants that steps of the device read: one piece of memory, brought once. */
static int bring_constants(struct exec *exec, struct diag *diag)
{
    struct bound *bound = exec->bound;
    size_t at = 0;
    int rc = 0;

    for (uint32_t i = 0; i < bound->plan.buffer_count; i++)
        if (bound->plan.buffers[i].is_external && (bound->needed_on[i] & ON_DEVICE) &&
            !is_input(exec, i))
            at += round_up(bound->plan.buffers[i].bytes);
    exec->device_constant_bytes = at;
    if (at == 0)
        return 0;
    rc = take(exec, at, "the parameters", &exec->device_constants, diag);
    if (rc < 0)
        return rc;
    rc = exec->device_backend->upload_begin(exec->device, at);
    at = 0;
    for (uint32_t i = 0; rc == 0 && i < bound->plan.buffer_count; i++) {
        const struct plan_buffer *buffer = &bound->plan.buffers[i];

        if (!buffer->is_external || !(bound->needed_on[i] & ON_DEVICE) || is_input(exec, i))
            continue;
        bound->device_memory[i] = (char *)exec->device_constants + at;
        rc = exec->device_backend->upload(exec->device, bound->device_memory[i], bound->memory[i],
                                          buffer->bytes);
        at += round_up(buffer->bytes);
    }
    if (rc == 0)
        rc = exec->device_backend->upload_end(exec->device, &exec->device_constant_copies);
    for (uint32_t i = 0; rc == 0 && i < bound->turned_count; i++)
        forget_turned(bound, bound->turned[i].buffer);
    if (rc == -ENOMEM)
        return diag_set(diag, rc, "out of memory");
    return rc < 0 ? diag_set(diag, rc, "%s", exec->device_backend->problem(exec->device)) : 0;
}

static int bring_inputs(struct exec *exec, struct diag *diag)
{
    struct bound *bound = exec->bound;
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < exec->graph->input_count; i++) {
        uint32_t buffer = bound->input_buffers[i];

        if (bound->needed_on[buffer] & ON_DEVICE)
            rc = take(exec, bound->plan.buffers[buffer].bytes, exec->graph->inputs[i]->name,
                      &bound->device_memory[buffer], diag);
    }
    return rc;
}

static int prepare_outputs(struct exec *exec, struct diag *diag)
{
    const struct bound *bound = exec->bound;

    exec->output_copies = calloc(exec->graph->output_count + 1, sizeof(*exec->output_copies));
    if (!exec->output_copies)
        return diag_set(diag, -ENOMEM, "out of memory");
    for (uint32_t i = 0; i < exec->graph->output_count; i++) {
        size_t bytes = bound->plan.buffers[bound->output_buffers[i]].bytes;

        exec->output_copies[i] = malloc(bytes ? bytes : 1);
        if (!exec->output_copies[i])
            return diag_set(diag, -ENOMEM, "out of memory");
    }
    return 0;
}

static int take_arena(struct exec *exec, struct diag *diag)
{
    struct diag reason = {0};
    size_t peak_bytes;
    uint32_t peak = exec_peak_step(exec, &peak_bytes);
    char most[AMOUNT_BYTES];
    int rc = take(exec, exec->bound->plan.arena_bytes, "the intermediate tensors",
                  &exec->device_arena, &reason);

    if (rc != -ENOSPC || peak == EXEC_NO_STEP)
        return rc < 0 ? diag_set(diag, rc, "%s", reason.text) : 0;
    return diag_set(diag, rc, "%s; most of them at once in \"%s\" (%s), %s", reason.text,
                    exec->bound->steps[peak].info.name, exec->bound->steps[peak].info.type,
                    amount_format_bytes(most, sizeof(most), (double)peak_bytes));
}

int exec_device_allocate(struct exec *exec, struct diag *diag)
{
    bool is_used = false;
    int rc = 0;

    if (!exec->device)
        return 0;
    for (uint32_t i = 0; i < exec->bound->step_count; i++)
        is_used = is_used || exec->bound->steps[i].info.on_device;
    for (uint32_t i = 0; i < exec->bound->step_count; i++)
        exec->has_host_steps = exec->has_host_steps || !exec->bound->steps[i].info.on_device ||
                               exec->bound->steps[i].copied != PLAN_NONE;
    if (is_used) /* else it would be room for nothing */
        rc = take_arena(exec, diag);
    if (rc == 0)
        rc = bring_constants(exec, diag);
    if (rc == 0)
        rc = bring_inputs(exec, diag);
    return rc < 0 ? rc : prepare_outputs(exec, diag);
}

int exec_device_rehearse(struct exec *exec, struct diag *diag)
{
    const struct device_backend *backend = exec->device_backend;
    uint64_t workspace_bytes;

    if (!exec->device)
        return 0;
    backend->rehearse(exec->device, true);
    for (uint32_t i = 0; i < exec->bound->step_count; i++) {
        struct bound_step *step = &exec->bound->steps[i];
        const char *version = NULL;
        enum device_task task;

        if (!step->info.on_device || step->copied != PLAN_NONE)
            continue;
        if (backend->begin_step(exec->device, i) == 0)
            (void)bound_step_run(step);
        if (backend->problem(exec->device)[0] != '\0')
            return diag_set(diag, -EIO, "node \"%s\" (%s): %s", step->info.name, step->info.type,
                            backend->problem(exec->device));
        task = backend->chosen(exec->device, &version);
        exec->library_steps[task].count++;
        exec->library_steps[task].by_library += version ? 1 : 0;
        if (version)
            step->info.implementation = step->call.version = version;
    }
    backend->rehearse(exec->device, false);
    if (backend->problem(exec->device)[0] != '\0')
        return diag_set(diag, -EIO, "%s", backend->problem(exec->device));
    workspace_bytes = backend->workspace_bytes(exec->device);
    if (workspace_bytes > 0)
        exec->chunks[exec->chunk_count++] =
            (struct exec_chunk){EXEC_MEMORY_DEVICE, NULL, (size_t)workspace_bytes,
                                "the workspace of products and convolutions"};
    return exec->device_memory ? exec->device_memory->settle(exec->device_memory, diag) : 0;
}

int exec_device_put_input(struct exec *exec, uint32_t index)
{
    const struct bound *bound = exec->bound;
    uint32_t buffer = bound->input_buffers[index];

    if (!exec->device || !bound->device_memory[buffer])
        return 0;
    return exec->device_backend->copy_in(exec->device, bound->device_memory[buffer],
                                         bound->memory[buffer], bound->plan.buffers[buffer].bytes);
}

/* Where the content of an output is after a run. */
static bool ends_on_device(const struct bound *bound, uint32_t index)
{
    size_t offset;
    uint32_t root = plan_root(&bound->plan, bound->output_buffers[index], &offset);

    return bound->ends_on && !(bound->ends_on[bound->output_buffers[index]] & ON_HOST) &&
           !bound->plan.buffers[root].is_external;
}

static int copy_output(const struct exec *exec, uint32_t index)
{
    const struct bound *bound = exec->bound;
    uint32_t buffer = bound->output_buffers[index];
    int rc = exec->device_backend->copy_out(exec->device, exec->output_copies[index],
                                            bound_device_address(bound, buffer),
                                            bound->plan.buffers[buffer].bytes);

    return rc < 0 ? -EIO : 0;
}

int exec_device_output(const struct exec *exec, uint32_t index, void **out_data)
{
    const struct bound *bound = exec->bound;

    if (!exec->device || !ends_on_device(bound, index)) {
        *out_data = bound_address(bound, bound->output_buffers[index]);
        return 0;
    }
    *out_data = exec->output_copies[index];
    return exec->offloads ? 0 : copy_output(exec, index);
}

/* --- Runs --- */

static bool is_observed(const struct exec *exec)
{
    return exec->observer_count > 0;
}

int exec_device_begin(struct exec *exec)
{
    int rc = 0;

    if (!exec->device)
        return 0;
    rc = exec_streams_join(exec); /* the run before */
    for (uint32_t i = 0; rc == 0 && exec->offloads && i < exec->graph->input_count; i++)
        rc = exec_device_put_input(exec, i);
    if (rc < 0 || !is_observed(exec))
        return rc < 0 ? rc : exec_streams_fork(exec);
    rc = exec_times_begin(exec);
    return rc < 0 ? rc : exec_streams_fork(exec);
}

int exec_device_step(struct exec *exec, uint32_t step, bool is_timed)
{
    const struct device_backend *backend = exec->device_backend;
    int rc = backend->begin_step(exec->device, step);

    if (rc == 0 && is_timed)
        rc = exec_times_before(exec, step);
    if (rc == 0)
        rc = bound_step_run(&exec->bound->steps[step]);
    backend->end_step(exec->device);
    if (rc == 0 && backend->problem(exec->device)[0] != '\0')
        rc = -EIO;
    if (rc == 0 && is_timed)
        rc = exec_times_after(exec, step);
    return rc < 0 ? rc : exec_streams_mark(exec, step);
}

int exec_device_finish(struct exec *exec, uint32_t *out_step)
{
    const struct bound *bound = exec->bound;
    int rc;

    if (!exec->device)
        return 0;
    *out_step = UINT32_MAX;
    rc = exec_streams_join(exec);
    if (rc < 0)
        return rc;
    for (uint32_t i = 0; rc == 0 && exec->offloads && i < exec->graph->output_count; i++)
        if (ends_on_device(bound, i))
            rc = copy_output(exec, i);
    if (rc < 0)
        return rc;
    rc = exec->device_backend->wait(exec->device, out_step);
    if (rc == 0 && *out_step != UINT32_MAX)
        return -EINVAL;
    return rc == 0 && exec->device_pending ? exec_times_tell(exec) : rc;
}

/* All steps, with moments around each where somebody observes. */
static int capture(struct exec *exec)
{
    const struct device_backend *backend = exec->device_backend;
    int rc = exec_streams_join(exec); /* number 0 is chosen, and records */

    if (rc == 0)
        rc = backend->record_begin(exec->device);
    if (rc == 0)
        rc = exec_streams_fork(exec);
    for (uint32_t i = 0; rc == 0 && i < exec->bound->step_count; i++) {
        rc = exec_streams_prepare(exec, i);
        if (rc == 0)
            rc = exec_device_step(exec, i, is_observed(exec));
    }
    if (rc == 0)
        rc = exec_streams_join(exec);
    return rc == 0 ? backend->record_end(exec->device) : rc;
}

static void tell_launch(const struct exec *exec, uint64_t start)
{
    const uint64_t end = is_observed(exec) ? ot_clock_ticks() : 0;

    for (uint32_t i = 0; i < exec->observer_count; i++)
        if (exec->observers[i].launch)
            exec->observers[i].launch(exec->observers[i].user, start, end);
}

bool exec_device_replay(struct exec *exec, int *out_failure)
{
    const struct device_backend *backend = exec->device_backend;
    uint64_t start;
    int rc = 0;

    if (!exec_device_is_graph(exec))
        return false;
    if (!exec->is_captured || exec->is_captured_timed != is_observed(exec)) {
        exec->is_capturing = true;
        rc = capture(exec);
        exec->is_capturing = false;
        exec->is_captured = rc == 0;
        exec->is_captured_timed = is_observed(exec);
    }
    if (rc == 0 && exec->bound->stream_count > 1)
        backend->choose(exec->device, 0);
    start = is_observed(exec) ? ot_clock_ticks() : 0;
    if (rc == 0)
        rc = backend->replay(exec->device);
    if (rc == 0)
        tell_launch(exec, start);
    *out_failure = rc;
    return true;
}

bool exec_device_constant(const struct exec *exec, const struct value *value, size_t *out_offset)
{
    const struct bound *bound = exec->bound;
    const void *memory = NULL;

    for (uint32_t i = 0; exec->device_constants && !memory && i < bound->plan.buffer_count; i++)
        if (bound->plan.buffers[i].is_external && bound->memory[i] == value->data)
            memory = bound->device_memory[i];
    for (uint32_t i = 0; exec->device_constants && !memory && i < bound->turned_count; i++)
        if (bound->turned[i].value == value)
            memory = bound->device_memory[bound->turned[i].buffer];
    if (memory)
        *out_offset = (size_t)((const char *)memory - (const char *)exec->device_constants);
    return memory != NULL;
}

static struct exec_library_facts library_facts(const struct exec *exec, enum device_task task)
{
    struct device_library library = exec->device_backend->library(exec->device, task);

    return (struct exec_library_facts){
        exec->library_steps[task], library.name,
        library.is_asked && library.problem[0] != '\0' ? library.problem : NULL, library.timed,
        library.recalled};
}

static bool has_half(const struct value *const *values, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (values[i] && (values[i]->dtype == DTYPE_F16 || values[i]->dtype == DTYPE_BF16))
            return true;
    return false;
}

static void count_half(const struct bound_step *step, struct exec_device_facts *facts)
{
    const struct exec_step *info = &step->info;

    if (step->copied != PLAN_NONE || (!has_half(info->inputs, info->input_count) &&
                                      !has_half(info->outputs, info->output_count)))
        return;
    if (!info->on_device)
        facts->half_host_steps++;
    else if (step->call.half)
        facts->half_converted_steps++;
    else
        facts->half_steps++;
}

struct exec_device_facts exec_device_facts(const struct exec *exec)
{
    struct exec_device_facts facts = {0};

    if (!exec->device)
        return facts;
    facts.products = library_facts(exec, DEVICE_PRODUCT);
    facts.convolutions = library_facts(exec, DEVICE_CONVOLUTION);
    facts.name = exec->device_name;
    facts.description = exec->device_backend->describe(exec->device);
    facts.parameter_bytes = exec->device_constant_bytes;
    facts.parameter_copies = exec->device_constant_copies;
    facts.streams = exec->bound->stream_count > 1 ? exec->bound->stream_count : 1;
    facts.is_graph = exec_device_is_graph(exec);
    for (uint32_t i = 0; i < exec->bound->step_count; i++) {
        const struct bound_step *step = &exec->bound->steps[i];
        uint64_t bytes =
            step->copied == PLAN_NONE ? 0 : exec->bound->plan.buffers[step->copied].bytes;

        facts.copy_steps += step->copied != PLAN_NONE;
        facts.device_steps += step->copied == PLAN_NONE && step->info.on_device;
        facts.host_steps += step->copied == PLAN_NONE && !step->info.on_device;
        count_half(step, &facts);
        facts.beside_steps += step->stream > 0;
        facts.wait_count += step->wait_count;
        *(step->info.on_device ? &facts.copied_in_bytes : &facts.copied_out_bytes) += bytes;
    }
    return facts;
}
