/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How an operator is replaced: a rule adds nodes and says which values take the place of the old
 * node's outputs. The first failure is kept in `rc`; what is called afterwards does nothing and
 * returns NULL, so that a rule reads straight down. Inside of runtime/ops/lower only.
 */
#ifndef OPTRACE_RUNTIME_OPS_LOWER_RULES_H
#define OPTRACE_RUNTIME_OPS_LOWER_RULES_H

#include "runtime/ops/lower/lower.h"

struct lower {
    struct graph *graph;
    struct node *node; /* that is replaced */
    struct diag *diag;
    int rc;
    struct node *made; /* the newest */
    uint32_t first;    /* place of the first that the rule makes */
    bool is_kept;      /* the node stays */
};

typedef void lower_fn(struct lower *l);

enum {
    LOWER_ANY = 1 << 20, /* inputs */
    LOWER_PARTS = 256,   /* that a rule takes at once */
};

struct lower_rule {
    struct lower_facts facts;
    uint32_t inputs_min, inputs_max, outputs_max;
    const char *attributes; /* those that the rule reads, with spaces between them */
    lower_fn *lower;
};

/** For lower_for_device(), and whether such a product is slower than one by weights of another type. */
extern const struct lower_rule lower_kept_blocks, lower_kept_experts, lower_kept_lstm;
bool lower_is_slower_than(const struct node *node, enum dtype half);

/** Ends with one whose type is NULL. */
extern const struct lower_rule lower_layers[], lower_attentions[], lower_quantised[],
    lower_linear[], lower_groups[], lower_learning[], lower_scans[], lower_sequences[],
    lower_trees[], lower_ensembles[], lower_signals[], lower_windows[], lower_carriers[],
    lower_blocks[], lower_channels[], lower_training[], lower_flexible[], lower_diffusion[],
    lower_contrib[], lower_gated[], lower_experts[], lower_streams[], lower_deltas[];

/** Whether a word stands in a list with spaces between its words. */
bool lower_is_listed(const char *list, const char *word);

/** Input i of the node, NULL where it is left out. */
struct value *lower_input(const struct lower *l, uint32_t i);
/** Whether somebody may read output i. */
bool lower_wants(const struct lower *l, uint32_t i);

/** A new node with one output, which is returned; with its domain in front where it has one. Trailing
 *  NULLs among the inputs are left out. */
struct value *lower_op(struct lower *l, const char *op_type, struct value *const *inputs,
                       uint32_t count);
struct value *lower_one(struct lower *l, const char *op_type, struct value *x);
struct value *lower_two(struct lower *l, const char *op_type, struct value *a, struct value *b);
/** The same with several outputs. */
void lower_many(struct lower *l, const char *op_type, struct value *const *inputs, uint32_t count,
                struct value **outputs, uint32_t output_count);

/* Attributes of the newest node. */
void lower_int(struct lower *l, const char *name, int64_t i);
void lower_float(struct lower *l, const char *name, float f);
void lower_ints(struct lower *l, const char *name, const int64_t *ints, size_t count);
void lower_floats(struct lower *l, const char *name, const float *floats, size_t count);
/** As a tensor, which is copied. */
void lower_doubles(struct lower *l, const char *name, const double *doubles, size_t count);
void lower_string(struct lower *l, const char *name, const char *s);
void lower_strings(struct lower *l, const char *name, const char *const *strings, size_t count);
/** Those of the old node, of these names, with spaces between them. */
void lower_copy(struct lower *l, const char *names);
/** One of them under another name. */
void lower_copy_as(struct lower *l, const char *from, const char *to);
/** Scores of classes or targets, a row each, as the attribute post_transform wants them; of ai.onnx.ml. */
struct value *lower_post_transform(struct lower *l, struct value *scores);
/** A convolution of inputs 0 and 2 with these weights, input 3 added, and the activation that the
 *  node's attributes name. */
void lower_conv_of(struct lower *l, struct value *weights);
/** x, whose channels are its last axis, with them as its second, and the other way round. */
struct value *lower_channels_second(struct lower *l, struct value *x, int rank);
struct value *lower_channels_last(struct lower *l, struct value *x, int rank);
/** What lower_channels_last() was given to make x, and its rank; NULL where x was not made so. */
struct value *lower_before_channels_last(const struct value *x, int *out_rank);

/* Constants. */
struct value *lower_number(struct lower *l, float number);
struct value *lower_double(struct lower *l, double number);
struct value *lower_list(struct lower *l, const int64_t *ints, size_t count);
struct value *lower_texts(struct lower *l, const char *const *texts, size_t count);
/** The labels of a classifier: attribute classlabels_strings, or whole numbers in one called `ints`; NULL
 *  and 0 where there is neither. */
struct value *lower_labels(struct lower *l, const char *ints, size_t *out_count);
/** For `bytes` of the type and shape; their place, or NULL. */
void *lower_data(struct lower *l, enum dtype dtype, const struct shape *shape,
                 struct value **out_value);

/** The shape that an axis list gives: x with dims where 0 keeps one and -1 is the rest. */
struct value *lower_reshape(struct lower *l, struct value *x, const int64_t *dims, size_t count);
/** x with ones at these axes of the result. */
struct value *lower_unsqueeze(struct lower *l, struct value *x, const int64_t *axes, size_t count);
struct value *lower_cast(struct lower *l, struct value *x, enum dtype dtype);
/** The size of x along an axis: [1], int64. */
struct value *lower_dim(struct lower *l, struct value *x, int64_t axis);
/** Elements [begin, end) of a list; negative: from its end, INT64_MAX: to its end. */
struct value *lower_part(struct lower *l, struct value *list, int64_t begin, int64_t end);
/** x in the shape of another value, also where that has axes of 0. */
struct value *lower_shaped_like(struct lower *l, struct value *x, struct value *like);

/** Sums along an axis, which is left out, or stays as one of size 1. */
struct value *lower_sum(struct lower *l, struct value *x, int64_t axis, bool keeps);
/** Parts of x along an axis, so many of these sizes. */
void lower_split(struct lower *l, struct value *x, int64_t axis, const int64_t *sizes,
                 uint32_t count, struct value **parts);
/** x without this axis, whose size is 1. */
struct value *lower_squeeze(struct lower *l, struct value *x, int64_t axis);

/** What a constant holds, if this is one: an initialiser, or made by a Constant. Not a copy. */
bool lower_content(const struct value *value, struct tensor_view *out_view);

/** The same also of an input whose content is known while the model is read: value_learn(). How many tensors
 *  there are and which branch is taken may stand on it, what is computed may not. The input is marked: the graph
 *  is for this content (value->decides_nodes). */
bool lower_given(struct value *value, struct tensor_view *out_view);

/** Make initialisers of what Constants give the node, so that rules find them alike. */
void lower_settle(struct lower *l);

/** What it takes to know how many axes a value has before shapes are inferred; -1: not known. */
int lower_rank(const struct value *value);

/** The nodes of a body of the node, copied. inputs: its own; outputs: as many as the body has. */
void lower_inline(struct lower *l, const struct graph *body, struct value *const *inputs,
                  struct value **outputs);

/* Sequences. */

/** The tensors in one; the caller frees items. */
struct lower_parts {
    struct value **items;
    size_t count;
};

/** Whether a value is made by what makes sequences, before those are lowered. */
bool lower_holds_sequence(const struct value *value);
/** What stands in a sequence; false, with nothing to free, where it is not known. */
bool lower_find_parts(struct lower *l, struct value *value, struct lower_parts *out_parts);
/** Whether a condition is known, and what it is: also one that asks whether an optional holds something, or
 *  compares two known numbers. */
bool lower_truth(struct value *value, bool *out_truth);

/** One whole number that follows from constants: sums, elements of lists, and what only moves those. */
bool lower_whole_number(struct value *value, int64_t *out_number);

/** A carried value that each turn adds the same to. */
struct lower_counter {
    uint32_t state;
    int64_t first, step;
};

/** Turns of a Loop without a count whose condition is true at first, and then whether a counter is below a number;
 *  -1: it is no such Loop. */
int64_t lower_count_up(const struct node *loop, const struct graph *body,
                       struct lower_counter *out_counter);
/** Replace the node if it is a Loop that carries sequences. Returns false where it is none, or with only_known
 *  where its turns are not known. */
bool lower_carried(struct lower *l, bool only_known);
/** The same for an If whose branches give sequences. */
bool lower_branches(struct lower *l);
/** Let a body of the node read the parts of sequences where it reads sequences from outside. Returns
 *  whether there were any: its nodes are to be lowered again, and sorted. */
bool lower_reads_sequence(struct lower *l, struct graph *body);

/** `value` (NULL: nothing) takes the place of output i. */
void lower_done(struct lower *l, uint32_t i, struct value *value);

/** The node stays, for rules that come by later; what nobody takes from is dead at the end. */
void lower_keep(struct lower *l);

/** The node is not supported because of what this says. */
void lower_refuse(struct lower *l, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
