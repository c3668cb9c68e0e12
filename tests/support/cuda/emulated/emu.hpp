/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUDA's device language as C++17 for the host, as far as kernels/cuda/ uses it: each thread of a
 * block is a fiber (emu.cc). One block runs at a time in the whole process, so __shared__ is static
 * and the state is global.
 */
#ifndef OPTRACE_TESTS_SUPPORT_CUDA_EMULATED_EMU_HPP
#define OPTRACE_TESTS_SUPPORT_CUDA_EMULATED_EMU_HPP

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <math.h>
#include <tuple>
#include <type_traits>
#include <utility>

/* clang's word for what gcc defines. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) && !defined(__SANITIZE_ADDRESS__)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __grid_constant__
#define __launch_bounds__(...)
/* gcc -fsanitize-sections=emu_shared gives them red zones; the range is known, to fill it. */
#define __shared__ static __attribute__((section("emu_shared")))

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_)
    {
    }
};

/* Where a thread is. */
struct emu_thread {
    dim3 index;
    unsigned linear, lane;
};

extern "C" {
extern emu_thread *emu_self;
extern dim3 emu_block_index, emu_block_size, emu_grid_size;

void emu_block_barrier(const char *file, int line);
enum emu_warp_op { EMU_SYNC, EMU_SHUFFLE, EMU_BALLOT };
/* All lanes of mask meet; the value of lane `source`, the ballot, ... */
uint64_t emu_warp(emu_warp_op op, unsigned mask, uint64_t value, unsigned source, const char *file,
                  int line);
/* How often lanes of the own warp have met. */
unsigned emu_warp_turn(void);
/* Copies of each thread that are under way. */
enum { EMU_COPIES_MAX = 32 };
struct emu_copies {
    struct {
        void *to;
        const void *from;
        size_t bytes;
    } each[EMU_COPIES_MAX];
    unsigned count;
};
struct emu_copies *emu_copies_of(void);
[[noreturn]] void emu_fault(const char *format, ...) __attribute__((format(printf, 1, 2)));
}
#define threadIdx (emu_self->index)
#define blockIdx  emu_block_index
#define blockDim  emu_block_size
#define gridDim   emu_grid_size

/* Which mistake the kernels make. */
extern "C" int emu_bug;
#define BUG emu_bug

/* Barriers, votes, shuffles. Macros, for the line. */
#define __syncthreads()               emu_block_barrier(__FILE__, __LINE__)
#define __syncwarp(...)               ((void)emu_warp(EMU_SYNC, emu_mask(__VA_ARGS__), 0, 0, __FILE__, __LINE__))
#define __ballot_sync(mask, p)        ((unsigned)emu_warp(EMU_BALLOT, mask, !!(p), 0, __FILE__, __LINE__))
#define __shfl_sync(mask, v, by)      emu_shuffle(mask, v, 'i', __FILE__, __LINE__, by)
#define __shfl_xor_sync(mask, v, by)  emu_shuffle(mask, v, 'x', __FILE__, __LINE__, by)
#define __shfl_down_sync(mask, v, by) emu_shuffle(mask, v, 'd', __FILE__, __LINE__, by)

static inline unsigned emu_mask(unsigned mask = 0xffffffffu)
{
    return mask;
}

template <typename T>
static inline T emu_shuffle(unsigned mask, T value, char how, const char *file, int line, int by)
{
    static_assert(sizeof(T) <= 8 && std::is_trivially_copyable<T>::value, "a register pair");
    int lane = (int)emu_self->lane, source = lane;
    uint64_t bits = 0;

    if (how == 'i')
        source = by & 31;
    else if (how == 'x')
        source = (lane ^ by) < 32 ? lane ^ by : lane;
    else
        source = lane + by < 32 ? lane + by : lane;
    std::memcpy(&bits, &value, sizeof value);
    bits = emu_warp(EMU_SHUFFLE, mask, bits, (unsigned)source, file, line);
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

/* What each lane of the warp gives, for all of them, until the next but one call. */
template <typename T>
static inline const T *emu_gather(const T &mine, const char *file, int line)
{
    static T given[32][2][32];
    T *all = given[emu_self->linear / 32][emu_warp_turn() & 1];

    all[emu_self->lane] = mine;
    (void)emu_warp(EMU_SYNC, ~0u, 0, 0, file, line);
    return all;
}

/* ldmatrix.x4: four matrices of 8 rows of 16 bytes, of which each lane knows one row's place. */
static inline void emu_load_matrices(uint32_t *out, const void *row, bool is_turned,
                                     const char *file, int line)
{
    unsigned lane = emu_self->lane;
    const void *const *rows = emu_gather(row, file, line);

    if ((uintptr_t)row % 16)
        emu_fault("%s:%d: a row of a matrix lies at %p", file, line, row);
    for (unsigned i = 0; i < 4; i++) {
        uint16_t pair[2];

        for (unsigned e = 0; e < 2; e++)
            std::memcpy(&pair[e],
                        is_turned ? (const char *)rows[8 * i + 2 * (lane % 4) + e] + 2 * (lane / 4)
                                  : (const char *)rows[8 * i + lane / 4] + 2 * (2 * (lane % 4) + e),
                        2);
        out[i] = pair[0] | (uint32_t)pair[1] << 16;
    }
}

/* A lane's share of the operands of mma.m16n8k16, as numbers. */
struct emu_operands {
    float a[8], b[4];
};

/* Rows lane / 4 and 8 behind, columns 2 * (lane % 4) and the next, of sums. */
static inline void emu_multiply(float *sums, const emu_operands &mine, const char *file, int line)
{
    unsigned row = emu_self->lane / 4, column = 2 * (emu_self->lane % 4);
    const emu_operands *all = emu_gather(mine, file, line);

    for (unsigned k = 0; k < 16; k++) {
        unsigned holder = k % 8 / 2, half = k / 8, e = k % 2;

        for (unsigned i = 0; i < 4; i++)
            sums[i] += all[4 * row + holder].a[4 * half + 2 * (i / 2) + e] *
                       all[4 * (column + i % 2) + holder].b[2 * half + e];
    }
}

/* cp.async: nothing lies there before it is waited for. Of what is not there zeros are written. */
static inline void emu_copy_later(void *to, const void *from, bool is_there)
{
    emu_copies *copies = emu_copies_of();

    if (((uintptr_t)to | (uintptr_t)from) % 16 || copies->count == EMU_COPIES_MAX)
        emu_fault("an asynchronous copy from %p to %p, %u before it", from, to, copies->count);
    copies->each[copies->count++] = {to, is_there ? from : nullptr, 16};
}

static inline void emu_copies_wait()
{
    emu_copies *copies = emu_copies_of();

    for (unsigned i = 0; i < copies->count; i++) {
        if (copies->each[i].from)
            std::memcpy(copies->each[i].to, copies->each[i].from, copies->each[i].bytes);
        else
            std::memset(copies->each[i].to, 0, copies->each[i].bytes);
    }
    copies->count = 0;
}

/* Atomics: real ones, so that a race detector knows them. */
template <typename T>
static inline T atomicCAS(T *p, std::common_type_t<T> from, std::common_type_t<T> to)
{
    __atomic_compare_exchange(p, &from, &to, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return from;
}

template <typename T>
static inline T atomicAdd(T *p, std::common_type_t<T> more)
{
    return __atomic_fetch_add(p, more, __ATOMIC_RELAXED);
}

/* Numbers */
static inline double __dmul_rn(double a, double b)
{
    return a * b;
}
static inline int __float_as_int(float v)
{
    int r;

    std::memcpy(&r, &v, 4);
    return r;
}
static inline float __int_as_float(int v)
{
    float r;

    std::memcpy(&r, &v, 4);
    return r;
}

/* Kernels by name, with the size of each argument, so that a launch can keep copies of them. */
struct emu_kernel {
    const char *name;
    void (*call)(void *const *arguments);
    const size_t *sizes;
    int count;
    emu_kernel *next;
};
extern "C" void emu_register(emu_kernel *kernel);

template <typename... A>
struct emu_types {
    static constexpr size_t sizes[sizeof...(A) + 1] = {sizeof(A)..., 0};
    template <void (*K)(A...), size_t... I>
    static void unpack(void *const *a, std::index_sequence<I...>)
    {
        K(*static_cast<std::remove_reference_t<A> *>(a[I])...);
    }
    template <void (*K)(A...)>
    static void call(void *const *a)
    {
        unpack<K>(a, std::index_sequence_for<A...>{});
    }
};
template <typename... A>
emu_types<A...> emu_types_of(void (*)(A...));

struct emu_registration {
    emu_kernel kernel;
    template <typename T>
    emu_registration(const char *name, void (*call)(void *const *), T)
        : kernel{name, call, T::sizes, (int)(sizeof T::sizes / sizeof *T::sizes) - 1, nullptr}
    {
        emu_register(&kernel);
    }
};
#define KERNEL_EXPORT(name)                                                                        \
    static emu_registration emu_kernel_##name(#name, decltype(emu_types_of(name))::call<name>,     \
                                              decltype(emu_types_of(name)){});

/* For the double of the driver. */
enum emu_order { EMU_FORWARD, EMU_REVERSE, EMU_RANDOM };
struct emu_launch {
    const emu_kernel *kernel;
    dim3 grid, block;
    void *const *arguments;
};
extern "C" const emu_kernel *emu_find(const char *name);
/* -1: a thread faulted. */
extern "C" int emu_run(const emu_launch *launch, const char **out_fault);
extern "C" void emu_set_order(emu_order order, uint64_t seed);

#endif
