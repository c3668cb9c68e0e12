/* SPDX-License-Identifier: Apache-2.0 */
/* Cutting lanes into the pieces of critical_path.h, and finding what each depends on. Pure. */
#ifndef OPTRACE_ANALYZE_METRICS_CRITICAL_PIECES_H
#define OPTRACE_ANALYZE_METRICS_CRITICAL_PIECES_H

#include "analyze/metrics/critical_path.h"

/** Fills path->pieces and path->order from its answer, start and end. Returns 0 or -ENOMEM. */
int critical_pieces_make(struct critical_path *path);

#endif
