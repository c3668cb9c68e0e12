/* SPDX-License-Identifier: Apache-2.0 */
/* Few batches are read twice, or there are no frames. */
#include "analyze/query/span_frames.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/query/lane_use.h"
#include "analyze/query/op_class.h"

enum {
    FRAMES_MAX = 128, /* of either kind at a time */
    EARLY_MAX = 64,
    BEHIND = 2,      /* a batch is late that begins before one so far in front of it */
    READ_AT_MOST = 8 /* this part of all rows is read for them */
};

struct finding {
    const struct scan *scan;
    const struct spans_answer *answer;
    struct frames *frames;
    ARRAY_OF(struct span) early; /* that began before the batches in front, and are no frames */
};

static bool may_be_frame(const struct spans_answer *answer, size_t op, enum span_frames_taken taken)
{
    const struct op_row *row = &answer->ops.items[op];

    if (answer->op_kinds[op] == SPAN_LABEL)
        return taken != SPAN_FRAMES_NONE;
    return taken >= SPAN_FRAMES_OPS && answer->op_kinds[op] == SPAN_OP &&
           op_class_of(row) == OP_CLASS_WORK && !op_asks_for_collective(row);
}

int frames_init(struct frames *frames, const struct spans_answer *answer,
                enum span_frames_taken taken)
{
    frames->may_be_open = calloc(answer->ops.count + 1, sizeof(*frames->may_be_open));
    if (!frames->may_be_open)
        return -ENOMEM;
    for (size_t i = 0; i < answer->ops.count; i++)
        frames->may_be_open[i] = may_be_frame(answer, i, taken);
    return 0;
}

static bool is_frame(const struct finding *finding, uint32_t lane, uint32_t op,
                     const struct event_row *row)
{
    const struct scan_lane *on = &finding->scan->lanes[lane];

    return on->side == SCAN_HOST && !finding->scan->sessions[on->session].flat &&
           finding->frames->may_be_open[op] && row->correlation == STORE_NULL &&
           row->bytes == STORE_NULL;
}

/* A row that begins before `until_ns`. Returns whether it is a frame. */
static int look_at(struct finding *finding, const struct event_row *row)
{
    const uint32_t lane = id_map_find(&finding->scan->lane_map, row->event.lane_id);
    const uint32_t op = id_map_find(&finding->scan->op_map, row->event.op_id);
    const struct frame frame = {.rowid = row->rowid,
                                .run = row->event.run,
                                .is_op = finding->answer->op_kinds[op] == SPAN_OP,
                                .will_hold = true,
                                .span = {
                                    .start_ns = row->event.start_ns,
                                    .dur_ns = row->event.dur_ns,
                                    .kern_ns = row->event.kern_ns,
                                    .correlation = STORE_NULL,
                                    .bytes = STORE_NULL,
                                    .op = op,
                                    .lane = lane,
                                    .order = SPAN_NONE, /* behind all that lie in it */
                                }};
    int rc;

    if (!is_frame(finding, lane, op, row))
        return finding->early.count > EARLY_MAX ? 0 : array_push(&finding->early, frame.span);
    rc = array_push(&finding->frames->items, frame);
    return rc ? rc : 1;
}

/* Returns 0 or a negative errno; *out_start_ns is when what is no frame begins. */
static int read_batch(struct finding *finding, sqlite3_stmt *statement, struct store *store,
                      int64_t until_ns, int64_t *out_start_ns, struct diag *diag)
{
    int rc = 0;

    *out_start_ns = INT64_MAX;
    while (rc == 0 && (rc = query_step(store, statement, diag)) == 1) {
        const struct event_row row = {
            .event = {query_int(statement, 0), query_int(statement, 1), query_int(statement, 2),
                      query_int(statement, 3), query_int(statement, 4), query_int(statement, 5)},
            .correlation = query_int(statement, 6),
            .bytes = query_int(statement, 7),
            .rowid = query_int(statement, 8),
        };

        rc = 0;
        if (!scan_takes(finding->scan, &row.event))
            continue;
        if (row.event.start_ns < until_ns)
            rc = look_at(finding, &row);
        if (rc == 0 && row.event.start_ns < *out_start_ns)
            *out_start_ns = row.event.start_ns;
        rc = rc < 0 ? rc : 0;
    }
    sqlite3_reset(statement);
    return rc;
}

/* Whether two are on one lane at the very same time, whose order is not known here. */
static bool has_twins(const struct finding *finding)
{
    const struct frames *frames = finding->frames;

    for (size_t i = 0; i < frames->items.count; i++) {
        const struct span *span = &frames->items.items[i].span;

        for (size_t k = 0; k < i + finding->early.count; k++) {
            const struct span *other =
                k < i ? &frames->items.items[k].span : &finding->early.items[k - i];

            if (span_is_at(other, span->lane, span->start_ns, span->dur_ns))
                return true;
        }
    }
    return false;
}

/* Returns 0, or 1 when it is not worth while, or a negative errno. */
static int find(struct finding *finding, struct store *store, struct row_limits *limits,
                struct diag *diag)
{
    int64_t all = 0, read = 0, before_ns = INT64_MIN;
    sqlite3_stmt *statement = NULL;
    int rc = query_prepare(store,
                           "SELECT lane_id, op_id, run, start_ns, dur_ns, kern_ns, correlation,"
                           "       bytes, rowid FROM event WHERE rowid BETWEEN ?1 AND ?2",
                           &statement, diag);

    for (size_t i = 0; i < limits->count; i++)
        all += limits->items[i].last - limits->items[i].first + 1;
    for (size_t i = BEHIND; i < limits->count && rc == 0; i++) {
        struct row_limit *limit = &limits->items[i];

        if (limits->items[i - BEHIND].start_ns > before_ns)
            before_ns = limits->items[i - BEHIND].start_ns;
        if (limit->start_ns >= before_ns)
            continue;
        read += limit->last - limit->first + 1;
        if (read > all / READ_AT_MOST)
            break;
        sqlite3_bind_int64(statement, 1, limit->first);
        sqlite3_bind_int64(statement, 2, limit->last);
        rc = read_batch(finding, statement, store, before_ns, &limit->start_ns, diag);
    }
    sqlite3_finalize(statement);
    if (rc == 0 && (read > all / READ_AT_MOST || finding->frames->items.count > FRAMES_MAX ||
                    finding->early.count > EARLY_MAX || has_twins(finding)))
        rc = 1;
    return rc;
}

int frames_find(struct store *store, const struct scan *scan, const struct spans_answer *answer,
                struct row_limits *limits, struct frames *frames, struct diag *diag)
{
    struct finding finding = {.scan = scan, .answer = answer, .frames = frames};
    ARRAY_OF(int64_t) starts = {0};
    int rc = array_reserve(&starts, limits->count + 1);

    for (size_t i = 0; i < limits->count && rc == 0; i++)
        starts.items[starts.count++] = limits->items[i].start_ns;
    if (rc == 0)
        rc = find(&finding, store, limits, diag);
    if (rc == 1) {
        frames->items.count = 0;
        for (size_t i = 0; i < starts.count; i++)
            limits->items[i].start_ns = starts.items[i];
        rc = 0;
    }
    array_deinit(&starts);
    array_deinit(&finding.early);
    return rc;
}

void frames_restart(struct frames *frames)
{
    frames->reached = 0;
    frames->opened.count = 0;
    frames->is_unsound = false;
    for (size_t i = 0; i < frames->items.count; i++) {
        frames->items.items[i].is_handed = false;
        frames->items.items[i].self_ns = frames->items.items[i].own_ns = 0;
        frames->items.items[i].holds = false;
    }
}

/* Puts one into a part that it reaches into. Returns whether it does, or -ENOMEM. */
static int put(struct frame *frame, int64_t from_ns, int64_t until_ns, struct spans_answer *part)
{
    struct span span = frame->span;

    /* What takes no time at its end lies in it still. */
    if (span.start_ns >= until_ns || span_end_ns(&span) < from_ns)
        return 0;
    span.frame = frame->is_handed ? SPAN_FRAME_AGAIN : SPAN_FRAME_FIRST;
    frame->is_handed = true;
    return array_push(&part->spans, span) < 0 ? -ENOMEM : 1;
}

static bool is_sound(const struct frame *frame)
{
    return frame->self_ns >= 0 &&
           (!frame->is_op || (frame->own_ns >= 0 && frame->holds == frame->will_hold));
}

/* Forgets those that ended before a time. */
static void pass(struct frames *frames, int64_t from_ns)
{
    size_t kept = 0;

    for (size_t i = 0; i < frames->opened.count; i++) {
        const struct frame *frame = &frames->opened.items[i];

        if (span_end_ns(&frame->span) >= from_ns)
            frames->opened.items[kept++] = *frame;
        else
            frames->is_unsound |= !is_sound(frame);
    }
    frames->opened.count = kept;
}

int frames_put(struct frames *frames, int64_t from_ns, int64_t until_ns, struct spans_answer *part)
{
    int count = 0, rc = 0;

    pass(frames, from_ns);
    for (size_t i = 0; i < frames->items.count && rc >= 0; i++)
        count += (rc = put(&frames->items.items[i], from_ns, until_ns, part));
    for (size_t i = 0; i < frames->opened.count && rc >= 0; i++)
        count += (rc = put(&frames->opened.items[i], from_ns, until_ns, part));
    return rc < 0 ? rc : count;
}

static struct frame *find_frame(struct frames *frames, const struct span *span)
{
    for (size_t i = 0; i < frames->opened.count && span->frame; i++) {
        struct frame *frame = &frames->opened.items[i];

        if (span_is_at(span, frame->span.lane, frame->span.start_ns, frame->span.dur_ns))
            return frame;
    }
    for (size_t i = 0; i < frames->items.count && span->frame; i++) {
        struct frame *frame = &frames->items.items[i];

        if (span_is_at(span, frame->span.lane, frame->span.start_ns, frame->span.dur_ns))
            return frame;
    }
    return NULL;
}

/* --- What is open where a part ends. --- */

static void reach(const struct frame *frame, int64_t *until_ns)
{
    const int64_t end_ns = span_end_ns(&frame->span);

    if (frame->is_op && frame->is_handed && end_ns > until_ns[frame->span.lane])
        until_ns[frame->span.lane] = end_ns;
}

void frames_reach(const struct frames *frames, int64_t *out_until_ns, size_t lane_count)
{
    for (size_t i = 0; i < lane_count; i++)
        out_until_ns[i] = INT64_MIN;
    for (size_t i = 0; i < frames->items.count; i++)
        reach(&frames->items.items[i], out_until_ns);
    for (size_t i = 0; i < frames->opened.count; i++)
        reach(&frames->opened.items[i], out_until_ns);
}

/* To those whose rows have come, in their order. */
static int note_opened(struct spans_answer *part, const struct span *span)
{
    size_t place = part->frames.count;
    int rc = array_push(&part->frames, *span);
    struct span *items = part->frames.items;

    for (; rc == 0 && place > 0 && items[place - 1].order > span->order; place--)
        items[place] = items[place - 1];
    if (rc == 0)
        items[place] = *span;
    return rc;
}

int frames_open(struct frames *frames, int64_t until_ns, struct spans_answer *part)
{
    int rc = 0;

    for (size_t i = 0; i < part->spans.count && rc == 0; i++) {
        struct span *span = &part->spans.items[i];
        struct frame frame;

        if (span->frame || span_is_device(part, span) || span->start_ns >= until_ns ||
            span_end_ns(span) <= until_ns)
            continue;
        frame = (struct frame){.span = *span,
                               .is_handed = true,
                               .was_opened = true,
                               .is_op = part->op_kinds[span->op] == SPAN_OP};
        span->frame = SPAN_FRAME_FIRST;
        if (frames->opened.count == FRAMES_MAX || find_frame(frames, span))
            return SPAN_PARTS_WHOLE;
        rc = array_push(&frames->opened, frame);
        if (rc == 0)
            rc = note_opened(part, &frame.span);
    }
    return rc;
}

/* Whether a label lies in a frame, and holds a span of its lane. */
static bool is_between(const struct frame *frame, const struct span *label, const struct span *span)
{
    return label->lane == span->lane && label->start_ns >= frame->span.start_ns &&
           span_end_ns(label) <= span_end_ns(&frame->span) && label->start_ns <= span->start_ns &&
           span_end_ns(label) >= span_end_ns(span);
}

/* Whether a span that is not handed over yet lies in a frame, but not directly. */
static bool is_in_label(const struct frames *frames, const struct span_bins *behind,
                        const struct spans_answer *part, const struct frame *frame,
                        const struct span *span)
{
    struct span_cursor cursor = span_bins_cursor(behind, frame->span.lane);
    const struct span *label;
    bool is_found = false;

    while (!is_found && (label = span_cursor_next(&cursor)))
        is_found = part->op_kinds[label->op] == SPAN_LABEL && is_between(frame, label, span);
    for (size_t i = 0; i < frames->opened.count && !is_found; i++)
        is_found = !frames->opened.items[i].is_op &&
                   is_between(frame, &frames->opened.items[i].span, span);
    for (size_t i = 0; i < frames->items.count && !is_found; i++)
        is_found =
            !frames->items.items[i].is_op && is_between(frame, &frames->items.items[i].span, span);
    return is_found;
}

/* Whether something of those that are not handed over yet will lie in one directly. */
static bool will_hold(const struct frames *frames, const struct span_bins *behind,
                      const struct spans_answer *part, const struct frame *frame)
{
    struct span_cursor cursor = span_bins_cursor(behind, frame->span.lane);
    const int64_t end_ns = span_end_ns(&frame->span);
    const struct span *span;

    while ((span = span_cursor_next(&cursor))) {
        const uint8_t kind = part->op_kinds[span->op];

        if (span_end_ns(span) <= end_ns && span->dur_ns > 0 &&
            (kind == SPAN_OP || kind == SPAN_PHASE) &&
            !is_in_label(frames, behind, part, frame, span))
            return true;
    }
    return false;
}

/* A thread tells of what lies in an op before it tells of that, so that all of it is there. */
static void find_leaves(struct frames *frames, const struct span_bins *behind,
                        struct spans_answer *part)
{
    for (size_t i = 0; i < frames->opened.count; i++) {
        struct frame *frame = &frames->opened.items[i];

        if (frame->was_opened)
            frame->will_hold = frame->holds || will_hold(frames, behind, part, frame);
        frame->was_opened = false;
    }
    for (size_t i = 0; i < part->spans.count; i++) {
        struct span *span = &part->spans.items[i];
        const struct frame *frame = find_frame(frames, span);

        span->is_leaf = frame && frame->is_op && !frame->will_hold;
    }
}

void frames_add_self(struct frames *frames, const struct span_bins *behind,
                     struct spans_answer *part)
{
    const struct span *items = part->spans.items;

    for (size_t i = 0; i < part->spans.count; i++) {
        struct frame *frame = find_frame(frames, &items[i]);
        const uint8_t kind = part->op_kinds[items[i].op];

        if (frame) {
            frame->self_ns += items[i].self_ns;
            frame->own_ns += span_own_ns(part, &items[i]);
        }
        if (items[i].parent == SPAN_NONE || !items[items[i].parent].frame || items[i].dur_ns == 0 ||
            (kind != SPAN_OP && kind != SPAN_PHASE))
            continue;
        frame = find_frame(frames, &items[items[i].parent]);
        if (frame)
            frame->holds = true;
    }
    find_leaves(frames, behind, part);
}

bool frames_are_sound(const struct frames *frames)
{
    bool all_are = frames->reached == frames->items.count && !frames->is_unsound;

    for (size_t i = 0; i < frames->items.count; i++)
        all_are &= is_sound(&frames->items.items[i]);
    for (size_t i = 0; i < frames->opened.count; i++)
        all_are &= is_sound(&frames->opened.items[i]);
    return all_are;
}

bool frames_learn(struct frames *frames)
{
    bool has_changed = false;

    for (size_t i = 0; i < frames->items.count; i++) {
        struct frame *frame = &frames->items.items[i];

        has_changed |= frame->is_op && frame->will_hold != frame->holds;
        frame->will_hold = frame->holds;
    }
    return has_changed && !frames->is_unsound && frames_are_sound(frames);
}

void frames_deinit(struct frames *frames)
{
    array_deinit(&frames->items);
    array_deinit(&frames->opened);
    free(frames->may_be_open);
    frames->may_be_open = NULL;
}
