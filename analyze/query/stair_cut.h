/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cuts where a device is never idle. A host that is ahead has launched what runs long after: whoever
 * cuts at one time finds launches on one side and what they launched on the other. Here threads are cut at
 * one time, and each lane of a device where what was launched until then ends. Of many threads some is
 * always in something: there what is open at that time is in both parts (span_frames.h).
 */
#ifndef OPTRACE_ANALYZE_QUERY_STAIR_CUT_H
#define OPTRACE_ANALYZE_QUERY_STAIR_CUT_H

#include "analyze/query/launch_key.h"
#include "analyze/query/span_bins.h"

struct stair_cut {
    int64_t host_ns;                       /* of all threads */
    int64_t *lanes_ns;                     /* beside lanes; of threads host_ns */
    int64_t *in_op_until_ns;               /* beside lanes: what was open at earlier ones goes on */
    struct launch_key last_key[KEY_KINDS]; /* of launches before it */
    bool *is_wait;    /* beside ops: asked for by a thread, on a device's lane */
    bool parts_waits; /* a wait may be behind a cut that its record is before */
    const bool
        *may_be_open;  /* beside ops: spans of threads may lie on both sides; NULL: none may */
    bool opens_leaves; /* also those in which nothing has ended yet */
    bool opens;        /* some were open where one was cut: there is hardly another way next */
    bool *launches;    /* beside ops: calls of which some have launched something */
    bool *is_record;   /* beside ops: what a device recorded within a graph */
    bool has_records;  /* there are such: waits, too, are within graphs, of which all runs later */
    size_t lane_count;
};

/** Of an answer that has ops and lanes. Returns 0 or -ENOMEM; stair_cut_deinit() is right after either. */
int stair_cut_init(struct stair_cut *cut, const struct spans_answer *answer);
void stair_cut_deinit(struct stair_cut *cut);

/** As before the first part. */
void stair_cut_restart(struct stair_cut *cut);

/**
 * Looks for the next one.
 *
 * later_ns    all that begin before are there
 * is_patient  lanes whose next spans are not there may have some that belong before the cut
 *
 * Returns false where it was not found soon; then `cut` is as it was.
 */
bool stair_cut_find(struct stair_cut *cut, const struct span_bins *bins,
                    const struct spans_answer *answer, int64_t later_ns, bool is_patient);

/** Whether a span is before it. */
bool stair_cut_is_before(const struct stair_cut *cut, const struct spans_answer *answer,
                         const struct span *span);

/** Whether a span that comes later is one that should have been there. */
bool stair_cut_is_late(const struct stair_cut *cut, const struct span *span);

/** Spans behind it begin then or later. */
int64_t stair_cut_settled_ns(const struct stair_cut *cut);

/** Whether a span tells by its number on which side of a cut it is. */
static inline bool stair_cut_has_key(const struct stair_cut *cut, const struct span *span)
{
    return span->correlation != STORE_NULL &&
           (!cut->is_wait[span->op] || !cut->parts_waits || cut->has_records);
}

/** Whether a cut of all lanes at one time has what is launched on the side of its launch. */
bool stair_cut_parts_launches(const struct stair_cut *cut, const struct span_bins *bins,
                              const struct spans_answer *answer, int64_t cut_ns);
/** Whether all is there that threads launched before it, as far as they did with calls that have launched
 *  something before: a stream of which nothing is there may have it still to do. */
bool stair_cut_has_arrived(struct stair_cut *cut, const struct span_bins *bins,
                           const struct spans_answer *answer, int64_t cut_ns);
/** Such a cut. */
void stair_cut_straight(struct stair_cut *cut, int64_t cut_ns);

#endif
