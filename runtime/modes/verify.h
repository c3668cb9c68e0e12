/* SPDX-License-Identifier: Apache-2.0 */
/* --verify: run ONNX test data sets and compare the outputs. */
#ifndef OPTRACE_RUNTIME_MODES_VERIFY_H
#define OPTRACE_RUNTIME_MODES_VERIFY_H

#include <stdio.h>

#include "base/diag.h"
#include "runtime/exec/exec.h"
#include "runtime/graph/graph.h"
#include "runtime/modes/sanity.h"
#include "runtime/passes/pass.h"
#include "runtime/session/trace.h"

struct verify_config {
    const char *model_path;
    const char *folder; /* a data set (input_0.pb, output_0.pb, ...) or one that holds
                           test_data_set_0, test_data_set_1, ... */
    double rtol, atol;  /* negative: of data.json beside the model ({"rtol": X, "atol": Y}), else
                           1e-3 and 1e-7; where passes.half stores tensors in half precision, at
                           least what that type can hold: compare_storage_tolerance() */
    double rms_tol;     /* above 0: in place of both, for floating outputs; see compare.h */
    struct exec_options exec;
    struct pass_options passes;
    bool trace; /* trace_start() was called */
    enum trace_detail trace_detail;
    bool json;
    uint32_t thread_count;     /* that each run every data set, at once; 0 is 1 */
    bool shares;               /* session_load_shared() */
    bool frees_graph;          /* what runs do not need, before the run */
    enum sanity_choice sanity; /* of each run */
};

/**
 * Run all data sets, in the order of their numbers. input_K.pb goes to the K-th input of the model
 * that is no initialiser, output_K.pb is held against the K-th output.
 *
 * Prints a line per output on out and the result with its tolerance, or one JSON document; a
 * difference shows its worst element. What
 * options on memory and threads do is told once on stderr.
 *
 * Returns 1 when all agree, 0 when one does not, or a negative errno when a data set cannot be run;
 * -EBADE when the check of a run found something.
 */
int verify(const struct verify_config *config, FILE *out, struct diag *diag);

#endif
