/* SPDX-License-Identifier: Apache-2.0 */
/* Measuring what recording costs the program here: into cost.h, from which sessions are told of
 * it. */
#ifndef OPTRACE_CLIENT_COST_MEASURE_H
#define OPTRACE_CLIENT_COST_MEASURE_H

#include "client/counters.h"

/**
 * Record some spans of the calling thread into memory that nobody reads, and keep what the quickest
 * batch took. Some tens of microseconds; without memory for it, nothing is known and nothing told.
 *
 * counters  what is read at the begin and the end of spans, or NULL
 */
void ot_cost_measure(struct ot_counters *counters);

#endif
