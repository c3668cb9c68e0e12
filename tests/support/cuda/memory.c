/* SPDX-License-Identifier: Apache-2.0 */
/* Of libcuda.so.1 of the double: memory, pools of it, and modules that are compiled. */
#include <stdlib.h>
#include <string.h>

#include "base/cupti/records.h"
#include "tests/support/cuda/double.h"

enum { OUT_OF_MEMORY = 2, JIT_NS = 5000000 };

static uint32_t enter(uint32_t id, const char *function)
{
    const struct double_tool *there = cuda_double_tool();

    return there ? there->enter(CUPTI_DRIVER, id, function, NULL) : 0;
}

static void leave(uint32_t id, const char *function, uint32_t correlation)
{
    const struct double_tool *there = cuda_double_tool();

    if (there)
        there->leave(CUPTI_DRIVER, id, function, NULL, correlation);
}

/* --- Memory: the host's --- */

static void put_memory(uint32_t operation, uint64_t address, uint64_t bytes, uint32_t correlation)
{
    const struct cupti_memory record = {.kind = CUPTI_MEMORY,
                                        .operation = operation,
                                        .memory_kind = 3,
                                        .correlation = correlation,
                                        .address = address,
                                        .bytes = bytes,
                                        .time = cuda_double_now()};
    const struct double_tool *there = cuda_double_tool();

    if (there)
        there->put(CUPTI_MEMORY, &record, record.time);
}

int cuMemAlloc_v2(uint64_t *out_address, size_t bytes)
{
    const uint32_t correlation = enter(243, "cuMemAlloc_v2");
    uint64_t *memory = malloc(bytes + sizeof(*memory));

    if (memory) {
        *memory = bytes;
        *out_address = (uint64_t)(uintptr_t)(memory + 1);
        put_memory(1, *out_address, bytes, correlation);
    }
    leave(243, "cuMemAlloc_v2", correlation);
    return memory ? 0 : OUT_OF_MEMORY;
}

int cuMemFree_v2(uint64_t address)
{
    const uint32_t correlation = enter(245, "cuMemFree_v2");
    uint64_t *memory = (uint64_t *)(uintptr_t)address - 1;

    put_memory(2, address, *memory, correlation);
    free(memory);
    leave(245, "cuMemFree_v2", correlation);
    return 0;
}

/* --- Pools of memory: each holds a multiple of 2 MiB, at least what is in use --- */

enum { POOL_STEP = 2 << 20 };

struct pool {
    uint64_t held, used;
};

static void put_pool(uint32_t operation, const struct pool *pool, uint32_t correlation)
{
    const struct cupti_pool record = {.kind = CUPTI_POOL,
                                      .operation = operation,
                                      .pool_type = 1,
                                      .correlation = correlation,
                                      .address = (uint64_t)(uintptr_t)pool,
                                      .bytes = pool->held,
                                      .release_threshold = POOL_STEP,
                                      .utilized = pool->used,
                                      .time = cuda_double_now()};
    const struct double_tool *there = cuda_double_tool();

    if (there)
        there->put(CUPTI_POOL, &record, record.time);
}

static void put_pooled(uint32_t operation, const uint64_t *memory, uint32_t correlation)
{
    const struct pool *pool = (const void *)(uintptr_t)memory[0];
    const struct cupti_memory record = {.kind = CUPTI_MEMORY,
                                        .operation = operation,
                                        .memory_kind = 3,
                                        .correlation = correlation,
                                        .address = (uint64_t)(uintptr_t)(memory + 2),
                                        .bytes = memory[1],
                                        .time = cuda_double_now(),
                                        .is_async = 1,
                                        .pool_type = 1,
                                        .pool_address = memory[0],
                                        .pool_size = pool->held,
                                        .utilized = pool->used};
    const struct double_tool *there = cuda_double_tool();

    if (there)
        there->put(CUPTI_MEMORY, &record, record.time);
}

int cuMemPoolCreate(void **out_pool, const void *properties)
{
    const uint32_t correlation = enter(607, "cuMemPoolCreate");
    struct pool *pool = calloc(1, sizeof(*pool));

    (void)properties;
    *out_pool = pool;
    if (pool)
        put_pool(1, pool, correlation);
    leave(607, "cuMemPoolCreate", correlation);
    return pool ? 0 : OUT_OF_MEMORY;
}

int cuMemPoolTrimTo(void *handle, size_t kept_bytes)
{
    const uint32_t correlation = enter(602, "cuMemPoolTrimTo");
    struct pool *pool = handle;
    const uint64_t least = pool->used > kept_bytes ? pool->used : kept_bytes;

    if (pool->held > least)
        pool->held = (least + POOL_STEP - 1) / POOL_STEP * POOL_STEP;
    put_pool(3, pool, correlation);
    leave(602, "cuMemPoolTrimTo", correlation);
    return 0;
}

int cuMemPoolDestroy(void *pool)
{
    const uint32_t correlation = enter(608, "cuMemPoolDestroy");

    put_pool(2, pool, correlation);
    free(pool);
    leave(608, "cuMemPoolDestroy", correlation);
    return 0;
}

int cuMemAllocFromPoolAsync(uint64_t *out_address, size_t bytes, void *handle, void *stream)
{
    const uint32_t correlation = enter(611, "cuMemAllocFromPoolAsync");
    uint64_t *memory = malloc(bytes + 2 * sizeof(*memory));
    struct pool *pool = handle;

    (void)stream;
    if (memory) {
        memory[0] = (uint64_t)(uintptr_t)pool;
        memory[1] = bytes;
        pool->used += bytes;
        if (pool->used > pool->held)
            pool->held = (pool->used + POOL_STEP - 1) / POOL_STEP * POOL_STEP;
        *out_address = (uint64_t)(uintptr_t)(memory + 2);
        put_pooled(1, memory, correlation);
    }
    leave(611, "cuMemAllocFromPoolAsync", correlation);
    return memory ? 0 : OUT_OF_MEMORY;
}

int cuMemFreeAsync(uint64_t address, void *stream)
{
    const uint32_t correlation = enter(600, "cuMemFreeAsync");
    uint64_t *memory = (uint64_t *)(uintptr_t)address - 2;

    (void)stream;
    ((struct pool *)(uintptr_t)memory[0])->used -= memory[1];
    put_pooled(2, memory, correlation);
    free(memory);
    leave(600, "cuMemFreeAsync", correlation);
    return 0;
}

/* --- Modules: compiled the first time, then from the cache --- */

static void put_compilation(uint32_t operation, uint64_t start, uint64_t ns, uint32_t correlation)
{
    const struct cupti_jit record = {.kind = CUPTI_JIT,
                                     .entry = 1,
                                     .operation = operation,
                                     .start = start,
                                     .end = start + ns,
                                     .correlation = correlation,
                                     .unit = 1,
                                     .bytes = 4096,
                                     .path = "/nowhere",
                                     .thread = 12};
    const struct double_tool *there = cuda_double_tool();

    if (there)
        there->put(CUPTI_JIT, &record, record.end);
}

int cuModuleLoadData(void **out_module, const void *image)
{
    static uint32_t count;
    const uint32_t correlation = enter(19, "cuModuleLoadData");
    const uint64_t now = cuda_double_now();

    *out_module = cuda_double_keep(strdup(image));
    if (__atomic_fetch_add(&count, 1, __ATOMIC_RELAXED) == 0) {
        put_compilation(3, now, JIT_NS, correlation);
        put_compilation(2, now + JIT_NS, JIT_NS / 10, correlation);
    } else {
        put_compilation(1, now, JIT_NS / 10, correlation);
    }
    leave(19, "cuModuleLoadData", correlation);
    return *out_module ? 0 : OUT_OF_MEMORY;
}
