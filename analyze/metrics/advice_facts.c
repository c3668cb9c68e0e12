/* SPDX-License-Identifier: Apache-2.0 */
/* What the rules of advice.c look at, measured in single spans and sums per op. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/containers/interval_list.h"
#include "analyze/metrics/advice.h"
#include "analyze/metrics/device_idle.h"
#include "analyze/query/frame_times.h"
#include "analyze/query/lane_use.h"
#include "analyze/stats/describe.h"

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

static int push_span(struct interval_array *list, const struct span *span)
{
    return array_push(list, ((struct interval){span->start_ns, span_end_ns(span)}));
}

/* Of a part, to which no other comes near. */
static double joined_length(struct interval_array *list)
{
    interval_list_join(list);
    return interval_list_length(list);
}

/* What an op is, found out once. */
enum { IS_WORK = 1, IS_COPY = 2, COMPUTES = 4 };

struct advice_parts {
    struct advice_facts sums; /* what adds up */
    struct overhead_parts overhead;
    struct device_idle *idle;
    uint8_t *op_bits;
    bool has_copies;                 /* some op is one */
    bool is_whole;                   /* all spans come in one part */
    bool lacks_some;                 /* that nobody asked for */
    bool has_device_work;            /* then nothing of the host counts as a call */
    struct value_array calls, works; /* durations of launches, of what each launched */
    struct value_array own[OP_SIDES];
    struct frame_times frames; /* of calls of threads that are in several parts */
    uint64_t tiny_count[OP_SIDES];
    double tiny_ns[OP_SIDES];
    int64_t copied_ns; /* all copies of earlier parts had ended */
};

static uint8_t find_op_bits(const struct spans_answer *spans, uint32_t op)
{
    const struct span span = {.op = op};
    enum device_work work = span_work(spans, &span);
    uint8_t bits = 0;

    if (work == WORK_COMPUTE)
        bits |= COMPUTES;
    if (!span_is_op(spans, &span))
        return bits;
    if (work == WORK_COPY)
        bits |= IS_COPY;
    if (!span_is_runtime_call(spans, &span) && !span_is_python(spans, &span) &&
        op_class_of(span_op(spans, &span)) == OP_CLASS_WORK)
        bits |= IS_WORK;
    return bits;
}

static bool is(const struct advice_parts *parts, const struct span *span, uint8_t bit)
{
    return parts->op_bits[span->op] & bit;
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
static int add_copies(struct advice_parts *parts, const struct spans_answer *spans)
{
    struct interval_array blocking = {0}, small = {0};
    struct advice_facts *facts = &parts->sums;
    int64_t end_ns = parts->copied_ns;
    int rc = 0;

    for (size_t i = 0; i < spans->spans.count && parts->has_copies && rc == 0; i++) {
        const struct span *span = &spans->spans.items[i];

        if (!is(parts, span, IS_COPY) || !span->is_shown || !span_is_device(spans, span))
            continue;
        if (span->start_ns < parts->copied_ns) { /* beside one of an earlier part */
            rc = SPAN_PARTS_WHOLE;
            break;
        }
        end_ns = span_end_ns(span) > end_ns ? span_end_ns(span) : end_ns;
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
    parts->copied_ns = end_ns;
    facts->blocking_ns += joined_length(&blocking);
    facts->small_ns += joined_length(&small);
    array_deinit(&blocking);
    array_deinit(&small);
    return rc;
}

/* --- Launches. --- */

/* Time of the kernels that a call launched; 0 when it launched none. */
static double launched_ns(const struct advice_parts *parts, const struct spans_answer *spans,
                          const struct span *call)
{
    double ns = 0;

    for (uint32_t i = call->launch; i != SPAN_NONE; i = spans->spans.items[i].next) {
        const struct span *span = &spans->spans.items[i];

        if (span->is_shown && is(parts, span, COMPUTES))
            ns += (double)span->dur_ns;
    }
    return ns;
}

static int add_launches(struct advice_parts *parts, const struct spans_answer *spans)
{
    struct interval_array launching = {0};
    int rc = 0;

    for (size_t i = 0; i < spans->spans.count && rc == 0; i++) {
        const struct span *span = &spans->spans.items[i];
        double work_ns;

        if (span->launch == SPAN_NONE || span_is_device(spans, span))
            continue;
        work_ns = launched_ns(parts, spans, span);
        if (!(work_ns > 0))
            continue;
        parts->sums.launch_count++;
        rc = array_push(&parts->calls, (double)span->dur_ns);
        if (rc == 0)
            rc = array_push(&parts->works, work_ns);
        if (rc == 0)
            rc = push_span(&launching, span);
    }
    parts->sums.launch_ns += joined_length(&launching);
    array_deinit(&launching);
    return rc;
}

/* --- Calls. --- */

static int add_call(struct advice_parts *parts, enum op_side side, int64_t own_ns)
{
    if (own_ns < ADVICE_TINY_NS) {
        parts->tiny_count[side]++;
        parts->tiny_ns[side] += (double)own_ns;
    }
    return array_push(&parts->own[side], (double)own_ns);
}

/* Of what is in several parts, once all of its time is known. */
static int add_frames(struct advice_parts *parts)
{
    int rc = 0;

    for (size_t i = 0; i < parts->frames.count && !parts->has_device_work && rc == 0; i++)
        rc = add_call(parts, OP_HOST, parts->frames.items[i].ns);
    return rc;
}

/* Those of a device, where it has any. */
static int add_calls(struct advice_parts *parts, const struct spans_answer *spans)
{
    int rc = 0;

    for (size_t i = 0; i < spans->spans.count && rc == 0; i++) {
        const struct span *span = &spans->spans.items[i];
        enum op_side side;
        size_t place;

        parts->lacks_some |= !span->is_shown;
        if (!is(parts, span, IS_WORK) || !span->is_shown)
            continue;
        side = spans->lanes.items[span->lane].side;
        if (side == OP_DEVICE && !parts->has_device_work) {
            parts->has_device_work = true;
            array_deinit(&parts->own[OP_HOST]);
        }
        if (side != OP_DEVICE && parts->has_device_work)
            continue;
        if (span->frame)
            rc = frame_times_add(&parts->frames, span, span_own_ns(spans, span), &place);
        else
            rc = add_call(parts, side, span_own_ns(spans, span));
    }
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

/* --- Parts. --- */

static void forget(struct advice_parts *parts)
{
    overhead_parts_deinit(&parts->overhead);
    free(parts->op_bits);
    array_deinit(&parts->calls);
    array_deinit(&parts->works);
    for (int side = 0; side < OP_SIDES; side++)
        array_deinit(&parts->own[side]);
    array_deinit(&parts->frames);
    *parts = (struct advice_parts){.idle = parts->idle, .is_whole = parts->is_whole};
}

int advice_begin(const struct spans_answer *spans, struct advice_parts **out_parts)
{
    struct advice_parts *parts = *out_parts ? *out_parts : calloc(1, sizeof(*parts));

    *out_parts = parts;
    if (!parts)
        return -ENOMEM;
    forget(parts);
    parts->op_bits = malloc(spans->ops.count + 1);
    if (!parts->op_bits)
        return -ENOMEM;
    for (uint32_t i = 0; i < spans->ops.count; i++) {
        parts->op_bits[i] = find_op_bits(spans, i);
        parts->has_copies |= (parts->op_bits[i] & IS_COPY) != 0;
    }
    if (overhead_begin(spans, &parts->overhead) < 0)
        return -ENOMEM;
    return device_idle_begin(spans, parts->is_whole, &parts->idle);
}

int advice_add(struct advice_parts *parts, const struct spans_answer *spans)
{
    int rc = device_idle_add(parts->idle, spans);

    if (rc == 0)
        rc = overhead_add(&parts->overhead, spans);
    if (rc == 0)
        rc = add_copies(parts, spans);
    if (rc == 0)
        rc = add_launches(parts, spans);
    return rc ? rc : add_calls(parts, spans);
}

static void find_missing(const struct spans_answer *spans, struct advice_facts *facts)
{
    const struct loss_sum losses = query_sum_losses(&spans->basis);

    facts->lost_count = losses.count;
    facts->unknown_losses = losses.unknown;
    facts->unfinished_count = spans->basis.unfinished_count;
}

static int find_idle(struct advice_parts *parts, const struct spans_answer *spans,
                     const struct overhead *overhead, struct advice_facts *facts)
{
    int rc = device_idle_finish(parts->idle, spans);

    for (size_t i = 0; i < overhead->sides.count && rc == 0; i++) {
        const struct overhead_side *side = &overhead->sides.items[i];
        double ns =
            side->is_device ? device_idle_ns(parts->idle, spans, side->session_id, side->name) : 0;

        if (ns > facts->idle_ns) {
            facts->idle_ns = ns;
            facts->idle_device = side->name;
        }
    }
    return rc;
}

static void finish_sums(struct advice_parts *parts, struct advice_facts *facts)
{
    const struct advice_facts *sums = &parts->sums;
    int side = parts->has_device_work ? OP_DEVICE : OP_HOST;

    facts->blocking_count = sums->blocking_count;
    facts->blocking_ns = sums->blocking_ns;
    facts->sized_count = sums->sized_count;
    facts->small_count = sums->small_count;
    facts->small_ns = sums->small_ns;
    facts->launch_count = sums->launch_count;
    facts->launch_ns = sums->launch_ns;
    facts->launch_median_ns = stats_find_median(parts->calls.items, parts->calls.count);
    facts->launched_median_ns = stats_find_median(parts->works.items, parts->works.count);
    facts->call_count = parts->own[side].count;
    facts->tiny_count = parts->tiny_count[side];
    facts->tiny_ns = parts->tiny_ns[side];
    facts->call_median_ns = stats_find_median(parts->own[side].items, parts->own[side].count);
}

int advice_finish(struct advice_parts *parts, const struct spans_answer *spans,
                  struct advice_facts *facts)
{
    struct overhead overhead;
    int rc;

    overhead_finish(&parts->overhead, spans, &overhead);
    facts->wall_ns = overhead.times.wall_ns;
    facts->copying_ns = overhead.times.copies_ns;
    facts->recorded_ns = parts->lacks_some ? NAN : overhead.times.recorded_ns;
    find_missing(spans, facts);
    rc = add_frames(parts);
    if (rc < 0)
        return rc;
    finish_sums(parts, facts);
    rc = find_idle(parts, spans, &overhead, facts);
    if (rc == 0)
        rc = measure_runs(spans, facts);
    overhead_deinit(&overhead);
    return rc;
}

void advice_parts_destroy(struct advice_parts **parts)
{
    if (!*parts)
        return;
    forget(*parts);
    device_idle_destroy(&(*parts)->idle);
    free(*parts);
    *parts = NULL;
}

int advice_measure_spans(const struct spans_answer *spans, struct advice_facts *facts)
{
    struct advice_parts *parts = calloc(1, sizeof(*parts));
    int rc;

    if (!parts)
        return -ENOMEM;
    parts->is_whole = true;
    rc = advice_begin(spans, &parts);
    if (rc == 0)
        rc = advice_add(parts, spans);
    if (rc == 0)
        rc = advice_finish(parts, spans, facts);
    advice_parts_destroy(&parts);
    return rc;
}
