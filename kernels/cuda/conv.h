/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions as cuDNN takes them: conv.c makes them of what the contracts say, conv_plan.c decides
 * what computes each, and runs it, conv_graph.c says them in cuDNN's words. Inside of kernels/cuda
 * only. */
#ifndef OPTRACE_KERNELS_CUDA_CONV_H
#define OPTRACE_KERNELS_CUDA_CONV_H

#include "kernels/cuda/cudnn.h"
#include "kernels/cuda/device.h"

/** What is added to each result. */
enum conv_residual {
    RESIDUAL_NONE,
    RESIDUAL_OTHER, /* a tensor of its own */
    RESIDUAL_Y,     /* what is in y */
};

/** A convolution of images [batch, channels, in...] by w [filters, channels / groups, kernel...] to
 *  [batch, filters, out...], dense, row-major or channels-last, or back from those to images. All that a
 *  plan hangs on; compared byte by byte. */
struct conv_shape {
    int64_t batch, channels, filters, groups;
    int64_t in[KERNEL_SPATIAL], out[KERNEL_SPATIAL], kernel[KERNEL_SPATIAL];
    int64_t stride[KERNEL_SPATIAL], dilation[KERNEL_SPATIAL];
    int64_t pad_begin[KERNEL_SPATIAL], pad_end[KERNEL_SPATIAL];
    uint32_t x_alignment, w_alignment, y_alignment; /* of addresses */
    uint32_t bias_alignment, residual_alignment;    /* 0: there is none; or it is y */
    int32_t residual;
    int32_t activation; /* an enum kernel_unary */
    float a, b;         /* of it */
    int32_t is_transposed;
    /* An enum kernel_dtype each: x and w share one; f32 where it is not said otherwise. */
    int32_t dtype, y_type, bias_type, residual_type;
    int32_t channels_last, w_channels_last; /* all but w; w */
};
_Static_assert(sizeof(struct conv_shape) == 25 * 8 + 16 * 4, "its gaps would be compared, too");

struct conv_run {
    struct conv_shape shape;
    void *y;
    const void *x, *w, *bias, *residual;
    bool saturates; /* finite results stay so in half precision, where end() rounds them */
    /** y = activation(y + bias + residual), by an own kernel, behind a convolution alone. */
    void (*end)(const struct conv_run *run);
    void (*saturate)(const struct conv_run *run); /* where there is no end(); NULL: not asked for */
};

/** The own kernel for a call of the table. */
typedef void conv_own_fn(const void *call);

struct conv_plan;

struct conv_call {
    struct conv_run run;
    bool is_refused; /* cuDNN does not take it */
    conv_own_fn *own;
    const void *call;
    struct conv_plan *plan; /* by conv_is_planned() */
};

/** Whether cuDNN is to compute it: then conv_run() does. Makes a plan where there is none yet, unless a
 *  graph is being captured. False: the own kernel has to. */
bool conv_is_planned(struct kernel_cuda *cuda, struct conv_call *call);
void conv_run(struct kernel_cuda *cuda, const struct conv_call *call);

/* --- conv_graph.c --- */

/** cuDNN, and what it could not do. */
struct conv_library {
    const struct dnn_library *functions;
    void *handle;
    void *device;                         /* what it is asked for instead of the handle's; NULL */
    char problem[KERNEL_CUDA_TEXT_BYTES]; /* the first; "" */
};

enum { CONV_DESCRIPTORS_MAX = 20, CONV_TENSORS_MAX = 5 };

/** Numbers of tensors. */
enum { CONV_X = 1, CONV_W, CONV_Y, CONV_BIAS, CONV_RESIDUAL, CONV_BETWEEN };

/** What is computed, as descriptors. */
struct conv_graph {
    void *descriptors[CONV_DESCRIPTORS_MAX]; /* in the order in which they were made */
    int count;
    void *graph; /* the last of them; NULL: cuDNN does not do this */
};

/** Whether more than the convolution can be a part of the graph. */
bool conv_has_end(const struct conv_shape *shape);

/** has_end  with all that comes behind the convolution; else the run's end() is still to come */
void conv_graph_make(struct conv_library *library, const struct conv_shape *shape, bool has_end,
                     struct conv_graph *out_graph);
void conv_graph_forget(struct conv_library *library, struct conv_graph *graph);

/** An engine of cuDNN's with its settings, ready to run. */
struct conv_candidate {
    void *configuration, *engine, *execution;
    int64_t engine_number, workspace_bytes;
};

/** What an engine may do to the numbers that it reads; all sum in float32. */
enum conv_rounding {
    CONV_ROUNDS_NOTHING,   /* no tensor cores, which round float32 */
    CONV_ROUNDS_TF32,      /* as they like */
    CONV_ROUNDS_ONLY_HALF, /* tensor cores, which take numbers of half precision as they are */
};

/** What it may do to those of a shape. */
enum conv_rounding conv_rounding_of(const struct conv_shape *shape, bool allows_tf32);

/** Configurations that heuristics propose. Returns how many; conv_candidate_make() takes them over. */
int conv_graph_ask(struct conv_library *library, const struct conv_graph *graph, int mode,
                   int wanted, void **out_configurations);

/** False: it cannot be built, or computes less exactly than is allowed; `configuration` is given
 *  back then. */
bool conv_candidate_make(struct conv_library *library, void *configuration,
                         enum conv_rounding allowed, struct conv_candidate *out_candidate);
/** What tells its configuration from others of its engine. False: it cannot be read. */
bool conv_candidate_key(struct conv_library *library, const struct conv_candidate *candidate,
                        uint64_t *out_key);
void conv_candidate_forget(struct conv_library *library, struct conv_candidate *candidate);

/** The memory that a candidate is run with. NULL where it cannot be had. */
void *conv_pack_make(struct conv_library *library, const struct conv_run *run, bool has_end,
                     void *workspace);

/** Accepts NULL. */
void conv_descriptor_forget(struct conv_library *library, void *descriptor);

#endif
