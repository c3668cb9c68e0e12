/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans as most exports need them: lane by lane, each in the order of query_spans(), with the places
 * that they have there. They are taken in parts and kept in a dozen bytes each.
 *
 *     packed_begin(&packed, spans); packed_take(&packed, part) ...; packed_finish(&packed);
 *     packed_read(&packed, lane, &reader); while (packed_next(&reader)) ... reader.span ...
 *     packed_reader_deinit(&reader);
 */
#ifndef OPTRACE_ANALYZE_EXPORT_PACKED_H
#define OPTRACE_ANALYZE_EXPORT_PACKED_H

#include "analyze/export/bytes.h"
#include "analyze/query/spans.h"
#include "base/progress.h"

/* A span; what is not said is as in struct span. */
struct packed_span {
    int64_t start_ns, dur_ns, self_ns, kern_ns, bytes;
    uint32_t place, op, lane, run;
    uint32_t parent, shown_parent; /* the nearest one around it that is shown */
    uint32_t depth;
    uint32_t row; /* as of export_rows; 0 of what is not shown */
    bool is_shown, is_device;
    bool launches;         /* of a host span: what runs on a device */
    bool counts_on_device; /* what it launched is of the same op */
    uint32_t launch;       /* of a device span: place of its launch, or SPAN_NONE; only then: */
    int64_t launch_start_ns;
    uint32_t launch_lane, launch_row;
    bool launch_is_shown;
};

/* Spans that come in their order. */
struct packed_rows {
    struct bytes rows;
    size_t count;
    struct {
        int64_t start_ns;
        uint32_t op, run, order;
        uint32_t launch_lane, launch; /* number of the launch on its lane */
    } last;                           /* what the next one is told against */
};

/* What a host asks a stream to wait for stands where it was asked for, in an earlier part than what the
 * stream does then: such waits are kept aside, and find their places when both are read. */
struct packed_lane {
    struct packed_rows spans, waits;
    uint32_t first;     /* place of its first span, once all are there */
    uint32_t row_count; /* as of export_rows */
    bool is_device;
};

/* A call that recorded an event, for which streams of later parts may wait. */
struct packed_record {
    uint32_t order, lane, number; /* in the order of the store; which span of its lane it is */
    uint16_t row;
    bool launches; /* something was seen that waits for it, or that it launched */
};

/* One that launches nothing in its own part. */
struct packed_late {
    uint32_t lane, number;
};

/* A span that was in several parts. */
struct packed_frame {
    int64_t start_ns, dur_ns, self_ns;
    uint32_t lane, row;
};

struct packed_spans {
    struct packed_lane *lanes;
    size_t lane_count, count;
    ARRAY_OF(struct packed_frame) frames;
    ARRAY_OF(struct packed_record) records; /* by order */
    ARRAY_OF(struct packed_late) late;      /* by lane and number, once all are there */
    struct progress *progress;              /* says how far reading them again is; or NULL */
    uint32_t *lanes_until; /* beside ops: behind the last lane that has a span of it; 0: none has */
    bool *is_wait;         /* beside ops: of a stream, if it is on a device's lane */
    bool *is_record;       /* beside ops: calls that record events */
    bool has_waits;        /* there are such ops */
};

/** Returns 0 or -ENOMEM; what was taken before is forgotten. packed_deinit() is right after {0}, too.
 *
 *  packed  a struct packed_spans, as struct span_parts hands it on */
int packed_begin(void *packed, const struct spans_answer *spans);
/** Returns 0, SPAN_PARTS_WHOLE or -ENOMEM. */
int packed_take(void *packed, struct spans_answer *part);
/** Returns 0 or -ENOMEM. */
int packed_finish(struct packed_spans *packed);
/** One that never ended, which is in no lane and has no place. */
struct packed_span packed_unfinished(const struct spans_answer *spans, const struct span *span);
void packed_deinit(struct packed_spans *packed);

/* A span that is open. */
struct packed_open {
    uint32_t place, shown; /* shown: its own place, or the nearest around it that is shown */
    uint32_t row;          /* of that one */
};

/* One after the other of packed_rows. */
struct packed_cursor {
    struct packed_span span;
    struct bytes_reader rows;
    uint32_t launch_lane, launch, order;
    bool is_mark;
    bool is_there; /* span has been read and not been told yet */
};

struct packed_row; /* what is open in a row of a viewer */

struct packed_reader {
    struct packed_span span;
    const struct packed_spans *packed;
    const struct packed_lane *lane;
    struct packed_cursor spans, waits;
    ARRAY_OF(struct packed_open) open;    /* around the span at hand, and itself */
    ARRAY_OF(struct packed_row *) viewed; /* rows, where there are waits */
    uint32_t next;
    size_t next_late;
    int rc; /* -ENOMEM: it ended too early */
};

void packed_read(const struct packed_spans *packed, size_t lane, struct packed_reader *out_reader);
/** The next span of the lane in reader->span; false behind the last one, and without memory. */
bool packed_next(struct packed_reader *reader);
/** Returns reader->rc. */
int packed_reader_deinit(struct packed_reader *reader);

#endif
