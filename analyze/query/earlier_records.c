/* SPDX-License-Identifier: Apache-2.0 */
/* The last records by number, which grows from part to part. */
#include "analyze/query/earlier_records.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"

int earlier_records_init(struct earlier_records *records, const struct spans_answer *answer)
{
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
    free(records->is_record);
    free(records->is_wait);
    records->is_record = records->is_wait = NULL;
}

void earlier_records_restart(struct earlier_records *records)
{
    records->kept.count = 0;
    for (int kind = 0; kind < KEY_KINDS; kind++)
        records->first[kind] = (struct launch_key){INT64_MAX, INT64_MAX};
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

/* Returns 0, SPAN_PARTS_WHOLE where it may be one that is not kept, or -ENOMEM. */
static int link_wait(struct earlier_records *records, struct spans_answer *part, uint32_t place)
{
    struct span *kept = records->kept.items;
    const struct span *wait = &part->spans.items[place];
    const size_t count = records->kept.count;
    const size_t at = search_past(0, count, i, compare(part, &kept[i], wait) < 0);
    struct launch_key key;
    int kind, rc;

    if (at < count && compare(part, &kept[at], wait) == 0) {
        const size_t behind = part->spans.count + part->earlier_count;

        rc = array_reserve(&part->spans, behind + 1);
        if (rc < 0)
            return rc;
        part->spans.items[behind] = kept[at];
        kept[at].launch = 0;
        part->spans.items[place].launch = (uint32_t)behind;
        part->earlier_count++;
        return 0;
    }
    kind = launch_key_of(part, wait, &key);
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
static void forget(struct earlier_records *records)
{
    const size_t first = records->kept.count - EARLIER_RECORDS_MAX;

    memmove(records->kept.items, records->kept.items + first,
            EARLIER_RECORDS_MAX * sizeof(*records->kept.items));
    records->kept.count = EARLIER_RECORDS_MAX;
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
    if (rc == 0 && records->kept.count > 2 * EARLIER_RECORDS_MAX)
        forget(records);
    return rc;
}
