/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comparing, event by event, what a store holds with what crash_producer knows that it recorded
 * (crash_events.h), and starting that program.
 */
#ifndef OPTRACE_TESTS_FLOW_CRASH_CHECK_H
#define OPTRACE_TESTS_FLOW_CRASH_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/flow/crash_events.h"
#include "tests/support/optraced.h"

struct crash_program {
    struct child child;
    char *notes_path;
    const struct crash_notes *notes; /* mapped */
    int64_t session_id;
};

/** Start crash_producer against this daemon and wait until each of its threads has recorded
 *  something. event_count 0: endless. */
void crash_program_start(struct crash_program *program, const struct optraced *daemon,
                         uint32_t thread_count, uint64_t event_count, unsigned pause_us);

/** Kill it if it still runs; forget its notes. */
void crash_program_deinit(struct crash_program *program);

/** Where to begin in the tables that are read from here on. */
struct crash_position {
    int64_t event, counter, memory_event;
};

/** Check all rows of the program's session, which has ended, against its notes, from `position` on,
 *  which is moved to the end. was_killed: it may be one event ahead of its notes, and may have left
 *  unfinished spans. Returns how many events there were. Fails the test with the first difference.
 */
uint64_t crash_check(const struct optraced *daemon, const struct crash_program *program,
                     struct crash_position *position, bool was_killed);

/**
 * The same for a program that was killed together with the daemon, under a service manager that kept
 * its rings: all is there. The store may say that an unknown number is not, as a program that had
 * begun to come back may have had more rings than it was able to tell.
 */
uint64_t crash_check_kept(const struct optraced *daemon, const struct crash_program *program,
                          struct crash_position *position);

/**
 * The same for a program that was killed together with the daemon: what was not committed yet is
 * gone, so that of each thread the events 1 to n must be there, for any n.
 *
 * out_missing  how many the program noted that are not there
 *
 * Returns how many events there were.
 */
uint64_t crash_check_start(const struct optraced *daemon, const struct crash_program *program,
                           struct crash_position *position, uint64_t *out_missing);

/** PRAGMA integrity_check must say ok. */
void crash_check_integrity(const struct optraced *daemon);

/** How many rounds: $OPTRACE_CRASH_ROUNDS, else `standard` with OPTRACE_TEST_ALL=1, else a quarter of
 *  it: each run is another sample. */
unsigned crash_rounds(unsigned standard);

/** Run only the scenario that $OPTRACE_TEST_FILTER names, where it does. Before cmocka's. */
void crash_choose_scenario(void);

/** A random number below `limit`; the sequence follows from $OPTRACE_CRASH_SEED, which is printed
 *  and otherwise taken from the clock. */
unsigned crash_random(unsigned limit);

/** Sleep for a random time of up to this. */
void crash_random_pause(unsigned limit_us);

/** The same, spread evenly over all the calls: few of them come at all times. For the moment that a
 *  round is about. */
void crash_spread_pause(unsigned limit_us);

#endif
