/* SPDX-License-Identifier: Apache-2.0 */
/* Counters at the begin and the end of spans, for the thread's own and for given ones. */
#include "client/counted.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cost.h"
#include "client/define.h"
#include "client/optrace.h"
#include "client/session.h"
#include "client/thread_ring.h"

static_assert((int)OT_COUNTERS <= (int)OPTRACE_COUNTERS_MAX, "room for all counters");

/* A bit per op; written under the session's lock before the op's id is known to anybody. */
static uint8_t skipped[OT_WIRE_OPS_MAX / 8 + 1];

void ot_counted_skip(uint32_t op)
{
    skipped[op / 8] |= (uint8_t)(1U << op % 8);
}

static bool is_wanted(uint64_t kind_word)
{
    const uint32_t op = (uint32_t)(kind_word >> 32);

    if ((uint16_t)kind_word == OT_RECORD_RUN)
        return false;
    return op >= OT_WIRE_OPS_MAX ||
           !(__atomic_load_n(&skipped[op / 8], __ATOMIC_RELAXED) & 1U << op % 8);
}

void ot_counted_begin(struct ot_hot *hot, uint64_t kind_word)
{
    struct ot_counters *counters = hot->counters;
    const uint64_t depth = ot_ring_depth(hot->state);

    counters->is_counted[depth] = is_wanted(kind_word);
    if (!counters->is_counted[depth])
        return;
    ot_counters_read(counters);
    memcpy(counters->begun[depth], counters->values, sizeof(counters->values));
}

static void write_value(struct ot_hot *hot, enum ot_counter counter, uint64_t lane_run,
                        uint64_t ticks, double value, uint64_t now)
{
    if (ot_ring_head(hot->state) >= hot->stop && !ot_thread_make_room(now)) {
        ot_thread_lose(0, OT_LOSS_RING_FULL, now);
        return;
    }
    ot_put_counter(hot, ot_session.counters.ops[counter], lane_run, ticks, value);
}

/* Those that say something: the time off the processor is told once there is some. */
static uint32_t told(const struct ot_counters *counters)
{
    const uint32_t unscheduled = UINT32_C(1) << OT_COUNTER_UNSCHEDULED;

    return counters->values[OT_COUNTER_UNSCHEDULED] > 0 ? counters->open | unscheduled
                                                        : counters->open;
}

void ot_counted_end(struct ot_hot *hot, uint64_t now)
{
    const struct ot_counters *counters = hot->counters;
    const uint64_t depth = ot_ring_depth(hot->state) - 1;
    const struct ot_wire_record *entry = &hot->ring->open[depth];
    const uint64_t lane_run = ot_record_load(entry, OT_WORD_LANE);
    const uint64_t start = ot_record_load(entry, OT_WORD_START);
    const uint64_t kern = ot_record_load(entry, OT_WORD_KERN);
    const uint64_t end_min = kern > start ? kern : start;
    const uint64_t end = now < end_min ? end_min : now;
    const uint32_t mask = told(counters);

    if (!counters->is_counted[depth])
        return;
    for (int i = 0; i < OT_COUNTERS; i++) {
        if (!(mask & UINT32_C(1) << i))
            continue;
        write_value(hot, (enum ot_counter)i, lane_run, start, counters->begun[depth][i], now);
        write_value(hot, (enum ot_counter)i, lane_run, end, counters->values[i], now);
    }
}

/* --- Spans with given times. --- */

int optrace_counters_read(struct optrace_counter_values *out_values)
{
    struct ot_hot *hot = &ot_hot;

    out_values->mask = 0;
    if (optrace_level() == OPTRACE_OFF || hot->busy)
        return -ENODATA;
    if (hot->state == OT_STATE_NONE &&
        (ot_session.settings.counters == 0 || !ot_thread_attach(ot_ticks())))
        return -ENODATA;
    if (!hot->counters)
        return -ENODATA;
    ot_counters_read(hot->counters);
    out_values->mask = told(hot->counters);
    memcpy(out_values->values, hot->counters->values, sizeof(hot->counters->values));
    return 0;
}

int optrace_counters_record(const struct optrace_event *event,
                            const struct optrace_counter_values *at_start,
                            const struct optrace_counter_values *at_end)
{
    int rc = 0;

    for (int i = 0; i < OT_COUNTERS; i++) {
        struct optrace_event point = {.kind = OPTRACE_KIND_COUNTER,
                                      .flags = event->flags & OPTRACE_EVENT_REALTIME,
                                      .op = ot_session.counters.ops[i],
                                      .lane = event->lane,
                                      .run = event->run,
                                      .start = event->start,
                                      .value = at_start->values[i]};

        /* What began to count between the two stood at 0 before. */
        if (!(at_end->mask & UINT32_C(1) << i) || at_start->mask == 0)
            continue;
        rc = optrace_record(&point);
        point.start = event->end;
        point.value = at_end->values[i];
        if (rc == 0)
            rc = optrace_record(&point);
        if (rc < 0)
            break;
    }
    return rc;
}

/* --- Choosing. --- */

uint32_t ot_counted_choose(uint32_t asked)
{
    struct ot_counters_session *session = &ot_session.counters;
    struct ot_counters *counters = asked ? malloc(sizeof(*counters)) : NULL;
    uint32_t open;

    session->text[0] = '\0';
    session->asked = asked;
    if (!counters) {
        ot_cost_measure(NULL);
        return 0;
    }
    ot_counters_open(counters, asked);
    open = counters->open;
    ot_counters_describe(counters, session->text, sizeof(session->text));
    for (int i = 0; i < OT_COUNTERS; i++) {
        const bool is_needed =
            open & UINT32_C(1) << i || (i == OT_COUNTER_UNSCHEDULED && counters->fd_count > 0);
        char name[OT_COUNTER_NAME_BYTES];

        ot_counter_op_name((enum ot_counter)i, counters->user_only, name);
        if (is_needed && ot_define_name(OPTRACE_COUNTER, name, &session->ops[i]) < 0)
            open &= ~(UINT32_C(1) << i);
    }
    ot_cost_measure(open ? counters : NULL);
    ot_counters_close(counters);
    free(counters);
    return open;
}

int optrace_counters_check(const char *list, char *out_text, size_t bytes)
{
    uint32_t mask;

    return ot_counters_parse(list, &mask, out_text, bytes);
}

int optrace_counters_status(unsigned *out_missing, char *out_text, size_t bytes)
{
    int count;

    if (out_missing)
        *out_missing = 0;
    if (!ot_enter()) {
        snprintf(out_text, bytes, "busy");
        return -EDEADLK;
    }
    snprintf(out_text, bytes, "%s", ot_session.counters.text);
    count = __builtin_popcount(ot_session.settings.counters);
    if (out_missing)
        *out_missing = (unsigned)(__builtin_popcount(ot_session.counters.asked) - count);
    ot_leave();
    return count;
}
