/* SPDX-License-Identifier: Apache-2.0 */
/* What a span costs, as counters of the session. */
#include "client/cost.h"

#include "client/define.h"
#include "client/hot.h"
#include "client/optrace.h"
#include "client/session.h"

struct ot_cost ot_cost_plain, ot_cost_counted;
static uint32_t told_epoch;
static bool is_told;

static void tell(const char *name, double ticks)
{
    struct ot_hot *hot = &ot_hot;
    const double value = ticks * 1e9 / (double)ot_session.ticks_per_s;
    uint32_t op;

    if (ot_define_name(OPTRACE_COUNTER, name, &op) < 0 || ot_ring_head(hot->state) >= hot->stop)
        return;
    ot_put_counter(hot, op, (uint32_t)hot->lane_run, ot_ticks(), value);
}

void ot_cost_tell(void)
{
    if (!ot_cost_plain.is_known || (is_told && told_epoch == ot_session.epoch))
        return;
    tell("recording.span_ns", ot_cost_plain.span_ticks);
    tell("recording.empty_span_ns", ot_cost_plain.empty_ticks);
    if (ot_cost_counted.is_known) {
        tell("recording.counted_span_ns", ot_cost_counted.span_ticks);
        tell("recording.counted_empty_span_ns", ot_cost_counted.empty_ticks);
    }
    told_epoch = ot_session.epoch;
    is_told = true;
}
