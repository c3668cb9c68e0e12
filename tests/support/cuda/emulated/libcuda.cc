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
 *   CUDA_DOUBLE_CALLS    one of the function of each call, by number, a line each
 */
#include "tests/support/cuda/emulated/device.hpp"
#include "tests/support/cuda/emulated/emu.hpp"
#include "tests/support/cuda/emulated/tool.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

static constexpr uint64_t KERNEL_NS = 1000;

struct module {
    std::map<std::string, const emu_kernel *> functions;
};

/* Never destroyed: a program may exit while somebody waits in them. */
std::recursive_mutex &device_lock = *new std::recursive_mutex;
std::map<std::string, long> &left = *new std::map<std::string, long>;
static std::map<std::string, int> &failing = *new std::map<std::string, int>;
int sticky;
static long calls, fail_at, launched;
static const char *failed = "";
static int fail_with;
static FILE *calls_file;

int before(const char *function)
{
    auto told = failing.find(function);

    if (sticky)
        return sticky;
    if (calls_file)
        fprintf(calls_file, "%s\n", function);
    if (++calls == fail_at) {
        failed = function;
        return fail_with;
    }
    return told == failing.end() ? SUCCESS : told->second;
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
    std::lock_guard<std::recursive_mutex> held(device_lock);
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
    if (getenv("CUDA_DOUBLE_CALLS"))
        calls_file = fopen(getenv("CUDA_DOUBLE_CALLS"), "w");
    if (memory_reserve())
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
    std::lock_guard<std::recursive_mutex> held(device_lock);

    return before(function);
}

void cuDoubleCount(const char *what, int change)
{
    std::lock_guard<std::recursive_mutex> held(device_lock);

    left[what] += change;
}

int cuDoubleIsDevice(const void *memory, size_t bytes)
{
    std::lock_guard<std::recursive_mutex> held(device_lock);

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
    std::lock_guard<std::recursive_mutex> held(device_lock);
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
}
