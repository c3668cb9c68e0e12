/* SPDX-License-Identifier: Apache-2.0 */
/* A walk over the starts and ends of a run's spans. */
#include "analyze/metrics/run_parts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

int run_index_init(struct run_index *index, const struct spans_answer *answer)
{
    size_t runs = answer->runs.count, count = answer->spans.count;

    index->first = calloc(runs + 2, sizeof(*index->first));
    index->places = malloc((count ? count : 1) * sizeof(*index->places));
    if (!index->first || !index->places)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        if (answer->spans.items[i].run != SPAN_NONE)
            index->first[answer->spans.items[i].run + 2]++;
    }
    for (size_t i = 2; i < runs + 2; i++)
        index->first[i] += index->first[i - 1];
    /* Here first[i + 1] is where run i goes on; at the end that is where it ends. */
    for (size_t i = 0; i < count; i++) {
        if (answer->spans.items[i].run != SPAN_NONE)
            index->places[index->first[answer->spans.items[i].run + 1]++] = (uint32_t)i;
    }
    return 0;
}

void run_index_deinit(struct run_index *index)
{
    free(index->first);
    free(index->places);
    *index = (struct run_index){0};
}

/* --- The walk. --- */

enum turn_kind { TURN_END, TURN_KERN, TURN_START };

struct turn {
    int64_t time_ns;
    uint32_t place; /* of the span */
    enum turn_kind kind;
};

struct walk {
    const struct spans_answer *answer;
    const struct run_row *run;
    ARRAY_OF(struct turn) turns;
    ARRAY_OF(uint32_t) open; /* places of spans */
    double *parts;
    double busy_ns[OP_SIDES];
};

static int compare_turns(const void *a, const void *b)
{
    const struct turn *left = a, *right = b;

    if (left->time_ns != right->time_ns)
        return left->time_ns < right->time_ns ? -1 : 1;
    if (left->kind != right->kind)
        return (int)left->kind - (int)right->kind;
    return (left->place > right->place) - (left->place < right->place);
}

static int add_turn(struct walk *walk, uint32_t place, enum turn_kind kind, int64_t time_ns)
{
    if (time_ns < walk->run->start_ns)
        time_ns = walk->run->start_ns;
    if (time_ns > walk->run->end_ns)
        time_ns = walk->run->end_ns;
    return array_push(&walk->turns, ((struct turn){time_ns, place, kind}));
}

static int gather_turns(struct walk *walk, const uint32_t *places, size_t count)
{
    int rc = 0;

    for (size_t i = 0; i < count && rc == 0; i++) {
        const struct span *span = &walk->answer->spans.items[places[i]];
        int64_t end_ns = span->start_ns + span->dur_ns;

        if (walk->answer->op_kinds[span->op] != SPAN_OP || span->dur_ns == 0 ||
            end_ns <= walk->run->start_ns || span->start_ns >= walk->run->end_ns)
            continue;
        rc = add_turn(walk, places[i], TURN_START, span->start_ns);
        if (rc == 0 && span->kern_ns != STORE_NULL && span_is_device(walk->answer, span))
            rc = add_turn(walk, places[i], TURN_KERN, span->start_ns + span->kern_ns);
        if (rc == 0)
            rc = add_turn(walk, places[i], TURN_END, end_ns);
    }
    if (walk->turns.count)
        qsort(walk->turns.items, walk->turns.count, sizeof(*walk->turns.items), compare_turns);
    return rc;
}

/* 2: on a device, 1: on the run's own thread, 0: on another. */
static int rank_of(const struct walk *walk, const struct span *span)
{
    if (span_is_device(walk->answer, span))
        return 2;
    return span->lane == walk->run->lane;
}

/* Whom the present moment belongs to; NULL: nobody. */
static const struct span *find_owner(const struct walk *walk)
{
    const struct span *owner = NULL;

    for (size_t i = 0; i < walk->open.count; i++) {
        const struct span *span = &walk->answer->spans.items[walk->open.items[i]];
        int order = owner ? rank_of(walk, span) - rank_of(walk, owner) : 1;

        if (order == 0)
            order = span->start_ns != owner->start_ns ? (span->start_ns > owner->start_ns) * 2 - 1
                                                      : (span->depth > owner->depth) * 2 - 1;
        if (order > 0)
            owner = span;
    }
    return owner;
}

static size_t part_of(const struct walk *walk, const struct span *span, int64_t time_ns)
{
    size_t ops = walk->answer->ops.count;

    if (!span)
        return run_part_between(ops);
    if (!span->is_shown)
        return run_part_unshown(ops);
    if (!span_is_device(walk->answer, span))
        return run_part_place(span->op, RUN_PART_HOST);
    if (span->kern_ns != STORE_NULL && time_ns < span->start_ns + span->kern_ns)
        return run_part_place(span->op, RUN_PART_WAIT);
    return run_part_place(span->op, RUN_PART_DEVICE);
}

static void pass_time(struct walk *walk, int64_t from_ns, int64_t until_ns)
{
    double ns = (double)(until_ns - from_ns);
    bool busy[OP_SIDES] = {false};

    if (until_ns <= from_ns)
        return;
    walk->parts[part_of(walk, find_owner(walk), from_ns)] += ns;
    for (size_t i = 0; i < walk->open.count; i++) {
        const struct span *span = &walk->answer->spans.items[walk->open.items[i]];

        busy[walk->answer->lanes.items[span->lane].side] |= span->is_shown;
    }
    for (int side = 0; side < OP_SIDES; side++)
        walk->busy_ns[side] += busy[side] ? ns : 0;
}

static int take_turn(struct walk *walk, const struct turn *turn)
{
    if (turn->kind == TURN_START)
        return array_push(&walk->open, turn->place);
    for (size_t i = 0; i < walk->open.count && turn->kind == TURN_END; i++) {
        if (walk->open.items[i] == turn->place) {
            walk->open.items[i] = walk->open.items[--walk->open.count];
            break;
        }
    }
    return 0;
}

/* Where a session has threads only, nobody knows what a device did. */
static bool has_side(const struct walk *walk, int side)
{
    for (size_t i = 0; i < walk->answer->lanes.count; i++) {
        const struct lane_row *lane = &walk->answer->lanes.items[i];

        if (lane->session_id == walk->run->session_id && (int)lane->side == side)
            return true;
    }
    return false;
}

int run_parts_add(const struct spans_answer *answer, const struct run_index *index, uint32_t run,
                  double *parts, double *out_busy_ns)
{
    struct walk walk = {.answer = answer, .run = &answer->runs.items[run], .parts = parts};
    const uint32_t *places = index->places + index->first[run];
    size_t count = index->first[run + 1] - index->first[run];
    int64_t now_ns = walk.run->start_ns;
    bool has_ops = false;
    int rc = gather_turns(&walk, places, count);

    for (size_t i = 0; i < walk.turns.count && rc == 0; i++) {
        pass_time(&walk, now_ns, walk.turns.items[i].time_ns);
        now_ns = walk.turns.items[i].time_ns;
        rc = take_turn(&walk, &walk.turns.items[i]);
    }
    pass_time(&walk, now_ns, walk.run->end_ns);
    for (size_t i = 0; i < count && !has_ops; i++)
        has_ops = answer->op_kinds[answer->spans.items[places[i]].op] == SPAN_OP;
    for (int side = 0; side < OP_SIDES; side++)
        out_busy_ns[side] = has_ops && has_side(&walk, side) ? walk.busy_ns[side] : NAN;
    array_deinit(&walk.turns);
    array_deinit(&walk.open);
    return rc;
}
