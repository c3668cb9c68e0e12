/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --perf-report: MIGraphX's performance report. Warm-ups, then three measurements of `run_count`
 * runs each: whole runs, with nothing watching; runs in which each instruction is timed where it
 * runs, on the queue's worker, without waiting in between; walks over the instructions that
 * compute nothing. perf.c measures, perf_print.c prints.
 */
#ifndef OPTRACE_RUNTIME_MODES_PERF_H
#define OPTRACE_RUNTIME_MODES_PERF_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/diag.h"
#include "runtime/inputs/input.h"
#include "runtime/session/program.h"
#include "runtime/session/samples.h"
#include "runtime/session/session.h"

struct perf_config {
    const char *path;                /* of the model */
    const struct input_list *inputs; /* borrowed */
    uint64_t seed;
    struct exec_options exec;
    struct pass_options passes;
    uint64_t warmup_count, run_count; /* run_count > 0 */
    bool detailed;                    /* the summary tells shapes apart */
    bool json;
};

/* All times in ms, sorted. */
struct perf {
    const struct perf_config *config;
    struct session *session;
    struct program program;
    struct samples whole;   /* runs */
    struct samples nothing; /* walks that compute nothing */
    struct samples *steps;  /* by step of the execution */
    uint32_t step_count;
    double clock_ms; /* what timing an instruction adds to it, the time of an empty bracket */
    uint64_t batch;  /* first dimension of the inputs; 1 where they do not agree on one */
};

/** Measure and print. Errors of session_load(), session_prepare() and session_run(). */
int perf_report(const struct perf_config *config, FILE *out, struct diag *diag);

/* --- perf_print.c --- */

/** Returns 0 or -ENOMEM. */
int perf_print_text(const struct perf *perf, FILE *out);
int perf_print_json(const struct perf *perf, FILE *out);

#endif
