/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of threads that wait for streams (...Synchronize): for which of them, and for what these
 * were asked to do before. Pure: no SQL.
 *
 * What is known of a call stands in the phase that it has on a device: "Stream Sync" waits for the
 * stream that it lies on, "Context Sync" for all of its device, both for the lanes that
 * params.wait_on_lanes names where there are any; "Event Sync" for what was launched until the
 * event was recorded. Without a phase a call named ...DeviceSynchronize or ...CtxSynchronize waits
 * for all streams, and of others it is not known.
 */
#ifndef OPTRACE_ANALYZE_METRICS_HOST_WAITS_H
#define OPTRACE_ANALYZE_METRICS_HOST_WAITS_H

#include "analyze/metrics/stream_waits.h"

/* All that was launched on a stream before a time. */
struct awaited_stream {
    uint32_t lane;
    int64_t until_ns;
};
struct awaited_streams ARRAY_FIELDS(struct awaited_stream);

/**
 * Adds to `out_streams` what a call waits for. Returns whether that is known, or -ENOMEM.
 *
 * call  place of a span of a thread whose name says that it waits
 */
int host_waits_of(const struct spans_answer *answer, const struct stream_waits *waits,
                  uint32_t call, struct awaited_streams *out_streams);

#endif
