/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ggml, below llama.cpp, whisper.cpp and their bindings: each graph that a scheduler computes is a
 * run, and a label in it says how many tokens it is of and what it computes; of one in some each node
 * is an op, told by the scheduler's callback. A program that has a callback of its own keeps it, and
 * has runs only. Graphs are computed again without a new callback, so ours is set and taken away
 * around each.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/op_flop.h"
#include "client/inject/found.h"
#include "client/inject/ggml_layout.h"
#include "client/inject/names.h"
#include "client/inject/nodes.h"
#include "client/inject/real.h"
#include "client/inject/recorder.h"
#include "client/inject/runs.h"

enum { DIMS = GGML_DIMS, SCHEDULERS_MAX = 64, KEY_NODE = 103, KEY_GRAPH = 108 };

typedef int compute_type(void *scheduler, void *graph);
typedef void set_callback_type(void *scheduler, ggml_callback *callback, void *context);

struct tensor {
    int32_t type; /* of ggml's; -1: not known */
    int32_t is_there;
    int64_t dims[DIMS];
};

struct node {
    uint64_t key; /* tells these keys from others */
    struct tensor result, sources[GGML_SOURCES];
    char kind[32];
    char name[64];
};

OT_HOOK compute_type ggml_backend_sched_graph_compute, ggml_backend_sched_graph_compute_async;
OT_HOOK set_callback_type ggml_backend_sched_set_eval_callback;

static struct real compute_real = {
    "ggml_backend_sched_graph_compute", (void (*)(void))ggml_backend_sched_graph_compute, {NULL}};
static struct real compute_async_real = {"ggml_backend_sched_graph_compute_async",
                                         (void (*)(void))ggml_backend_sched_graph_compute_async,
                                         {NULL}};
static struct real set_callback_real = {"ggml_backend_sched_set_eval_callback",
                                        (void (*)(void))ggml_backend_sched_set_eval_callback,
                                        {NULL}};

static pthread_once_t asked = PTHREAD_ONCE_INIT;
static bool is_wanted, has_lost_one; /* there was no room for a program's callback */
static struct nodes_place graphs;

/* Schedulers for which the program has set a callback. */
static const void *schedulers[SCHEDULERS_MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static OT_TLS uint32_t depth; /* one function of these calls the other */
static OT_TLS struct optrace_span node_span;

static uint32_t dtype_of(int32_t type)
{
    switch (type) {
    case 0:
        return OPTRACE_DTYPE_F32;
    case 1:
        return OPTRACE_DTYPE_F16;
    case 24:
        return OPTRACE_DTYPE_I8;
    case 25:
        return OPTRACE_DTYPE_I16;
    case 26:
        return OPTRACE_DTYPE_I32;
    case 27:
        return OPTRACE_DTYPE_I64;
    case 28:
        return OPTRACE_DTYPE_F64;
    case 30:
        return OPTRACE_DTYPE_BF16;
    default:
        return OPTRACE_DTYPE_UNKNOWN; /* in blocks, quantised */
    }
}

static void ask(void)
{
    is_wanted = recorder_wants("ggml");
}

/* --- Whose callback it is --- */

static bool is_theirs(const void *scheduler)
{
    bool found = false;

    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < SCHEDULERS_MAX && !found; i++)
        found = schedulers[i] == scheduler;
    pthread_mutex_unlock(&lock);
    return found;
}

/* False where there is no room for one more. */
static bool note_callback(const void *scheduler, bool has_callback)
{
    const void **place = NULL;

    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < SCHEDULERS_MAX; i++) {
        if (schedulers[i] == scheduler)
            schedulers[i] = NULL;
        if (!schedulers[i] && !place)
            place = &schedulers[i];
    }
    if (place && has_callback)
        *place = scheduler;
    pthread_mutex_unlock(&lock);
    return place || !has_callback;
}

void ggml_backend_sched_set_eval_callback(void *scheduler, ggml_callback *callback, void *context)
{
    set_callback_type *const theirs =
        (set_callback_type *)real_find(&set_callback_real, __builtin_return_address(0));

    if (!note_callback(scheduler, callback != NULL))
        __atomic_store_n(&has_lost_one, true,
                         __ATOMIC_RELAXED); /* rather no nodes than this lost */
    theirs(scheduler, callback, context);
}

/* --- Nodes --- */

static void fill_tensor(const struct ggml_library *library, const void *tensor,
                        struct tensor *out_tensor)
{
    int64_t count = 1;

    if (!tensor)
        return;
    ggml_dims(library, tensor, out_tensor->dims);
    out_tensor->type = -1;
    if (library->has_types)
        memcpy(&out_tensor->type, tensor, sizeof(out_tensor->type));
    for (int i = 0; i < DIMS && count >= 0; i++) {
        if (out_tensor->dims[i] < 0 || __builtin_mul_overflow(count, out_tensor->dims[i], &count))
            count = -1;
    }
    out_tensor->is_there = count == library->element_count(tensor);
}

static void fill_node(const struct ggml_library *library, const void *tensor, struct node *out_node)
{
    snprintf(out_node->kind, sizeof(out_node->kind), "%s", library->kind(tensor));
    if (!library->has_layout)
        return;
    fill_tensor(library, tensor, &out_node->result);
    for (int i = 0; i < GGML_SOURCES; i++)
        fill_tensor(library, ggml_source(library, tensor, i), &out_node->sources[i]);
}

/* The slowest dim first. */
static struct op_flop_shape shape_of(const struct tensor *tensor)
{
    struct op_flop_shape shape = {.rank = tensor->is_there ? DIMS : -1};

    for (int i = 0; i < DIMS; i++)
        shape.dims[i] = tensor->dims[DIMS - 1 - i];
    return shape;
}

static int64_t flop_of(const struct node *node)
{
    const struct op_flop_call call = {
        .name = node->kind,
        .inputs = {shape_of(&node->sources[0]), shape_of(&node->sources[1]),
                   shape_of(&node->sources[2])},
        .input_count = GGML_SOURCES,
        .output = shape_of(&node->result),
    };

    return op_flop_ggml(&call);
}

static uint64_t define(const void *context)
{
    const struct node *node = context;
    const struct optrace_tensor output = {NULL, node->result.dims, DIMS,
                                          dtype_of(node->result.type)};
    struct optrace_tensor inputs[GGML_SOURCES];
    struct optrace_op_info info = OPTRACE_OP_INFO(node->name, node->kind);
    uint32_t op = 0;

    info.outputs = &output;
    info.output_count = node->result.is_there != 0;
    info.inputs = inputs;
    for (int i = 0; i < GGML_SOURCES && node->sources[i].is_there; i++) {
        inputs[i] = (struct optrace_tensor){NULL, node->sources[i].dims, DIMS,
                                            dtype_of(node->sources[i].type)};
        info.input_count++;
    }
    info.computation_flop = flop_of(node);
    return recorder.op_define(&info, &op) == 0 ? op : 0;
}

/* These compute nothing: they look at memory in another way. */
static bool is_view(const char *kind)
{
    static const char *const views[] = {"NONE", "VIEW", "RESHAPE", "PERMUTE", "TRANSPOSE"};

    for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++) {
        if (strcmp(kind, views[i]) == 0)
            return true;
    }
    return false;
}

static uint32_t op_of_node(const struct ggml_library *library, const void *tensor)
{
    struct node node = {.key = KEY_NODE};

    fill_node(library, tensor, &node);
    snprintf(node.name, sizeof(node.name), "%s", library->name(tensor));
    return (uint32_t)names_find(&node, sizeof(node), define, &node);
}

static bool on_node(void *tensor, bool asks, void *context)
{
    const struct ggml_library *library = context;
    uint32_t op;

    if (!asks) {
        if (node_span.id)
            recorder.end(node_span);
        node_span = (struct optrace_span){0, 0};
        return true;
    }
    if (is_view(library->kind(tensor)))
        return false;
    op = op_of_node(library, tensor);
    if (op)
        node_span = recorder.begin(op);
    return true;
}

/* --- Graphs --- */

struct graph_key {
    uint64_t key, hash;
};

struct graph {
    struct graph_key key;
    const struct ggml_library *library;
    void *graph;
};

/* What tells a graph from another in the same place: its nodes, their sizes and sources. */
static uint64_t hash_graph(const struct ggml_library *library, void *graph, int count)
{
    uint64_t hash = (uint64_t)count;

    for (int i = 0; i < count; i++) {
        const void *node = library->node(graph, i);
        int64_t dims[DIMS];

        ggml_dims(library, node, dims);
        hash += (uint64_t)(uintptr_t)node * UINT64_C(0x9e3779b97f4a7c15) +
                (uint64_t)dims[0] * UINT64_C(0xc2b2ae3d27d4eb4f) +
                (uint64_t)dims[1] * UINT64_C(0x165667b19e3779f9) +
                (uint64_t)dims[2] * UINT64_C(0x27d4eb2f165667c5) +
                (uint64_t)dims[3] * UINT64_C(0x85ebca77c2b2ae63) +
                (uint64_t)(uintptr_t)ggml_source(library, node, 0) * UINT64_C(0xff51afd7ed558ccd) +
                (uint64_t)(uintptr_t)ggml_source(library, node, 1) * UINT64_C(0xc4ceb9fe1a85ec53);
        hash = (hash ^ hash >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    }
    return hash;
}

/* Tokens are the rows of the first table that rows are taken from. */
static uint64_t define_graph(const void *context)
{
    const struct graph *graph = context;
    const int count = graph->library->node_count(graph->graph);
    int64_t tokens = 0, flop = 0;
    char name[64], params[96];
    struct optrace_op_info info = OPTRACE_OP_INFO(name, "label");
    uint32_t op = 0;

    for (int i = 0; i < count; i++) {
        struct node node = {.key = KEY_NODE};
        int64_t own;

        fill_node(graph->library, graph->library->node(graph->graph, i), &node);
        own = flop_of(&node);
        if (own > 0 && __builtin_add_overflow(flop, own, &flop))
            flop = INT64_MAX;
        if (!tokens && strcmp(node.kind, "GET_ROWS") == 0)
            tokens = node.result.dims[1];
    }
    snprintf(name, sizeof(name),
             tokens == 1 ? "token"
             : tokens    ? "batch of %lld tokens"
                         : "graph",
             (long long)tokens);
    snprintf(params, sizeof(params), "{\"tokens\":%lld,\"flop\":%lld}", (long long)tokens,
             (long long)flop);
    info.params = params;
    return recorder.op_define(&info, &op) == 0 ? op : 0;
}

/* Before the run that has them begins: they are no part of its time. */
static void define_nodes(const struct ggml_library *library, void *graph, int count)
{
    for (int i = 0; i < count; i++) {
        const void *tensor = library->node(graph, i);

        if (!is_view(library->kind(tensor)))
            op_of_node(library, tensor);
    }
}

/* The label of a graph; 0: none. */
static uint32_t label_of(const struct ggml_library *library, void *graph, bool has_nodes)
{
    struct graph what = {{KEY_GRAPH, 0}, library, graph};
    int count;

    if (!library || !library->has_layout || !library->node_count)
        return 0;
    count = library->node_count(graph);
    what.key.hash = hash_graph(library, graph, count);
    if (has_nodes && !names_known(&what.key, sizeof(what.key)))
        define_nodes(library, graph, count);
    return (uint32_t)names_find(&what.key, sizeof(what.key), define_graph, &what);
}

/* --- Runs --- */

static int run(compute_type *compute, void *scheduler, void *graph)
{
    const struct ggml_library *library;
    struct optrace_span span = {0, 0};
    struct optrace_run run;
    uint64_t start;
    uint32_t label;
    bool has_nodes;
    int status;

    pthread_once(&asked, ask);
    if (depth > 0 || !is_wanted || !recorder_is_on())
        return compute(scheduler, graph);
    library = ggml_library_find((const void *)compute);
    has_nodes = nodes_turn(&graphs) && !__atomic_load_n(&has_lost_one, __ATOMIC_RELAXED) &&
                !is_theirs(scheduler) && library;
    label = label_of(library, graph, has_nodes);
    found_say(FOUND_GGML);
    if (is_theirs(scheduler))
        found_limit(FOUND_GGML, "runs only: the program has a callback of its own");
    depth = 1;
    run = recorder.run_begin(0, has_nodes ? 0 : OPTRACE_WITHOUT_OPS);
    if (label)
        span = recorder.begin(label);
    if (has_nodes)
        library->set_callback(scheduler, on_node, (void *)library);
    start = nodes_start();
    status = compute(scheduler, graph);
    nodes_end(&graphs, has_nodes, start);
    if (has_nodes)
        library->set_callback(scheduler, NULL, NULL);
    if (label)
        recorder.end(span);
    recorder.run_end(run);
    depth = 0;
    return status;
}

int ggml_backend_sched_graph_compute(void *scheduler, void *graph)
{
    return run((compute_type *)real_find(&compute_real, __builtin_return_address(0)), scheduler,
               graph);
}

int ggml_backend_sched_graph_compute_async(void *scheduler, void *graph)
{
    return run((compute_type *)real_find(&compute_async_real, __builtin_return_address(0)),
               scheduler, graph);
}
