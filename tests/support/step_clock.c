/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded: a wall clock that a program can set for itself, by step_clock(); or that is set once, by
 * a second, after as many readings as $STEP_CLOCK_AFTER says.
 */
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void step_clock(long seconds);

static long offset_s; /* atomic */

void step_clock(long seconds)
{
    __atomic_fetch_add(&offset_s, seconds, __ATOMIC_RELAXED);
}

static long after; /* atomic */

__attribute__((constructor)) static void start(void)
{
    const char *readings = getenv("STEP_CLOCK_AFTER");

    after = readings ? atol(readings) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *out_time)
{
    const long rc = syscall(SYS_clock_gettime, clock, out_time);

    if (clock == CLOCK_REALTIME && __atomic_load_n(&after, __ATOMIC_RELAXED) > 0 &&
        __atomic_sub_fetch(&after, 1, __ATOMIC_RELAXED) == 0)
        step_clock(1);
    if (rc == 0 && clock == CLOCK_REALTIME)
        out_time->tv_sec += __atomic_load_n(&offset_s, __ATOMIC_RELAXED);
    return (int)rc;
}
