/* SPDX-License-Identifier: Apache-2.0 */
/* Measuring what waits, over the lanes of a session, up to a time before which nothing comes any more. */
#include <errno.h>
#include <string.h>

#include "schema/store/private.h"

struct sealing {
    struct covers *covers;
    struct cover_session *session;
    int64_t from_ns, until_ns;
    size_t lane_count;       /* with a piece */
    struct cover_times last; /* of the last of them */
};

static bool counts(const struct cover_session *session, const struct cover_segment *segment)
{
    return segment->run == STORE_NULL ? !session->has_runs : segment->run_class == TOTAL_COUNTED;
}

static size_t end_of(const struct cover_lane *lane, size_t segment, int part)
{
    return segment + 1 < lane->segments.count ? lane->segments.items[segment + 1].first[part]
                                              : lane->parts[part].count;
}

/* --- What can be measured --- */

/* What is known of runs; *until_ns stays before those of which nothing is. */
static int look_at_runs(struct store *store, uint32_t place, struct cover_lane *lane,
                        int64_t *until_ns, struct diag *diag)
{
    struct cover_session *session = &store->totals.covers.sessions.items[place];
    int rc = 0;

    for (size_t i = 0; i < lane->segments.count && rc == 0; i++) {
        struct cover_segment *segment = &lane->segments.items[i];
        const bool is_last = i + 1 == lane->segments.count;

        if (segment->run != STORE_NULL && segment->run_class >= TOTAL_OPEN)
            rc = store_total_peek_run(store, place, segment->run, &segment->run_class, diag);
        if (rc < 0)
            return rc;
        if (counts(session, segment)) {
            lane->is_dirty |= !lane->has_event;
            lane->has_event = true;
        }
        if (segment->run != STORE_NULL && segment->run_class == TOTAL_OPEN && !session->is_ended &&
            (is_last || !session->ignores_open) && segment->floor_ns < *until_ns)
            *until_ns = segment->floor_ns;
    }
    return rc;
}

/* Up to the end of what was there the last time, of the lanes that are heard of. */
static int find_until(struct store *store, uint32_t place, int64_t *out_until_ns, struct diag *diag)
{
    struct covers *covers = &store->totals.covers;
    struct cover_session *session = &covers->sessions.items[place];
    int64_t until_ns = session->is_ended ? INT64_MAX : session->next_ns, next_ns = INT64_MAX;
    int rc = 0;

    for (uint32_t i = session->first_lane; i && rc == 0; i = covers->lanes.items[i - 1].next) {
        struct cover_lane *lane = &covers->lanes.items[i - 1];

        rc = look_at_runs(store, place, lane, &until_ns, diag);
        session->is_dirty |= lane->is_heard;
        if ((lane->is_heard || lane->was_heard) && lane->end_ns < next_ns)
            next_ns = lane->end_ns;
        lane->was_heard = lane->is_heard;
        lane->is_heard = false;
    }
    if (next_ns != INT64_MAX)
        session->next_ns = next_ns;
    *out_until_ns = until_ns;
    return rc;
}

/* --- Measuring --- */

/* The times of joined lists within the wall time. Those of copies and labels are of no use then. */
static int measure(const struct sealing *sealing, struct cover_lists *lists,
                   struct cover_times *out_times)
{
    const struct cover_session *session = sealing->session;
    const struct cover_pieces *wall = &session->wall;
    struct cover_times times = {{0}};

    for (int part = 0; part < COVER_PARTS; part++) {
        const bool is_beside = part == COVER_COPYING || part == COVER_LABELS;
        const int other = part == COVER_COPYING ? COVER_COMPUTING : COVER_RECORDED;
        struct cover_pieces *list = &lists->of[part];

        if (!list->count)
            continue;
        if (is_beside && store_cover_unite(list, &lists->of[other]) < 0)
            return -ENOMEM;
        times.of[part] =
            session->has_runs ? store_cover_common(list, wall) : store_cover_length(list);
        times.of[part] -= is_beside ? times.of[other] : 0;
    }
    *out_times = times;
    return 0;
}

static void add_times(struct cover_times *sum, const struct cover_times *times)
{
    for (int part = 0; part < COVER_PARTS; part++)
        sum->of[part] += times->of[part];
}

/* Appends to a list with room what lies in that time; what touches the last one is joined to it, which
 * of pieces that are not sorted is done later. */
static void take_segment(const struct sealing *sealing, struct cover_pieces *list,
                         const struct cover_piece *pieces, size_t count, bool is_sorted)
{
    for (size_t i = 0; i < count; i++) {
        const int64_t start_ns =
            pieces[i].start_ns > sealing->from_ns ? pieces[i].start_ns : sealing->from_ns;
        const int64_t end_ns =
            pieces[i].end_ns < sealing->until_ns ? pieces[i].end_ns : sealing->until_ns;
        struct cover_piece *last = list->count ? &list->items[list->count - 1] : NULL;

        if (start_ns >= end_ns)
            continue;
        if (!is_sorted || !last || start_ns > last->end_ns)
            list->items[list->count++] = (struct cover_piece){start_ns, end_ns};
        else if (end_ns > last->end_ns)
            last->end_ns = end_ns;
    }
}

/* The pieces of a lane that count. */
static int take_pieces(const struct sealing *sealing, const struct cover_lane *lane, int part)
{
    struct cover_pieces *list = &sealing->covers->lane.of[part];
    const struct cover_pieces *pieces = &lane->parts[part];

    list->count = 0;
    if (part == COVER_COMPUTING && !lane->is_device && sealing->session->has_device_work)
        return 0;
    if (array_reserve(list, pieces->count) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < lane->segments.count; i++) {
        const size_t first = lane->segments.items[i].first[part];
        const size_t count = end_of(lane, i, part) - first;

        if (count > 0 && counts(sealing->session, &lane->segments.items[i]))
            take_segment(sealing, list, pieces->items + first, count, !lane->is_unsorted);
    }
    if (lane->is_unsorted)
        store_cover_join(list, false);
    return 0;
}

/* What measuring the lane would change goes to its side before, */
static int give_before(const struct sealing *sealing)
{
    struct cover_lists *from = &sealing->covers->lane, *into = &sealing->covers->side;
    int rc = store_cover_unite(&into->of[COVER_COPYING], &from->of[COVER_COPYING]);

    return rc < 0 ? rc : store_cover_unite(&into->of[COVER_LABELS], &from->of[COVER_LABELS]);
}

/* and what it needs after. */
static int give_after(const struct sealing *sealing)
{
    struct cover_lists *from = &sealing->covers->lane, *into = &sealing->covers->side;
    int rc = store_cover_move(&into->of[COVER_RECORDED], &from->of[COVER_RECORDED]);

    return rc < 0 ? rc : store_cover_move(&into->of[COVER_COMPUTING], &from->of[COVER_COMPUTING]);
}

/* The lane for itself; what it has goes to its side. */
static int measure_lane(struct sealing *sealing, struct cover_lane *lane)
{
    struct cover_lists *lists = &sealing->covers->lane;
    int rc = 0;

    for (int part = 0; part < COVER_PARTS && rc == 0; part++)
        rc = take_pieces(sealing, lane, part);
    if (rc < 0 || (!lists->of[COVER_RECORDED].count && !lists->of[COVER_LABELS].count))
        return rc;
    sealing->lane_count++;
    sealing->session->host_computed |= !lane->is_device && lists->of[COVER_COMPUTING].count > 0;
    rc = give_before(sealing);
    if (rc == 0)
        rc = measure(sealing, lists, &sealing->last);
    if (rc < 0)
        return rc;
    add_times(&sealing->session->lanes, &sealing->last);
    /* The list of labels has taken in what was recorded, if there were any. */
    lane->busy_ns += store_cover_length(
        &lists->of[lists->of[COVER_LABELS].count ? COVER_LABELS : COVER_RECORDED]);
    lane->is_dirty = true;
    return give_after(sealing);
}

static int measure_side(struct sealing *sealing, uint32_t place)
{
    struct cover_session *session = sealing->session;
    struct cover_side *side = &session->sides.items[place];
    struct cover_lists *lists = &sealing->covers->side;
    const size_t before = sealing->lane_count;
    int64_t *const sums[] = {&side->busy_ns, &side->computing_ns, &side->copying_ns};
    int rc = 0;

    for (int part = 0; part < COVER_PARTS; part++)
        lists->of[part].count = 0;
    for (uint32_t i = session->first_lane; i && rc == 0;
         i = sealing->covers->lanes.items[i - 1].next) {
        if (sealing->covers->lanes.items[i - 1].side == place)
            rc = measure_lane(sealing, &sealing->covers->lanes.items[i - 1]);
    }
    if (rc < 0 || sealing->lane_count == before)
        return rc;
    side->is_dirty = true;
    for (int part = COVER_RECORDED; part <= COVER_COPYING; part++)
        *sums[part] += session->has_runs ? store_cover_common(&lists->of[part], &session->wall)
                                         : store_cover_length(&lists->of[part]);
    for (int part = 0; part < COVER_PARTS && rc == 0; part++)
        rc = store_cover_move(&sealing->covers->all.of[part], &lists->of[part]);
    return rc;
}

/* The wall time; what of it ends before the next is forgotten. */
static void measure_wall(struct sealing *sealing)
{
    struct cover_session *session = sealing->session;
    struct cover_pieces *wall = &session->wall;
    size_t kept = 0;

    for (size_t i = 0; i < wall->count; i++) {
        const struct cover_piece piece = wall->items[i];
        const int64_t from_ns =
            piece.start_ns > sealing->from_ns ? piece.start_ns : sealing->from_ns;
        const int64_t until_ns =
            piece.end_ns < sealing->until_ns ? piece.end_ns : sealing->until_ns;

        session->wall_ns += until_ns > from_ns ? until_ns - from_ns : 0;
        if (piece.end_ns > sealing->until_ns)
            wall->items[kept++] = piece;
    }
    wall->count = kept;
}

static int measure_session(struct sealing *sealing)
{
    struct cover_session *session = sealing->session;
    struct cover_times times;
    int rc = 0;

    store_cover_join(&session->wall, false);
    for (uint32_t i = 0; i < session->sides.count && rc == 0; i++)
        rc = measure_side(sealing, i);
    if (rc == 0 && sealing->lane_count == 1)
        add_times(&session->all, &sealing->last);
    else if (rc == 0 && sealing->lane_count > 1 &&
             (rc = measure(sealing, &sealing->covers->all, &times)) == 0)
        add_times(&session->all, &times);
    measure_wall(sealing);
    store_cover_empty(&sealing->covers->lane, COVER_WAITING_MAX);
    store_cover_empty(&sealing->covers->side, COVER_WAITING_MAX);
    store_cover_empty(&sealing->covers->all, COVER_WAITING_MAX);
    return rc;
}

/* --- Forgetting --- */

/* The first piece of a segment of a thread that ends behind that time: they lie one behind the other.
 * What waits is in no cache, so nearly always the floors of segments tell. */
static size_t first_behind(const struct cover_lane *lane, size_t segment, int part, int64_t time_ns)
{
    const struct cover_segment *at = &lane->segments.items[segment];
    const struct cover_piece *pieces = lane->parts[part].items;
    size_t from = at->first[part], until = end_of(lane, segment, part);

    if (at->floor_ns >= time_ns)
        return from;
    if (segment + 1 < lane->segments.count && at[1].floor_ns <= time_ns)
        return until;
    while (from < until) {
        const size_t middle = from + (until - from) / 2;

        if (pieces[middle].end_ns <= time_ns)
            from = middle + 1;
        else
            until = middle;
    }
    return from;
}

static void trim_thread(const struct sealing *sealing, struct cover_lane *lane, size_t segment,
                        int part, size_t *kept)
{
    struct cover_pieces *pieces = &lane->parts[part];
    const size_t first = first_behind(lane, segment, part, sealing->until_ns);
    const size_t count = end_of(lane, segment, part) - first;

    if (!count)
        return;
    if (lane->segments.items[segment].floor_ns < sealing->until_ns)
        lane->is_cut |= pieces->items[first].start_ns < sealing->until_ns;
    if (*kept != first) {
        memmove(&pieces->items[*kept], &pieces->items[first], count * sizeof(*pieces->items));
        if (part == COVER_LABELS)
            memmove(&lane->ranges.items[*kept], &lane->ranges.items[first],
                    count * sizeof(*lane->ranges.items));
    }
    *kept += count;
}

/* Of a part of a segment what ends behind that time, and all behind what was kept before. */
static void trim_part(const struct sealing *sealing, struct cover_lane *lane, size_t segment,
                      int part, size_t *kept)
{
    const struct cover_segment *at = &lane->segments.items[segment];
    const bool is_open = at->run != STORE_NULL && at->run_class == TOTAL_OPEN;
    const bool may_count = counts(sealing->session, at) || (is_open && !sealing->session->is_ended);
    struct cover_pieces *pieces = &lane->parts[part];

    if (!may_count)
        return;
    if (!lane->is_device) {
        trim_thread(sealing, lane, segment, part, kept);
        return;
    }
    for (size_t i = at->first[part]; i < end_of(lane, segment, part); i++) {
        const struct cover_piece piece = pieces->items[i];

        if (piece.end_ns <= sealing->until_ns)
            continue;
        lane->is_cut |= piece.start_ns < sealing->until_ns;
        pieces->items[(*kept)++] = piece;
    }
}

/* Where the first of the recorded pieces of a segment went, and how many before the next are gone. */
static void move_ranges(struct cover_lane *lane, size_t from, size_t until, uint32_t first_new,
                        uint32_t gone)
{
    for (size_t i = from; i < until; i++) {
        struct cover_range *range = &lane->ranges.items[i];

        range->from = range->from > first_new + gone ? range->from - gone : first_new;
        range->until = range->until > first_new + gone ? range->until - gone : first_new;
    }
}

static void trim_lane(const struct sealing *sealing, struct cover_lane *lane)
{
    size_t kept[COVER_PARTS] = {0}, segments = 0;

    lane->is_cut = false;
    for (size_t i = 0; i < lane->segments.count; i++) {
        struct cover_segment segment = lane->segments.items[i];
        const uint32_t old_end = (uint32_t)end_of(lane, i, COVER_RECORDED);
        const bool is_last = i + 1 == lane->segments.count;
        bool is_empty = true;
        size_t first[COVER_PARTS];

        for (int part = 0; part < COVER_PARTS; part++) {
            first[part] = kept[part];
            trim_part(sealing, lane, i, part, &kept[part]);
            is_empty &= kept[part] == first[part];
        }
        if (!lane->is_device)
            move_ranges(lane, first[COVER_LABELS], kept[COVER_LABELS],
                        (uint32_t)first[COVER_RECORDED], old_end - (uint32_t)kept[COVER_RECORDED]);
        if (is_empty && !is_last)
            continue;
        for (int part = 0; part < COVER_PARTS; part++)
            segment.first[part] = (uint32_t)first[part];
        lane->segments.items[segments++] = segment;
    }
    lane->segments.count = segments;
    for (int part = 0; part < COVER_PARTS; part++)
        lane->parts[part].count = kept[part];
    lane->ranges.count = lane->is_device ? 0 : kept[COVER_LABELS];
}

/* Returns how many pieces of the session wait on. */
static size_t trim(const struct sealing *sealing)
{
    size_t waiting = sealing->session->wall.count;

    for (uint32_t i = sealing->session->first_lane; i;
         i = sealing->covers->lanes.items[i - 1].next) {
        struct cover_lane *lane = &sealing->covers->lanes.items[i - 1];

        trim_lane(sealing, lane);
        for (int part = 0; part < COVER_PARTS; part++)
            waiting += lane->parts[part].count;
        store_cover_set_free(sealing->session, lane);
    }
    return waiting;
}

/* Who has work on a device only asks for it on threads. */
static bool has_device_work(const struct covers *covers, const struct cover_session *session)
{
    bool has = session->has_device_work;

    for (uint32_t i = session->first_lane; i && !has; i = covers->lanes.items[i - 1].next) {
        const struct cover_lane *lane = &covers->lanes.items[i - 1];

        has = lane->is_device && lane->parts[COVER_COMPUTING].count > 0;
    }
    return has;
}

static int seal_session(struct store *store, uint32_t place, struct diag *diag)
{
    struct covers *covers = &store->totals.covers;
    struct cover_session *session = &covers->sessions.items[place];
    struct sealing sealing = {.covers = covers, .session = session, .from_ns = session->sealed_ns};
    size_t waiting;
    int rc = find_until(store, place, &sealing.until_ns, diag);

    if (rc < 0)
        return rc;
    if (!session->has_device_work && has_device_work(covers, session)) {
        session->has_device_work = session->is_dirty = true;
        if (session->host_computed) {
            store_cover_give_up(covers, place);
            return 0;
        }
    }
    if (sealing.until_ns < sealing.from_ns)
        sealing.until_ns = sealing.from_ns;
    if (sealing.until_ns > sealing.from_ns) {
        rc = measure_session(&sealing);
        session->sealed_ns = sealing.until_ns;
        session->is_dirty = true;
    }
    waiting = rc == 0 ? trim(&sealing) : 0;
    session->ignores_open = waiting > COVER_WAITING_MAX;
    if (rc < 0 || waiting > 2 * COVER_WAITING_MAX)
        store_cover_give_up(covers, place);
    return 0;
}

int store_cover_seal(struct store *store, struct diag *diag)
{
    struct covers *covers = &store->totals.covers;
    int rc = 0;

    covers->last_rowid = store->totals.last_rowid;
    for (uint32_t i = 0; i < covers->sessions.count && rc == 0; i++) {
        struct cover_session *session = &covers->sessions.items[i];

        if (!session->is_off && session->sealed_ns < INT64_MAX)
            rc = seal_session(store, i, diag);
    }
    return rc;
}

int store_cover_commit(struct store *store, struct diag *diag)
{
    const struct totals *totals = &store->totals;

    return totals->is_ready && totals->last_rowid - totals->covers.last_rowid >= COVER_SEAL_EVENTS
               ? store_cover_seal(store, diag)
               : 0;
}
