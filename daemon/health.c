/* SPDX-License-Identifier: Apache-2.0 */
/* Pauses of the loop; WATCHDOG=1. */
#include "daemon/health.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "daemon/log.h"
#include "daemon/notify.h"

enum { TIMER_MS = 1000 };
#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_US UINT64_C(1000)

/* A pause is logged from here on, and again when one is twice as long. */
static const uint64_t SAID_FROM_NS = UINT64_C(1000000000);

static void note_pause(struct health *health, uint64_t pause_ns)
{
    if (pause_ns <= health->longest_pause_ns)
        return;
    health->longest_pause_ns = pause_ns;
    health->longest_pause_at_ns = ot_clock_ns(CLOCK_REALTIME);
    if (pause_ns < SAID_FROM_NS || pause_ns < 2 * health->said_pause_ns)
        return;
    health->said_pause_ns = pause_ns;
    log_say("the daemon stood still for %.1f s: programs recorded on into their rings; is the "
            "machine overloaded, or was the daemon stopped?",
            (double)pause_ns / 1e9);
}

static void on_prepare(uv_prepare_t *prepare)
{
    struct health *health = prepare->data;

    if (health->awake_ns > 0)
        note_pause(health, ot_clock_ns(CLOCK_MONOTONIC) - health->awake_ns);
    health->awake_ns = 0;
}

static void on_check(uv_check_t *check)
{
    struct health *health = check->data;

    health->awake_ns = ot_clock_ns(CLOCK_MONOTONIC);
}

static void ping(struct health *health)
{
    uint64_t writer_ns = health->writer_ns(health->context);
    bool is_stuck = writer_ns > health->watchdog_ns;

    if (is_stuck && !health->said_stuck)
        log_say("the store has not answered for %.0f s: the service manager's watchdog is not "
                "told that all is well any more",
                (double)writer_ns / 1e9);
    health->said_stuck = is_stuck;
    if (!is_stuck)
        notify_send("WATCHDOG=1");
}

static void on_timer(uv_timer_t *timer)
{
    struct health *health = timer->data;
    uint64_t now_ns = ot_clock_ns(CLOCK_MONOTONIC);

    if (now_ns > health->due_ns)
        note_pause(health, now_ns - health->due_ns);
    health->due_ns = now_ns + health->timer_ms * NS_PER_MS;
    uv_timer_start(timer, on_timer, health->timer_ms, 0);
    if (health->watchdog_ns > 0)
        ping(health);
}

/* A whole positive number, or 0. */
static uint64_t read_number(const char *name)
{
    const char *text = getenv(name);
    unsigned long long number;
    char *end;

    if (!text || text[0] < '0' || text[0] > '9')
        return 0;
    errno = 0;
    number = strtoull(text, &end, 10);
    return *end || errno ? 0 : number;
}

uint64_t health_watchdog_ns(void)
{
    uint64_t timeout_us = read_number("WATCHDOG_USEC");

    if (getenv("WATCHDOG_PID") && read_number("WATCHDOG_PID") != (uint64_t)getpid())
        return 0; /* meant for another process */
    if (!notify_is_active() || timeout_us > INT64_MAX / NS_PER_US)
        return 0;
    return timeout_us * NS_PER_US;
}

void health_start(struct health *health, uv_loop_t *loop, uint64_t (*writer_ns)(void *context),
                  void *context)
{
    *health = (struct health){.writer_ns = writer_ns,
                              .context = context,
                              .timer_ms = TIMER_MS,
                              .watchdog_ns = health_watchdog_ns()};
    if (health->watchdog_ns > 0 && health->watchdog_ns / NS_PER_MS / 2 < TIMER_MS)
        health->timer_ms = health->watchdog_ns / NS_PER_MS / 2 + 1;
    uv_prepare_init(loop, &health->prepare);
    uv_check_init(loop, &health->check);
    uv_timer_init(loop, &health->timer);
    health->prepare.data = health->check.data = health->timer.data = health;
    uv_unref((uv_handle_t *)&health->prepare);
    uv_unref((uv_handle_t *)&health->check);
    uv_unref((uv_handle_t *)&health->timer);
    uv_prepare_start(&health->prepare, on_prepare);
    uv_check_start(&health->check, on_check);
    health->due_ns = ot_clock_ns(CLOCK_MONOTONIC) + health->timer_ms * NS_PER_MS;
    uv_timer_start(&health->timer, on_timer, health->timer_ms, 0);
}

void health_stop(struct health *health)
{
    uv_close((uv_handle_t *)&health->prepare, NULL);
    uv_close((uv_handle_t *)&health->check, NULL);
    uv_close((uv_handle_t *)&health->timer, NULL);
}
