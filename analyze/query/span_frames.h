/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labels and ops around much of a recording. A store tells of a span when it ends: one that was open from
 * the beginning would keep all else from being cut into parts. They are found before, in the few
 * batches that begin before the ones in front of them, and put into each part that they reach into. So is
 * what is open on threads where a part ends, where of many threads one is always in something.
 */
#ifndef OPTRACE_ANALYZE_QUERY_SPAN_FRAMES_H
#define OPTRACE_ANALYZE_QUERY_SPAN_FRAMES_H

#include "analyze/query/private.h"
#include "analyze/query/span_bins.h"
#include "analyze/query/spans.h"

struct frame {
    int64_t rowid, run; /* run: its number, or STORE_NULL */
    struct span span;   /* without run and order */
    bool is_handed;     /* to some part */
    int64_t self_ns;    /* in the parts so far */
    int64_t own_ns;     /* the same of the time of an op */
    bool is_op;
    bool holds;      /* an op or a phase that takes time */
    bool will_hold;  /* so it was told */
    bool was_opened; /* in the last part, for the first time */
};

struct frames {
    ARRAY_OF(struct frame) items;  /* by rowid */
    size_t reached;                /* the rows of so many have come */
    ARRAY_OF(struct frame) opened; /* where a part ended, and not passed yet */
    bool *may_be_open;             /* beside ops: they are taken */
    bool is_unsound;               /* one that is passed was not what it was told to be */
};

/** Of an answer that has ops and lanes; `frames` is {0}. Returns 0 or -ENOMEM; frames_deinit() is right
 *  after either. */
int frames_init(struct frames *frames, const struct spans_answer *answer,
                enum span_frames_taken taken);

/**
 * Finds them, and moves the start_ns of their batches behind them.
 *
 * answer  has ops and lanes
 *
 * Returns 0 or a negative errno with a sentence.
 */
int frames_find(struct store *store, const struct scan *scan, const struct spans_answer *answer,
                struct row_limits *limits, struct frames *frames, struct diag *diag);
/** As before the first part. */
void frames_restart(struct frames *frames);

/** Whether that row is the next of them. */
static inline bool frames_is_next(const struct frames *frames, int64_t rowid)
{
    return frames->reached < frames->items.count &&
           frames->items.items[frames->reached].rowid == rowid;
}

/** Adds to the spans of a part from one time until another those that reach into it. Returns how
 *  many, or -ENOMEM. */
int frames_put(struct frames *frames, int64_t from_ns, int64_t until_ns, struct spans_answer *part);
/** Until when lanes are in ops of earlier parts: out_until_ns is beside lanes. */
void frames_reach(const struct frames *frames, int64_t *out_until_ns, size_t lane_count);

/** Makes some of what the spans of a part have on threads beyond its end. Behind frames_put(). Returns 0,
 *  SPAN_PARTS_WHOLE where there are too many, or two at the same time, or -ENOMEM. */
int frames_open(struct frames *frames, int64_t until_ns, struct spans_answer *part);

/** Once the part's tree is built.
 *
 *  behind  what is not handed over yet */
void frames_add_self(struct frames *frames, const struct span_bins *behind,
                     struct spans_answer *part);
/** After the last part: whether all came as rows, what is in them did not take longer than they did,
 *  and there is some in ops. Else parts were not what they should be. */
bool frames_are_sound(const struct frames *frames);
/** Where they are not: whether they would be, now that it is known which hold something. */
bool frames_learn(struct frames *frames);
void frames_deinit(struct frames *frames);

#endif
