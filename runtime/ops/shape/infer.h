/* SPDX-License-Identifier: Apache-2.0 */
/* What the shape functions share: one per operator, found through the table of operators. Only
 * runtime/ops/shape/ includes this. */
#ifndef OPTRACE_RUNTIME_OPS_SHAPE_INFER_H
#define OPTRACE_RUNTIME_OPS_SHAPE_INFER_H

#include "base/diag.h"
#include "runtime/graph/graph.h"
#include "runtime/ops/shape/shape.h"

/** One node at work. Its present inputs have known dtypes and shapes. */
struct infer {
    const struct graph *graph;
    const struct node *node;
    int64_t opset;
    const struct tensor_view *contents;  /* of the graph's inputs, or NULL */
    eval_fn *eval;                       /* or NULL */
    const struct shape_sources *sources; /* who computes parts; or NULL */
    bool *asked;                         /* by value->index: shapes depend on its content */
    bool *done; /* by node->index: computed on the way to a content; or NULL */
    /* By whose content the types of its outputs were found, a bit each; the last one stands for all further ones. Of a
     * body, also that of any node before. */
    uint64_t asked_inputs;
    struct diag *diag;
};

/** That the types of outputs depend on the content of input i. */
void infer_note_asked(struct infer *infer, uint32_t i);

/** Sets dtype and shape of the node's outputs with infer_output(). Returns 0 or what infer_fail()
 *  and its like return. */
typedef int shape_fn(struct infer *infer);

enum { INPUTS_ANY = 1 << 16 };

/** -EINVAL; the message gets 'node "n" (Conv, opset 11): ' in front. */
int infer_fail(struct infer *infer, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** -ENOTSUP, with the same in front. */
int infer_unsupported(struct infer *infer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

bool infer_has(const struct infer *infer, uint32_t i);
const struct shape *infer_shape(const struct infer *infer, uint32_t i);
enum dtype infer_dtype(const struct infer *infer, uint32_t i);

/** Set output i, which may be left out. Refuses tensors beyond the limit. */
int infer_output(struct infer *infer, uint32_t i, enum dtype dtype, const struct shape *shape);

/** Output 0 like input 0. */
int infer_same(struct infer *infer);

/** -EINVAL unless inputs i and k have the same dtype (a left-out one agrees with all). */
int infer_same_dtype(struct infer *infer, uint32_t i, uint32_t k);

/** -ENOTSUP unless input i is a floating point tensor. */
int infer_float(struct infer *infer, uint32_t i);

/** -ENOTSUP unless input i is int8 or uint8. */
int infer_byte(struct infer *infer, uint32_t i);

/** -ENOTSUP unless input i is int8 or uint8, -EINVAL unless its zero point, input `zero`, is the
 *  same. */
int infer_quantised(struct infer *infer, uint32_t i, uint32_t zero);

/** The content of input i, whatever it is computed from; it stays in the value as `known`. -ENOTSUP
 *  when it depends on an input of the graph whose content was not given, or cannot be computed. */
int infer_content(struct infer *infer, uint32_t i, const void **out_data);

/** Compute a node whose inputs are all known into its outputs' `known`. */
int infer_compute(struct infer *infer, const struct node *node, struct diag *diag);

/** Free what was computed on the way to a content and is large. */
void infer_forget(struct infer *infer);

/** Sets decides_sizes of what a shape depends on the content of. */
void infer_mark_deciding(struct infer *infer);

/* Tensors up to this size are computed as soon as they can be: later shapes may depend on them. */
enum { KNOWN_ELEMENTS_MAX = 1024 };

/** The elements of integer input i as int64; the caller frees *out_ints. -ENOTSUP when they are not
 *  known before the run. */
int infer_ints(struct infer *infer, uint32_t i, int64_t **out_ints, size_t *out_count);

/** The list in attribute `name` before operator set `input_since`, and in input i from then on;
 *  -EINVAL where the model's own node has it in the other place, or in both: kernels read what is
 *  there (call_ints()). Absent: *out_ints NULL. The caller frees it. */
int infer_list(struct infer *infer, const char *name, uint32_t i, int64_t input_since,
               int64_t **out_ints, size_t *out_count);

/** Wrap a negative axis; -EINVAL unless it is in [-rank, rank). */
int infer_axis(struct infer *infer, int64_t axis, int rank, int *out_axis);

/** NumPy's rule: *to becomes the common shape of both. */
int infer_broadcast(struct infer *infer, struct shape *to, const struct shape *with);

/* The windows of convolutions and of pools. Kernels exist for up to three spatial dims. */

enum { INFER_SPATIAL_MAX = 3 };

/** A stride, a dilation, a pad: nothing meaningful is larger, and sums of them do not overflow. */
#define INFER_WINDOW_MAX ((int64_t)1 << 40)

/** The attribute's list into `to`, or `fallback` count times. -EINVAL where it has another length
 * or a number that is not from `minimum` to INFER_WINDOW_MAX. */
int infer_window_list(struct infer *infer, const char *name, int count, int64_t minimum,
                      int64_t fallback, int64_t *to);

struct window {
    int spatial; /* number of spatial dims */
    int64_t kernel[SHAPE_MAX_RANK];
    int64_t strides[SHAPE_MAX_RANK];
    int64_t dilations[SHAPE_MAX_RANK];
    int64_t pads[2 * SHAPE_MAX_RANK]; /* all begins, then all ends; filled in for auto_pad too */
};

/** Read strides, dilations, pads and auto_pad; kernel is set by the caller. in: the whole shape. */
int infer_window(struct infer *infer, const struct shape *in, struct window *window);

/* One function per operator, or per family with the same rule. */
#define OPERATOR(type, since, inputs_min, inputs_max, outputs_max, shape, ...) shape_fn shape;
#include "runtime/ops/table.def"
shape_fn shape_extern_op; /* operators of other people's libraries */

/** And, Or and Xor, which take bools alone, where other operators of two operands take numbers. */
bool shape_is_logical(const char *op_type);

#endif
