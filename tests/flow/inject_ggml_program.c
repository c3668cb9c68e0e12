/* SPDX-License-Identifier: Apache-2.0 */
/* A program with ggml, and without us: inject_ggml_program [own], with a callback of its own. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct tensor {
    int type;
    void *buffer;
    int64_t dims[4];
    const char *kind, *name;
    double value;
};

struct scheduler {
    bool (*callback)(void *, bool, void *);
    void *context;
};

void ggml_backend_sched_set_eval_callback(struct scheduler *scheduler,
                                          bool (*callback)(void *, bool, void *), void *context);
int ggml_backend_sched_graph_compute(struct scheduler *scheduler, struct tensor *graph);
int ggml_backend_sched_graph_compute_async(struct scheduler *scheduler, struct tensor *graph);

static bool count(void *tensor, bool asks, void *context)
{
    ++*(int *)context;
    return true;
}

int main(int argc, char **argv)
{
    struct tensor graph[4] = {
        {.dims = {32, 5, 1, 1}, .kind = "MUL_MAT", .name = "Qcur-0"},
        {.dims = {16, 10, 1, 1}, .kind = "RESHAPE", .name = "Qcur-0 (reshaped)"},
        {.dims = {16, 10, 1, 1}, .kind = "SOFT_MAX", .name = "kq-0"},
        {.dims = {32, 5, 1, 1}, .kind = "ADD", .name = "l_out-0"},
    };
    struct scheduler scheduler = {0};
    int calls = 0, status = 0;

    if (argc > 1)
        ggml_backend_sched_set_eval_callback(&scheduler, count, &calls);
    for (int i = 0; i < 20; i++)
        status |= ggml_backend_sched_graph_compute_async(&scheduler, graph);
    for (int i = 0; i < 5; i++)
        status |= ggml_backend_sched_graph_compute(&scheduler, graph);
    printf("%g %g %d %d %d\n", graph[0].value, graph[3].value, calls, status,
           scheduler.callback != NULL);
    return 0;
}
