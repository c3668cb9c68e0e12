/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long all lanes of a device together had nothing to do because the host had launched nothing
 * yet: gaps of idle.h with such a cause, less the time in which some other lane of it worked,
 * within the wall time. Pure.
 *
 *     device_idle_begin(), device_idle_add() with each part, device_idle_finish(), device_idle_ns()
 *
 * What is known for sure is summed up as parts come, so that memory is bounded.
 */
#ifndef OPTRACE_ANALYZE_METRICS_DEVICE_IDLE_H
#define OPTRACE_ANALYZE_METRICS_DEVICE_IDLE_H

#include "analyze/query/spans.h"

struct device_idle;

/** Forgets what *out_idle was, {NULL} at first. is_whole: all spans come in one part. Returns 0 or
 *  -ENOMEM; device_idle_destroy() after either. */
int device_idle_begin(const struct spans_answer *spans, bool is_whole,
                      struct device_idle **out_idle);

/** Returns 0 or -ENOMEM. */
int device_idle_add(struct device_idle *idle, const struct spans_answer *spans);

/** Returns 0 or -ENOMEM. */
int device_idle_finish(struct device_idle *idle, const struct spans_answer *spans);

/** Of a device by its name, or the kind of lanes without one; 0 where there is none. */
double device_idle_ns(const struct device_idle *idle, const struct spans_answer *spans,
                      int64_t session_id, const char *name);
void device_idle_destroy(struct device_idle **idle);

#endif
