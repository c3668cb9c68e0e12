/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What crash_random_program notes of what it records, for whoever checks what became of it.
 *
 *     crash_random_program NOTES SEED
 *
 * Threads record spans, come and go; the process forks, closes descriptors that are not its own, stops
 * recording and begins again, at random, until SIGTERM or its death. Each process is a life, each of
 * its threads numbers its spans 1, 2, 3, ...; random_id() of these is the span's correlation. A number
 * is noted right after the call that recorded the span has returned. Spans without a correlation are
 * not noted. Needs a daemon at $OPTRACE_SOCKET at the start (else exit 4).
 */
#ifndef OPTRACE_TESTS_FLOW_CRASH_RANDOM_H
#define OPTRACE_TESTS_FLOW_CRASH_RANDOM_H

#include <stdint.h>

enum { RANDOM_LIVES_MAX = 64, RANDOM_THREADS_MAX = 128 };

/** One process; written by it alone. */
struct random_life {
    int32_t pid;
    uint32_t is_over;       /* 1: optrace_stop() has returned, for the last time */
    uint32_t has_closed;    /* 1: it has closed descriptors that are not its own */
    uint32_t is_known;      /* 1: a flush was answered since it began, or closed descriptors last */
    uint32_t session_count; /* that it has begun */
    uint32_t thread_count;
    uint32_t noted[RANDOM_THREADS_MAX];
};

struct random_notes {
    uint32_t life_count; /* beyond RANDOM_LIVES_MAX: so many record nothing */
    struct random_life lives[RANDOM_LIVES_MAX];
};

static inline uint64_t random_id(uint32_t life, uint32_t thread, uint32_t number)
{
    return (uint64_t)(life + 1) << 44 | (uint64_t)(thread + 1) << 32 | number;
}

#endif
