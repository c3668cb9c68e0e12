/* SPDX-License-Identifier: Apache-2.0 */
/* A program with ggml, and without us: inject_ggml_program [own], with a callback of its own. A graph
 * of five tokens is computed again and again, then one of a token in the same place. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "tests/support/fake_ggml.h"

static bool count(void *tensor, bool asks, void *context)
{
    ++*(int *)context;
    return true;
}

static struct tensor weights = {.type = 1, .dims = {8, 32, 1, 1}, .name = "wq"};
static struct graph graph = {
    FAKE_GGML_NODES,
    {
        {.kind = "GET_ROWS", .name = "embd"},
        {.kind = "MUL_MAT", .name = "Qcur-0", .sources = {&weights, &graph.nodes[0]}},
        {.kind = "RESHAPE", .name = "Qcur-0 (reshaped)", .sources = {&graph.nodes[1]}},
        {.kind = "SOFT_MAX", .name = "kq-0", .sources = {&graph.nodes[2]}},
        {.kind = "ADD", .name = "l_out-0", .sources = {&graph.nodes[3], &graph.nodes[1]}},
    },
};

static void build(int64_t tokens)
{
    const int64_t widths[FAKE_GGML_NODES] = {8, 32, 16, 16, 32};

    for (int i = 0; i < FAKE_GGML_NODES; i++) {
        int64_t *dims = graph.nodes[i].dims;

        dims[0] = widths[i];
        dims[1] = tokens * (widths[i] == 16 ? 2 : 1);
        dims[2] = dims[3] = 1;
    }
}

int main(int argc, char **argv)
{
    struct scheduler scheduler = {0};
    int calls = 0, status = 0;

    if (argc > 1)
        ggml_backend_sched_set_eval_callback(&scheduler, count, &calls);
    build(5);
    for (int i = 0; i < 20; i++)
        status |= ggml_backend_sched_graph_compute_async(&scheduler, &graph);
    build(1);
    for (int i = 0; i < 5; i++)
        status |= ggml_backend_sched_graph_compute(&scheduler, &graph);
    printf("%g %g %d %d %d\n", graph.nodes[1].value, graph.nodes[4].value, calls, status,
           scheduler.callback != NULL);
    return 0;
}
