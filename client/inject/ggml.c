/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ggml, below llama.cpp, whisper.cpp and their bindings: each graph that a scheduler computes is a
 * run; of one in some each node is an op, told by the scheduler's callback. A program that has a
 * callback of its own keeps it, and has runs only. Graphs are computed again without a new callback,
 * so ours is set and taken away around each.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/inject/found.h"
#include "client/inject/names.h"
#include "client/inject/nodes.h"
#include "client/inject/real.h"
#include "client/inject/recorder.h"
#include "client/inject/runs.h"

enum { DIMS = 4, DIMS_OFFSET = 16, SCHEDULERS_MAX = 64, KEY_NODE = 103 };

typedef bool eval_callback(void *tensor, bool asks, void *context);
typedef int compute_type(void *scheduler, void *graph);
typedef void set_callback_type(void *scheduler, eval_callback *callback, void *context);

/* What nodes are asked with, of the library that the scheduler is in. */
struct library {
    set_callback_type *set_callback;
    const char *(*name)(const void *tensor);
    const char *(*kind)(const void *tensor);
    int64_t (*element_count)(const void *tensor);
};

struct node {
    uint64_t kind; /* tells these keys from others */
    int64_t dims[DIMS];
    char type[32];
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

void ggml_backend_sched_set_eval_callback(void *scheduler, eval_callback *callback, void *context)
{
    set_callback_type *const theirs =
        (set_callback_type *)real_find(&set_callback_real, __builtin_return_address(0));

    if (!note_callback(scheduler, callback != NULL))
        __atomic_store_n(&has_lost_one, true,
                         __ATOMIC_RELAXED); /* rather no nodes than this lost */
    theirs(scheduler, callback, context);
}

/* --- Nodes --- */

static uint64_t define(const void *context)
{
    const struct node *node = context;
    const struct optrace_tensor output = {NULL, node->dims, DIMS, OPTRACE_DTYPE_UNKNOWN};
    struct optrace_op_info info = OPTRACE_OP_INFO(node->name, node->type);
    uint32_t op = 0;

    info.outputs = &output;
    info.output_count = node->dims[0] > 0;
    return recorder.op_define(&info, &op) == 0 ? op : 0;
}

/* Its sizes, where they lie where they have always lain. */
static void fill_dims(const struct library *library, const void *tensor, int64_t dims[DIMS])
{
    int64_t count = 1;

    memcpy(dims, (const char *)tensor + DIMS_OFFSET, DIMS * sizeof(dims[0]));
    for (int i = 0; i < DIMS; i++) {
        if (dims[i] <= 0 || __builtin_mul_overflow(count, dims[i], &count))
            count = -1;
        if (count < 0)
            break;
    }
    if (count != library->element_count(tensor))
        memset(dims, 0, DIMS * sizeof(dims[0]));
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

static bool on_node(void *tensor, bool asks, void *context)
{
    const struct library *library = context;
    struct node node = {.kind = KEY_NODE};
    uint32_t op;

    if (!asks) {
        if (node_span.id)
            op_end(node_span);
        node_span = (struct optrace_span){0, 0};
        return true;
    }
    if (is_view(library->kind(tensor)))
        return false;
    snprintf(node.type, sizeof(node.type), "%s", library->kind(tensor));
    snprintf(node.name, sizeof(node.name), "%s", library->name(tensor));
    fill_dims(library, tensor, node.dims);
    op = (uint32_t)names_find(&node, sizeof(node), define, &node);
    if (op)
        node_span = op_begin(op);
    return true;
}

/* The functions of the library that computes; false when one is missing. */
static bool find_library(compute_type *compute, struct library *out_library)
{
    Dl_info place;
    void *handle;

    if (dladdr((void *)compute, &place) == 0)
        return false;
    handle = dlopen(place.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (!handle)
        return false;
    *(void **)&out_library->set_callback = dlsym(handle, set_callback_real.name);
    *(void **)&out_library->name = dlsym(handle, "ggml_get_name");
    *(void **)&out_library->kind = dlsym(handle, "ggml_op_desc");
    *(void **)&out_library->element_count = dlsym(handle, "ggml_nelements");
    dlclose(handle);
    return out_library->set_callback && out_library->name && out_library->kind &&
           out_library->element_count;
}

/* --- Runs --- */

static int run(compute_type *compute, void *scheduler, void *graph)
{
    struct library library;
    struct optrace_run run;
    uint64_t start;
    bool has_nodes;
    int status;

    pthread_once(&asked, ask);
    if (depth > 0 || !is_wanted || !recorder_is_on())
        return compute(scheduler, graph);
    has_nodes = nodes_turn(&graphs) && !__atomic_load_n(&has_lost_one, __ATOMIC_RELAXED) &&
                !is_theirs(scheduler) && find_library(compute, &library);
    found_say(FOUND_GGML);
    if (is_theirs(scheduler))
        found_limit(FOUND_GGML, "runs only: the program has a callback of its own");
    depth = 1;
    run = recorder.run_begin(0, has_nodes ? 0 : OPTRACE_WITHOUT_OPS);
    if (has_nodes)
        library.set_callback(scheduler, on_node, &library);
    start = nodes_start();
    status = compute(scheduler, graph);
    nodes_end(&graphs, has_nodes, start);
    if (has_nodes)
        library.set_callback(scheduler, NULL, NULL);
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
