/* SPDX-License-Identifier: Apache-2.0 */
/* Records events that are known beforehand, to be killed while it does. See crash_events.h. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/exit_status.h"
#include "client/optrace.h"
#include "tests/flow/crash_events.h"

/* What may stand in a ring before its thread waits for a commit; a quarter of what it holds. */
enum { UNCOMMITTED_MAX = 16384 };

struct producer {
    struct crash_notes *notes;
    uint32_t index;
    uint64_t event_count; /* 0: endless */
    uint64_t pause_us;
    pthread_t thread;
};

static uint32_t inner_op, copy_op, outer_op, mark_op, counter_op, memory_op;
static atomic_bool is_ending; /* written by a signal handler, read by all threads */

static void on_signal(int number)
{
    is_ending = true;
}

static void define_ops(void)
{
    struct optrace_op_info inner = OPTRACE_OP_INFO("inner", "Inner");
    struct optrace_op_info outer = OPTRACE_OP_INFO("outer", "Outer");

    optrace_op_define(&inner, &inner_op);
    optrace_op_define(&outer, &outer_op);
    copy_op = optrace_name(OPTRACE_COPY, "copy");
    mark_op = optrace_name(OPTRACE_MARK, "mark");
    counter_op = optrace_name(OPTRACE_COUNTER, "counter");
    memory_op = optrace_name(OPTRACE_MEMORY, "memory");
}

/* Right after the call that recorded it. The release keeps the order in which a checker may see
 * the ring and the note. */
static void note(struct producer *producer, uint64_t number)
{
    __atomic_store_n(&producer->notes->threads[producer->index].noted, number, __ATOMIC_RELEASE);
}

static void record_inner(const struct crash_event *event)
{
    struct optrace_span span = event->what == CRASH_COPY
                                   ? optrace_copy_begin(copy_op, (uint64_t)event->bytes)
                                   : optrace_begin(inner_op);

    optrace_span_correlate(span, event->id);
    if (event->what == CRASH_INNER)
        optrace_kern(span);
    optrace_end(span);
}

static void record_point(const struct crash_event *event)
{
    struct optrace_event mark = {.kind = OPTRACE_KIND_MARK, .op = mark_op};
    const void *address = (const void *)(uintptr_t)event->address;

    switch (event->what) {
    case CRASH_MARK:
        mark.start = optrace_ticks();
        mark.correlation = event->id;
        optrace_record(&mark);
        break;
    case CRASH_COUNTER:
        optrace_counter(counter_op, (double)event->id);
        break;
    case CRASH_ALLOC:
        optrace_alloc(memory_op, address, (uint64_t)event->bytes);
        break;
    default:
        optrace_free(memory_op, address, (uint64_t)-event->bytes);
    }
}

/* Three events: inner, point, outer. Returns the number of the last. */
static uint64_t record_step(struct producer *producer, uint64_t number)
{
    struct crash_event event = crash_event(producer->index, number + 2);
    struct optrace_span outer = optrace_begin(outer_op);

    optrace_span_correlate(outer, event.id);
    event = crash_event(producer->index, number);
    record_inner(&event);
    note(producer, number);
    event = crash_event(producer->index, number + 1);
    record_point(&event);
    note(producer, number + 1);
    optrace_end(outer);
    note(producer, number + 2);
    return number + 2;
}

/* One run. Returns the number of its last event. */
static uint64_t record_run(struct producer *producer, uint64_t number)
{
    struct crash_thread *thread = &producer->notes->threads[producer->index];
    struct optrace_run run = optrace_run_begin(0, 0);

    thread->runs[thread->run_count] = run.number;
    __atomic_store_n(&thread->run_count, thread->run_count + 1, __ATOMIC_RELEASE);
    for (int step = 0; step < CRASH_STEPS; step++)
        number = record_step(producer, number) + 1;
    optrace_run_end(run);
    note(producer, number);
    return number;
}

/* Wait until there is room in the ring: how long a killed daemon is away must not decide what is
 * lost, and on a loaded machine that is longer than the ring lasts. */
static void wait_for_room(void)
{
    const struct timespec pause = {.tv_nsec = 1000000};

    while (!is_ending && optrace_flush(1000) < 0)
        nanosleep(&pause, NULL);
}

/* The notes are used up: it records no more, and ends when it is told to. */
static void wait_for_end(const struct producer *producer)
{
    const struct timespec pause = {.tv_nsec = 1000000};

    while (!is_ending && producer->event_count == 0)
        nanosleep(&pause, NULL);
}

static void *produce(void *context)
{
    struct producer *producer = context;
    struct crash_thread *thread = &producer->notes->threads[producer->index];
    const struct timespec pause = {.tv_sec = (time_t)(producer->pause_us / 1000000),
                                   .tv_nsec = (long)(producer->pause_us % 1000000 * 1000)};
    uint64_t number = 0, committed = 0;

    thread->lane = optrace_thread_lane();
    while (!is_ending && (producer->event_count == 0 || number < producer->event_count) &&
           thread->run_count < CRASH_RUNS_MAX) {
        struct optrace_loss loss;

        number = record_run(producer, number + 1);
        optrace_lost(&loss);
        __atomic_store_n(&producer->notes->lost, loss.ring_full + loss.too_deep + loss.no_memory,
                         __ATOMIC_RELAXED);
        if (number - committed >= UNCOMMITTED_MAX) {
            wait_for_room();
            committed = number;
        }
        if (producer->pause_us > 0)
            nanosleep(&pause, NULL);
    }
    wait_for_end(producer);
    return NULL;
}

static struct crash_notes *open_notes(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    void *memory;

    if (fd < 0 || ftruncate(fd, sizeof(struct crash_notes)) < 0)
        return NULL;
    memory = mmap(NULL, sizeof(struct crash_notes), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return memory == MAP_FAILED ? NULL : memory;
}

static void wait_until_ready(struct crash_notes *notes)
{
    const struct timespec pause = {.tv_nsec = 1000000};

    for (uint32_t i = 0; i < notes->thread_count; i++) {
        while (__atomic_load_n(&notes->threads[i].noted, __ATOMIC_ACQUIRE) == 0)
            nanosleep(&pause, NULL);
    }
    __atomic_store_n(&notes->ready, 1, __ATOMIC_RELEASE);
}

static int fail(const char *what)
{
    char status[300];

    optrace_status(status, sizeof(status));
    fprintf(stderr, "crash_producer: %s (%s)\n", what, status);
    return EXIT_SYSTEM;
}

int main(int argc, char **argv)
{
    static struct producer producers[CRASH_THREADS_MAX];
    /* As long as tests wait: on a busy machine the daemon may take more than a second to answer. */
    const struct optrace_config config = {.required = 1, .connect_timeout_ms = 60000};
    struct crash_notes *notes;
    uint32_t count;

    if (argc != 5)
        return EXIT_USAGE;
    notes = open_notes(argv[1]);
    count = (uint32_t)strtoul(argv[2], NULL, 10);
    if (!notes || count == 0 || count > CRASH_THREADS_MAX)
        return EXIT_USAGE;
    signal(SIGTERM, on_signal);
    if (optrace_start(&config) < 0)
        return fail("no daemon");
    define_ops();
    notes->magic = CRASH_MAGIC;
    notes->thread_count = count;
    for (uint32_t i = 0; i < count; i++) {
        producers[i] = (struct producer){.notes = notes,
                                         .index = i,
                                         .event_count = strtoull(argv[3], NULL, 10),
                                         .pause_us = strtoull(argv[4], NULL, 10)};
        if (pthread_create(&producers[i].thread, NULL, produce, &producers[i]) != 0)
            return fail("no thread");
    }
    wait_until_ready(notes);
    for (uint32_t i = 0; i < count; i++)
        pthread_join(producers[i].thread, NULL);
    if (optrace_flush(60000) < 0)
        return fail("flush");
    __atomic_store_n(&notes->done, 1, __ATOMIC_RELEASE);
    return EXIT_OK;
}
