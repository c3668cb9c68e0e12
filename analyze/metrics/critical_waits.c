/* SPDX-License-Identifier: Apache-2.0 */
/* Waits of streams as pieces. What a part waits for of earlier ones has ended before it: there the last
 * piece of each lane is enough, of what was launched, or of a wait that came behind it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/metrics/critical_cutter.h"

int cutter_find_waits(struct cutter *cutter)
{
    const struct spans_answer *answer = cutter->path->answer;
    int rc = stream_waits_make(answer, &cutter->waits);
    size_t count = cutter->waits.waits.count;

    if (rc == 0)
        rc = stream_waits_issue(&cutter->waits, answer);
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
        cutter_span(cutter, op)->start_ns > path->end_ns)
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
    cutter->lacks_earlier |= until_ns <= earlier.issued_ns;
    return earlier.issued;
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

void cutter_find_issued(struct cutter *cutter, struct lane_ends *ends)
{
    const struct stream_waits *waits = &cutter->waits;

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
}
