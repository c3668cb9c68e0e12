/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the daemon keeps up with itself: the longest pause of its loop, and the pings that the
 * service manager's watchdog waits for.
 *
 * A pause is the time in which the loop did not come round: from the moment in which it was to wake
 * up, or began to work, until it looks at its sockets again. The process being stopped or not being
 * given a processor counts.
 *
 * The watchdog (WATCHDOG_USEC, WATCHDOG_PID of sd_watchdog_enabled(3)) is told that all is well
 * twice in its time, by a timer of the loop, and only while the writer comes to an end with what it
 * does: one that is at the same transaction for longer than the watchdog waits counts as stuck.
 *
 * Loop thread only.
 */
#ifndef OPTRACE_DAEMON_HEALTH_H
#define OPTRACE_DAEMON_HEALTH_H

#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

struct health {
    uv_prepare_t prepare; /* before the loop waits */
    uv_check_t check;     /* after it has waited */
    uv_timer_t timer;
    uint64_t timer_ms;            /* how often the timer is to fire */
    uint64_t due_ns;              /* when it is to, CLOCK_MONOTONIC */
    uint64_t awake_ns;            /* since when the loop works; 0: it waits */
    uint64_t longest_pause_ns;    /* since the daemon started */
    uint64_t longest_pause_at_ns; /* CLOCK_REALTIME of its end; 0: there was none yet */
    uint64_t said_pause_ns;       /* the longest one that the log tells of */
    uint64_t watchdog_ns;         /* 0: there is none */
    bool said_stuck;
    void *context;
    uint64_t (*writer_ns)(void *context); /* for how long the writer is at one thing; 0: at none */
};

/** Begin to measure and to ping. The handles do not keep the loop alive.
 *
 *  writer_ns  asked once for each ping */
void health_start(struct health *health, uv_loop_t *loop, uint64_t (*writer_ns)(void *context),
                  void *context);

/** Closes the handles; run the loop once more before the memory goes. */
void health_stop(struct health *health);

/** What sd_watchdog_enabled() would say, in ns; 0: nobody watches this process. Outside of its
 *  file, for tests. */
uint64_t health_watchdog_ns(void);

#endif
