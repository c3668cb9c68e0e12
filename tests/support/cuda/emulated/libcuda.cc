/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libcuda.so.1 over a device that computes: the kernels of kernels/cuda, compiled for the host, run
 * in emu.cc and are found by name, whatever the module that is loaded holds. It is not CUDA, and
 * nothing of it says how fast a GPU is.
 *
 * Device memory is an address range of its own that the host can neither read nor write but while
 * the device works. Streams run nothing before somebody waits for them (lazy), or everything at
 * once (eager). A copy from memory that is not pinned takes what is there at the call; one to such
 * memory waits. A launch that fails, and a kernel that faults, makes every later call fail.
 *
 * Where the libcupti of tests/support/cuda is in the process it is told of calls and of what they
 * made the device do (tool.hpp).
 *
 * Times are scripted: a kernel takes as long as $CUDA_DOUBLE_KERNELS says, on a clock that never
 * stands before the launch; who waits does so until the time has come.
 *
 * Environment, read by cuInit():
 *   CUDA_DOUBLE_STREAMS  "eager"; "others": who waits for one stream has the others work first; lazy
 *   CUDA_DOUBLE_WAITS    "none": streams do not wait for each other
 *   CUDA_DOUBLE_ORDER    "reverse", "random:SEED": of threads and blocks; forward
 *   CUDA_DOUBLE_DRIVER   "none": no device; "old": the module's kernels are for a newer driver
 *   CUDA_DOUBLE_KERNELS  "softmax_f32=250000": ns of kernels by name; 1000 for others
 *   CUDA_DOUBLE_MEMORY   bytes that can be allocated; 4 GiB
 *   CUDA_DOUBLE_FAIL     "cuMemAlloc_v2=2": what a function answers; "#7=999": the call with this
 *                        number, over all functions that can fail
 *   CUDA_DOUBLE_BUG      the number of a mistake that the kernels make: BUG in their source
 *   CUDA_DOUBLE_LEFT     a file that is written at exit: what was never given back, and calls
 */
#include "tests/support/cuda/emulated/emu.hpp"
#include "tests/support/cuda/emulated/errors.hpp"
#include "tests/support/cuda/emulated/tool.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <sys/mman.h>
#include <time.h>
#include <vector>
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define POISON(p, n)   __asan_poison_memory_region(p, n)
#define UNPOISON(p, n) __asan_unpoison_memory_region(p, n)
#else
#define POISON(p, n)   ((void)0)
#define UNPOISON(p, n) ((void)0)
#endif

static constexpr size_t ARENA = (size_t)4 << 30, PAGE = 4096;
static constexpr uint64_t LAUNCH_NS = 2000, KERNEL_NS = 1000, BYTES_PER_NS = 16;

struct stream;
using item = std::function<void(stream *on, uint64_t pushed_ns)>;

struct event;

struct graph {
    std::vector<item> items;
    std::vector<event *> records; /* by its nodes */
};

struct stream {
    std::deque<std::pair<uint64_t, item>> queue;
    uint64_t clock_ns = 0;
    uint32_t number = 0; /* for records */
    graph *capture = nullptr;
    bool is_joined = false; /* to the capture of another, by waiting for an event of it */
    size_t captured = 0, followed = 0; /* of such: how much, and what of it others wait for */
};

struct event {
    stream *on = nullptr;
    uint64_t ticket = 0, done_ticket = 0;
    uint64_t at_ns = 0;
    graph *capture = nullptr; /* it was recorded there, after so much of the stream */
    size_t captured = 0;
};

struct module {
    std::map<std::string, const emu_kernel *> functions;
};

/* Never destroyed: a program may exit while somebody waits in them. */
static std::recursive_mutex &lock = *new std::recursive_mutex;
static std::map<char *, size_t> &allocations = *new std::map<char *, size_t>;
static std::map<char *, size_t> &pinned = *new std::map<char *, size_t>;
static std::multimap<size_t, char *> &freed = *new std::multimap<size_t, char *>;
static std::vector<stream *> &streams = *new std::vector<stream *>;
static std::map<std::string, long> &left = *new std::map<std::string, long>;
static std::map<std::string, int> &failing = *new std::map<std::string, int>;
static char *arena;
static size_t arena_used, allocated, memory_limit = ARENA / 2;
static int sticky, opened;
static uint32_t streams_made;
static bool eager, others_first, skips_waits;
static long calls, fail_at, copied_in, copied_pinned, copied_out, launched, graphs_launched, waits;
static size_t most_allocated;
static const char *failed = "";
static int fail_with;

static uint64_t now()
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Opens the memory for the device. */
struct opening {
    opening()
    {
        if (!opened++)
            mprotect(arena, arena_used, PROT_READ | PROT_WRITE);
    }
    ~opening()
    {
        if (!--opened)
            mprotect(arena, arena_used, PROT_NONE);
    }
};

/* What a call answers before it does anything. */
static int before(const char *function)
{
    auto told = failing.find(function);

    if (sticky)
        return sticky;
    if (++calls == fail_at) {
        failed = function;
        return fail_with;
    }
    return told == failing.end() ? SUCCESS : told->second;
}
#define ENTER()                                                                                    \
    std::lock_guard<std::recursive_mutex> held(lock);                                              \
    if (int rc_ = before(__func__))                                                                \
    return rc_

static void occupy(stream *s, uint64_t pushed_ns, uint64_t ns)
{
    s->clock_ns = std::max(s->clock_ns, pushed_ns + LAUNCH_NS) + ns;
}

static int push(stream *s, item what, uint64_t at_ns = now())
{
    if (!s)
        return INVALID_VALUE;
    if (s->capture) {
        s->capture->items.push_back(std::move(what));
        s->captured++;
    } else if (eager)
        what(s, at_ns);
    else
        s->queue.emplace_back(at_ns, std::move(what));
    return SUCCESS;
}

static void run_until(stream *s, const std::function<bool()> &done)
{
    while (!done() && !s->queue.empty()) {
        auto next = std::move(s->queue.front());

        s->queue.pop_front();
        next.second(s, next.first);
    }
}

/* The device is never done before its own clock says so. */
static void wait_for_clock(uint64_t ns)
{
    for (uint64_t at = now(); at < ns; at = now()) {
        struct timespec rest = {(time_t)((ns - at) / 1000000000u), (long)((ns - at) % 1000000000u)};

        nanosleep(&rest, nullptr);
    }
}

static void drain(stream *s)
{
    for (size_t i = streams.size(); others_first && i-- > 0;)
        run_until(streams[i], [] { return false; });
    run_until(s, [] { return false; });
    wait_for_clock(s->clock_ns);
}

/* Whether it is in one piece of device memory. */
static bool is_device(uint64_t address, size_t bytes)
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

static uint64_t script_ns(const char *name)
{
    const char *script = getenv("CUDA_DOUBLE_KERNELS");
    size_t length = strlen(name);

    for (; script && *script; script += script[0] == ',') {
        if (strncmp(script, name, length) == 0 && script[length] == '=')
            return strtoull(script + length + 1, nullptr, 10);
        script += strcspn(script, ",");
    }
    return KERNEL_NS;
}

static void read_failures()
{
    std::string text = getenv("CUDA_DOUBLE_FAIL") ? getenv("CUDA_DOUBLE_FAIL") : "";

    for (size_t at = 0; at < text.size();) {
        size_t end = std::min(text.find(',', at), text.size());
        std::string part = text.substr(at, end - at);
        size_t equals = part.find('=');

        if (part[0] == '#') {
            fail_at = atol(part.c_str() + 1);
            fail_with = atoi(part.c_str() + equals + 1);
        } else if (equals != std::string::npos) {
            failing[part.substr(0, equals)] = atoi(part.c_str() + equals + 1);
        }
        at = end + 1;
    }
}

static void write_left()
{
    FILE *out = fopen(getenv("CUDA_DOUBLE_LEFT"), "w");

    if (!out)
        return;
    for (const auto &kind : left)
        fprintf(out, "left %s %ld\n", kind.first.c_str(), kind.second);
    fprintf(out, "calls %ld\nlaunches %ld\ngraphs %ld\ncopied in %ld\ncopied in pinned %ld\n",
            calls, launched, graphs_launched, copied_in, copied_pinned);
    fprintf(out, "copied out %ld\nwaits %ld\nmost allocated %zu\n", copied_out, waits,
            most_allocated);
    if (failed[0])
        fprintf(out, "failed %s %d\n", failed, fail_with);
    fclose(out);
}

static bool driver_is(const char *what)
{
    const char *driver = getenv("CUDA_DOUBLE_DRIVER");

    return driver && strcmp(driver, what) == 0;
}

extern "C" {
int cuInit(unsigned)
{
    std::lock_guard<std::recursive_mutex> held(lock);
    const char *how = getenv("CUDA_DOUBLE_STREAMS"), *order = getenv("CUDA_DOUBLE_ORDER");

    if (driver_is("none"))
        return NO_DEVICE;
    if (arena)
        return SUCCESS;
    eager = how && strcmp(how, "eager") == 0;
    others_first = how && strcmp(how, "others") == 0;
    skips_waits = getenv("CUDA_DOUBLE_WAITS") != nullptr;
    emu_set_order(order && !strncmp(order, "rev", 3)   ? EMU_REVERSE
                  : order && !strncmp(order, "ran", 3) ? EMU_RANDOM
                                                       : EMU_FORWARD,
                  order && strchr(order, ':') ? strtoull(strchr(order, ':') + 1, nullptr, 0) : 1);
    if (getenv("CUDA_DOUBLE_MEMORY"))
        memory_limit = strtoull(getenv("CUDA_DOUBLE_MEMORY"), nullptr, 0);
    emu_bug = getenv("CUDA_DOUBLE_BUG") ? atoi(getenv("CUDA_DOUBLE_BUG")) : 0;
    read_failures();
    if (getenv("CUDA_DOUBLE_LEFT"))
        atexit(write_left);
    arena =
        (char *)mmap(nullptr, ARENA, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    arena_used = PAGE;
    if (arena == MAP_FAILED)
        return OUT_OF_MEMORY;
    return before("cuInit");
}

int cuDriverGetVersion(int *out_version)
{
    *out_version = driver_is("old") ? 11040 : 13050;
    return SUCCESS;
}

int cuDeviceGetCount(int *out_count)
{
    ENTER();
    *out_count = 1;
    return SUCCESS;
}

int cuDeviceGet(int *out_device, int ordinal)
{
    ENTER();
    *out_device = 0;
    return ordinal == 0 ? SUCCESS : INVALID_DEVICE;
}

int cuDeviceGetName(char *out_name, int length, int)
{
    ENTER();
    snprintf(out_name, (size_t)length, "%s", "emulated device");
    return SUCCESS;
}

int cuDeviceGetAttribute(int *out_value, int attribute, int)
{
    ENTER();
    *out_value = attribute == 75 ? 9 : attribute == 16 ? 4 : 0;
    return SUCCESS;
}

int cuDevicePrimaryCtxRetain(void **out_context, int)
{
    ENTER();
    *out_context = arena;
    left["contexts"]++;
    return SUCCESS;
}

int cuDevicePrimaryCtxRelease_v2(int)
{
    left["contexts"]--;
    return SUCCESS;
}

int cuCtxSetCurrent(void *)
{
    ENTER();
    return SUCCESS;
}

int cuModuleLoadData(void **out_module, const void *)
{
    ENTER();
    if (driver_is("old"))
        return NO_BINARY;
    *out_module = new module;
    left["modules"]++;
    return SUCCESS;
}

int cuModuleUnload(void *handle)
{
    delete (module *)handle;
    left["modules"]--;
    return SUCCESS;
}

int cuModuleGetFunction(void **out_function, void *, const char *name)
{
    ENTER();
    *out_function = (void *)emu_find(name);
    return *out_function ? SUCCESS : NOT_FOUND;
}

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
    std::lock_guard<std::recursive_mutex> held(lock);
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
    std::lock_guard<std::recursive_mutex> held(lock);

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
    tool_copy(call, is_in, bytes, s->number, bytes / BYTES_PER_NS,
              s->clock_ns);
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
        return push(
            s, [=](stream *on, uint64_t at) { copy_now(on, (void *)to, from, bytes, at, number, true); });
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
    rc = push(s,
              [=](stream *on, uint64_t at) { copy_now(on, to, (void *)from, bytes, at, number, false); });
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

int cuStreamCreate(void **out_stream, unsigned)
{
    ENTER();
    streams.push_back(new stream);
    streams.back()->number = ++streams_made;
    *out_stream = streams.back();
    left["streams"]++;
    return SUCCESS;
}

int cuStreamDestroy_v2(void *handle)
{
    std::lock_guard<std::recursive_mutex> held(lock);
    stream *s = (stream *)handle;

    drain(s);
    left["streams"]--;
    streams.erase(std::find(streams.begin(), streams.end(), s));
    delete s;
    return SUCCESS;
}

int cuStreamSynchronize(void *handle)
{
    ENTER();
    drain((stream *)handle);
    return sticky;
}

int cuEventCreate(void **out_event, unsigned)
{
    ENTER();
    *out_event = new event;
    left["events"]++;
    return SUCCESS;
}

int cuEventDestroy_v2(void *handle)
{
    std::lock_guard<std::recursive_mutex> held(lock);

    delete (event *)handle;
    left["events"]--;
    return SUCCESS;
}

int cuEventRecord(void *handle, void *on)
{
    ENTER();
    event *e = (event *)handle;
    uint64_t ticket = ++e->ticket;

    e->on = (stream *)on;
    e->capture = e->on->capture;
    e->captured = e->on->captured;
    if (e->capture)
        return SUCCESS;
    return push(e->on, [=](stream *s, uint64_t at) {
        s->clock_ns = std::max(s->clock_ns, at);
        e->done_ticket = ticket;
        e->at_ns = s->clock_ns;
    });
}

/* 1: a node of the graph that is captured, which each launch records anew. */
int cuEventRecordWithFlags(void *handle, void *on, unsigned flags)
{
    event *e = (event *)handle;
    stream *s = (stream *)on;

    if (flags == 0)
        return cuEventRecord(handle, on);
    ENTER();
    if (flags != 1 || !s || !s->capture)
        return INVALID_VALUE;
    s->capture->records.push_back(e);
    return push(s, [=](stream *where, uint64_t at) {
        where->clock_ns = std::max(where->clock_ns, at);
        e->done_ticket = e->ticket;
        e->at_ns = where->clock_ns;
    });
}

int cuEventSynchronize(void *handle)
{
    ENTER();
    event *e = (event *)handle;

    if (e->on)
        run_until(e->on, [e] { return e->done_ticket == e->ticket; });
    wait_for_clock(e->at_ns);
    return sticky;
}

int cuStreamWaitEvent(void *handle, void *of, unsigned)
{
    ENTER();
    stream *s = (stream *)handle;
    event *e = (event *)of;
    uint64_t ticket = e->ticket;

    waits++;
    if (e->capture && !s->capture) {
        s->capture = e->capture;
        s->is_joined = true;
        s->captured = s->followed = 0;
    }
    if (s->capture != e->capture)
        return CAPTURE_ISOLATION;
    if (e->capture) {
        e->on->followed = std::max(e->on->followed, e->captured);
        return SUCCESS;
    }
    if (!e->on || skips_waits)
        return SUCCESS;
    return push(s, [=](stream *on, uint64_t) {
        run_until(e->on, [=] { return e->done_ticket >= ticket; });
        on->clock_ns = std::max(on->clock_ns, e->at_ns);
    });
}

int cuEventElapsedTime(float *out_ms, void *from, void *to)
{
    ENTER();
    if (((event *)from)->capture || ((event *)to)->capture) /* it only orders what is captured */
        return INVALID_VALUE;
    if (((event *)from)->done_ticket != ((event *)from)->ticket ||
        ((event *)to)->done_ticket != ((event *)to)->ticket)
        return 600; /* CUDA_ERROR_NOT_READY */
    *out_ms = (float)(((double)((event *)to)->at_ns - (double)((event *)from)->at_ns) * 1e-6);
    return SUCCESS;
}

int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void *handle, void **arguments, void **)
{
    ENTER();
    tool_call call(307, "cuLaunchKernel");
    uint32_t number = call.number;
    const emu_kernel *k = (const emu_kernel *)function;
    uint64_t ns = script_ns(k->name);
    std::vector<std::vector<char>> kept; /* the caller's variables may change after the launch */

    if (!gx || !gy || !gz || !bx || !by || !bz || gx > 0x7fffffffu || gy > 65535 || gz > 65535 ||
        bz > 64 || (uint64_t)bx * by * bz > 1024 || shared > 48 << 10)
        return INVALID_VALUE;
    for (int i = 0; i < k->count; i++)
        kept.emplace_back((char *)arguments[i], (char *)arguments[i] + k->sizes[i]);
    launched++;
    return push((stream *)handle, [=](stream *on, uint64_t at) mutable {
        void *pointers[64];
        const char *why;

        if (sticky)
            return;
        for (int i = 0; i < k->count; i++)
            pointers[i] = kept[(size_t)i].data();
        emu_launch launch{k, dim3(gx, gy, gz), dim3(bx, by, bz), pointers};
        opening open;

        if (emu_run(&launch, &why)) {
            fprintf(stderr, "emulated device: %s, block (%u,%u,%u): %s\n", k->name,
                    emu_block_index.x, emu_block_index.y, emu_block_index.z, why);
            sticky = LAUNCH_FAILED;
        }
        occupy(on, at, ns);
        tool_kernel(number, k->name, on->number, ns, on->clock_ns);
    });
}

/* --- For the doubles of NVIDIA's libraries, which hand work of theirs over --- */

int cuDoubleBefore(const char *function)
{
    std::lock_guard<std::recursive_mutex> held(lock);

    return before(function);
}

void cuDoubleCount(const char *what, int change)
{
    std::lock_guard<std::recursive_mutex> held(lock);

    left[what] += change;
}

int cuDoubleIsDevice(const void *memory, size_t bytes)
{
    std::lock_guard<std::recursive_mutex> held(lock);

    return is_device((uint64_t)memory, bytes);
}

/* Kernels are tried on the host's memory, all at once. */
int cuDoubleIsReadable(const void *memory)
{
    return eager || cuDoubleIsDevice(memory, 1);
}

/* `work` with a copy of what is at `argument`, as a kernel of this name. */
int cuDoubleWork(void *handle, const char *name, void (*work)(const void *), const void *argument,
                 size_t bytes)
{
    std::lock_guard<std::recursive_mutex> held(lock);
    std::vector<char> kept((const char *)argument, (const char *)argument + bytes);
    uint64_t ns = script_ns(name);
    tool_call call(307, "cuLaunchKernel");
    uint32_t number = call.number;

    launched++;
    return push((stream *)handle, [=, kept = std::move(kept)](stream *on, uint64_t at) {
        if (sticky)
            return;
        opening open;

        work(kept.data());
        occupy(on, at, ns);
        tool_kernel(number, name, on->number, ns, on->clock_ns);
    });
}

int cuStreamBeginCapture_v2(void *handle, int)
{
    ENTER();
    stream *s = (stream *)handle;

    if (s->capture)
        return INVALID_VALUE;
    s->capture = new graph;
    s->is_joined = false;
    return SUCCESS;
}

int cuStreamEndCapture(void *handle, void **out_graph)
{
    std::lock_guard<std::recursive_mutex> held(lock);
    stream *s = (stream *)handle;
    bool is_unjoined = false;

    *out_graph = s->capture;
    s->capture = nullptr;
    if (!*out_graph)
        return INVALID_VALUE;
    left["graphs"]++;
    for (stream *other : streams) {
        if (!other->is_joined || other->capture != *out_graph)
            continue;
        is_unjoined |= other->captured != other->followed;
        other->capture = nullptr;
        other->is_joined = false;
    }
    if (is_unjoined)
        return CAPTURE_UNJOINED;
    return before("cuStreamEndCapture");
}

int cuGraphInstantiateWithFlags(void **out_executable, void *handle, uint64_t)
{
    ENTER();
    *out_executable = new graph(*(graph *)handle);
    left["executable graphs"]++;
    return SUCCESS;
}

int cuGraphLaunch(void *executable, void *handle)
{
    ENTER();
    graph *g = (graph *)executable;

    tool_call call(514, "cuGraphLaunch");
    uint32_t number = call.number;
    const uint64_t at_ns = now();

    graphs_launched++;
    for (event *e : g->records) {
        e->on = (stream *)handle;
        e->capture = nullptr;
        e->ticket++;
    }
    for (const item &what : g->items) { /* all at once */
        int rc = push((stream *)handle,
                      [=](stream *on, uint64_t at) {
                          tool_replays(number);
                          what(on, at);
                          tool_replays(0);
                      },
                      at_ns);

        if (rc)
            return rc;
    }
    return SUCCESS;
}

int cuGraphDestroy(void *handle)
{
    delete (graph *)handle;
    left["graphs"]--;
    return SUCCESS;
}

int cuGraphExecDestroy(void *handle)
{
    delete (graph *)handle;
    left["executable graphs"]--;
    return SUCCESS;
}
}
