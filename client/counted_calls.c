/* SPDX-License-Identifier: Apache-2.0 */
/* Counters for spans with given times, and which counters there are to be. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cost_measure.h"
#include "client/counted.h"
#include "client/define.h"
#include "client/optrace.h"
#include "client/session.h"
#include "client/thread_life.h"

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
    out_values->mask = ot_counted_told(hot->counters);
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
