/* SPDX-License-Identifier: Apache-2.0 */
/* Parts are nearly in the order of the store: what is missing before a span comes with the next. */
#include "analyze/export/ordered.h"

#include <errno.h>

enum {
    IS_OF_OTHER_RUN = 1 << 0,
    HAS_KERN = 1 << 1,
    HAS_CORRELATION = 1 << 2,
    HAS_BYTES = 1 << 3,
    NUMBERS_MAX = 10,
};

int ordered_begin(void *user, const struct spans_answer *spans)
{
    struct ordered_spans *ordered = user;

    (void)spans;
    ordered_deinit(ordered);
    ordered->last.run = SPAN_NONE;
    return 0;
}

void ordered_deinit(struct ordered_spans *ordered)
{
    bytes_deinit(&ordered->rows);
    array_deinit(&ordered->known);
    array_deinit(&ordered->kept);
    array_deinit(&ordered->frames);
    *ordered = (struct ordered_spans){0};
}

static int put(struct ordered_spans *ordered, const struct span *span)
{
    uint8_t *at = bytes_reserve(&ordered->rows, NUMBERS_MAX * PACKED_NUMBER_MAX);
    struct ordered_span *last = &ordered->last;
    unsigned flags = span->run != last->run ? IS_OF_OTHER_RUN : 0;

    if (!at)
        return -ENOMEM;
    flags |= span->kern_ns != STORE_NULL ? HAS_KERN : 0;
    flags |= span->correlation != STORE_NULL ? HAS_CORRELATION : 0;
    flags |= span->bytes != STORE_NULL ? HAS_BYTES : 0;
    at = packed_number_put(at, flags);
    at = packed_number_put(at, span->order - last->order);
    at = packed_number_put(at, bytes_step(last->start_ns, span->start_ns));
    at = packed_number_put(at, (uint64_t)span->dur_ns);
    at = packed_number_put(at, bytes_fold((int64_t)span->op - last->op));
    at = packed_number_put(at, bytes_fold((int64_t)span->lane - last->lane));
    if (flags & IS_OF_OTHER_RUN)
        at = packed_number_put(at, span->run);
    if (flags & HAS_KERN)
        at = packed_number_put(at, (uint64_t)span->kern_ns);
    if (flags & HAS_CORRELATION) {
        at = packed_number_put(at, bytes_step(last->correlation, span->correlation));
        last->correlation = span->correlation;
    }
    if (flags & HAS_BYTES)
        at = packed_number_put(at, bytes_fold(span->bytes));
    bytes_commit(&ordered->rows, at);
    last->start_ns = span->start_ns;
    last->order = span->order;
    last->op = span->op;
    last->lane = span->lane;
    last->run = span->run;
    return 0;
}

static const struct span *find(const struct ordered_spans *ordered, const struct spans_answer *part,
                               uint32_t known)
{
    return known < ordered->kept.count ? &ordered->kept.items[known]
                                       : &part->spans.items[known - ordered->kept.count];
}

/* What is known behind what is not. */
static int keep(struct ordered_spans *ordered, const struct spans_answer *part, size_t from)
{
    ARRAY_OF(struct span) kept = {0};
    int rc = 0;

    for (size_t i = from; i < ordered->known.count && rc == 0; i++) {
        uint32_t known = ordered->known.items[i];

        ordered->known.items[i - from] = known == SPAN_NONE ? SPAN_NONE : (uint32_t)kept.count;
        if (known != SPAN_NONE)
            rc = array_push(&kept, *find(ordered, part, known));
    }
    ordered->known.count -= from;
    array_deinit(&ordered->kept);
    ordered->kept.items = kept.items;
    ordered->kept.count = kept.count;
    ordered->kept.capacity = kept.capacity;
    return rc;
}

bool ordered_shows(const struct ordered_spans *ordered, const struct span *frame)
{
    for (size_t i = ordered->frames.count; i-- > 0;) {
        const struct span *shown = &ordered->frames.items[i];

        if (shown->op == frame->op &&
            span_is_at(shown, frame->lane, frame->start_ns, frame->dur_ns))
            return true;
    }
    return false;
}

/* Whether the next one in the order is no span of a part alone. */
static bool is_frame(const struct ordered_spans *ordered, const struct spans_answer *part,
                     size_t put_count)
{
    return ordered->frame_count < part->frames.count &&
           part->frames.items[ordered->frame_count].order == ordered->next + put_count;
}

/* Notes where the spans of a part are in the order. */
static int note_part(struct ordered_spans *ordered, const struct spans_answer *part)
{
    int rc = 0;

    for (size_t i = 0; i < part->spans.count && rc == 0; i++) {
        const struct span *span = &part->spans.items[i];
        size_t place = span->order - ordered->next;

        if (span->frame) {
            if (span->is_shown &&
                (span->frame == SPAN_FRAME_FIRST || !ordered_shows(ordered, span)))
                rc = array_push(&ordered->frames, *span);
            continue;
        }
        while (ordered->known.count <= place && rc == 0)
            rc = array_push(&ordered->known, SPAN_NONE);
        if (rc == 0)
            ordered->known.items[place] = (uint32_t)(ordered->kept.count + i);
    }
    return rc;
}

int ordered_take(void *user, struct spans_answer *part)
{
    struct ordered_spans *ordered = user;
    size_t put_count = 0;
    int rc = note_part(ordered, part);

    while (put_count < ordered->known.count && rc == 0) {
        const uint32_t known = ordered->known.items[put_count];

        if (is_frame(ordered, part, put_count))
            ordered->frame_count++;
        else if (known == SPAN_NONE)
            break;
        else if (find(ordered, part, known)->is_shown)
            rc = put(ordered, find(ordered, part, known));
        put_count++;
    }
    ordered->next += (uint32_t)put_count;
    return rc ? rc : keep(ordered, part, put_count);
}

struct ordered_reader ordered_read(const struct ordered_spans *ordered)
{
    return (struct ordered_reader){
        .span = {.run = SPAN_NONE}, .ordered = ordered, .rows = bytes_read(&ordered->rows)};
}

bool ordered_next(struct ordered_reader *reader)
{
    const uint8_t *at = bytes_row(&reader->rows);
    struct ordered_span *span = &reader->span;
    unsigned flags;

    if (!at)
        return false;
    flags = (unsigned)packed_number_get(&at);
    span->order += (uint32_t)packed_number_get(&at);
    span->start_ns = bytes_after(span->start_ns, packed_number_get(&at));
    span->dur_ns = (int64_t)packed_number_get(&at);
    span->op += (uint32_t)bytes_unfold(packed_number_get(&at));
    span->lane += (uint32_t)bytes_unfold(packed_number_get(&at));
    if (flags & IS_OF_OTHER_RUN)
        span->run = (uint32_t)packed_number_get(&at);
    span->kern_ns = flags & HAS_KERN ? (int64_t)packed_number_get(&at) : STORE_NULL;
    span->correlation = STORE_NULL;
    if (flags & HAS_CORRELATION) {
        reader->correlation = bytes_after(reader->correlation, packed_number_get(&at));
        span->correlation = reader->correlation;
    }
    span->bytes = flags & HAS_BYTES ? bytes_unfold(packed_number_get(&at)) : STORE_NULL;
    bytes_pass(&reader->rows, at);
    if ((span->order & 0xfff) == 0)
        progress_share(reader->ordered->progress, "writing events", span->order,
                       reader->ordered->next);
    return true;
}
