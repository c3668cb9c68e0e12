/* SPDX-License-Identifier: Apache-2.0 */
/* For who records many spans with given times, as client/inject does those of devices. */
#ifndef OPTRACE_CLIENT_RECORD_H
#define OPTRACE_CLIENT_RECORD_H

#include <stdint.h>

/**
 * As optrace_record() of a span with OPTRACE_EVENT_REALTIME, without what that asks of other kinds.
 *
 * op        not 0
 * lane_run  ot_lane_run()
 * start     at most `end`, which is at most INT64_MAX
 *
 * Returns 0, also when off, or -ENOBUFS: dropped, and counted.
 */
int ot_record_span(uint32_t op, uint64_t lane_run, uint64_t start, uint64_t end,
                   uint64_t correlation);

/** The lane, which is not 0, and the run; 0: none. */
static inline uint64_t ot_lane_run(uint32_t lane, uint32_t run)
{
    return lane | (uint64_t)run << 32;
}

#endif
