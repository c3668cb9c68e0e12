/* SPDX-License-Identifier: Apache-2.0 */
/* What a device does, as ops: kernels by name and launch, copies by where from and where to, memsets, and
 * graphs that are one. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/inject/cupti/private.h"
#include "client/inject/names.h"
#include "client/inject/recorder.h"

enum {
    KEY_KERNEL = 111,
    KEY_COPY,
    KEY_GRAPH,
    KEY_MEMSET,
    ORIGIN_BYTES = 900, /* of a path, twice as long as it is told */
    NAME_BYTES = 900,
};

struct kernel {
    uint64_t kind; /* tells these keys from others, here and below */
    struct cupti_launch launch;
    uint32_t name_bytes;
    char name[NAME_BYTES];
};

struct copy {
    uint64_t kind;
    const struct cupti_origin *origin;
    uint32_t device;
    uint8_t copy_kind, from, to, pad;
};

struct fill {
    uint64_t kind;
    const struct cupti_origin *origin;
    uint32_t device, pad;
};

/* A graph in one. */
struct whole {
    uint64_t kind;
    struct cupti_node node;
    uint32_t device, graph;
};

/* Ends the object, and says which op captured this: the record of a replay does not. */
static void end_params(struct optrace_op_info *info, const struct cupti_origin *const *origin,
                       char *params, size_t bytes)
{
    const size_t used = strlen(params);

    if (*origin) {
        snprintf(params + used, bytes - used, "%s\"captured_in\":\"%s\"}", used ? "," : "{",
                 (*origin)->path);
        info->origins = &(*origin)->op;
        info->origin_count = 1;
    } else if (used) {
        snprintf(params + used, bytes - used, "}");
    }
    info->params = params[0] ? params : NULL;
}

static void put_work(struct optrace_op_info *info, struct cupti_work work)
{
    if (work.flop == 0)
        return;
    info->computation_flop = work.flop;
    info->memory_bytes = work.bytes;
}

/* As the source has it, where the process has a library that can tell; else as it is. To be freed. */
static char *source_name(const char *mangled)
{
    void *library =
        strncmp(mangled, "_Z", 2) == 0 ? dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD) : NULL;
    char *(*demangle)(const char *, char *, size_t *, int *) = NULL;
    char *name = NULL;
    int status = 0;

    if (library) {
        *(void **)&demangle = dlsym(library, "__cxa_demangle");
        if (demangle)
            name = demangle(mangled, NULL, NULL, &status);
        dlclose(library);
    }
    return name ? name : strdup(mangled);
}

static uint64_t define_kernel(const void *context)
{
    const struct kernel *kernel = context;
    const struct cupti_launch *launch = &kernel->launch;
    char mangled[NAME_BYTES + 1], params[240 + ORIGIN_BYTES], device[24];
    struct optrace_op_info info = OPTRACE_OP_INFO(NULL, "kernel");
    uint32_t op = 0;
    char *name;

    memcpy(mangled, kernel->name, kernel->name_bytes);
    mangled[kernel->name_bytes] = '\0';
    name = source_name(mangled);
    if (!name)
        return 0;
    snprintf(params, sizeof(params),
             "{\"grid\":[%d,%d,%d],\"block\":[%d,%d,%d],\"registers_per_thread\":%u,"
             "\"shared_memory_bytes\":%u",
             launch->grid[0], launch->grid[1], launch->grid[2], launch->block[0], launch->block[1],
             launch->block[2], launch->registers, launch->shared);
    snprintf(device, sizeof(device), "cuda:%u", launch->device);
    info.name = name;
    info.device = device;
    end_params(&info, &launch->origin, params, sizeof(params));
    put_work(&info, launch->work);
    if (recorder.op_define(&info, &op) < 0)
        op = 0;
    free(name);
    return op;
}

uint32_t cupti_op_of_kernel(const char *name, const struct cupti_launch *launch)
{
    struct kernel key = {KEY_KERNEL, *launch, 0, ""};
    size_t length = strnlen(name, sizeof(key.name));
    uint32_t op;

    key.name_bytes = (uint32_t)length;
    memcpy(key.name, name, length);
    op = (uint32_t)names_find(&key, offsetof(struct kernel, name) + length, define_kernel, &key);
    if (op == 0) { /* too many kinds of launches: those of a name together */
        memset(&key.launch, 0, sizeof(key.launch));
        key.launch.device = launch->device;
        op = (uint32_t)names_find_always(&key, offsetof(struct kernel, name) + length,
                                         define_kernel, &key);
    }
    return op;
}

static const char *memory_name(uint8_t kind)
{
    static const char *const names[] = {NULL,    "Pageable", "Pinned",        "Device",
                                        "Array", "Managed",  "Device Static", "Managed Static"};

    return kind < sizeof(names) / sizeof(names[0]) ? names[kind] : NULL;
}

static uint64_t define_copy(const void *context)
{
    static const char *const ways[] = {"",     "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                       "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"};
    const struct copy *copy = context;
    const char *from = memory_name(copy->from), *to = memory_name(copy->to);
    const char *way = copy->copy_kind < sizeof(ways) / sizeof(ways[0]) ? ways[copy->copy_kind] : "";
    char name[96], device[24], params[ORIGIN_BYTES] = "";
    struct optrace_op_info info = OPTRACE_OP_INFO(name, "copy");
    uint32_t op = 0;

    if (from && to)
        snprintf(name, sizeof(name), "Memcpy %s (%s -> %s)", way, from, to);
    else
        snprintf(name, sizeof(name), "Memcpy%s%s", way[0] ? " " : "", way);
    snprintf(device, sizeof(device), "cuda:%u", copy->device);
    info.device = device;
    end_params(&info, &copy->origin, params, sizeof(params));
    return recorder.op_define(&info, &op) == 0 ? op : 0;
}

uint32_t cupti_op_of_copy(const struct cupti_memcpy *record, const struct cupti_origin *origin)
{
    const struct copy copy = {KEY_COPY,   origin, record->device, record->copy_kind, record->from,
                              record->to, 0};

    return (uint32_t)names_find_always(&copy, sizeof(copy), define_copy, &copy);
}

static uint64_t define_memset(const void *context)
{
    const struct fill *fill = context;
    char device[24], params[ORIGIN_BYTES] = "";
    struct optrace_op_info info = OPTRACE_OP_INFO("Memset", "memset");
    uint32_t op = 0;

    snprintf(device, sizeof(device), "cuda:%u", fill->device);
    info.device = device;
    end_params(&info, &fill->origin, params, sizeof(params));
    return recorder.op_define(&info, &op) == 0 ? op : 0;
}

uint32_t cupti_op_of_memset(uint32_t device, const struct cupti_origin *origin)
{
    const struct fill fill = {KEY_MEMSET, origin, device, 0};

    return (uint32_t)names_find_always(&fill, sizeof(fill), define_memset, &fill);
}

static uint64_t define_graph(const void *context)
{
    const struct whole *graph = context;
    const struct cupti_node *node = &graph->node;
    char name[48 + ORIGIN_BYTES], device[24], params[ORIGIN_BYTES] = "";
    struct optrace_op_info info = OPTRACE_OP_INFO(name, "cuda_graph");
    uint32_t op = 0;

    snprintf(name, sizeof(name), "CUDA graph %u%s%s", graph->graph, node->origin ? " of " : "",
             node->origin ? node->origin->op : "");
    snprintf(device, sizeof(device), "cuda:%u", graph->device);
    info.device = device;
    end_params(&info, &node->origin, params, sizeof(params));
    put_work(&info, node->work);
    return recorder.op_define(&info, &op) == 0 ? op : 0;
}

uint32_t cupti_op_of_graph(uint32_t device, uint32_t graph)
{
    const struct whole whole = {KEY_GRAPH, cupti_graph_find(graph), device, graph};

    return (uint32_t)names_find_always(&whole, sizeof(whole), define_graph, &whole);
}
