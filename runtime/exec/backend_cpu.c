/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU as a device: its memory, and a queue with one worker thread that leads a kernel team. */
#include "runtime/exec/backend.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "runtime/graph/run_limits.h"

enum {
    QUEUE_ITEMS = 4096,  /* a power of two */
    SPINS_WORKER = 2000, /* some ten microseconds: the gap between two dispatches */
    SPINS_WAITER = 100,  /* short: the waiter may hold the CPU that the team needs */
};

#define NOBODY_WAITS UINT64_MAX

struct item {
    backend_item_fn *run;
    void *argument;
};

/* One thread pushes, the worker pops. Each counter is written by one side only; a side that finds
 * nothing to do says so (`worker_sleeps`, `waiter_target`) before it looks at the counter a last
 * time, and the other side looks there after it has moved the counter: no wake-up can be missed.
 * The waiter says how far it waits, because a wake-up at each item would cost the worker its CPU
 * between two items on a busy machine. */
struct backend_queue {
    struct item items[QUEUE_ITEMS];
    _Alignas(64) _Atomic uint64_t pushed;
    _Alignas(64) _Atomic uint64_t done;
    _Alignas(64) atomic_bool worker_sleeps;
    _Atomic uint64_t waiter_target; /* NOBODY_WAITS, or the count of done items it sleeps for */
    pthread_mutex_t lock;
    pthread_cond_t work, idle;
    pthread_t thread;
    struct backend_queue_config config; /* `cores` only until setting the team up has ended */
    int setup_result;                   /* of the worker's */
};

static void pause_cpu(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/* Until something is pushed. Only the worker calls this. */
static void wait_for_work(struct backend_queue *queue, uint64_t done)
{
    for (int i = 0; i < SPINS_WORKER; i++) {
        if (atomic_load_explicit(&queue->pushed, memory_order_acquire) != done)
            return;
        pause_cpu();
    }
    pthread_mutex_lock(&queue->lock);
    atomic_store(&queue->worker_sleeps, true);
    while (atomic_load(&queue->pushed) == done)
        pthread_cond_wait(&queue->work, &queue->lock);
    atomic_store(&queue->worker_sleeps, false);
    pthread_mutex_unlock(&queue->lock);
}

static void wait_until_done(struct backend_queue *queue, uint64_t target)
{
    for (int i = 0; i < SPINS_WAITER; i++) {
        if (atomic_load_explicit(&queue->done, memory_order_acquire) >= target)
            return;
        pause_cpu();
    }
    pthread_mutex_lock(&queue->lock);
    atomic_store(&queue->waiter_target, target);
    while (atomic_load(&queue->done) < target)
        pthread_cond_wait(&queue->idle, &queue->lock);
    atomic_store(&queue->waiter_target, NOBODY_WAITS);
    pthread_mutex_unlock(&queue->lock);
}

static void wake(struct backend_queue *queue, pthread_cond_t *condition)
{
    pthread_mutex_lock(&queue->lock);
    pthread_cond_signal(condition);
    pthread_mutex_unlock(&queue->lock);
}

/* On the thread that leads the team: its size and its cores. */
static void set_up_team(void *argument)
{
    struct backend_queue *queue = argument;

    kernel_set_threads(queue->config.threads);
    if (queue->config.cores)
        queue->setup_result = kernel_pin_threads(queue->config.cores, queue->config.threads);
}

static void *worker(void *argument)
{
    struct backend_queue *queue = argument;
    uint64_t done = 0;

    pthread_setname_np(pthread_self(), "cpu worker"); /* debuggers, top and traces show it */
    for (;;) {
        struct item item;

        wait_for_work(queue, done);
        item = queue->items[done % QUEUE_ITEMS];
        if (!item.run)
            return NULL;
        item.run(item.argument);
        atomic_store(&queue->done, ++done);
        if (done >= atomic_load(&queue->waiter_target))
            wake(queue, &queue->idle);
    }
}

static void cpu_queue_push(struct backend_queue *queue, backend_item_fn *run, void *argument)
{
    uint64_t pushed = atomic_load_explicit(&queue->pushed, memory_order_relaxed);

    if (queue->config.is_inline) {
        run(argument);
        return;
    }
    if (pushed - atomic_load_explicit(&queue->done, memory_order_acquire) == QUEUE_ITEMS)
        wait_until_done(queue, pushed - QUEUE_ITEMS / 2);
    queue->items[pushed % QUEUE_ITEMS] = (struct item){run, argument};
    atomic_store(&queue->pushed, pushed + 1);
    if (atomic_load(&queue->worker_sleeps))
        wake(queue, &queue->work);
}

static void cpu_queue_wait(struct backend_queue *queue)
{
    if (!queue->config.is_inline)
        wait_until_done(queue, atomic_load_explicit(&queue->pushed, memory_order_relaxed));
}

static void cpu_queue_destroy(struct backend_queue *queue)
{
    if (!queue)
        return;
    if (!queue->config.is_inline) {
        cpu_queue_push(queue, NULL, NULL); /* the worker ends at this item */
        pthread_join(queue->thread, NULL);
    }
    pthread_mutex_destroy(&queue->lock);
    pthread_cond_destroy(&queue->work);
    pthread_cond_destroy(&queue->idle);
    free(queue);
}

static int cpu_queue_create(const struct backend_queue_config *config,
                            struct backend_queue **out_queue)
{
    struct backend_queue *queue = aligned_alloc(64, sizeof(*queue));
    int rc;

    if (!queue)
        return -ENOMEM;
    memset(queue, 0, sizeof(*queue));
    queue->config = *config;
    queue->waiter_target = NOBODY_WAITS;
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->work, NULL);
    pthread_cond_init(&queue->idle, NULL);
    if (!config->is_inline && pthread_create(&queue->thread, NULL, worker, queue) != 0) {
        free(queue);
        return -EAGAIN;
    }
    cpu_queue_push(queue, set_up_team, queue);
    cpu_queue_wait(queue);
    rc = queue->setup_result;
    queue->config.cores = NULL;
    if (rc < 0)
        cpu_queue_destroy(queue);
    else
        *out_queue = queue;
    return rc;
}

static void *cpu_alloc(size_t bytes)
{
    size_t rounded = (bytes + 63) / 64 * 64 + 64; /* never 0 */
    bool is_allowed = rounded >= bytes && limits_allow(rounded);
    void *memory = is_allowed ? aligned_alloc(64, rounded) : NULL;

    if (memory)
        memset(memory, 0, rounded);
    return memory;
}

static void cpu_free(void *memory, size_t bytes)
{
    free(memory);
}

static void cpu_copy_in(void *device, const void *host, size_t bytes)
{
    if (bytes)
        memcpy(device, host, bytes);
}

const struct backend backend_cpu = {
    .name = "cpu",
    .alloc = cpu_alloc,
    .free = cpu_free,
    .copy_in = cpu_copy_in,
    .queue_create = cpu_queue_create,
    .queue_destroy = cpu_queue_destroy,
    .queue_push = cpu_queue_push,
    .queue_wait = cpu_queue_wait,
};
