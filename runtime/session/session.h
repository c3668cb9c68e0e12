/* SPDX-License-Identifier: Apache-2.0 */
/* One loaded model, ready to run: every thread of --thread, and every data set of --verify whose
 * shapes, or what decides them, differ, has its own. */
#ifndef OPTRACE_RUNTIME_SESSION_SESSION_H
#define OPTRACE_RUNTIME_SESSION_SESSION_H

#include <stdio.h>

#include "base/diag.h"
#include "runtime/exec/exec.h"
#include "runtime/graph/graph.h"
#include "runtime/inputs/input.h"
#include "runtime/passes/pass.h"

struct session_config {
    const struct input_list *inputs; /* borrowed for the call */
    uint64_t seed;                   /* of made-up data */
    struct exec_options exec;
    struct pass_options passes;
    bool copy_to_host; /* each run copies its outputs into memory of the session */
    bool frees_packed; /* see exec_options: nobody looks at constants but the runs */
    /* Writes the graph as text that the session keeps: once after shape inference (exec NULL), once
     * optimised and ready to run. NULL: no text. Returns 0 or a negative errno. */
    int (*describe)(const struct graph *graph, struct exec *exec, FILE *out);
};

struct session {
    struct graph *graph;
    struct exec *exec;
    uint64_t load_ns;    /* reading the file */
    uint64_t prepare_ns; /* everything after that: shapes, passes, choice of kernels, memory */
    /* When shapes were inferred, ns of CLOCK_REALTIME. */
    uint64_t infer_start_ns, infer_end_ns;
    uint32_t source_node_count; /* nodes in the model file */
    int64_t parameter_bytes;    /* constants of the optimised graph, freed ones included */
    void **host_outputs;        /* by position in graph->outputs; NULL unless copied */
    char *text_before;          /* what config.describe wrote; NULL where it did not */
    char *text_after;
};

/** How long one run took. */
struct session_times {
    uint64_t e2e_ns;  /* from the first dispatch until all work is done */
    uint64_t host_ns; /* until everything was dispatched */
};

/**
 * Read the model: session->graph is there afterwards, as the file has it. Errors as model_onnx_load_with().
 *
 * shares  parameters are left in the file
 * defers  large weights as well until session_prepare() has stored them in half precision, which it has to be
 *         asked for then
 * inputs  what will be given: a sequence `x` among the model's inputs has as many tensors as the entries x[0],
 *         x[1] ... of the list, one where there is none; whole numbers and truths may decide how many tensors
 *         other sequences have, and which branch an If takes
 */
int session_load(const char *path, bool shares, bool defers, const struct input_list *inputs,
                 struct session **out_session, struct diag *diag);

struct model_loading;

/** The same as model_onnx_load_with(). */
int session_load_with(const char *path, const struct model_loading *loading,
                      struct session **out_session, struct diag *diag);

/** Bind, infer shapes, optimise, allocate, and set the inputs. Once. Errors as input_bind_shapes(),
 *  shape_infer() and exec_create(); the session can only be destroyed then. */
int session_prepare(struct session *session, const struct session_config *config,
                    struct diag *diag);

/**
 * Other data for a session that is prepared: what of config is `inputs` and `seed`.
 *
 * Returns 1 when the next run computes with it; 0, and nothing changed, when there are other shapes, or the data decides
 * otherwise about sizes or nodes than what it was prepared for: it takes another session then. Or a negative
 * errno with diag.
 */
int session_set_inputs(struct session *session, const struct session_config *config,
                       struct diag *diag);

/** Accepts NULL; sets *session to NULL. */
void session_destroy(struct session **session);

/** Run once and wait. out_times may be NULL. -EINVAL when the data makes a node fail. */
int session_run(struct session *session, struct session_times *out_times, struct diag *diag);

/** The same without computing: the memory of a run is brought in, its steps are handed over.
 * Outputs keep what they held. */
void session_run_fake(struct session *session, struct session_times *out_times);

#endif
