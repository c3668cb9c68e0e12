/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ONNX Runtime's own profile of a session, as the releases before 1.25 have it: a file that is whole
 * when the session ends. It is read then, and its nodes become ops of the runs that were recorded
 * meanwhile. Only with OPTRACE_NODES=all: such a profile cannot be had of some runs.
 *
 *     profile = ort_profile_create(model);       the session is asked for one at profile->prefix
 *     ort_profile_begin(profile, start_ns);      what the session says of when it began
 *     ort_profile_run(profile, number, begin, end);
 *     ort_profile_finish(&profile);              the session has ended, or its profile
 *
 * Inside client/inject only. Any thread; the last call once.
 */
#ifndef OPTRACE_CLIENT_INJECT_ORT_PROFILE_H
#define OPTRACE_CLIENT_INJECT_ORT_PROFILE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ort_profile_run;

struct ort_profile {
    char prefix[200];
    uint32_t model;
    uint32_t forks;   /* as recorder_forks was: the file is of that process alone */
    int64_t start_ns; /* CLOCK_REALTIME; 0: not known, and nothing is read */
    pthread_mutex_t lock;
    size_t run_count, run_capacity;
    struct ort_profile_run *runs;
};

/** Whether nodes of all runs are wanted. */
bool ort_profile_is_wanted(void);

/** Makes a folder for it. NULL where that cannot be. */
struct ort_profile *ort_profile_create(uint32_t model);
void ort_profile_begin(struct ort_profile *profile, int64_t start_ns);

/** ns of CLOCK_REALTIME. */
int64_t ort_profile_now(void);

/** This thread has had a run. */
void ort_profile_run(struct ort_profile *profile, uint32_t number, int64_t begin_ns,
                     int64_t end_ns);

/** Records what is in the file, takes folder and file away, frees. Accepts NULL. */
void ort_profile_finish(struct ort_profile **profile);

#endif
