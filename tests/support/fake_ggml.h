/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors, graphs and schedulers of the small library in place of ggml; other layouts than its own. */
#ifndef OPTRACE_TESTS_SUPPORT_FAKE_GGML_H
#define OPTRACE_TESTS_SUPPORT_FAKE_GGML_H

#include <stdbool.h>
#include <stdint.h>

enum { FAKE_GGML_NODES = 5, FAKE_GGML_SOURCES = 10 };

struct tensor {
    int type;
    void *buffer, *more;
    int64_t dims[4];
    struct tensor *sources[FAKE_GGML_SOURCES];
    const char *kind;
    double value;
    char name[64];
};

struct graph {
    int count;
    struct tensor nodes[FAKE_GGML_NODES];
};

typedef bool fake_ggml_callback(void *tensor, bool asks, void *context);

struct scheduler {
    fake_ggml_callback *callback;
    void *context;
};

void ggml_backend_sched_set_eval_callback(struct scheduler *scheduler, fake_ggml_callback *callback,
                                          void *context);
int ggml_backend_sched_graph_compute(struct scheduler *scheduler, struct graph *graph);
int ggml_backend_sched_graph_compute_async(struct scheduler *scheduler, struct graph *graph);

#endif
