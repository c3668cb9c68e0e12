/* SPDX-License-Identifier: Apache-2.0 */
/* Which clock can be trusted, and reading all of them at one moment. */
#include "base/clock.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#if defined(__x86_64__)
static bool kernel_trusts_tsc(void)
{
    char text[32] = {0};
    int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                  O_RDONLY | O_CLOEXEC);
    ssize_t length;

    if (fd < 0)
        return false;
    length = read(fd, text, sizeof(text) - 1);
    close(fd);
    return length >= 3 && strncmp(text, "tsc", 3) == 0;
}
#endif

bool ot_clock_ticks_are_invariant(void)
{
#if defined(__x86_64__)
    unsigned eax, ebx, ecx, edx;

    /* CPUID leaf 0x80000007, EDX bit 8: the TSC's rate does not depend on P-, C- or T-states. */
    if (!__get_cpuid(0x80000007u, &eax, &ebx, &ecx, &edx) || !(edx & (1u << 8)))
        return false;
    return kernel_trusts_tsc();
#else
    return false;
#endif
}

struct ot_clock_triple ot_clock_read_triple(void)
{
    struct ot_clock_triple best = {0};
    uint64_t best_width = UINT64_MAX;

    for (int i = 0; i < 8; i++) {
        uint64_t before = ot_clock_ticks();
        uint64_t monotonic_ns = ot_clock_ns(CLOCK_MONOTONIC);
        uint64_t realtime_ns = ot_clock_ns(CLOCK_REALTIME);
        uint64_t width = ot_clock_ticks() - before;

        if (width < best_width) {
            best_width = width;
            best.ticks = before + width / 2;
            best.monotonic_ns = monotonic_ns;
            best.realtime_ns = realtime_ns;
        }
    }
    return best;
}
