/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The critical path through one run: at each moment, who the end of the run waited for; and when
 * the run would end if some ops took another time. Pure: no SQL.
 *
 * Lanes are cut into pieces: on a thread a piece is part of the innermost operator, on a device a
 * whole one. A piece begins after those it depends on:
 *   - the piece before it on its lane;
 *   - on a device, the end of the call that launched it (or its own start, within that call);
 *   - what its stream waits for since what was launched before it (stream_waits.h): such a wait is
 *     a piece without length, behind the piece before it on its lane and the last one of the stream
 *     that recorded the event;
 *   - the rest of a call that waits (...Synchronize), the last piece of each stream that it waits
 *     for (host_waits.h), by a piece without length for each; of a copy that blocks, or where it is
 *     not known which streams, the last piece of a device that ended in it and was launched before;
 *   - after a gap of a thread, a piece of another lane that ended in the last tenth of the gap;
 *   - the first piece of a lane that no launch explains, what ended last before it anywhere.
 * The one that ended last holds it up; the time in between is kept when the schedule is made anew.
 * Labels, phases and marks are no operators.
 */
#ifndef OPTRACE_ANALYZE_METRICS_CRITICAL_PATH_H
#define OPTRACE_ANALYZE_METRICS_CRITICAL_PATH_H

#include "analyze/query/spans.h"

enum path_step_kind {
    PATH_HOST,    /* in an operator on a thread */
    PATH_DEVICE,  /* in one on a device */
    PATH_LAUNCH,  /* from the launching call to the start of `span` on the device */
    PATH_QUEUE,   /* from the end of what ran before on the same lane of a device, or of what its
                     stream waited for, to `span` */
    PATH_NOTHING, /* nothing recorded: span is SPAN_NONE */
    PATH_STEP_KINDS
};
extern const char *const path_step_names[];

struct path_step {
    int64_t start_ns, end_ns;
    uint32_t span; /* place in the answer's spans */
    enum path_step_kind kind;
};

#define NTH_OF_CALLS UINT32_MAX

struct path_piece {
    int64_t start_ns, end_ns;
    uint32_t span;
    uint32_t before; /* pieces that it depends on, or SPAN_NONE: of its own lane */
    uint32_t cross;  /* of another lane */
    uint32_t nth; /* of a wait of a stream: 1 and up, each after those it may depend on; of what a
                        call waits for NTH_OF_CALLS; else 0 */
    uint32_t clipped_ns; /* of a device: it ended so much later by the clock of that */
    bool is_wait; /* it lasts until the piece that it waits for has ended: no time of its own */
    bool is_launched;
};

/* What pieces of later parts can depend on of a lane: places of pieces, or SPAN_NONE. */
struct lane_ends {
    uint32_t last;     /* the last one of the lane */
    uint32_t ended;    /* the last one by end */
    uint32_t issued;   /* of the op that was launched last, or of a wait that was asked for later */
    int64_t issued_ns; /* when the last of both was asked for; INT64_MIN: there is none */
};

/* What a stream was to do last from a time on, where an event was recorded before it got more to do. */
struct issued_piece {
    int64_t asked_ns;
    int64_t end_ns;       /* INT64_MIN: it is outside of the run */
    uint64_t number : 63; /* among the pieces of all parts, in their order */
    bool is_recorded : 1; /* some event was; else it is the last one, and some may be */
    uint32_t clipped_ns;  /* as that of the piece */
    uint32_t place;       /* of the piece; SPAN_NONE: it had ended when threads were cut */
};
struct issued_pieces {
    struct issued_piece *items; /* in the order of time */
    size_t count, capacity;
    size_t first_kept; /* those before it have no place */
};

/* A piece of an earlier part that had ended before this one, and something waits for. What it waited for
 * itself is not known. */
struct recalled_piece {
    uint32_t lane;
    size_t at; /* among what the lane was to do */
    uint64_t number;
};

/* Whether a call of an op waits for devices, once it is known. */
enum op_syncs { OP_SYNCS_UNKNOWN, OP_SYNCS_NOT, OP_SYNCS };

/* Of all parts before one (critical_parts.h). */
struct earlier_pieces {
    const struct path_piece *pieces; /* without what they depend on */
    const uint32_t *lanes;           /* beside them */
    size_t count;
    const struct lane_ends *ends; /* by lane, in `pieces` */
    /* Places of those that a thread of this part may find ended, by end: of each lane the last that had ended
     * when threads were cut, and those that ended later. No waits. */
    const uint32_t *recent;
    size_t recent_count;
    int64_t *open_ns; /* by lane: from when an op of a thread goes on that is in several parts, else
                         INT64_MIN; critical_pieces_make() says it anew for the next part */
    uint32_t *wait_count;         /* of streams; critical_pieces_make() adds those of the part */
    struct issued_pieces *issued; /* by lane; the same */
    const bool *records;  /* beside ops: calls that record events; NULL: nothing waits for such */
    enum op_syncs *syncs; /* beside ops; critical_pieces_make() fills it in */
};

struct critical_path {
    const struct spans_answer *answer;
    int64_t start_ns, end_ns;             /* of the run */
    const struct earlier_pieces *earlier; /* or NULL: the answer is all there is */
    ARRAY_OF(struct path_piece) pieces;   /* first the earlier ones */
    size_t first;                         /* so many are earlier: the last of them are recalled */
    ARRAY_OF(struct recalled_piece) recalled;
    uint32_t *order;                  /* places of pieces that are not earlier, each after those it
                                         depends on */
    struct lane_ends *ends;           /* by lane; NULL without `earlier` */
    ARRAY_OF(uint32_t) recent;        /* for later parts, as in `earlier`; empty without it */
    const uint32_t *classes;          /* beside the spans, of critical_path_classes(); or NULL */
    ARRAY_OF(struct path_step) steps; /* in the order of time, without gaps, from start to end */
};

/** The path through what `answer` has between two times, which is of one session and not flat.
 *  Returns 0 or -ENOMEM; for critical_path_deinit() after either. Outside of its file, for tests. */
int critical_path_make(const struct spans_answer *answer, int64_t start_ns, int64_t end_ns,
                       struct critical_path *out_path);
void critical_path_deinit(struct critical_path *path);

/** Adds a piece and the time before it, since what it waited for last had ended, to the steps: these
 *  come last first, so. *place becomes that of the piece it waited for, or SPAN_NONE. Returns 0 or
 *  -ENOMEM. */
int critical_path_back(struct critical_path *path, uint32_t *place);

/** The piece that a piece waited for last, or SPAN_NONE. */
uint32_t critical_path_holder(const struct critical_path *path, uint32_t place);

/** Whether a piece is a wait of a stream: these are counted. */
static inline bool critical_path_is_counted(const struct path_piece *piece)
{
    return piece->nth && piece->nth != NTH_OF_CALLS;
}

/** The lane of a piece, also of an earlier part. */
static inline uint32_t critical_path_lane(const struct critical_path *path, uint32_t place)
{
    const size_t kept = path->earlier ? path->earlier->count : 0;

    if (place < kept)
        return path->earlier->lanes[place];
    if (place < path->first)
        return path->recalled.items[place - kept].lane;
    return path->answer->spans.items[path->pieces.items[place].span].lane;
}

/** Which ends first, as far as the pieces themselves tell: < 0, 0 or > 0. */
int critical_path_compare_ends(const struct path_piece *a, const struct path_piece *b);

/**
 * How long the run would take, by pieces that are all there; critical_schedule.h tells it of parts. For
 * tests.
 *
 * scales  for each of path->classes, what the self time of spans is multiplied with; >= 0
 *
 * Returns 0 or -ENOMEM.
 */
int critical_path_predict(const struct critical_path *path, const double *scales, double *out_ns);

/** Spreads classes of ops over spans: a span is of that of its op; where that is 0 of that of the
 *  nearest span around it, or on a device around its launch, that is of another. Returns an array
 *  that the caller frees, or NULL without memory. */
uint32_t *critical_path_classes(const struct spans_answer *answer, const uint32_t *of_ops);

#endif
