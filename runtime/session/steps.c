/* SPDX-License-Identifier: Apache-2.0 */
/* Step by step, with tools around each step. */
#include "runtime/session/steps.h"

#include <assert.h>
#include <errno.h>

#include "base/clock.h"

void step_tools_add(struct step_tools *tools, const struct step_tool *tool)
{
    assert(tools->count < STEP_TOOLS_MAX);
    tools->items[tools->count++] = *tool;
}

int steps_copy(const struct exec *exec, const struct exec_operand *operand,
               struct tensor_view *out_view)
{
    struct tensor_view view = {operand->value->dtype, operand->value->shape,
                               graph_alloc_data(operand->bytes)};

    if (!view.data)
        return -ENOMEM;
    exec_read(exec, operand, view.data);
    *out_view = view;
    return 0;
}

static int run_step(const struct program *program, const struct step_tools *tools,
                    uint32_t instruction, struct diag *diag)
{
    uint32_t step = program->instructions.items[instruction].step;
    struct exec_step_times times;
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < tools->count; i++) {
        if (tools->items[i].before)
            rc = tools->items[i].before(tools->items[i].user, program, instruction, diag);
    }
    if (rc == 0)
        rc = exec_run_step(program->exec, step, &times, diag);
    for (uint32_t i = 0; rc == 0 && i < tools->count; i++) {
        if (tools->items[i].after)
            rc = tools->items[i].after(tools->items[i].user, program, instruction, &times, diag);
    }
    return rc;
}

int steps_run(const struct program *program, const struct step_tools *tools,
              struct session_times *out_times, struct diag *diag)
{
    uint64_t start_ns = ot_clock_ns(CLOCK_MONOTONIC);
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < program->instructions.count; i++) {
        if (program->instructions.items[i].step != PROGRAM_NONE)
            rc = run_step(program, tools, i, diag);
    }
    for (uint32_t i = 0; rc == 0 && i < tools->count; i++) {
        if (tools->items[i].end)
            rc = tools->items[i].end(tools->items[i].user, program, diag);
    }
    out_times->e2e_ns = out_times->host_ns = ot_clock_ns(CLOCK_MONOTONIC) - start_ns;
    return rc;
}
