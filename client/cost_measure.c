/* SPDX-License-Identifier: Apache-2.0 */
/* Spans into a scratch ring, timed by the clock that spans have. */
#include "client/cost_measure.h"

#include <stdlib.h>
#include <string.h>

#include "client/cost.h"
#include "client/hot.h"
#include "client/optrace.h"

enum {
    SPANS = 64, /* of a batch, and records of the scratch ring */
    BATCHES = 8,
    COUNTED_SPANS = 8, /* with counters they take a microsecond, not a fiftieth of one */
    COUNTED_BATCHES = 4,
};

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
static void measure(struct ot_ring *ring, struct ot_counters *counters, struct ot_cost *out_cost)
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
        if (!out_cost->is_known || ticks < out_cost->span_ticks)
            *out_cost = (struct ot_cost){ticks, mean_of_own(ring), true};
    }
    ot_hot = mine;
}

void ot_cost_measure(struct ot_counters *counters)
{
    const size_t bytes = ot_ring_bytes(SPANS);
    struct ot_ring *ring = aligned_alloc(64, (bytes + 63) / 64 * 64);

    ot_cost_plain.is_known = ot_cost_counted.is_known = false;
    if (!ring)
        return;
    memset(ring, 0, bytes);
    measure(ring, NULL, &ot_cost_plain);
    if (counters)
        measure(ring, counters, &ot_cost_counted);
    free(ring);
}
