/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The per-operator profile of --profile and --profile-host: recording it, and MegEngine's JSON.
 *
 * Order: profile_create() before the first run; profile_run_begin() and _end() around each run; at
 * last profile_write() and profile_destroy(). On the dispatching thread.
 */
#ifndef OPTRACE_RUNTIME_MODES_PROFILE_H
#define OPTRACE_RUNTIME_MODES_PROFILE_H

#include <stdio.h>

#include "base/array.h"
#include "base/clock.h"
#include "runtime/session/session.h"

/** Ticks of one execution of a step on one side; 0: has not happened. */
struct profile_marks {
    uint64_t start, kern, end;
};

/** What one step took on the device over all timed runs, in ticks of start to end and kern to end.
 */
struct profile_sum {
    uint64_t count;
    uint64_t self_ticks, kernel_ticks;
    uint64_t kernel_min_ticks, kernel_max_ticks;
};

/* Spans of runs before the last that are kept, 6 MiB. */
enum { PROFILE_SPANS_MAX = 1 << 18 };

struct profile_run {
    bool is_warmup;
    uint64_t start_ticks; /* of profile_run_begin() */
    uint64_t end_ticks;   /* of profile_run_end(): all spans of the run end before it */
    struct session_times times;
};

struct profile {
    const struct session *session;
    uint32_t step_count;
    struct profile_run current; /* the run that is going on */
    struct profile_marks *host; /* by step; of the last run, like `device` */
    struct profile_marks *device;
    struct profile_sum *sums;
    ARRAY_OF(struct profile_run) runs;
    /* Of each run before the last: host marks by step, then device marks; as many of the first runs
     * as PROFILE_SPANS_MAX allows. */
    ARRAY_OF(struct profile_marks) past;
    struct ot_clock_triple zero; /* the profile was made: zero of the host's times */
    uint64_t device_zero_ticks;  /* the device's first step of the first run: zero of its times */
};

/** Watches the session's execution from now on, until profile_destroy() after the last run. */
int profile_create(const struct session *session, struct profile **out_profile, struct diag *diag);

/** Accepts NULL; sets *profile to NULL. The execution must not run again afterwards. */
void profile_destroy(struct profile **profile);

/** Keeps the spans of the run before, outside of what is timed. -ENOMEM. */
int profile_run_begin(struct profile *profile, bool is_warmup);

/** -ENOMEM when the list of runs cannot grow. */
int profile_run_end(struct profile *profile, const struct session_times *times);

/**
 * Write the profile in MegEngine's form, all on one line:
 *
 *     {"graph_exec": {"operator": {ID: {..}}, "var": {ID: {..}}, "mem_chunk": {..},
 *                     "comp_seq": [ID, ..]},
 *      "profiler": {"device": {ID: {DEVICE: {start, kern, end}}}, "host": {ID: {THREAD: {..}}},
 *                   "opr_footprint": {ID: {..}}, "opr_internal_pf": {}},
 *      "optrace": {..}}
 *
 * Times are seconds of the last run. Host times count from when the profile was made, device times
 * from the first step of the first run. Ids are decimal strings: an operator has its node's
 * position in the model file, a layout change (Reorder) a number above all of those.
 *
 * "optrace" is our addition: version (1), tool, model, device, threads, run_count, warmup_count,
 * device_offset_s (add it to a device time to get a host time), zero_unix_ns (host zero on the wall
 * clock), runs (warmup, start_s, e2e_s, host_s of each), device_total (ID: count, self_s, kernel_s,
 * kernel_min_s, kernel_max_s over the timed runs), spans: of each run before the last, as far as
 * they were kept, {"run": from 0, "host": {THREAD: [[ID, start, kern, end], ..]}, "device":
 * {DEVICE: ..}}, ids as numbers, times in ns from the same zeros as the last run's.
 *
 * with_device  false: "device" is empty, and so is device_total
 *
 * Returns 0, -ENOMEM, or -EIO for whatever stopped the writing; diag names it and the path.
 */
int profile_write(const struct profile *profile, bool with_device, const char *path,
                  struct diag *diag);

#endif
