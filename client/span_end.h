/* SPDX-License-Identifier: Apache-2.0 */
/* The ends of spans that are not on the fast way. Of the calling thread, which has a ring. */
#ifndef OPTRACE_CLIENT_SPAN_END_H
#define OPTRACE_CLIENT_SPAN_END_H

#include <stdint.h>

#include "client/hot.h"

/** End the innermost open span, recorded or lost. `flags` are those of its record, in their place
 *  in its first word. */
void ot_span_end_innermost(struct ot_hot *hot, uint64_t now, uint64_t flags);

/** End the innermost span, whose entry has more than begin stores; there is room, nothing is due. */
void ot_span_end_rich(struct ot_wire_record *entry, uint64_t now);

/** End all spans of the calling thread, which ends; it may have no ring. */
void ot_span_end_all(uint64_t now);

#endif
