/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPU counters of spans, as records. A thread whose spans have them always takes the slow way; what
 * is here is called from there.
 *
 * A counter's record holds what the thread has counted so far. Two are written for a span when it
 * ends, just before its own: one with the time of its start, one with that of its end. The
 * difference is the span's, and what is nested is in both, so that own counts come out exactly.
 * They are written together, because what is converted together cannot drift apart.
 */
#ifndef OPTRACE_CLIENT_COUNTED_H
#define OPTRACE_CLIENT_COUNTED_H

#include <stdint.h>

#include "client/hot.h"

/** Before a span is opened: read the counters and keep them, unless it is a phase or a run. */
void ot_counted_begin(struct ot_hot *hot, uint64_t kind_word);

/** Before the innermost span is written: write the records of its start and of its end, `now`, from
 *  the latest reading. */
void ot_counted_end(struct ot_hot *hot, uint64_t now);

/** Which of a thread's counters say something: the time off the processor once there is some. */
uint32_t ot_counted_told(const struct ot_counters *counters);

/**
 * Ask for counters from now on. Tries what can be opened, on the calling thread, defines an op for
 * each, and sets session.counters. Needs the session's lock.
 *
 * asked  a bit per enum ot_counter
 *
 * Returns the mask of those that can be read.
 */
uint32_t ot_counted_choose(uint32_t asked);

#endif
