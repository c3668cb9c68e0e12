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
    const struct spans_answer *spans;
    struct sequences *out;
    ARRAY_OF(uint8_t) reach;   /* beside parts: parts from here on that follow each other */
    ARRAY_OF(uint32_t) number; /* beside parts: of the sequence that begins here, or RARE */
    ARRAY_OF(struct gram) grams;
};

/* --- What counts, and what follows what. --- */

static bool is_part(const struct spans_answer *spans, const struct span *span)
{
    return span_is_op(spans, span) && !span_is_runtime_call(spans, span) &&
           !span_is_python(spans, span);
}

/* The side whose lanes are looked at, beside lanes; lanes of a session stand together. */
static int choose_sides(const struct spans_answer *spans, uint8_t **out_sides)
{
    size_t count = spans->lanes.count, first = 0;
    uint8_t *sides = calloc(count + 1, 1);

    _Static_assert(OP_HOST == 0, "what calloc() leaves");
    if (!sides)
        return -ENOMEM;
    for (size_t i = 0; i < spans->spans.count; i++) {
        const struct span *span = &spans->spans.items[i];

        if (span->is_shown && span_is_device(spans, span) && is_part(spans, span))
            sides[span->lane] = OP_DEVICE;
    }
    for (size_t i = 0; i < count; i = first) {
        bool has_device = false;

        for (; first < count &&
               spans->lanes.items[first].session_id == spans->lanes.items[i].session_id;
             first++)
            has_device |= sides[first] == OP_DEVICE;
        memset(sides + i, has_device ? OP_DEVICE : OP_HOST, first - i);
    }
    *out_sides = sides;
    return 0;
}

static int64_t gap_between(const struct span *before, const struct span *span)
{
    int64_t gap_ns = span->start_ns - span_end_ns(before);

    return gap_ns > 0 ? gap_ns : 0;
}

static int add_part(struct search *search, uint32_t place, const uint32_t *symbols)
{
    int rc = array_push(&search->out->parts, place);

    if (rc == 0)
        rc = array_push(&search->number, symbols[search->spans->spans.items[place].op]);
    if (rc == 0)
        rc = array_push(&search->reach, 1);
    search->out->total_ns += search->spans->spans.items[place].dur_ns;
    return rc;
}

/* Parts of one lane. `reach` is only whether the next part follows, 2 or 1. */
static int add_lane(struct search *search, const struct span_range *range, const uint32_t *symbols)
{
    const struct spans_answer *spans = search->spans;
    const struct span *before = NULL; /* what the next part would follow */
    int rc = 0;

    for (size_t i = range->first; i < range->first + range->count && rc == 0;) {
        const struct span *span = &spans->spans.items[i];

        if (!is_part(spans, span)) {
            i++;
            continue;
        }
        if (!span->is_shown) {
            before = NULL;
            i++;
            continue;
        }
        if (before && before->run == span->run) {
            bool is_far = gap_between(before, span) > SEQUENCE_GAP_NS;

            search->reach.items[search->reach.count - 1] = is_far ? 1 : 2;
            search->out->parted_count += is_far;
        }
        rc = add_part(search, (uint32_t)i, symbols);
        before = span;
        i = span_subtree_end(spans, (uint32_t)i);
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

static int gather(struct search *search, bool by_name)
{
    const struct spans_answer *spans = search->spans;
    uint32_t *symbols = NULL;
    uint8_t *sides = NULL;
    int rc = choose_sides(spans, &sides);

    if (rc == 0)
        rc = number_symbols(spans, by_name, &symbols);
    for (size_t i = 0; i < spans->lanes.count && rc == 0; i++) {
        if (spans->lanes.items[i].side == sides[i])
            rc = add_lane(search, &spans->ranges[i], symbols);
    }
    for (size_t i = search->reach.count; i-- > 0 && rc == 0;) {
        if (search->reach.items[i] > 1 && search->reach.items[i + 1] < SEQUENCE_MAX)
            search->reach.items[i] = (uint8_t)(search->reach.items[i + 1] + 1);
        else if (search->reach.items[i] > 1)
            search->reach.items[i] = SEQUENCE_MAX;
    }
    free(symbols);
    free(sides);
    return rc;
}

/* --- Counting. --- */

static void count_gram(const struct search *search, struct gram *gram, uint32_t at)
{
    const struct span *items = search->spans->spans.items;
    const uint32_t *parts = search->out->parts.items + at;
    struct sequence *sequence = &gram->sequence;

    if (at < gram->free_from)
        return;
    gram->free_from = at + sequence->length;
    sequence->count++;
    for (uint32_t i = 0; i < sequence->length; i++) {
        sequence->total_ns += items[parts[i]].dur_ns;
        if (i > 0)
            sequence->gap_ns += gap_between(&items[parts[i - 1]], &items[parts[i]]);
    }
}

static int find_gram(struct search *search, struct place_map *map, uint32_t at, uint32_t length,
                     uint32_t *out_gram)
{
    struct gram gram = {
        .sequence = {.first = at, .length = length},
        .start = search->number.items[at],
        .end = search->number.items[at + 1],
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
    for (size_t i = 0; i < search->number.count; i++) {
        if (search->number.items[i] != RARE)
            search->number.items[i] = grams[search->number.items[i]].new_number;
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
    uint32_t *numbers = search->number.items, count = (uint32_t)search->number.count, number;
    size_t known_count = search->grams.count;
    struct place_map map = {0};
    int rc = 0;

    for (uint32_t i = 0; i < count && rc == 0; i++) {
        if (search->reach.items[i] < length || numbers[i] == RARE || numbers[i + 1] == RARE) {
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

int sequences_find(const struct spans_answer *spans, bool by_name, struct sequences *out_sequences)
{
    struct search search = {.spans = spans, .out = out_sequences};
    int rc;

    *out_sequences = (struct sequences){0};
    rc = gather(&search, by_name);
    for (uint32_t length = SEQUENCE_MIN; length <= SEQUENCE_MAX && rc == 0; length++)
        rc = count_length(&search, length);
    if (rc == 0) {
        mark_parts(search.grams.items, search.grams.count);
        rc = tell(&search);
    }
    array_deinit(&search.reach);
    array_deinit(&search.number);
    array_deinit(&search.grams);
    return rc;
}

void sequences_deinit(struct sequences *sequences)
{
    array_deinit(&sequences->items);
    array_deinit(&sequences->parts);
}
