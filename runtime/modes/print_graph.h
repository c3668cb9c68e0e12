/* SPDX-License-Identifier: Apache-2.0 */
/* --print-graph: a model's instructions before and after optimisation, without running it. */
#ifndef OPTRACE_RUNTIME_MODES_PRINT_GRAPH_H
#define OPTRACE_RUNTIME_MODES_PRINT_GRAPH_H

#include <stdint.h>
#include <stdio.h>

#include "base/diag.h"
#include "runtime/exec/exec.h"
#include "runtime/inputs/input.h"
#include "runtime/passes/pass.h"

enum print_format {
    PRINT_TEXT,
    PRINT_DOT,
    PRINT_JSON,
    PRINT_BRIEF
}; /* brief: DOT without detail */
enum print_stage { PRINT_BOTH, PRINT_BEFORE, PRINT_AFTER };

struct print_config {
    const char *path;                /* of the model */
    const struct input_list *inputs; /* borrowed: they decide about shapes */
    struct exec_options exec;
    struct pass_options passes;
    enum print_format format;
    enum print_stage stage;
};

/** Errors of session_load() and session_prepare(); what is known of the graph by then is printed.
 */
int print_graph(const struct print_config *config, FILE *out, struct diag *diag);

#endif
