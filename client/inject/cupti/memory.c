/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of a device: what is taken and given back, on a lane of the device, and as counters there
 * how much the pools hold that stream-ordered allocation takes from, and how much of it is in use.
 */
#include <stdio.h>

#include "client/inject/cupti/private.h"
#include "client/inject/names.h"
#include "client/inject/recorder.h"

enum {
    KEY_MEMORY_LANE = 129,
    POOLS = 64,
    TAKEN = 1,
    GIVEN_BACK = 2,
    POOL_DESTROYED = 2,
    PINNED = 2,
    LOCAL = 1, /* a pool of this process: of others no sizes are known */
};

/* In the order in which they were seen. Under the lock of decode.c. */
static struct pool {
    uint64_t address;
    uint32_t device;
    uint32_t held, used; /* ops of counters */
} pools[POOLS];
static uint32_t pool_count;

/* Words of {key, device}. */
static uint64_t define_lane(const void *context)
{
    const uint32_t of = (uint32_t)((const uint64_t *)context)[1];
    char name[48], device[24];
    const struct optrace_lane_info info = {name, device, OPTRACE_LANE_STREAM, 0};
    uint32_t number = 0;

    snprintf(device, sizeof(device), "cuda:%u", of);
    snprintf(name, sizeof(name), "memory of %s", device);
    return recorder.lane_define(&info, &number) == 0 ? number : 0;
}

static uint32_t lane_of(uint32_t device)
{
    const uint64_t key[] = {KEY_MEMORY_LANE, device};

    return (uint32_t)names_find_always(key, sizeof(key), define_lane, key);
}

static uint32_t counter(const char *what, uint32_t number, uint32_t device)
{
    char name[80];

    snprintf(name, sizeof(name), "bytes %s memory pool %u of cuda:%u", what, number, device);
    return recorder.name(OPTRACE_COUNTER, name);
}

static const struct pool *find_pool(uint32_t device, uint64_t address)
{
    struct pool *pool = pools;

    while (pool < pools + pool_count && (pool->device != device || pool->address != address))
        pool++;
    if (pool < pools + pool_count)
        return pool;
    if (pool_count == POOLS) {
        cupti_say("memory pools after the first %d are not recorded", POOLS);
        return NULL;
    }
    pool_count++;
    *pool = (struct pool){address, device, counter("held by", pool_count, device),
                          counter("in use of", pool_count, device)};
    return pool;
}

static void put_counter(uint32_t op, uint32_t lane, uint64_t time, uint64_t bytes)
{
    const struct optrace_event event = {.kind = OPTRACE_KIND_COUNTER,
                                        .flags = OPTRACE_EVENT_REALTIME,
                                        .op = op,
                                        .lane = lane,
                                        .start = time,
                                        .value = (double)bytes};

    if (op && lane)
        recorder.record(&event);
}

static void put_sizes(uint32_t device, uint64_t address, uint64_t time, uint64_t held,
                      uint64_t used)
{
    const struct pool *pool = find_pool(device, address);

    if (!pool)
        return;
    put_counter(pool->held, lane_of(device), time, held);
    put_counter(pool->used, lane_of(device), time, used);
}

/* Memory of the host that is pinned has no device, and its address means another place. */
void cupti_put_memory(const struct cupti_memory *record)
{
    struct optrace_event event = {.flags = OPTRACE_EVENT_REALTIME,
                                  .start = record->time,
                                  .bytes = record->bytes,
                                  .address = record->address,
                                  .run = cupti_run_of(record->correlation)};

    if (record->memory_kind <= PINNED || record->time == 0)
        return;
    if (record->operation == TAKEN && record->bytes > 0)
        event.kind = OPTRACE_KIND_ALLOC;
    else if (record->operation == GIVEN_BACK)
        event.kind = OPTRACE_KIND_FREE;
    else
        return;
    event.lane = lane_of(record->device);
    if (event.lane)
        recorder.record(&event);
    if (record->pool_type == LOCAL && record->pool_address != 0)
        put_sizes(record->device, record->pool_address, record->time, record->pool_size,
                  record->utilized);
}

void cupti_put_pool(const struct cupti_pool *record)
{
    const bool is_gone = record->operation == POOL_DESTROYED;

    if (record->pool_type == LOCAL && record->time != 0 && record->address != 0)
        put_sizes(record->device, record->address, record->time, is_gone ? 0 : record->bytes,
                  is_gone ? 0 : record->utilized);
}
