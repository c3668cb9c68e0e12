/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of tune.h share; nobody else includes it. */
#ifndef OPTRACE_RUNTIME_TUNE_PRIVATE_H
#define OPTRACE_RUNTIME_TUNE_PRIVATE_H

#include <pthread.h>

#include "base/progress.h"
#include "runtime/graph/compare.h"
#include "runtime/ops/call_version.h"
#include "runtime/tune/policy.h"
#include "runtime/tune/tune.h"

struct tuning {
    struct kernel_chooser chooser; /* first: what others hold of it */
    struct tune_options options;
    struct policy policy;
    bool is_missing; /* the policy's file, which is written whatever is found */
    pthread_mutex_t lock;
};

/** What a step computes, maybe with another batch. The graph's constants are read where they are.
 */
struct subject {
    struct call_request request;
    struct tensor_view *inputs, *outputs;
    struct layout *input_layouts, *output_layouts;
    bool is_plan;
    bool has_batch; /* call_has_batch(), and there are as many of it as the graph's or some times */
};

/** What timing has found about a kernel. */
struct candidate {
    struct call_version version;
    uint64_t time_ns;  /* 0: not timed */
    uint64_t least_ns; /* of single calls, while timing goes on */
    size_t workspace_bytes;
    bool has_workspace;          /* known */
    bool is_slow;                /* given up, with the best of a few times */
    bool is_refused;             /* it cannot be made, fails, or is outside of the options */
    enum policy_verdict verdict; /* of tune_compare(), now or by an earlier run */
};

/** Steps that do the same: operator, shapes, parameters. */
struct tune_op {
    char *key;
    struct subject subject;
    struct candidate candidates[CALL_VERSIONS_MAX];
    int count;
    uint32_t first_step, step_count;
    bool is_scaled;          /* the subject's batch is not the graph's */
    bool is_timed, is_known; /* now; by an earlier run */
    bool is_compared;        /* now: some of its verdicts are news */
    int by_default;          /* the candidate that the steps are bound to, -1: it is none of them */
    int chosen;
    uint32_t changed_count; /* steps that call another kernel than they were bound to */
};

/** One tuning_choose(). */
struct tune_job {
    struct tuning *tuning;
    const struct graph *graph;
    struct bound_step *steps;
    uint32_t step_count;
    const struct layout *layouts;
    int64_t batch;      /* of the graph */
    uint32_t *step_ops; /* by step: its op, or PLAN_NONE */
    ARRAY_OF(struct tune_op) ops;
    uint64_t timing_ns;
    struct progress progress;
    struct diag *diag;
    struct diag quiet; /* of requests that may fail without anybody having to know */
};

/* subject.c */

/** The step's call as a request of its own; where it has a batch, with this one in place of the
 *  graph's. diag: of the request, borrowed. -ENOMEM. */
int subject_init(struct subject *subject, const struct tune_job *job, const struct bound_step *step,
                 int64_t batch, struct diag *diag);
void subject_deinit(struct subject *subject);

struct tune_slot {
    void *data;
    size_t bytes;
};

struct tune_slots ARRAY_FIELDS(struct tune_slot);

/** Memory that calls run in, one after the other. {0} is empty. */
struct tune_memory {
    struct tune_slots inputs[3], outputs; /* inputs of float32, float16, bfloat16; by position */
    void *zeros;                          /* inputs of other types */
    size_t zero_bytes;
    void *workspace;
    size_t workspace_bytes;
    const void **input_list;
    void **output_list;
    size_t list_count;
};

/** Whether inputs of a type are random numbers, and then of which list; else they are zeros. */
bool tune_memory_is_random(enum dtype dtype, int *out_list);

/** Random numbers, of the types that are random and of float64, int8, uint8 and bool; else zeros.
 */
void tune_fill(void *data, size_t bytes, enum dtype dtype, uint32_t seed);

/** Point the call to memory that is large enough. Valid until the next one is placed. -ENOMEM. */
int tune_memory_place(struct tune_memory *memory, const struct subject *subject, struct call *call);
void tune_memory_deinit(struct tune_memory *memory);

/* key.c */

/** The operation as one line; the caller frees it, NULL without memory. */
char *tune_key(const struct subject *subject, bool has_shared_batch);

/** What a kernel's verdict is good for: this operation on this machine by this program, at the
 * batch that it was compared at. Who edits a file does not know it. */
uint64_t tune_mark(const char *machine, const char *key, int64_t batch, const char *kernel,
                   enum policy_verdict verdict);

/** What times depend on besides. out: POLICY_LINE_BYTES. */
void tune_machine(char *out);

/* time.c */

/** Time the candidates of all ops that are not known, but references unless they are asked for. */
int tune_time(struct tune_job *job);

/* prove.c */

/** Whether a kernel gives each sample the same bits, alone and with another, and again. Returns 0
 *  or 1, -ENOMEM. Kernels that do not work on batches give 1. */
int tune_prove(const struct tune_job *job, const struct tune_op *op,
               const struct call_version *version);

/* truth.c */

enum { TUNE_PICKS_MAX = 8, TUNE_CUTS = 2 };

/** Some of the positions on an axis of output 0. */
struct tune_cut {
    int axis, count;
    int64_t picks[TUNE_PICKS_MAX];
};

/** What the reference makes of made-up inputs. */
struct tune_truth {
    struct subject subject;
    bool borrows_subject;
    struct tensor_view *inputs; /* row-major */
    const void **laid;          /* the same in the subject's layouts */
    void **own, **moved;        /* which of them are ours */
    struct tune_cut cuts[TUNE_CUTS];
    int cut_count;                /* 0: all was computed */
    struct tensor_view *expected; /* by output: in its layout, or what is left of it row-major */
    struct tolerance *tolerances; /* by output */
};

/**
 * The truth about an operation at the graph's batch. is_whole: all of it, else maybe a part. Deinit
 * in any case. Returns 0, -ENOMEM, or why the reference cannot compute it.
 */
int tune_truth_init(struct tune_truth *truth, const struct tune_job *job, const struct tune_op *op,
                    bool is_whole, struct diag *diag);

/** The same, of the subject that is set. */
int tune_truth_compute(struct tune_truth *truth, bool is_whole);
void tune_truth_deinit(struct tune_truth *truth);

/** Room for what a call of the subject makes; NULL without memory. */
void **tune_truth_outputs(const struct tune_truth *truth);
void tune_truth_free_outputs(const struct tune_truth *truth, void ***outputs);

/** Have a call of the subject compute from the same inputs. Returns what call_run() does, -ENOMEM.
 */
int tune_truth_run(const struct tune_truth *truth, struct call *call, void *const *outputs);

/** Whether they are what the reference made, as far as somebody reads them and as far as it was
 *  computed. Returns 0 or 1, -ENOMEM. */
int tune_truth_agrees(const struct tune_truth *truth, void *const *outputs);

/** A copy in another layout, which the caller frees; NULL without memory. */
void *tune_move(const struct tensor_view *tensor, const struct layout *from,
                const struct layout *to);

/* compare.c */

/**
 * Find the verdicts of the candidates asked for, those of others too where it takes these. They
 * stay POLICY_NOT_COMPARED where the reference cannot compute the operation. Returns 0 or -ENOMEM.
 */
int tune_compare(struct tune_job *job, struct tune_op *op, const bool *is_asked);

/* print.c */

/** A stored choice turned out to be wrong. */
void tune_print_wrong(const struct tune_job *job, const struct tune_op *op, int candidate);

void tune_print(const struct tune_job *job);

/** How far timing is; the line is wiped when done is total. */
void tune_progress(struct tune_job *job, uint64_t done, uint64_t total);

#endif
