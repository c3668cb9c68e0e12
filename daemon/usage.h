/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the daemon takes of the machine, over about the last minute: processor time, and how fast
 * its store grows. It also has the paces of sessions (pace.h) sampled. Loop thread only; asks the
 * file system for a file's size once a minute, and when somebody asks.
 */
#ifndef OPTRACE_DAEMON_USAGE_H
#define OPTRACE_DAEMON_USAGE_H

#include <stdint.h>

#include <uv.h>

#include "daemon/collector.h"
#include "schema/wire/wire.h"

enum {
    USAGE_CPU_SAMPLES = 13,   /* one each PACE_SAMPLE_MS: a minute */
    USAGE_STORE_SAMPLES = 61, /* one a minute: an hour */
};

struct usage_sample {
    uint64_t time_ns; /* CLOCK_MONOTONIC; 0: not taken */
    uint64_t amount;  /* ns of processor time, or bytes of the store */
};

struct usage {
    uv_timer_t timer;
    struct collector *collector;
    const char *store_path;
    uint64_t budget_bytes;
    uint32_t tick;
    struct usage_sample cpu[USAGE_CPU_SAMPLES], store[USAGE_STORE_SAMPLES]; /* circles */
    uint32_t store_count;
};

/** Begin to sample. The handle does not keep the loop alive.
 *
 *  collector, store_path  borrowed until usage_stop()
 *  budget_bytes           of the store; 0: none */
void usage_start(struct usage *usage, uv_loop_t *loop, struct collector *collector,
                 const char *store_path, uint64_t budget_bytes);

/** Closes the handle; run the loop once more before the memory goes. */
void usage_stop(struct usage *usage);

/** What a controller is told.
 *
 *  store_bytes  how large the store is now, with its log */
struct ot_wire_usage usage_look(const struct usage *usage, uint64_t store_bytes);

#endif
