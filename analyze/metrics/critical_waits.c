/* SPDX-License-Identifier: Apache-2.0 */
/* Waits of streams as pieces. For what a part waits for of earlier ones the last piece of each lane is
 * enough, of what was launched, or of a wait that came behind it; where the event was recorded in an earlier
 * part, what the lane was to do last then. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/metrics/critical_cutter.h"
#include "analyze/query/lane_use.h"
#include "base/sorted.h"

/* --- What is of earlier parts. --- */

static int compare_ns(const void *a, const void *b)
{
    const int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

    return (left > right) - (left < right);
}

/* When threads recorded events that something may wait for later. */
static int find_records(struct cutter *cutter)
{
    const struct spans_answer *answer = cutter->path->answer;
    const bool *records = cutter->path->earlier ? cutter->path->earlier->records : NULL;
    int rc = 0;

    for (size_t i = 0; i < answer->spans.count && records && rc == 0; i++) {
        const struct span *span = &answer->spans.items[i];

        if (records[span->op] && span->correlation != STORE_NULL && !span_is_device(answer, span))
            rc = array_push(&cutter->records, span->start_ns);
    }
    if (cutter->records.count)
        qsort(cutter->records.items, cutter->records.count, sizeof(int64_t), compare_ns);
    return rc;
}

/* What a stream was to do last at a time of earlier parts; NULL: nothing. */
static struct issued_piece *issued_before(const struct cutter *cutter, uint32_t lane,
                                          int64_t time_ns)
{
    const struct earlier_pieces *earlier = cutter->path->earlier;
    struct issued_piece *items = earlier->issued[lane].items;
    const size_t end = search_past(0, earlier->issued[lane].count, i, items[i].asked_ns < time_ns);

    return end ? &items[end - 1] : NULL;
}

static int compare_recalled(const void *a, const void *b)
{
    const struct recalled_piece *left = a, *right = b;

    if (left->lane != right->lane)
        return left->lane < right->lane ? -1 : 1;
    return (left->at > right->at) - (left->at < right->at);
}

/* What a stream was to do at a time, if that is of an earlier part and had ended. */
static int recall(struct cutter *cutter, uint32_t lane, int64_t recorded_ns)
{
    const struct earlier_pieces *earlier = cutter->path->earlier;
    const struct issued_piece *piece;

    if (recorded_ns > cutter_earlier_ends(cutter, lane).issued_ns)
        return 0;
    piece = issued_before(cutter, lane, recorded_ns);
    if (!piece || piece->place != SPAN_NONE || piece->end_ns == INT64_MIN)
        return 0;
    return array_push(&cutter->path->recalled,
                      ((struct recalled_piece){lane, (size_t)(piece - earlier->issued[lane].items),
                                               piece->number}));
}

/* Adds what is recalled to the earlier pieces, each once. */
static int push_recalled(struct cutter *cutter)
{
    struct critical_path *path = cutter->path;
    struct recalled_piece *items = path->recalled.items;
    size_t count = 0;
    int rc = 0;

    if (!path->recalled.count)
        return 0;
    qsort(items, path->recalled.count, sizeof(*items), compare_recalled);
    for (size_t i = 0; i < path->recalled.count && rc == 0; i++) {
        const struct issued_piece *issued =
            &path->earlier->issued[items[i].lane].items[items[i].at];

        if (count && compare_recalled(&items[count - 1], &items[i]) == 0)
            continue;
        items[count++] = items[i];
        rc = array_push(&path->pieces, ((struct path_piece){.start_ns = issued->end_ns,
                                                            .end_ns = issued->end_ns,
                                                            .span = SPAN_NONE,
                                                            .before = SPAN_NONE,
                                                            .cross = SPAN_NONE,
                                                            .clipped_ns = issued->clipped_ns}));
    }
    path->recalled.count = count;
    path->first += count;
    return rc;
}

static int find_recalled(struct cutter *cutter)
{
    const struct stream_waits *waits = &cutter->waits;
    int rc = 0;

    if (!cutter->path->earlier || !cutter->path->earlier->records)
        return 0;
    for (size_t i = 0; i < waits->waits.count && rc == 0; i++)
        rc = recall(cutter, waits->waits.items[i].source, waits->waits.items[i].recorded.asked_ns);
    for (size_t i = 0; i < waits->syncs.count && rc == 0; i++)
        rc = recall(cutter, waits->syncs.items[i].source, waits->syncs.items[i].recorded_ns);
    return rc ? rc : push_recalled(cutter);
}

/* Where that is among the pieces, or SPAN_NONE. */
static uint32_t place_before(struct cutter *cutter, uint32_t lane, int64_t time_ns)
{
    const struct critical_path *path = cutter->path;
    const struct issued_piece *piece;
    struct recalled_piece key = {.lane = lane};
    size_t at;

    cutter->lacks_earlier |= !path->earlier->records;
    piece = path->earlier->records ? issued_before(cutter, lane, time_ns) : NULL;
    if (!piece || piece->place != SPAN_NONE || piece->end_ns == INT64_MIN)
        return piece ? piece->place : SPAN_NONE;
    key.at = (size_t)(piece - path->earlier->issued[lane].items);
    at = search_past(0, path->recalled.count, i,
                     compare_recalled(&path->recalled.items[i], &key) < 0);
    if (at < path->recalled.count && compare_recalled(&path->recalled.items[at], &key) == 0)
        return (uint32_t)(path->earlier->count + at);
    cutter->lacks_earlier = true;
    return SPAN_NONE;
}

int cutter_find_waits(struct cutter *cutter)
{
    const struct spans_answer *answer = cutter->path->answer;
    int rc = stream_waits_make(answer, &cutter->waits);
    size_t count = cutter->waits.waits.count;

    if (rc == 0)
        rc = stream_waits_issue(&cutter->waits, answer);
    if (rc == 0)
        rc = find_records(cutter);
    if (rc == 0)
        rc = find_recalled(cutter);
    if (rc < 0)
        return rc;
    cutter->piece_of_wait = malloc((count + 1) * sizeof(*cutter->piece_of_wait));
    cutter->piece_of_op = malloc((answer->spans.count + 1) * sizeof(*cutter->piece_of_op));
    if (!cutter->piece_of_wait || !cutter->piece_of_op)
        return -ENOMEM;
    memset(cutter->piece_of_wait, 0xff, count * sizeof(*cutter->piece_of_wait));
    memset(cutter->piece_of_op, 0xff, answer->spans.count * sizeof(*cutter->piece_of_op));
    return 0;
}

/* --- Where they are on their lanes. --- */

/* The waits of a lane up to one of them. Their time is that of what they wait for:
 * cutter_place_waits(). */
static int push_waits(struct cutter *cutter, size_t end)
{
    const struct critical_path *path = cutter->path;
    int rc = 0;

    for (; cutter->next_wait < end && rc == 0; cutter->next_wait++) {
        const struct stream_wait *wait = &cutter->waits.waits.items[cutter->next_wait];
        const int64_t asked_ns = wait->issued.asked_ns;

        if (asked_ns < path->start_ns || asked_ns > path->end_ns)
            continue;
        cutter->lacks_earlier |= asked_ns <= cutter_earlier_ends(cutter, wait->lane).issued_ns;
        cutter->piece_of_wait[cutter->next_wait] = (uint32_t)path->pieces.count;
        rc = cutter_push(cutter, asked_ns, asked_ns, wait->span, true, SPAN_NONE);
    }
    return rc;
}

/* Waits at the end of earlier parts came before the op that is launched next: is it the next on its
 * lane, too? */
static bool is_next_launched(const struct cutter *cutter, uint32_t op)
{
    const struct span *span = cutter_span(cutter, op);
    int64_t asked_ns;

    if (span->launch == SPAN_NONE)
        return false;
    asked_ns = cutter_span(cutter, span->launch)->start_ns;
    return stream_waits_end(&cutter->waits, span->lane, asked_ns).op == SPAN_NONE;
}

/* Whether the next wait of its lane was asked for after an op: mostly, so that nobody has to look. */
static bool is_before_waits(const struct cutter *cutter, uint32_t op)
{
    const struct span *span = cutter_span(cutter, op);
    const struct stream_wait *next;

    if (cutter->next_wait == cutter->waits.waits.count)
        return true;
    next = &cutter->waits.waits.items[cutter->next_wait];
    if (next->lane != span->lane)
        return true;
    return span->launch != SPAN_NONE &&
           next->issued.asked_ns > cutter_span(cutter, span->launch)->start_ns;
}

int cutter_push_waits_before(struct cutter *cutter, uint32_t op)
{
    const uint32_t lane = cutter_span(cutter, op)->lane;
    const uint32_t issued = cutter_earlier_ends(cutter, lane).issued;
    struct span_range range;

    if (cutter->path->pieces.count == cutter->ranges[lane].first && issued != SPAN_NONE &&
        cutter->path->pieces.items[issued].is_wait)
        cutter->lacks_earlier |= !is_next_launched(cutter, op);
    if (is_before_waits(cutter, op))
        return 0;
    range = stream_waits_before(&cutter->waits, cutter->path->answer, op);
    return range.count ? push_waits(cutter, range.first + range.count) : 0;
}

/* Whether a wait is left that came before an op of this part, as where both were asked for at once: it
 * comes before one of a later part that has waits of its own. */
static bool is_left(const struct cutter *cutter, uint32_t lane)
{
    const struct critical_path *path = cutter->path;
    const struct stream_wait *wait = &cutter->waits.waits.items[cutter->next_wait];
    const uint32_t op = stream_waits_end(&cutter->waits, lane, INT64_MAX).op;

    if (!path->earlier || path->answer->until_ns == INT64_MAX || op == SPAN_NONE ||
        cutter_span(cutter, op)->start_ns > path->end_ns ||
        span_end_ns(cutter_span(cutter, op)) < path->start_ns)
        return false;
    return wait->issued.asked_ns <= cutter_span(cutter, cutter_span(cutter, op)->launch)->start_ns;
}

int cutter_push_last_waits(struct cutter *cutter, uint32_t lane)
{
    size_t end = cutter->next_wait;

    while (end < cutter->waits.waits.count && cutter->waits.waits.items[end].lane == lane)
        end++;
    if (end > cutter->next_wait)
        cutter->lacks_earlier |= is_left(cutter, lane);
    return push_waits(cutter, end);
}

/* --- What they wait for. --- */

uint32_t cutter_last_piece(struct cutter *cutter, uint32_t lane, struct stream_end end,
                           int64_t until_ns)
{
    const struct lane_ends earlier = cutter_earlier_ends(cutter, lane);
    uint32_t piece = end.wait == SPAN_NONE ? SPAN_NONE : cutter->piece_of_wait[end.wait];

    if (piece == SPAN_NONE && end.op != SPAN_NONE)
        return cutter->piece_of_op[end.op];
    if (piece != SPAN_NONE)
        return piece;
    return until_ns > earlier.issued_ns ? earlier.issued : place_before(cutter, lane, until_ns);
}

static int compare_waits(const void *a, const void *b, void *waits)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    const struct stream_wait *first = (const struct stream_wait *)waits + left;
    const struct stream_wait *second = (const struct stream_wait *)waits + right;
    int order = stream_waits_compare_times(first->issued, second->issued);

    return order ? order : (left > right) - (left < right);
}

/* By the clock of devices, whatever calls of earlier parts waited for. */
static int64_t later_end(int64_t end_ns, const struct path_piece *piece)
{
    const int64_t ended_ns = piece->end_ns + piece->clipped_ns;

    return ended_ns > end_ns ? ended_ns : end_ns;
}

/* A wait ends with what it waits for, and not before what ran before on its own lane. */
static void place_wait(struct cutter *cutter, uint32_t wait, uint32_t nth)
{
    struct path_piece *items = cutter->path->pieces.items;
    uint32_t place = cutter->piece_of_wait[wait];
    const struct stream_wait *row = &cutter->waits.waits.items[wait];
    int64_t end_ns = cutter->path->start_ns;
    struct path_piece *piece;

    if (place == SPAN_NONE)
        return;
    piece = &items[place];
    piece->cross = cutter_last_piece(cutter, row->source,
                                     (struct stream_end){row->source_op, row->source_wait},
                                     row->recorded.asked_ns);
    piece->nth = nth;
    piece->before = place > cutter->ranges[row->lane].first
                        ? place - 1
                        : cutter_earlier_ends(cutter, row->lane).last;
    if (piece->before != SPAN_NONE)
        end_ns = later_end(end_ns, &items[piece->before]);
    if (piece->cross != SPAN_NONE)
        end_ns = later_end(end_ns, &items[piece->cross]);
    piece->start_ns = piece->end_ns = end_ns;
}

/* In the order in which they were asked for, as one may wait for another. */
int cutter_place_waits(struct cutter *cutter)
{
    const struct earlier_pieces *earlier = cutter->path->earlier;
    const uint32_t count = (uint32_t)cutter->waits.waits.count;
    const uint32_t before = earlier ? *earlier->wait_count : 0;
    uint32_t *order = count ? malloc(count * sizeof(*order)) : NULL;

    if (!count)
        return 0;
    if (!order)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    qsort_r(order, count, sizeof(*order), compare_waits, cutter->waits.waits.items);
    for (uint32_t i = 0; i < count; i++)
        place_wait(cutter, order[i], before + i + 1);
    if (earlier)
        *earlier->wait_count = before + count;
    free(order);
    return 0;
}

/* --- What later parts may wait for. --- */

/* Whether an event was recorded behind a time and until another. */
static bool has_record(const struct cutter *cutter, int64_t after_ns, int64_t until_ns)
{
    const int64_t *records = cutter->records.items;
    const size_t place = search_past(0, cutter->records.count, i, records[i] <= after_ns);

    return place < cutter->records.count && records[place] <= until_ns;
}

/* What was to do before is forgotten where no event was recorded since. */
static int add_issued(const struct cutter *cutter, uint32_t lane, int64_t asked_ns, uint32_t place)
{
    struct issued_pieces *issued = &cutter->path->earlier->issued[lane];
    const struct issued_piece *last = issued->count ? &issued->items[issued->count - 1] : NULL;

    if (last && !last->is_recorded && !has_record(cutter, last->asked_ns, asked_ns))
        issued->count--;
    else if (last)
        issued->items[issued->count - 1].is_recorded = true;
    if (issued->first_kept > issued->count)
        issued->first_kept = issued->count;
    return array_push(
        issued, ((struct issued_piece){.asked_ns = asked_ns, .end_ns = INT64_MIN, .place = place}));
}

/* Ops and waits of a lane in the order of time. A wait that is outside of the run is none. */
static int add_issued_of(const struct cutter *cutter, uint32_t lane, size_t *op, size_t *wait)
{
    const struct stream_waits *waits = &cutter->waits;
    struct issued_pieces *issued = &cutter->path->earlier->issued[lane];
    int rc = 0;

    while (rc == 0) {
        const struct issued_op *ops = *op < waits->issued.count ? &waits->issued.items[*op] : NULL;
        const struct stream_wait *asked =
            *wait < waits->waits.count ? &waits->waits.items[*wait] : NULL;
        const bool has_op = ops && ops->lane == lane, has_wait = asked && asked->lane == lane;

        if (has_op && (!has_wait || stream_waits_compare_times(asked->issued, ops->issued) >= 0)) {
            rc = add_issued(cutter, lane, ops->issued.asked_ns, cutter->piece_of_op[ops->span]);
            ++*op;
        } else if (has_wait) {
            const uint32_t place = cutter->piece_of_wait[*wait];

            if (place != SPAN_NONE)
                rc = add_issued(cutter, lane, asked->issued.asked_ns, place);
            ++*wait;
        } else {
            break;
        }
    }
    if (issued->count)
        issued->items[issued->count - 1].is_recorded |=
            has_record(cutter, issued->items[issued->count - 1].asked_ns, INT64_MAX);
    return rc;
}

int cutter_find_issued(struct cutter *cutter, struct lane_ends *ends)
{
    const struct stream_waits *waits = &cutter->waits;
    size_t op = 0, wait = 0;
    int rc = 0;

    for (uint32_t lane = 0; lane < cutter->path->answer->lanes.count; lane++)
        ends[lane].issued =
            cutter_last_piece(cutter, lane, stream_waits_end(waits, lane, INT64_MAX), INT64_MAX);
    for (size_t i = 0; i < waits->issued.count; i++)
        ends[waits->issued.items[i].lane].issued_ns = waits->issued.items[i].issued.asked_ns;
    for (size_t i = 0; i < waits->waits.count; i++) {
        struct lane_ends *of_lane = &ends[waits->waits.items[i].lane];
        const int64_t asked_ns = waits->waits.items[i].issued.asked_ns;

        of_lane->issued_ns = asked_ns > of_lane->issued_ns ? asked_ns : of_lane->issued_ns;
    }
    for (uint32_t lane = 0;
         lane < cutter->path->answer->lanes.count && cutter->path->earlier->records && rc == 0;
         lane++)
        rc = add_issued_of(cutter, lane, &op, &wait);
    return rc;
}
