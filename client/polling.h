/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looking after the session from calls that record or define, while no thread has a ring that
 * would: now and then, and seldom. Takes the session's lock where it is free.
 */
#ifndef OPTRACE_CLIENT_POLLING_H
#define OPTRACE_CLIENT_POLLING_H

#include <stdint.h>

/** Now and then, also while off: look for a daemon, or hear what it says; notice when time alone
 *  begins or ends the recording. */
void ot_poll(void);

/** The session has begun or ended, or was looked after: when to do so next. Needs its lock. */
void ot_poll_again(void);

/** A run begins, while ot_schedule_is_on(): the level may change, and the daemon is told. Returns
 *  the flags of its record. */
uint16_t ot_poll_run(void);

#endif
