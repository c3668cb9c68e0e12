/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose the nodes of CUDA graphs are: a graph is captured once, by the ops that would have launched,
 * and replayed by a call that knows nothing of them. A node is known from where it is made, and by
 * the copies that are made of it; its number has that of its graph in the upper half.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "client/inject/cupti/private.h"
#include "client/inject/names.h"
#include "client/inject/stack.h"

enum {
    KEY_ORIGIN = 126,
    NODES = 1 << 17,
    NEAR = 8,
    GRAPHS = 1 << 10,
    PATH_BYTES = 400,
};

static struct place {
    uint64_t id; /* atomic; 0: free, or being written */
    struct cupti_node node;
} nodes[NODES];

static struct {
    uint32_t id;
    char path[PATH_BYTES]; /* what its nodes have in common */
    struct cupti_node whole;
} graphs[GRAPHS];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* whoever writes, and the graphs */

/* --- Origins --- */

static char *escape(const char *text)
{
    char *escaped = malloc(2 * strlen(text) + 1), *at = escaped;

    for (; escaped && *text; text++) {
        if (*text == '"' || *text == '\\')
            *at++ = '\\';
        *at++ = (unsigned char)*text < 0x20 ? ' ' : *text;
    }
    if (escaped)
        *at = '\0';
    return escaped;
}

static const char *innermost(const char *path)
{
    const char *last = path;

    for (const char *at = path; (at = strstr(at, STACK_SEPARATOR)) != NULL;)
        last = at += sizeof(STACK_SEPARATOR) - 1;
    return last;
}

static uint64_t make_origin(const void *context)
{
    struct cupti_origin *made = calloc(1, sizeof(*made));

    if (!made)
        return 0;
    made->path = escape(context);
    made->op = strdup(innermost(context));
    if (!made->path || !made->op) {
        free((void *)made->path);
        free((void *)made->op);
        free(made);
        return 0;
    }
    return (uintptr_t)made;
}

static const struct cupti_origin *origin_of(const char *path)
{
    struct {
        uint64_t kind;
        char path[PATH_BYTES];
    } key = {.kind = KEY_ORIGIN};
    const size_t length = strlen(path);

    if (length == 0)
        return NULL;
    memcpy(key.path, path, length);
    return (const void *)(uintptr_t)names_find(&key, offsetof(__typeof__(key), path) + length,
                                               make_origin, path);
}

/* --- Nodes --- */

/* One after the other within a graph. */
static size_t first_place(uint64_t id)
{
    return (size_t)(id + (id >> 32) * 40503) % NODES;
}

/* Where none is free, one that is there goes. Needs the lock. */
static void put(uint64_t id, const struct cupti_node *node)
{
    const size_t first = first_place(id);
    struct place *place = &nodes[first];

    for (size_t i = 0; i < NEAR; i++) {
        struct place *near = &nodes[(first + i) % NODES];

        if (near->id == 0 || near->id == id) {
            place = near;
            break;
        }
    }
    __atomic_store_n(&place->id, 0, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    __atomic_store_n(&place->node.origin, node->origin, __ATOMIC_RELAXED);
    __atomic_store_n(&place->node.work.flop, node->work.flop, __ATOMIC_RELAXED);
    __atomic_store_n(&place->node.work.bytes, node->work.bytes, __ATOMIC_RELAXED);
    __atomic_store_n(&place->id, id, __ATOMIC_RELEASE);
}

struct cupti_node cupti_node_find(uint64_t id)
{
    const size_t first = first_place(id);

    for (size_t i = 0; id != 0 && i < NEAR; i++) {
        const struct place *place = &nodes[(first + i) % NODES];
        struct cupti_node node;

        if (__atomic_load_n(&place->id, __ATOMIC_ACQUIRE) != id)
            continue;
        node.origin = __atomic_load_n(&place->node.origin, __ATOMIC_RELAXED);
        node.work.flop = __atomic_load_n(&place->node.work.flop, __ATOMIC_RELAXED);
        node.work.bytes = __atomic_load_n(&place->node.work.bytes, __ATOMIC_RELAXED);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (__atomic_load_n(&place->id, __ATOMIC_RELAXED) == id)
            return node;
    }
    return (struct cupti_node){NULL, {0, 0}};
}

/* --- Graphs --- */

/* Up to the last separator that both have, or all of it. */
static void keep_common(char *path, const char *other)
{
    static const size_t between = sizeof(STACK_SEPARATOR) - 1;
    size_t same = 0, end = 0;

    while (path[same] && path[same] == other[same]) {
        if (strncmp(path + same, STACK_SEPARATOR, between) == 0 &&
            strncmp(other + same, STACK_SEPARATOR, between) == 0)
            end = same;
        same++;
    }
    if ((!path[same] || strncmp(path + same, STACK_SEPARATOR, between) == 0) &&
        (!other[same] || strncmp(other + same, STACK_SEPARATOR, between) == 0))
        end = same;
    path[end] = '\0';
}

/* Of which one is not known (-1), the sum is not either. */
static int64_t sum_of(int64_t a, int64_t b)
{
    int64_t sum;

    return a < 0 || b < 0 || __builtin_add_overflow(a, b, &sum) ? -1 : sum;
}

/* A node of a graph was captured in this path. Needs the lock. */
static void note_graph(uint32_t id, const char *path, struct cupti_work work)
{
    const size_t at = id % GRAPHS;

    if (graphs[at].id != id) {
        graphs[at].id = id;
        strcpy(graphs[at].path, path);
        graphs[at].whole.work = (struct cupti_work){0, 0};
    } else {
        keep_common(graphs[at].path, path);
    }
    graphs[at].whole.origin = NULL;
    graphs[at].whole.work.flop = sum_of(graphs[at].whole.work.flop, work.flop);
    graphs[at].whole.work.bytes = sum_of(graphs[at].whole.work.bytes, work.bytes);
}

struct cupti_node cupti_graph_find(uint32_t id)
{
    const size_t at = id % GRAPHS;
    struct cupti_node whole = {NULL, {0, 0}};
    char path[PATH_BYTES] = "";

    pthread_mutex_lock(&lock);
    if (graphs[at].id == id) {
        whole = graphs[at].whole;
        strcpy(path, graphs[at].path);
    }
    pthread_mutex_unlock(&lock);
    if (whole.origin || !path[0])
        return whole;
    whole.origin = origin_of(path);
    pthread_mutex_lock(&lock);
    if (graphs[at].id == id && strcmp(graphs[at].path, path) == 0)
        graphs[at].whole.origin = whole.origin;
    pthread_mutex_unlock(&lock);
    return whole;
}

void cupti_node_created(uint64_t id, struct cupti_work work)
{
    char path[PATH_BYTES];
    struct cupti_node node = {NULL, work};

    stack_path(path, sizeof(path));
    node.origin = origin_of(path);
    pthread_mutex_lock(&lock);
    put(id, &node);
    note_graph((uint32_t)(id >> 32), path, work);
    pthread_mutex_unlock(&lock);
}

void cupti_node_cloned(uint64_t id, uint64_t original)
{
    const struct cupti_node node = cupti_node_find(original);
    const uint32_t graph = (uint32_t)(id >> 32), from = (uint32_t)(original >> 32);

    if (!node.origin && node.work.flop == 0)
        return;
    pthread_mutex_lock(&lock);
    put(id, &node);
    if (graphs[graph % GRAPHS].id != graph && graphs[from % GRAPHS].id == from) {
        graphs[graph % GRAPHS] = graphs[from % GRAPHS];
        graphs[graph % GRAPHS].id = graph;
    }
    pthread_mutex_unlock(&lock);
}
