/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast a session has recorded lately, and how long its runs took, in bounded memory: counts of
 * about the last minute, the median of the last runs. Loop thread only. No I/O.
 */
#ifndef OPTRACE_DAEMON_PACE_H
#define OPTRACE_DAEMON_PACE_H

#include <stdint.h>

enum {
    PACE_SAMPLE_MS = 5000, /* how often pace_sample() is to be called */
    PACE_SAMPLES = 13,     /* so that the oldest is a minute old */
    PACE_RUNS = 64,        /* whose median is told */
};

struct pace_sample {
    uint64_t time_ns; /* CLOCK_MONOTONIC; 0: not taken */
    uint64_t event_count, run_count;
};

/* All zero is a session that has done nothing, since nobody knows when. */
struct pace {
    uint64_t run_count;
    uint64_t runs_ns[PACE_RUNS]; /* a circle */
    uint32_t kept_count;         /* runs put into it, ever; warm-ups are not */
    uint32_t next_sample;
    struct pace_sample samples[PACE_SAMPLES]; /* a circle, too */
};

/* What it says at a moment. */
struct pace_view {
    uint64_t window_ns; /* 0: nothing is known of any time before */
    uint64_t event_count, run_count;
    uint64_t run_p50_ns;
    uint32_t run_sample_count;
};

/** Remember where the counts stand: when the session begins, then every PACE_SAMPLE_MS. */
void pace_sample(struct pace *pace, uint64_t now_ns, uint64_t event_count);

/** A run has ended. */
static inline void pace_note_run(struct pace *pace, uint64_t duration_ns, int is_warmup)
{
    pace->run_count++;
    if (!is_warmup)
        pace->runs_ns[pace->kept_count++ % PACE_RUNS] = duration_ns;
}

struct pace_view pace_look(const struct pace *pace, uint64_t now_ns, uint64_t event_count);

#endif
