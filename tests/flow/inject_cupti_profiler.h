/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profiler of a program's own, in a library of its own, over CUPTI, as torch.profiler is.
 */
#ifndef OPTRACE_TESTS_FLOW_INJECT_CUPTI_PROFILER_H
#define OPTRACE_TESTS_FLOW_INJECT_CUPTI_PROFILER_H

enum profile_way {
    PROFILE_LINKED,       /* libcupti is one of its libraries */
    PROFILE_ASKED_FOR,    /* by dlopen() and dlsym() */
    PROFILE_UNSUBSCRIBED, /* records alone, for which no subscription is needed */
};

enum { PROFILED = 50 };

/** Launches so many kernels "profiled", and returns of how many CUPTI told; less than 0: what went wrong. */
typedef int profile_type(enum profile_way way);

#endif
