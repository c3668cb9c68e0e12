/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The team of threads that kernels share, ours and oneDNN's.
 *
 * Debian's oneDNN runs its loops through GNU OpenMP, by the six functions at the end of this file.
 * A program's own definition of a symbol goes before that of a library: linked into the program,
 * ours are the ones that oneDNN calls. So there is one team, its size and cores are those that were
 * asked for, and a thread without work spins for some microseconds only, where libgomp's spin for
 * milliseconds, which on a busy machine keeps the others of the team from the CPU (decision 14).
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

enum {
    SPINS = 2000,          /* pauses, some 30 to 70 us: loops of one run follow each other faster */
    LATE = 8,              /* loops that a helper missed, before it is looked for */
    STALL_NS = 300000,     /* slept for another's step: that one waits for a CPU */
    ALONE_MOST = 32,       /* times as long as a stall the leader of loops in steps goes on alone */
    STALLS_NS = 200000000, /* stalls within that time of each other: twice as long each time */
    INDEX_BITS = 16,
    THREADS_MAX = (1 << INDEX_BITS) - 1,
};

/* Something to sleep on until another thread says that there is news. */
struct bell {
    atomic_uint rings;
    atomic_uint sleepers;
};

struct team;

struct helper {
    /* The last loop in which somebody took this one's share: itself, or the leader when it was the
     * first. */
    _Alignas(64) atomic_ullong taken;
    struct team *team;
    atomic_llong step; /* of a loop in steps: the first in which nobody has taken its share */
    atomic_int cpu;    /* where it was last seen */
    uint32_t late;     /* loops that it missed */
    uint32_t index;    /* 1 and up: 0 is the leader */
    pthread_t thread;
};

struct team {
    /* The number of the loop, counted from 1, and below it how many threads work on it. */
    _Alignas(64) atomic_ullong loop;
    void (*work)(void *);
    void *data;
    bool is_over; /* helpers are to end */
    struct bell begun;
    _Alignas(64) atomic_uint busy; /* helpers that are not done with the loop */
    struct bell done;
    _Alignas(64) atomic_uint waiting; /* at a barrier */
    atomic_uint barriers;             /* passed */
    struct bell passed;
    _Alignas(64) atomic_ullong finished; /* shares of a loop in steps */
    uint64_t alone_until_ns; /* loops in steps are the leader's; by the monotonic clock */
    uint64_t stalled_ns;     /* when it was last */
    uint32_t alone;          /* times as long as that stall */
    uint32_t size;           /* threads, the leader included */
    uint32_t wanted;         /* what it would be if the system had given all of them */
    struct helper helpers[];
};

/* Of each thread. */
static _Thread_local bool loops_are_free;     /* of those that oneDNN begins */
static _Thread_local uint32_t wanted_threads; /* 0: as many as CPUs */
static _Thread_local struct team *own_team;   /* that it leads */
static _Thread_local struct team *working_in; /* while it works on a loop */
static _Thread_local uint32_t own_index, loop_threads = 1;

static pthread_key_t team_key; /* ends the team with its leader */
static pthread_once_t team_once = PTHREAD_ONCE_INIT;

/* Bells */

static void pause_cpu(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

static void ring(struct bell *bell)
{
    /* Whoever counts as a sleeper after this has yet to look for the news, and sees them. */
    if (atomic_load(&bell->sleepers) == 0)
        return;
    atomic_fetch_add(&bell->rings, 1);
    syscall(SYS_futex, &bell->rings, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

typedef bool is_news_fn(const struct team *team, unsigned long long old);

static void wait_for(struct team *team, struct bell *bell, is_news_fn *is_news,
                     unsigned long long old)
{
    for (int i = 0; i < SPINS; i++) {
        if (is_news(team, old))
            return;
        pause_cpu();
    }
    atomic_fetch_add(&bell->sleepers, 1);
    for (;;) {
        unsigned rings = atomic_load(&bell->rings);

        if (is_news(team, old))
            break;
        syscall(SYS_futex, &bell->rings, FUTEX_WAIT_PRIVATE, rings, NULL, NULL, 0);
    }
    atomic_fetch_sub(&bell->sleepers, 1);
}

static bool has_begun(const struct team *team, unsigned long long old)
{
    return atomic_load(&team->loop) != old;
}

static bool is_done(const struct team *team, unsigned long long old)
{
    (void)old;
    return atomic_load(&team->busy) == 0;
}

static bool has_passed(const struct team *team, unsigned long long old)
{
    return atomic_load(&team->barriers) != (unsigned)old;
}

static bool has_finished(const struct team *team, unsigned long long old)
{
    return atomic_load(&team->finished) >= old;
}

/* Helpers */

static void work_on(struct team *team, uint32_t index, uint32_t threads)
{
    working_in = team;
    own_index = index;
    loop_threads = threads;
    team->work(team->data);
    working_in = NULL;
    own_index = 0;
    loop_threads = 1;
}

/* Whether nobody has taken the share of this helper in this loop yet. A helper that comes late,
 * when other loops have begun since, finds it taken. */
static bool take_share(struct helper *helper, unsigned long long number)
{
    unsigned long long taken = atomic_load(&helper->taken);

    return taken < number && atomic_compare_exchange_strong(&helper->taken, &taken, number);
}

static void finish_share(struct team *team)
{
    if (atomic_fetch_sub(&team->busy, 1) == 1)
        ring(&team->done);
}

static void *helper_main(void *argument)
{
    struct helper *helper = argument;
    struct team *team = helper->team;
    unsigned long long seen = 0;
    char name[16];

    snprintf(name, sizeof(name), "kernels %u", helper->index);
    pthread_setname_np(pthread_self(), name);
    for (;;) {
        uint32_t threads;

        wait_for(team, &team->begun, has_begun, seen);
        atomic_store_explicit(&helper->cpu, sched_getcpu(), memory_order_relaxed);
        seen = atomic_load(&team->loop);
        threads = (uint32_t)(seen & THREADS_MAX);
        if (helper->index >= threads) /* it may be over by now, and another one have begun */
            continue;
        if (!take_share(helper, seen >> INDEX_BITS))
            continue;
        if (team->is_over)
            break;
        wanted_threads = team->size;
        work_on(team, helper->index, threads);
        finish_share(team);
    }
    return NULL;
}

static void begin(struct team *team, uint32_t threads)
{
    unsigned long long number = (atomic_load(&team->loop) >> INDEX_BITS) + 1;

    atomic_store(&team->busy, threads - 1);
    atomic_store(&team->loop, number << INDEX_BITS | threads);
    ring(&team->begun);
}

/* Teams */

static void end_team(void *argument)
{
    struct team *team = argument;

    team->is_over = true;
    begin(team, team->size);
    for (uint32_t i = 1; i < team->size; i++)
        pthread_join(team->helpers[i].thread, NULL);
    free(team);
}

/* Only the thread that forked is in the child. */
static void forget_team(void)
{
    own_team = NULL;
    pthread_setspecific(team_key, NULL);
}

static void prepare_teams(void)
{
    pthread_key_create(&team_key, end_team);
    pthread_atfork(NULL, NULL, forget_team);
}

/* With fewer helpers where the system gives no more. They look at the team when a loop begins. */
static void start_helpers(struct team *team, uint32_t size)
{
    sigset_t all, before;
    uint32_t count = 1;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* handlers run on the program's own threads */
    for (; count < size; count++) {
        struct helper *helper = &team->helpers[count];

        *helper = (struct helper){.team = team, .index = count};
        if (pthread_create(&helper->thread, NULL, helper_main, helper) != 0)
            break;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    team->size = count;
}

/* NULL: there is no memory for one. */
static struct team *get_team(uint32_t size)
{
    size_t bytes = sizeof(struct team) + size * sizeof(struct helper);
    struct team *team = own_team;

    if (team && team->wanted >= size)
        return team;
    pthread_once(&team_once, prepare_teams);
    if (team)
        end_team(team);
    own_team = team = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (team) {
        *team = (struct team){.wanted = size};
        start_helpers(team, size);
    }
    pthread_setspecific(team_key, team);
    return team;
}

static uint32_t cpu_count(void)
{
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof(set), &set) == 0)
        return (uint32_t)CPU_COUNT(&set);
    return (uint32_t)sysconf(_SC_NPROCESSORS_ONLN); /* more than a cpu_set_t counts */
}

uint32_t kernel_threads(void)
{
    if (wanted_threads == 0)
        wanted_threads = cpu_count();
    return wanted_threads;
}

void kernel_set_threads(uint32_t threads)
{
    wanted_threads = threads < THREADS_MAX ? threads : THREADS_MAX;
}

/* A helper that waits for the CPU that this thread works on goes to another one: the system leaves both
 * there for tenths of a second, since neither sleeps for long. It may go wherever it might before, also
 * back. */
static void send_away(struct helper *helper)
{
    int cpu = sched_getcpu();
    cpu_set_t all, others;

    if (cpu < 0 || cpu >= CPU_SETSIZE ||
        cpu != atomic_load_explicit(&helper->cpu, memory_order_relaxed) ||
        pthread_getaffinity_np(helper->thread, sizeof(all), &all) != 0)
        return;
    others = all;
    CPU_CLR(cpu, &others);
    if (CPU_COUNT(&others) > 0 &&
        pthread_setaffinity_np(helper->thread, sizeof(others), &others) == 0)
        pthread_setaffinity_np(helper->thread, sizeof(all), &all);
}

static void look_for(struct helper *helper)
{
    if (++helper->late % LATE == 0)
        send_away(helper);
}

/* Shares of helpers that have not come to it: on a busy machine they may be waiting for a CPU. */
static void take_over(struct team *team, uint32_t threads)
{
    unsigned long long number = atomic_load(&team->loop) >> INDEX_BITS;

    for (uint32_t i = 1; i < threads; i++)
        if (take_share(&team->helpers[i], number)) {
            look_for(&team->helpers[i]);
            work_on(team, i, threads);
            finish_share(team);
        }
}

/* Helpers that have not come to a loop that nobody else may work on for them. */
static void look_for_all(struct team *team, uint32_t threads)
{
    unsigned long long number = atomic_load(&team->loop) >> INDEX_BITS;

    for (uint32_t i = 1; i < threads; i++)
        if (atomic_load(&team->helpers[i].taken) < number)
            look_for(&team->helpers[i]);
}

/* On at most so many threads of the team that this one leads; inside of another loop on this one
 * alone. is_free: shares do not wait for each other, so that one thread may work on several. */
static void run_loop(void (*work)(void *), void *data, uint32_t threads, bool is_free)
{
    struct team *team = threads > 1 && !working_in ? get_team(threads) : NULL;

    if (!team || team->size == 1) {
        uint32_t index = own_index, outer = loop_threads;

        own_index = 0;
        loop_threads = 1;
        work(data);
        own_index = index;
        loop_threads = outer;
        return;
    }
    threads = threads < team->size ? threads : team->size;
    team->work = work;
    team->data = data;
    begin(team, threads);
    work_on(team, 0, threads);
    if (is_free)
        take_over(team, threads);
    else
        look_for_all(team, threads);
    wait_for(team, &team->done, is_done, 0);
}

/* Loops of our own kernels */

struct loop {
    int64_t count;
    team_fn *part;
    void *argument;
};

static void loop_part(void *data)
{
    const struct loop *loop = data;
    int64_t threads = loop_threads, index = own_index;

    loop->part(loop->argument, loop->count * index / threads, loop->count * (index + 1) / threads);
}

/* How many threads get at least `grain` of a loop each. */
static uint32_t threads_for(int64_t count, int64_t grain)
{
    int64_t threads = working_in ? 1 : kernel_threads();

    if (threads > count / grain)
        threads = count / grain;
    return threads > 1 ? (uint32_t)threads : 1;
}

void team_for(int64_t count, int64_t grain, team_fn *part, void *argument)
{
    struct loop loop = {count, part, argument};
    uint32_t threads = threads_for(count, grain);

    if (threads == 1)
        part(argument, 0, count);
    else
        run_loop(loop_part, &loop, threads, true);
}

/* Loops in steps */

struct steps {
    int64_t steps, count;
    team_step_fn *part;
    void *argument;
};

/* The share of one thread in a step. */
static void do_step(const struct steps *loop, struct team *team, int64_t step, uint32_t index)
{
    int64_t threads = loop_threads;

    loop->part(loop->argument, step, loop->count * index / threads,
               loop->count * (index + 1) / threads);
    if (atomic_fetch_add(&team->finished, 1) + 1 == (unsigned long long)((step + 1) * threads))
        ring(&team->passed);
}

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Wait for all shares of a step. Steps are short, so that a helper that lost its CPU within one costs as
 * much as hundreds of them: where that happens the leader goes on alone, for so long that waiting takes
 * a small part of the time if it goes on happening. Returns whether it has. */
static bool wait_for_step(struct team *team, uint64_t shares)
{
    uint64_t start, end;

    for (int i = 0; i < SPINS; i++) {
        if (has_finished(team, shares))
            return false;
        pause_cpu();
    }
    for (uint32_t i = 1; i < loop_threads; i++)
        send_away(&team->helpers[i]);
    start = now_ns();
    wait_for(team, &team->passed, has_finished, shares);
    end = now_ns();
    if (end - start <= STALL_NS)
        return false;
    if (start - team->stalled_ns > STALLS_NS)
        team->alone = 1;
    if (team->alone < ALONE_MOST)
        team->alone *= 2;
    team->stalled_ns = end;
    team->alone_until_ns = end + team->alone * (end - start);
    return true;
}

static void lead_steps(const struct steps *loop, struct team *team)
{
    bool is_alone = false;

    for (int64_t step = 0; step < loop->steps; step++) {
        if (!is_alone)
            do_step(loop, team, step, 0);
        for (uint32_t i = 1; i < loop_threads; i++) {
            long long number = step;

            if (atomic_compare_exchange_strong(&team->helpers[i].step, &number, step + 1))
                do_step(loop, team, step, i);
        }
        if (is_alone)
            do_step(loop, team, step, 0);
        is_alone |= wait_for_step(team, (uint64_t)(step + 1) * loop_threads);
    }
}

/* One that comes late goes on where the leader, who did its shares, is. */
static void help_with_steps(const struct steps *loop, struct team *team)
{
    atomic_llong *next = &team->helpers[own_index].step;

    for (long long step; (step = atomic_load(next)) < loop->steps;) {
        wait_for(team, &team->passed, has_finished, (unsigned long long)step * loop_threads);
        if (atomic_compare_exchange_strong(next, &step, step + 1))
            do_step(loop, team, step, own_index);
    }
}

static void steps_part(void *data)
{
    (own_index == 0 ? lead_steps : help_with_steps)(data, working_in);
}

void team_steps(int64_t steps, int64_t count, int64_t grain, team_step_fn *part, void *argument)
{
    struct steps loop = {steps, count, part, argument};
    uint32_t threads = threads_for(count, grain);
    struct team *team = threads > 1 ? get_team(threads) : NULL;

    if (!team || team->size == 1 || (team->alone_until_ns > 0 && now_ns() < team->alone_until_ns)) {
        for (int64_t step = 0; step < steps; step++)
            part(argument, step, 0, count);
        return;
    }
    atomic_store(&team->finished, 0);
    for (uint32_t i = 1; i < team->size; i++)
        atomic_store(&team->helpers[i].step, 0);
    run_loop(steps_part, &loop, threads, true);
}

void team_free_loops(bool are_free)
{
    loops_are_free = are_free;
}

struct pins {
    const uint32_t *cores;
    atomic_int failed;
};

static void pin_part(void *data)
{
    struct pins *pins = data;
    uint32_t core = pins->cores[own_index];
    cpu_set_t set;

    CPU_ZERO(&set);
    if (core < CPU_SETSIZE)
        CPU_SET(core, &set);
    if (sched_setaffinity(0, sizeof(set), &set) != 0)
        atomic_store(&pins->failed, 1);
}

int kernel_pin_threads(const uint32_t *cores, uint32_t count)
{
    struct pins pins = {cores, 0};

    run_loop(pin_part, &pins, count, false);
    return atomic_load(&pins.failed) ? -EINVAL : 0;
}

/* What oneDNN calls: libgomp's own binary interface and OpenMP's functions. */

extern void GOMP_parallel(void (*work)(void *), void *data, unsigned threads, unsigned flags);
extern void GOMP_barrier(void);
extern int omp_get_max_threads(void);
extern int omp_get_num_threads(void);
extern int omp_get_thread_num(void);
extern int omp_in_parallel(void);

void GOMP_parallel(void (*work)(void *), void *data, unsigned threads, unsigned flags)
{
    (void)flags;
    run_loop(work, data, threads > 0 ? threads : kernel_threads(), loops_are_free);
}

void GOMP_barrier(void)
{
    struct team *team = working_in;
    unsigned passed;

    if (loop_threads == 1)
        return;
    passed = atomic_load(&team->barriers);
    if (atomic_fetch_add(&team->waiting, 1) + 1 < loop_threads) {
        wait_for(team, &team->passed, has_passed, passed);
        return;
    }
    atomic_store(&team->waiting, 0);
    atomic_fetch_add(&team->barriers, 1);
    ring(&team->passed);
}

int omp_get_max_threads(void)
{
    return (int)kernel_threads();
}

int omp_get_num_threads(void)
{
    return (int)loop_threads;
}

int omp_get_thread_num(void)
{
    return (int)own_index;
}

int omp_in_parallel(void)
{
    return working_in != NULL;
}
