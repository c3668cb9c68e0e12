/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program has that includes NVTX 3: tables of its own, and a tool that its first call looks
 * for. Each file that includes this is such a linkage unit.
 */
#ifndef OPTRACE_TESTS_SUPPORT_NVTX_UNIT_H
#define OPTRACE_TESTS_SUPPORT_NVTX_UNIT_H

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

struct nvtx_event {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    uint64_t payload;
    int32_t message_type;
    const void *message;
};

static void (*nvtx_core[16])(void), (*nvtx_core2[16])(void);
static void (**nvtx_core_slots[16])(void), (**nvtx_core2_slots[16])(void);
static uint32_t nvtx_tool_version;

static int nvtx_get_module(int module, void (****out_table)(void), unsigned *out_count)
{
    if (module != 1 && module != 5)
        return 0;
    *out_table = module == 1 ? nvtx_core_slots : nvtx_core2_slots;
    *out_count = 16;
    return 1;
}

static void nvtx_set_version(uint32_t version)
{
    nvtx_tool_version = version;
}

static const void *nvtx_get_table(uint32_t id)
{
    static const struct {
        size_t size;
        int (*get)(int, void (****)(void), unsigned *);
    } callbacks = {sizeof(callbacks), nvtx_get_module};
    static const struct {
        size_t size;
        uint32_t version, reserved;
        void (*set)(uint32_t);
    } version = {sizeof(version), 3, 0, nvtx_set_version};

    return id == 1 ? (const void *)&callbacks : id == 3 ? &version : NULL;
}

static void nvtx_init(void)
{
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_LAZY) : NULL;
    int (*init)(const void *(*)(uint32_t));

    for (int i = 0; i < 16; i++) {
        nvtx_core_slots[i] = &nvtx_core[i];
        nvtx_core2_slots[i] = &nvtx_core2[i];
    }
    nvtx_core_slots[0] = nvtx_core2_slots[0] = NULL;
    *(void **)&init = library ? dlsym(library, "InitializeInjectionNvtx2") : NULL;
    if (library && (!init || init(nvtx_get_table) == 0))
        dlclose(library);
}

static inline void *nvtx_slot(void (**table)(void), int id)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, nvtx_init);
    return (void *)table[id];
}

/* A call of a handler, or `otherwise` where there is no tool. */
#define NVTX_CALL(table, id, type, otherwise, ...)                                                 \
    (nvtx_slot(table, id) ? ((type)nvtx_slot(table, id))(__VA_ARGS__) : otherwise)

static inline int nvtx_push(const char *text)
{
    return NVTX_CALL(nvtx_core, 9, int (*)(const char *), -2, text);
}

static inline int nvtx_push_wide(const wchar_t *text)
{
    return NVTX_CALL(nvtx_core, 10, int (*)(const wchar_t *), -2, text);
}

static inline int nvtx_pop(void)
{
    return NVTX_CALL(nvtx_core, 11, int (*)(void), -2, );
}

static inline void nvtx_mark(const char *text)
{
    if (nvtx_slot(nvtx_core, 2))
        ((void (*)(const char *))nvtx_core[2])(text);
}

static inline uint64_t nvtx_start(const char *text)
{
    return NVTX_CALL(nvtx_core, 5, uint64_t(*)(const char *), 0, text);
}

static inline void nvtx_end(uint64_t range)
{
    if (nvtx_slot(nvtx_core, 7))
        ((void (*)(uint64_t))nvtx_core[7])(range);
}

static inline void nvtx_name_thread(uint32_t tid, const char *name)
{
    if (nvtx_slot(nvtx_core, 14))
        ((void (*)(uint32_t, const char *))nvtx_core[14])(tid, name);
}

static inline void *nvtx_domain(const char *name)
{
    return NVTX_CALL(nvtx_core2, 12, void *(*)(const char *), NULL, name);
}

static inline void *nvtx_register(void *domain, const char *text)
{
    return NVTX_CALL(nvtx_core2, 10, void *(*)(void *, const char *), NULL, domain, text);
}

static inline void nvtx_name_category(void *domain, uint32_t number, const char *name)
{
    if (nvtx_slot(nvtx_core2, 8))
        ((void (*)(void *, uint32_t, const char *))nvtx_core2[8])(domain, number, name);
}

/* type 1: a text, 3: what was registered */
static inline int nvtx_push_in(void *domain, int type, const void *message, uint32_t category)
{
    const struct nvtx_event event = {.version = 3,
                                     .size = sizeof(event),
                                     .category = category,
                                     .message_type = type,
                                     .message = message};

    return NVTX_CALL(nvtx_core2, 4, int (*)(void *, const struct nvtx_event *), -2, domain, &event);
}

static inline int nvtx_pop_in(void *domain)
{
    return NVTX_CALL(nvtx_core2, 5, int (*)(void *), -2, domain);
}

#endif
