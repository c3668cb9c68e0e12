/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What recording costs the program here, measured when it starts and told to the session: the
 * counters "recording....", once for each session, with its first ring (schema/store/store.md).
 * Needs the session's lock.
 */
#ifndef OPTRACE_CLIENT_COST_H
#define OPTRACE_CLIENT_COST_H

#include <stdbool.h>

/* As cost_measure.h has found it. Ticks of a span, begin and end, and what of them is within its
 * self time. */
struct ot_cost {
    double span_ticks, empty_ticks;
    bool is_known;
};
extern struct ot_cost ot_cost_plain, ot_cost_counted; /* with CPU counters */

/** The calling thread has a ring: record what was measured, unless the session has it. */
void ot_cost_tell(void);

#endif
