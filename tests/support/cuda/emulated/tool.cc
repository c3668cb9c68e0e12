/* SPDX-License-Identifier: Apache-2.0 */
/* The libcupti that is there, and records for it. */
#include "tests/support/cuda/emulated/tool.hpp"

#include <atomic>
#include <time.h>

extern "C" {
#include "tests/support/cuda/double.h"
}
#include "base/cupti/records.h"

static std::atomic<const double_tool *> tool;
static uint32_t replayed;

extern "C" {
void cuda_double_attach(const struct double_tool *comes)
{
    tool = comes;
}

const struct double_tool *cuda_double_tool(void)
{
    return tool;
}

uint64_t cuda_double_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Nodes have no numbers here: their records are those of the graph's launch. */
uint64_t cuda_double_node_id(const void *)
{
    return 0;
}
}

/* The device's clock is another one than CUPTI's. */
static uint64_t realtime_of(uint64_t monotonic_ns)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return cuda_double_now() - ((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec) +
           monotonic_ns;
}

static uint32_t enter(uint32_t id, const char *function)
{
    const double_tool *there = tool;

    return there ? there->enter(CUPTI_DRIVER, id, function, nullptr) : 0;
}

tool_call::tool_call(uint32_t id_, const char *function_)
    : number(enter(id_, function_)), id(id_), function(function_)
{
}

tool_call::~tool_call()
{
    const double_tool *there = tool;

    if (there && number != 0)
        there->leave(CUPTI_DRIVER, id, function, nullptr, number);
}

void tool_replays(uint32_t number)
{
    replayed = number;
}

/* What all records have, under the names that each has for it. */
template <class record>
static void put(uint32_t kind, record what, uint32_t number, uint32_t stream, uint64_t ns,
                uint64_t end_ns)
{
    const double_tool *there = tool;

    if (!there)
        return;
    what.kind = kind;
    what.end = realtime_of(end_ns);
    what.start = what.end - ns;
    what.context = 1;
    what.stream = stream;
    what.correlation = replayed ? replayed : number;
    there->put(kind, &what, what.end);
}

void tool_kernel(uint32_t number, const char *name, uint32_t stream, uint64_t ns, uint64_t end_ns)
{
    cupti_kernel kernel = {};

    kernel.name = name;
    put(CUPTI_KERNEL, kernel, number, stream, ns, end_ns);
}

void tool_copy(uint32_t number, bool is_to_device, size_t bytes, uint32_t stream, uint64_t ns,
               uint64_t end_ns)
{
    cupti_memcpy copy = {};

    copy.copy_kind = is_to_device ? 1 : 2;
    copy.bytes = bytes;
    put(CUPTI_MEMCPY, copy, number, stream, ns, end_ns);
}

void tool_memset(uint32_t number, size_t bytes, uint32_t stream, uint64_t ns, uint64_t end_ns)
{
    cupti_memset set = {};

    set.bytes = bytes;
    put(CUPTI_MEMSET, set, number, stream, ns, end_ns);
}
