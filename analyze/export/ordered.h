/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans that are shown in the order in which the store has them, for what writes a store: taken in
 * parts and kept in a dozen bytes each.
 *
 *     ordered_begin(&ordered, spans); ordered_take(&ordered, part) ...;
 *     reader = ordered_read(&ordered); while (ordered_next(&reader)) ... reader.span ...
 */
#ifndef OPTRACE_ANALYZE_EXPORT_ORDERED_H
#define OPTRACE_ANALYZE_EXPORT_ORDERED_H

#include "analyze/export/bytes.h"
#include "analyze/query/spans.h"
#include "base/progress.h"

/* As in struct span. */
struct ordered_span {
    int64_t start_ns, dur_ns, kern_ns, correlation, bytes;
    uint32_t op, lane, run, order;
};

struct ordered_spans {
    struct bytes rows;
    struct ordered_span last; /* what the next one is told against */
    uint32_t next;            /* all spans before this one in the order have been put */
    ARRAY_OF(uint32_t)
    known;                      /* from `next` on: place in `kept`, behind its end in the part at
                                 hand; SPAN_NONE: in none so far */
    ARRAY_OF(struct span) kept; /* of earlier parts */
    ARRAY_OF(struct span)
    frames;                    /* those that are shown of what is in several parts, each once */
    size_t frame_count;        /* so many of part->frames have been passed */
    struct progress *progress; /* says how far reading them again is; or NULL */
};

/** Forgets what was taken before, and returns 0.
 *
 *  ordered  a struct ordered_spans, as struct span_parts hands it on */
int ordered_begin(void *ordered, const struct spans_answer *spans);
/** Leaves out spans with `frame`, which are in spans->frames in the end. Returns 0 or -ENOMEM. */
int ordered_take(void *ordered, struct spans_answer *part);
/** Whether one of spans->frames is shown. */
bool ordered_shows(const struct ordered_spans *ordered, const struct span *frame);
void ordered_deinit(struct ordered_spans *ordered);

struct ordered_reader {
    struct ordered_span span;
    const struct ordered_spans *ordered;
    struct bytes_reader rows;
    int64_t correlation; /* the last one that is known */
};

struct ordered_reader ordered_read(const struct ordered_spans *ordered);
bool ordered_next(struct ordered_reader *reader);

#endif
