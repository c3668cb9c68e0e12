/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs of a program step by step, with tools that look at what each step reads and makes: traces of
 * values, dumps, checks. Each step is waited for, so such runs are slower than others; what their
 * times are good for is told by whoever prints them.
 */
#ifndef OPTRACE_RUNTIME_SESSION_STEPS_H
#define OPTRACE_RUNTIME_SESSION_STEPS_H

#include <stdint.h>

#include "base/diag.h"
#include "runtime/session/program.h"
#include "runtime/session/session.h"

/* One tool. Each function may be NULL; a negative errno, with a sentence in diag, ends the run. */
struct step_tool {
    void *user;
    /** The inputs are what the step will read. */
    int (*before)(void *user, const struct program *program, uint32_t instruction,
                  struct diag *diag);
    /** The outputs are what it made; inputs that it worked on in place are gone. */
    int (*after)(void *user, const struct program *program, uint32_t instruction,
                 const struct exec_step_times *times, struct diag *diag);
    /** All steps of a run are done. */
    int (*end)(void *user, const struct program *program, struct diag *diag);
};

enum { STEP_TOOLS_MAX = 8 };

struct step_tools {
    struct step_tool items[STEP_TOOLS_MAX];
    uint32_t count;
};

void step_tools_add(struct step_tools *tools, const struct step_tool *tool);

/** One run. out_times  from its first step on, the tools included */
int steps_run(const struct program *program, const struct step_tools *tools,
              struct session_times *out_times, struct diag *diag);

/** A row-major copy of an operand on the host; the caller frees out_view->data. -ENOMEM. */
int steps_copy(const struct exec *exec, const struct exec_operand *operand,
               struct tensor_view *out_view);

#endif
