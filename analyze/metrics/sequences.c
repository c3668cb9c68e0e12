/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All sequences of a length are numbered in one pass. One of n operators is told by two numbers,
 * that of its first n - 1 and that of its last n - 1, so that keys are exact and short; and it can
 * only be frequent where both are, so that rare ones take no memory in the passes that follow.
 */
#include "analyze/metrics/sequences.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/containers/place_map.h"
#include "analyze/query/lane_use.h"
#include "analyze/query/op_class.h"
#include "analyze/stats/groups.h"

#define RARE UINT32_MAX

struct gram {
    struct sequence sequence;
    uint32_t start, end; /* numbers of what it is without its last and without its first operator */
    union {
        uint32_t free_from;  /* first part behind its last occurrence so far */
        uint32_t new_number; /* once all are counted */
    };
    bool is_part; /* of a longer one that occurs as often */
};

struct search {
    struct sequences *out;
    uint32_t *number; /* beside parts: of the sequence that begins here, or RARE */
    ARRAY_OF(struct gram) grams;
};

/* The parts of a lane, and what the next one would follow. */
struct lane_parts {
    struct sequence_part_array parts; /* `reach` is only whether the next one follows, 2 or 1 */
    bool has_before;
    uint32_t before_run;
    int64_t before_end_ns;
    int64_t total_ns;
    uint64_t parted_count;
    bool is_device; /* an operator that is shown is on this lane of a device */
};

struct sequences_gathered {
    struct lane_parts *lanes;
    size_t lane_count;
};

/* --- What counts, and what follows what. --- */

static bool is_part(const struct spans_answer *spans, const struct span *span)
{
    return span_is_op(spans, span) && !span_is_runtime_call(spans, span) &&
           !span_is_python(spans, span);
}

/* The first lane of another session than that of lane `first`. */
static size_t session_end(const struct spans_answer *spans, size_t first)
{
    size_t end = first;

    while (end < spans->lanes.count &&
           spans->lanes.items[end].session_id == spans->lanes.items[first].session_id)
        end++;
    return end;
}

static bool has_device(const struct sequences_gathered *gathered, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        if (gathered->lanes[i].is_device)
            return true;
    }
    return false;
}

/* Threads of a session do not count whose devices had something to do. */
static void drop_threads(struct sequences_gathered *gathered, const struct spans_answer *spans,
                         size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        struct lane_parts *lane = &gathered->lanes[i];

        if (spans->lanes.items[i].side == OP_DEVICE)
            continue;
        array_deinit(&lane->parts);
        *lane = (struct lane_parts){0};
    }
}

static int add_part(struct lane_parts *lane, const struct span *span)
{
    struct sequence_part part = {.dur_ns = span->dur_ns, .op = span->op, .reach = 1};

    if (lane->has_before && lane->before_run == span->run) {
        bool is_far;

        part.gap_ns = span->start_ns - lane->before_end_ns;
        part.gap_ns = part.gap_ns > 0 ? part.gap_ns : 0;
        is_far = part.gap_ns > SEQUENCE_GAP_NS;
        lane->parts.items[lane->parts.count - 1].reach = is_far ? 1 : 2;
        lane->parted_count += is_far;
    }
    lane->total_ns += span->dur_ns;
    lane->has_before = true;
    lane->before_run = span->run;
    lane->before_end_ns = span_end_ns(span);
    return array_push(&lane->parts, part);
}

static int add_lane(const struct spans_answer *spans, uint32_t place, struct lane_parts *lane)
{
    const struct span_range *range = &spans->ranges[place];
    bool is_device = spans->lanes.items[place].side == OP_DEVICE;
    int rc = 0;

    for (size_t i = range->first; i < range->first + range->count && rc == 0;) {
        const struct span *span = &spans->spans.items[i];

        if (span->frame == SPAN_FRAME_AGAIN && is_part(spans, span)) {
            i = span->is_shown ? span_subtree_end(spans, (uint32_t)i) : i + 1;
            continue;
        }
        if (!is_part(spans, span) || !span->is_shown) {
            lane->has_before &= !is_part(spans, span);
            i++;
            continue;
        }
        lane->is_device |= is_device;
        rc = add_part(lane, span);
        i = span_subtree_end(spans, (uint32_t)i);
    }
    return rc;
}

void sequences_drop(struct sequences_gathered **gathered)
{
    if (!*gathered)
        return;
    for (size_t i = 0; i < (*gathered)->lane_count && (*gathered)->lanes; i++)
        array_deinit(&(*gathered)->lanes[i].parts);
    free((*gathered)->lanes);
    free(*gathered);
    *gathered = NULL;
}

int sequences_begin(const struct spans_answer *spans, struct sequences_gathered **out_gathered)
{
    sequences_drop(out_gathered);
    *out_gathered = calloc(1, sizeof(**out_gathered));
    if (!*out_gathered)
        return -ENOMEM;
    (*out_gathered)->lanes = calloc(spans->lanes.count + 1, sizeof(*(*out_gathered)->lanes));
    (*out_gathered)->lane_count = spans->lanes.count;
    return (*out_gathered)->lanes ? 0 : -ENOMEM;
}

int sequences_add(struct sequences_gathered *gathered, const struct spans_answer *spans)
{
    size_t end;
    int rc = 0;

    for (size_t first = 0; first < spans->lanes.count && rc == 0; first = end) {
        bool had_device;

        end = session_end(spans, first);
        had_device = has_device(gathered, first, end);
        for (size_t i = first; i < end && rc == 0; i++) {
            if (!had_device || spans->lanes.items[i].side == OP_DEVICE)
                rc = add_lane(spans, (uint32_t)i, &gathered->lanes[i]);
        }
        if (!had_device && has_device(gathered, first, end))
            drop_threads(gathered, spans, first, end);
    }
    return rc;
}

/* Numbers of types or names, beside ops. */
static int number_symbols(const struct spans_answer *spans, bool by_name, uint32_t **out_symbols)
{
    uint32_t *symbols = malloc((spans->ops.count + 1) * sizeof(*symbols));
    struct groups groups = {0};
    int rc = symbols ? 0 : -ENOMEM;

    for (size_t i = 0; i < spans->ops.count && rc >= 0; i++) {
        const struct op_row *op = &spans->ops.items[i];
        struct place_key key = {0};

        groups_add_text(&key, by_name ? op->name : op_group_name(op));
        rc = groups_find(&groups, key, &symbols[i]);
    }
    groups_deinit(&groups);
    *out_symbols = symbols;
    return rc < 0 ? rc : 0;
}

/* All lanes behind each other; the first one that has any stays where it is. */
static int join_lanes(struct sequences_gathered *gathered, struct sequences *out_sequences)
{
    struct sequence_part_array *all = &out_sequences->parts;
    int rc = 0;

    for (size_t i = 0; i < gathered->lane_count && rc == 0; i++) {
        struct lane_parts *lane = &gathered->lanes[i];

        out_sequences->total_ns += lane->total_ns;
        out_sequences->parted_count += lane->parted_count;
        if (!all->count) {
            array_deinit(all);
            *all = lane->parts;
            lane->parts = (struct sequence_part_array){0};
            continue;
        }
        rc = array_reserve(all, all->count + lane->parts.count);
        if (rc == 0 && lane->parts.count)
            memcpy(all->items + all->count, lane->parts.items,
                   lane->parts.count * sizeof(*all->items));
        all->count += rc == 0 ? lane->parts.count : 0;
        array_deinit(&lane->parts);
    }
    return rc;
}

static int gather(struct search *search, struct sequences_gathered *gathered,
                  const struct spans_answer *spans, bool by_name)
{
    struct sequence_part_array *parts = &search->out->parts;
    uint32_t *symbols = NULL;
    int rc = join_lanes(gathered, search->out);

    if (rc == 0)
        rc = number_symbols(spans, by_name, &symbols);
    search->number = malloc((parts->count + 1) * sizeof(*search->number));
    if (!search->number)
        rc = -ENOMEM;
    for (size_t i = parts->count; i-- > 0 && rc == 0;) {
        struct sequence_part *part = &parts->items[i];

        search->number[i] = symbols[part->op];
        if (part->reach > 1)
            part->reach = part[1].reach < SEQUENCE_MAX ? part[1].reach + 1 : SEQUENCE_MAX;
    }
    free(symbols);
    return rc;
}

/* --- Counting. --- */

static void count_gram(const struct search *search, struct gram *gram, uint32_t at)
{
    const struct sequence_part *parts = search->out->parts.items + at;
    struct sequence *sequence = &gram->sequence;

    if (at < gram->free_from)
        return;
    gram->free_from = at + sequence->length;
    sequence->count++;
    for (uint32_t i = 0; i < sequence->length; i++) {
        sequence->total_ns += parts[i].dur_ns;
        sequence->gap_ns += i > 0 ? parts[i].gap_ns : 0;
    }
}

static int find_gram(struct search *search, struct place_map *map, uint32_t at, uint32_t length,
                     uint32_t *out_gram)
{
    struct gram gram = {
        .sequence = {.first = at, .length = length},
        .start = search->number[at],
        .end = search->number[at + 1],
    };
    struct place_key key = {.low = gram.start, .high = gram.end};
    int rc = 0;

    *out_gram = place_map_find(map, key);
    if (*out_gram == PLACE_NONE) {
        *out_gram = (uint32_t)search->grams.count;
        rc = array_push(&search->grams, gram);
        if (rc == 0)
            rc = place_map_set(map, key, *out_gram);
    }
    return rc;
}

/* Those behind the first `known_count` that occur once; the others move up and are renumbered. */
static void drop_rare(struct search *search, size_t known_count)
{
    struct gram *grams = search->grams.items;
    size_t kept = known_count;

    for (size_t i = known_count; i < search->grams.count; i++) {
        grams[i].new_number = grams[i].sequence.count < 2 ? RARE : (uint32_t)kept;
        kept += grams[i].sequence.count >= 2;
    }
    for (size_t i = 0; i < search->out->parts.count; i++) {
        if (search->number[i] != RARE)
            search->number[i] = grams[search->number[i]].new_number;
    }
    for (size_t i = known_count; i < search->grams.count; i++) {
        if (grams[i].new_number != RARE)
            grams[grams[i].new_number] = grams[i];
    }
    search->grams.count = kept;
}

/* From numbers of the sequences one shorter, in place, to those of this length. */
static int count_length(struct search *search, uint32_t length)
{
    uint32_t *numbers = search->number, count = (uint32_t)search->out->parts.count, number;
    size_t known_count = search->grams.count;
    struct place_map map = {0};
    int rc = 0;

    for (uint32_t i = 0; i < count && rc == 0; i++) {
        if (search->out->parts.items[i].reach < length || numbers[i] == RARE ||
            numbers[i + 1] == RARE) {
            numbers[i] = RARE;
            continue;
        }
        rc = find_gram(search, &map, i, length, &number);
        if (rc < 0)
            break;
        count_gram(search, &search->grams.items[number], i);
        numbers[i] = number;
    }
    place_map_deinit(&map);
    if (rc == 0)
        drop_rare(search, known_count);
    return rc;
}

/* --- What is told. --- */

static void mark_parts(struct gram *grams, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t times = grams[i].sequence.count;

        if (grams[i].sequence.length == SEQUENCE_MIN)
            continue; /* its numbers are of operators, not of sequences */
        grams[grams[i].start].is_part |= grams[grams[i].start].sequence.count == times;
        grams[grams[i].end].is_part |= grams[grams[i].end].sequence.count == times;
    }
}

static int compare_sequences(const void *a, const void *b)
{
    const struct sequence *left = a, *right = b;

    if (left->total_ns != right->total_ns)
        return left->total_ns < right->total_ns ? 1 : -1;
    if (left->first != right->first)
        return left->first < right->first ? -1 : 1;
    return left->length < right->length ? 1 : -1;
}

static int tell(const struct search *search)
{
    struct sequences *out = search->out;
    int rc = 0;

    for (size_t i = 0; i < search->grams.count && rc == 0; i++) {
        if (!search->grams.items[i].is_part)
            rc = array_push(&out->items, search->grams.items[i].sequence);
    }
    if (rc == 0 && out->items.count)
        qsort(out->items.items, out->items.count, sizeof(*out->items.items), compare_sequences);
    return rc;
}

int sequences_finish(struct sequences_gathered *gathered, const struct spans_answer *spans,
                     bool by_name, struct sequences *out_sequences)
{
    struct search search = {.out = out_sequences};
    int rc;

    *out_sequences = (struct sequences){0};
    rc = gather(&search, gathered, spans, by_name);
    for (uint32_t length = SEQUENCE_MIN; length <= SEQUENCE_MAX && rc == 0; length++)
        rc = count_length(&search, length);
    if (rc == 0) {
        mark_parts(search.grams.items, search.grams.count);
        rc = tell(&search);
    }
    free(search.number);
    array_deinit(&search.grams);
    return rc;
}

int sequences_find(const struct spans_answer *spans, bool by_name, struct sequences *out_sequences)
{
    struct sequences_gathered *gathered = NULL;
    int rc = sequences_begin(spans, &gathered);

    *out_sequences = (struct sequences){0};
    if (rc == 0)
        rc = sequences_add(gathered, spans);
    if (rc == 0)
        rc = sequences_finish(gathered, spans, by_name, out_sequences);
    sequences_drop(&gathered);
    return rc;
}

void sequences_deinit(struct sequences *sequences)
{
    array_deinit(&sequences->items);
    array_deinit(&sequences->parts);
}
