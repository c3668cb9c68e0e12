/* SPDX-License-Identifier: Apache-2.0 */
/* Intervals of each lane by what was going on, and their unions. */
#include "analyze/metrics/overhead.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/containers/interval_list.h"
#include "analyze/query/lane_use.h"
#include "base/text.h"

enum part { RECORDED, COMPUTATION, COMMUNICATION, COPIES, LABELS, PARTS };

/* Intervals of a lane, a side, a session. */
struct parts {
    struct interval_array lists[PARTS];
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
    struct overhead *out;
    bool *has_inner;      /* by span: operators or phases lie in it */
    bool *on_device;      /* by op: it ran on a device */
    bool has_device_work; /* of the session */
    int64_t session_id;
    struct interval_array wall; /* of the session */
};

/* --- What a span is. --- */

static enum span_kind kind_of(const struct measuring *measuring, const struct span *span)
{
    return (enum span_kind)measuring->spans->op_kinds[span->op];
}

static enum op_class class_of(const struct measuring *measuring, const struct span *span)
{
    return op_class_of(&measuring->spans->ops.items[span->op]);
}

static bool is_copy(const struct measuring *measuring, const struct span *span)
{
    enum op_class class = class_of(measuring, span);

    return kind_of(measuring, span) == SPAN_OP &&
           (class == OP_CLASS_COPY || class == OP_CLASS_FILL);
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

static bool computes(const struct measuring *measuring, const struct span *span)
{
    const struct op_row *op = &measuring->spans->ops.items[span->op];

    if (kind_of(measuring, span) == SPAN_PHASE)
        return is_compute(op->name);
    if (kind_of(measuring, span) != SPAN_OP || op_class_of(op) != OP_CLASS_WORK ||
        op_asks_for_collective(op))
        return false;
    if (measuring->has_inner[span_place(measuring->spans, span)])
        return false;
    return span_is_device(measuring->spans, span) || !measuring->has_device_work;
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
    struct interval whole = {span->start_ns, span->start_ns + span->dur_ns};
    struct interval kernels = whole;
    int rc = 0;

    if (kind == SPAN_LABEL)
        return array_push(&parts->lists[LABELS], whole);
    rc = array_push(&parts->lists[RECORDED], whole);
    if (rc == 0 && is_copy(measuring, span))
        rc = array_push(&parts->lists[COPIES], whole);
    if (rc == 0 && span_communicates(measuring->spans, span))
        rc = array_push(&parts->lists[COMMUNICATION], whole);
    if (rc == 0 && computes(measuring, span)) {
        kernels.start_ns += span->kern_ns == STORE_NULL ? 0 : span->kern_ns;
        rc = array_push(&parts->lists[COMPUTATION], kernels);
    }
    return rc;
}

/* --- Lanes, sides. --- */

/* What joined parts come to within the wall time. The lists of communication, copies and labels
 * take in what they are told apart from, and are of no use then. */
static int measure_parts(const struct measuring *measuring, struct parts *parts,
                         struct overhead_times *out)
{
    const struct interval_array *wall = &measuring->wall;
    struct interval_array *lists = parts->lists;
    struct overhead_times times = {
        .wall_ns = interval_list_length(wall),
        .recorded_ns = interval_list_common(&lists[RECORDED], wall),
        .computation_ns = interval_list_common(&lists[COMPUTATION], wall),
        .communication_ns = interval_list_common(&lists[COMMUNICATION], wall),
    };

    if (interval_list_unite(&lists[COMMUNICATION], &lists[COMPUTATION]) < 0 ||
        interval_list_unite(&lists[COPIES], &lists[COMMUNICATION]) < 0 ||
        interval_list_unite(&lists[LABELS], &lists[RECORDED]) < 0)
        return -ENOMEM;
    times.exposed_ns = interval_list_common(&lists[COMMUNICATION], wall) - times.computation_ns;
    times.copies_ns =
        interval_list_common(&lists[COPIES], wall) - times.computation_ns - times.exposed_ns;
    times.labels_ns = interval_list_common(&lists[LABELS], wall) - times.recorded_ns;
    *out = times;
    return 0;
}

static void add_times(struct overhead_times *sum, const struct overhead_times *times)
{
    sum->wall_ns += times->wall_ns;
    sum->recorded_ns += times->recorded_ns;
    sum->computation_ns += times->computation_ns;
    sum->communication_ns += times->communication_ns;
    sum->exposed_ns += times->exposed_ns;
    sum->copies_ns += times->copies_ns;
    sum->labels_ns += times->labels_ns;
}

/* The lane for itself; what it has goes to its side. */
static int measure_lane(const struct measuring *measuring, size_t lane, struct overhead_side *side,
                        struct parts *all)
{
    struct span_range range = measuring->spans->ranges[lane];
    struct overhead_times times;
    struct parts parts = {0};
    uint64_t count = 0;
    int rc = 0;

    for (size_t i = range.first; i < range.first + range.count && rc == 0; i++) {
        const struct span *span = &measuring->spans->spans.items[i];

        if (!span->is_shown || !happens(measuring, span))
            continue;
        count++;
        rc = add_span(measuring, span, &parts);
    }
    side->lane_count += count > 0;
    side->event_count += count;
    join_parts(&parts);
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
        .wall_ns = interval_list_length(wall),
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
    if (rc == 0 && side.lane_count)
        rc = array_push(&measuring->out->sides, side);
    if (rc == 0)
        rc = add_parts(session, &all);
    deinit_parts(&all);
    return rc;
}

/* --- Sessions. --- */

/* Where runs count, they are the time to fill; else it is from the first event to the last. */
static int find_wall(struct measuring *measuring)
{
    const struct spans_answer *spans = measuring->spans;
    struct interval all = {INT64_MAX, INT64_MIN};
    int rc = 0;

    for (size_t i = 0; i < spans->runs.count && spans->basis.wall_is_runs && rc == 0; i++) {
        const struct run_row *run = &spans->runs.items[i];
        struct interval whole = {run->start_ns, run->end_ns};

        if (run->session_id == measuring->session_id && run->selected && run->end_ns != STORE_NULL)
            rc = array_push(&measuring->wall, whole);
    }
    for (size_t i = 0; i < spans->spans.count && !spans->basis.wall_is_runs; i++) {
        const struct span *span = &spans->spans.items[i];
        int64_t end_ns = span->start_ns + span->dur_ns;

        if (spans->lanes.items[span->lane].session_id != measuring->session_id ||
            kind_of(measuring, span) == SPAN_MARK)
            continue;
        all.start_ns = span->start_ns < all.start_ns ? span->start_ns : all.start_ns;
        all.end_ns = end_ns > all.end_ns ? end_ns : all.end_ns;
    }
    if (rc == 0 && all.end_ns > all.start_ns)
        rc = array_push(&measuring->wall, all);
    interval_list_join(&measuring->wall);
    return rc;
}

static void find_inner(struct measuring *measuring)
{
    const struct spans_answer *spans = measuring->spans;

    measuring->has_device_work = false;
    for (size_t i = 0; i < spans->spans.count; i++) {
        const struct span *span = &spans->spans.items[i];
        enum span_kind kind = kind_of(measuring, span);

        measuring->on_device[span->op] |= span_is_device(spans, span);
        /* What takes no time is no part of it. */
        if (span->parent != SPAN_NONE && span->dur_ns > 0 &&
            (kind == SPAN_OP || kind == SPAN_PHASE))
            measuring->has_inner[span->parent] = true;
        measuring->has_device_work |=
            kind == SPAN_OP && span->is_shown && span_is_device(spans, span) &&
            spans->lanes.items[span->lane].session_id == measuring->session_id &&
            class_of(measuring, span) == OP_CLASS_WORK;
    }
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

static struct overhead_copies *find_copies(struct overhead *out, struct overhead_copies key)
{
    for (size_t i = 0; i < out->copies.count; i++) {
        struct overhead_copies *copies = &out->copies.items[i];

        if (copies->mode == key.mode && copies->direction == key.direction &&
            copies->is_fill == key.is_fill)
            return copies;
    }
    return array_push(&out->copies, key) < 0 ? NULL : &out->copies.items[out->copies.count - 1];
}

static int sum_copies(struct measuring *measuring)
{
    const struct spans_answer *spans = measuring->spans;

    for (size_t i = 0; i < spans->spans.count; i++) {
        const struct span *span = &spans->spans.items[i];
        const struct op_row *op = &spans->ops.items[span->op], *launch = NULL;
        struct overhead_copies *copies;

        /* What only hands a copy to a device is not one more. */
        if (!span->is_shown || !is_copy(measuring, span) ||
            (!span_is_device(spans, span) && measuring->on_device[span->op]))
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

int overhead_measure(const struct spans_answer *spans, struct overhead *out)
{
    struct measuring measuring = {
        .spans = spans,
        .out = out,
        .has_inner = calloc(spans->spans.count + 1, sizeof(*measuring.has_inner)),
        .on_device = calloc(spans->ops.count + 1, sizeof(*measuring.on_device)),
    };
    int rc = measuring.has_inner && measuring.on_device ? 0 : -ENOMEM;

    *out = (struct overhead){0};
    for (size_t i = 0; i < spans->windows.count && rc == 0; i++) {
        measuring.session_id = spans->windows.items[i].session_id;
        find_inner(&measuring);
        rc = find_wall(&measuring);
        if (rc == 0)
            rc = measure_session(&measuring);
        array_deinit(&measuring.wall);
    }
    if (rc == 0)
        rc = sum_copies(&measuring);
    if (rc == 0 && out->sides.count)
        qsort(out->sides.items, out->sides.count, sizeof(*out->sides.items), compare_sides);
    free(measuring.has_inner);
    free(measuring.on_device);
    return rc;
}

void overhead_deinit(struct overhead *overhead)
{
    array_deinit(&overhead->sides);
    array_deinit(&overhead->copies);
}
