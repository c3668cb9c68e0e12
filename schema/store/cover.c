/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of time as spans come. */
#include "schema/store/cover.h"

#include <stdlib.h>

void store_cover_set_free(const struct cover_session *session, struct cover_lane *lane)
{
    if (!lane->segments.count) {
        lane->free_ns = INT64_MAX; /* every event of it is looked at */
        return;
    }
    lane->free_ns = lane->end_ns;
    if (session->sealed_ns >= lane->free_ns)
        lane->free_ns = session->sealed_ns < INT64_MAX ? session->sealed_ns + 1 : INT64_MAX;
}

static void empty_lane(struct cover_lane *lane)
{
    for (int part = 0; part < COVER_PARTS; part++)
        array_deinit(&lane->parts[part]);
    array_deinit(&lane->segments);
    array_deinit(&lane->ranges);
    lane->free_ns = INT64_MAX;
}

void store_cover_give_up(struct covers *covers, uint32_t place)
{
    struct cover_session *session = &covers->sessions.items[place];

    if (session->is_off)
        return;
    session->is_off = session->is_dirty = true;
    array_deinit(&session->wall);
    for (uint32_t i = session->first_lane; i; i = covers->lanes.items[i - 1].next) {
        covers->lanes.items[i - 1].is_off = true;
        empty_lane(&covers->lanes.items[i - 1]);
    }
}

void store_cover_end(struct covers *covers, uint32_t session)
{
    covers->sessions.items[session].is_ended = true;
    covers->has_ended |= !covers->sessions.items[session].is_off;
}

/* From now on what is outside of runs does not count, and did not. */
static void begin_runs(struct covers *covers, struct cover_session *session)
{
    session->has_runs = session->is_dirty = true;
    session->all = session->lanes = (struct cover_times){{0}};
    session->host_computed = false;
    for (size_t i = 0; i < session->sides.count; i++) {
        struct cover_side *side = &session->sides.items[i];

        side->busy_ns = side->computing_ns = side->copying_ns = 0;
        side->is_dirty = true;
    }
    for (uint32_t i = session->first_lane; i; i = covers->lanes.items[i - 1].next) {
        struct cover_lane *lane = &covers->lanes.items[i - 1];

        empty_lane(lane);
        lane->busy_ns = 0;
        lane->end_ns = INT64_MIN;
        lane->has_event = lane->is_cut = lane->is_unsorted = false;
        lane->is_dirty = true;
    }
}

void store_cover_note_run(struct covers *covers, uint32_t place, const struct store_run *run,
                          bool is_known)
{
    struct cover_session *session = &covers->sessions.items[place];
    const struct cover_piece piece = {run->start_ns, run->end_ns};

    if (session->is_off)
        return;
    if (!session->has_runs)
        begin_runs(covers, session);
    if (run->end_ns == STORE_NULL)
        return;
    if (is_known)
        store_cover_give_up(covers, place);
    else if (run->warmup || run->without_ops)
        return;
    else if (run->start_ns < 0 || run->end_ns < run->start_ns ||
             run->start_ns < session->sealed_ns || array_push(&session->wall, piece) < 0)
        store_cover_give_up(covers, place);
}

/* --- Spans --- */

/* Where a span goes. */
struct adding {
    struct cover_lane *lane;
    const struct cover_segment *segment;
    struct cover_piece span, kernels;
    unsigned bits;
};

static int begin_segment(struct cover_lane *lane, int64_t run)
{
    struct cover_segment segment = {.run = run, .floor_ns = lane->end_ns, .run_class = UINT32_MAX};

    if (lane->segments.count && lane->run == run)
        return 0;
    for (int part = 0; part < COVER_PARTS; part++)
        segment.first[part] = (uint32_t)lane->parts[part].count;
    lane->run = run;
    return array_push(&lane->segments, segment);
}

/* Adds a piece that ends behind all others of its part. */
static int add_piece(const struct adding *adding, enum cover_part part, struct cover_piece piece)
{
    struct cover_pieces *pieces = &adding->lane->parts[part];
    size_t count = pieces->count;

    if (piece.start_ns >= piece.end_ns)
        return 0;
    while (count > adding->segment->first[part] &&
           pieces->items[count - 1].end_ns >= piece.start_ns) {
        if (pieces->items[--count].start_ns < piece.start_ns)
            piece.start_ns = pieces->items[count].start_ns;
    }
    pieces->count = count;
    return array_push(pieces, piece);
}

/* Devices hold no spans in others but for labels; what overlaps is joined later. */
static int push_piece(const struct adding *adding, enum cover_part part, struct cover_piece piece)
{
    struct cover_pieces *pieces = &adding->lane->parts[part];

    if (piece.start_ns >= piece.end_ns)
        return 0;
    if (pieces->count && pieces->items[pieces->count - 1].start_ns > piece.start_ns)
        adding->lane->is_unsorted = true;
    return array_push(pieces, piece);
}

static int add_on_device(const struct adding *adding)
{
    int rc;

    if (adding->bits & OP_SORT_LABEL)
        return push_piece(adding, COVER_LABELS, adding->span);
    rc = push_piece(adding, COVER_RECORDED, adding->span);
    if (rc == 0 && adding->bits & OP_SORT_COPIES)
        rc = push_piece(adding, COVER_COPYING, adding->span);
    if (rc == 0 && adding->bits & OP_SORT_COMPUTES)
        rc = push_piece(adding, COVER_COMPUTING, adding->kernels);
    return rc;
}

/* The first piece of a part that lies in the span; all behind it do. Fails where an earlier one reaches
 * into it, or something of another run. */
static bool find_inside(const struct adding *adding, enum cover_part part, size_t *out_place)
{
    const struct cover_pieces *pieces = &adding->lane->parts[part];
    size_t first = adding->segment->first[part], place = pieces->count;

    while (place > first && pieces->items[place - 1].start_ns >= adding->span.start_ns)
        place--;
    *out_place = place;
    return place > first ? pieces->items[place - 1].end_ns <= adding->span.start_ns
                         : adding->segment->floor_ns <= adding->span.start_ns;
}

/* Returns -EDOM for what does not nest. */
static int add_label(const struct adding *adding)
{
    struct cover_lane *lane = adding->lane;
    struct cover_pieces *labels = &lane->parts[COVER_LABELS];
    struct cover_range range = {.until = (uint32_t)lane->parts[COVER_RECORDED].count};
    size_t from, place;

    if (!find_inside(adding, COVER_RECORDED, &from) || !find_inside(adding, COVER_LABELS, &place))
        return -EDOM;
    labels->count = lane->ranges.count = place;
    range.from = (uint32_t)from;
    if (array_push(labels, adding->span) < 0 || array_push(&lane->ranges, range) < 0)
        return -ENOMEM;
    return 0;
}

/* An op computes when nothing lies in it, but in a label. */
static int add_op(const struct adding *adding)
{
    struct cover_lane *lane = adding->lane;
    struct cover_pieces *recorded = &lane->parts[COVER_RECORDED];
    size_t from, first_label, in_labels = 0;
    bool has_inner;
    int rc;

    if (!find_inside(adding, COVER_RECORDED, &from) ||
        !find_inside(adding, COVER_LABELS, &first_label))
        return -EDOM;
    for (size_t i = first_label; i < lane->ranges.count; i++) {
        struct cover_range *range = &lane->ranges.items[i];

        in_labels += range->until - range->from;
        range->from = range->until = (uint32_t)from;
    }
    has_inner = recorded->count - from > in_labels;
    recorded->count = from;
    rc = array_push(recorded, adding->span);
    if (rc == 0 && adding->bits & OP_SORT_COPIES)
        rc = add_piece(adding, COVER_COPYING, adding->span);
    if (rc == 0 && adding->bits & OP_SORT_COMPUTES && !has_inner)
        rc = add_piece(adding, COVER_COMPUTING, adding->kernels);
    return rc;
}

/* Room for the next ones, which are probably plain. */
static int make_room(struct cover_lane *lane)
{
    int rc = array_reserve(&lane->parts[COVER_RECORDED], lane->parts[COVER_RECORDED].count + 1);

    return rc ? rc
              : array_reserve(&lane->parts[COVER_COMPUTING],
                              lane->parts[COVER_COMPUTING].count + 1);
}

static int add_span(struct cover_session *session, struct cover_lane *lane, unsigned bits,
                    const struct store_event *event)
{
    const int64_t kern_ns = event->kern_ns == STORE_NULL ? 0 : event->kern_ns;
    struct adding adding = {
        .lane = lane, .span = {event->start_ns, event->start_ns + event->dur_ns}, .bits = bits};
    int rc = begin_segment(lane, event->run);

    if (rc < 0)
        return rc;
    adding.segment = &lane->segments.items[lane->segments.count - 1];
    adding.kernels = (struct cover_piece){adding.span.start_ns + kern_ns, adding.span.end_ns};
    if (event->dur_ns > 0 && !lane->is_device && adding.span.end_ns < lane->end_ns)
        return -EDOM;
    if (event->dur_ns > 0 && lane->is_device)
        rc = add_on_device(&adding);
    else if (event->dur_ns > 0)
        rc = bits & OP_SORT_LABEL ? add_label(&adding) : add_op(&adding);
    if (rc == 0)
        rc = make_room(lane);
    if (lane->first_ns > adding.span.start_ns)
        lane->first_ns = adding.span.start_ns;
    if (lane->end_ns < adding.span.end_ns)
        lane->end_ns = adding.span.end_ns;
    lane->is_heard = true;
    store_cover_set_free(session, lane);
    return rc;
}

/* Whether what was measured would be another with it. */
static bool comes_late(const struct covers *covers, const struct cover_session *session,
                       const struct cover_lane *lane, const struct store_event *event)
{
    if (covers->replays) /* what lies in it may be forgotten */
        return event->start_ns <= lane->floor_ns &&
               event->start_ns + event->dur_ns > session->sealed_ns;
    return event->start_ns < session->sealed_ns ||
           (event->start_ns == session->sealed_ns && lane->is_cut);
}

void store_cover_add_other(struct covers *covers, struct cover_lane *lane, unsigned bits,
                           const struct store_event *event)
{
    struct cover_session *session = &covers->sessions.items[lane->session];

    if (lane->is_off)
        return;
    if (bits & (OP_SORT_OTHER | OP_SORT_MARK)) {
        store_cover_give_up(covers, lane->session);
        return;
    }
    if (event->run != STORE_NULL && !session->has_runs)
        begin_runs(covers, session);
    if (event->run == STORE_NULL && session->has_runs)
        return;
    if (comes_late(covers, session, lane, event) || add_span(session, lane, bits, event) < 0)
        store_cover_give_up(covers, lane->session);
}

void store_cover_replay(struct covers *covers, uint32_t place, unsigned bits,
                        const struct store_event *event)
{
    covers->replays = true;
    store_cover_add_other(covers, &covers->lanes.items[place], bits, event);
    covers->replays = false;
}

void store_cover_clear(struct covers *covers)
{
    for (size_t i = 0; i < covers->lanes.count; i++)
        empty_lane(&covers->lanes.items[i]);
    for (size_t i = 0; i < covers->sessions.count; i++) {
        struct cover_session *session = &covers->sessions.items[i];

        for (size_t k = 0; k < session->sides.count; k++)
            free(session->sides.items[k].device);
        array_deinit(&session->sides);
        array_deinit(&session->wall);
    }
    covers->lanes.count = covers->sessions.count = 0;
    covers->last_rowid = 0;
    covers->has_ended = false;
}

void store_cover_deinit(struct covers *covers)
{
    store_cover_clear(covers);
    store_cover_empty(&covers->lane, 0);
    store_cover_empty(&covers->side, 0);
    store_cover_empty(&covers->all, 0);
    array_deinit(&covers->lanes);
    array_deinit(&covers->sessions);
}
