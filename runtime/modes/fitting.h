/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --fitting: which options make a model run fastest here. First the ways to hand steps over, set
 * against each other; then each choice of optimisation alone on top of what is best so far, and it
 * stays where it helps.
 *
 * In each of three rounds a candidate is run three times, then ten times for its time, and then so
 * is the best so far, so that a machine that becomes slower does no harm. It wins where its median
 * is 2 % lower in each round, and only if its outputs are those of the options as they were given.
 */
#ifndef OPTRACE_RUNTIME_MODES_FITTING_H
#define OPTRACE_RUNTIME_MODES_FITTING_H

#include <stdbool.h>
#include <stdio.h>

#include "base/diag.h"
#include "runtime/exec/exec.h"
#include "runtime/inputs/input.h"
#include "runtime/passes/pass.h"

/** What a candidate is made of. */
struct fitting_setup {
    struct exec_options exec;
    struct pass_options passes;
    bool shares; /* parameters stay in their file */
};

struct fitting_config {
    const char *path;
    const struct input_list *inputs; /* borrowed */
    uint64_t seed;
    struct fitting_setup base; /* as the command line has it */
    /** Whether an option may be tried; `name` without dashes. */
    bool (*may_try)(const void *user, const char *name);
    const void *user;
    const char *inline_option; /* what stands for base.exec.is_inline: "cpu-default" */
};

/**
 * Says on stderr what each candidate takes, and on `out` the best options, one in a line as they
 * are written on the command line.
 *
 * Returns 0, or what loading, preparing or running the model as it was given fails with. Candidates
 * that fail, take more than ten seconds or give other outputs are left out, which it says.
 */
int fitting_run(const struct fitting_config *config, FILE *out, struct fitting_setup *out_best,
                struct diag *diag);

#endif
