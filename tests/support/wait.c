/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting with a deadline. */
#include "tests/support/wait.h"

#include <time.h>
#include <unistd.h>

#include "base/clock.h"

bool wait_until(bool (*condition)(void *context), void *context, unsigned timeout_ms)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    uint64_t deadline_ns = ot_clock_ns(CLOCK_MONOTONIC) + timeout_ms * (uint64_t)1000000;

    while (!condition(context)) {
        if (ot_clock_ns(CLOCK_MONOTONIC) >= deadline_ns)
            return condition(context);
        nanosleep(&pause, NULL);
    }
    return true;
}

static bool path_exists(void *context)
{
    return access(context, F_OK) == 0;
}

bool wait_for_path(const char *path, unsigned timeout_ms)
{
    return wait_until(path_exists, (void *)path, timeout_ms);
}
