/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of the emulated device, an address range of its own, and copies to and from it. */
#include "tests/support/cuda/emulated/device.hpp"
#include "tests/support/cuda/emulated/tool.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define POISON(p, n)   __asan_poison_memory_region(p, n)
#define UNPOISON(p, n) __asan_unpoison_memory_region(p, n)
#else
#define POISON(p, n)   ((void)0)
#define UNPOISON(p, n) ((void)0)
#endif

static constexpr size_t ARENA = (size_t)4 << 30, PAGE = 4096;
static constexpr uint64_t BYTES_PER_NS = 16;

/* Never destroyed: a program may exit while somebody waits in them. */
static std::map<char *, size_t> &allocations = *new std::map<char *, size_t>;
static std::map<char *, size_t> &pinned = *new std::map<char *, size_t>;
static std::multimap<size_t, char *> &freed = *new std::multimap<size_t, char *>;
char *arena;
size_t memory_limit = ARENA / 2, most_allocated;
long copied_in, copied_pinned, copied_out;
static size_t arena_used, allocated;
static int opened;

opening::opening()
{
    if (!opened++)
        mprotect(arena, arena_used, PROT_READ | PROT_WRITE);
}

opening::~opening()
{
    if (!--opened)
        mprotect(arena, arena_used, PROT_NONE);
}

int memory_reserve()
{
    arena =
        (char *)mmap(nullptr, ARENA, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    arena_used = PAGE;
    return arena == MAP_FAILED ? OUT_OF_MEMORY : SUCCESS;
}

bool is_device(uint64_t address, size_t bytes)
{
    auto i = allocations.upper_bound((char *)address);

    if (i == allocations.begin())
        return false;
    --i;
    return (char *)address + bytes <= i->first + i->second;
}

static bool is_pinned(const void *p)
{
    auto i = pinned.upper_bound((char *)p);

    return i != pinned.begin() && (--i, (const char *)p < i->first + i->second);
}

extern "C" {
int cuMemGetInfo_v2(size_t *out_free, size_t *out_total)
{
    ENTER();
    *out_free = memory_limit - allocated;
    *out_total = memory_limit;
    return SUCCESS;
}

int cuMemAlloc_v2(uint64_t *out_address, size_t bytes)
{
    ENTER();
    size_t whole = (bytes + PAGE - 1) / PAGE * PAGE;
    auto again = freed.find(whole);
    bool is_new = again == freed.end();
    char *at = is_new ? arena + arena_used : again->second;

    if (!bytes)
        return INVALID_VALUE;
    if (allocated + bytes > memory_limit || (is_new && arena_used + whole + PAGE > ARENA))
        return OUT_OF_MEMORY;
    if (is_new)
        arena_used += whole + PAGE;
    else
        freed.erase(again);
    mprotect(at, whole, PROT_READ | PROT_WRITE);
    UNPOISON(at, whole);
    memset(at, 0xff, whole); /* not zero: nothing says that it is */
    if (!opened)
        mprotect(at, whole, PROT_NONE);
    POISON(at - PAGE, whole + 2 * PAGE);
    UNPOISON(at, bytes);
    allocations[at] = bytes;
    allocated += bytes;
    most_allocated = std::max(most_allocated, allocated);
    left["device memory"]++;
    *out_address = (uint64_t)at;
    return SUCCESS;
}

int cuMemFree_v2(uint64_t address)
{
    std::lock_guard<std::recursive_mutex> held(device_lock);
    auto i = allocations.find((char *)address);

    if (i == allocations.end())
        return INVALID_VALUE;
    POISON(i->first, i->second);
    freed.emplace((i->second + PAGE - 1) / PAGE * PAGE, i->first);
    allocated -= i->second;
    allocations.erase(i);
    left["device memory"]--;
    return SUCCESS;
}

int cuMemHostAlloc(void **out_memory, size_t bytes, unsigned)
{
    ENTER();
    *out_memory = malloc(bytes);
    pinned[(char *)*out_memory] = bytes;
    left["pinned memory"]++;
    return SUCCESS;
}

int cuMemFreeHost(void *memory)
{
    std::lock_guard<std::recursive_mutex> held(device_lock);

    left["pinned memory"]--;
    memset(memory, 0xee, pinned[(char *)memory]); /* who still copies from it gets that */
    pinned.erase((char *)memory);
    free(memory);
    return SUCCESS;
}

/* Who gives memory back while a stream still has something to do with it. */
static void need_device(uint64_t address, size_t bytes)
{
    if (is_device(address, bytes))
        return;
    fprintf(stderr, "emulated device: memory was given back that a stream uses\n");
    abort();
}

static void copy_now(stream *s, void *to, const void *from, size_t bytes, uint64_t pushed_ns,
                     uint32_t call, bool is_in)
{
    opening open;

    need_device(is_in ? (uint64_t)to : (uint64_t)from, bytes);
    memcpy(to, from, bytes);
    occupy(s, pushed_ns, bytes / BYTES_PER_NS);
    tool_copy(call, is_in, bytes, s->number, bytes / BYTES_PER_NS, s->clock_ns);
}

int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *handle)
{
    ENTER();
    tool_call call(277, "cuMemcpyHtoDAsync_v2");
    uint32_t number = call.number;
    stream *s = (stream *)handle;

    if (!is_device(to, bytes))
        return INVALID_VALUE;
    copied_in += (long)bytes;
    copied_pinned += is_pinned(from) ? (long)bytes : 0;
    if (is_pinned(from)) /* read when the copy runs */
        return push(s, [=](stream *on, uint64_t at) {
            copy_now(on, (void *)to, from, bytes, at, number, true);
        });
    std::vector<char> staged((const char *)from, (const char *)from + bytes);
    return push(s, [=, staged = std::move(staged)](stream *on, uint64_t at) {
        copy_now(on, (void *)to, staged.data(), bytes, at, number, true);
    });
}

int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *handle)
{
    ENTER();
    tool_call call(279, "cuMemcpyDtoHAsync_v2");
    uint32_t number = call.number;
    stream *s = (stream *)handle;
    int rc;

    if (!is_device(from, bytes))
        return INVALID_VALUE;
    if (s && s->capture && !is_pinned(to))
        return CAPTURE_UNSUPPORTED;
    copied_out += (long)bytes;
    rc = push(s, [=](stream *on, uint64_t at) {
        copy_now(on, to, (void *)from, bytes, at, number, false);
    });
    if (rc == SUCCESS && !is_pinned(to))
        drain(s);
    return rc ? rc : sticky;
}

int cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, void *handle)
{
    ENTER();
    tool_call call(216, "cuMemsetD8Async");
    uint32_t number = call.number;

    if (!is_device(to, bytes))
        return INVALID_VALUE;
    return push((stream *)handle, [=](stream *on, uint64_t at) {
        opening open;

        need_device(to, bytes);
        memset((void *)to, value, bytes);
        occupy(on, at, bytes / BYTES_PER_NS);
        tool_memset(number, bytes, on->number, bytes / BYTES_PER_NS, on->clock_ns);
    });
}
}
