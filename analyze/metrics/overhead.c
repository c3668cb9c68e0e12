/* SPDX-License-Identifier: Apache-2.0 */
/* Intervals of each lane by what was going on, and their unions. */
#include "analyze/metrics/overhead.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/containers/interval_list.h"
#include "analyze/query/lane_use.h"
#include "base/sorted.h"
#include "base/text.h"

enum part { RECORDED, COMPUTATION, COMMUNICATION, COPIES, LABELS, PARTS };

/* Intervals of a lane, a side, a session. */
struct parts {
    struct interval_array lists[PARTS];
};

struct overhead_held {
    struct parts parts;
};

static void deinit_parts(struct parts *parts)
{
    for (int i = 0; i < PARTS; i++)
        array_deinit(&parts->lists[i]);
}

static void join_parts(struct parts *parts)
{
    for (int i = 0; i < PARTS; i++)
        interval_list_join(&parts->lists[i]);
}

static int add_parts(struct parts *into, const struct parts *from)
{
    int rc = 0;

    for (int i = 0; i < PARTS && rc == 0; i++)
        rc = interval_list_unite(&into->lists[i], &from->lists[i]);
    return rc;
}

struct measuring {
    const struct spans_answer *spans;
    struct overhead_parts *parts;
    struct overhead *out;
    bool *has_inner; /* by span: operators or phases lie in it */
    size_t window;   /* the session at hand */
    bool has_device_work;
    int64_t session_id;
    int64_t settled_ns;         /* what is from then on waits for later parts */
    struct interval extent;     /* of all spans of the part, and what waited for it */
    struct interval_array wall; /* of the session, as far as it concerns them; not its own */
};

/* --- What a span is. --- */

static enum span_kind kind_of(const struct measuring *measuring, const struct span *span)
{
    return (enum span_kind)measuring->spans->op_kinds[span->op];
}

/* "compute", or a name that ends in it: "matmul compute", "slice/compute". */
static bool is_compute(const char *phase)
{
    static const char word[] = "compute";
    size_t length = strlen(phase), at = length - (sizeof(word) - 1);

    if (length < sizeof(word) - 1 || strcmp(phase + at, word) != 0)
        return false;
    return at == 0 || strchr(" /:", phase[at - 1]);
}

/* What an op is, found out once. */
enum { IS_WORK = 1, IS_COPY = 2, COMPUTES = 4, PHASE_COMPUTES = 8, MAY_COMMUNICATE = 16 };

static uint8_t find_op_bits(const struct spans_answer *spans, uint32_t place)
{
    const struct op_row *op = &spans->ops.items[place];
    const struct span span = {.op = place};
    enum op_class class = op_class_of(op);
    uint8_t bits = 0;

    if (spans->op_kinds[place] == SPAN_PHASE)
        return is_compute(op->name) ? PHASE_COMPUTES : 0;
    if (spans->op_kinds[place] != SPAN_OP)
        return 0;
    if (class == OP_CLASS_WORK)
        bits |= op_asks_for_collective(op) ? IS_WORK : IS_WORK | COMPUTES;
    if (class == OP_CLASS_COPY || class == OP_CLASS_FILL)
        bits |= IS_COPY;
    if (span_work(spans, &span) == WORK_COMMUNICATION)
        bits |= MAY_COMMUNICATE;
    return bits;
}

static bool is(const struct measuring *measuring, const struct span *span, uint8_t bit)
{
    return measuring->parts->op_bits[span->op] & bit;
}

static bool computes(const struct measuring *measuring, const struct span *span)
{
    if (!is(measuring, span, COMPUTES))
        return is(measuring, span, PHASE_COMPUTES);
    return !measuring->has_inner[span_place(measuring->spans, span)] &&
           (span_is_device(measuring->spans, span) || !measuring->has_device_work);
}

/* Marks take no time; phases of a device that are in no op are waits in its queue. */
static bool happens(const struct measuring *measuring, const struct span *span)
{
    enum span_kind kind = kind_of(measuring, span);

    return kind != SPAN_MARK && (kind != SPAN_PHASE || !span_is_device(measuring->spans, span) ||
                                 span_is_device_phase(measuring->spans, span));
}

static int add_span(const struct measuring *measuring, const struct span *span, struct parts *parts)
{
    enum span_kind kind = kind_of(measuring, span);
    const struct span_time time = span_time_of_part(measuring->spans, span);
    struct interval whole = {time.start_ns, time.end_ns};
    struct interval kernels = whole;
    int rc = 0;

    if (kind == SPAN_LABEL)
        return array_push(&parts->lists[LABELS], whole);
    rc = array_push(&parts->lists[RECORDED], whole);
    if (rc == 0 && is(measuring, span, IS_COPY))
        rc = array_push(&parts->lists[COPIES], whole);
    if (rc == 0 && is(measuring, span, MAY_COMMUNICATE) &&
        span_communicates(measuring->spans, span))
        rc = array_push(&parts->lists[COMMUNICATION], whole);
    if (rc == 0 && computes(measuring, span)) {
        kernels.start_ns += span->kern_ns == STORE_NULL ? 0 : span->kern_ns;
        rc = array_push(&parts->lists[COMPUTATION], kernels);
    }
    return rc;
}

/* --- Lanes, sides. --- */

/* How much of the wall time is in a joined list and not in another one, which has other_ns of it.
 * Most often nothing is; else the list takes in the other one. */
static int measure_beside(const struct measuring *measuring, struct interval_array *list,
                          const struct interval_array *other, double other_ns, double *out_ns)
{
    *out_ns = 0;
    if (!list->count)
        return 0;
    if (interval_list_unite(list, other) < 0)
        return -ENOMEM;
    *out_ns = interval_list_common(list, &measuring->wall) - other_ns;
    return 0;
}

/* What joined parts come to within the wall time. The lists of communication, copies and labels
 * are of no use then. */
static int measure_parts(const struct measuring *measuring, struct parts *parts,
                         struct overhead_times *out_times)
{
    const struct interval_array *wall = &measuring->wall;
    struct interval_array *lists = parts->lists;
    bool communicates = lists[COMMUNICATION].count > 0;
    struct overhead_times times = {
        .recorded_ns = interval_list_common(&lists[RECORDED], wall),
        .computation_ns = interval_list_common(&lists[COMPUTATION], wall),
        .communication_ns = interval_list_common(&lists[COMMUNICATION], wall),
    };
    int rc = measure_beside(measuring, &lists[COMMUNICATION], &lists[COMPUTATION],
                            times.computation_ns, &times.exposed_ns);

    if (rc == 0)
        rc = measure_beside(measuring, &lists[COPIES],
                            &lists[communicates ? COMMUNICATION : COMPUTATION],
                            times.computation_ns + times.exposed_ns, &times.copies_ns);
    if (rc == 0)
        rc = measure_beside(measuring, &lists[LABELS], &lists[RECORDED], times.recorded_ns,
                            &times.labels_ns);
    *out_times = times;
    return rc;
}

static void add_times(struct overhead_times *sum, const struct overhead_times *times)
{
    sum->recorded_ns += times->recorded_ns;
    sum->computation_ns += times->computation_ns;
    sum->communication_ns += times->communication_ns;
    sum->exposed_ns += times->exposed_ns;
    sum->copies_ns += times->copies_ns;
    sum->labels_ns += times->labels_ns;
}

/* Of joined parts what is from a time on, as what later parts have of other lanes may lie beside it. */
static int hold_back(struct parts *parts, int64_t from_ns, struct parts *held)
{
    int rc = 0;

    for (int i = 0; i < PARTS && rc == 0; i++) {
        struct interval_array *list = &parts->lists[i];
        size_t first = search_past(0, list->count, k, list->items[k].end_ns <= from_ns);

        for (size_t k = first; k < list->count && rc == 0; k++) {
            struct interval rest = list->items[k];

            rest.start_ns = rest.start_ns < from_ns ? from_ns : rest.start_ns;
            rc = array_push(&held->lists[i], rest);
        }
        if (first < list->count && list->items[first].start_ns < from_ns)
            list->items[first++].end_ns = from_ns;
        list->count = first;
    }
    return rc;
}

/* The lane for itself; what it has goes to its side. */
static int measure_lane(const struct measuring *measuring, size_t lane, struct overhead_side *side,
                        struct parts *all)
{
    struct span_range range = measuring->spans->ranges[lane];
    struct parts *held = &measuring->parts->held[lane].parts;
    struct overhead_times times;
    struct parts parts = *held;
    uint64_t count = 0;
    int rc = 0;

    *held = (struct parts){0};
    for (size_t i = range.first; i < range.first + range.count && rc == 0; i++) {
        const struct span *span = &measuring->spans->spans.items[i];

        if (!span->is_shown || !happens(measuring, span))
            continue;
        count += span->frame != SPAN_FRAME_AGAIN;
        rc = add_span(measuring, span, &parts);
    }
    side->lane_count += count > 0 && !measuring->parts->has_event[lane];
    measuring->parts->has_event[lane] |= count > 0;
    side->event_count += count;
    join_parts(&parts);
    if (rc == 0)
        rc = hold_back(&parts, measuring->settled_ns, held);
    if (rc == 0)
        rc = add_parts(all, &parts);
    if (rc == 0)
        rc = measure_parts(measuring, &parts, &times);
    if (rc == 0)
        add_times(&measuring->out->lanes, &times);
    deinit_parts(&parts);
    return rc;
}

static const char *device_of(const struct lane_row *lane)
{
    return lane->device ? lane->device : lane->kind;
}

/* Of the session at hand, made when it is new; NULL without memory. */
static struct overhead_side *find_side(const struct measuring *measuring,
                                       const struct overhead_side *like)
{
    struct overhead *out = measuring->out;

    for (size_t i = 0; i < out->sides.count; i++) {
        struct overhead_side *side = &out->sides.items[i];

        if (side->session_id == like->session_id && side->is_device == like->is_device &&
            strcmp(side->name, like->name) == 0)
            return side;
    }
    return array_push(&out->sides, ((struct overhead_side){.name = like->name,
                                                           .is_device = like->is_device,
                                                           .session_id = like->session_id})) < 0
               ? NULL
               : &out->sides.items[out->sides.count - 1];
}

/* What a part has of it. */
static int add_side(const struct measuring *measuring, const struct overhead_side *part)
{
    struct overhead_side *side = find_side(measuring, part);

    if (!side)
        return -ENOMEM;
    side->lane_count += part->lane_count;
    side->event_count += part->event_count;
    side->busy_ns += part->busy_ns;
    side->computation_ns += part->computation_ns;
    side->copies_ns += part->copies_ns;
    side->communication_ns += part->communication_ns;
    return 0;
}

/* The lanes of the session on this device; NULL: its threads. */
static int measure_side(const struct measuring *measuring, const char *device,
                        struct parts *session)
{
    const struct spans_answer *spans = measuring->spans;
    const struct interval_array *wall = &measuring->wall;
    struct overhead_side side = {
        .name = device ? device : "host",
        .is_device = device != NULL,
        .session_id = measuring->session_id,
    };
    struct parts all = {0};
    int rc = 0;

    for (size_t i = 0; i < spans->lanes.count && rc == 0; i++) {
        const struct lane_row *lane = &spans->lanes.items[i];
        bool is_of_it = (lane->side == OP_DEVICE) == (device != NULL) &&
                        (!device || strcmp(device_of(lane), device) == 0);

        if (is_of_it && lane->session_id == measuring->session_id)
            rc = measure_lane(measuring, i, &side, &all);
    }
    side.busy_ns = interval_list_common(&all.lists[RECORDED], wall);
    side.computation_ns = interval_list_common(&all.lists[COMPUTATION], wall);
    side.copies_ns = interval_list_common(&all.lists[COPIES], wall);
    side.communication_ns = interval_list_common(&all.lists[COMMUNICATION], wall);
    if (rc == 0 && (side.event_count || side.busy_ns > 0))
        rc = add_side(measuring, &side);
    if (rc == 0)
        rc = add_parts(session, &all);
    deinit_parts(&all);
    return rc;
}

/* --- Sessions. --- */

/* The runs of the session that are time to fill. */
static int find_runs(const struct spans_answer *spans, int64_t session_id,
                     struct interval_array *out_intervals)
{
    int rc = 0;

    for (size_t i = 0; i < spans->runs.count && rc == 0; i++) {
        const struct run_row *run = &spans->runs.items[i];

        if (run->session_id == session_id && run->selected && run->end_ns != STORE_NULL)
            rc = array_push(out_intervals, ((struct interval){run->start_ns, run->end_ns}));
    }
    interval_list_join(out_intervals);
    return rc;
}

/* Those of a joined list that share some time with another one. */
static struct interval_array near(const struct interval_array *list, struct interval within)
{
    size_t first = search_past(0, list->count, i, list->items[i].end_ns <= within.start_ns);
    size_t past = search_past(first, list->count, i, list->items[i].start_ns < within.end_ns);

    return (struct interval_array){.items = list->items ? list->items + first : NULL,
                                   .count = past - first};
}

/* Where runs count, they are the time to fill; else it is from the first event to the last. */
static void find_wall(struct measuring *measuring)
{
    const struct spans_answer *spans = measuring->spans;
    struct interval *bounds = &measuring->parts->bounds[measuring->window];

    measuring->wall = (struct interval_array){.items = bounds, .count = 1};
    if (spans->basis.wall_is_runs) {
        measuring->wall = near(&measuring->parts->runs[measuring->window], measuring->extent);
        return;
    }
    for (size_t i = 0; i < spans->spans.count; i++) {
        const struct span *span = &spans->spans.items[i];
        int64_t end_ns = span->start_ns + span->dur_ns;

        if (spans->lanes.items[span->lane].session_id != measuring->session_id ||
            kind_of(measuring, span) == SPAN_MARK)
            continue;
        bounds->start_ns = span->start_ns < bounds->start_ns ? span->start_ns : bounds->start_ns;
        bounds->end_ns = end_ns > bounds->end_ns ? end_ns : bounds->end_ns;
    }
    measuring->wall.count = bounds->end_ns > bounds->start_ns;
}

/* What takes no time is no part of what it lies in. */
static void find_inner(struct measuring *measuring)
{
    const struct spans_answer *spans = measuring->spans;
    struct interval *extent = &measuring->extent;

    for (size_t i = 0; i < spans->spans.count; i++) {
        const struct span *span = &spans->spans.items[i];
        enum span_kind kind = kind_of(measuring, span);
        const struct span_time time = span_time_of_part(spans, span);

        extent->start_ns = time.start_ns < extent->start_ns ? time.start_ns : extent->start_ns;
        extent->end_ns = time.end_ns > extent->end_ns ? time.end_ns : extent->end_ns;
        if (span->frame && !span->is_leaf) /* in some part, if not in this one */
            measuring->has_inner[i] = true;
        if (span->parent != SPAN_NONE && span->dur_ns > 0 &&
            (kind == SPAN_OP || kind == SPAN_PHASE))
            measuring->has_inner[span->parent] = true;
    }
}

/* What ran on devices. Returns SPAN_PARTS_WHOLE where earlier parts were measured without knowing,
 * or 0. */
static int find_devices(const struct measuring *measuring)
{
    const struct spans_answer *spans = measuring->spans;
    struct overhead_parts *parts = measuring->parts;
    int rc = 0;

    for (size_t i = 0; i < spans->spans.count; i++) {
        const struct span *span = &spans->spans.items[i];
        int64_t session_id = spans->lanes.items[span->lane].session_id;
        size_t window = 0;

        if (!span_is_device(spans, span))
            continue;
        if (parts->copied_on_host[span->op])
            rc = SPAN_PARTS_WHOLE;
        parts->on_device[span->op] = true;
        if (!span->is_shown || !is(measuring, span, IS_WORK))
            continue;
        while (window < spans->windows.count &&
               spans->windows.items[window].session_id != session_id)
            window++;
        if (window == spans->windows.count || parts->has_device_work[window])
            continue;
        parts->has_device_work[window] = true;
        if (parts->has_part)
            rc = SPAN_PARTS_WHOLE;
    }
    return rc;
}

/* The next device of the session after lane `from`, by the first lane that is on it. */
static const char *next_device(const struct measuring *measuring, size_t *from)
{
    const struct spans_answer *spans = measuring->spans;

    for (; *from < spans->lanes.count; ++*from) {
        const struct lane_row *lane = &spans->lanes.items[*from];
        bool is_first = lane->side == OP_DEVICE && lane->session_id == measuring->session_id;

        for (size_t i = 0; i < *from && is_first; i++) {
            const struct lane_row *other = &spans->lanes.items[i];

            is_first = other->side != OP_DEVICE || other->session_id != lane->session_id ||
                       strcmp(device_of(other), device_of(lane)) != 0;
        }
        if (is_first) {
            ++*from;
            return device_of(lane);
        }
    }
    return NULL;
}

static int measure_session(struct measuring *measuring)
{
    /* Host and device of such profiles have clocks of their own: their times cannot be compared. */
    bool skips_host = measuring->spans->basis.is_flat && measuring->has_device_work;
    struct parts session = {0};
    struct overhead_times times;
    const char *device;
    size_t lane = 0;
    int rc = skips_host ? 0 : measure_side(measuring, NULL, &session);

    while (rc == 0 && (device = next_device(measuring, &lane)))
        rc = measure_side(measuring, device, &session);
    if (rc == 0)
        rc = measure_parts(measuring, &session, &times);
    if (rc == 0)
        add_times(&measuring->out->times, &times);
    deinit_parts(&session);
    return rc;
}

/* --- Copies. --- */

struct overhead_copies overhead_sum_copies(const struct overhead *overhead, int mode, int direction,
                                           bool fills)
{
    struct overhead_copies sum = {0};

    for (size_t i = 0; i < overhead->copies.count; i++) {
        const struct overhead_copies *copies = &overhead->copies.items[i];

        if ((mode >= 0 && mode != (int)copies->mode) ||
            (direction >= 0 && direction != (int)copies->direction) || fills != copies->is_fill)
            continue;
        sum.calls += copies->calls;
        sum.sized_calls += copies->sized_calls;
        sum.total_ns += copies->total_ns;
        sum.sized_ns += copies->sized_ns;
        sum.bytes += copies->bytes;
    }
    return sum;
}

static struct overhead_copies *find_copies(struct overhead *out_overhead,
                                           struct overhead_copies key)
{
    for (size_t i = 0; i < out_overhead->copies.count; i++) {
        struct overhead_copies *copies = &out_overhead->copies.items[i];

        if (copies->mode == key.mode && copies->direction == key.direction &&
            copies->is_fill == key.is_fill)
            return copies;
    }
    return array_push(&out_overhead->copies, key) < 0
               ? NULL
               : &out_overhead->copies.items[out_overhead->copies.count - 1];
}

static int sum_copies(struct measuring *measuring)
{
    const struct spans_answer *spans = measuring->spans;

    for (size_t i = 0; i < spans->spans.count && measuring->parts->has_copies; i++) {
        const struct span *span = &spans->spans.items[i];
        const struct op_row *op = &spans->ops.items[span->op], *launch = NULL;
        struct overhead_copies *copies;

        /* What only hands a copy to a device is not one more. */
        if (!span->is_shown || !is(measuring, span, IS_COPY) ||
            (!span_is_device(spans, span) && measuring->parts->on_device[span->op]))
            continue;
        if (span_is_device(spans, span) && span->launch != SPAN_NONE)
            launch = &spans->ops.items[spans->spans.items[span->launch].op];
        copies = find_copies(measuring->out, (struct overhead_copies){
                                                 .mode = copy_mode_of(op, launch),
                                                 .direction = copy_direction_of(op),
                                                 .is_fill = op_class_of(op) == OP_CLASS_FILL,
                                             });
        if (!copies)
            return -ENOMEM;
        measuring->parts->copied_on_host[span->op] |= !span_is_device(spans, span);
        copies->calls++;
        copies->total_ns += (double)span->dur_ns;
        if (span->bytes != STORE_NULL) {
            copies->sized_calls++;
            copies->bytes += (double)span->bytes;
            copies->sized_ns += (double)span->dur_ns;
        }
    }
    return 0;
}

/* Session by session, the host before devices. */
static int compare_sides(const void *a, const void *b)
{
    const struct overhead_side *left = a, *right = b;

    if (left->session_id != right->session_id)
        return left->session_id < right->session_id ? -1 : 1;
    if (left->is_device != right->is_device)
        return left->is_device ? 1 : -1;
    return text_compare_natural(left->name, right->name);
}

/* --- Parts. --- */

int overhead_begin(const struct spans_answer *spans, struct overhead_parts *parts)
{
    int rc = 0;

    overhead_parts_deinit(parts);
    *parts = (struct overhead_parts){
        .op_bits = malloc(spans->ops.count + 1),
        .on_device = calloc(spans->ops.count + 1, sizeof(*parts->on_device)),
        .copied_on_host = calloc(spans->ops.count + 1, sizeof(*parts->copied_on_host)),
        .has_device_work = calloc(spans->windows.count + 1, sizeof(*parts->has_device_work)),
        .has_event = calloc(spans->lanes.count + 1, sizeof(*parts->has_event)),
        .bounds = malloc((spans->windows.count + 1) * sizeof(*parts->bounds)),
        .runs = calloc(spans->windows.count + 1, sizeof(*parts->runs)),
        .held = calloc(spans->lanes.count + 1, sizeof(*parts->held)),
        .held_from_ns = INT64_MAX,
        .held_until_ns = INT64_MIN,
        .lane_count = spans->lanes.count,
        .window_count = spans->windows.count,
    };
    if (!parts->op_bits || !parts->on_device || !parts->copied_on_host || !parts->has_device_work ||
        !parts->has_event || !parts->bounds || !parts->runs || !parts->held)
        return -ENOMEM;
    for (uint32_t i = 0; i < spans->ops.count; i++) {
        parts->op_bits[i] = find_op_bits(spans, i);
        parts->has_copies |= (parts->op_bits[i] & IS_COPY) != 0;
    }
    for (size_t i = 0; i < spans->windows.count; i++)
        parts->bounds[i] = (struct interval){INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < spans->windows.count && spans->basis.wall_is_runs && rc == 0; i++)
        rc = find_runs(spans, spans->windows.items[i].session_id, &parts->runs[i]);
    return rc;
}

int overhead_add(struct overhead_parts *parts, const struct spans_answer *spans)
{
    struct measuring measuring = {
        .spans = spans,
        .parts = parts,
        .out = &parts->sums,
        .settled_ns = span_settled_ns(spans),
        .extent = {parts->held_from_ns, parts->held_until_ns},
        .has_inner = calloc(spans->spans.count + 1, sizeof(*measuring.has_inner)),
    };
    int rc = measuring.has_inner ? find_devices(&measuring) : -ENOMEM;

    if (rc == 0)
        find_inner(&measuring);
    for (size_t i = 0; i < spans->windows.count && rc == 0; i++) {
        measuring.window = i;
        measuring.session_id = spans->windows.items[i].session_id;
        measuring.has_device_work = parts->has_device_work[i];
        find_wall(&measuring);
        rc = measure_session(&measuring);
    }
    if (rc == 0)
        rc = sum_copies(&measuring);
    parts->has_part = true;
    parts->held_from_ns = span_settled_ns(spans);
    parts->held_until_ns = measuring.extent.end_ns;
    free(measuring.has_inner);
    return rc;
}

/* How many lanes of a session were measured. */
static double count_lanes(const struct spans_answer *spans, int64_t session_id, bool skips_host)
{
    double count = 0;

    for (size_t i = 0; i < spans->lanes.count; i++) {
        const struct lane_row *lane = &spans->lanes.items[i];

        count += lane->session_id == session_id && !(skips_host && lane->side != OP_DEVICE);
    }
    return count;
}

void overhead_finish(struct overhead_parts *parts, const struct spans_answer *spans,
                     struct overhead *out_overhead)
{
    *out_overhead = parts->sums;
    parts->sums = (struct overhead){0};
    for (size_t i = 0; i < spans->windows.count; i++) {
        int64_t session_id = spans->windows.items[i].session_id;
        const struct interval *bounds = &parts->bounds[i];
        double wall_ns = 0;

        if (spans->basis.wall_is_runs)
            wall_ns = interval_list_length(&parts->runs[i]);
        else if (bounds->end_ns > bounds->start_ns)
            wall_ns = (double)(bounds->end_ns - bounds->start_ns);
        out_overhead->times.wall_ns += wall_ns;
        out_overhead->lanes.wall_ns +=
            wall_ns *
            count_lanes(spans, session_id, spans->basis.is_flat && parts->has_device_work[i]);
        for (size_t k = 0; k < out_overhead->sides.count; k++) {
            if (out_overhead->sides.items[k].session_id == session_id)
                out_overhead->sides.items[k].wall_ns = wall_ns;
        }
    }
    if (out_overhead->sides.count)
        qsort(out_overhead->sides.items, out_overhead->sides.count,
              sizeof(*out_overhead->sides.items), compare_sides);
}

void overhead_parts_deinit(struct overhead_parts *parts)
{
    overhead_deinit(&parts->sums);
    free(parts->op_bits);
    free(parts->on_device);
    free(parts->copied_on_host);
    free(parts->has_device_work);
    free(parts->has_event);
    free(parts->bounds);
    for (size_t i = 0; i < parts->window_count && parts->runs; i++)
        array_deinit(&parts->runs[i]);
    for (size_t i = 0; i < parts->lane_count && parts->held; i++)
        deinit_parts(&parts->held[i].parts);
    free(parts->held);
    free(parts->runs);
    *parts = (struct overhead_parts){0};
}

int overhead_measure(const struct spans_answer *spans, struct overhead *out_overhead)
{
    struct overhead_parts parts = {0};
    int rc = overhead_begin(spans, &parts);

    *out_overhead = (struct overhead){0};
    if (rc == 0)
        rc = overhead_add(&parts, spans);
    if (rc == 0)
        overhead_finish(&parts, spans, out_overhead);
    overhead_parts_deinit(&parts);
    return rc;
}

void overhead_deinit(struct overhead *overhead)
{
    array_deinit(&overhead->sides);
    array_deinit(&overhead->copies);
}
