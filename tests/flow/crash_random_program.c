/* SPDX-License-Identifier: Apache-2.0 */
/* Does at random what is hard to record, and notes what it recorded. See crash_random.h. */
#include "tests/flow/crash_random.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/exit_status.h"
#include "client/optrace.h"
#include "tests/support/sanitizer.h"

enum { WORKERS_MAX = 3, BURST_MAX = 60, PAUSE_US_MAX = 4000, WAIT_MS = 60000 };

static struct random_notes *notes;
static struct random_life *life; /* NULL: there are too many, it records nothing */
static uint32_t life_index, op;
static atomic_bool is_ending; /* written by a signal handler, read by all threads */
static atomic_bool is_quiet;  /* what is recorded now is not noted */
static pthread_rwlock_t bursts = PTHREAD_RWLOCK_INITIALIZER;

/* The leak checker stops all threads at the end, which closed descriptors may prevent. Called by the
 * address sanitizer. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

static void on_signal(int number)
{
    is_ending = true;
}

static unsigned choose(unsigned *state, unsigned limit)
{
    return (unsigned)rand_r(state) % limit;
}

static void begin_life(void)
{
    life_index = __atomic_fetch_add(&notes->life_count, 1, __ATOMIC_ACQ_REL);
    life = life_index < RANDOM_LIVES_MAX ? &notes->lives[life_index] : NULL;
    if (!life)
        return;
    life->session_count = 1;
    __atomic_store_n(&life->pid, (int32_t)getpid(), __ATOMIC_RELEASE);
}

/* --- Recording --- */

/* The number of a thread that begins to record; beyond what can be noted there are none. */
static uint32_t begin_thread(void)
{
    return life ? __atomic_fetch_add(&life->thread_count, 1, __ATOMIC_ACQ_REL) : RANDOM_THREADS_MAX;
}

static void record_one(uint32_t thread, bool is_noted)
{
    struct optrace_span span = optrace_begin(op);

    if (span.id == 0)
        return;
    if (is_noted)
        optrace_span_correlate(span, random_id(life_index, thread, life->noted[thread] + 1));
    optrace_end(span);
    if (is_noted)
        __atomic_store_n(&life->noted[thread], life->noted[thread] + 1, __ATOMIC_RELEASE);
}

static void record(uint32_t thread, unsigned count)
{
    if (thread >= RANDOM_THREADS_MAX)
        return;
    pthread_rwlock_rdlock(&bursts);
    for (unsigned i = 0; i < count; i++)
        record_one(thread, !is_quiet);
    pthread_rwlock_unlock(&bursts);
}

static void flush(unsigned timeout_ms)
{
    if (optrace_flush(timeout_ms) == 0 && life)
        __atomic_store_n(&life->is_known, 1, __ATOMIC_RELEASE);
}

static void *work(void *context)
{
    unsigned state = (unsigned)(uintptr_t)context;
    const uint32_t thread = begin_thread();

    while (!is_ending) {
        record(thread, choose(&state, BURST_MAX));
        usleep(choose(&state, PAUSE_US_MAX));
    }
    return NULL;
}

static void *work_shortly(void *context)
{
    unsigned state = (unsigned)(uintptr_t)context;
    const uint32_t thread = begin_thread();

    for (unsigned i = choose(&state, 4); i > 0; i--) {
        record(thread, choose(&state, BURST_MAX));
        usleep(choose(&state, 2) ? 0 : choose(&state, PAUSE_US_MAX));
    }
    return NULL;
}

static void run_short_threads(unsigned *state)
{
    pthread_t threads[4];
    unsigned count = 0;

    for (unsigned i = 1 + choose(state, 4); i > 0; i--)
        count += pthread_create(&threads[count], NULL, work_shortly,
                                (void *)(uintptr_t)choose(state, 1u << 30)) == 0;
    while (count > 0)
        pthread_join(threads[--count], NULL);
}

/* --- What is hard --- */

static void close_all(void)
{
    if (life) {
        __atomic_store_n(&life->is_known, 0, __ATOMIC_RELEASE);
        __atomic_store_n(&life->has_closed, 1, __ATOMIC_RELEASE);
    }
    closefrom(3);
}

/* The daemon may be away the second time. */
static int start(int required)
{
    const struct optrace_config config = {
        .required = required, .connect_timeout_ms = WAIT_MS, .exit_timeout_ms = WAIT_MS};

    return optrace_start(&config);
}

/* What is recorded while it stops may be left out. So nothing of that is noted. */
static void stop_and_start(unsigned *state)
{
    is_quiet = true;
    pthread_rwlock_wrlock(&bursts); /* bursts that are noted are over */
    pthread_rwlock_unlock(&bursts);
    optrace_stop();
    usleep(choose(state, 2) ? 0 : choose(state, PAUSE_US_MAX));
    if (life)
        __atomic_add_fetch(&life->session_count, 1, __ATOMIC_RELEASE);
    if (start(0) < 0)
        _exit(EXIT_SYSTEM);
    is_quiet = false;
}

static void end_life(void)
{
    optrace_stop();
    if (life)
        __atomic_store_n(&life->is_over, 1, __ATOMIC_RELEASE);
}

/* A child records for some tenths of a second, and ends in one of three ways. */
static void be_a_child(unsigned state)
{
    uint32_t thread;

    pthread_rwlock_init(&bursts, NULL); /* threads that held it are not here */
    begin_life();
    thread = begin_thread();
    for (unsigned i = choose(&state, 60); i > 0; i--) {
        record(thread, choose(&state, BURST_MAX));
        usleep(choose(&state, PAUSE_US_MAX));
        if (choose(&state, 20) == 0)
            close_all();
        if (choose(&state, 20) == 0)
            run_short_threads(&state);
        if (choose(&state, 20) == 0)
            flush(100);
    }
    switch (choose(&state, 3)) {
    case 0:
        end_life();
        break;
    case 1:
        kill(getpid(), SIGKILL);
        break;
    default:
        break;
    }
    _exit(0);
}

static void fork_once(unsigned *state)
{
    const unsigned child_state = choose(state, 1u << 30);

    /* The sanitizer's allocator, with clang before 17, stays locked in a child where another thread was in it: all
     * threads of the child wait for good. */
    if (!HAS_ADDRESS_SANITIZER && fork() == 0)
        be_a_child(child_state);
}

static void step(unsigned *state, uint32_t thread)
{
    switch (choose(state, 12)) {
    case 0:
        close_all();
        break;
    case 1:
        fork_once(state);
        break;
    case 2:
        stop_and_start(state);
        break;
    case 3:
    case 4:
        run_short_threads(state);
        break;
    case 5:
        flush(choose(state, 1000));
        break;
    default:
        usleep(choose(state, 10 * PAUSE_US_MAX));
    }
    record(thread, choose(state, BURST_MAX));
}

static struct random_notes *open_notes(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    void *memory;

    if (fd < 0)
        return NULL;
    memory = mmap(NULL, sizeof(*notes), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return memory == MAP_FAILED ? NULL : memory;
}

int main(int argc, char **argv)
{
    pthread_t workers[WORKERS_MAX];
    unsigned state, count = 0;
    uint32_t thread;

    notes = argc == 3 ? open_notes(argv[1]) : NULL;
    if (!notes)
        return EXIT_USAGE;
    state = (unsigned)strtoul(argv[2], NULL, 10);
    signal(SIGTERM, on_signal);
    signal(SIGCHLD, SIG_IGN); /* nobody waits for children */
    if (start(1) < 0)
        return EXIT_SYSTEM;
    op = optrace_label("work");
    begin_life();
    thread = begin_thread();
    for (unsigned i = choose(&state, WORKERS_MAX + 1); i > 0; i--)
        count += pthread_create(&workers[count], NULL, work,
                                (void *)(uintptr_t)choose(&state, 1u << 30)) == 0;
    while (!is_ending)
        step(&state, thread);
    while (count > 0)
        pthread_join(workers[--count], NULL);
    end_life();
    return EXIT_OK;
}
