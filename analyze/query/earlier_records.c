/* SPDX-License-Identifier: Apache-2.0 */
/* Records by number, which grows from part to part. */
#include "analyze/query/earlier_records.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/containers/packed_numbers.h"
#include "base/sorted.h"

int earlier_records_init(struct earlier_records *records, const struct spans_answer *answer,
                         size_t kept_least)
{
    records->kept_least = kept_least ? kept_least : EARLIER_RECORDS_KEPT;
    records->is_record = calloc(answer->ops.count + 1, sizeof(*records->is_record));
    records->is_wait = calloc(answer->ops.count + 1, sizeof(*records->is_wait));
    if (!records->is_record || !records->is_wait)
        return -ENOMEM;
    for (size_t i = 0; i < answer->ops.count; i++) {
        records->is_record[i] = spans_op_records(answer, i);
        records->is_wait[i] = spans_op_waits(answer, i);
        records->has_waits |= records->is_wait[i];
    }
    earlier_records_restart(records);
    return 0;
}

void earlier_records_deinit(struct earlier_records *records)
{
    array_deinit(&records->kept);
    for (int kind = 0; kind < KEY_KINDS; kind++) {
        array_deinit(&records->archives[kind].blocks);
        array_deinit(&records->archives[kind].bytes);
    }
    free(records->is_record);
    free(records->is_wait);
    records->is_record = records->is_wait = NULL;
}

void earlier_records_restart(struct earlier_records *records)
{
    records->kept.count = 0;
    for (int kind = 0; kind < KEY_KINDS; kind++) {
        struct record_archive *archive = &records->archives[kind];

        records->first[kind] = (struct launch_key){INT64_MAX, INT64_MAX};
        archive->blocks.count = archive->bytes.count = archive->count = 0;
    }
}

/* --- Packing. --- */

enum { RECORD_BYTES = 12 * PACKED_NUMBER_MAX, DEPTH_SHIFT = 6 };
enum { HAS_KERN = 1, HAS_BYTES = 2, IS_LEAF = 4, IS_SHOWN = 8, FRAME_SHIFT = 4 };

/* Small numbers of either sign are small. */
static uint8_t *put_difference(uint8_t *at, int64_t value, int64_t before)
{
    const int64_t more = (int64_t)((uint64_t)value - (uint64_t)before);

    return packed_number_put(at, (uint64_t)more << 1 ^ (uint64_t)(more >> 63));
}

static int64_t get_difference(const uint8_t **at, int64_t before)
{
    const uint64_t word = packed_number_get(at);

    return (int64_t)((uint64_t)before + (word >> 1 ^ -(word & 1)));
}

/* All but where it lies, and what names it. */
static uint8_t *pack(uint8_t *at, const struct span *span, const struct span *before)
{
    const uint64_t flags = (span->kern_ns != STORE_NULL ? HAS_KERN : 0) |
                           (span->bytes != STORE_NULL ? HAS_BYTES : 0) |
                           (span->is_leaf ? IS_LEAF : 0) | (span->is_shown ? IS_SHOWN : 0) |
                           (uint64_t)span->frame << FRAME_SHIFT;

    at = packed_number_put(at, (uint64_t)span->depth << DEPTH_SHIFT | flags);
    at = put_difference(at, span->start_ns, before->start_ns);
    at = put_difference(at, span->dur_ns, 0);
    at = put_difference(at, span->self_ns, span->dur_ns);
    at = put_difference(at, span->correlation, before->correlation);
    at = packed_number_put(at, span->op);
    at = packed_number_put(at, span->lane);
    at = put_difference(at, span->run, before->run);
    at = put_difference(at, span->order, before->order);
    if (flags & HAS_KERN)
        at = put_difference(at, span->kern_ns, 0);
    return flags & HAS_BYTES ? put_difference(at, span->bytes, 0) : at;
}

static void unpack(const uint8_t **at, struct span *span)
{
    const struct span before = *span;
    const uint64_t flags = packed_number_get(at);

    *span = (struct span){.kern_ns = STORE_NULL,
                          .bytes = STORE_NULL,
                          .parent = SPAN_NONE,
                          .launch = SPAN_NONE,
                          .next = SPAN_NONE};
    span->depth = (uint32_t)(flags >> DEPTH_SHIFT) & 0xfffffff;
    span->is_leaf = flags & IS_LEAF;
    span->is_shown = flags & IS_SHOWN;
    span->frame = flags >> FRAME_SHIFT & 3;
    span->start_ns = get_difference(at, before.start_ns);
    span->dur_ns = get_difference(at, 0);
    span->self_ns = get_difference(at, span->dur_ns);
    span->correlation = get_difference(at, before.correlation);
    span->op = (uint32_t)packed_number_get(at);
    span->lane = (uint32_t)packed_number_get(at);
    span->run = (uint32_t)get_difference(at, before.run);
    span->order = (uint32_t)get_difference(at, before.order);
    if (flags & HAS_KERN)
        span->kern_ns = get_difference(at, 0);
    if (flags & HAS_BYTES)
        span->bytes = get_difference(at, 0);
}

static int archive_add(struct record_archive *archive, const struct spans_answer *answer,
                       const struct span *span)
{
    const unsigned place = archive->count % EARLIER_RECORDS_BLOCK;
    struct record_block *block;
    struct launch_key key;
    uint8_t *end;

    if (place == 0) {
        launch_key_of(answer, span, &key);
        if (array_push(&archive->blocks, ((struct record_block){key, archive->bytes.count, 0})) < 0)
            return -ENOMEM;
        archive->last = (struct span){0};
    }
    if (array_reserve(&archive->bytes, archive->bytes.count + RECORD_BYTES) < 0)
        return -ENOMEM;
    end = pack(archive->bytes.items + archive->bytes.count, span, &archive->last);
    archive->bytes.count = (size_t)(end - archive->bytes.items);
    block = &archive->blocks.items[archive->blocks.count - 1];
    block->named |= (uint32_t)(span->launch != SPAN_NONE) << place;
    archive->last = *span;
    archive->count++;
    return 0;
}

/* find_record(), of those that are packed. */
static bool archive_find(struct record_archive *archive, const struct spans_answer *answer,
                         const struct launch_key *key, struct span *out_span)
{
    struct record_block *blocks = archive->blocks.items;
    size_t block =
        search_past(0, archive->blocks.count, i, launch_key_compare(&blocks[i].first, key) <= 0);
    size_t left;
    const uint8_t *at;
    struct span span = {0};

    if (block-- == 0)
        return false;
    at = archive->bytes.items + blocks[block].at;
    left = archive->count - block * EARLIER_RECORDS_BLOCK;
    for (unsigned i = 0; i < EARLIER_RECORDS_BLOCK && i < left; i++) {
        struct launch_key found;

        unpack(&at, &span);
        launch_key_of(answer, &span, &found);
        if (launch_key_compare(&found, key) != 0)
            continue;
        span.launch = blocks[block].named >> i & 1 ? 0 : SPAN_NONE;
        blocks[block].named |= UINT32_C(1) << i;
        *out_span = span;
        return true;
    }
    return false;
}

/* Those of runs come first. */
static int compare(const struct spans_answer *answer, const struct span *a, const struct span *b)
{
    struct launch_key left, right;
    const int kind = launch_key_of(answer, a, &left), other = launch_key_of(answer, b, &right);

    return kind != other ? kind - other : launch_key_compare(&left, &right);
}

static int compare_records(const void *a, const void *b, void *answer)
{
    return compare(answer, a, b);
}

/* --- A part's waits. --- */

/* Takes out the record that a wait is for, which names it from then on. */
static bool find_record(struct earlier_records *records, const struct spans_answer *part,
                        const struct span *wait, struct span *out_span)
{
    struct span *kept = records->kept.items;
    const size_t count = records->kept.count;
    const size_t at = search_past(0, count, i, compare(part, &kept[i], wait) < 0);
    struct launch_key key;
    const int kind = launch_key_of(part, wait, &key);

    if (at == count || compare(part, &kept[at], wait) != 0)
        return archive_find(&records->archives[kind], part, &key, out_span);
    *out_span = kept[at];
    kept[at].launch = 0;
    return true;
}

/* Returns 0, SPAN_PARTS_WHOLE where it may be for something else, or -ENOMEM. */
static int link_wait(struct earlier_records *records, struct spans_answer *part, uint32_t place)
{
    const size_t behind = part->spans.count + part->earlier_count;
    struct span record;
    struct launch_key key;
    int kind, rc;

    if (find_record(records, part, &part->spans.items[place], &record)) {
        rc = array_reserve(&part->spans, behind + 1);
        if (rc < 0)
            return rc;
        part->spans.items[behind] = record;
        part->spans.items[place].launch = (uint32_t)behind;
        part->earlier_count++;
        return 0;
    }
    kind = launch_key_of(part, &part->spans.items[place], &key);
    return launch_key_compare(&key, &records->first[kind]) < 0 ? 0 : SPAN_PARTS_WHOLE;
}

int earlier_records_link(struct earlier_records *records, struct spans_answer *part)
{
    int rc = 0;

    part->earlier_count = 0;
    for (uint32_t i = 0; i < part->spans.count && records->has_waits && rc == 0; i++) {
        const struct span *span = &part->spans.items[i];

        if (records->is_wait[span->op] && span->launch == SPAN_NONE &&
            span->correlation != STORE_NULL && span_is_device(part, span))
            rc = link_wait(records, part, i);
    }
    return rc;
}

/* --- What is kept. --- */

/* Not before there are twice as many as are to be kept. */
static int pack_first(struct earlier_records *records, const struct spans_answer *answer)
{
    const size_t first = records->kept.count - records->kept_least;
    struct span *kept = records->kept.items;
    int rc = 0;

    for (size_t i = 0; i < first && rc == 0; i++) {
        struct launch_key key;
        const int kind = launch_key_of(answer, &kept[i], &key);

        rc = archive_add(&records->archives[kind], answer, &kept[i]);
    }
    memmove(kept, kept + first, records->kept_least * sizeof(*kept));
    records->kept.count = records->kept_least;
    return rc;
}

static void note_first(struct earlier_records *records, const struct spans_answer *part,
                       const struct span *span)
{
    struct launch_key key;
    const int kind = launch_key_of(part, span, &key);

    if (launch_key_compare(&key, &records->first[kind]) < 0)
        records->first[kind] = key;
}

int earlier_records_keep(struct earlier_records *records, const struct spans_answer *part)
{
    bool is_sorted = true;
    int rc = 0;

    for (size_t i = 0; i < part->spans.count && rc == 0 && records->has_waits; i++) {
        const struct span *span = &part->spans.items[i], *items = records->kept.items;
        struct span kept;

        if (!records->is_record[span->op] || span->correlation == STORE_NULL ||
            span_is_device(part, span))
            continue;
        note_first(records, part, span);
        is_sorted &=
            records->kept.count == 0 || compare(part, &items[records->kept.count - 1], span) <= 0;
        kept = *span;
        kept.parent = kept.next = SPAN_NONE;
        kept.launch = kept.launch == SPAN_NONE ? SPAN_NONE : 0;
        kept.self_ns = span_own_ns(part, span);
        rc = array_push(&records->kept, kept);
    }
    if (rc == 0 && !is_sorted)
        qsort_r(records->kept.items, records->kept.count, sizeof(*records->kept.items),
                compare_records, (void *)part);
    if (rc == 0 && records->kept.count > 2 * records->kept_least)
        rc = pack_first(records, part);
    return rc;
}
