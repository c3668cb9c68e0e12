/* SPDX-License-Identifier: Apache-2.0 */
/* Paths to the ends of parts: a tree of segments, whose root is told and dropped where it has one
 * branch. */
#include "analyze/metrics/critical_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/metrics/critical_pieces.h"
#include "analyze/metrics/stream_waits.h"
#include "analyze/query/frame_times.h"

/* What two steps that are one have in common: a span of a part, or none. */
#define NO_SPAN    UINT64_MAX
#define FRAME_SPAN (UINT64_C(1) << 63)

/* A piece of a path, packed, on top of the one before. */
struct segment {
    struct segment *before; /* NULL: of the root */
    size_t uses;            /* by segments on top, ends, and as the root */
    bool is_lost;           /* what is before it is not known */
    uint64_t first_span, last_span;
    struct packed_steps steps;
};

/* A piece of an earlier part, and the path until it has ended. */
struct path_ends {
    ARRAY_OF(struct path_piece) pieces;
    ARRAY_OF(uint32_t) lanes;
    ARRAY_OF(struct segment *) paths;
    ARRAY_OF(uint32_t) places; /* where they were among the pieces of the last part */
    ARRAY_OF(uint32_t) recent; /* as of struct earlier_pieces */
    struct lane_ends *of_lanes;
    uint32_t *new_places; /* beside the pieces of the last part: places here, or SPAN_NONE */
};

struct critical_parts {
    struct critical_sink sink;
    struct critical_schedule *schedule; /* or NULL */
    struct critical_window window;
    bool has_start;
    uint64_t part;
    size_t lane_count, kept_bytes;
    struct segment *root;
    struct segment *lost; /* stands for paths until pieces that had ended when threads were cut */
    bool has_told;        /* the root is not the start of all */
    struct path_ends ends;
    struct issued_pieces *issued; /* beside lanes, of struct earlier_pieces */
    bool *records;                /* the same */
    uint64_t piece_count;         /* of all parts */
    int64_t *open_ns;             /* beside lanes, of struct earlier_pieces */
    uint32_t wait_count;          /* the same */
    enum op_syncs *syncs;         /* the same */
    struct frame_times frames;    /* to know them again; their times are not used */
    struct critical_step last;    /* told, but for what may be one with it */
    bool has_last;
    uint64_t last_span;
    ARRAY_OF(struct segment *) chain;
};

static struct critical_step step_of(const struct critical_path *path, const struct path_step *step)
{
    struct critical_step told = {step->start_ns, step->end_ns, SPAN_NONE, SPAN_NONE,
                                 step->kind,     true,         0};

    if (step->span != SPAN_NONE) {
        const struct span *span = &path->answer->spans.items[step->span];

        told.op = span->op;
        told.lane = span->lane;
        told.is_shown = span->is_shown;
        if (path->classes && (step->kind == PATH_HOST || step->kind == PATH_DEVICE))
            told.class = path->classes[step->span];
    }
    return told;
}

/* --- Telling. --- */

static int tell_last(struct critical_parts *parts)
{
    bool has_last = parts->has_last;

    parts->has_last = false;
    return has_last ? parts->sink.add(parts->sink.user, &parts->last) : 0;
}

static int tell(struct critical_parts *parts, const struct critical_step *step, uint64_t span)
{
    int rc = 0;

    if (parts->has_last && parts->last_span == span && parts->last.kind == step->kind) {
        parts->last.end_ns = step->end_ns;
        return 0;
    }
    rc = tell_last(parts);
    parts->last = *step;
    parts->last_span = span;
    parts->has_last = true;
    return rc;
}

static int tell_segment(struct critical_parts *parts, const struct segment *segment)
{
    struct packed_steps_place place = {0};
    struct critical_step step;
    int rc = 0;

    while (rc == 0 && packed_steps_next(&segment->steps, &place, &step)) {
        if (place.step == 1) {
            rc = tell(parts, &step, segment->first_span);
        } else {
            rc = tell_last(parts);
            parts->last = step;
            parts->has_last = true;
        }
        parts->last_span = segment->last_span; /* of those between nobody asks */
    }
    return rc;
}

/* --- Segments. --- */

static void drop_segment(struct critical_parts *parts, struct segment *segment)
{
    while (segment && --segment->uses == 0) {
        struct segment *before = segment->before;

        parts->kept_bytes -= sizeof(*segment) + segment->steps.bytes.count;
        packed_steps_deinit(&segment->steps);
        free(segment);
        segment = before;
    }
}

/* A span by a number that is the same in all parts that it is in. Returns 0 or -ENOMEM. */
static int number_span(struct critical_parts *parts, const struct critical_path *path,
                       uint32_t place, uint64_t *out_number)
{
    const struct span *span;
    size_t frame;

    *out_number = NO_SPAN;
    if (place == SPAN_NONE)
        return 0;
    span = &path->answer->spans.items[place];
    *out_number = parts->part << 32 | place;
    if (!span->frame)
        return 0;
    if (frame_times_add(&parts->frames, span, 0, &frame) < 0)
        return -ENOMEM;
    *out_number = FRAME_SPAN | frame;
    return 0;
}

/* Of the steps of a path, last first. */
static int fill_segment(struct critical_parts *parts, const struct critical_path *path,
                        struct segment *segment)
{
    const struct path_step *steps = path->steps.items;
    size_t count = path->steps.count;
    int rc = 0;

    for (size_t i = count; i > 0 && rc == 0; i--) {
        struct critical_step step = step_of(path, &steps[i - 1]);

        rc = packed_steps_add(&segment->steps, &step);
    }
    segment->first_span = segment->last_span = NO_SPAN;
    if (rc == 0 && count)
        rc = number_span(parts, path, steps[count - 1].span, &segment->first_span);
    if (rc == 0 && count)
        rc = number_span(parts, path, steps[0].span, &segment->last_span);
    return rc;
}

/* NULL without memory. */
static struct segment *make_segment(struct critical_parts *parts, const struct critical_path *path,
                                    struct segment *before)
{
    struct segment *segment = calloc(1, sizeof(*segment));

    if (!segment)
        return NULL;
    if (fill_segment(parts, path, segment) < 0) {
        packed_steps_deinit(&segment->steps);
        free(segment);
        return NULL;
    }
    packed_steps_trim(&segment->steps);
    segment->before = before;
    segment->is_lost = before && before->is_lost;
    parts->kept_bytes += sizeof(*segment) + segment->steps.bytes.count;
    if (before)
        before->uses++;
    return segment;
}

static void drop_ends(struct critical_parts *parts, struct path_ends *ends)
{
    for (size_t i = 0; i < ends->paths.count; i++)
        drop_segment(parts, ends->paths.items[i]);
    array_deinit(&ends->pieces);
    array_deinit(&ends->lanes);
    array_deinit(&ends->paths);
    array_deinit(&ends->places);
    array_deinit(&ends->recent);
    free(ends->of_lanes);
    free(ends->new_places);
    ends->of_lanes = NULL;
    ends->new_places = NULL;
}

static int gather_chain(struct critical_parts *parts, struct segment *segment)
{
    int rc = 0;

    parts->chain.count = 0;
    for (; segment && segment != parts->root && rc == 0; segment = segment->before)
        rc = array_push(&parts->chain, segment);
    return rc;
}

/* Tells what all paths have in common. The root is used by itself. */
static int tell_common(struct critical_parts *parts)
{
    size_t path = 0;
    int rc = 0;

    while (path < parts->ends.paths.count && parts->ends.paths.items[path]->is_lost)
        path++;
    if (path == parts->ends.paths.count || parts->root->uses != 2)
        return 0;
    rc = gather_chain(parts, parts->ends.paths.items[path]);
    while (rc == 0 && parts->root->uses == 2 && parts->chain.count) {
        struct segment *next = parts->chain.items[--parts->chain.count];

        rc = tell_segment(parts, next);
        next->uses++;
        next->before = NULL;
        parts->root->uses--; /* of `next` */
        drop_segment(parts, parts->root);
        parts->root = next;
        parts->has_told = true;
    }
    return rc;
}

/* --- A part. --- */

/* Pieces at which segments end, by a place in `segments`: some are ends of the part, some are where
 * two paths join. */
struct joints {
    /* PASSED_NOT, PASSED, or JOINT and up: places in `segments`, as they come. */
    uint32_t *of_pieces;
    ARRAY_OF(struct segment *) segments;
};
enum { PASSED_NOT, PASSED, JOINT };

static void mark_joints(const struct critical_path *path, uint32_t place, struct joints *joints)
{
    while (place != SPAN_NONE && place >= path->first) {
        if (joints->of_pieces[place] != PASSED_NOT) {
            joints->of_pieces[place] = JOINT;
            return;
        }
        joints->of_pieces[place] = PASSED;
        place = critical_path_holder(path, place);
    }
}

static void mark_end(const struct critical_path *path, uint32_t place, struct joints *joints)
{
    mark_joints(path, place, joints);
    if (place != SPAN_NONE && place >= path->first)
        joints->of_pieces[place] = JOINT;
}

static void mark_ends(const struct critical_path *path, struct joints *joints)
{
    for (size_t i = 0; i < path->recent.count; i++)
        mark_end(path, path->recent.items[i], joints);
    for (size_t i = 0; i < path->answer->lanes.count; i++) {
        const struct issued_pieces *issued = &path->earlier->issued[i];
        const struct lane_ends *ends = &path->ends[i];

        for (size_t k = issued->first_kept; k < issued->count; k++)
            mark_end(path, issued->items[k].place, joints);

        mark_end(path, ends->last, joints);
        mark_end(path, ends->ended, joints);
        mark_end(path, ends->issued, joints);
    }
}

/* The path until a piece has ended: of an earlier part, or of a joint that came before. Where a wait waits for
 * nothing it begins with the run, and that may have been told. */
static struct segment *path_until(const struct critical_parts *parts,
                                  const struct critical_path *path, const struct joints *joints,
                                  uint32_t place)
{
    if (place == SPAN_NONE)
        return parts->has_told ? parts->lost : parts->root;
    if (place < path->first)
        return place < path->earlier->count ? parts->ends.paths.items[place] : parts->lost;
    return joints->segments.items[joints->of_pieces[place] - JOINT];
}

/* Waits for what ended before a part end before it, too, and what comes behind them is launched in it. */
static bool is_of_part(const struct critical_path *path, uint32_t place)
{
    return path->pieces.items[place].end_ns > path->answer->from_ns;
}

/* All that a piece depends on comes before it in the order, so that joints are there when another
 * segment begins at them. */
static int make_segments(struct critical_parts *parts, struct critical_path *path,
                         struct joints *joints)
{
    int rc = 0;

    for (size_t i = 0; i < path->pieces.count - path->first && rc == 0; i++) {
        uint32_t end = path->order[i], place = end;
        struct segment *segment;

        if (joints->of_pieces[end] < JOINT)
            continue;
        path->steps.count = 0;
        do {
            rc = critical_path_back(path, &place);
        } while (rc == 0 && place != SPAN_NONE && place >= path->first &&
                 joints->of_pieces[place] < JOINT);
        if (rc < 0)
            return rc;
        segment = make_segment(parts, path, path_until(parts, path, joints, place));
        if (!segment)
            return -ENOMEM;
        if (segment->is_lost && is_of_part(path, end))
            rc = SPAN_PARTS_WHOLE;
        segment->uses = 1; /* until all ends are there */
        joints->of_pieces[end] = (uint32_t)(JOINT + joints->segments.count);
        if (array_push(&joints->segments, segment) < 0) {
            drop_segment(parts, segment);
            return -ENOMEM;
        }
    }
    return rc;
}

static int add_end(struct critical_parts *parts, const struct critical_path *path,
                   const struct joints *joints, struct path_ends *ends, uint32_t *place)
{
    struct segment *segment;
    int rc;

    if (*place == SPAN_NONE)
        return 0;
    if (ends->new_places[*place] != SPAN_NONE) {
        *place = ends->new_places[*place];
        return 0;
    }
    segment = path_until(parts, path, joints, *place);
    rc = array_push(&ends->pieces, path->pieces.items[*place]);
    if (rc == 0)
        rc = array_push(&ends->lanes, critical_path_lane(path, *place));
    if (rc == 0)
        rc = array_push(&ends->places, *place);
    if (rc == 0)
        rc = array_push(&ends->paths, segment);
    if (rc == 0)
        segment->uses++;
    if (rc == 0) {
        ends->new_places[*place] = (uint32_t)(ends->pieces.count - 1);
        *place = ends->new_places[*place];
    }
    return rc;
}

/* What was to do and has not ended goes on to the next part. */
static int add_issued(struct critical_parts *parts, const struct critical_path *path,
                      const struct joints *joints, struct path_ends *ends)
{
    int rc = 0;

    for (size_t lane = 0; lane < parts->lane_count; lane++) {
        struct issued_pieces *issued = &parts->issued[lane];

        for (size_t i = issued->first_kept; i < issued->count && rc == 0; i++)
            rc = add_end(parts, path, joints, ends, &issued->items[i].place);
    }
    return rc;
}

/* The ends of all parts so far take the place of those before. */
static int replace_ends(struct critical_parts *parts, struct critical_path *path,
                        const struct joints *joints)
{
    struct path_ends ends = {.of_lanes = path->ends,
                             .new_places =
                                 malloc((path->pieces.count + 1) * sizeof(*ends.new_places))};
    int rc = ends.new_places ? 0 : -ENOMEM;

    path->ends = NULL;
    if (rc == 0)
        memset(ends.new_places, 0xff, path->pieces.count * sizeof(*ends.new_places));
    for (uint32_t i = 0; i < parts->lane_count && rc == 0; i++) {
        struct lane_ends *of_lane = &ends.of_lanes[i];

        rc = add_end(parts, path, joints, &ends, &of_lane->last);
        if (rc == 0)
            rc = add_end(parts, path, joints, &ends, &of_lane->ended);
        if (rc == 0)
            rc = add_end(parts, path, joints, &ends, &of_lane->issued);
    }
    for (size_t i = 0; i < path->recent.count && rc == 0; i++) {
        uint32_t place = path->recent.items[i];

        rc = add_end(parts, path, joints, &ends, &place);
        if (rc == 0)
            rc = array_push(&ends.recent, place);
    }
    if (rc == 0)
        rc = add_issued(parts, path, joints, &ends);
    drop_ends(parts, rc ? &ends : &parts->ends);
    if (rc == 0)
        parts->ends = ends;
    return rc;
}

/* What was to do and has ended by now has no path from now on: of it is known when it ended. */
static int settle_issued(struct critical_parts *parts, const struct critical_path *path)
{
    const size_t count = path->pieces.count - path->first;
    uint32_t *positions;

    if (!parts->records)
        return 0;
    positions = malloc((count + 1) * sizeof(*positions));
    for (size_t i = 0; i < count && positions; i++)
        positions[path->order[i] - path->first] = (uint32_t)i;
    for (size_t lane = 0; lane < parts->lane_count && positions; lane++) {
        struct issued_pieces *issued = &parts->issued[lane];

        for (size_t i = issued->first_kept; i < issued->count; i++) {
            struct issued_piece *to = &issued->items[i];
            const struct path_piece *piece = &path->pieces.items[to->place];

            if (to->place == SPAN_NONE)
                continue;
            to->end_ns = piece->end_ns;
            to->clipped_ns = piece->clipped_ns;
            if (to->place >= path->first)
                to->number = parts->piece_count + positions[to->place - path->first];
            if (piece->end_ns + piece->clipped_ns <= path->answer->until_ns)
                to->place = SPAN_NONE;
        }
        while (issued->first_kept < issued->count &&
               issued->items[issued->first_kept].place == SPAN_NONE)
            issued->first_kept++;
    }
    parts->piece_count += count;
    free(positions);
    return positions ? 0 : -ENOMEM;
}

static int add_path(struct critical_parts *parts, struct critical_path *path)
{
    struct joints joints = {.of_pieces = calloc(path->pieces.count + 1, sizeof(*joints.of_pieces))};
    int rc = joints.of_pieces ? settle_issued(parts, path) : -ENOMEM;

    if (rc == 0) {
        mark_ends(path, &joints);
        rc = make_segments(parts, path, &joints);
    }
    if (rc == 0)
        rc = replace_ends(parts, path, &joints);
    if (rc == 0 && parts->schedule)
        rc = critical_schedule_add(parts->schedule, path, parts->ends.places.items,
                                   parts->ends.places.count);
    for (size_t i = 0; i < joints.segments.count; i++)
        drop_segment(parts, joints.segments.items[i]);
    array_deinit(&joints.segments);
    free(joints.of_pieces);
    return rc ? rc : tell_common(parts);
}

/* What ended last: of ends at one time that of a device before that of a thread, then by lane. */
static uint32_t find_last_end(const struct critical_parts *parts, const struct spans_answer *spans)
{
    const struct path_piece *pieces = parts->ends.pieces.items;
    uint32_t best = SPAN_NONE;

    for (int side = 0; side < 2; side++) {
        for (uint32_t i = 0; i < parts->lane_count; i++) {
            uint32_t place = parts->ends.of_lanes[i].ended;

            if (place != SPAN_NONE && (spans->lanes.items[i].side == OP_DEVICE) == (side == 0) &&
                (best == SPAN_NONE ||
                 critical_path_compare_ends(&pieces[place], &pieces[best]) >= 0))
                best = place;
        }
    }
    return best;
}

int critical_parts_add(struct critical_parts *parts, const struct spans_answer *part,
                       const uint32_t *classes)
{
    const struct earlier_pieces earlier = {.pieces = parts->ends.pieces.items,
                                           .lanes = parts->ends.lanes.items,
                                           .count = parts->ends.pieces.count,
                                           .ends = parts->ends.of_lanes,
                                           .recent = parts->ends.recent.items,
                                           .recent_count = parts->ends.recent.count,
                                           .open_ns = parts->open_ns,
                                           .wait_count = &parts->wait_count,
                                           .issued = parts->issued,
                                           .records = parts->records,
                                           .syncs = parts->syncs};
    struct critical_path path = {.answer = part, .earlier = &earlier, .classes = classes};
    int rc;

    if (!parts->has_start && part->spans.count) {
        parts->has_start = true;
        if (!parts->window.is_run)
            parts->window.start_ns = part->start_ns;
    }
    path.start_ns = parts->window.start_ns;
    path.end_ns = parts->window.is_run ? parts->window.end_ns : INT64_MAX;
    parts->part++;
    rc = critical_pieces_make(&path);
    if (rc == 0 && path.pieces.count > path.first)
        rc = add_path(parts, &path);
    if (rc == 0 && part->until_ns == INT64_MAX) {
        const uint32_t last = find_last_end(parts, part);

        if (last != SPAN_NONE && parts->ends.paths.items[last]->is_lost)
            rc = SPAN_PARTS_WHOLE;
    }
    critical_path_deinit(&path);
    return rc;
}

/* --- All of it. --- */

/* Ops that record events, where something may wait for them. */
static int find_records(struct critical_parts *parts, const struct spans_answer *spans)
{
    if (!stream_waits_possible(spans))
        return 0;
    parts->records = calloc(spans->ops.count + 1, sizeof(*parts->records));
    for (size_t i = 0; i < spans->ops.count && parts->records; i++)
        parts->records[i] = spans_op_records(spans, i);
    return parts->records ? 0 : -ENOMEM;
}

int critical_parts_begin(const struct spans_answer *spans, const struct critical_window *window,
                         const struct critical_sink *sink, struct critical_schedule *schedule,
                         struct critical_parts **parts)
{
    static const struct lane_ends none = {SPAN_NONE, SPAN_NONE, SPAN_NONE, INT64_MIN};
    struct critical_parts *made = calloc(1, sizeof(*made));

    critical_parts_destroy(parts);
    *parts = made;
    if (!made)
        return -ENOMEM;
    made->sink = *sink;
    made->schedule = schedule;
    if (schedule)
        critical_schedule_deinit(schedule);
    made->window = *window;
    made->lane_count = spans->lanes.count;
    made->root = make_segment(made, &(struct critical_path){.answer = spans}, NULL);
    made->ends.of_lanes = malloc((made->lane_count + 1) * sizeof(none));
    made->open_ns = malloc((made->lane_count + 1) * sizeof(*made->open_ns));
    made->syncs = calloc(spans->ops.count + 1, sizeof(*made->syncs));
    made->lost = make_segment(made, &(struct critical_path){.answer = spans}, NULL);
    made->issued = calloc(made->lane_count + 1, sizeof(*made->issued));
    if (!made->syncs || !made->root || !made->lost || !made->issued || !made->ends.of_lanes ||
        !made->open_ns || find_records(made, spans) < 0)
        return -ENOMEM;
    made->root->uses = made->lost->uses = 1;
    made->lost->is_lost = true;
    for (size_t i = 0; i < made->lane_count; i++) {
        made->ends.of_lanes[i] = none;
        made->open_ns[i] = INT64_MIN;
    }
    return 0;
}

int critical_parts_finish(struct critical_parts *parts, const struct spans_answer *spans)
{
    uint32_t last = find_last_end(parts, spans);
    int64_t end_ns = parts->window.is_run ? parts->window.end_ns : spans->end_ns;
    int64_t last_ns = parts->window.start_ns;
    struct critical_step rest = {last_ns, end_ns, SPAN_NONE, SPAN_NONE, PATH_NOTHING, true, 0};
    int rc = 0;

    if (last != SPAN_NONE) {
        rest.start_ns = parts->ends.pieces.items[last].end_ns;
        rc = gather_chain(parts, parts->ends.paths.items[last]);
    }
    while (last != SPAN_NONE && rc == 0 && parts->chain.count)
        rc = tell_segment(parts, parts->chain.items[--parts->chain.count]);
    if (parts->schedule && rc == 0)
        rc = critical_schedule_end(parts->schedule, last_ns, end_ns, last, rest.start_ns);
    if (rc == 0 && rest.start_ns < rest.end_ns)
        rc = tell(parts, &rest, NO_SPAN);
    return rc ? rc : tell_last(parts);
}

void critical_parts_destroy(struct critical_parts **parts)
{
    if (!*parts)
        return;
    drop_ends(*parts, &(*parts)->ends);
    drop_segment(*parts, (*parts)->root);
    drop_segment(*parts, (*parts)->lost);
    for (size_t i = 0; i < (*parts)->lane_count && (*parts)->issued; i++)
        array_deinit(&(*parts)->issued[i]);
    free((*parts)->issued);
    free((*parts)->records);
    array_deinit(&(*parts)->chain);
    array_deinit(&(*parts)->frames);
    free((*parts)->open_ns);
    free((*parts)->syncs);
    free(*parts);
    *parts = NULL;
}

int critical_parts_tell(const struct critical_path *path, const struct critical_sink *sink)
{
    int rc = 0;

    for (size_t i = 0; i < path->steps.count && rc == 0; i++) {
        struct critical_step step = step_of(path, &path->steps.items[i]);

        rc = sink->add(sink->user, &step);
    }
    return rc;
}

size_t critical_parts_kept(const struct critical_parts *parts)
{
    return parts->kept_bytes;
}
