/* SPDX-License-Identifier: Apache-2.0 */
/* A timer of libuv that cannot keep the loop for itself. */
#include "daemon/alarm.h"

#include "base/clock.h"

static bool is_set(const struct alarm *alarm)
{
    return uv_is_active((const uv_handle_t *)&alarm->idle) ||
           uv_is_active((const uv_handle_t *)&alarm->timer);
}

static void ring(struct alarm *alarm)
{
    alarm_stop(alarm);
    alarm->on_ring(alarm->context);
}

static void on_timer(uv_timer_t *timer)
{
    ring(timer->data);
}

static void on_idle(uv_idle_t *idle)
{
    ring(idle->data);
}

uint64_t alarm_now_ns(clockid_t clock)
{
    return ot_clock_ns(clock);
}

void alarm_init(struct alarm *alarm, uv_loop_t *loop, void (*on_ring)(void *context), void *context)
{
    *alarm = (struct alarm){.on_ring = on_ring, .context = context, .open_handles = 2};
    uv_timer_init(loop, &alarm->timer);
    uv_idle_init(loop, &alarm->idle);
    alarm->timer.data = alarm->idle.data = alarm;
}

void alarm_set(struct alarm *alarm, uint64_t delay_ms)
{
    alarm_stop(alarm);
    if (delay_ms == 0)
        uv_idle_start(&alarm->idle, on_idle);
    else
        uv_timer_start(&alarm->timer, on_timer, delay_ms, 0);
}

void alarm_set_within(struct alarm *alarm, uint64_t delay_ms)
{
    uint64_t due_ms =
        uv_is_active((uv_handle_t *)&alarm->idle) ? 0 : uv_timer_get_due_in(&alarm->timer);

    if (!is_set(alarm) || due_ms > delay_ms)
        alarm_set(alarm, delay_ms);
}

void alarm_stop(struct alarm *alarm)
{
    uv_idle_stop(&alarm->idle);
    uv_timer_stop(&alarm->timer);
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct alarm *alarm = handle->data;

    if (--alarm->open_handles == 0)
        alarm->on_closed(alarm->context);
}

void alarm_close(struct alarm *alarm, void (*on_closed)(void *context))
{
    alarm->on_closed = on_closed;
    uv_close((uv_handle_t *)&alarm->timer, on_handle_closed);
    uv_close((uv_handle_t *)&alarm->idle, on_handle_closed);
}
