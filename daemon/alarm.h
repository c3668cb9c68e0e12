/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What time it is, and being called at a time: all that the collector knows of the clock and the
 * loop. A test that brings a clock of its own defines these functions itself, and the linker leaves
 * alarm.c out.
 *
 * An alarm that is set to 0 rings when the loop has looked at all sockets once: whoever sets it so
 * again and again takes turns with them. (A timer of libuv that is set to 0 in its own callback is
 * called again before anything else, for ever.)
 *
 * Loop thread only.
 */
#ifndef OPTRACE_DAEMON_ALARM_H
#define OPTRACE_DAEMON_ALARM_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include <uv.h>

struct alarm {
    uv_timer_t timer;
    uv_idle_t idle; /* for 0 ms */
    void (*on_ring)(void *context);
    void (*on_closed)(void *context);
    void *context;
    unsigned open_handles;
};

/** ns of CLOCK_MONOTONIC, CLOCK_REALTIME or CLOCK_BOOTTIME. */
uint64_t alarm_now_ns(clockid_t clock);

/** Not set yet. `alarm` stays where it is until alarm_close() has called back. */
void alarm_init(struct alarm *alarm, uv_loop_t *loop, void (*on_ring)(void *context),
                void *context);

/** Ring once, after so many ms; replaces what was set before. */
void alarm_set(struct alarm *alarm, uint64_t delay_ms);

/** The same, unless it is set to ring sooner. */
void alarm_set_within(struct alarm *alarm, uint64_t delay_ms);

void alarm_stop(struct alarm *alarm);

/** on_closed(context) once the memory may be freed. */
void alarm_close(struct alarm *alarm, void (*on_closed)(void *context));

#endif
