/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tests/support/paced_producer.c has recorded, told to whoever compares it with a store.
 *
 *     paced_producer NAME EVENTS_PER_S THREADS BURST_MS THREAD_BURSTS SECONDS NOTES
 *
 * A program NAME whose THREADS threads record EVENTS_PER_S records together, in bursts, as
 * inference does: spans of random length of 75 ops, every 150th record a run. A thread ends after
 * THREAD_BURSTS bursts and another one takes its place (0: it goes on). The program ends by itself
 * after SECONDS (0: at SIGTERM), in an orderly way. It notes each record in the file NOTES right
 * after the call that recorded it has returned; "-" for none.
 *
 * The daemon is the one of $OPTRACE_SOCKET and must be there at the start (else exit 4).
 */
#ifndef OPTRACE_TESTS_SUPPORT_PACED_H
#define OPTRACE_TESTS_SUPPORT_PACED_H

#include <stdint.h>

enum { PACED_THREADS_MAX = 64, PACED_RUN_RECORDS = 150 };

/** All numbers only grow. After a SIGKILL a thread may have recorded one more than it noted. */
struct paced_notes {
    uint32_t thread_count;
    uint32_t ready;                      /* 1: recording */
    uint64_t records[PACED_THREADS_MAX]; /* tried, of each thread's place: stored or said lost */
};

#endif
