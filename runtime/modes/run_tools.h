/* SPDX-License-Identifier: Apache-2.0 */
/* Which tools look into a timing run, from the options to session/steps.h. */
#ifndef OPTRACE_RUNTIME_MODES_RUN_TOOLS_H
#define OPTRACE_RUNTIME_MODES_RUN_TOOLS_H

#include "runtime/modes/checkers.h"
#include "runtime/modes/io_dump.h"
#include "runtime/modes/trace_eval.h"

struct run_tools_config {
    enum trace_eval_level trace_eval;
    struct io_dump_config dump;
    double range;                /* <= 0: not checked */
    const char *check_var_value; /* NULL: not checked */
    bool check_dispatch;         /* say on stderr which operators hand no work to the device */
};

struct run_tools {
    const struct run_tools_config *config;
    struct trace_eval trace;
    struct io_dump dump;
    struct range_checker range;
    struct value_checker value;
    struct step_tools tools;
    struct program program;
    bool is_active; /* runs go step by step, by run_tools_run() */
};

/**
 * After session_prepare(). out is where traces are printed, and what else tools have to say.
 * Returns 0, or a negative errno with a sentence; run_tools_deinit() is right after either.
 */
int run_tools_init(struct run_tools *tools, const struct run_tools_config *config,
                   const struct session *session, FILE *out, struct diag *diag);

/** Whether they look at each step; dumps of outputs alone do not. */
bool run_tools_go_stepwise(const struct run_tools_config *config);

/** One run, as session_run(). */
int run_tools_run(struct run_tools *tools, struct session_times *out_times, struct diag *diag);

/** After each run that computes, however it went: dumps of outputs. */
int run_tools_finish(struct run_tools *tools, const struct session *session, struct diag *diag);

/** Ends dumps: -EIO when one could not be written. {0} is allowed. */
int run_tools_deinit(struct run_tools *tools, struct diag *diag);

#endif
