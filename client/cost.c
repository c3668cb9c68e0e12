/* SPDX-License-Identifier: Apache-2.0 */
/* Spans into a scratch ring, timed by the clock that spans have. */
#include "client/cost.h"

#include <stdlib.h>
#include <string.h>

#include "client/define.h"
#include "client/hot.h"
#include "client/optrace.h"
#include "client/session.h"

enum {
    SPANS = 64, /* of a batch, and records of the scratch ring */
    BATCHES = 8,
    COUNTED_SPANS = 8, /* with counters they take a microsecond, not a fiftieth of one */
    COUNTED_BATCHES = 4,
};

/* Ticks of a span, begin and end, and what of them is within its self time. */
struct cost {
    double span_ticks, empty_ticks;
    bool is_known;
};

static struct cost plain, counted;
static uint32_t told_epoch;
static bool is_told;

static void record_batch(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        optrace_span_end(optrace_span_begin(1));
}

/* Mean of the self times of the spans that the scratch ring holds. */
static double mean_of_own(const struct ot_ring *ring)
{
    uint64_t sum = 0, count = 0;

    for (uint32_t i = 0; i < SPANS; i++) {
        const struct ot_wire_record *record = &ring->records[i];

        if (record->kind != OT_RECORD_SPAN)
            continue;
        sum += record->end_ticks - record->start_ticks;
        count++;
    }
    return count ? (double)sum / (double)count : 0;
}

/* The thread's own state is put aside meanwhile; housekeeping is never due on the scratch ring. */
static void measure(struct ot_ring *ring, struct ot_counters *counters, struct cost *out)
{
    const struct ot_hot mine = ot_hot;
    const uint32_t spans = counters ? COUNTED_SPANS : SPANS;

    ot_hot = (struct ot_hot){.deadline = counters || !ot_fast_ticks_fit() ? 0 : UINT64_MAX,
                             .due = UINT64_MAX,
                             .stop = UINT64_MAX,
                             .ring = ring,
                             .mask = SPANS - 1,
                             .lane_run = 1,
                             .counters = counters};
    for (int i = 0; i < (counters ? COUNTED_BATCHES : BATCHES); i++) {
        const uint64_t start = ot_ticks();
        double ticks;

        record_batch(spans);
        ticks = (double)(ot_ticks() - start) / spans;
        if (!out->is_known || ticks < out->span_ticks)
            *out = (struct cost){ticks, mean_of_own(ring), true};
    }
    ot_hot = mine;
}

void ot_cost_measure(struct ot_counters *counters)
{
    const size_t bytes = ot_ring_bytes(SPANS);
    struct ot_ring *ring = aligned_alloc(64, (bytes + 63) / 64 * 64);

    plain.is_known = counted.is_known = false;
    if (!ring)
        return;
    memset(ring, 0, bytes);
    measure(ring, NULL, &plain);
    if (counters)
        measure(ring, counters, &counted);
    free(ring);
}

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
    if (!plain.is_known || (is_told && told_epoch == ot_session.epoch))
        return;
    tell("recording.span_ns", plain.span_ticks);
    tell("recording.empty_span_ns", plain.empty_ticks);
    if (counted.is_known) {
        tell("recording.counted_span_ns", counted.span_ticks);
        tell("recording.counted_empty_span_ns", counted.empty_ticks);
    }
    told_epoch = ot_session.epoch;
    is_told = true;
}
