/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tuning: timing kernels.
 *
 * All operators of the graph that have a choice are called one after the other, as in a run, so
 * that between two calls of one the others have driven its weights out of the caches. In each round
 * an operator that is to be timed computes once with the next of its kernels and once with the
 * default one, in turn which comes first. Both times come from the same moments of a machine that
 * does other things, too: what counts is their ratio, and no kernel counts as faster than it was
 * ever seen to be, in case only the default one was disturbed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "runtime/tune/private.h"

enum {
    UNTIMED_PASSES = 2,
    TIMED_PASSES = 6,
    PASSES = UNTIMED_PASSES + TIMED_PASSES,
};

/* A kernel is given up when its best time so far is this often the default's, by pass: a first run
 * meets memory that nobody touched, and any may be interrupted. */
static const uint64_t hopeless[PASSES] = {50, 10, 4, 3, 2, 2, 2, 2};

/* An operator in a round. */
struct lap {
    struct call *base;    /* the default; NULL where no call fits the subject's sizes */
    struct call own_base; /* it may be this; else it is the step's */
    uint64_t least_ns;    /* of the default over all rounds */
    struct call call;     /* the round's candidate */
    bool has_call;
    struct candidate *candidate;
    uint64_t base_ns, call_ns; /* the least of the round, timed passes only */
    uint64_t first_ns;         /* and of all passes */
};

struct timing {
    struct tune_job *job;
    struct tune_memory memory;
    struct lap *laps;     /* by op */
    uint64_t done, total; /* passes over a step */
};

static bool is_wanted(const struct tune_job *job, const struct tune_op *op, int i)
{
    return i == 0 || !op->candidates[i].version.is_reference ||
           job->tuning->options.run == TUNE_FULL;
}

/* The step's own call, unless that is of another batch or kernel. */
static int find_base(struct timing *timing, struct tune_op *op, struct lap *lap)
{
    if (!op->is_scaled && op->count > 0 &&
        strcmp(timing->job->steps[op->first_step].call.version, op->candidates[0].version.name) ==
            0) {
        lap->base = &timing->job->steps[op->first_step].call;
        return 0;
    }
    if (!op->is_timed)
        return 0;
    lap->base = &lap->own_base;
    return call_bind_version(&op->subject.request, op->subject.is_plan, &op->candidates[0].version,
                             lap->base);
}

/* The next candidate of an op for this round; none is left: has_call stays false. */
static void bind_next(struct timing *timing, struct tune_op *op, struct lap *lap)
{
    for (int i = 1; i < op->count && !lap->has_call; i++) {
        struct candidate *candidate = &op->candidates[i];

        if (candidate->time_ns > 0 || candidate->is_refused || !is_wanted(timing->job, op, i))
            continue;
        lap->candidate = candidate;
        lap->has_call = call_bind_version(&op->subject.request, op->subject.is_plan,
                                          &candidate->version, &lap->call) == 0;
        candidate->is_refused = !lap->has_call;
    }
    if (lap->has_call) {
        lap->candidate->workspace_bytes = lap->call.workspace_bytes;
        lap->candidate->has_workspace = true;
        lap->base_ns = lap->call_ns = lap->first_ns = UINT64_MAX;
    }
}

static uint64_t time_call(struct timing *timing, const struct subject *subject, struct call *call)
{
    uint64_t start;

    if (tune_memory_place(&timing->memory, subject, call) < 0)
        return 0;
    start = ot_clock_ns(CLOCK_MONOTONIC);
    if (call_run(call) < 0)
        return 0;
    return ot_clock_ns(CLOCK_MONOTONIC) - start + 1;
}

static void drop_candidate(struct lap *lap)
{
    call_deinit(&lap->call);
    lap->has_call = false;
}

/* The first of the two warms the images up for the second, so they take turns. */
static void time_both(struct timing *timing, struct tune_op *op, struct lap *lap, int pass)
{
    uint64_t base_ns = 0, call_ns;

    if (pass % 2 == 0)
        base_ns = time_call(timing, &op->subject, lap->base);
    call_ns = time_call(timing, &op->subject, &lap->call);
    if (pass % 2 != 0)
        base_ns = time_call(timing, &op->subject, lap->base);
    if (base_ns == 0 || call_ns == 0) {
        lap->candidate->is_refused = true;
        drop_candidate(lap);
        return;
    }
    lap->least_ns = base_ns < lap->least_ns ? base_ns : lap->least_ns;
    lap->first_ns = call_ns < lap->first_ns ? call_ns : lap->first_ns;
    if (lap->first_ns > hopeless[pass] * lap->least_ns) {
        lap->candidate->is_slow = true;
        lap->candidate->time_ns = lap->first_ns;
        drop_candidate(lap);
        return;
    }
    if (pass < UNTIMED_PASSES)
        return;
    lap->base_ns = base_ns < lap->base_ns ? base_ns : lap->base_ns;
    lap->call_ns = call_ns < lap->call_ns ? call_ns : lap->call_ns;
}

/* One walk over all steps that have a choice. */
static void pass_over(struct timing *timing, int pass)
{
    struct tune_job *job = timing->job;

    for (uint32_t i = 0; i < job->step_count; i++) {
        uint32_t index = job->step_ops[i];
        struct tune_op *op;
        struct lap *lap;

        if (index == PLAN_NONE || job->ops.items[index].count < 2)
            continue;
        op = &job->ops.items[index];
        lap = &timing->laps[index];
        if (lap->has_call && op->first_step == i)
            time_both(timing, op, lap, pass);
        else if (!op->is_scaled)
            time_call(timing, &op->subject, &job->steps[i].call);
        else if (lap->base)
            time_call(timing, &op->subject, lap->base);
        tune_progress(job, ++timing->done, timing->total);
    }
}

/* Times become those of the whole: the default's least, times the round's ratio. */
static void note_round(struct timing *timing)
{
    struct tune_job *job = timing->job;

    for (size_t i = 0; i < job->ops.count; i++) {
        struct lap *lap = &timing->laps[i];

        if (!lap->has_call)
            continue;
        /* Kept as parts per million of the default until all rounds are over. */
        lap->candidate->time_ns = (uint64_t)(1e6 * (double)lap->call_ns / (double)lap->base_ns) + 1;
        lap->candidate->least_ns = lap->call_ns;
        drop_candidate(lap);
    }
}

static bool begin_round(struct timing *timing)
{
    struct tune_job *job = timing->job;
    bool has_any = false;

    for (size_t i = 0; i < job->ops.count; i++) {
        struct tune_op *op = &job->ops.items[i];

        if (op->is_timed)
            bind_next(timing, op, &timing->laps[i]);
        has_any = has_any || timing->laps[i].has_call;
    }
    return has_any;
}

static int begin(struct timing *timing)
{
    struct tune_job *job = timing->job;
    uint64_t steps = 0, most = 0;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < job->ops.count; i++) {
        struct tune_op *op = &job->ops.items[i];
        uint64_t rounds = 0;

        timing->laps[i].least_ns = UINT64_MAX;
        rc = find_base(timing, op, &timing->laps[i]);
        if (!op->is_timed)
            continue;
        for (int k = 1; k < op->count; k++)
            rounds += is_wanted(job, op, k);
        most = rounds > most ? rounds : most;
    }
    for (uint32_t i = 0; i < job->step_count; i++)
        steps += job->step_ops[i] != PLAN_NONE && job->ops.items[job->step_ops[i]].count > 1;
    timing->total = most * PASSES * steps;
    return rc == 0 ? 0 : diag_set(job->diag, rc, "a kernel that was there is not any more");
}

/* What was kept as a ratio becomes nanoseconds. */
static uint64_t time_of(const struct candidate *candidate, uint64_t base_ns)
{
    uint64_t time_ns = (uint64_t)((double)base_ns * (double)candidate->time_ns / 1e6) + 1;

    return time_ns > candidate->least_ns ? time_ns : candidate->least_ns;
}

/* Who gave up has his time. */
static void finish(struct timing *timing)
{
    struct tune_job *job = timing->job;

    for (size_t i = 0; i < job->ops.count; i++) {
        struct tune_op *op = &job->ops.items[i];
        uint64_t base_ns = timing->laps[i].least_ns;

        if (!op->is_timed || base_ns == UINT64_MAX)
            continue;
        op->candidates[0].time_ns = base_ns;
        op->candidates[0].workspace_bytes = timing->laps[i].base->workspace_bytes;
        op->candidates[0].has_workspace = true;
        for (int k = 1; k < op->count; k++)
            if (op->candidates[k].time_ns > 0 && !op->candidates[k].is_slow)
                op->candidates[k].time_ns = time_of(&op->candidates[k], base_ns);
    }
}

int tune_time(struct tune_job *job)
{
    struct timing timing = {
        .job = job,
        .laps = calloc(job->ops.count + 1, sizeof(*timing.laps)),
    };
    const uint64_t start_ns = ot_clock_ns(CLOCK_MONOTONIC);
    int rc = timing.laps ? 0 : -ENOMEM;

    tune_progress(job, 0, 1);
    if (rc == 0)
        rc = begin(&timing);
    while (rc == 0 && begin_round(&timing)) {
        for (int pass = 0; pass < PASSES; pass++)
            pass_over(&timing, pass);
        note_round(&timing);
    }
    if (rc == 0)
        finish(&timing);
    tune_progress(job, 1, 1);
    for (size_t i = 0; timing.laps && i < job->ops.count; i++) {
        call_deinit(&timing.laps[i].own_base);
        call_deinit(&timing.laps[i].call);
    }
    free(timing.laps);
    tune_memory_deinit(&timing.memory);
    job->timing_ns += ot_clock_ns(CLOCK_MONOTONIC) - start_ns;
    return rc == -ENOMEM ? diag_set(job->diag, rc, "out of memory") : rc;
}
