/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the steps of a device ran. Events before and behind each are always there; where a library's
 * records of the run are whole they say it instead. Once they were not, events do. Of runs that are
 * launched as one graph it is always events, which are a part of the graph.
 */
#include <inttypes.h>
#include <stdio.h>

#include "runtime/exec/private.h"

/* Moment 0, and for each step when the one before was done, and when it was. */
int exec_times_begin(struct exec *exec)
{
    const struct device_backend *backend = exec->device_backend;
    const uint32_t steps = exec->bound->step_count;
    int rc = backend->make_moments(exec->device, 2 * steps + 1);

    exec->times.is_recorded = false;
    if (rc == 0)
        rc = backend->note(exec->device, 0);
    if (rc == 0)
        rc = backend->await(exec->device, 0);
    exec->first_ticks = ot_clock_ticks();
    if (rc == 0 && !exec->times.problem && !exec_device_is_graph(exec)) {
        exec->times.problem = backend->records_begin(exec->device, steps);
        exec->times.is_recorded = !exec->times.problem;
    }
    exec->begun = ot_clock_read_triple();
    return rc;
}

int exec_times_before(struct exec *exec, uint32_t step)
{
    return exec->device_backend->note(exec->device, 2 * step + 1);
}

int exec_times_after(struct exec *exec, uint32_t step)
{
    return exec->device_backend->note(exec->device, 2 * step + 2);
}

static double ticks_per_ns(const struct exec *exec)
{
    struct ot_clock_triple now = ot_clock_read_triple();
    double ns = (double)(now.monotonic_ns - exec->zero.monotonic_ns);

    return ns > 0.0 ? (double)(now.ticks - exec->zero.ticks) / ns : 1.0;
}

/* So many ns later, in the unit of this program's clock. */
static uint64_t ticks_after(uint64_t ticks, int64_t ns, double rate)
{
    return ticks + (uint64_t)(ns > 0 ? (double)ns * rate : 0.0);
}

static void tell(const struct exec *exec, uint32_t step, uint64_t start, uint64_t kern,
                 uint64_t end)
{
    for (uint32_t i = 0; i < exec->observer_count; i++) {
        const struct exec_observer *observer = &exec->observers[i];

        observer->moment(observer->user, EXEC_DEVICE_START, step, start);
        observer->moment(observer->user, EXEC_DEVICE_KERN, step, kern);
        observer->moment(observer->user, EXEC_DEVICE_END, step, end);
    }
}

/* Of a graph: the host hands its waits over once, when there is no run. */
static void tell_order(const struct exec *exec, uint32_t step, uint64_t start, uint64_t end)
{
    const struct bound_step *bound = &exec->bound->steps[step];

    for (uint32_t i = 0; i < exec->observer_count; i++) {
        const struct exec_observer *observer = &exec->observers[i];

        for (uint32_t k = 0; observer->wait && k < bound->wait_count; k++)
            observer->wait(observer->user, step, bound->waits[k], start);
        if (observer->mark && bound->mark != 0)
            observer->mark(observer->user, step, end, end);
    }
}

static int tell_by_events(const struct exec *exec, uint32_t step, double rate)
{
    int64_t start = 0, end = 0;
    uint64_t start_ticks, end_ticks;
    int rc = exec->device_backend->since_first(exec->device, 2 * step + 1, &start);

    if (rc == 0)
        rc = exec->device_backend->since_first(exec->device, 2 * step + 2, &end);
    start_ticks = ticks_after(exec->first_ticks, start, rate);
    end_ticks = ticks_after(exec->first_ticks, end, rate);
    if (rc == 0 && exec_device_is_graph(exec))
        tell_order(exec, step, start_ticks, end_ticks);
    if (rc == 0)
        tell(exec, step, start_ticks, start_ticks, end_ticks);
    return rc;
}

static void tell_by_records(const struct exec *exec, uint32_t step, const struct device_span *span,
                            double rate)
{
    const uint64_t zero = exec->begun.realtime_ns, ticks = exec->begun.ticks;
    const uint64_t kern = span->kern_ns ? span->kern_ns : span->start_ns;

    tell(exec, step, ticks_after(ticks, (int64_t)(span->start_ns - zero), rate),
         ticks_after(ticks, (int64_t)(kern - zero), rate),
         ticks_after(ticks, (int64_t)(span->end_ns - zero), rate));
}

/* In the order of the steps. One of which nothing was recorded has launched nothing. */
int exec_times_tell(struct exec *exec)
{
    const struct device_span *spans = NULL;
    const double rate = ticks_per_ns(exec);
    int rc = 0;

    if (exec->times.is_recorded)
        exec->times.problem = exec->device_backend->records_end(exec->device, &spans);
    if (exec->times.problem)
        spans = NULL;
    exec->times.is_recorded = false;
    *(exec_device_is_graph(exec) ? &exec->times.graph_runs
      : spans                    ? &exec->times.recorded_runs
                                 : &exec->times.event_runs) += 1;
    for (uint32_t i = 0; rc == 0 && i < exec->bound->step_count; i++) {
        if (!exec->bound->steps[i].info.on_device)
            continue;
        if (spans && spans[i].end_ns != 0)
            tell_by_records(exec, i, &spans[i], rate);
        else
            rc = tell_by_events(exec, i, rate);
    }
    return rc;
}

bool exec_times_text(const struct exec *exec, char out_text[EXEC_TIMES_TEXT])
{
    char recorded[64] = "", noted[EXEC_TIMES_TEXT / 2] = "";

    if (exec->times.graph_runs > 0)
        snprintf(recorded, sizeof(recorded), "%" PRIu64 " run%s by events within the graph",
                 exec->times.graph_runs, exec->times.graph_runs == 1 ? "" : "s");
    if (exec->times.recorded_runs > 0)
        snprintf(recorded, sizeof(recorded), "%" PRIu64 " run%s by records of %s",
                 exec->times.recorded_runs, exec->times.recorded_runs == 1 ? "" : "s",
                 exec->device_backend->records_name(exec->device));
    if (exec->times.event_runs > 0)
        snprintf(noted, sizeof(noted), "%" PRIu64 " run%s by events: %s", exec->times.event_runs,
                 exec->times.event_runs == 1 ? "" : "s", exec->times.problem);
    snprintf(out_text, EXEC_TIMES_TEXT, "times of the device: %s%s%s", recorded,
             recorded[0] && noted[0] ? ", " : "", noted);
    return recorded[0] || noted[0];
}
