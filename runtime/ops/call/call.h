/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a node to a kernel: its attributes, shapes and dtypes become one call of a function in the
 * kernel table, with everything worked out but the addresses.
 *
 * Folding (ops/eval.c) binds, runs once and forgets; execution (exec/bind.c) binds once and runs
 * often.
 *
 * Order: call_bind(), then the addresses: call->inputs and call->outputs point to arrays of the
 * caller, as long as the node's, then call_run() any number of times; call_deinit().
 */
#ifndef OPTRACE_RUNTIME_OPS_CALL_CALL_H
#define OPTRACE_RUNTIME_OPS_CALL_CALL_H

#include "base/diag.h"
#include "kernels/kernels.h"
#include "runtime/graph/graph.h"
#include "runtime/graph/layout.h"

enum call_moment {
    CALL_START,   /* the node's turn: its shapes are inferred now */
    CALL_PREPARE, /* they are: memory is made for its outputs, and its kernel chosen */
    CALL_KERN,    /* right before the kernel; left out where no kernel makes the outputs */
    CALL_END,
};

/** Who is told of the steps inside of an If or a Loop: one per node of a body, numbered through. */
struct call_watch {
    void *user;
    bool wants_phases; /* else only of CALL_START and CALL_END */
    void (*moment)(void *user, uint32_t step, enum call_moment moment);
};

struct call {
    int (*run)(const struct call *call);
    const char *version;           /* of the kernel */
    void *params;                  /* what run needs; owned */
    struct kernel_conv_plan *plan; /* owned; a Conv's, or NULL */
    struct kernel_gemm_plan *gemm; /* owned; a matrix product's with constant weights, or NULL */
    struct call_half *half;        /* owned; where tensors are stored in another type, or NULL */
    const void *const *inputs;
    void *const *outputs;
    size_t workspace_bytes; /* 64-byte aligned scratch that the kernel wants, 0 for none */
    void *workspace;

    bool has_fused; /* the kernel applies what is fused into the node */
    /* An activation that the kernel itself cannot apply: done on output 0 afterwards. */
    unary_f32_fn *activate;
    struct kernel_activation activation;
    size_t activate_count;

    /* Of If and Loop: who watches, the number of the first step inside, why the last run failed. */
    const struct call_watch *watch;
    uint32_t first_inner;
    struct body_calls *bodies;  /* owned; of the nodes inside */
    const struct diag *problem; /* part of params; NULL: nothing to say */
};

/** What call_bind() and the binders of each operator are given. */
struct call_request {
    const struct kernel_table *kernels;
    const struct graph *graph;
    const struct node *node;
    /* As many as the node has. data is set where the content is known now (constants): an operator
     * that needs an input's content to choose its sizes is refused without. */
    const struct tensor_view *inputs;
    const struct tensor_view *outputs;
    /* As many, as they are stored, where call_bind_any() shows them as float32; NULL: as above. */
    const struct tensor_view *stored_inputs;
    const struct tensor_view *stored_outputs;
    /* How they lie in memory: as many; NULL: all row-major. See call_layout_need(). */
    const struct layout *input_layouts;
    const struct layout *output_layouts;
    const char
        *version;   /* of call_bind_conv_plan(); NULL: the one that is expected to be fastest */
    bool on_device; /* kernels are a device's, and so are the addresses: run() may hand them on to
                        kernels but not look at them, and nothing is computed now */
    /* Data is set of that alone which stays where it is and as it is, in every run. */
    bool shows_fixed;
    bool row_by_row; /* a matrix product: each row of a alone, whatever stands beside it */
    struct diag *diag;
};

/** Returns 0; -ENOTSUP when no kernel does this; -EINVAL when shapes, attributes or dtypes do not
 * fit together; -ENOMEM. diag names node, operator and opset. */
int call_bind(const struct call_request *request, struct call *out_call);

void call_deinit(struct call *call);

/**
 * Bind with call_bind() or one of the others below. Where tensors of the node are float16 or
 * bfloat16 and call_widens(), it is bound as if they were float32: each run converts them. Then a
 * call of call_bind_conv_plan() puts the residual where it adds to it by itself, from its input.
 */
typedef int call_bind_any_fn(const struct call_request *request, struct call *out_call);
int call_bind_any(const struct call_request *request, call_bind_any_fn *bind,
                  struct call *out_call);

/** Whether an operator is computed in float32 over tensors that are stored in float16 or bfloat16.
 */
bool call_widens(const struct node *node);

/* For call_run() and call_deinit(). */
int call_run_half(const struct call *call);
void call_half_destroy(struct call_half **half);

/** Returns 0 or the kernel's failure: -EINVAL, an index in the data is out of range; -ESTALE, the data makes
 *  an output of another size than was inferred; or what call->problem says. Allocates nothing, unless it is
 *  an If or a Loop. */
static inline int call_run(const struct call *call)
{
    int rc;

    if (call->half)
        return call_run_half(call);
    rc = call->run(call);
    if (rc == 0 && call->activate)
        call->activate(call->outputs[0], call->outputs[0], call->activate_count, call->activation.a,
                       call->activation.b);
    return rc;
}

/** Why call_run() failed, where nobody else knows: a sentence that goes behind the node's name. */
const char *call_problem(const struct call *call, int error);

/** What an operator's kernels can do with layouts. */
enum layout_need {
    LAYOUT_ROW_MAJOR, /* everything must be row-major */
    LAYOUT_IMAGE,     /* input 0 and output 0 share one of the two layouts of images */
    LAYOUT_SAME,      /* input 0 and output 0 share any layout */
    LAYOUT_ANY,       /* every tensor may have its own */
    LAYOUT_QUANTA, /* operands and output 0 share one of the two layouts of images; of means that of
                         input 0 alone */
};

enum layout_need call_layout_need(const struct node *node);

/** Output 0 may be written over this input when nobody needs that any more; -1: over none. Of the
 *  two operands of an addition it is the first that has the output's shape. */
int call_in_place_input(const struct node *node);

enum call_conv_last {
    CONV_NEVER_LAST,
    CONV_TAKES_LAST, /* where it comes so, or is wanted so */
    CONV_LIKES_LAST, /* wherever it comes from */
};

/** Whether a quantised convolution computes images that lie channels-last: its input and its output. */
enum call_conv_last call_conv_last(const struct graph *graph, const struct node *node);

/**
 * Bind a Conv or ConvTranspose to a kernel that prepares its weights: input 0, output 0 and the
 * residual have the layout of input 0, channels-last or row-major, and output 0 holds the residual
 * when the call runs. inputs[0] and outputs[0] are the only addresses it reads.
 *
 * Returns 0, 1 when call_bind() has nothing slower, or as call_bind().
 */
int call_bind_conv_plan(const struct call_request *request, struct call *out_call);

/** Whether weights of a convolution in f32 are worth being laid out for one run: that takes some microseconds, and
 *  reads each once. */
bool call_is_large_conv(const struct call_request *request);

/**
 * Bind a MatMul or Gemm by constant weights to a kernel that packs them. inputs[0] and outputs[0]
 * are the only addresses it reads. Returns as call_bind_conv_plan().
 */
int call_bind_gemm_plan(const struct call_request *request, struct call *out_call);

/** The weights of such a plan, input 1, as they are stored, and in which types it may compute: the
 *  binders' own business. */
const struct tensor_view *call_plan_weights(const struct call_request *request,
                                            struct kernel_plan_types *out_types);

/** What a plan reads as input 0 and writes as output 0; float32 of other calls. */
struct kernel_plan_types call_plan_types(const struct call *call);

/** The copy of its weights that a kernel has prepared, with their size; NULL: there is none. */
const void *call_weights(const struct call *call, size_t *out_bytes);

/** A copy of one tensor from one layout to another. Returns 0 or -ENOMEM. */
int call_bind_reorder(const struct kernel_table *kernels, const struct tensor_view *tensor,
                      const struct layout *from, const struct layout *to, struct call *out_call);

/**
 * Inputs, a bit each, that half precision would not make a little wrong, but another number: they are
 * near 0 or beyond where the operator is defined, or angles that lose whole turns; or what comes out
 * is an index, a truth, a whole number, or a place.
 */
uint32_t call_wide_inputs(const struct node *node);

/** Whether it moves elements of its inputs on, or chooses among them. */
bool call_moves(const struct node *node);

/** Whether this operator only shows its first input under another shape (Reshape, Identity, ...).
 */
bool call_is_view(const struct node *node);

/* For the binders, the files beside this. */

typedef int call_bind_fn(const struct call_request *request, struct call *call);

/* One function per operator, or per family. */
#define OP_KERNELS(name, bind, ...) call_bind_fn bind;
#include "runtime/ops/table.def"
call_bind_fn call_bind_clip_any, call_bind_conv_any; /* over types that the others hand on */
call_bind_fn call_bind_cast_text;

/** Which binder serves an operator, by node_full_type(); NULL: none. */
call_bind_fn *call_binder(const char *full_type);

/** Whether call_bind_map() computes an operator over a type. */
bool call_map_takes(const char *op_type, enum kernel_dtype dtype);

/** The function of an operator with one operand, and its parameters; false where it is none. Gelu
 *  gives the form that it approximates. */
bool call_map_of(const struct graph *graph, const struct node *node,
                 struct kernel_map_args *out_args);

/** Its name in a chain's steps: the operator's, "Gelu(tanh)" for that form; and back. */
const char *call_map_name(enum kernel_map op);
bool call_map_by_name(const char *name, enum kernel_map *out_map);

/** The function of an operator with two operands; false where it is none. */
bool call_zip_of(const char *op_type, enum kernel_zip *out_zip);

/** Whether somebody reads an output of the node. */
bool call_is_read(const struct node *node, uint32_t output);

/** Fill diag with 'node "N" (Op, opset V): TEXT'. Returns error. */
int call_refuse(const struct call_request *request, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** An input by position; NULL when it is left out. */
const struct tensor_view *call_input(const struct call_request *request, uint32_t index);

/** Zeroed memory for call->params. -ENOMEM into diag. */
int call_params(const struct call_request *request, struct call *call, size_t bytes);

/** The kernels' name of a dtype. Returns false when they have none. */
bool call_dtype(enum dtype dtype, enum kernel_dtype *out_dtype);

/** The same, also of types that are only stored. */
bool call_stored_dtype(enum dtype dtype, enum kernel_dtype *out_dtype);

/** The same as call_dtype(), and for texts that of their numbers: for what moves elements or tells
 *  whether they are equal. */
bool call_moved_dtype(enum dtype dtype, enum kernel_dtype *out_dtype);

/** -ENOTSUP unless inputs `first` to `last` that are present, and output 0, are float32. */
int call_require_f32(const struct call_request *request, uint32_t first, uint32_t last);

enum { CALL_MAX_INTS = 2 * SHAPE_MAX_RANK };

/**
 * A list of integers that newer opsets pass as an input and older ones as an attribute.
 *
 * Returns the count; 0 with *out_given false when neither is there; -ENOTSUP when the input's
 * content is not known at load time; -EINVAL when it is no list of at most CALL_MAX_INTS integers.
 */
int call_ints(const struct call_request *request, uint32_t input, const char *attribute,
              int64_t out_ints[CALL_MAX_INTS], bool *out_given);

/** The axis as 0 to rank - 1, or -EINVAL. `limit` is the number of axes to choose from. */
int call_axis(const struct call_request *request, int64_t axis, int limit);

/** Strides in elements, by axis. */
void call_input_strides(const struct call_request *request, uint32_t index, int64_t *out_strides);
void call_output_strides(const struct call_request *request, int64_t *out_strides);

/** Strides that show `operand`, which has own_strides, under output 0's shape: its axes stand at
 *  `first` and after; 0 where it is broadcast. -EINVAL when it does not fit. */
int call_broadcast_strides(const struct call_request *request, const struct shape *operand,
                           const int64_t *own_strides, int first,
                           int64_t out_strides[KERNEL_MAX_RANK]);

/** The axes of output 0 from outermost to innermost. */
struct layout call_output_layout(const struct call_request *request);

/** Whether input 0 is channels-last and not row-major as well. */
bool call_is_channels_last(const struct call_request *request);

/** The same for call_bind_conv_plan(), exactly as it was asked for. */
bool call_plan_is_channels_last(const struct call_request *request);

/** Geometry of a Conv or a pool, shared with the prepared kernels. */
int call_conv_shape(const struct call_request *request, struct kernel_conv *out_shape);
int call_conv_transpose_shape(const struct call_request *request, struct kernel_conv *out_shape);
int call_pool_shape(const struct call_request *request, struct kernel_pool *out_shape,
                    bool *out_is_max);

/** Geometry of a matrix product of inputs a and b; alpha 1, beta 0. */
int call_matmul_shape(const struct call_request *request, uint32_t a, uint32_t b,
                      struct kernel_gemm *out_shape);

/** A product that is bound to what its type has; has_c: input 2 is added. */
int call_bind_product(const struct call_request *request, struct call *call,
                      const struct kernel_gemm *shape, bool has_c);

/* Of half precision on a device (half_device.c, half_routes.c). */

static inline bool call_is_half(enum dtype dtype)
{
    return dtype == DTYPE_F16 || dtype == DTYPE_BF16;
}

/** Whether an input or output is float16 or bfloat16. */
bool call_has_half(const struct call_request *request);

/** The binder for kernels that compute in half precision what `bind` serves. NULL: there is none, or the
 *  request is none for it. Where it refuses, kernels of float32 are left. */
call_bind_fn *call_half_binder(const struct call_request *request, call_bind_fn *bind);

/** Whether input 0 or 1 is to be multiplied in half precision. */
bool call_is_half_product(const struct call_request *request);

/** One tensor between its own type and the kernel's, in the workspace. */
struct call_conversion {
    bool is_needed;
    size_t count, offset; /* elements; of the kernel's form in the workspace */
    enum kernel_dtype own, kernel;
};

/** Room for what a kernel of another type is to read of this input, or makes of this result. Of an input
 *  that is constant, or stays wide, what half precision cannot hold would be lost: -ENOTSUP. */
int call_plan_narrowed(const struct call_request *request, uint32_t index, enum kernel_dtype kernel,
                       struct call_conversion *conversion, struct call *call);
void call_plan_conversion(struct call_conversion *conversion, struct call *call,
                          const struct tensor_view *view, enum kernel_dtype own,
                          enum kernel_dtype kernel);

/** In a run: input `index` as the kernel reads it, converted by `fn` where that is needed; where the
 *  kernel puts output 0, and that as it is stored. */
const void *call_read_narrowed(const struct call *call, uint32_t index, chain_half_fn *fn,
                               const struct call_conversion *conversion);
void *call_written(const struct call *call, const struct call_conversion *conversion);
void call_widen_written(const struct call *call, chain_half_fn *fn,
                        const struct call_conversion *conversion);

/* An attribute of pass_half()'s: the type that attention is computed in where nothing that it reads or writes
 * is stored so. */
#define CALL_COMPUTED_IN "computed_in"

/** Attention by a device's kernel of half precision; where that refuses, `call` is as it was. */
int call_bind_attention_half(const struct call_request *request, struct call *call);

/** A convolution, by weights of half precision; a product, also of float32 alone. */
int call_bind_conv_half(const struct call_request *request, struct call *call,
                        const struct kernel_conv *shape);
int call_bind_gemm_half(const struct call_request *request, struct call *call,
                        const struct kernel_gemm *shape, bool has_c);

/** One element-wise operator as a chain of half precision. */
int call_bind_step(const struct call_request *request, struct call *call);

/** A product over other types than f32; has_c: input 2 is added. */
int call_bind_product_any(const struct call_request *request, struct call *call,
                          const struct kernel_gemm *shape, bool has_c);

/** A window over input x with a kernel of these sizes, one per spatial axis. */
int call_window(const struct call_request *request, uint32_t x, const int64_t *kernel,
                struct kernel_window *out_window);

/** The same for a convolution: innermost is an axis that has more than one element, where one does. */
int call_conv_window(const struct call_request *request, uint32_t x, const int64_t *kernel,
                     struct kernel_window *out_window);

/** A list attribute with one entry per spatial axis (pads: two), or the fallback everywhere.
 *  -ENOTSUP where one is below `lowest` or beyond int32. */
int call_axis_ints(const struct call_request *request, const char *name, size_t count,
                   int64_t lowest, int64_t fallback, int64_t *out_values);

struct kernel_activation call_activation(const struct node *node);

#endif
