/* SPDX-License-Identifier: Apache-2.0 */
/* What load_and_run's command line sets; the table is options.def. */
#ifndef OPTRACE_RUNTIME_OPTIONS_H
#define OPTRACE_RUNTIME_OPTIONS_H

#include "base/options.h"

/** -1 (and NULL): not given, where another option forbids or replaces it. */
struct run_options {
    int64_t iter;
    int64_t warmup_iter;
    int64_t thread;
    int64_t multithread;
    bool cpu;
    struct option_list inputs;
    int64_t seed;
    const char *verify;
    double rtol;
    double atol;
    const char *profile;
    const char *profile_host;
    bool trace;
    bool no_trace;
    bool model_info;
    int print_graph; /* enum print_format, or -1 */
    int print_stage; /* enum print_stage, or -1 */
    bool json;
    bool verbose;
};

#endif
