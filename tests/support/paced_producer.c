/* SPDX-License-Identifier: Apache-2.0 */
/* Records at a steady rate until it is told to end. See paced.h. */
#include "tests/support/draw.h"
#include "tests/support/paced.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/exit_status.h"
#include "client/optrace.h"

enum { OPS = 75 };

static struct pace {
    uint64_t burst_ns;
    unsigned burst_records; /* of a thread */
    unsigned thread_bursts; /* of a thread's life; 0: no end */
    uint64_t until_ns;      /* CLOCK_MONOTONIC; 0: no end */
} pace;

static uint32_t ops[OPS];
static struct paced_notes *notes;
static atomic_bool is_ending; /* written by a signal handler, read by all threads */

static void on_signal(int number)
{
    is_ending = true;
}

static void define_ops(void)
{
    for (int i = 0; i < OPS; i++) {
        char name[32];
        struct optrace_op_info info = OPTRACE_OP_INFO(name, "Conv");

        snprintf(name, sizeof(name), "conv%d", i);
        optrace_op_define(&info, &ops[i]);
    }
}

static void note(uint32_t place)
{
    uint64_t *count = &notes->records[place];

    __atomic_store_n(count, *count + 1, __ATOMIC_RELEASE);
}

/* One burst: spans that lie side by side up to now, and the runs around each 149 of them. */
static void record_burst(uint32_t place, uint64_t *seed)
{
    struct optrace_event span = {.kind = OPTRACE_KIND_SPAN, .start = optrace_ticks()};
    struct optrace_event run = {.kind = OPTRACE_KIND_RUN, .start = span.start};

    for (unsigned i = 0; i < pace.burst_records; i++) {
        if (notes->records[place] % PACED_RUN_RECORDS == PACED_RUN_RECORDS - 1) {
            run.run = optrace_run_new();
            run.end = span.start;
            optrace_record(&run);
            run.start = span.start;
            optrace_run_set(run.run);
        } else {
            span.op = ops[notes->records[place] % OPS];
            span.end = span.start + 500 + draw_u64(seed) % 8192;
            span.kern = span.start + 100;
            optrace_record(&span);
            span.start = span.end;
        }
        note(place);
    }
}

static bool is_over(void)
{
    return is_ending || (pace.until_ns && ot_clock_ns(CLOCK_MONOTONIC) >= pace.until_ns);
}

static void *thread_main(void *context)
{
    const uint32_t place = (uint32_t)(uintptr_t)context;
    uint64_t seed = DRAW_SEED + place + (uint64_t)getpid();
    uint64_t next_ns = ot_clock_ns(CLOCK_MONOTONIC) + draw_u64(&seed) % pace.burst_ns;

    for (unsigned i = 0; !is_over() && (pace.thread_bursts == 0 || i < pace.thread_bursts); i++) {
        const struct timespec until = {(time_t)(next_ns / 1000000000),
                                       (long)(next_ns % 1000000000)};

        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
        record_burst(place, &seed);
        next_ns += pace.burst_ns;
    }
    return NULL;
}

static void run_threads(unsigned thread_count)
{
    pthread_t threads[PACED_THREADS_MAX];

    for (uintptr_t i = 0; i < thread_count; i++)
        if (pthread_create(&threads[i], NULL, thread_main, (void *)i) != 0)
            abort();
    for (uintptr_t i = 0; !is_over(); i = (i + 1) % thread_count) {
        pthread_join(threads[i], NULL);
        if (pthread_create(&threads[i], NULL, thread_main, (void *)i) != 0)
            abort();
    }
    for (uintptr_t i = 0; i < thread_count; i++)
        pthread_join(threads[i], NULL);
}

static struct paced_notes *map_notes(const char *path)
{
    const bool is_file = path[0] != '-';
    int fd = is_file ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
    void *memory;

    if (is_file && (fd < 0 || ftruncate(fd, sizeof(*notes)) < 0))
        return NULL;
    memory = mmap(NULL, sizeof(*notes), PROT_READ | PROT_WRITE,
                  is_file ? MAP_SHARED : MAP_SHARED | MAP_ANONYMOUS, fd, 0);
    if (fd >= 0)
        close(fd);
    return memory == MAP_FAILED ? NULL : memory;
}

int main(int argc, char **argv)
{
    struct optrace_config config = {.required = 1, .connect_timeout_ms = 30000};
    struct sigaction action = {.sa_handler = on_signal};
    unsigned thread_count;
    uint64_t seconds;

    if (argc != 8)
        return EXIT_USAGE;
    config.program = argv[1];
    thread_count = (unsigned)strtoul(argv[3], NULL, 10);
    pace.burst_ns = strtoull(argv[4], NULL, 10) * 1000000;
    pace.thread_bursts = (unsigned)strtoul(argv[5], NULL, 10);
    seconds = strtoull(argv[6], NULL, 10);
    notes = map_notes(argv[7]);
    if (thread_count < 1 || thread_count > PACED_THREADS_MAX || pace.burst_ns == 0 || !notes)
        return EXIT_USAGE;
    pace.burst_records =
        (unsigned)(strtoull(argv[2], NULL, 10) * pace.burst_ns / 1000000000 / thread_count);
    pace.until_ns = seconds ? ot_clock_ns(CLOCK_MONOTONIC) + seconds * 1000000000 : 0;
    sigaction(SIGTERM, &action, NULL);
    if (optrace_start(&config) < 0)
        return EXIT_SYSTEM;
    define_ops();
    notes->thread_count = thread_count;
    __atomic_store_n(&notes->ready, 1, __ATOMIC_RELEASE);
    run_threads(thread_count);
    optrace_stop();
    return EXIT_OK;
}
