/* SPDX-License-Identifier: Apache-2.0 */
/* Timing runs of a model: one thread, or several that each load it. */
#ifndef OPTRACE_RUNTIME_RUN_H
#define OPTRACE_RUNTIME_RUN_H

#include "runtime/inputs/input.h"
#include "runtime/modes/run_tools.h"
#include "runtime/modes/sanity.h"
#include "runtime/session/report.h"
#include "runtime/session/trace.h"

/* Options whose effect is told. */
struct run_effects {
    bool inference, nonlinearity, z, weights, shapes, library, preprocess, jit, sharing;
};

struct run_config {
    const char *path;                /* of the model */
    const struct input_list *inputs; /* borrowed */
    uint64_t seed;
    uint32_t thread_count; /* each with a session of its own */
    struct exec_options exec;
    struct pass_options passes;
    struct run_effects effects; /* of which to tell, on stderr, on how many operators they are */
    int64_t batch_size;         /* of --batch-size, which is in `inputs`; 0 */
    bool fake_first;            /* the first warm-up computes nothing */
    bool frees_graph;           /* --record-comp-seq2 */
    enum sanity_choice sanity;
    uint64_t warmup_count, run_count;
    const char *profile_path; /* NULL: none; with one thread only */
    bool profile_device;
    bool trace; /* trace_start() was called */
    enum trace_detail trace_detail;
    bool model_info; /* print the table and the graphs, or keep them for the JSON document */
    bool json;       /* print no lines: the reports say it all */
    bool verbose;
    const char *mem_info_folder;   /* mem_info_write() goes there; NULL: nowhere */
    bool copy_to_host;             /* outputs are copied out of the execution within each run */
    struct run_tools_config tools; /* traces need lines, so no json */
};

/**
 * Run. Lines go to stdout: with one thread as things happen, else thread by thread at the end. What
 * --verbose says, and which inputs got made-up data, goes to stderr.
 *
 * out_reports  config->thread_count of them, for the caller to report_deinit() also after failure
 *
 * Returns 0 or the first thread's failure: errors of session_load(), session_prepare(),
 * session_run() and of writing the profile.
 */
int run_model(const struct run_config *config, struct report *out_reports, struct diag *diag);

#endif
