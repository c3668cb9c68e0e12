/* SPDX-License-Identifier: Apache-2.0 */
/* The tools that options ask for. */
#include "base/text.h"
#include "runtime/modes/run_tools.h"

#include <stdio.h>

/* Views, which cost nothing, are all that hands over no work here. */
static void tell_dispatch(const struct program *program)
{
    const char *device = exec_device_facts(program->exec).name;

    for (size_t i = 0; i < program->instructions.count; i++) {
        const struct instruction *instruction = &program->instructions.items[i];

        if (instruction->kind == INSTRUCTION_VIEW)
            text_print(stderr, "load_and_run: operator %s{%s} does not dispatch kernel on %s\n",
                       instruction->node->name, instruction->type, device ? device : "cpu:0");
    }
}

static int add_checkers(struct run_tools *tools, FILE *out, struct diag *diag)
{
    const struct run_tools_config *config = tools->config;
    struct step_tool tool;
    int rc;

    if (config->range > 0) {
        tools->range.limit = config->range;
        tool = range_checker_tool(&tools->range);
        step_tools_add(&tools->tools, &tool);
    }
    if (!config->check_var_value)
        return 0;
    rc = value_checker_parse(config->check_var_value, &tools->value, diag);
    if (rc < 0)
        return rc;
    tools->value.out = out;
    tool = value_checker_tool(&tools->value);
    step_tools_add(&tools->tools, &tool);
    return 0;
}

int run_tools_init(struct run_tools *tools, const struct run_tools_config *config,
                   const struct session *session, FILE *out, struct diag *diag)
{
    struct step_tool tool;
    int rc;

    *tools = (struct run_tools){.config = config};
    if (config->trace_eval != TRACE_EVAL_OFF) {
        tools->trace = (struct trace_eval){config->trace_eval, out};
        tool = trace_eval_tool(&tools->trace);
        step_tools_add(&tools->tools, &tool);
    }
    rc = add_checkers(tools, out, diag);
    if (rc == 0 && io_dump_is_wanted(&config->dump))
        rc = io_dump_open(&tools->dump, &config->dump, diag);
    if (rc == 0 && io_dump_looks_inside(&config->dump)) {
        tool = io_dump_tool(&tools->dump);
        step_tools_add(&tools->tools, &tool);
    }
    tools->is_active = tools->tools.count > 0;
    if (rc == 0 && (tools->is_active || config->check_dispatch))
        rc = program_init(&tools->program, session->graph, session->exec);
    if (rc == 0 && config->check_dispatch)
        tell_dispatch(&tools->program);
    return rc;
}

bool run_tools_go_stepwise(const struct run_tools_config *config)
{
    return config->trace_eval != TRACE_EVAL_OFF || config->range > 0 || config->check_var_value ||
           io_dump_looks_inside(&config->dump);
}

int run_tools_finish(struct run_tools *tools, const struct session *session, struct diag *diag)
{
    return io_dump_is_wanted(&tools->config->dump)
               ? io_dump_outputs(&tools->dump, session->graph, session->exec, diag)
               : 0;
}

int run_tools_run(struct run_tools *tools, struct session_times *out_times, struct diag *diag)
{
    return steps_run(&tools->program, &tools->tools, out_times, diag);
}

int run_tools_deinit(struct run_tools *tools, struct diag *diag)
{
    int rc = io_dump_close(&tools->dump, diag);

    value_checker_deinit(&tools->value);
    program_deinit(&tools->program);
    *tools = (struct run_tools){0};
    return rc;
}
