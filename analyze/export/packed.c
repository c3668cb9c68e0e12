/* SPDX-License-Identifier: Apache-2.0 */
/* A row of bytes for each span: its flags, then numbers, most of them against the span before. */
#include "analyze/export/packed.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/export/rows.h"

/* The first seven are those that some spans of nearly every recording have: they make one byte. */
enum {
    IS_NESTED = 1 << 0,
    IS_OF_OTHER_RUN = 1 << 1,
    HAS_KERN = 1 << 2,
    HAS_LAUNCH = 1 << 3, /* of a host span: it launches something */
    COUNTS_ON_DEVICE = 1 << 4,
    HAS_INNER = 1 << 5, /* its self time is not all of it */
    HAS_BYTES = 1 << 6,
    IS_HIDDEN = 1 << 7,
    HAS_ROW = 1 << 8,
    IS_FRAME = 1 << 9,
    NUMBERS_MAX = 15,
};

int packed_begin(void *user, const struct spans_answer *spans)
{
    struct packed_spans *packed = user;

    packed_deinit(packed);
    packed->lane_count = spans->lanes.count;
    packed->lanes = calloc(packed->lane_count + 1, sizeof(*packed->lanes));
    packed->lanes_until = calloc(spans->ops.count + 1, sizeof(*packed->lanes_until));
    if (!packed->lanes || !packed->lanes_until)
        return -ENOMEM;
    for (size_t i = 0; i < packed->lane_count; i++)
        packed->lanes[i].is_device = spans->lanes.items[i].side == OP_DEVICE;
    return 0;
}

void packed_deinit(struct packed_spans *packed)
{
    for (size_t i = 0; i < packed->lane_count && packed->lanes; i++)
        bytes_deinit(&packed->lanes[i].rows);
    free(packed->lanes);
    free(packed->lanes_until);
    array_deinit(&packed->frames);
    *packed = (struct packed_spans){0};
}

void packed_finish(struct packed_spans *packed)
{
    for (size_t i = 0; i < packed->lane_count; i++) {
        packed->lanes[i].first = (uint32_t)packed->count;
        packed->count += packed->lanes[i].count;
    }
}

/* --- Taking. --- */

struct taking {
    struct packed_spans *packed;
    const struct spans_answer *part;
    const uint32_t *before; /* beside lanes: how many spans they had before this part */
    const uint16_t *rows;   /* beside spans */
};

/* An op that runs on a device was launched by a span of the same op on the host. */
static bool counts_on_device(const struct spans_answer *part, const struct span *span)
{
    const struct span *items = part->spans.items;

    for (uint32_t place = span->launch; place != SPAN_NONE; place = items[place].next) {
        if (items[place].op == span->op)
            return true;
    }
    return false;
}

static unsigned flags_of(const struct taking *taking, const struct packed_lane *lane,
                         const struct span *span)
{
    unsigned flags = span->depth > 0 ? IS_NESTED : 0;

    if (span->run != lane->last.run || !lane->count)
        flags |= IS_OF_OTHER_RUN;
    if (span->kern_ns != STORE_NULL)
        flags |= HAS_KERN;
    if (span->launch != SPAN_NONE)
        flags |= HAS_LAUNCH;
    if (!lane->is_device && counts_on_device(taking->part, span))
        flags |= COUNTS_ON_DEVICE;
    if (span->self_ns != span->dur_ns)
        flags |= HAS_INNER;
    if (span->bytes != STORE_NULL)
        flags |= HAS_BYTES;
    if (!span->is_shown)
        flags |= IS_HIDDEN;
    if (taking->rows[span_place(taking->part, span)])
        flags |= HAS_ROW;
    if (span->frame)
        flags |= IS_FRAME;
    return flags;
}

static uint8_t *put_launch(const struct taking *taking, struct packed_lane *lane,
                           const struct span *span, uint8_t *at)
{
    const struct span *launch = &taking->part->spans.items[span->launch];
    uint32_t number = taking->before[launch->lane] +
                      (uint32_t)(span->launch - taking->part->ranges[launch->lane].first);

    at = packed_number_put(at, bytes_fold((int64_t)launch->lane - lane->last.launch_lane));
    at = packed_number_put(at, bytes_fold((int64_t)number - lane->last.launch));
    at = packed_number_put(at, bytes_step(span->start_ns, launch->start_ns));
    at = packed_number_put(at, (uint64_t)taking->rows[span->launch] << 1 | launch->is_shown);
    lane->last.launch_lane = launch->lane;
    lane->last.launch = number;
    return at;
}

static int take_span(struct taking *taking, struct packed_lane *lane, const struct span *span)
{
    unsigned flags = flags_of(taking, lane, span);
    uint8_t *at = bytes_reserve(&lane->rows, NUMBERS_MAX * PACKED_NUMBER_MAX);

    if (!at)
        return -ENOMEM;
    at = packed_number_put(at, flags);
    at = packed_number_put(at, (uint64_t)span->start_ns -
                                   (uint64_t)lane->last.start_ns); /* they are in order */
    at = packed_number_put(at, (uint64_t)span->dur_ns);
    at = packed_number_put(at, bytes_fold((int64_t)span->op - lane->last.op));
    if (flags & IS_NESTED)
        at = packed_number_put(at, span->depth);
    if (flags & IS_OF_OTHER_RUN)
        at = packed_number_put(at, span->run);
    if (flags & HAS_KERN)
        at = packed_number_put(at, (uint64_t)span->kern_ns);
    if (flags & HAS_LAUNCH && lane->is_device)
        at = put_launch(taking, lane, span, at);
    if (flags & HAS_INNER)
        at = packed_number_put(at, (uint64_t)span->self_ns);
    if (flags & HAS_BYTES)
        at = packed_number_put(at, bytes_fold(span->bytes));
    if (flags & HAS_ROW)
        at = packed_number_put(at, taking->rows[span_place(taking->part, span)]);
    if (flags & IS_FRAME)
        at = packed_number_put(at, taking->packed->frames.count - 1);
    bytes_commit(&lane->rows, at);
    lane->last.start_ns = span->start_ns;
    lane->last.op = span->op;
    lane->last.run = span->run;
    if (taking->packed->lanes_until[span->op] <= span->lane)
        taking->packed->lanes_until[span->op] = span->lane + 1;
    lane->count++;
    return 0;
}

/* One that is here again has no row of bytes: it is open still where the next ones are read. */
static int take_frame(struct taking *taking, const struct span *span)
{
    struct packed_spans *packed = taking->packed;
    const struct packed_frame added = {span->start_ns, span->dur_ns, span->self_ns, span->lane,
                                       taking->rows[span_place(taking->part, span)]};
    int rc;

    for (size_t i = 0; i < packed->frames.count && span->frame == SPAN_FRAME_AGAIN; i++) {
        struct packed_frame *frame = &packed->frames.items[i];

        if (!span_is_at(span, frame->lane, frame->start_ns, frame->dur_ns))
            continue;
        frame->self_ns += span->self_ns;
        return frame->row == added.row ? 0 : SPAN_PARTS_WHOLE;
    }
    rc = array_push(&packed->frames, added);
    return rc ? rc : take_span(taking, &packed->lanes[span->lane], span);
}

/* How many spans of each lane were there before; those that are here again come first on theirs. */
static void count_before(struct taking *taking, uint32_t *before)
{
    const struct spans_answer *part = taking->part;

    for (size_t i = 0; i < taking->packed->lane_count; i++) {
        const struct span *first = &part->spans.items[part->ranges[i].first];

        before[i] = (uint32_t)taking->packed->lanes[i].count;
        for (size_t k = 0; k < part->ranges[i].count && first[k].frame == SPAN_FRAME_AGAIN; k++)
            before[i]--; /* below 0 is right, too */
    }
}

int packed_take(void *user, struct spans_answer *part)
{
    struct packed_spans *packed = user;
    struct export_rows rows = {0};
    uint32_t *before = malloc((packed->lane_count + 1) * sizeof(*before));
    struct taking taking = {packed, part, before, NULL};
    int rc = before ? export_rows_init(&rows, part) : -ENOMEM;

    taking.rows = rows.row;
    if (rc == 0)
        count_before(&taking, before);
    for (size_t i = 0; i < packed->lane_count && rc == 0; i++) {
        struct packed_lane *lane = &packed->lanes[i];

        if (rows.count[i] > lane->row_count)
            lane->row_count = rows.count[i];
    }
    for (size_t i = 0; i < part->spans.count && rc == 0; i++) {
        const struct span *span = &part->spans.items[i];

        rc = span->frame ? take_frame(&taking, span)
                         : take_span(&taking, &packed->lanes[span->lane], span);
    }
    export_rows_deinit(&rows);
    free(before);
    return rc;
}

struct packed_span packed_unfinished(const struct spans_answer *spans, const struct span *span)
{
    return (struct packed_span){.start_ns = span->start_ns,
                                .dur_ns = STORE_NULL,
                                .self_ns = span->self_ns,
                                .kern_ns = span->kern_ns,
                                .bytes = span->bytes,
                                .op = span->op,
                                .lane = span->lane,
                                .run = span->run,
                                .is_device = span_is_device(spans, span),
                                .launch = SPAN_NONE};
}

/* --- Reading. --- */

void packed_read(const struct packed_spans *packed, size_t lane, struct packed_reader *out_reader)
{
    const struct packed_lane *from = &packed->lanes[lane];

    *out_reader = (struct packed_reader){
        .packed = packed,
        .lane = from,
        .rows = bytes_read(&from->rows),
        .next = from->first,
        .span = {.lane = (uint32_t)lane, .is_device = from->is_device},
    };
}

int packed_reader_deinit(struct packed_reader *reader)
{
    array_deinit(&reader->open);
    return reader->rc;
}

static void read_launch(struct packed_reader *reader, const uint8_t **at)
{
    struct packed_span *span = &reader->span;
    uint64_t row;

    reader->launch_lane += (uint32_t)bytes_unfold(packed_number_get(at));
    reader->launch += (uint32_t)bytes_unfold(packed_number_get(at));
    span->launch_lane = reader->launch_lane;
    span->launch = reader->packed->lanes[reader->launch_lane].first + reader->launch;
    span->launch_start_ns = bytes_after(span->start_ns, packed_number_get(at));
    row = packed_number_get(at);
    span->launch_row = (uint32_t)(row >> 1);
    span->launch_is_shown = row & 1;
}

/* It lies in the spans that are open, as deep as it says. */
static bool open_span(struct packed_reader *reader)
{
    struct packed_span *span = &reader->span;
    struct packed_open open = {span->place, span->place};

    reader->open.count = span->depth;
    span->parent = span->shown_parent = SPAN_NONE;
    if (span->depth) {
        span->parent = reader->open.items[span->depth - 1].place;
        span->shown_parent = reader->open.items[span->depth - 1].shown;
    }
    if (!span->is_shown)
        open.shown = span->shown_parent;
    reader->rc = array_push(&reader->open, open);
    return reader->rc == 0;
}

bool packed_next(struct packed_reader *reader)
{
    const uint8_t *at = bytes_row(&reader->rows);
    struct packed_span *span = &reader->span;
    unsigned flags;

    if (!at)
        return false;
    flags = (unsigned)packed_number_get(&at);
    span->place = reader->next++;
    if ((reader->next & 0xfff) == 0)
        progress_share(reader->packed->progress, "writing events", reader->next,
                       reader->packed->count);
    span->start_ns = (int64_t)((uint64_t)span->start_ns + packed_number_get(&at));
    span->dur_ns = (int64_t)packed_number_get(&at);
    span->op += (uint32_t)bytes_unfold(packed_number_get(&at));
    span->depth = flags & IS_NESTED ? (uint32_t)packed_number_get(&at) : 0;
    if (flags & IS_OF_OTHER_RUN)
        span->run = (uint32_t)packed_number_get(&at);
    span->kern_ns = flags & HAS_KERN ? (int64_t)packed_number_get(&at) : STORE_NULL;
    span->launch = SPAN_NONE;
    span->launches = flags & HAS_LAUNCH && !span->is_device;
    if (flags & HAS_LAUNCH && span->is_device)
        read_launch(reader, &at);
    span->counts_on_device = flags & COUNTS_ON_DEVICE;
    span->self_ns = flags & HAS_INNER ? (int64_t)packed_number_get(&at) : span->dur_ns;
    span->bytes = flags & HAS_BYTES ? bytes_unfold(packed_number_get(&at)) : STORE_NULL;
    span->is_shown = !(flags & IS_HIDDEN);
    span->row = flags & HAS_ROW ? (uint32_t)packed_number_get(&at) : 0;
    if (flags & IS_FRAME)
        span->self_ns = reader->packed->frames.items[packed_number_get(&at)].self_ns;
    bytes_pass(&reader->rows, at);
    return open_span(reader);
}
