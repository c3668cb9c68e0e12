/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of memory and time. */
#include "runtime/graph/run_limits.h"

#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/exit_status.h"

#define GRACE_NS         UINT64_C(1000000000)
#define GROUP_LIMIT_FILE "/sys/fs/cgroup/memory.max"

atomic_bool limits_time_is_over;

static struct {
    struct limits limits;
    atomic_size_t asked;   /* since what is allocated was looked up */
    atomic_size_t refused; /* what the first request that was refused asked for; 0: none was */
    atomic_size_t held;    /* what was allocated then */
    atomic_bool is_told;   /* somebody says that the time is over */
    bool has_watch, is_stopped;
    pthread_t watch;
    pthread_mutex_t lock;
    pthread_cond_t stopped;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The address sanitizer's allocator keeps this count; no other build has the function. */
size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

static size_t allocated_bytes(void)
{
    struct mallinfo2 info;

    if (__sanitizer_get_current_allocated_bytes)
        return __sanitizer_get_current_allocated_bytes();
    info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

bool limits_allow(size_t bytes)
{
    size_t limit = (size_t)state.limits.memory_bytes, none = 0, held;

    if (limit == 0 || bytes == 0)
        return true;
    if (bytes <= limit && atomic_fetch_add(&state.asked, bytes) + bytes < limit / 64)
        return true;
    atomic_store(&state.asked, 0);
    held = allocated_bytes();
    if (bytes <= limit && held <= limit - bytes)
        return true;
    if (atomic_compare_exchange_strong(&state.refused, &none, bytes))
        atomic_store(&state.held, held);
    return false;
}

/* In a container its own group is the root of what it sees. */
static uint64_t group_bytes(void)
{
    FILE *file = fopen(GROUP_LIMIT_FILE, "re");
    uint64_t bytes = UINT64_MAX;

    if (file && fscanf(file, "%" SCNu64, &bytes) != 1)
        bytes = UINT64_MAX; /* "max" */
    if (file)
        fclose(file);
    return bytes;
}

uint64_t limits_share_of_machine(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t group = group_bytes(), machine;

    if (pages <= 0 || page <= 0)
        return 0;
    machine = (uint64_t)pages * (uint64_t)page;
    return (group < machine ? group : machine) / 4 * 3;
}

/* Time */

/* "1.5 s" */
static const char *time_text(char text[32])
{
    snprintf(text, 32, "%g s", (double)state.limits.time_ns * 1e-9);
    return text;
}

/* What is in the way of a kernel that does not end. What was printed so far is not lost, unless
 * somebody is printing right now. */
static void end_program(void)
{
    char text[32];

    if (atomic_exchange(&state.is_told, true))
        return;
    if (ftrylockfile(stdout) == 0)
        fflush(stdout);
    dprintf(STDERR_FILENO, "load_and_run: --max-time: it takes longer than %s, stopped\n",
            time_text(text));
    _exit(EXIT_INPUT);
}

/* Until the moment, or until limits_stop(). */
static bool wait_until(uint64_t ns)
{
    struct timespec moment = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    int rc = 0;

    while (!state.is_stopped && rc != ETIMEDOUT)
        rc = pthread_cond_timedwait(&state.stopped, &state.lock, &moment);
    return !state.is_stopped;
}

static void *watch(void *argument)
{
    const uint64_t *end_ns = argument;
    bool goes_on;

    pthread_setname_np(pthread_self(), "max-time");
    pthread_mutex_lock(&state.lock);
    goes_on = wait_until(*end_ns);
    if (goes_on) {
        atomic_store(&limits_time_is_over, true);
        goes_on = wait_until(*end_ns + GRACE_NS);
    }
    pthread_mutex_unlock(&state.lock);
    if (goes_on)
        end_program();
    return NULL;
}

static int start_watch(void)
{
    static uint64_t end_ns; /* the thread's */
    pthread_condattr_t attributes;
    struct timespec now;
    int rc;

    clock_gettime(CLOCK_MONOTONIC, &now);
    end_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec + state.limits.time_ns;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    rc = pthread_cond_init(&state.stopped, &attributes);
    pthread_condattr_destroy(&attributes);
    return rc == 0 ? pthread_create(&state.watch, NULL, watch, &end_ns) : rc;
}

int limits_start(const struct limits *limits, struct diag *diag)
{
    state.limits = *limits;
    if (limits->time_ns == 0)
        return 0;
    if (start_watch() != 0)
        return diag_set(diag, -EAGAIN, "cannot start the thread that watches --max-time");
    state.has_watch = true;
    return 0;
}

void limits_stop(void)
{
    if (!state.has_watch)
        return;
    pthread_mutex_lock(&state.lock);
    state.is_stopped = true;
    pthread_cond_signal(&state.stopped);
    pthread_mutex_unlock(&state.lock);
    pthread_join(state.watch, NULL);
    pthread_cond_destroy(&state.stopped);
    state.has_watch = false;
}

/* Sentences */

int limits_check_time(struct diag *diag)
{
    char text[32];

    if (!limits_is_over())
        return 0;
    return diag_set(diag, -ETIME, "--max-time: it takes longer than %s, stopped", time_text(text));
}

/* 'node "x" (Loop): ', where that is who asked; else "". */
static void take_place(const struct diag *diag, char *place, size_t room)
{
    const char *end = strncmp(diag->text, "node \"", 6) == 0 ? strstr(diag->text, "): ") : NULL;

    snprintf(place, room, "%.*s", end ? (int)(end + 3 - diag->text) : 0, diag->text);
}

static void tell_memory(struct diag *diag)
{
    size_t refused = atomic_load(&state.refused), held = atomic_load(&state.held);
    char place[300], limit[32], wanted[32], have[32];

    take_place(diag, place, sizeof(place));
    *diag = (struct diag){0};
    diag_set(diag, -ENOMEM, "%s%s%s: %s are in use, %s more are needed%s", place,
             state.limits.is_share ? "it needs more than three quarters of the machine's memory, "
                                   : "--max-memory: it needs more than ",
             amount_format_bytes(limit, sizeof(limit), (int64_t)state.limits.memory_bytes),
             amount_format_bytes(have, sizeof(have), (int64_t)held),
             amount_format_bytes(wanted, sizeof(wanted), (int64_t)refused),
             state.limits.is_share ? "; --max-memory allows more" : "");
}

bool limits_explain(struct diag *diag)
{
    if (limits_is_over()) {
        atomic_store(&state.is_told, true);
        *diag = (struct diag){0};
        limits_check_time(diag);
        return true;
    }
    if (atomic_load(&state.refused) == 0)
        return false;
    tell_memory(diag);
    return true;
}
