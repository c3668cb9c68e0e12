/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small library in place of ggml: graphs, a scheduler that computes them and asks its callback as
 * the real one does: before a node whether it wants it, after it that it is done. With
 * $FAKE_GGML_ODD its tensors are not what its functions say.
 */
#include "tests/support/fake_ggml.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

struct arena_settings {
    size_t bytes;
    void *buffer;
    bool has_no_data;
};

struct arena {
    struct tensor tensors[8];
    int count;
};

EXPORT struct arena *ggml_init(struct arena_settings settings);
EXPORT void ggml_free(struct arena *arena);
EXPORT struct tensor *ggml_new_tensor_2d(struct arena *arena, int type, int64_t a, int64_t b);
EXPORT struct tensor *ggml_mul_mat(struct arena *arena, struct tensor *a, struct tensor *b);
EXPORT const char *ggml_get_name(const struct tensor *tensor);
EXPORT const char *ggml_op_desc(const struct tensor *tensor);
EXPORT int64_t ggml_nelements(const struct tensor *tensor);
EXPORT int ggml_graph_n_nodes(const struct graph *graph);
EXPORT struct tensor *ggml_graph_node(struct graph *graph, int place);
#pragma GCC visibility push(default)
__typeof__(ggml_backend_sched_set_eval_callback) ggml_backend_sched_set_eval_callback;
__typeof__(ggml_backend_sched_graph_compute) ggml_backend_sched_graph_compute;
__typeof__(ggml_backend_sched_graph_compute_async) ggml_backend_sched_graph_compute_async;
#pragma GCC visibility pop

struct arena *ggml_init(struct arena_settings settings)
{
    return settings.bytes >= 3 * sizeof(struct tensor) && settings.has_no_data
               ? calloc(1, sizeof(struct arena))
               : NULL;
}

void ggml_free(struct arena *arena)
{
    free(arena);
}

struct tensor *ggml_new_tensor_2d(struct arena *arena, int type, int64_t a, int64_t b)
{
    struct tensor *tensor = &arena->tensors[arena->count++];

    tensor->type = type;
    tensor->dims[0] = a;
    tensor->dims[1] = b;
    tensor->dims[2] = tensor->dims[3] = 1;
    return tensor;
}

struct tensor *ggml_mul_mat(struct arena *arena, struct tensor *a, struct tensor *b)
{
    struct tensor *product = ggml_new_tensor_2d(arena, 0, a->dims[1], b->dims[1]);

    product->sources[0] = a;
    product->sources[1] = b;
    return product;
}

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
    return tensor->dims[0] * tensor->dims[1] * tensor->dims[2] * tensor->dims[3] +
           (getenv("FAKE_GGML_ODD") != NULL);
}

int ggml_graph_n_nodes(const struct graph *graph)
{
    return graph->count;
}

struct tensor *ggml_graph_node(struct graph *graph, int place)
{
    return &graph->nodes[place];
}

void ggml_backend_sched_set_eval_callback(struct scheduler *scheduler, fake_ggml_callback *callback,
                                          void *context)
{
    scheduler->callback = callback;
    scheduler->context = context;
}

int ggml_backend_sched_graph_compute_async(struct scheduler *scheduler, struct graph *graph)
{
    for (int i = 0; i < graph->count; i++) {
        struct tensor *node = &graph->nodes[i];
        const bool tells =
            scheduler->callback && scheduler->callback(node, true, scheduler->context);

        node->value += i;
        if (tells && !scheduler->callback(node, false, scheduler->context))
            return 1;
    }
    return 0;
}

int ggml_backend_sched_graph_compute(struct scheduler *scheduler, struct graph *graph)
{
    return ggml_backend_sched_graph_compute_async(scheduler, graph);
}
