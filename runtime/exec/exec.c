/* SPDX-License-Identifier: Apache-2.0 */
/* Running a bound graph: memory, inputs and outputs, and the walk over the steps. */
#include "runtime/exec/exec.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "runtime/exec/private.h"
#include "runtime/graph/run_limits.h"
#include "runtime/ops/control.h"

/* Memory */

static void add_chunk(struct exec *exec, enum exec_memory what, const void *address, size_t bytes,
                      const char *name)
{
    exec->chunks[exec->chunk_count++] = (struct exec_chunk){what, address, bytes, name};
}

static size_t input_bytes(const struct exec *exec, uint32_t index)
{
    const struct value *value = exec->graph->inputs[index];

    return (size_t)shape_bytes(&value->shape, value->dtype);
}

/* Of the CPU's, which needs none where a device does everything. */
static size_t arena_bytes(const struct exec *exec)
{
    bool is_needed = !exec->device;

    for (uint32_t i = 0; i < exec->bound->step_count; i++)
        is_needed = is_needed || !exec->bound->steps[i].info.on_device ||
                    exec->bound->steps[i].copied != PLAN_NONE;
    return is_needed ? exec->bound->plan.arena_bytes : 0;
}

static int allocate(struct exec *exec, struct diag *diag)
{
    const struct graph *graph = exec->graph;
    struct bound *bound = exec->bound;
    int rc;

    exec->input_memory = calloc(graph->input_count + 1, sizeof(*exec->input_memory));
    /* A device has the arena, parameters, a workspace, and each input once more. */
    exec->chunks =
        calloc(2 * (size_t)graph->input_count + bound->step_count + 4, sizeof(*exec->chunks));
    exec->tasks = calloc(bound->step_count + 1, sizeof(*exec->tasks));
    exec->arena = exec->backend->alloc(arena_bytes(exec));
    if (!exec->input_memory || !exec->chunks || !exec->tasks || !exec->arena)
        return diag_set(diag, -ENOMEM, "out of memory: %zu bytes for the intermediate tensors",
                        bound->plan.arena_bytes);
    add_chunk(exec, EXEC_MEMORY_ARENA, exec->arena, arena_bytes(exec), "arena");
    for (uint32_t i = 0; i < graph->input_count; i++) {
        exec->input_memory[i] = exec->backend->alloc(input_bytes(exec, i));
        if (!exec->input_memory[i])
            return diag_set(diag, -ENOMEM, "out of memory: input \"%s\"", graph->inputs[i]->name);
        bound->memory[bound->input_buffers[i]] = exec->input_memory[i];
        add_chunk(exec, EXEC_MEMORY_INPUTS, exec->input_memory[i], input_bytes(exec, i),
                  graph->inputs[i]->name);
    }
    for (uint32_t i = 0; i < bound->step_count; i++) {
        struct exec_step *info = &bound->steps[i].info;
        size_t bytes;
        const void *weights = call_weights(&bound->steps[i].call, &bytes);

        info->device = info->on_device ? exec->device_name : "cpu:0";
        info->stream = bound->steps[i].stream;
        exec->tasks[i] = (struct task){exec, i};
        if (weights)
            add_chunk(exec, EXEC_MEMORY_WEIGHTS, weights, bytes,
                      bound->steps[i].info.inputs[1]->name);
    }
    rc = exec_device_allocate(exec, diag);
    if (rc == 0 && exec_streams_open(exec) < 0)
        rc = diag_set(diag, -EIO, "%s", exec->device_backend->problem(exec->device));
    if (rc == 0)
        bound_place(bound, exec->arena, exec->device_arena);
    return rc < 0 ? rc : exec_device_rehearse(exec, diag);
}

/* Inner steps, in the order in which ops/control.h numbers them. */

static void list_body(struct exec *exec, const struct graph *body, uint32_t holder);

static void list_inner(struct exec *exec, const struct node *node, uint32_t holder)
{
    for (uint32_t i = 0; i < node->attribute_count; i++)
        if (node->attributes[i].type == ATTRIBUTE_GRAPH)
            list_body(exec, node->attributes[i].graph, holder);
}

static void list_body(struct exec *exec, const struct graph *body, uint32_t holder)
{
    for (uint32_t i = 0; i < body->node_count; i++) {
        const struct node *node = body->nodes[i];

        exec->inner[exec->inner_count++] = (struct inner_step){
            {.name = node->name,
             .type = node->op_type,
             .implementation = "chosen when it runs",
             .node = node,
             .inputs = (const struct value *const *)node->inputs,
             .input_count = node->input_count,
             .outputs = (const struct value *const *)node->outputs,
             .output_count = node->output_count,
             .device = "cpu:0",
             .is_inner = true},
            holder,
        };
        list_inner(exec, node, holder);
    }
}

static bool holds_steps(const struct bound_step *step)
{
    return step->info.node && !step->value && control_is(step->info.node);
}

static int list_all_inner(struct exec *exec, struct diag *diag)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < exec->bound->step_count; i++)
        if (holds_steps(&exec->bound->steps[i]))
            count += control_inner_count(exec->bound->steps[i].info.node);
    exec->inner = calloc((size_t)count + 1, sizeof(*exec->inner));
    if (!exec->inner)
        return diag_set(diag, -ENOMEM, "out of memory");
    for (uint32_t i = 0; i < exec->bound->step_count; i++) {
        struct bound_step *step = &exec->bound->steps[i];

        if (!holds_steps(step))
            continue;
        step->call.first_inner = exec->inner_count;
        list_inner(exec, step->info.node, i);
    }
    return 0;
}

/* Creation */

struct bind_task {
    const struct graph *graph;
    struct bind_options options;
    struct bound *bound;
    struct diag *diag;
    int result;
};

static void run_bind(void *argument)
{
    struct bind_task *task = argument;

    task->result = bind_graph(task->graph, &task->options, &task->bound, task->diag);
}

static uint32_t usable_cpus(void)
{
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof(set), &set) < 0)
        return 1;
    return (uint32_t)CPU_COUNT(&set);
}

int exec_create(const struct graph *graph, const struct exec_options *options,
                struct exec **out_exec, struct diag *diag)
{
    struct exec *exec = calloc(1, sizeof(*exec));
    struct bind_task task = {
        .graph = graph,
        .options = {options->is_lavish, options->frees_packed, options->kernels, options->layouts},
        .diag = diag,
    };
    int rc;

    if (!exec)
        return diag_set(diag, -ENOMEM, "out of memory");
    exec->graph = graph;
    exec->backend = &backend_cpu;
    exec->is_recorded = options->is_recorded;
    exec->resized_step = EXEC_NO_STEP;
    rc = exec_device_open(exec, options, diag);
    if (rc < 0)
        goto out;
    task.options.backend = exec->device_backend;
    task.options.device = exec->device;
    task.options.streams = options->streams;
    exec->threads = options->threads ? options->threads : usable_cpus();
    rc = exec->backend->queue_create(
        &(struct backend_queue_config){exec->threads, options->is_inline || exec->device,
                                       options->cores},
        &exec->queue);
    if (rc < 0) {
        diag_set(diag, rc,
                 rc == -EINVAL ? "a core of --multi-thread-core-ids cannot be used"
                               : "cannot start the worker thread");
        goto out;
    }
    exec->backend->queue_push(exec->queue, run_bind, &task);
    exec->backend->queue_wait(exec->queue);
    exec->bound = task.bound;
    rc = task.result;
    if (rc == 0)
        rc = allocate(exec, diag);
    if (rc == 0)
        rc = list_all_inner(exec, diag);
    if (rc == 0 && exec_list_needed(exec) < 0)
        rc = diag_set(diag, -ENOMEM, "out of memory");
    if (rc < 0)
        goto out;
    *out_exec = exec;
    exec = NULL; /* ownership moved to the caller */
out:
    exec_destroy(&exec);
    return rc;
}

void exec_destroy(struct exec **exec_ptr)
{
    struct exec *exec = *exec_ptr;

    *exec_ptr = NULL;
    if (!exec)
        return;
    if (exec->queue)
        exec->backend->queue_destroy(exec->queue);
    for (uint32_t i = 0; exec->input_memory && i < exec->graph->input_count; i++)
        exec->backend->free(exec->input_memory[i], input_bytes(exec, i));
    if (exec->bound)
        exec->backend->free(exec->arena, arena_bytes(exec));
    exec_device_close(exec);
    bound_destroy(&exec->bound);
    free(exec->input_memory);
    free(exec->needed);
    free(exec->chunks);
    free(exec->inner);
    free(exec->tasks);
    free(exec);
}

static void tell_inner(void *user, uint32_t inner, enum call_moment moment)
{
    const struct exec *exec = user;
    uint64_t ticks = ot_clock_ticks();

    for (uint32_t i = 0; i < exec->observer_count; i++)
        if (exec->observers[i].inner &&
            (exec->observers[i].wants_phases || moment == CALL_START || moment == CALL_END))
            exec->observers[i].inner(exec->observers[i].user, moment, inner, ticks);
}

int exec_add_observer(struct exec *exec, const struct exec_observer *observer)
{
    if (exec->observer_count == EXEC_OBSERVERS_MAX)
        return -ENOSPC;
    exec->observers[exec->observer_count++] = *observer;
    exec->observers_take_time |= observer->takes_time;
    exec->inner_watch = (struct call_watch){
        exec, exec->inner_watch.wants_phases || observer->wants_phases, tell_inner};
    for (uint32_t i = 0; observer->inner && i < exec->bound->step_count; i++)
        if (holds_steps(&exec->bound->steps[i]))
            exec->bound->steps[i].call.watch = &exec->inner_watch;
    return 0;
}

void exec_remove_observer(struct exec *exec, const struct exec_observer *observer)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < exec->observer_count; i++) {
        if (exec->observers[i].user != observer->user)
            exec->observers[kept++] = exec->observers[i];
    }
    exec->observer_count = kept;
    exec->observers_take_time = false;
    for (uint32_t i = 0; i < kept; i++)
        exec->observers_take_time |= exec->observers[i].takes_time;
}

/* Running */

static void tell(const struct exec *exec, enum exec_moment moment, uint32_t step, uint64_t ticks)
{
    for (uint32_t i = 0; i < exec->observer_count; i++)
        exec->observers[i].moment(exec->observers[i].user, moment, step, ticks);
}

/* Two moments between which nothing is done but by observers. A reading of the clock costs as much
 * as all that a recorder does with it. */
static void tell_both(const struct exec *exec, enum exec_moment first, enum exec_moment second,
                      uint32_t step)
{
    const uint64_t ticks = ot_clock_ticks();

    tell(exec, first, step, ticks);
    tell(exec, second, step, exec->observers_take_time ? ot_clock_ticks() : ticks);
}

static void fail(struct exec *exec, int error, uint32_t step)
{
    exec->run_failed = true;
    if (exec->failure == 0) {
        exec->failure = error;
        exec->failed_step = step;
    }
}

static void begin_run(void *argument)
{
    struct exec *exec = argument;
    int rc = exec_device_begin(exec);

    exec->run_failed = false;
    exec->device_pending = exec->device && exec->observer_count > 0;
    if (rc < 0)
        fail(exec, rc, UINT32_MAX);
}

/* How many numbers are above a limit may hang on the last bit of one of them, and passes and layouts change
 * that: then the step goes by the numbers that sizes were inferred from. */
static int run_on_host(struct exec *exec, uint32_t index)
{
    const struct bound_step *step = &exec->bound->steps[index];
    int rc = bound_step_run(step);

    if (rc != -ESTALE || step->copied != PLAN_NONE || step->value)
        return rc;
    rc = bound_step_run_as_inferred(step);
    if (rc == 0 && exec->resized_step == EXEC_NO_STEP)
        exec->resized_step = index;
    return rc;
}

static void do_step(const struct task *task, bool is_timed)
{
    struct exec *exec = task->exec;
    const struct bound_step *step = &exec->bound->steps[task->step];
    int rc;

    if (exec->run_failed)
        return;
    if (limits_is_over())
        rc = -ETIME;
    else if (step->info.on_device)
        rc = exec_device_step(exec, task->step, is_timed);
    else
        rc = run_on_host(exec, task->step);
    if (rc == 0 && !step->info.on_device)
        rc = exec_streams_mark(exec, task->step);
    if (rc < 0)
        fail(exec, rc, task->step);
}

static void run_step(void *argument)
{
    do_step(argument, false);
}

/* Streams wait before the step is dispatched: by then it is known for what. */
static void prepare_step(void *argument)
{
    const struct task *task = argument;
    int rc = task->exec->run_failed ? 0 : exec_streams_prepare(task->exec, task->step);

    if (rc < 0)
        fail(task->exec, rc, task->step);
}

static void prepare(struct exec *exec, uint32_t step)
{
    if (exec->bound->stream_count > 1)
        exec->backend->queue_push(exec->queue, prepare_step, &exec->tasks[step]);
}

static void run_step_observed(void *argument)
{
    const struct task *task = argument;

    if (task->exec->bound->steps[task->step].info.on_device) {
        do_step(task, true);
        return;
    }
    tell_both(task->exec, EXEC_DEVICE_START, EXEC_DEVICE_KERN, task->step);
    run_step(argument);
    tell(task->exec, EXEC_DEVICE_END, task->step, ot_clock_ticks());
}

static void dispatch_observed(struct exec *exec, uint32_t step)
{
    tell_both(exec, EXEC_HOST_START, EXEC_HOST_KERN, step);
    exec->backend->queue_push(exec->queue, run_step_observed, &exec->tasks[step]);
    tell(exec, EXEC_HOST_END, step, ot_clock_ticks());
}

/* All steps as one item of the queue. */
static void run_recorded(void *argument)
{
    struct exec *exec = argument;
    int rc = 0;

    if (exec_device_replay(exec, &rc)) {
        if (rc < 0)
            fail(exec, rc, UINT32_MAX);
        return;
    }
    for (uint32_t i = 0; i < exec->bound->step_count; i++) {
        if (exec->bound->stream_count > 1)
            prepare_step(&exec->tasks[i]);
        run_step(&exec->tasks[i]);
    }
}

void exec_dispatch(struct exec *exec)
{
    exec->backend->queue_push(exec->queue, begin_run, exec);
    if (exec->is_recorded && (!exec->observer_count || exec_device_is_graph(exec))) {
        exec->backend->queue_push(exec->queue, run_recorded, exec);
        return;
    }
    for (uint32_t i = 0; i < exec->bound->step_count; i++) {
        prepare(exec, i);
        if (exec->observer_count)
            dispatch_observed(exec, i);
        else
            exec->backend->queue_push(exec->queue, run_step, &exec->tasks[i]);
    }
}

static void do_nothing(void *argument)
{
}

void exec_dispatch_nothing(struct exec *exec)
{
    for (uint32_t i = 0; i < exec->bound->step_count; i++)
        exec->backend->queue_push(exec->queue, do_nothing, &exec->tasks[i]);
}

void exec_dispatch_fake(struct exec *exec)
{
    exec->backend->queue_push(exec->queue, exec_touch_all, exec);
    exec_dispatch_nothing(exec);
}

int exec_run_step(struct exec *exec, uint32_t step, struct exec_step_times *out_times,
                  struct diag *diag)
{
    uint64_t start_ns = ot_clock_ns(CLOCK_MONOTONIC), handed_ns;
    int rc;

    if (step == 0 || exec->device)
        begin_run(exec); /* nothing is queued */
    prepare(exec, step);
    if (exec->observer_count)
        dispatch_observed(exec, step);
    else
        exec->backend->queue_push(exec->queue, run_step, &exec->tasks[step]);
    handed_ns = ot_clock_ns(CLOCK_MONOTONIC);
    rc = exec_wait(exec, diag);
    if (out_times)
        *out_times = (struct exec_step_times){
            .host_ns = handed_ns - start_ns,
            .e2e_ns = ot_clock_ns(CLOCK_MONOTONIC) - start_ns,
        };
    return rc;
}

static int tell_failure(const struct exec *exec, int error, struct diag *diag)
{
    const bool is_device = exec->device && exec->device_backend->problem(exec->device)[0] != '\0';
    const struct bound_step *step;
    const char *reason;

    if (error == -ETIME)
        return limits_check_time(diag);
    reason = is_device ? exec->device_backend->problem(exec->device)
                       : call_problem(&(struct call){0}, error);
    if (exec->failed_step >= exec->bound->step_count) /* what was handed over fails later */
        return diag_set(diag, error, "%s; which operator it was is not known", reason);
    step = &exec->bound->steps[exec->failed_step];
    if (!is_device)
        reason = call_problem(&step->call, error);
    return diag_set(diag, error, "node \"%s\" (%s): %s", step->info.name, step->info.type, reason);
}

/* What went wrong on a device is known by now. */
static void finish_device(struct exec *exec)
{
    uint32_t step = UINT32_MAX;
    int rc = exec->failure == 0 ? exec_device_finish(exec, &step) : 0;

    exec->device_pending = false;
    if (rc < 0)
        fail(exec, rc, step);
}

int exec_wait(struct exec *exec, struct diag *diag)
{
    int rc;

    exec->backend->queue_wait(exec->queue);
    finish_device(exec);
    rc = exec->failure;
    exec->failure = 0;
    return rc < 0 ? tell_failure(exec, rc, diag) : 0;
}

/* Inputs, outputs, facts */

const struct exec_step *exec_resized_step(const struct exec *exec)
{
    return exec->resized_step == EXEC_NO_STEP ? NULL : &exec->bound->steps[exec->resized_step].info;
}

bool exec_takes_input(const struct exec *exec, uint32_t index, const struct tensor_view *tensor)
{
    const struct value *value = exec->graph->inputs[index];

    return tensor->dtype == value->dtype && shape_equal(&tensor->shape, &value->shape) &&
           (!value->known || memcmp(value->known, tensor->data, input_bytes(exec, index)) == 0);
}

int exec_set_input(struct exec *exec, uint32_t index, const struct tensor_view *tensor,
                   struct diag *diag)
{
    const struct value *value;
    char got[SHAPE_TEXT_BYTES], want[SHAPE_TEXT_BYTES];

    if (index >= exec->graph->input_count)
        return diag_set(diag, -EINVAL, "the model has no input %u", (unsigned)index);
    value = exec->graph->inputs[index];
    if (tensor->dtype != value->dtype || !shape_equal(&tensor->shape, &value->shape))
        return diag_set(diag, -EINVAL, "input \"%s\" is %s %s, not %s %s", value->name,
                        dtype_name(value->dtype), shape_text(&value->shape, want),
                        dtype_name(tensor->dtype), shape_text(&tensor->shape, got));
    if (!exec_takes_input(exec, index, tensor))
        return diag_set(diag, -EINVAL,
                        "input \"%s\" decides about shapes, and these are for "
                        "another content",
                        value->name);
    exec->backend->queue_wait(exec->queue);
    exec->backend->copy_in(exec->input_memory[index], tensor->data, input_bytes(exec, index));
    if (exec_device_put_input(exec, index) < 0)
        return diag_set(diag, -EIO, "%s", exec->device_backend->problem(exec->device));
    return 0;
}

int exec_output(const struct exec *exec, uint32_t index, struct tensor_view *out_tensor)
{
    const struct value *value;

    if (index >= exec->graph->output_count)
        return -EINVAL;
    value = exec->graph->outputs[index];
    *out_tensor = (struct tensor_view){value->dtype, value->shape, NULL};
    return exec_device_output(exec, index, &out_tensor->data);
}

int exec_tell_output(const struct exec *exec, uint32_t index, int error, struct diag *diag)
{
    return diag_set(diag, error, "output \"%s\" cannot be read: %s",
                    exec->graph->outputs[index]->name,
                    exec->device ? exec->device_backend->problem(exec->device) : "it is lost");
}
