/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks: the raw time stamp of this CPU, and the system's clocks in nanoseconds. No state. */
#ifndef OPTRACE_BASE_CLOCK_H
#define OPTRACE_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

/** The CPU's time stamp counter (unserialised rdtsc), in ticks; CLOCK_MONOTONIC ns on other CPUs.
 */
static inline uint64_t ot_clock_ticks(void)
{
#if defined(__x86_64__)
    return __rdtsc();
#else
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
#endif
}

/** Any POSIX clock, in ns. */
static inline uint64_t ot_clock_ns(clockid_t id)
{
    struct timespec ts;

    clock_gettime(id, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/** True when ot_clock_ticks() runs at a constant rate, in all sleep states, and the kernel itself
 *  trusts it as its clock source (which covers sockets that are out of step). Reads cpuid and one
 *  sysfs file; ask once and keep the answer. */
bool ot_clock_ticks_are_invariant(void);

/** One reading of all three clocks, as close together as the machine allows: the best of several
 *  tries, the tick count being the middle of the two that enclose the readings. */
struct ot_clock_triple {
    uint64_t ticks;
    uint64_t monotonic_ns;
    uint64_t realtime_ns;
};
struct ot_clock_triple ot_clock_read_triple(void);

#endif
