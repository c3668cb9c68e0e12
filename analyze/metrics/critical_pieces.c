/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of lanes and what they depend on. */
#include "analyze/metrics/critical_pieces.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/metrics/critical_cutter.h"
#include "analyze/query/lane_use.h"
#include "analyze/query/op_class.h"
#include "base/sorted.h"

/* --- Devices. --- */

/* A thread is cut where a launch was made: at the end of the call, or where the device began. */
static int add_cut(struct cutter *cutter, const struct span *span)
{
    const struct span *launch = cutter_span(cutter, span->launch);
    struct cut cut = {launch->lane, span_end_ns(launch)};

    if (span->start_ns < cut.time_ns)
        cut.time_ns = span->start_ns;
    return array_push(&cutter->cuts, cut);
}

static int cut_device(struct cutter *cutter, const struct span_range *range)
{
    const struct critical_path *path = cutter->path;
    int rc = 0;

    for (size_t i = range->first; i < range->first + range->count && rc == 0; i++) {
        const struct span *span = &path->answer->spans.items[i];
        int64_t from_ns = span->start_ns, until_ns = span_end_ns(span);

        from_ns = from_ns < path->start_ns ? path->start_ns : from_ns;
        until_ns = until_ns > path->end_ns ? path->end_ns : until_ns;
        if (!span_is_op(path->answer, span) || from_ns > until_ns)
            continue;
        rc = cutter_push_waits_before(cutter, (uint32_t)i);
        cutter->piece_of_op[i] = (uint32_t)path->pieces.count;
        if (rc == 0)
            rc = cutter_push(cutter, from_ns, until_ns, (uint32_t)i, false, SPAN_NONE);
        if (rc == 0 && span->launch != SPAN_NONE)
            rc = add_cut(cutter, span);
    }
    return rc;
}

/* --- Threads. --- */

static bool is_sync(const struct cutter *cutter, const struct span *span)
{
    const struct critical_path *path = cutter->path;
    enum op_syncs *known = path->earlier ? &path->earlier->syncs[span->op] : NULL;
    bool syncs;

    if (known && *known != OP_SYNCS_UNKNOWN)
        return *known == OP_SYNCS;
    syncs = strstr(span_op(path->answer, span)->name, "Synchronize") != NULL;
    if (known)
        *known = syncs ? OP_SYNCS : OP_SYNCS_NOT;
    return syncs;
}

static bool is_blocking_copy(const struct cutter *cutter, const struct span *span)
{
    const struct spans_answer *answer = cutter->path->answer;

    return span->launch != SPAN_NONE &&
           op_class_of(span_op(answer, cutter_span(cutter, span->launch))) == OP_CLASS_COPY &&
           copy_mode_of(span_op(answer, cutter_span(cutter, span->launch)),
                        span_op(answer, span)) == COPY_SYNC;
}

/* By end; a piece comes after all that it can depend on. */
int critical_path_compare_ends(const struct path_piece *a, const struct path_piece *b)
{
    if (a->end_ns != b->end_ns)
        return a->end_ns < b->end_ns ? -1 : 1;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return (a->nth > b->nth) - (a->nth < b->nth);
}

static int compare_pieces(const void *a, const void *b, void *pieces)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    int order = critical_path_compare_ends((const struct path_piece *)pieces + left,
                                           (const struct path_piece *)pieces + right);

    return order ? order : (left > right) - (left < right);
}

/* Devices come before threads where nothing else tells pieces of different parts apart. */
static int compare_lanes(const struct cutter *cutter, uint32_t lane, uint32_t other)
{
    const struct lane_row *lanes = cutter->path->answer->lanes.items;

    if (lanes[lane].side != lanes[other].side)
        return lanes[lane].side == OP_DEVICE ? -1 : 1;
    return (lane > other) - (lane < other);
}

/* By end, also of different parts. */
static int compare_recent(const void *a, const void *b, void *user)
{
    const struct cutter *cutter = user;
    const struct path_piece *items = cutter->path->pieces.items;
    const uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    int order = critical_path_compare_ends(&items[left], &items[right]);

    if (!order)
        order = compare_lanes(cutter, cutter_lane(cutter, left), cutter_lane(cutter, right));
    return order ? order : (left > right) - (left < right);
}

static uint32_t later_piece(struct cutter *cutter, uint32_t a, uint32_t b)
{
    if (a == SPAN_NONE || b == SPAN_NONE)
        return a == SPAN_NONE ? b : a;
    return compare_recent(&a, &b, cutter) > 0 ? a : b;
}

/* Of earlier parts what ended last between two times, on a device or on another lane than one; or SPAN_NONE. */
static uint32_t find_recent(const struct cutter *cutter, uint32_t but_lane, bool is_device,
                            int64_t after_ns, int64_t until_ns)
{
    const struct earlier_pieces *earlier = cutter->path->earlier;
    const struct path_piece *items = cutter->path->pieces.items;
    size_t count = earlier ? earlier->recent_count : 0;

    count = search_past(0, count, i, items[earlier->recent[i]].end_ns <= until_ns);
    for (; count > 0; count--) {
        const uint32_t place = earlier->recent[count - 1], lane = earlier->lanes[place];

        if (items[place].end_ns <= after_ns)
            break;
        if (lane != but_lane &&
            (!is_device || cutter->path->answer->lanes.items[lane].side == OP_DEVICE))
            return place;
    }
    return SPAN_NONE;
}

/* How many of the first `count` pieces of cutter->ended ended at a time or before. */
static size_t count_ended(const struct cutter *cutter, size_t count, int64_t time_ns)
{
    size_t low = 0, high = count;

    low = search_past(low, high, middle,
                      cutter->path->pieces.items[cutter->ended[middle]].end_ns <= time_ns);
    return low;
}

/* The piece of a device that a call waited for between two times, or SPAN_NONE. What earlier parts launched was
 * launched before. */
static uint32_t find_awaited(struct cutter *cutter, uint32_t call, int64_t from_ns,
                             int64_t until_ns)
{
    const uint32_t earlier = find_recent(cutter, SPAN_NONE, true, from_ns, until_ns);

    for (size_t i = count_ended(cutter, cutter->device_count, until_ns); i > 0; i--) {
        uint32_t place = cutter->ended[i - 1];
        const struct path_piece *piece = &cutter->path->pieces.items[place];
        uint32_t launch = cutter_span(cutter, piece->span)->launch;

        if (piece->end_ns <= from_ns)
            break;
        if (piece->is_wait)
            continue;
        if (launch == SPAN_NONE || launch == call ||
            cutter_span(cutter, launch)->start_ns < cutter_span(cutter, call)->start_ns)
            return later_piece(cutter, place, earlier);
    }
    return earlier;
}

static void clip(struct path_piece *piece, int64_t until_ns)
{
    const int64_t more_ns = piece->end_ns - until_ns + piece->clipped_ns;

    piece->clipped_ns = more_ns > UINT32_MAX ? UINT32_MAX : (uint32_t)more_ns;
    piece->end_ns = until_ns;
}

/* Clocks of devices differ from that of the host by some microseconds: what a call waited for may
 * seem to end after the call. Lets a piece, and those before it on its lane, end by then; false
 * where it ended so much later that the call did not wait for it. */
static bool clip_awaited(struct cutter *cutter, uint32_t piece, int64_t until_ns)
{
    enum { CLOCKS_DIFFER_NS = 100000 };
    struct path_piece *items = cutter->path->pieces.items;
    const uint32_t lane = cutter_lane(cutter, piece);
    const uint32_t earlier = cutter_earlier_ends(cutter, lane).last;
    int64_t last_ns = until_ns;
    size_t first, from, end;

    if (items[piece].end_ns - until_ns > CLOCKS_DIFFER_NS)
        return false;
    if (items[piece].end_ns <= until_ns)
        return true;
    cutter->lacks_earlier |= earlier != SPAN_NONE && items[earlier].end_ns > until_ns;
    if (piece < cutter->path->first)
        return true;
    first = cutter->ranges[lane].first;
    for (size_t i = piece + 1; i-- > first && items[i].end_ns > until_ns;)
        last_ns = items[i].end_ns > last_ns ? items[i].end_ns : last_ns;
    from = count_ended(cutter, cutter->device_count, until_ns - 1);
    end = count_ended(cutter, cutter->device_count, last_ns);
    for (size_t i = piece + 1; i-- > first && items[i].end_ns > until_ns;) {
        clip(&items[i], until_ns);
        if (items[i].start_ns > until_ns)
            items[i].start_ns = until_ns;
    }
    qsort_r(cutter->ended + from, end - from, sizeof(*cutter->ended), compare_pieces, items);
    return true;
}

/* Fills cutter->awaited with the pieces that a call waited for between two times. */
static int gather_awaited(struct cutter *cutter, uint32_t call, int64_t from_ns, int64_t until_ns)
{
    uint32_t one = SPAN_NONE;
    int rc = 0;

    cutter->awaited.count = cutter->streams.count = 0;
    if (is_sync(cutter, cutter_span(cutter, call)))
        rc = host_waits_of(cutter->path->answer, &cutter->waits, call, &cutter->streams);
    else if (!is_blocking_copy(cutter, cutter_span(cutter, call)))
        return 0;
    if (rc == 0)
        one = find_awaited(cutter, call, from_ns, until_ns);
    if (one != SPAN_NONE)
        return array_push(&cutter->awaited, one);
    for (size_t i = 0; i < cutter->streams.count && rc > 0; i++) {
        const struct awaited_stream *stream = &cutter->streams.items[i];
        struct stream_end end = stream_waits_end(&cutter->waits, stream->lane, stream->until_ns);

        one = cutter_last_piece(cutter, stream->lane, end, stream->until_ns);
        if (one != SPAN_NONE && clip_awaited(cutter, one, until_ns) &&
            array_push(&cutter->awaited, one) < 0)
            rc = -ENOMEM;
    }
    return rc < 0 ? rc : 0;
}

/* A part of a thread that belongs to one span and in which nothing was launched. A call that waits
 * is a piece until the last of what it waited for had ended, one without length for each of these,
 * and the rest. */
static int add_part(struct cutter *cutter, int64_t from_ns, int64_t until_ns, uint32_t span)
{
    size_t first = cutter->path->pieces.count;
    int64_t back_ns = from_ns;
    int rc = gather_awaited(cutter, span, from_ns, until_ns);

    for (size_t i = 0; i < cutter->awaited.count && rc == 0; i++) {
        int64_t end_ns = cutter->path->pieces.items[cutter->awaited.items[i]].end_ns;

        back_ns = end_ns > back_ns ? end_ns : back_ns;
    }
    if (rc == 0 && cutter->awaited.count)
        rc = cutter_push(cutter, from_ns, back_ns, span, true, SPAN_NONE);
    for (size_t i = 0; i < cutter->awaited.count && rc == 0; i++)
        rc = cutter_push(cutter, back_ns, back_ns, span, true, cutter->awaited.items[i]);
    if (rc == 0)
        rc = cutter_push(cutter, back_ns, until_ns, span, false, SPAN_NONE);
    if (cutter->awaited.count) {
        for (size_t i = first; i < cutter->path->pieces.count; i++)
            cutter->path->pieces.items[i].nth = NTH_OF_CALLS;
    }
    return rc;
}

/* A part of a thread that belongs to one span, cut where it launched something, but for what is behind
 * the last cut, from *from_ns on. */
static int add_cuts(struct cutter *cutter, int64_t *from_ns, int64_t until_ns, uint32_t span)
{
    uint32_t lane = cutter_span(cutter, span)->lane;
    int rc = 0;

    for (; cutter->next_cut < cutter->cuts.count && rc == 0; cutter->next_cut++) {
        const struct cut *cut = &cutter->cuts.items[cutter->next_cut];

        if (cut->lane > lane || (cut->lane == lane && cut->time_ns >= until_ns))
            break;
        if (cut->lane < lane || cut->time_ns <= *from_ns)
            continue;
        rc = add_part(cutter, *from_ns, cut->time_ns, span);
        *from_ns = cut->time_ns;
    }
    return rc;
}

/* All of it. Of a span that goes on in the next part it lasts until *from_ns, and the rest is of that part. */
static int add_parts(struct cutter *cutter, int64_t *from_ns, int64_t until_ns, uint32_t span,
                     bool goes_on)
{
    const struct critical_path *path = cutter->path;
    int64_t time_ns = *from_ns < path->start_ns ? path->start_ns : *from_ns;
    const int64_t begin_ns = time_ns;
    const bool takes_time = cutter_span(cutter, span)->dur_ns > 0;
    int rc;

    if (!goes_on)
        *from_ns = until_ns;
    until_ns = until_ns > path->end_ns ? path->end_ns : until_ns;
    if (time_ns > until_ns || (time_ns == until_ns && takes_time))
        return 0;
    rc = add_cuts(cutter, &time_ns, until_ns, span);
    if (rc == 0 && !goes_on)
        rc = add_part(cutter, time_ns, until_ns, span);
    else if (time_ns > begin_ns)
        *from_ns = time_ns;
    return rc;
}

/* Closes what ends by a time. *now_ns is how far the thread is cut. */
static int close_until(struct cutter *cutter, int64_t time_ns, int64_t *now_ns)
{
    int rc = 0;

    while (cutter->open.count && rc == 0) {
        uint32_t top = cutter->open.items[cutter->open.count - 1];
        int64_t end_ns = span_end_ns(cutter_span(cutter, top));
        int64_t until_ns = end_ns < time_ns ? end_ns : time_ns;

        if (*now_ns < until_ns)
            rc = add_parts(cutter, now_ns, until_ns, top, false);
        if (end_ns > time_ns)
            break;
        cutter->open.count--;
    }
    return rc;
}

/* Closes all but what goes on in the next part. */
static int close_part(struct cutter *cutter, int64_t *now_ns)
{
    const int64_t until_ns = cutter->path->answer->until_ns;
    const struct span *span;
    uint32_t top;
    int rc = 0;

    while (cutter->open.count && rc == 0) {
        top = cutter->open.items[cutter->open.count - 1];
        span = cutter_span(cutter, top);
        if (span->frame && span_end_ns(span) > until_ns)
            return add_parts(cutter, now_ns, until_ns, top, true);
        rc = close_until(cutter, span_end_ns(span), now_ns);
    }
    return rc;
}

/* What is before this part is left of what went on; of what ended as the part began nothing is. */
static int64_t start_of(const struct cutter *cutter, const struct span *span)
{
    const struct critical_path *path = cutter->path;
    int64_t open_ns;

    if (span->frame != SPAN_FRAME_AGAIN || !path->earlier)
        return span->start_ns;
    open_ns = path->earlier->open_ns[span->lane];
    return open_ns == INT64_MIN ? path->answer->from_ns : open_ns;
}

static int cut_host(struct cutter *cutter, uint32_t lane)
{
    const struct span_range *range = &cutter->path->answer->ranges[lane];
    int64_t now_ns = INT64_MIN, start_ns;
    int rc = 0;

    for (size_t i = range->first; i < range->first + range->count && rc == 0; i++) {
        const struct span *span = cutter_span(cutter, (uint32_t)i);

        if (!span_is_op(cutter->path->answer, span))
            continue;
        cutter->lacks_earlier |= span->frame && is_sync(cutter, span);
        start_ns = start_of(cutter, span);
        rc = close_until(cutter, start_ns, &now_ns);
        now_ns = start_ns;
        if (rc == 0 && span->dur_ns > 0)
            rc = array_push(&cutter->open, (uint32_t)i);
        else if (rc == 0)
            rc = add_parts(cutter, &now_ns, start_ns, (uint32_t)i, false);
    }
    if (rc == 0)
        rc = close_part(cutter, &now_ns);
    if (cutter->path->earlier)
        cutter->path->earlier->open_ns[lane] = cutter->open.count ? now_ns : INT64_MIN;
    cutter->open.count = 0;
    return rc;
}

/* --- What depends on what. --- */

/* Where the pieces from `first` on that are in order end. */
static size_t find_run(const uint32_t *places, size_t first, size_t count,
                       struct path_piece *pieces)
{
    size_t end = first + 1;

    while (end < count && compare_pieces(&places[end - 1], &places[end], pieces) < 0)
        end++;
    return end < count ? end : count;
}

/* Merges each two stretches that are in order. Returns how many there were. */
static size_t merge_runs(const uint32_t *from, size_t count, struct path_piece *pieces,
                         uint32_t *into)
{
    size_t runs = 0, at = 0;

    for (size_t first = 0; first < count; runs += 2) {
        const size_t middle = find_run(from, first, count, pieces);
        const size_t end = middle < count ? find_run(from, middle, count, pieces) : count;
        size_t left = first, right = middle;

        while (left < middle && right < end)
            into[at++] = compare_pieces(&from[left], &from[right], pieces) < 0 ? from[left++]
                                                                               : from[right++];
        while (left < middle)
            into[at++] = from[left++];
        while (right < end)
            into[at++] = from[right++];
        first = end;
    }
    return runs;
}

/* Lanes are in order, mostly, so that there is little to merge. */
static int sort_pieces(uint32_t *places, size_t count, struct path_piece *pieces)
{
    uint32_t *other = malloc((count + 1) * sizeof(*other)), *from = places, *into = other;
    size_t runs = 3;

    if (!other)
        return -ENOMEM;
    while (runs > 2) {
        uint32_t *merged = into;

        runs = merge_runs(from, count, pieces, into);
        into = from;
        from = merged;
    }
    if (from != places)
        memcpy(places, from, count * sizeof(*places));
    free(other);
    return 0;
}

static int sort_ended(struct cutter *cutter)
{
    size_t first = cutter->path->first, count = cutter->path->pieces.count - first;
    uint32_t *ended = realloc(cutter->ended, (count + 1) * sizeof(*ended));

    if (!ended)
        return -ENOMEM;
    cutter->ended = ended;
    for (size_t i = 0; i < count; i++)
        ended[i] = (uint32_t)(first + i);
    return sort_pieces(ended, count, cutter->path->pieces.items);
}

/* What ended last on another lane, between two times and before a piece; SPAN_NONE: nothing. */
static uint32_t find_last(struct cutter *cutter, uint32_t piece, int64_t after_ns)
{
    struct path_piece *items = cutter->path->pieces.items;
    uint32_t lane = cutter_span(cutter, items[piece].span)->lane;
    const uint32_t earlier = find_recent(cutter, lane, false, after_ns, items[piece].start_ns);
    size_t count = count_ended(cutter, cutter->path->pieces.count - cutter->path->first,
                               items[piece].start_ns);

    for (; count > 0; count--) {
        uint32_t place = cutter->ended[count - 1];

        if (items[place].end_ns <= after_ns)
            break;
        if (cutter_span(cutter, items[place].span)->lane != lane && !items[place].is_wait &&
            compare_pieces(&place, &piece, items) < 0)
            return later_piece(cutter, place, earlier);
    }
    return earlier;
}

/* The piece of the launching thread that ended when the launch was made. */
static uint32_t find_launch(const struct cutter *cutter, uint32_t piece, const struct span *launch)
{
    struct path_piece *items = cutter->path->pieces.items;
    const struct span_range *range = &cutter->ranges[launch->lane];
    size_t low = range->first, high = range->first + range->count;
    int64_t time_ns = span_end_ns(launch);
    uint32_t place;

    if (items[piece].start_ns < time_ns)
        time_ns = items[piece].start_ns;
    low = search_past(low, high, middle, items[middle].end_ns <= time_ns);
    if (low == range->first)
        return cutter_earlier_ends(cutter, launch->lane).last;
    place = (uint32_t)(low - 1);
    return compare_pieces(&place, &piece, items) < 0 ? place : SPAN_NONE;
}

/* It began in an earlier part, and what had ended then is known no more. */
static bool is_of_earlier(const struct cutter *cutter, const struct path_piece *piece)
{
    return cutter_span(cutter, piece->span)->frame == SPAN_FRAME_AGAIN &&
           piece->start_ns < cutter->path->answer->from_ns;
}

/* What ran before a piece on its lane, SPAN_NONE where nothing did that had ended. */
static uint32_t find_before(struct cutter *cutter, uint32_t place, const struct span_range *range)
{
    struct path_piece *items = cutter->path->pieces.items, *piece = &items[place];
    const uint32_t lane = cutter_lane(cutter, place);
    uint32_t before = place > range->first ? place - 1 : cutter_earlier_ends(cutter, lane).last;

    while (before != SPAN_NONE && /* they overlap */
           (items[before].end_ns > piece->start_ns || compare_pieces(&before, &place, items) > 0)) {
        cutter->lacks_earlier |= before < cutter->path->first;
        before = before < cutter->path->first ? SPAN_NONE : items[before].before;
    }
    return before;
}

static void link_piece(struct cutter *cutter, uint32_t place, const struct span_range *range)
{
    struct path_piece *items = cutter->path->pieces.items, *piece = &items[place];
    const struct span *span = cutter_span(cutter, piece->span);
    bool is_device = span_is_device(cutter->path->answer, span);
    int64_t gap_ns;

    if (piece->nth && is_device)
        return;
    piece->before = find_before(cutter, place, range);
    /* What threads did before this part, and will do behind it, is not known. */
    cutter->lacks_earlier |= is_device && piece->start_ns < cutter->path->answer->from_ns;
    if (is_device && span->launch != SPAN_NONE) {
        piece->cross = find_launch(cutter, place, cutter_span(cutter, span->launch));
        piece->is_launched = piece->cross != SPAN_NONE;
    }
    if (piece->cross != SPAN_NONE)
        return;
    if (piece->before == SPAN_NONE) {
        /* Even where it began with the run, and waited for nothing: what earlier parts had in common
         * may have been told, and a path that begins anew does not go on from there. */
        cutter->lacks_earlier |=
            is_of_earlier(cutter, piece) &&
            (piece->start_ns > cutter->path->start_ns || cutter->path->first > 0);
        /* A device may be far ahead of what is known of threads. */
        cutter->lacks_earlier |=
            cutter->path->earlier && piece->start_ns >= cutter->path->answer->until_ns;
        piece->cross = find_last(cutter, place, INT64_MIN);
        cutter->lacks_earlier |= piece->cross == SPAN_NONE && cutter->path->first > 0;
    } else if (!is_device) {
        gap_ns = piece->start_ns - items[piece->before].end_ns;
        cutter->lacks_earlier |= gap_ns > 0 && is_of_earlier(cutter, piece);
        if (gap_ns > 0)
            piece->cross = find_last(cutter, place, piece->start_ns - gap_ns / 10);
    }
}

/* --- All of it. --- */

static int compare_cuts(const void *a, const void *b)
{
    const struct cut *left = a, *right = b;

    if (left->lane != right->lane)
        return left->lane < right->lane ? -1 : 1;
    return (left->time_ns > right->time_ns) - (left->time_ns < right->time_ns);
}

/* The lanes of one side. */
static int cut_lanes(struct cutter *cutter, enum op_side side)
{
    const struct spans_answer *answer = cutter->path->answer;
    int rc = 0;

    for (size_t lane = 0; lane < answer->lanes.count && rc == 0; lane++) {
        struct span_range *range = &cutter->ranges[lane];

        if (answer->lanes.items[lane].side != side)
            continue;
        range->first = cutter->path->pieces.count;
        while (cutter->next_wait < cutter->waits.waits.count &&
               cutter->waits.waits.items[cutter->next_wait].lane < lane)
            cutter->next_wait++;
        rc = side == OP_DEVICE ? cut_device(cutter, &answer->ranges[lane])
                               : cut_host(cutter, (uint32_t)lane);
        if (rc == 0 && side == OP_DEVICE)
            rc = cutter_push_last_waits(cutter, (uint32_t)lane);
        range->count = cutter->path->pieces.count - range->first;
    }
    return rc;
}

static int cut_all(struct cutter *cutter)
{
    int rc = cutter_find_waits(cutter);

    if (rc == 0)
        rc = cut_lanes(cutter, OP_DEVICE);
    if (rc == 0)
        rc = cutter_place_waits(cutter);
    cutter->device_count = cutter->path->pieces.count - cutter->path->first;
    if (cutter->cuts.count)
        qsort(cutter->cuts.items, cutter->cuts.count, sizeof(*cutter->cuts.items), compare_cuts);
    if (rc == 0)
        rc = sort_ended(cutter);
    if (rc == 0)
        rc = cut_lanes(cutter, OP_HOST);
    return rc ? rc : sort_ended(cutter);
}

static int take_earlier(struct critical_path *path)
{
    int rc = 0;

    path->first = path->earlier ? path->earlier->count : 0;
    for (size_t i = 0; i < path->first && rc == 0; i++)
        rc = array_push(&path->pieces, path->earlier->pieces[i]);
    return rc;
}

static bool takes_no_time(const struct path_piece *piece)
{
    return piece->start_ns == piece->end_ns;
}

/* The last time at which a piece of an earlier part is that takes none and is not counted, up to a time. */
static int64_t find_point(const struct critical_path *path, int64_t until_ns)
{
    const struct path_piece *items = path->pieces.items;
    const size_t count = path->first - path->recalled.count;
    int64_t point_ns = INT64_MIN;

    for (size_t k = 0; k < count; k++) {
        if (takes_no_time(&items[k]) && !critical_path_is_counted(&items[k]) &&
            items[k].end_ns <= until_ns && items[k].end_ns > point_ns)
            point_ns = items[k].end_ns;
    }
    return point_ns;
}

/* Of pieces of earlier parts that take no time and are when one of this part is and takes none, it is
 * not known which comes first, but for waits of streams, which are counted. */
static bool has_ties(const struct critical_path *path)
{
    const int64_t last_ns = find_point(path, INT64_MAX);

    for (size_t i = 0; i < path->pieces.count - path->first; i++) {
        const struct path_piece *piece = &path->pieces.items[path->order[i]];

        if (piece->end_ns > last_ns)
            break;
        if (takes_no_time(piece) && !critical_path_is_counted(piece) &&
            find_point(path, piece->end_ns) == piece->end_ns)
            return true;
    }
    return false;
}

/* Of one that is no wait: of those that had ended when threads were cut the last of each lane is enough. */
static int add_recent(const struct cutter *cutter, struct critical_path *path, uint32_t place,
                      uint32_t *ended)
{
    uint32_t *last = &ended[cutter_lane(cutter, place)];

    if (path->pieces.items[place].end_ns > path->answer->until_ns)
        return array_push(&path->recent, place);
    if (*last == SPAN_NONE || compare_recent(last, &place, (void *)cutter) < 0)
        *last = place;
    return 0;
}

static int find_recents(struct cutter *cutter, struct critical_path *path)
{
    const struct earlier_pieces *earlier = path->earlier;
    const size_t lane_count = path->answer->lanes.count;
    uint32_t *ended = malloc((lane_count + 1) * sizeof(*ended));
    int rc = ended ? 0 : -ENOMEM;

    if (rc == 0)
        memset(ended, 0xff, lane_count * sizeof(*ended));
    for (size_t i = 0; i < earlier->recent_count && rc == 0; i++)
        rc = add_recent(cutter, path, earlier->recent[i], ended);
    for (size_t i = 0; i < path->pieces.count - path->first && rc == 0; i++) {
        if (!path->pieces.items[path->order[i]].is_wait)
            rc = add_recent(cutter, path, path->order[i], ended);
    }
    for (size_t i = 0; i < lane_count && rc == 0; i++) {
        if (ended[i] != SPAN_NONE)
            rc = array_push(&path->recent, ended[i]);
    }
    if (rc == 0 && path->recent.count)
        qsort_r(path->recent.items, path->recent.count, sizeof(*path->recent.items), compare_recent,
                cutter);
    free(ended);
    return rc;
}

/* What later parts can depend on: of this part, and where that has nothing, of earlier ones. What ended
 * last may be of these, too, as a wait ends with what it waits for. */
static int find_ends(struct cutter *cutter, struct critical_path *path)
{
    const struct path_piece *items = path->pieces.items;
    int rc;

    path->ends = malloc((path->answer->lanes.count + 1) * sizeof(*path->ends));
    if (!path->ends)
        return -ENOMEM;
    for (uint32_t lane = 0; lane < path->answer->lanes.count; lane++) {
        path->ends[lane] = cutter_earlier_ends(cutter, lane);
        if (cutter->ranges[lane].count)
            path->ends[lane].last =
                (uint32_t)(cutter->ranges[lane].first + cutter->ranges[lane].count - 1);
    }
    for (size_t i = 0; i < path->pieces.count - path->first; i++) {
        const struct path_piece *piece = &items[path->order[i]];

        struct lane_ends *ends = &path->ends[cutter_span(cutter, piece->span)->lane];

        if (ends->ended == SPAN_NONE || critical_path_compare_ends(&items[ends->ended], piece) <= 0)
            ends->ended = path->order[i];
    }
    rc = cutter_find_issued(cutter, path->ends);
    return rc ? rc : find_recents(cutter, path);
}

static void drop(struct cutter *cutter)
{
    stream_waits_deinit(&cutter->waits);
    free(cutter->piece_of_wait);
    free(cutter->piece_of_op);
    array_deinit(&cutter->records);
    array_deinit(&cutter->streams);
    array_deinit(&cutter->awaited);
    free(cutter->ranges);
    array_deinit(&cutter->cuts);
    array_deinit(&cutter->open);
}

/* A call that waited may have let a wait end earlier (clip_awaited()) than what that waited for: one that
 * comes behind it in the order it did not wait for. */
static void drop_later(const struct cutter *cutter)
{
    struct path_piece *items = cutter->path->pieces.items;

    for (size_t i = 0; i < cutter->waits.waits.count; i++) {
        const uint32_t place = cutter->piece_of_wait[i];

        if (place != SPAN_NONE && items[place].cross != SPAN_NONE &&
            compare_pieces(&items[place].cross, &place, items) > 0)
            items[place].cross = SPAN_NONE;
    }
}

int critical_pieces_make(struct critical_path *path)
{
    size_t lane_count = path->answer->lanes.count;
    struct cutter cutter = {.path = path, .ranges = calloc(lane_count + 1, sizeof(*cutter.ranges))};
    int rc = cutter.ranges ? take_earlier(path) : -ENOMEM;

    if (rc == 0)
        rc = cut_all(&cutter);
    path->order = cutter.ended;
    if (rc == 0 && has_ties(path))
        rc = SPAN_PARTS_WHOLE;
    for (size_t lane = 0; lane < lane_count && rc == 0; lane++) {
        const struct span_range *range = &cutter.ranges[lane];

        for (size_t i = range->first; i < range->first + range->count; i++)
            link_piece(&cutter, (uint32_t)i, range);
    }
    if (rc == 0)
        drop_later(&cutter);
    if (rc == 0 && cutter.lacks_earlier)
        rc = SPAN_PARTS_WHOLE;
    if (rc == 0 && path->earlier)
        rc = find_ends(&cutter, path);
    drop(&cutter);
    return rc;
}
