/* SPDX-License-Identifier: Apache-2.0 */
/* Who lies inside of whom, and who launched whom. */
#include "analyze/query/span_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/query/span_sort.h"
#include "base/sorted.h"

/* --- Nesting. --- */

static int64_t end_of(const struct span *span)
{
    return span->start_ns + span->dur_ns;
}

/* A phase of a device that has a number is of the launch of that number: one of another launch is in an op
 * by chance, as waits of streams stand where the host asked for them. */
static bool is_phase_of(const struct spans_answer *answer, const struct span *op,
                        const struct span *span)
{
    return answer->op_kinds[span->op] == SPAN_PHASE &&
           (span->correlation == STORE_NULL || op->correlation == STORE_NULL ||
            span->correlation == op->correlation);
}

/* Whether a span may hold another; on a device what a person named holds all, an op its phases. */
static bool may_hold(const struct spans_answer *answer, const struct span *holder,
                     const struct span *span)
{
    enum span_kind kind = (enum span_kind)answer->op_kinds[holder->op];

    if (kind == SPAN_MARK)
        return false;
    return !span_is_device(answer, holder) || kind == SPAN_LABEL ||
           (kind == SPAN_OP && is_phase_of(answer, holder, span));
}

/* The place of the innermost span that encloses this one, among those that are open. */
static uint32_t find_parent(struct spans_answer *answer, const struct span *span, uint32_t open)
{
    const struct span *items = answer->spans.items;

    while (open != SPAN_NONE &&
           (!may_hold(answer, &items[open], span) || end_of(&items[open]) < end_of(span)))
        open = items[open].parent;
    return open;
}

static bool counts_for_parent(const struct spans_answer *answer, const struct span *span)
{
    enum span_kind kind = (enum span_kind)answer->op_kinds[span->op];

    return kind == SPAN_OP || kind == SPAN_LABEL;
}

static void nest(struct spans_answer *answer)
{
    struct span *items = answer->spans.items;
    uint32_t open = SPAN_NONE;
    bool is_clipped = false;

    for (size_t i = 0; i < answer->spans.count; i++) {
        struct span *span = &items[i];

        if (i && items[i - 1].lane != span->lane)
            open = SPAN_NONE;
        span->parent = find_parent(answer, span, open);
        if (span->parent != SPAN_NONE) {
            span->depth = items[span->parent].depth + 1;
            if (counts_for_parent(answer, span) && span->frame != SPAN_FRAME_AGAIN) {
                items[span->parent].self_ns -= span->dur_ns;
                is_clipped |= items[span->parent].self_ns < 0 && !items[span->parent].frame;
            }
        }
        if (answer->op_kinds[span->op] != SPAN_PHASE || !span_is_device(answer, span))
            open = (uint32_t)i; /* what lies behind a phase may lie in the op around it */
    }
    for (size_t i = 0; i < answer->spans.count && is_clipped; i++) {
        if (items[i].self_ns < 0 && !items[i].frame) {
            items[i].self_ns = 0;
            answer->clipped_count++;
        }
    }
}

/* Whether some op's self_ns may not be its self time: there are labels or phases, which may be in it, or
 * around what is in it. */
static bool needs_own(const struct spans_answer *answer)
{
    for (size_t i = 0; i < answer->ops.count; i++) {
        if (answer->op_kinds[i] == SPAN_LABEL || answer->op_kinds[i] == SPAN_PHASE)
            return true;
    }
    return false;
}

/* Takes the time of ops of threads from the innermost op around each, as if nothing but ops were
 * there: the same as a scan does. around: beside the spans, of ops. */
static void take_nested(struct spans_answer *answer, uint32_t *around)
{
    const struct span *items = answer->spans.items;
    uint32_t open = SPAN_NONE;

    for (size_t i = 0; i < answer->spans.count; i++) {
        const struct span *span = &items[i];

        if (i && items[i - 1].lane != span->lane)
            open = SPAN_NONE;
        if (answer->op_kinds[span->op] != SPAN_OP || span_is_device(answer, span))
            continue;
        while (open != SPAN_NONE && end_of(&items[open]) < end_of(span))
            open = around[open];
        around[i] = open;
        if (open != SPAN_NONE && span->frame != SPAN_FRAME_AGAIN)
            answer->own_ns[open] -= span->dur_ns;
        open = (uint32_t)i;
    }
}

static int find_own(struct spans_answer *answer)
{
    uint32_t *around;

    if (!needs_own(answer))
        return 0;
    around = malloc((answer->spans.count + 1) * sizeof(*around));
    answer->own_ns = malloc((answer->spans.count + 1) * sizeof(*answer->own_ns));
    if (!answer->own_ns || !around) {
        free(around);
        return -ENOMEM;
    }
    for (size_t i = 0; i < answer->spans.count; i++) {
        const struct span *span = &answer->spans.items[i];
        bool is_op = answer->op_kinds[span->op] == SPAN_OP;

        answer->own_ns[i] = !is_op                            ? span->self_ns
                            : span->frame == SPAN_FRAME_AGAIN ? 0
                                                              : span->dur_ns;
    }
    take_nested(answer, around);
    free(around);
    for (size_t i = 0; i < answer->spans.count; i++)
        answer->own_ns[i] =
            answer->own_ns[i] < 0 && !answer->spans.items[i].frame ? 0 : answer->own_ns[i];
    return 0;
}

/* In a flat session the spans of an op on several lanes of a side are parts of one execution, of which the
 * longest counts: self times of the others are 0. */
static int find_flat_own(struct spans_answer *answer)
{
    struct longest {
        int64_t sum_ns; /* of the lane at hand */
        int64_t best_ns[OP_SIDES];
        uint32_t lane, best[OP_SIDES];
    } *ops = calloc(answer->ops.count + 1, sizeof(*ops));

    answer->own_ns = malloc((answer->spans.count + 1) * sizeof(*answer->own_ns));
    for (size_t i = 0; i < answer->spans.count && ops && answer->own_ns; i++) {
        const struct span *span = &answer->spans.items[i];
        const enum op_side side = answer->lanes.items[span->lane].side;
        struct longest *op = &ops[span->op];

        op->sum_ns = op->lane == span->lane + 1 ? op->sum_ns + span->dur_ns : span->dur_ns;
        op->lane = span->lane + 1;
        if (op->sum_ns > op->best_ns[side] || !op->best[side]) {
            op->best_ns[side] = op->sum_ns;
            op->best[side] = op->lane;
        }
    }
    for (size_t i = 0; i < answer->spans.count && ops && answer->own_ns; i++) {
        const struct span *span = &answer->spans.items[i];
        const enum op_side side = answer->lanes.items[span->lane].side;

        answer->own_ns[i] = ops[span->op].best[side] == span->lane + 1 ? span->self_ns : 0;
    }
    free(ops);
    return ops && answer->own_ns ? 0 : -ENOMEM;
}

uint32_t span_subtree_end(const struct spans_answer *answer, uint32_t place)
{
    const struct span *items = answer->spans.items;
    uint32_t end = place + 1;

    while (end < answer->spans.count && items[end].lane == items[place].lane &&
           items[end].depth > items[place].depth)
        end++;
    return end;
}

/* --- Launches. --- */

/* A launching host span; those of one key stand together, the innermost last. */
struct launch {
    int64_t session_id, correlation;
    uint32_t run, place;
};

static int compare_keys(const struct launch *left, const struct launch *right)
{
    if (left->session_id != right->session_id)
        return left->session_id < right->session_id ? -1 : 1;
    if (left->run != right->run)
        return left->run < right->run ? -1 : 1;
    return (left->correlation > right->correlation) - (left->correlation < right->correlation);
}

static int compare_launches(const void *a, const void *b)
{
    const struct launch *left = a, *right = b;
    int order = compare_keys(left, right);

    return order ? order : (left->place > right->place) - (left->place < right->place);
}

static struct launch launch_of(const struct spans_answer *answer, const struct span *span)
{
    return (struct launch){
        .session_id = answer->lanes.items[span->lane].session_id,
        .correlation = span->correlation,
        .run = span->run,
        .place = span_place(answer, span),
    };
}

/* Recorded on one thread they are in order. */
static void sort_launches(struct launch *launches, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (compare_launches(&launches[i - 1], &launches[i]) > 0) {
            qsort(launches, count, sizeof(*launches), compare_launches);
            return;
        }
    }
}

/* The last launch of that key, or NULL. `hint` is where one was found before: device spans are
 * asked for in the order of their launches from the end on, mostly. */
static const struct launch *find_launch(const struct launch *launches, size_t count,
                                        const struct launch *key, size_t *hint)
{
    size_t low = 0, high = count;

    for (size_t i = *hint, tries = 0; i > 0 && i <= count && tries < 4; i--, tries++) {
        if (compare_keys(&launches[i - 1], key) == 0 &&
            (i == count || compare_keys(&launches[i], key) > 0)) {
            *hint = i;
            return &launches[i - 1];
        }
    }
    low = search_past(low, high, middle, compare_keys(&launches[middle], key) <= 0);
    if (!low || compare_keys(&launches[low - 1], key) != 0)
        return NULL;
    *hint = low;
    return &launches[low - 1];
}

static int link_launches(struct spans_answer *answer)
{
    struct span *items = answer->spans.items;
    ARRAY_OF(struct launch) launches = {0};
    size_t hint;

    for (size_t i = 0; i < answer->spans.count; i++) {
        if (items[i].correlation == STORE_NULL || span_is_device(answer, &items[i]))
            continue;
        if (array_push(&launches, launch_of(answer, &items[i])) < 0) {
            array_deinit(&launches);
            return -ENOMEM;
        }
    }
    sort_launches(launches.items, launches.count);
    hint = launches.count;
    /* From the last on, so that each launch's list is in the order of places. */
    for (size_t i = answer->spans.count; i-- > 0;) {
        struct launch key = launch_of(answer, &items[i]);
        const struct launch *launch;

        if (items[i].correlation == STORE_NULL || !span_is_device(answer, &items[i]))
            continue;
        launch = find_launch(launches.items, launches.count, &key, &hint);
        if (!launch)
            continue;
        items[i].launch = launch->place;
        items[i].next = items[launch->place].launch;
        items[launch->place].launch = (uint32_t)i;
    }
    array_deinit(&launches);
    return 0;
}

/* --- All of it. --- */

/* Of spans in order: the lanes' ranges, from when to when, and none in another yet. */
static int begin(struct spans_answer *answer)
{
    size_t lanes = answer->lanes.count;

    answer->ranges = calloc(lanes ? lanes : 1, sizeof(*answer->ranges));
    if (!answer->ranges)
        return -ENOMEM;
    for (size_t i = 0; i < answer->spans.count; i++) {
        struct span *span = &answer->spans.items[i];
        struct span_range *range = &answer->ranges[span->lane];

        if (!range->count++)
            range->first = i;
        if (i == 0 || span->start_ns < answer->start_ns)
            answer->start_ns = span->start_ns;
        if (i == 0 || end_of(span) > answer->end_ns)
            answer->end_ns = end_of(span);
        span->self_ns = span->frame == SPAN_FRAME_AGAIN ? 0 : span->dur_ns;
        span->parent = span->launch = span->next = SPAN_NONE;
        span->depth = 0;
        span->is_shown = true;
    }
    return 0;
}

int span_tree_build(struct spans_answer *answer, bool is_flat)
{
    int rc = span_sort(answer->spans.items, answer->spans.count, answer->lanes.count);

    if (rc == 0)
        rc = begin(answer);
    if (rc == 0 && is_flat)
        rc = find_flat_own(answer);
    if (rc == 0 && !is_flat) {
        nest(answer);
        rc = find_own(answer);
    }
    return rc ? rc : link_launches(answer);
}

void span_tree_deinit(struct spans_answer *answer)
{
    free(answer->ranges);
    free(answer->own_ns);
    answer->ranges = NULL;
    answer->own_ns = NULL;
}

uint32_t span_at(const struct spans_answer *spans, uint32_t lane, int64_t time_ns)
{
    const struct span *items = spans->spans.items;
    size_t first = spans->ranges[lane].first;
    size_t past =
        search_past(first, first + spans->ranges[lane].count, i, items[i].start_ns <= time_ns);
    uint32_t place = past > first ? (uint32_t)(past - 1) : SPAN_NONE;

    while (place != SPAN_NONE && items[place].start_ns + items[place].dur_ns < time_ns)
        place = items[place].parent;
    return place;
}
