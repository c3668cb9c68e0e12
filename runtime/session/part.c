/* SPDX-License-Identifier: Apache-2.0 */
/* Computing a part of a graph by an execution of its own. */
#include "runtime/session/part.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/exec/exec.h"
#include "runtime/exec/op_cost.h"
#include "runtime/graph/run_limits.h"

/* Choosing kernels, laying weights out and compiling take some milliseconds. */
#define OPERATIONS_MIN ((int64_t)10 << 20)

static bool pays(const struct graph *graph, const struct shape_part *part)
{
    int64_t operations = 0;

    for (uint32_t i = 0; i < graph->node_count && operations < OPERATIONS_MIN; i++) {
        int64_t own = part->nodes[i] ? op_cost_computation(graph->nodes[i]) : 0;

        operations += own < 0 ? 0 : own < OPERATIONS_MIN ? own : OPERATIONS_MIN;
    }
    return operations >= OPERATIONS_MIN;
}

static int set_inputs(struct exec *exec, const struct graph *copy, const struct graph *graph,
                      struct diag *diag)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < copy->input_count; i++) {
        const struct value *input = copy->inputs[i];
        const struct value *value = graph_find_value(graph, input->name);

        rc = exec_set_input(exec, i,
                            &(struct tensor_view){value->dtype, value->shape, value->known}, diag);
    }
    return rc;
}

/* All of them, or none. */
static int take_outputs(const struct exec *exec, const struct shape_part *part)
{
    void **taken = calloc((size_t)part->wanted_count + 1, sizeof(*taken));
    int rc = taken ? 0 : -ENOMEM;

    for (uint32_t i = 0; rc == 0 && i < part->wanted_count; i++) {
        const struct value *value = part->wanted[i];
        size_t bytes = (size_t)shape_bytes(&value->shape, value->dtype);
        struct tensor_view view;

        rc = exec_output(exec, i, &view);
        if (rc == 0 && !(taken[i] = graph_alloc_data(bytes)))
            rc = -ENOMEM;
        if (rc == 0)
            memcpy(taken[i], view.data, bytes);
    }
    for (uint32_t i = 0; taken && i < part->wanted_count; i++) {
        if (rc == 0)
            part->wanted[i]->known = taken[i];
        else
            free(taken[i]);
    }
    free(taken);
    return rc;
}

static int run(struct graph *copy, const struct graph *graph, const struct shape_part *part,
               const struct part_config *config, struct diag *diag)
{
    struct pass_options passes = *config->passes;
    struct exec_options options = {.threads = config->threads, .is_inline = true};
    struct exec *exec = NULL;
    int rc;

    passes.half = DTYPE_NONE;
    passes.widens = false;
    passes.joins_attention = passes.joins_half_attention = passes.joins_gelu = false;
    passes.folds_scales = passes.no_lookups = passes.no_places = false;
    rc = graph_optimise(copy, &passes, eval_node_as_run, diag);
    if (rc >= 0)
        rc = exec_create(copy, &options, &exec, diag);
    if (rc == 0)
        rc = set_inputs(exec, copy, graph, diag);
    if (rc == 0) {
        exec_dispatch(exec);
        rc = exec_wait(exec, diag);
    }
    if (rc == 0)
        rc = take_outputs(exec, part);
    exec_destroy(&exec);
    return rc;
}

int part_compute(void *user, const struct graph *graph, const struct shape_part *part,
                 struct diag *diag)
{
    struct graph *copy = NULL;
    struct diag reason = {0};
    int rc;

    if (!pays(graph, part))
        return 0;
    rc = graph_copy_part(graph, part->nodes, part->wanted, part->wanted_count, &copy);
    if (rc == 0)
        rc = run(copy, graph, part, user, &reason);
    graph_destroy(&copy);
    if (limits_is_over())
        return limits_check_time(diag);
    return rc == 0; /* what went wrong is told by who computes it node by node */
}
