/* SPDX-License-Identifier: Apache-2.0 */
/* What recording costs: the time that callbacks and CUPTI itself take of the program's, and how many
 * records have no times; judge.c looks at it. And whether the clock that they are by was set. */
#include <math.h>
#include <time.h>

#include "client/inject/cupti/private.h"

enum { CLOCK_TRIES = 32, NEAR_NS = 100000, STEP_NS = 1000000 };
#define NS_PER_S      UINT64_C(1000000000)
#define WINDOW_MAX_NS (3 * NS_PER_S)
#define DRIFT         0.001 /* of the time between: what is made up for slowly is less */

static uint64_t clock_ns; /* that two readings are apart */

/* All of the window: atomic. */
static uint64_t record_count, invalid_count, cost_ns;
static uint32_t thread_count, window = 1;
static uint64_t began_ns;

static uint64_t all_invalid, all_dropped; /* atomic */

static OT_TLS uint32_t seen_window;

static uint64_t read_clock(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* Of this thread's own work: where others have the processor meanwhile, that is no cost of ours. */
uint64_t cupti_watch_now(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

void cupti_watch_begin(void)
{
    clock_ns = NS_PER_S;
    for (int i = 0; i < CLOCK_TRIES; i++) {
        const uint64_t start = cupti_watch_now(), end = cupti_watch_now();

        if (end - start < clock_ns)
            clock_ns = end - start;
    }
    began_ns = read_clock(CLOCK_MONOTONIC);
}

/* How far the wall clock is before CLOCK_MONOTONIC, at *out_ns of that. False: something came between
 * the two each time. */
static bool read_offset(int64_t *out_offset, uint64_t *out_ns)
{
    for (int i = 0; i < CLOCK_TRIES; i++) {
        const uint64_t before = read_clock(CLOCK_MONOTONIC), wall = read_clock(CLOCK_REALTIME),
                       after = read_clock(CLOCK_MONOTONIC);

        if (after - before > NEAR_NS)
            continue;
        *out_offset = (int64_t)(wall - before);
        *out_ns = before;
        return true;
    }
    return false;
}

void cupti_watch_clock(void)
{
    static int64_t known;
    static uint64_t known_ns;
    int64_t offset;
    uint64_t now;

    if (!read_offset(&offset, &now))
        return;
    if (known_ns != 0 &&
        fabs((double)(offset - known)) > STEP_NS + (double)(now - known_ns) * DRIFT)
        cupti_say(
            "the wall clock was set by %+.3f s: times on the device, which are by it, are wrong"
            " around that, and do not fit those of the host",
            (double)(offset - known) / 1e9);
    known = offset;
    known_ns = now;
}

void cupti_watch_call(uint64_t start_ns, uint32_t of_calls)
{
    const uint64_t taken = cupti_watch_now() - start_ns;
    const uint32_t now = __atomic_load_n(&window, __ATOMIC_RELAXED);

    if (seen_window != now) {
        seen_window = now;
        __atomic_fetch_add(&thread_count, 1, __ATOMIC_RELAXED);
    }
    if (taken > clock_ns)
        __atomic_fetch_add(&cost_ns, (taken - clock_ns) * of_calls, __ATOMIC_RELAXED);
}

void cupti_watch_overhead(uint64_t ns)
{
    __atomic_fetch_add(&cost_ns, ns, __ATOMIC_RELAXED);
}

HOT void cupti_watch_records(uint64_t count, uint64_t invalid)
{
    __atomic_fetch_add(&record_count, count, __ATOMIC_RELAXED);
    __atomic_fetch_add(&invalid_count, invalid, __ATOMIC_RELAXED);
    __atomic_fetch_add(&all_invalid, invalid, __ATOMIC_RELAXED);
}

void cupti_watch_dropped(uint64_t count)
{
    __atomic_fetch_add(&all_dropped, count, __ATOMIC_RELAXED);
}

bool cupti_watch_take(struct cupti_window *out_window)
{
    const uint64_t now = read_clock(CLOCK_MONOTONIC), elapsed = now - began_ns;
    uint64_t records, invalid, cost;
    uint32_t threads;

    if (__atomic_load_n(&record_count, __ATOMIC_RELAXED) == 0 && elapsed < WINDOW_MAX_NS)
        return false;
    records = __atomic_exchange_n(&record_count, 0, __ATOMIC_RELAXED);
    invalid = __atomic_exchange_n(&invalid_count, 0, __ATOMIC_RELAXED);
    cost = __atomic_exchange_n(&cost_ns, 0, __ATOMIC_RELAXED);
    threads = __atomic_exchange_n(&thread_count, 0, __ATOMIC_RELAXED);
    began_ns = now;
    __atomic_fetch_add(&window, 1, __ATOMIC_RELAXED);
    *out_window = (struct cupti_window){
        .cost = 100.0 * (double)cost / (double)(elapsed ? elapsed : 1) / (threads ? threads : 1),
        .records = records,
        .invalid = records ? 100.0 * (double)invalid / (double)records : 0,
    };
    return true;
}

void cupti_watch_end(void)
{
    const uint64_t invalid = __atomic_load_n(&all_invalid, __ATOMIC_RELAXED),
                   dropped = __atomic_load_n(&all_dropped, __ATOMIC_RELAXED);

    if (invalid)
        cupti_say("%llu records of the device had no times, and were left out",
                  (unsigned long long)invalid);
    if (dropped)
        cupti_say("CUPTI dropped %llu records", (unsigned long long)dropped);
}
