/* SPDX-License-Identifier: Apache-2.0 */
/* Spans times what each cost. */
#include "analyze/query/recording_overhead.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/query/lane_use.h"

void recording_overhead_deinit(struct recording_overhead *costs)
{
    free(costs->plain);
    free(costs->counted);
    *costs = (struct recording_overhead){NULL, NULL};
}

static bool is_recorded_by_threads(const struct lane_row *lane)
{
    return lane->side == OP_HOST || strcmp(lane->kind, "queue") == 0;
}

/* Phases have no counters of their own. */
static bool has_counters(const struct recording_overhead *costs, const struct spans_answer *spans,
                         const struct span *span)
{
    const uint8_t kind = spans->op_kinds[span->op];

    return !isnan(costs->counted[span->lane].span_ns) && (kind == SPAN_OP || kind == SPAN_LABEL);
}

struct recording_overhead_rate recording_overhead_of(const struct recording_overhead *costs,
                                                     const struct spans_answer *spans,
                                                     const struct span *span)
{
    const struct recording_overhead_rate none = {NAN, NAN};

    if (!is_recorded_by_threads(&spans->lanes.items[span->lane]))
        return none;
    return has_counters(costs, spans, span) ? costs->counted[span->lane] : costs->plain[span->lane];
}

/* So many spans at a rate, which is known. */
static void count_spans(struct recording_overhead_sum *sum, double rate_ns, uint64_t count)
{
    if (rate_ns != sum->rate_ns) {
        sum->before_ns = sum->cost_ns;
        sum->rate_ns = rate_ns;
        sum->rate_count = 0;
    }
    sum->span_count += count;
    sum->rate_count += count;
    sum->cost_ns = sum->before_ns + sum->rate_ns * (double)sum->rate_count;
}

static void add_lane(const struct recording_overhead *costs, const struct spans_answer *spans,
                     size_t lane, struct recording_overhead_sum *sum)
{
    const struct span_range *range = &spans->ranges[lane];
    int64_t busy_until = INT64_MIN;

    for (size_t i = range->first; i < range->first + range->count; i++) {
        const struct span *span = &spans->spans.items[i];
        const struct recording_overhead_rate rate =
            has_counters(costs, spans, span) ? costs->counted[lane] : costs->plain[lane];
        const int64_t end_ns = span_end_ns(span);
        int64_t from_ns = span->start_ns < busy_until ? busy_until : span->start_ns;

        if (spans->op_kinds[span->op] == SPAN_MARK)
            continue;
        if (span->frame == SPAN_FRAME_AGAIN) { /* counted, with what lies in it */
            busy_until = !isnan(rate.span_ns) && end_ns > busy_until ? end_ns : busy_until;
            continue;
        }
        if (isnan(rate.span_ns)) {
            sum->unknown_count++;
            continue;
        }
        count_spans(sum, rate.span_ns, 1);
        if (end_ns > from_ns) {
            sum->recorded_ns += (double)(end_ns - from_ns);
            busy_until = end_ns;
        }
    }
}

void recording_overhead_add(const struct recording_overhead *costs,
                            const struct spans_answer *spans, struct recording_overhead_sum *sum)
{
    for (size_t i = 0; i < spans->lanes.count; i++) {
        if (is_recorded_by_threads(&spans->lanes.items[i]))
            add_lane(costs, spans, i, sum);
    }
}

struct recording_overhead_sum recording_overhead_sum(const struct recording_overhead *costs,
                                                     const struct spans_answer *spans)
{
    struct recording_overhead_sum sum = {0};

    recording_overhead_add(costs, spans, &sum);
    return sum;
}

bool recording_overhead_of_cover(const struct recording_overhead *costs,
                                 const struct spans_answer *spans, const struct query_cover *cover,
                                 struct recording_overhead_sum *out_sum)
{
    struct recording_overhead_sum sum = {0};
    uint64_t count = 0;
    double rate_ns = NAN;

    /* One program measured one rate, but for spans with counters. */
    for (size_t i = 0; i < spans->lanes.count; i++) {
        if (!isnan(costs->counted[i].span_ns))
            return false;
        rate_ns = costs->plain[i].span_ns;
    }
    for (size_t i = 0; i < cover->ops.count; i++)
        count += cover->ops.items[i].is_recorded_by_threads ? cover->ops.items[i].calls : 0;
    if (isnan(rate_ns)) {
        sum.unknown_count = count;
    } else {
        count_spans(&sum, rate_ns, count);
        sum.recorded_ns = cover->busy_ns;
    }
    *out_sum = sum;
    return true;
}
