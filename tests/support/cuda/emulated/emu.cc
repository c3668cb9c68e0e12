/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a grid: blocks one after the other, the threads of a block as fibers that give way at
 * barriers only. A fiber runs thread after thread until one waits, so that a kernel without
 * barriers costs a call per thread. */
#include "tests/support/cuda/emulated/emu.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <pthread.h>
#include <sys/mman.h>

/* This file is not instrumented: it tells a sanitizer of its switches, and what a barrier orders. */
#if defined(EMU_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define ASAN(x) x
#else
#define ASAN(x)
#endif
#if defined(EMU_TSAN)
#include <sanitizer/tsan_interface.h>
#define TSAN(x) x
#else
#define TSAN(x)
#endif

enum { THREADS = 1024, WARPS = THREADS / 32, STACK = 256 << 10 };
enum state { UNSTARTED, READY, AT_BLOCK, AT_WARP, DONE };

struct fiber {
    void *sp;
    char *stack;
    int thread; /* that it runs next */
    void *fake, *race;
    bool is_dirty;
    size_t size;
};

struct thread : emu_thread {
    state at;
    fiber *on;
    const char *file;
    int line;
    unsigned mask, source;
    emu_warp_op op;
    uint64_t value;
    void *race;
};

extern "C" {
emu_thread *emu_self;
dim3 emu_block_index, emu_block_size, emu_grid_size;
int emu_bug;
extern char __start_emu_shared[] __attribute__((weak)), __stop_emu_shared[] __attribute__((weak));
}

static thread threads[THREADS];
static unsigned waiting[WARPS]; /* lanes at a warp barrier */
static emu_copies copies[THREADS];
static int count, live, at_barrier;
/* For the race detector: one object per barrier and turn, as who is ahead may already be at the next. */
TSAN(static char block_turn[2]; static char warp_turn[WARPS][2];)
static unsigned turn, turn_of[WARPS];
static uint64_t ready[THREADS / 64]; /* by place in the order, not by thread */
static int permutation[THREADS], place[THREADS];
static fiber fibers[THREADS], host;
static int free_fibers[THREADS], free_count, made;
static int ended[THREADS], ended_count; /* free, but for this block: see give_way() */
static pthread_t owner;                 /* that the fibers run on */
static emu_order order;
static uint64_t random_state = 1;
static const emu_launch *launch;
static char fault_text[512];
static bool faulted;
static emu_kernel *kernels;

extern "C" void emu_register(emu_kernel *k)
{
    k->next = kernels;
    kernels = k;
}
extern "C" void emu_set_order(emu_order o, uint64_t seed)
{
    order = o;
    random_state = seed | 1;
}
extern "C" const emu_kernel *emu_find(const char *name)
{
    for (const emu_kernel *k = kernels; k; k = k->next)
        if (!strcmp(k->name, name))
            return k;
    return nullptr;
}

static unsigned draw(unsigned n)
{
    random_state ^= random_state << 13, random_state ^= random_state >> 7,
        random_state ^= random_state << 17;
    return (unsigned)((random_state >> 33) % n);
}

/* permutation[0..n) */
static void permute(int n)
{
    for (int i = 0; i < n; i++)
        permutation[i] = order == EMU_REVERSE ? n - 1 - i : i;
    for (int i = n - 1; order == EMU_RANDOM && i > 0; i--)
        std::swap(permutation[i], permutation[draw((unsigned)i + 1)]);
    for (int i = 0; i < n; i++)
        place[permutation[i]] = i;
}

/* The switch */
#if defined(__x86_64__)
extern "C" void emu_switch(void **save, void *load);
asm(".text\n.globl emu_switch\n.hidden emu_switch\n.type emu_switch,@function\nemu_switch:\n"
    "pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\n"
    "movq %rsp,(%rdi)\nmovq %rsi,%rsp\n"
    "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\nret\n"
    ".size emu_switch,.-emu_switch\n");
static void prepare(fiber *f, void (*entry)())
{
    void **sp = (void **)(f->stack + STACK) - 2;
    *sp = (void *)entry;
    f->sp = sp - 6;
}
#else
#error "one switch per architecture; ucontext serves where there is none"
#endif

static fiber *current;

#if defined(EMU_ASAN)
static void host_stack()
{
    static thread_local char *low;
    static thread_local size_t size;
    pthread_attr_t a;

    if (!low && !pthread_getattr_np(pthread_self(), &a)) {
        pthread_attr_getstack(&a, (void **)&low, &size);
        pthread_attr_destroy(&a);
    }
    host.stack = low, host.size = size;
}
#endif

static void go(fiber *to)
{
    fiber *from = current;

    current = to;
    ASAN(__sanitizer_start_switch_fiber(&from->fake, to->stack,
                                        to == &host ? host.size : (size_t)STACK));
    TSAN(__tsan_switch_to_fiber(to->race, __tsan_switch_to_fiber_no_sync));
    emu_switch(&from->sp, to->sp);
    ASAN(__sanitizer_finish_switch_fiber(current->fake, nullptr, nullptr));
}

static void run_fiber();

static void enqueue(int t)
{
    ready[place[t] / 64] |= (uint64_t)1 << place[t] % 64;
}

/* The first in the order, not the one that waits longest: a thread gets as far ahead of the others
 * as barriers let it, which is what shows that one is missing. */
static int dequeue()
{
    for (int w = 0; w * 64 < count; w++)
        if (ready[w]) {
            int bit = __builtin_ctzll(ready[w]);

            ready[w] &= ready[w] - 1;
            return permutation[w * 64 + bit];
        }
    return -1;
}

/* The fiber that starts this thread: one that is free, or a new one. */
static fiber *fiber_for(int t)
{
    fiber *f;

    if (free_count) {
        f = &fibers[free_fibers[--free_count]];
    } else {
        f = &fibers[made++];
        if (!f->stack) {
            void *p = mmap(nullptr, STACK, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            if (p == MAP_FAILED)
                abort();
            f->stack = static_cast<char *>(p);
            TSAN(f->race = __tsan_create_fiber(0));
        }
        ASAN(if (f->is_dirty) __asan_unpoison_memory_region(f->stack, STACK));
        f->is_dirty = false;
        prepare(f, run_fiber);
    }
    f->thread = t;
    return f;
}

/* Lets the next thread run. Returns when the own thread may go on, or, if the fiber is free, when it
 * has got another. */
static void give_way(bool is_free)
{
    int next = dequeue();

    if (next < 0) {
        for (int i = 0; live && i < count && !faulted; i++)
            if (threads[i].at == AT_BLOCK || threads[i].at == AT_WARP) {
                snprintf(fault_text, sizeof fault_text,
                         "a barrier is not reached by all: thread %d waits at %s:%d", i,
                         threads[i].file, threads[i].line);
                faulted = true;
            }
        if (is_free)
            free_fibers[free_count++] = (int)(current - fibers);
        go(&host);
        return;
    }
#if !defined(EMU_TSAN) /* there each thread is a fiber: else it had run after another */
    if (is_free && threads[next].at == UNSTARTED) {
        current->thread = next;
        return;
    }
#endif
    fiber *to = threads[next].at == UNSTARTED ? fiber_for(next) : threads[next].on;
#if defined(EMU_TSAN)
    if (is_free)
        ended[ended_count++] = (int)(current - fibers);
#else
    if (is_free)
        free_fibers[free_count++] = (int)(current - fibers);
#endif
    if (to != current)
        go(to);
}

static void release_block()
{
    permute(count);
    at_barrier = 0;
    turn++;
    for (int i = 0; i < count; i++)
        if (threads[permutation[i]].at == AT_BLOCK) {
            threads[permutation[i]].at = READY;
            enqueue(permutation[i]);
        }
}

static void run_fiber()
{
    ASAN(__sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr));
    for (;;) {
        thread *self = &threads[current->thread];

        TSAN(__tsan_acquire(&launch));
        self->on = current;
        emu_self = self;
        copies[self->linear].count = 0;
        launch->kernel->call(launch->arguments);
        if (copies[self->linear].count)
            emu_fault("thread %u ends while copies are under way", self->linear);
        self->at = DONE;
        live--;
        TSAN(__tsan_release(&live));
        if (at_barrier && at_barrier == live) /* waits for those only that still run */
            release_block();
        give_way(true);
    }
}

static void wait_as(thread *self)
{
    give_way(false);
    emu_self = self;
}

extern "C" void emu_block_barrier(const char *file, int line)
{
    thread *self = static_cast<thread *>(emu_self);

    unsigned mine = turn;

    (void)mine;
    TSAN(__tsan_release(&block_turn[mine & 1]));
    self->at = AT_BLOCK, self->file = file, self->line = line;
    if (++at_barrier == live) {
        for (int i = 0; i < count; i++)
            if (threads[i].at == AT_BLOCK && (threads[i].line != line || threads[i].file != file))
                emu_fault("threads of one block meet at different barriers: %s:%d and line %d",
                          file, line, threads[i].line);
        release_block();
    }
    wait_as(self);
    TSAN(__tsan_acquire(&block_turn[mine & 1]));
}

extern "C" uint64_t emu_warp(emu_warp_op op, unsigned mask, uint64_t value, unsigned source,
                             const char *file, int line)
{
    thread *self = static_cast<thread *>(emu_self);
    unsigned warp = self->linear / 32, first = warp * 32;
    unsigned lanes = (unsigned)count - first >= 32 ? ~0u : (1u << ((unsigned)count - first)) - 1;
    unsigned all = mask & lanes;

    if (!(mask >> self->lane & 1))
        emu_fault("%s:%d: lane %u is not in its own mask %08x", file, line, self->lane, mask);
    unsigned mine = turn_of[warp];

    (void)mine;
    TSAN(__tsan_release(&warp_turn[warp][mine & 1]));
    self->at = AT_WARP, self->file = file, self->line = line;
    self->mask = mask, self->source = source, self->op = op, self->value = value;
    waiting[warp] |= 1u << self->lane;
    if ((waiting[warp] & all) == all) {
        uint64_t values[32] = {};
        unsigned ballot = 0;
        for (unsigned l = 0; l < 32; l++)
            if (all >> l & 1) {
                thread *t = &threads[first + l];
                if (t->mask != mask || t->op != op || t->line != line)
                    emu_fault("lanes of one warp meet at %s:%d and line %d", file, line, t->line);
                values[l] = t->value;
                ballot |= (unsigned)(t->value & 1) << l;
            }
        for (unsigned l = 0; l < 32; l++)
            if (all >> l & 1) {
                thread *t = &threads[first + l];
                if (op == EMU_SHUFFLE && !(all >> t->source & 1))
                    t->value = 0xdeadbeefdeadbeefu ^ l; /* undefined there, garbage here */
                else
                    t->value = op == EMU_BALLOT ? ballot : values[t->source];
            }
        waiting[warp] &= ~all;
        turn_of[warp]++;
        for (unsigned l = 0; l < 32; l++)
            if (all >> l & 1) {
                threads[first + l].at = READY;
                enqueue((int)(first + l));
            }
    }
    wait_as(self);
    TSAN(__tsan_acquire(&warp_turn[warp][mine & 1]));
    return self->value;
}

extern "C" unsigned emu_warp_turn(void)
{
    return turn_of[emu_self->linear / 32];
}

extern "C" emu_copies *emu_copies_of(void)
{
    return &copies[emu_self->linear];
}

extern "C" void emu_fault(const char *format, ...)
{
    va_list list;

    va_start(list, format);
    vsnprintf(fault_text, sizeof fault_text, format, list);
    va_end(list);
    faulted = true;
    go(&host);
    abort();
}

/* Shared memory is not zero at the start of a block. All kernels' is filled, for each block: at once, and
 * by no instruction that a sanitizer looks at, since it writes red zones too. */
static void fill(char *from, char *to)
{
    size_t bytes = (size_t)(to - from);

    asm volatile("rep stosb" : "+D"(from), "+c"(bytes) : "a"(0xff) : "memory");
}

static void run_block()
{
    count = live = (int)(launch->block.x * launch->block.y * launch->block.z);
    at_barrier = 0;
    memset(ready, 0, sizeof ready);
    memset(waiting, 0, sizeof waiting);
    fill(__start_emu_shared, __stop_emu_shared);
    permute(count);
    for (int i = 0; i < count; i++) {
        thread *t = &threads[i];
        unsigned u = (unsigned)i, x = launch->block.x, y = launch->block.y;

        t->index = dim3(u % x, u / x % y, u / (x * y));
        t->linear = u, t->lane = u % 32, t->at = UNSTARTED;
        enqueue(i);
    }
    TSAN(__tsan_release(&launch));
    go(fiber_for(dequeue()));
    TSAN(__tsan_acquire(&live));
    while (ended_count)
        free_fibers[free_count++] = ended[--ended_count];
    for (int i = 0; faulted && i < made;
         i++) /* what they hold is lost; the stacks are used again */
        fibers[i].is_dirty = true;
}

extern "C" int emu_run(const emu_launch *l, const char **out_fault)
{
    uint64_t blocks = (uint64_t)l->grid.x * l->grid.y * l->grid.z;

    /* Fibers stay for the next launch: each new one takes memory of AddressSanitizer's that is never
     * given back. They begin anew on another OS thread, and where a fault left them within a kernel. */
    if (faulted || !pthread_equal(owner, pthread_self()))
        made = free_count = ended_count = 0;
    owner = pthread_self();
    launch = l;
    faulted = false;
    emu_block_size = l->block;
    emu_grid_size = l->grid;
    current = &host;
    ASAN(host_stack());
    TSAN(host.race = __tsan_get_current_fiber());
    for (uint64_t i = 0; i < blocks && !faulted; i++) {
        unsigned b = (unsigned)(order == EMU_REVERSE ? blocks - 1 - i : i);

        emu_block_index =
            dim3(b % l->grid.x, b / l->grid.x % l->grid.y, b / (l->grid.x * l->grid.y));
        run_block();
    }
    *out_fault = faulted ? fault_text : nullptr;
    return faulted ? -1 : 0;
}
