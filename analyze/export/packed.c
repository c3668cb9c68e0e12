/* SPDX-License-Identifier: Apache-2.0 */
/* A row of bytes for each span: its flags, then numbers, most of them against the span before. */
#include "analyze/export/packed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/export/rows.h"
#include "base/sorted.h"

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
    IS_MARK = 1 << 10,
    NUMBERS_MAX = 16,
};

int packed_begin(void *user, const struct spans_answer *spans)
{
    struct packed_spans *packed = user;

    packed_deinit(packed);
    packed->lane_count = spans->lanes.count;
    packed->lanes = calloc(packed->lane_count + 1, sizeof(*packed->lanes));
    packed->lanes_until = calloc(spans->ops.count + 1, sizeof(*packed->lanes_until));
    packed->is_wait = calloc(spans->ops.count + 1, sizeof(*packed->is_wait));
    packed->is_record = calloc(spans->ops.count + 1, sizeof(*packed->is_record));
    if (!packed->lanes || !packed->lanes_until || !packed->is_wait || !packed->is_record)
        return -ENOMEM;
    for (size_t i = 0; i < spans->ops.count; i++) {
        packed->is_wait[i] = spans_op_waits(spans, i);
        packed->is_record[i] = spans_op_records(spans, i);
        packed->has_waits |= packed->is_wait[i];
    }
    for (size_t i = 0; i < packed->lane_count; i++)
        packed->lanes[i].is_device = spans->lanes.items[i].side == OP_DEVICE;
    return 0;
}

void packed_deinit(struct packed_spans *packed)
{
    for (size_t i = 0; i < packed->lane_count && packed->lanes; i++) {
        bytes_deinit(&packed->lanes[i].spans.rows);
        bytes_deinit(&packed->lanes[i].waits.rows);
    }
    free(packed->lanes);
    free(packed->lanes_until);
    free(packed->is_wait);
    free(packed->is_record);
    array_deinit(&packed->frames);
    array_deinit(&packed->records);
    array_deinit(&packed->late);
    *packed = (struct packed_spans){0};
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

static unsigned flags_of(const struct taking *taking, const struct packed_rows *rows,
                         const struct span *span)
{
    unsigned flags = span->depth > 0 ? IS_NESTED : 0;

    if (span->run != rows->last.run || !rows->count)
        flags |= IS_OF_OTHER_RUN;
    if (span->kern_ns != STORE_NULL)
        flags |= HAS_KERN;
    if (span->launch != SPAN_NONE)
        flags |= HAS_LAUNCH;
    if (!taking->packed->lanes[span->lane].is_device && counts_on_device(taking->part, span))
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
    if (taking->part->op_kinds[span->op] == SPAN_MARK)
        flags |= IS_MARK;
    return flags;
}

static uint32_t number_of(const struct taking *taking, const struct span *span)
{
    return taking->before[span->lane] +
           (uint32_t)(span_place(taking->part, span) - taking->part->ranges[span->lane].first);
}

/* What a wait is for, of an earlier part; or NULL. */
static struct packed_record *find_record(const struct packed_spans *packed,
                                         const struct spans_answer *part, const struct span *span)
{
    const uint32_t order = part->spans.items[span->launch].order;
    struct packed_record *items = packed->records.items;
    const size_t count = packed->records.count;
    const size_t at = search_past(0, count, i, items[i].order < order);

    return at < count && items[at].order == order ? &items[at] : NULL;
}

static uint8_t *put_launch(const struct taking *taking, struct packed_rows *rows,
                           const struct span *span, uint8_t *at)
{
    const struct span *launch = &taking->part->spans.items[span->launch];
    const bool is_earlier = span->launch >= taking->part->spans.count;
    const struct packed_record *record =
        is_earlier ? find_record(taking->packed, taking->part, span) : NULL;
    const uint32_t number = record ? record->number : number_of(taking, launch);
    const uint16_t row = record ? record->row : taking->rows[span->launch];

    at = packed_number_put(at, bytes_fold((int64_t)launch->lane - rows->last.launch_lane));
    at = packed_number_put(at, bytes_fold((int64_t)number - rows->last.launch));
    at = packed_number_put(at, bytes_step(span->start_ns, launch->start_ns));
    at = packed_number_put(at, (uint64_t)row << 1 | launch->is_shown);
    rows->last.launch_lane = launch->lane;
    rows->last.launch = number;
    return at;
}

static int put_span(struct taking *taking, struct packed_rows *rows, const struct span *span)
{
    const bool is_device = taking->packed->lanes[span->lane].is_device;
    unsigned flags = flags_of(taking, rows, span);
    uint8_t *at = bytes_reserve(&rows->rows, NUMBERS_MAX * PACKED_NUMBER_MAX);

    if (!at)
        return -ENOMEM;
    at = packed_number_put(at, flags);
    at = packed_number_put(at, (uint64_t)span->start_ns -
                                   (uint64_t)rows->last.start_ns); /* they are in order */
    at = packed_number_put(at, (uint64_t)span->dur_ns);
    at = packed_number_put(at, bytes_fold((int64_t)span->op - rows->last.op));
    if (flags & IS_NESTED)
        at = packed_number_put(at, span->depth);
    if (flags & IS_OF_OTHER_RUN)
        at = packed_number_put(at, span->run);
    if (flags & HAS_KERN)
        at = packed_number_put(at, (uint64_t)span->kern_ns);
    if (flags & HAS_LAUNCH && is_device)
        at = put_launch(taking, rows, span, at);
    if (flags & HAS_INNER)
        at = packed_number_put(at, (uint64_t)span->self_ns);
    if (flags & HAS_BYTES)
        at = packed_number_put(at, bytes_fold(span->bytes));
    if (flags & HAS_ROW)
        at = packed_number_put(at, taking->rows[span_place(taking->part, span)]);
    if (flags & IS_FRAME)
        at = packed_number_put(at, taking->packed->frames.count - 1);
    if (is_device && taking->packed->has_waits)
        at = packed_number_put(at, bytes_fold((int64_t)span->order - rows->last.order));
    bytes_commit(&rows->rows, at);
    rows->last.start_ns = span->start_ns;
    rows->last.op = span->op;
    rows->last.run = span->run;
    rows->last.order = span->order;
    if (taking->packed->lanes_until[span->op] <= span->lane)
        taking->packed->lanes_until[span->op] = span->lane + 1;
    rows->count++;
    return 0;
}

/* Whether a wait that is of another part may lie in it. */
static bool may_hold_others(const struct spans_answer *part, const struct span *span)
{
    return (part->op_kinds[span->op] == SPAN_LABEL || span->correlation == STORE_NULL) &&
           (span->start_ns < part->from_ns || span->start_ns + span->dur_ns > part->until_ns);
}

/* Keeps where a record is. Threads tell of theirs in turn, each in order. */
static int note_record(struct taking *taking, const struct span *span)
{
    const struct packed_record record = {.order = span->order,
                                         .lane = span->lane,
                                         .number = number_of(taking, span),
                                         .row = taking->rows[span_place(taking->part, span)],
                                         .launches = span->launch != SPAN_NONE};
    struct packed_spans *packed = taking->packed;
    struct packed_record *items;
    size_t place;

    if (array_push(&packed->records, record) < 0)
        return -ENOMEM;
    items = packed->records.items;
    for (place = packed->records.count - 1; place > 0 && items[place - 1].order > record.order;
         place--)
        items[place] = items[place - 1];
    items[place] = record;
    return 0;
}

/* A wait for what an earlier part recorded. */
static int note_wait(struct packed_spans *packed, const struct spans_answer *part,
                     const struct span *span)
{
    struct packed_record *record = find_record(packed, part, span);
    const bool launches = record && record->launches;

    if (!record)
        return SPAN_PARTS_WHOLE;
    record->launches = true;
    return launches
               ? 0
               : array_push(&packed->late, ((struct packed_late){record->lane, record->number}));
}

static int take_span(struct taking *taking, const struct span *span)
{
    struct packed_spans *packed = taking->packed;
    struct packed_lane *lane = &packed->lanes[span->lane];
    const bool is_wait = lane->is_device && packed->is_wait[span->op];
    struct packed_rows *rows = is_wait ? &lane->waits : &lane->spans;
    int rc = 0;

    if (rows->count && span->start_ns < rows->last.start_ns)
        return SPAN_PARTS_WHOLE;
    if (lane->is_device && packed->has_waits && may_hold_others(taking->part, span))
        return SPAN_PARTS_WHOLE;
    if (is_wait && span->launch != SPAN_NONE && span->launch >= taking->part->spans.count)
        rc = note_wait(packed, taking->part, span);
    else if (!lane->is_device && packed->has_waits && packed->is_record[span->op])
        rc = note_record(taking, span);
    return rc ? rc : put_span(taking, rows, span);
}

/* One that is here again has no row of bytes: it is open still where the next ones are read. */
static int take_frame(struct taking *taking, const struct span *span)
{
    struct packed_spans *packed = taking->packed;
    const struct packed_frame added = {span->start_ns, span->dur_ns, span->self_ns, span->lane,
                                       taking->rows[span_place(taking->part, span)]};
    int rc;

    for (size_t i = packed->frames.count; i-- > 0 && span->frame == SPAN_FRAME_AGAIN;) {
        struct packed_frame *frame = &packed->frames.items[i];

        if (!span_is_at(span, frame->lane, frame->start_ns, frame->dur_ns))
            continue;
        frame->self_ns += span->self_ns;
        return frame->row == added.row ? 0 : SPAN_PARTS_WHOLE;
    }
    rc = array_push(&packed->frames, added);
    return rc ? rc : take_span(taking, span);
}

/* How many spans of each lane were there before; those that are here again come first on theirs. */
static void count_before(struct taking *taking, uint32_t *before)
{
    const struct spans_answer *part = taking->part;

    for (size_t i = 0; i < taking->packed->lane_count; i++) {
        const struct span *first = &part->spans.items[part->ranges[i].first];

        before[i] = (uint32_t)taking->packed->lanes[i].spans.count;
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

        rc = span->frame ? take_frame(&taking, span) : take_span(&taking, span);
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

static int compare_late(const void *a, const void *b)
{
    const struct packed_late *left = a, *right = b;

    if (left->lane != right->lane)
        return left->lane < right->lane ? -1 : 1;
    return (left->number > right->number) - (left->number < right->number);
}

static struct packed_cursor begin_rows(const struct packed_rows *rows, uint32_t lane,
                                       bool is_device)
{
    return (struct packed_cursor){.span = {.lane = lane, .is_device = is_device},
                                  .rows = bytes_read(&rows->rows)};
}

void packed_read(const struct packed_spans *packed, size_t lane, struct packed_reader *out_reader)
{
    const struct packed_lane *from = &packed->lanes[lane];

    *out_reader = (struct packed_reader){
        .packed = packed,
        .lane = from,
        .spans = begin_rows(&from->spans, (uint32_t)lane, from->is_device),
        .waits = begin_rows(&from->waits, (uint32_t)lane, from->is_device),
        .next = from->first,
    };
}

static void read_launch(const struct packed_spans *packed, struct packed_cursor *cursor,
                        const uint8_t **at)
{
    struct packed_span *span = &cursor->span;
    uint64_t row;

    cursor->launch_lane += (uint32_t)bytes_unfold(packed_number_get(at));
    cursor->launch += (uint32_t)bytes_unfold(packed_number_get(at));
    span->launch_lane = cursor->launch_lane;
    span->launch = packed->lanes[cursor->launch_lane].first + cursor->launch;
    span->launch_start_ns = bytes_after(span->start_ns, packed_number_get(at));
    row = packed_number_get(at);
    span->launch_row = (uint32_t)(row >> 1);
    span->launch_is_shown = row & 1;
}

/* What of a span its own bytes tell. */
static void read_row(const struct packed_spans *packed, struct packed_cursor *cursor)
{
    const uint8_t *at = bytes_row(&cursor->rows);
    struct packed_span *span = &cursor->span;
    unsigned flags;

    cursor->is_there = at != NULL;
    if (!at)
        return;
    flags = (unsigned)packed_number_get(&at);
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
        read_launch(packed, cursor, &at);
    span->counts_on_device = flags & COUNTS_ON_DEVICE;
    span->self_ns = flags & HAS_INNER ? (int64_t)packed_number_get(&at) : span->dur_ns;
    span->bytes = flags & HAS_BYTES ? bytes_unfold(packed_number_get(&at)) : STORE_NULL;
    span->is_shown = !(flags & IS_HIDDEN);
    cursor->is_mark = flags & IS_MARK;
    span->row = flags & HAS_ROW ? (uint32_t)packed_number_get(&at) : 0;
    if (flags & IS_FRAME)
        span->self_ns = packed->frames.items[packed_number_get(&at)].self_ns;
    if (span->is_device && packed->has_waits)
        cursor->order += (uint32_t)bytes_unfold(packed_number_get(&at));
    bytes_pass(&cursor->rows, at);
}

/* As span_compare_places() has it. */
static bool is_first(const struct packed_cursor *a, const struct packed_cursor *b)
{
    if (a->span.start_ns != b->span.start_ns)
        return a->span.start_ns < b->span.start_ns;
    if (a->span.dur_ns != b->span.dur_ns)
        return a->span.dur_ns > b->span.dur_ns;
    return a->order > b->order;
}

/* The next one of both, or NULL. */
static struct packed_cursor *choose(struct packed_reader *reader)
{
    struct packed_cursor *spans = &reader->spans, *waits = &reader->waits;

    if (!spans->is_there)
        read_row(reader->packed, spans);
    if (!waits->is_there && reader->lane->waits.count)
        read_row(reader->packed, waits);
    if (!waits->is_there || (spans->is_there && is_first(spans, waits)))
        return spans->is_there ? spans : NULL;
    return waits;
}

/* It lies in the spans that are open, as deep as it says. */
static bool open_span(struct packed_reader *reader)
{
    struct packed_span *span = &reader->span;
    struct packed_open open = {span->place, span->place, span->row};

    reader->open.count = span->depth;
    span->parent = span->shown_parent = SPAN_NONE;
    if (span->depth) {
        const struct packed_open *around = &reader->open.items[span->depth - 1];

        span->parent = around->place;
        span->shown_parent = around->shown;
        if (!span->is_shown)
            open.row = around->row;
    }
    if (!span->is_shown)
        open.shown = span->shown_parent;
    reader->rc = array_push(&reader->open, open);
    return reader->rc == 0;
}

/* --- Rows of viewers, where waits stand among what a stream does: as export_rows has them. --- */

struct packed_row {
    struct row_open {
        uint32_t place;
        int64_t end_ns;
    } * items;
    size_t count, capacity;
};

static bool fits(struct packed_row *row, const struct packed_span *span)
{
    while (row->count && row->items[row->count - 1].end_ns <= span->start_ns)
        row->count--;
    return !row->count || row->items[row->count - 1].place == span->shown_parent;
}

static int place_span(struct packed_reader *reader)
{
    struct packed_span *span = &reader->span;
    size_t row = span->shown_parent == SPAN_NONE ? 0 : reader->open.items[span->depth - 1].row;

    while (row < reader->viewed.count && !fits(reader->viewed.items[row], span) &&
           row < EXPORT_ROWS_MAX)
        row++;
    if (row == reader->viewed.count) {
        struct packed_row *added = calloc(1, sizeof(*added));

        if (!added || array_push(&reader->viewed, added) < 0) {
            free(added);
            return -ENOMEM;
        }
    }
    span->row = (uint32_t)row;
    reader->open.items[span->depth].row = span->row;
    return array_push(reader->viewed.items[row],
                      ((struct row_open){span->place, span->start_ns + span->dur_ns}));
}

int packed_reader_deinit(struct packed_reader *reader)
{
    for (size_t i = 0; i < reader->viewed.count; i++) {
        array_deinit(reader->viewed.items[i]);
        free(reader->viewed.items[i]);
    }
    array_deinit(&reader->viewed);
    array_deinit(&reader->open);
    return reader->rc;
}

/* Whether a later part has something that waits for a span of a thread. */
static void find_late(struct packed_reader *reader)
{
    const struct packed_spans *packed = reader->packed;
    const struct packed_late here = {reader->span.lane, reader->span.place - reader->lane->first};

    while (reader->next_late < packed->late.count &&
           compare_late(&packed->late.items[reader->next_late], &here) < 0)
        reader->next_late++;
    reader->span.launches |= reader->next_late < packed->late.count &&
                             compare_late(&packed->late.items[reader->next_late], &here) == 0;
}

bool packed_next(struct packed_reader *reader)
{
    struct packed_cursor *cursor = choose(reader);

    if (!cursor)
        return false;
    reader->span = cursor->span;
    cursor->is_there = false;
    reader->span.place = reader->next++;
    find_late(reader);
    if ((reader->next & 0xfff) == 0)
        progress_share(reader->packed->progress, "writing events", reader->next,
                       reader->packed->count);
    if (!open_span(reader))
        return false;
    if (reader->lane->waits.count && reader->span.is_shown && !cursor->is_mark)
        reader->rc = place_span(reader);
    return reader->rc == 0;
}

/* How many rows a viewer needs. */
static int count_rows(const struct packed_spans *packed, size_t lane, uint32_t *out_count)
{
    struct packed_reader reader;

    packed_read(packed, lane, &reader);
    while (packed_next(&reader))
        continue;
    *out_count = (uint32_t)reader.viewed.count;
    return packed_reader_deinit(&reader);
}

int packed_finish(struct packed_spans *packed)
{
    struct progress *progress = packed->progress;
    int rc = 0;

    if (packed->late.count)
        qsort(packed->late.items, packed->late.count, sizeof(*packed->late.items), compare_late);
    for (size_t i = 0; i < packed->lane_count; i++) {
        packed->lanes[i].first = (uint32_t)packed->count;
        packed->count += packed->lanes[i].spans.count + packed->lanes[i].waits.count;
    }
    packed->progress = NULL;
    for (size_t i = 0; i < packed->lane_count && rc == 0; i++) {
        if (packed->lanes[i].waits.count)
            rc = count_rows(packed, i, &packed->lanes[i].row_count);
    }
    packed->progress = progress;
    return rc;
}
