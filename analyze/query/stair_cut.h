/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cuts where a device is never idle. A host that is ahead has launched what runs long after: whoever
 * cuts at one time finds launches on one side and what they launched on the other. Here threads are cut at
 * one time, and each lane of a device where what was launched until then ends.
 */
#ifndef OPTRACE_ANALYZE_QUERY_STAIR_CUT_H
#define OPTRACE_ANALYZE_QUERY_STAIR_CUT_H

#include "analyze/query/launch_key.h"
#include "analyze/query/span_bins.h"

struct stair_cut {
    int64_t host_ns;                       /* of all threads */
    int64_t *lanes_ns;                     /* beside lanes; of threads host_ns */
    struct launch_key last_key[KEY_KINDS]; /* of launches before it */
    bool *is_wait;    /* beside ops: asked for by a thread, on a device's lane */
    bool has_records; /* some op is recorded on a device, within graphs */
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

/** Whether a cut of all lanes at one time has what is launched on the side of its launch. */
bool stair_cut_parts_launches(const struct span_bins *bins, const struct spans_answer *answer,
                              int64_t cut_ns);
/** Such a cut. */
void stair_cut_straight(struct stair_cut *cut, int64_t cut_ns);

#endif
