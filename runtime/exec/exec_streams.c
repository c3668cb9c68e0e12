/* SPDX-License-Identifier: Apache-2.0 */
/* Running on several streams of a device: who goes where, and waits for what. */
#include "runtime/exec/private.h"

/* Marks: one for each stream, as a run begins or ends; then those of steps. */
static uint32_t mark_of(const struct exec *exec, const struct bound_step *step)
{
    return exec->bound->stream_count + step->mark - 1;
}

static bool has_streams(const struct exec *exec)
{
    return exec->device && exec->bound->stream_count > 1;
}

int exec_streams_open(struct exec *exec)
{
    const struct bound *bound = exec->bound;
    int rc;

    if (!has_streams(exec))
        return 0;
    rc = exec->device_backend->make_streams(exec->device, bound->stream_count);
    return rc < 0 ? rc
                  : exec->device_backend->make_marks(exec->device,
                                                     bound->stream_count + bound->mark_count);
}

int exec_streams_join(struct exec *exec)
{
    const struct device_backend *backend = exec->device_backend;
    int rc = 0;

    if (!has_streams(exec))
        return 0;
    for (uint32_t s = 1; rc == 0 && s < exec->bound->stream_count; s++) {
        backend->choose(exec->device, s);
        rc = backend->mark(exec->device, s);
        backend->choose(exec->device, 0);
        if (rc == 0)
            rc = backend->follow(exec->device, s);
    }
    return rc;
}

int exec_streams_fork(struct exec *exec)
{
    const struct device_backend *backend = exec->device_backend;
    int rc;

    if (!has_streams(exec))
        return 0;
    backend->choose(exec->device, 0);
    rc = backend->mark(exec->device, 0);
    for (uint32_t s = 1; rc == 0 && s < exec->bound->stream_count; s++) {
        backend->choose(exec->device, s);
        rc = backend->follow(exec->device, 0);
    }
    return rc;
}

int exec_streams_prepare(struct exec *exec, uint32_t step)
{
    const struct device_backend *backend = exec->device_backend;
    const struct bound_step *bound = &exec->bound->steps[step];
    int rc = 0;

    if (!has_streams(exec) || (!bound->info.on_device && bound->copied == PLAN_NONE))
        return 0;
    backend->choose(exec->device, bound->stream);
    for (uint32_t i = 0; rc == 0 && i < bound->wait_count; i++) {
        uint64_t ticks = ot_clock_ticks();

        rc = backend->follow(exec->device, mark_of(exec, &exec->bound->steps[bound->waits[i]]));
        for (uint32_t k = 0; rc == 0 && !exec->is_capturing && k < exec->observer_count; k++)
            if (exec->observers[k].wait)
                exec->observers[k].wait(exec->observers[k].user, step, bound->waits[i], ticks);
    }
    return rc;
}

int exec_streams_mark(struct exec *exec, uint32_t step)
{
    const struct bound_step *bound = &exec->bound->steps[step];
    uint64_t start;
    int rc;

    if (!has_streams(exec) || bound->mark == 0)
        return 0;
    start = ot_clock_ticks();
    rc = exec->device_backend->mark(exec->device, mark_of(exec, bound));
    for (uint32_t k = 0; rc == 0 && !exec->is_capturing && k < exec->observer_count; k++)
        if (exec->observers[k].mark)
            exec->observers[k].mark(exec->observers[k].user, step, start, ot_clock_ticks());
    return rc;
}
