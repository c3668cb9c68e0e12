/* SPDX-License-Identifier: Apache-2.0 */
/* alarm.h and writer.h for tests that say what happens when. */
#include "tests/support/scripted.h"

#include "base/clock.h"
#include "daemon/alarm.h"
#include "daemon/writer.h"
#include "tests/support/check.h"

enum { ALARMS_MAX = 8 };
#define NS_PER_MS UINT64_C(1000000)

struct set_alarm {
    struct alarm *alarm; /* NULL: unused */
    uint64_t due_ns, delay_ms;
};

struct writer {
    struct writer_events events;
    struct batch *queue[WRITER_QUEUE_MAX];
    size_t count;
    int trouble;
    bool gives_up;
    uint64_t submit_count;
};

static uint64_t passed_ns;
static struct set_alarm alarms[ALARMS_MAX];
static struct writer the_writer;

void scripted_begin(void)
{
    passed_ns = 0;
    memset(alarms, 0, sizeof(alarms));
    memset(&the_writer, 0, sizeof(the_writer));
}

void scripted_pass(uint64_t duration_ns)
{
    passed_ns += duration_ns;
}

/* --- Alarms --- */

static struct set_alarm *find_alarm(const struct alarm *alarm)
{
    for (size_t i = 0; i < ALARMS_MAX; i++)
        if (alarms[i].alarm == alarm)
            return &alarms[i];
    return NULL;
}

static struct set_alarm *next_alarm(void)
{
    struct set_alarm *next = NULL;

    for (size_t i = 0; i < ALARMS_MAX; i++)
        if (alarms[i].alarm && (!next || alarms[i].due_ns < next->due_ns))
            next = &alarms[i];
    return next;
}

uint64_t scripted_due_ns(void)
{
    const struct set_alarm *next = next_alarm();

    if (!next)
        return UINT64_MAX;
    return next->due_ns > passed_ns ? next->due_ns - passed_ns : 0;
}

uint64_t scripted_delay_ms(void)
{
    return next_alarm()->delay_ms;
}

void scripted_ring(void)
{
    struct set_alarm *next = next_alarm();
    struct alarm *alarm;

    assert_non_null(next);
    alarm = next->alarm;
    if (next->due_ns > passed_ns)
        passed_ns = next->due_ns;
    next->alarm = NULL;
    alarm->on_ring(alarm->context);
}

uint64_t alarm_now_ns(clockid_t clock)
{
    static uint64_t start_ns[16];

    if (start_ns[clock] == 0)
        start_ns[clock] = ot_clock_ns(clock);
    return start_ns[clock] + passed_ns;
}

void alarm_init(struct alarm *alarm, uv_loop_t *loop, void (*on_ring)(void *context), void *context)
{
    *alarm = (struct alarm){.on_ring = on_ring, .context = context};
}

void alarm_set(struct alarm *alarm, uint64_t delay_ms)
{
    struct set_alarm *slot = find_alarm(alarm);

    if (!slot)
        slot = find_alarm(NULL);
    assert_non_null(slot);
    *slot = (struct set_alarm){alarm, passed_ns + delay_ms * NS_PER_MS, delay_ms};
}

void alarm_set_within(struct alarm *alarm, uint64_t delay_ms)
{
    const struct set_alarm *slot = find_alarm(alarm);

    if (!slot || slot->due_ns > passed_ns + delay_ms * NS_PER_MS)
        alarm_set(alarm, delay_ms);
}

void alarm_stop(struct alarm *alarm)
{
    struct set_alarm *slot = find_alarm(alarm);

    if (slot)
        slot->alarm = NULL;
}

void alarm_close(struct alarm *alarm, void (*on_closed)(void *context))
{
    alarm_stop(alarm);
    on_closed(alarm->context);
}

/* --- The writer --- */

int writer_start(uv_loop_t *loop, struct store *store, const struct store_bounds *bounds,
                 const struct writer_events *events, struct writer **out_writer, struct diag *diag)
{
    the_writer.events = *events;
    *out_writer = &the_writer;
    return 0;
}

int64_t writer_batch_bytes(const struct writer *writer)
{
    return INT64_MAX; /* as without a budget */
}

int64_t writer_pages_bytes(const struct writer *writer)
{
    return 0;
}

bool writer_has_room(const struct writer *writer)
{
    return writer->count < WRITER_QUEUE_MAX;
}

bool writer_is_busy(const struct writer *writer)
{
    return writer->count > 0;
}

int writer_trouble(const struct writer *writer)
{
    return writer->trouble;
}

uint64_t writer_busy_ns(struct writer *writer)
{
    return 0;
}

void writer_submit(struct writer *writer, struct batch *batch)
{
    assert_true(writer->count < WRITER_QUEUE_MAX);
    writer->queue[writer->count++] = batch;
    writer->submit_count++;
}

void writer_give_up(struct writer *writer)
{
    writer->gives_up = true;
}

void writer_stop(struct writer **writer)
{
    assert_int_equal((*writer)->count, 0);
    *writer = NULL;
}

size_t scripted_queued(void)
{
    return the_writer.count;
}

const struct batch *scripted_batch(void)
{
    return the_writer.count > 0 ? the_writer.queue[0] : NULL;
}

void scripted_fail(int error)
{
    if (the_writer.trouble == error)
        return;
    the_writer.trouble = error;
    the_writer.events.on_trouble(the_writer.events.context, error, error ? "no disk" : "");
}

void scripted_write(int status)
{
    struct batch *batch = the_writer.queue[0];

    assert_true(the_writer.count > 0);
    scripted_fail(status);
    batch->status = status;
    the_writer.count--;
    memmove(the_writer.queue, the_writer.queue + 1, the_writer.count * sizeof(the_writer.queue[0]));
    the_writer.events.on_done(the_writer.events.context, batch);
}

bool scripted_gives_up(void)
{
    return the_writer.gives_up;
}

uint64_t scripted_submit_count(void)
{
    return the_writer.submit_count;
}
