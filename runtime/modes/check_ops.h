/* SPDX-License-Identifier: Apache-2.0 */
/* --verify-against ref: each step of a run against the plain reference kernel of its node. */
#ifndef OPTRACE_RUNTIME_MODES_CHECK_OPS_H
#define OPTRACE_RUNTIME_MODES_CHECK_OPS_H

#include <stdint.h>
#include <stdio.h>

#include "base/diag.h"
#include "runtime/exec/exec.h"
#include "runtime/inputs/input.h"
#include "runtime/passes/pass.h"

struct check_config {
    const char *path;                /* of the model */
    const struct input_list *inputs; /* borrowed */
    uint64_t seed;
    struct exec_options exec;
    struct pass_options passes;
    double rms_tol; /* above 0: in place of both, for floating types; see compare.h */
    double rtol,
        atol; /* negative: 1e-3 (2^-7 for bfloat16), and 1e-5 of the largest expected magnitude */
    bool verbose; /* a line for every step, not only for those that differ */
};

/**
 * One run, step by step. What a step made is held against what the reference kernel makes of the
 * same inputs, so that each operator answers for itself and errors do not add up; what decides is
 * |got - expected| <= atol + rtol * |expected| for every element. Reorders and views are checked
 * with the step that reads them.
 *
 * Prints a line for each step that differs, with its worst element, and a summary that names the
 * first.
 *
 * Returns 1 when all agree, 0 when one does not, or a negative errno when the model cannot be run.
 */
int check_ops(const struct check_config *config, FILE *out, struct diag *diag);

#endif
