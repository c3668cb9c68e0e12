/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small library in place of ggml: graphs of four nodes, a scheduler that computes them and asks its
 * callback as the real one does: before a node whether it wants it, after it that it is done.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

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

EXPORT const char *ggml_get_name(const struct tensor *tensor);
EXPORT const char *ggml_op_desc(const struct tensor *tensor);
EXPORT int64_t ggml_nelements(const struct tensor *tensor);
EXPORT void ggml_backend_sched_set_eval_callback(struct scheduler *scheduler,
                                                 bool (*callback)(void *, bool, void *),
                                                 void *context);
EXPORT int ggml_backend_sched_graph_compute(struct scheduler *scheduler, struct tensor *graph);
EXPORT int ggml_backend_sched_graph_compute_async(struct scheduler *scheduler,
                                                  struct tensor *graph);

_Static_assert(offsetof(struct tensor, dims) == 16, "as ggml has it");

const char *ggml_get_name(const struct tensor *tensor)
{
    return tensor->name;
}

const char *ggml_op_desc(const struct tensor *tensor)
{
    return tensor->kind;
}

int64_t ggml_nelements(const struct tensor *tensor)
{
    return tensor->dims[0] * tensor->dims[1] * tensor->dims[2] * tensor->dims[3];
}

void ggml_backend_sched_set_eval_callback(struct scheduler *scheduler,
                                          bool (*callback)(void *, bool, void *), void *context)
{
    scheduler->callback = callback;
    scheduler->context = context;
}

int ggml_backend_sched_graph_compute_async(struct scheduler *scheduler, struct tensor *graph)
{
    for (int i = 0; i < 4; i++) {
        const bool tells =
            scheduler->callback && scheduler->callback(&graph[i], true, scheduler->context);

        graph[i].value += i;
        if (tells && !scheduler->callback(&graph[i], false, scheduler->context))
            return 1;
    }
    return 0;
}

int ggml_backend_sched_graph_compute(struct scheduler *scheduler, struct tensor *graph)
{
    return ggml_backend_sched_graph_compute_async(scheduler, graph);
}
