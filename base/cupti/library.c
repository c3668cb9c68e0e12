/* SPDX-License-Identifier: Apache-2.0 */
/* Which libcupti: one that is mapped already, one beside the runtime, one that the loader finds. */
#include "base/cupti/library.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>

enum { PROBE_BYTES = 4096 };

struct mapped {
    int driver_major;
    char cupti[PATH_MAX];   /* the first one that fits the driver */
    char newer[PATH_MAX];   /* the first one that does not */
    char runtime[PATH_MAX]; /* libcudart */
};

/* "libcupti.so.13", "libcupti.so.11.8": of 13 and 11. By year, or by nothing, none can tell. */
static bool is_newer(const char *version, int driver_major)
{
    const long major = version[0] == '.' ? strtol(version + 1, NULL, 10) : 0;

    return major > driver_major && major < 1000;
}

static int look(struct dl_phdr_info *info, size_t bytes, void *context)
{
    struct mapped *mapped = context;
    const char *file = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;

    (void)bytes;
    if (!file)
        return 0;
    if (strncmp(file, "/libcupti.so", 12) == 0) {
        char *place = is_newer(file + 12, mapped->driver_major) ? mapped->newer : mapped->cupti;

        if (!place[0])
            snprintf(place, PATH_MAX, "%s", info->dlpi_name);
    } else if (strncmp(file, "/libcudart.so", 13) == 0 && !mapped->runtime[0]) {
        snprintf(mapped->runtime, sizeof(mapped->runtime), "%s", info->dlpi_name);
    }
    return 0;
}

static void *open_file(const char *folder, const char *below, const char *name)
{
    char path[PATH_MAX];

    if (snprintf(path, sizeof(path), "%s%s/%s", folder, below, name) >= (int)sizeof(path))
        return NULL;
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* Beside the runtime: as toolkits and as wheels have it. */
static void *open_beside(const char *runtime, const char *name)
{
    static const char *const below[] = {"", "/../extras/CUPTI/lib64", "/../../cuda_cupti/lib"};
    char folder[PATH_MAX];
    char *slash;
    void *handle = NULL;

    snprintf(folder, sizeof(folder), "%s", runtime);
    slash = strrchr(folder, '/');
    if (!slash)
        return NULL;
    *slash = '\0';
    for (size_t i = 0; !handle && i < sizeof(below) / sizeof(below[0]); i++)
        handle = open_file(folder, below[i], name);
    return handle;
}

static void *open_named(const struct mapped *mapped, const char *name)
{
    static const char *const roots[] = {"CUDA_HOME", "CUDA_PATH"};
    void *handle = mapped->runtime[0] ? open_beside(mapped->runtime, name) : NULL;

    for (size_t i = 0; !handle && i < sizeof(roots) / sizeof(roots[0]); i++) {
        const char *root = secure_getenv(roots[i]);

        if (!root || !root[0])
            continue;
        handle = open_file(root, "/extras/CUPTI/lib64", name);
        if (!handle)
            handle = open_file(root, "/lib64", name);
    }
    return handle ? handle : dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

/* One that is newer than the driver answers nothing but errors; within a major it works. Of several in the
 * process one that fits is taken: another copy would fight with it for what the driver gives to one. */
static void *open_any(int driver_major)
{
    static const struct {
        int major;
        const char *name;
    } names[] = {
        {13, "libcupti.so.13"},   {12, "libcupti.so.12"},   {11, "libcupti.so.11.8"},
        {11, "libcupti.so.11.7"}, {11, "libcupti.so.11.6"}, {11, "libcupti.so.11.5"},
        {11, "libcupti.so.11.4"}, {11, "libcupti.so.11.3"}, {11, "libcupti.so.11.2"},
        {11, "libcupti.so.11.1"}, {11, "libcupti.so.11.0"},
    };
    const char *configured = secure_getenv("OPTRACE_CUPTI");
    struct mapped mapped = {driver_major, "", "", ""};
    void *handle = NULL;

    if (configured && configured[0])
        return dlopen(configured, RTLD_NOW | RTLD_LOCAL);
    dl_iterate_phdr(look, &mapped);
    if (mapped.cupti[0])
        return dlopen(mapped.cupti, RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; !handle && i < sizeof(names) / sizeof(names[0]); i++) {
        if (names[i].major <= driver_major)
            handle = open_named(&mapped, names[i].name);
    }
    return handle || !mapped.newer[0] ? handle : dlopen(mapped.newer, RTLD_NOW | RTLD_LOCAL);
}

static bool find_functions(void *handle, cupti_look_up_fn *look_up, struct cupti *out_cupti)
{
    const struct {
        const char *name;
        void *place;
    } functions[] = {
        {"cuptiGetVersion", &out_cupti->get_version},
        {"cuptiSubscribe", &out_cupti->subscribe},
        {"cuptiUnsubscribe", &out_cupti->unsubscribe},
        {"cuptiEnableCallback", &out_cupti->enable_callback},
        {"cuptiEnableDomain", &out_cupti->enable_domain},
        {"cuptiActivityRegisterCallbacks", &out_cupti->register_callbacks},
        {"cuptiActivityEnable", &out_cupti->enable},
        {"cuptiActivityDisable", &out_cupti->disable},
        {"cuptiActivityGetNextRecord", &out_cupti->next_record},
        {"cuptiActivityGetNumDroppedRecords", &out_cupti->dropped},
        {"cuptiActivityFlushAll", &out_cupti->flush},
        {"cuptiActivitySetAttribute", &out_cupti->set_attribute},
    };

    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        void *function = look_up(handle, functions[i].name);

        if (!function)
            return false;
        memcpy(functions[i].place, &function, sizeof(function));
    }
    *(void **)&out_cupti->get_node_id = look_up(handle, "cuptiGetGraphNodeId");
    return true;
}

/* The library walks over a buffer of headers alone: its step is the length of its record. */
static uint16_t probe(const struct cupti *cupti, uint32_t kind)
{
    static _Alignas(8) uint8_t buffer[PROBE_BYTES];
    void *first = NULL, *second;

    for (size_t i = 0; i < sizeof(buffer); i += 8) {
        memcpy(buffer + i, &kind, sizeof(kind));
        memset(buffer + i + sizeof(kind), 0, 4);
    }
    if (cupti->next_record(buffer, sizeof(buffer), &first) != 0 || !first)
        return 0;
    second = first;
    if (cupti->next_record(buffer, sizeof(buffer), &second) != 0 || second <= first)
        return 0;
    return (uint16_t)((uint8_t *)second - (uint8_t *)first);
}

/* A function of the libcuda that is in the process: it stays there while it calls us. */
static void *driver_function(const char *name)
{
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    void *function = driver ? dlsym(driver, name) : NULL;

    if (driver)
        dlclose(driver);
    return function;
}

static int driver_major(void)
{
    void *function = driver_function("cuDriverGetVersion");
    int (*get_version)(int *);
    int version = 0;

    if (function) {
        memcpy(&get_version, &function, sizeof(get_version));
        if (get_version(&version) != 0)
            version = 0;
    }
    return version / 1000;
}

/* 13.2 asks libcuda for this table, and if it gets none asks what that error is called, for which it asks
 * again, until the stack ends. It is known by what it has and what it does not have yet. */
static bool would_recurse(void *handle, cupti_look_up_fn *look_up)
{
    static const unsigned char wanted[16] = {0x7c, 0xb6, 0x3f, 0x9b, 0x9c, 0xa4, 0x8e, 0x42,
                                             0xa4, 0x84, 0xbe, 0xb6, 0x6e, 0x6a, 0xed, 0x7f};
    int (*get_table)(const void **out_table, const unsigned char *id);
    void *function = driver_function("cuGetExportTable");
    const void *table = NULL;

    if (!look_up(handle, "cuptiActivityEnable_v2") ||
        look_up(handle, "cuptiActivityGetNextRecord_v2"))
        return false;
    if (!function)
        return true;
    memcpy(&get_table, &function, sizeof(get_table));
    return get_table(&table, wanted) != 0 || !table;
}

#define UP_TO(record, field) (offsetof(struct record, field) + sizeof(((struct record *)0)->field))

/* What is read of a record whatever its length: one that ends before is of no use. */
static const struct {
    uint32_t kind;
    size_t bytes;
} kinds[] = {
    {CUPTI_KERNEL, UP_TO(cupti_kernel, graph_node)},
    {CUPTI_MEMCPY, UP_TO(cupti_memcpy, graph_node)},
    {CUPTI_MEMSET, UP_TO(cupti_memset, graph_node)},
    {CUPTI_MEMCPY2, UP_TO(cupti_memcpy2, graph_node)},
    {CUPTI_SYNC, UP_TO(cupti_sync, event)},
    {CUPTI_MEMORY, UP_TO(cupti_memory, utilized)},
    {CUPTI_GRAPH, UP_TO(cupti_graph, stream)},
    {CUPTI_OVERHEAD, UP_TO(cupti_overhead, end)},
    {CUPTI_EVENT, UP_TO(cupti_event, event)},
    {CUPTI_CONTEXT, UP_TO(cupti_context, null_stream)},
    {CUPTI_POOL, UP_TO(cupti_pool, utilized)},
    {CUPTI_JIT, UP_TO(cupti_jit, bytes)},
};
enum { NEEDED = 3 }; /* the first ones */

/* Asks how long its records are. Returns NULL, or why that will not do. */
static const char *measure(struct cupti *cupti)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const uint16_t bytes = probe(cupti, kinds[i].kind);

        if (bytes == 0 && i < NEEDED)
            return "its libcupti does not say how long its records are";
        if (bytes < kinds[i].bytes && i < NEEDED)
            return "its libcupti is older than 11.0";
        cupti->record_bytes[kinds[i].kind] = bytes < kinds[i].bytes ? 0 : bytes;
    }
    return NULL;
}

const char *cupti_open(struct cupti *out_cupti, cupti_look_up_fn *look_up)
{
    const int major = driver_major();
    void *handle;

    *out_cupti = (struct cupti){0};
    if (major == 0)
        return "there is no driver in the process";
    handle = open_any(major);
    if (!handle)
        return "there is no libcupti that fits the driver; OPTRACE_CUPTI may name one";
    out_cupti->handle = handle;
    if (!find_functions(handle, look_up, out_cupti))
        return "its libcupti lacks functions that are needed";
    if (would_recurse(handle, look_up))
        return "its libcupti, 13.2, does not survive a libcuda that is not NVIDIA's";
    if (out_cupti->get_version(&out_cupti->version) != 0)
        return "its libcupti does not answer";
    return measure(out_cupti);
}

const char *cupti_meaning(int result)
{
    switch (result) {
    case CUPTI_TAKEN:
        return "another tool holds CUPTI";
    case CUPTI_NOT_PERMITTED:
        return "this user may not trace the device";
    case CUPTI_NOT_INITIALIZED:
        return "the driver is older than its libcupti";
    default:
        return "CUPTI refused";
    }
}

int cupti_next(const struct cupti *cupti, uint8_t *buffer, size_t valid, void **record)
{
    const uint8_t *last = *record, *end = buffer + valid, *at;
    const int rc = cupti->next_record(buffer, valid, record);

    if (rc != 0)
        return rc;
    at = *record;
    if (!at)
        return CUPTI_END_OF_BUFFER;
    return at < (last ? last + 1 : buffer) || at >= end || (size_t)(end - at) < sizeof(uint64_t)
               ? CUPTI_ELSEWHERE
               : 0;
}

/* --- Calls --- */

static const uint16_t runtime_calls[] = {31,  32,  39,  41,  44,  47,  49,  51,  131, 137, 145, 161,
                                         165, 211, 214, 215, 216, 223, 225, 228, 231, 233, 235, 239,
                                         246, 269, 270, 272, 311, 312, 430, 431, 482, 483, 505, 506,
                                         509, 510, 534, 550, 551, 554, 555, 556, 557};
static const uint16_t driver_calls[] = {17,  121, 126, 216, 220, 276, 277, 278, 279, 280, 281, 305,
                                        306, 307, 397, 398, 399, 408, 418, 421, 422, 423, 428, 430,
                                        440, 442, 477, 478, 480, 514, 515, 527, 528, 652, 653, 800,
                                        819, 828, 829, 831, 832, 837, 838, 839, 840};

const uint16_t *cupti_calls(uint32_t domain, size_t *out_count)
{
    *out_count = domain == CUPTI_RUNTIME  ? sizeof(runtime_calls) / sizeof(runtime_calls[0])
                 : domain == CUPTI_DRIVER ? sizeof(driver_calls) / sizeof(driver_calls[0])
                                          : 0;
    return domain == CUPTI_RUNTIME ? runtime_calls : domain == CUPTI_DRIVER ? driver_calls : NULL;
}

bool cupti_launches(uint32_t domain, uint32_t id)
{
    static const uint16_t launches[2][9] = {
        {307, 442, 477, 478, 480, 652, 653},
        {211, 214, 269, 270, 272, 430, 431, 505, 506},
    };

    for (size_t i = 0; id != 0 && i < sizeof(launches[0]) / sizeof(launches[0][0]); i++)
        if (launches[domain == CUPTI_RUNTIME][i] == id)
            return domain == CUPTI_RUNTIME || domain == CUPTI_DRIVER;
    return false;
}
