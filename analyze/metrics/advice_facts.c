/* SPDX-License-Identifier: Apache-2.0 */
/* What the rules of advice.c look at, measured in single spans and sums per op. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/containers/interval_list.h"
#include "analyze/metrics/advice.h"
#include "analyze/metrics/idle.h"
#include "analyze/stats/describe.h"
#include "analyze/stats/groups.h"

struct value_array ARRAY_FIELDS(double);

void advice_facts_init(struct advice_facts *facts)
{
    *facts = (struct advice_facts){
        .wall_ns = NAN,
        .launch_median_ns = NAN,
        .launched_median_ns = NAN,
        .call_median_ns = NAN,
        .spread = {NAN, NAN, NAN, NAN},
        .first_run_ns = NAN,
        .later_median_ns = NAN,
        .growth = {NAN, NAN, NAN},
        .recorded_ns = NAN,
    };
}

static double sorted_median(struct value_array *values)
{
    if (values->count)
        stats_sort(values->items, values->count);
    return stats_median(values->items, values->count);
}

static int push_span(struct interval_array *list, const struct span *span)
{
    return array_push(list, ((struct interval){span->start_ns, span_end_ns(span)}));
}

static double joined_length(struct interval_array *list)
{
    interval_list_join(list);
    return interval_list_length(list);
}

/* --- Copies. --- */

static bool blocks_host(const struct spans_answer *spans, const struct span *span)
{
    const struct op_row *op = span_op(spans, span), *launch = NULL;
    enum copy_mode mode;

    if (span->launch != SPAN_NONE)
        launch = span_op(spans, &spans->spans.items[span->launch]);
    mode = copy_mode_of(op, launch);
    return copy_direction_of(op) != COPY_ON_DEVICE &&
           (mode == COPY_SYNC || (mode == COPY_ASYNC && strstr(op->name, "Pageable")));
}

/* Those on devices: on the host stands what hands them over. */
static int measure_copies(const struct spans_answer *spans, struct advice_facts *facts)
{
    struct interval_array blocking = {0}, small = {0};
    int rc = 0;

    for (size_t i = 0; i < spans->spans.count && rc == 0; i++) {
        const struct span *span = &spans->spans.items[i];

        if (!span->is_shown || !span_is_device(spans, span) || !span_is_op(spans, span) ||
            span_work(spans, span) != WORK_COPY)
            continue;
        if (blocks_host(spans, span)) {
            facts->blocking_count++;
            rc = push_span(&blocking, span);
        }
        facts->sized_count += span->bytes != STORE_NULL;
        if (rc == 0 && span->bytes != STORE_NULL && span->bytes < ADVICE_SMALL_BYTES) {
            facts->small_count++;
            rc = push_span(&small, span);
        }
    }
    facts->blocking_ns = joined_length(&blocking);
    facts->small_ns = joined_length(&small);
    array_deinit(&blocking);
    array_deinit(&small);
    return rc;
}

/* --- Devices. --- */

static bool is_of_device(const struct spans_answer *spans, uint32_t lane,
                         const struct overhead_side *side)
{
    const struct lane_row *row = &spans->lanes.items[lane];

    return row->side == OP_DEVICE && row->session_id == side->session_id &&
           strcmp(row->device ? row->device : row->kind, side->name) == 0;
}

static bool waited_for_host(const struct idle_gap *gap)
{
    return gap->cause == IDLE_HOST_WAITED || gap->cause == IDLE_HOST_BUSY ||
           gap->cause == IDLE_NOT_LAUNCHED;
}

/* Wall time of a session, as overhead.h has it. */
static int find_wall(const struct spans_answer *spans, int64_t session_id,
                     struct interval_array *out_intervals)
{
    int rc = 0;

    if (!spans->basis.wall_is_runs)
        rc = array_push(out_intervals, ((struct interval){spans->start_ns, spans->end_ns}));
    for (size_t i = 0; i < spans->runs.count && spans->basis.wall_is_runs && rc == 0; i++) {
        const struct run_row *run = &spans->runs.items[i];

        if (run->session_id == session_id && run->selected && run->end_ns != STORE_NULL)
            rc = array_push(out_intervals, ((struct interval){run->start_ns, run->end_ns}));
    }
    interval_list_join(out_intervals);
    return rc;
}

/* Gaps that waited for the host, less the time in which some other lane of the device worked. */
static int measure_device(const struct spans_answer *spans, const struct idle_gap_array *gaps,
                          const struct overhead_side *side, struct advice_facts *facts)
{
    struct interval_array idle = {0}, busy = {0}, wall = {0};
    double idle_ns;
    int rc = find_wall(spans, side->session_id, &wall);

    for (size_t i = 0; i < gaps->count && rc == 0; i++) {
        const struct idle_gap *gap = &gaps->items[i];

        if (waited_for_host(gap) && is_of_device(spans, gap->lane, side))
            rc = array_push(&idle, ((struct interval){gap->start_ns, gap->end_ns}));
    }
    for (size_t i = 0; i < spans->spans.count && rc == 0; i++) {
        const struct span *span = &spans->spans.items[i];

        if (span_is_op(spans, span) && is_of_device(spans, span->lane, side))
            rc = push_span(&busy, span);
    }
    interval_list_join(&idle);
    interval_list_join(&busy);
    idle_ns = -interval_list_common(&busy, &wall);
    if (rc == 0)
        rc = interval_list_unite(&idle, &busy);
    idle_ns += interval_list_common(&idle, &wall);
    if (rc == 0 && idle_ns > facts->idle_ns) {
        facts->idle_ns = idle_ns;
        facts->idle_device = side->name;
    }
    array_deinit(&idle);
    array_deinit(&busy);
    array_deinit(&wall);
    return rc;
}

static int measure_devices(const struct spans_answer *spans, const struct overhead *overhead,
                           struct advice_facts *facts)
{
    struct idle_gap_array gaps = {0};
    int rc = idle_find(spans, &gaps);

    for (size_t i = 0; i < overhead->sides.count && rc == 0; i++) {
        if (overhead->sides.items[i].is_device)
            rc = measure_device(spans, &gaps, &overhead->sides.items[i], facts);
    }
    array_deinit(&gaps);
    return rc;
}

/* Time of the kernels that a call launched; 0 when it launched none. */
static double launched_ns(const struct spans_answer *spans, const struct span *call)
{
    double ns = 0;

    for (uint32_t i = call->launch; i != SPAN_NONE; i = spans->spans.items[i].next) {
        const struct span *span = &spans->spans.items[i];

        if (span->is_shown && span_work(spans, span) == WORK_COMPUTE)
            ns += (double)span->dur_ns;
    }
    return ns;
}

static int measure_launches(const struct spans_answer *spans, struct advice_facts *facts)
{
    struct value_array calls = {0}, works = {0};
    struct interval_array launching = {0};
    int rc = 0;

    for (size_t i = 0; i < spans->spans.count && rc == 0; i++) {
        const struct span *span = &spans->spans.items[i];
        double work_ns;

        if (span_is_device(spans, span) || span->launch == SPAN_NONE)
            continue;
        work_ns = launched_ns(spans, span);
        if (!(work_ns > 0))
            continue;
        facts->launch_count++;
        rc = array_push(&calls, (double)span->dur_ns);
        if (rc == 0)
            rc = array_push(&works, work_ns);
        if (rc == 0)
            rc = push_span(&launching, span);
    }
    facts->launch_ns = joined_length(&launching);
    facts->launch_median_ns = sorted_median(&calls);
    facts->launched_median_ns = sorted_median(&works);
    array_deinit(&calls);
    array_deinit(&works);
    array_deinit(&launching);
    return rc;
}

/* --- Calls. --- */

static bool is_work(const struct spans_answer *spans, const struct span *span)
{
    return span->is_shown && span_is_op(spans, span) && !span_is_runtime_call(spans, span) &&
           !span_is_python(spans, span) && op_class_of(span_op(spans, span)) == OP_CLASS_WORK;
}

static int measure_calls(const struct spans_answer *spans, struct advice_facts *facts)
{
    struct value_array own = {0};
    bool has_device = false;
    int rc = 0;

    for (size_t i = 0; i < spans->spans.count && !has_device; i++)
        has_device =
            span_is_device(spans, &spans->spans.items[i]) && is_work(spans, &spans->spans.items[i]);
    for (size_t i = 0; i < spans->spans.count && rc == 0; i++) {
        const struct span *span = &spans->spans.items[i];

        if (!is_work(spans, span) || span_is_device(spans, span) != has_device)
            continue;
        facts->call_count++;
        if (span_own_ns(spans, span) < ADVICE_TINY_NS) {
            facts->tiny_count++;
            facts->tiny_ns += (double)span_own_ns(spans, span);
        }
        rc = array_push(&own, (double)span_own_ns(spans, span));
    }
    facts->call_median_ns = sorted_median(&own);
    array_deinit(&own);
    return rc;
}

/* --- Runs. --- */

/* What values exceed a level by, added up. */
static double excess(const double *values, size_t count, double level)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += fmax(0, values[i] - level);
    return sum;
}

/* values: copied, as a median needs them sorted. */
static int find_median(const double *values, size_t count, double *out_median)
{
    double *sorted = malloc((count ? count : 1) * sizeof(*sorted));

    if (!sorted)
        return -ENOMEM;
    memcpy(sorted, values, count * sizeof(*sorted));
    stats_sort(sorted, count);
    *out_median = stats_median(sorted, count);
    free(sorted);
    return 0;
}

/* Of several sessions the one whose first run is slower by most. */
static void note_first_run(double first_ns, double later_median_ns, size_t later_count,
                           struct advice_facts *facts)
{
    if (facts->first_run_ns - facts->later_median_ns >= first_ns - later_median_ns)
        return;
    facts->first_run_ns = first_ns;
    facts->later_median_ns = later_median_ns;
    facts->later_count = later_count;
}

/* Runs of one session, in their order. */
static int measure_session_runs(const double *ns, size_t count, bool has_first,
                                struct advice_facts *facts)
{
    double median_ns, early_ns, late_ns;
    struct spread spread;
    int rc = 0;

    if (has_first && count > ADVICE_LATER_RUNS_MIN) {
        rc = find_median(ns + 1, count - 1, &median_ns);
        if (rc == 0 && ns[0] >= ADVICE_WARMUP_RATIO * median_ns) {
            note_first_run(ns[0], median_ns, count - 1, facts);
            ns++; /* said once */
            count--;
        }
    }
    if (rc == 0)
        rc = spread_of(ns, count, &spread);
    if (rc < 0 || isnan(spread.variation) || spread.variation <= facts->spread.variation)
        return rc;
    facts->spread = spread;
    facts->run_count = count;
    rc = find_median(ns, count, &median_ns);
    if (rc == 0)
        rc = find_median(ns, count / 2, &early_ns);
    if (rc == 0)
        rc = find_median(ns + count / 2, count - count / 2, &late_ns);
    if (rc == 0) {
        facts->excess_ns = excess(ns, count, median_ns);
        facts->drift_ns = excess(ns, count, fmin(early_ns, late_ns));
    }
    return rc;
}

static int measure_runs(const struct spans_answer *spans, struct advice_facts *facts)
{
    struct value_array ns = {0};
    bool has_first = false;
    int rc = 0;

    for (size_t i = 0; i < spans->runs.count && rc == 0; i++) {
        const struct run_row *run = &spans->runs.items[i];
        bool is_last = i + 1 == spans->runs.count || run[1].session_id != run->session_id;

        if (run->selected && run->end_ns != STORE_NULL) {
            has_first |= run->run == 1;
            rc = array_push(&ns, (double)(run->end_ns - run->start_ns));
        }
        if (rc == 0 && is_last) {
            rc = measure_session_runs(ns.items, ns.count, has_first, facts);
            ns.count = 0;
            has_first = false;
        }
    }
    array_deinit(&ns);
    return rc;
}

/* --- All of the spans. --- */

static void find_missing(const struct spans_answer *spans, const struct overhead *overhead,
                         struct advice_facts *facts)
{
    bool is_whole = true;

    const struct loss_sum losses = query_sum_losses(&spans->basis);

    facts->lost_count = losses.count;
    facts->unknown_losses = losses.unknown;
    facts->unfinished_count = spans->basis.unfinished_count;
    for (size_t i = 0; i < spans->spans.count && is_whole; i++)
        is_whole = spans->spans.items[i].is_shown;
    facts->recorded_ns = is_whole ? overhead->times.recorded_ns : NAN;
}

int advice_measure_spans(const struct spans_answer *spans, struct advice_facts *facts)
{
    struct overhead overhead;
    int rc = overhead_measure(spans, &overhead);

    if (rc == 0) {
        facts->wall_ns = overhead.times.wall_ns;
        facts->copying_ns = overhead.times.copies_ns;
        find_missing(spans, &overhead, facts);
        rc = measure_copies(spans, facts);
    }
    if (rc == 0)
        rc = measure_devices(spans, &overhead, facts);
    if (rc == 0)
        rc = measure_launches(spans, facts);
    if (rc == 0)
        rc = measure_calls(spans, facts);
    if (rc == 0)
        rc = measure_runs(spans, facts);
    overhead_deinit(&overhead);
    return rc;
}
