/* SPDX-License-Identifier: Apache-2.0 */
/* Cutting lanes into the pieces of critical_path.h, and finding what each depends on. Pure. */
#ifndef OPTRACE_ANALYZE_METRICS_CRITICAL_PIECES_H
#define OPTRACE_ANALYZE_METRICS_CRITICAL_PIECES_H

#include "analyze/metrics/critical_path.h"

/** Fills path->pieces and path->order from its answer, start and end; with path->earlier these of a
 *  part, and path->ends. Returns 0, -ENOMEM, or with path->earlier SPAN_PARTS_WHOLE: it takes more
 *  than is known of earlier parts. */
int critical_pieces_make(struct critical_path *path);

#endif
