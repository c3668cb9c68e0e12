/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a library says that it computes, from its call to the kernel that it launches.
 *
 * Inside client/inject only.
 */
#ifndef OPTRACE_CLIENT_INJECT_CUPTI_WORK_H
#define OPTRACE_CLIENT_INJECT_CUPTI_WORK_H

#include "client/inject/recorder.h"

struct cupti_work {
    int64_t flop, bytes; /* -1: not known; both 0: there is none */
};

/** Of the call that this thread is in. The first launch within takes it: what a library launches
 *  besides prepares that, or adds it up. */
extern OT_TLS struct cupti_work cupti_work_now;

/** Whether this thread is in such a call: those within it are a part of it. */
extern OT_TLS uint32_t cupti_work_nesting;

/** Whether kernels are told of, so that the work is said there. Read it relaxed. */
extern uint32_t cupti_is_recording;

/** How many calls CUPTI told this thread of. 0: it is none of the program's, or there is no CUPTI. */
extern OT_TLS uint32_t cupti_calls_of_thread;

#endif
