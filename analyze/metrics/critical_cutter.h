/* SPDX-License-Identifier: Apache-2.0 */
/* What cutting lanes into pieces keeps, and the part of it that waits of streams have. Pure. */
#ifndef OPTRACE_ANALYZE_METRICS_CRITICAL_CUTTER_H
#define OPTRACE_ANALYZE_METRICS_CRITICAL_CUTTER_H

#include "analyze/metrics/critical_path.h"
#include "analyze/metrics/host_waits.h"

struct cut {
    uint32_t lane;
    int64_t time_ns;
};

struct cutter {
    struct critical_path *path;
    ARRAY_OF(struct cut) cuts; /* where a thread launched something; by lane and time */
    size_t next_cut;
    uint32_t *ended; /* pieces by end, earlier ones aside: first those of devices alone, then all */
    size_t device_count;
    struct span_range *ranges; /* pieces of each lane */
    ARRAY_OF(uint32_t) open;   /* spans of the thread */
    bool lacks_earlier;        /* more is asked for of earlier parts than is known */
    struct stream_waits waits;
    ARRAY_OF(int64_t) records;      /* when threads recorded events, where parts ask for it */
    uint32_t *piece_of_wait;        /* beside waits.waits; SPAN_NONE: outside of the run */
    uint32_t *piece_of_op;          /* beside the spans */
    size_t next_wait;               /* of the lane */
    struct awaited_streams streams; /* of one call */
    ARRAY_OF(uint32_t) awaited;     /* pieces that it waited for */
};

static inline const struct span *cutter_span(const struct cutter *cutter, uint32_t place)
{
    return &cutter->path->answer->spans.items[place];
}

/** Adds a piece. Returns 0 or -ENOMEM. */
static inline int cutter_push(struct cutter *cutter, int64_t start_ns, int64_t end_ns,
                              uint32_t span, bool is_wait, uint32_t cross)
{
    struct path_piece piece = {.start_ns = start_ns,
                               .end_ns = end_ns,
                               .span = span,
                               .before = SPAN_NONE,
                               .cross = cross,
                               .is_wait = is_wait};

    return array_push(&cutter->path->pieces, piece);
}

/** The lane of a piece, also of an earlier part. */
static inline uint32_t cutter_lane(const struct cutter *cutter, uint32_t piece)
{
    return critical_path_lane(cutter->path, piece);
}

/** The last of earlier parts that pieces of a lane depend on. */
static inline struct lane_ends cutter_earlier_ends(const struct cutter *cutter, size_t lane)
{
    static const struct lane_ends none = {SPAN_NONE, SPAN_NONE, SPAN_NONE, INT64_MIN};

    return cutter->path->earlier ? cutter->path->earlier->ends[lane] : none;
}

/* --- Waits of streams: critical_waits.c --- */

/** Before anything is cut, behind the earlier pieces: adds those of them that waits are for, and which had
 *  ended. Returns 0 or -ENOMEM. */
int cutter_find_waits(struct cutter *cutter);

/** Pushes the waits that come before an op of a device. cutter->next_wait is of its lane. Return 0 or
 *  -ENOMEM. */
int cutter_push_waits_before(struct cutter *cutter, uint32_t op);
/** The rest of the lane's. */
int cutter_push_last_waits(struct cutter *cutter, uint32_t lane);

/** Once all lanes of devices are cut: when waits end. Returns 0 or -ENOMEM. */
int cutter_place_waits(struct cutter *cutter);

/** The last piece of a stream up to where it was to be waited for, also in an earlier part; or SPAN_NONE.
 *  end: what stream_waits_end() says of that time. */
uint32_t cutter_last_piece(struct cutter *cutter, uint32_t lane, struct stream_end end,
                           int64_t until_ns);

/** Fills what was launched last on lanes, and when. Returns 0 or -ENOMEM. */
int cutter_find_issued(struct cutter *cutter, struct lane_ends *ends);

#endif
