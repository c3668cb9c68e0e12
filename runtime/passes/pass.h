/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Optimisations of a graph whose shapes are known: each takes a graph and leaves one that computes
 * the same outputs. graph_optimise() runs them in the order that works; each can be run alone.
 *
 * All return the number of changes they made, or a negative errno: -ENOMEM, -EINVAL when constants
 * contradict their operator. The graph stays sorted and keeps its inputs and outputs with their
 * names. A node that takes over the work of others lists their names in its origins.
 */
#ifndef OPTRACE_RUNTIME_PASSES_PASS_H
#define OPTRACE_RUNTIME_PASSES_PASS_H

#include "base/diag.h"
#include "runtime/graph/fused_ops.h"
#include "runtime/graph/graph.h"
#include "runtime/ops/shape/shape.h"

/** Outputs above this are not computed at load time, but on every run. */
#define FOLD_OUTPUT_BYTES_MAX ((int64_t)1 << 30)

/* What is left out; {0} optimises all that there is. */
struct pass_options {
    bool no_inference;    /* what is computed from constants, identities and batch norms stay */
    bool no_nonlinearity; /* biases and activations are not fused */
    bool no_z;            /* residuals are not fused */
    bool no_preprocess;   /* operators behind inputs are not fused */
    enum dtype half;      /* what tensors are stored in; 0: as the model says */
    bool half_sums; /* and so is what convolutions, products and normalisations add or scale by */
    /* Tensors between operators are stored so only where they take a noticeable part of the memory; else
     * weights alone are. */
    bool half_where_large;
    /* The model says so itself: what is too large for the type becomes infinite. */
    bool half_is_own;
    /* Of a model that says float16 or bfloat16, what lies between operators is float32, but as half_where_large
     * says; operators become others as in a model of float32. Not where `half` asks for something else. */
    bool widens;
    /* What a table or sums of bytes would compute between quantised tensors stays, as a device computes it, and what
     * weights of 4 bits are made real by. */
    bool no_lookups;
    bool no_places;    /* convolutions of one place stay, as a device's library has them */
    bool folds_scales; /* products with a number go into matrix products, as a device has them */
    bool joins_gelu;   /* GELUs by tanh go into matrix products, as a device's library has them */
    /* Attention in smaller operators becomes one, for a device's kernel: of float32, and of what is
     * stored in half precision or will be. */
    bool joins_attention, joins_half_attention;
    bool no_jit;  /* chains of element-wise operators are not fused */
    int64_t trim; /* so many nodes are left out at the end; for pass_cut(), like the next */
    const char *output_names; /* values that are the outputs, with commas; NULL: the model's */
};

/** Let a sorted graph, of which nothing is known yet, end earlier: without its last nodes, with other
 *  outputs. -EINVAL for names that nothing computes. */
int pass_cut(struct graph *graph, const struct pass_options *options, struct diag *diag);

/** Replace each Constant by its value, as no kernel computes it. Returns how many there were. */
int pass_take_constants(struct graph *graph, struct diag *diag);

/** Let what bodies of Loop and If compute of constants alone, by operators that cannot fail, be computed outside of
 *  them; those bodies capture it. Bodies within bodies keep what they have. Between two of pass_take_constants(). */
int pass_lift_constants(struct graph *graph, struct diag *diag);

/** Replace what depends on constants alone by its value. A node that eval cannot compute stays.
 *  leaves_tables: also the Transpose of a large constant that others read, as embeddings and the last product
 *  of a language model share one; pass_half() narrows it, and a copy is made of what is half as large. */
int pass_fold_constants(struct graph *graph, bool leaves_tables, eval_fn *eval, struct diag *diag);

/** What pass_fold_constants() left, after pass_half(). */
int pass_fold_tables(struct graph *graph, eval_fn *eval, struct diag *diag);

/** Conv, MatMul and Gemm between DequantizeLinear and QuantizeLinear become QLinearConv and QLinearMatMul,
 *  with a Relu or Clip that the range of the result makes needless; what only moves or compares
 * elements works on the integers. Scales and zero points must be constants, and a bias one in units
 * of the products. Where looks_up is set, functions of one operand become a table of all their results
 * (LOOKUP_OP_TYPE), spelled out as nodes, and sums, products and means are of bytes (QUANTA_ADD_OP_TYPE and the
 * like; results may be the quantum beside). Before pass_fold_constants(), which makes weights real, and that table. */
int pass_fold_quantised(struct graph *graph, bool looks_up, struct diag *diag);

/** MatMul by at least so many constants of 4 bits that a DequantizeLinear makes real, in blocks of 16 or more along their rows, by
 *  columns or all alike, becomes a product by blocks (optrace.BlockMatMul), with what an Add adds to its columns.
 *  Before pass_fold_constants(), too. */
int pass_fold_blocks(struct graph *graph, int64_t least, struct diag *diag);

/** Take out nodes that do nothing: Identity, Dropout in inference, Reshape or Transpose to the same
 *  shape, Cast to the same type, Concat and Sum of one, Pad by nothing, whole Slices, ... */
int pass_drop_identities(struct graph *graph, struct diag *diag);

/** Pow by a constant 2 becomes Mul, which is exact as well; FusedMatMul by weights MatMul; ConvTranspose by
 *  weights whose strides are 1 a Conv. */
int pass_simplify(struct graph *graph, struct diag *diag);

/** Outer taps of a convolution that meet padding alone, wherever its window stands, go, with the pads that they
 *  needed. Weights must be constant. */
int pass_trim_taps(struct graph *graph, struct diag *diag);

/** Layer normalisation and GELU that are spelled out in smaller operators become one of their own,
 *  whatever the operator set. float32 only. */
int pass_detect(struct graph *graph, struct diag *diag);

/** Attention that is spelled out in products, a softmax and what stands between them becomes one
 *  Attention, whatever the operator set: of 16 queries at least and values of 128 channels at most,
 *  which a device's kernel has tiles for. float32 only. Before pass_fuse(). */
int pass_fuse_attention(struct graph *graph, struct diag *diag);

/** The same of float16 and bfloat16, and of float32 that pass_half() is to store so (half; DTYPE_NONE: it
 *  is not): of queries of 128 channels at most, too. */
int pass_fuse_half_attention(struct graph *graph, enum dtype half, struct diag *diag);

/** Conv then BatchNormalization, or Mul by constants per channel, or Add where the Conv has a bias, all with constant
 *  parameters, float32: scale weights and bias. */
int pass_fold_batch_norm(struct graph *graph, struct diag *diag);

/** Two Convs of one image whose results are added, or one taken off the other, with the same strides and groups, become one by
 *  the sum of their weights, where one's taps are among the other's; so does a BatchNormalization beside a Conv.
 *  Parameters must be constant, float32. After pass_fold_batch_norm(), before pass_fuse(). */
int pass_join_convs(struct graph *graph, struct diag *diag);

/** A Conv of one image whose window covers it, by a million constant weights or more that nobody else reads, float32,
 *  becomes a Gemm between two Reshapes. After pass_fold_batch_norm(). */
int pass_multiply_places(struct graph *graph, struct diag *diag);

/** Casts to float32, transpositions, a pad by a constant, and sums and products with constants that
 *  stand right behind an input of the graph become one node (PREPROCESS_OP_TYPE), where it is two
 * of them at least. Returns how many nodes went into those. */
int pass_preprocess(struct graph *graph, struct diag *diag);

/** Chains and trees of element-wise float32 operators, whose intermediate results nobody else
 * reads, become one node each (CHAIN_OP_TYPE). Returns how many nodes went into those. */
int pass_fuse_chains(struct graph *graph, struct diag *diag);

/** MatMul of something times a constant number, or divided by it, and the same behind MatMul: becomes the
 *  attribute alpha, a factor, of the MatMul. Whoever binds it has to know that. float32 only. */
int pass_fold_scales(struct graph *graph, struct diag *diag);

/** Conv then Add of a constant per channel: becomes the Conv's bias. Then Add (or Sum of two) of a
 *  tensor of the same shape: the Conv's residual. Then, also for Gemm and MatMul, the activation:
 * Relu, LeakyRelu, Clip with constant bounds, Sigmoid, Tanh. float32 only. */
int pass_fuse(struct graph *graph, const struct pass_options *options, struct diag *diag);

/**
 * Sets stays_wide of tensors in which the rounding of pass_half() would not be a small error:
 *
 *  - what is divided by, has a root, a logarithm or a power taken of it, or is an angle: it may
 *    become 0, negative or another angle;
 *  - what is compared, sorted, selected by, rounded or cast to an integer: it becomes another
 * index;
 *
 * with all that it is made of by moving elements and computing element by element, up to
 * convolutions, matrix products, pools, normalisations and reductions; of a reduction also the
 * terms that it sums where they are computed element by element (squares of what fits may not fit).
 *
 * Before pass_fuse() and pass_fuse_chains(), which make one operator of several.
 */
void pass_mark_wide(const struct graph *graph);

/**
 * Sets stays_wide of tensors of this type of half precision in which a difference of one rounding would not be a small
 * error: what is compared, sorted, selected by, rounded or cast to an integer, with all that it is made of, as
 * above. Each operator rounds them as the model says.
 */
void pass_mark_steps(const struct graph *graph, enum dtype dtype);

/**
 * Of a model whose weights are float16 or bfloat16, and more than a few: what it has in that type between operators becomes float32, as they compute in it one by one (call_widens()),
 * or only move it; casts between the two do nothing from here on. Weights stay as they are, and are deferred;
 * smaller constants are widened. Inputs and outputs of the graph keep their types, and so does
 *
 *  - what pass_mark_steps() marks, and all that decides_sizes;
 *  - what is cast to the type, and by all that read it to another one: somebody wants the rounding.
 *
 * Returns how many values became float32, and of what, where some did: pass_half() is to have that type.
 */
int pass_widen(struct graph *graph, enum dtype *out_dtype, struct diag *diag);

/**
 * Store weights and tensors between operators as dtype, float16 or bfloat16, where the operators
 * around can widen them (call_widens()) or only move them. Inputs and outputs of the graph keep
 * their types, and so do
 *
 *  - what stays_wide;
 *  - all that decides_sizes: what was found when shapes were inferred is found again;
 *  - weights that dtype cannot hold: one is too large, or all are too small for its precision;
 *  - constants that are no weights. Biases of convolutions and products, and the scales and biases of
 *    normalisations, are weights where half_sums is set: a device's kernels want one type.
 *
 * Where half_where_large is set, tensors between operators are stored so only if the largest operator reads
 * and writes more than a quarter of the weights' bytes.
 *
 * Returns how many nodes read or write such a tensor.
 */
int pass_half(struct graph *graph, const struct pass_options *options, struct diag *diag);

/** How many operators read or write tensors of this type; 0 for DTYPE_NONE. */
uint32_t pass_half_count(const struct graph *graph, enum dtype dtype);

/** Whether anything is computed in this type, or from what is stored so. */
bool pass_has_half(const struct graph *graph, enum dtype dtype);

/** The end of a pass that made `changed` changes: dead nodes go, the others are put in order again.
 *  Returns `changed`, or -ENOMEM. */
int pass_settle(struct graph *graph, int changed, struct diag *diag);

/** All of the above, and the removal of dead nodes. Returns 0 or a negative errno. */
int graph_optimise(struct graph *graph, const struct pass_options *options, eval_fn *eval,
                   struct diag *diag);

#endif
