/* SPDX-License-Identifier: Apache-2.0 */
/* Measuring what the performance report shows. */
#include "runtime/modes/perf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

enum { BRACKETS = 10001 }; /* empty ones, to learn what the clock costs */

/* What the observer writes, on the worker. */
struct watch {
    struct perf *perf;
    uint64_t *start_ticks; /* by step */
    uint64_t *ticks;       /* by step: of this run */
};

static void observe(void *user, enum exec_moment moment, uint32_t step, uint64_t ticks)
{
    struct watch *watch = user;

    if (moment == EXEC_DEVICE_KERN)
        watch->start_ticks[step] = ticks;
    else if (moment == EXEC_DEVICE_END)
        watch->ticks[step] = ticks - watch->start_ticks[step];
}

static int add_sample(struct samples *samples, uint64_t capacity, double ms)
{
    if (!samples->values)
        samples->values = calloc(capacity, sizeof(*samples->values));
    if (!samples->values)
        return -ENOMEM;
    samples->values[samples->count++] = ms;
    return 0;
}

/* --- The measurements. --- */

static int run_whole(struct perf *perf, uint64_t count, bool is_kept, struct diag *diag)
{
    struct session_times times;
    int rc = 0;

    for (uint64_t i = 0; rc == 0 && i < count; i++) {
        rc = session_run(perf->session, &times, diag);
        if (rc == 0 && is_kept)
            rc = add_sample(&perf->whole, count, (double)times.e2e_ns * 1e-6);
    }
    return rc;
}

static int keep_run(struct perf *perf, const struct watch *watch, double ns_per_tick)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < perf->step_count; i++)
        rc = add_sample(&perf->steps[i], perf->config->run_count,
                        (double)watch->ticks[i] * ns_per_tick * 1e-6);
    return rc;
}

/* Ticks become ns by the clocks at both ends of a spin of 20 ms. */
static double measure_tick(void)
{
    struct ot_clock_triple first = ot_clock_read_triple(), last;

    do
        last = ot_clock_read_triple();
    while (last.monotonic_ns - first.monotonic_ns < 20000000);
    return (double)(last.monotonic_ns - first.monotonic_ns) / (double)(last.ticks - first.ticks);
}

static int compare_ticks(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* The median time between two readings of the clock. */
static int measure_clock(struct perf *perf, double ns_per_tick)
{
    uint64_t *ticks = malloc(BRACKETS * sizeof(*ticks));

    if (!ticks)
        return -ENOMEM;
    for (int i = 0; i < BRACKETS; i++) {
        uint64_t start = ot_clock_ticks();

        ticks[i] = ot_clock_ticks() - start;
    }
    qsort(ticks, BRACKETS, sizeof(*ticks), compare_ticks);
    perf->clock_ms = (double)ticks[BRACKETS / 2] * ns_per_tick * 1e-6;
    free(ticks);
    return 0;
}

static int run_watched(struct perf *perf, struct diag *diag)
{
    struct watch watch = {
        .perf = perf,
        .start_ticks = calloc(perf->step_count + 1, sizeof(*watch.start_ticks)),
        .ticks = calloc(perf->step_count + 1, sizeof(*watch.ticks)),
    };
    struct exec_observer observer = {&watch, observe};
    double ns_per_tick = measure_tick();
    int rc = measure_clock(perf, ns_per_tick);

    if (!watch.start_ticks || !watch.ticks)
        rc = -ENOMEM;
    if (rc == 0)
        rc = exec_add_observer(perf->session->exec, &observer);
    for (uint64_t i = 0; rc == 0 && i < perf->config->run_count; i++) {
        rc = session_run(perf->session, NULL, diag);
        if (rc == 0)
            rc = keep_run(perf, &watch, ns_per_tick);
    }
    exec_remove_observer(perf->session->exec, &observer);
    free(watch.start_ticks);
    free(watch.ticks);
    return rc;
}

static int run_nothing(struct perf *perf, struct diag *diag)
{
    int rc = 0;

    for (uint64_t i = 0; rc == 0 && i < perf->config->run_count; i++) {
        uint64_t start = ot_clock_ns(CLOCK_MONOTONIC);

        exec_dispatch_nothing(perf->session->exec);
        rc = exec_wait(perf->session->exec, diag);
        if (rc == 0)
            rc = add_sample(&perf->nothing, perf->config->run_count,
                            (double)(ot_clock_ns(CLOCK_MONOTONIC) - start) * 1e-6);
    }
    return rc;
}

/* --- The report. --- */

/* The first dimension, where all inputs that have one agree on it. */
static uint64_t find_batch(const struct graph *graph)
{
    int64_t batch = 0;

    for (uint32_t i = 0; i < graph->input_count; i++) {
        const struct shape *shape = &graph->inputs[i]->shape;

        if (shape->rank < 1)
            continue;
        if (batch != 0 && shape->dims[0] != batch)
            return 1;
        batch = shape->dims[0];
    }
    return batch > 0 ? (uint64_t)batch : 1;
}

static int measure(struct perf *perf, struct diag *diag)
{
    const struct perf_config *config = perf->config;
    int rc = program_init(&perf->program, perf->session->graph, perf->session->exec);

    perf->step_count = exec_step_count(perf->session->exec);
    perf->steps = calloc(perf->step_count + 1, sizeof(*perf->steps));
    perf->batch = find_batch(perf->session->graph);
    if (!perf->steps)
        rc = -ENOMEM;
    if (rc == 0)
        rc = run_whole(perf, config->warmup_count, false, diag);
    if (rc == 0)
        rc = run_whole(perf, config->run_count, true, diag);
    if (rc == 0)
        rc = run_watched(perf, diag);
    if (rc == 0)
        rc = run_nothing(perf, diag);
    samples_sort(&perf->whole);
    samples_sort(&perf->nothing);
    for (uint32_t i = 0; perf->steps && i < perf->step_count; i++)
        samples_sort(&perf->steps[i]);
    return rc;
}

int perf_report(const struct perf_config *config, FILE *out, struct diag *diag)
{
    const struct session_config session_config = {.inputs = config->inputs,
                                                  .seed = config->seed,
                                                  .exec = config->exec,
                                                  .passes = config->passes};
    struct perf perf = {.config = config};
    int rc = session_load(config->path, false, config->passes.half != DTYPE_NONE, config->inputs,
                          &perf.session, diag);

    if (rc == 0)
        rc = session_prepare(perf.session, &session_config, diag);
    if (rc == 0)
        rc = measure(&perf, diag);
    if (rc == 0)
        rc = config->json ? perf_print_json(&perf, out) : perf_print_text(&perf, out);
    free(perf.whole.values);
    free(perf.nothing.values);
    for (uint32_t i = 0; perf.steps && i < perf.step_count; i++)
        free(perf.steps[i].values);
    free(perf.steps);
    program_deinit(&perf.program);
    session_destroy(&perf.session);
    return rc == -ENOMEM ? diag_set(diag, rc, "no memory for the report") : rc;
}
