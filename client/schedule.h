/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When this process records: the level that the daemon gives, the program's own plan, and the one
 * that was commanded from outside, in force or to come. What comes out is optrace_level_now.
 *
 * Everything needs the session's lock, but where it says "any thread".
 */
#ifndef OPTRACE_CLIENT_SCHEDULE_H
#define OPTRACE_CLIENT_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/wire/wire.h"

/** Not 0 while the plan in force has a schedule. Read it with ot_schedule_is_on(). */
extern uint32_t ot_schedule_on;

/** Begin anew, with the program's own plan (all zero: none), nothing commanded, and off until the
 *  daemon says a level. */
void ot_schedule_begin(const struct ot_wire_plan *own);

/** The same in a child after fork(): what was commanded was for the parent, but its level lasts
 *  until the daemon says another. */
void ot_schedule_fork(const struct ot_wire_plan *own);

/** The level of WELCOME or CONTROL. It rules unless a plan was commanded. */
void ot_schedule_set_level(uint32_t level);

/** The daemon refuses: what it commanded is void. */
void ot_schedule_refuse(void);

/** A plan from the daemon. One that is known already, or older, changes nothing. */
void ot_schedule_command(const struct ot_wire_plan *plan);

/** Time has passed. */
void ot_schedule_look(void);

/** ns until time alone changes something; UINT64_MAX: never. */
uint64_t ot_schedule_due_in_ns(void);

/** What to tell a daemon: the plan in force or to come, and where it stands. Returns false when
 *  there is none. */
bool ot_schedule_tell(struct ot_wire_plan *out_plan);

/** Whether a schedule is in force. Any thread. */
static inline bool ot_schedule_is_on(void)
{
    return __atomic_load_n(&ot_schedule_on, __ATOMIC_RELAXED) != 0;
}

/** A run begins, while ot_schedule_is_on(). Any thread. Returns true when the schedule says
 *  otherwise from this run on: ot_schedule_look() is due. */
bool ot_schedule_count(void);

/** Of the runs at present: OT_RECORD_WARMUP, or 0. Any thread. */
uint16_t ot_schedule_run_flags(void);

/**
 * Read "wait=1,warmup=1,active=3,repeat=2,skip-first=10": runs, or times with a unit such as 500ms.
 *
 * out_plan   written only on success: all zero for an empty text
 * out_error  room for a sentence, written only on failure
 *
 * Returns 0 or -EINVAL.
 */
int ot_schedule_parse(const char *text, struct ot_wire_plan *out_plan, char *out_error,
                      size_t error_bytes);

/** Read "5" (runs) or "2.5s" (OT_UNIT_NS; ns, us, ms, s, min, h). Returns 0 or -EINVAL. */
int ot_schedule_parse_length(const char *text, uint64_t *out_length, uint32_t *out_unit);

#endif
