/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The model as a graph: values (tensors), nodes (operators) and the edges between them.
 *
 * Order of calls: graph_create(), graph_add_value() / graph_add_node() (onnx/model.c does this for
 * a file), graph_sort(), graph_check(); then shape inference, passes, a plan; graph_destroy().
 *
 * Ownership: the graph owns its nodes, values, names, attributes and constant data. Pointers to
 * nodes and values stay valid until the node or value is removed by graph_remove_dead() or
 * graph_remove_node(), or the graph is destroyed. Nothing here locks: one thread edits a graph;
 * once nobody edits it, any number of threads may read it.
 *
 * Functions that can fail return 0 or a negative errno (-ENOMEM where nothing else is said) and
 * leave the graph as it was; functions that return a pointer return NULL when memory ran out.
 */
#ifndef OPTRACE_RUNTIME_GRAPH_GRAPH_H
#define OPTRACE_RUNTIME_GRAPH_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

/** Element types; the numbers are ONNX's TensorProto.DataType. */
enum dtype {
    DTYPE_NONE = 0, /* unknown, or an input that is left out */
    DTYPE_F32 = 1,
    DTYPE_U8 = 2,
    DTYPE_I8 = 3,
    DTYPE_U16 = 4,
    DTYPE_I16 = 5,
    DTYPE_I32 = 6,
    DTYPE_I64 = 7,
    DTYPE_STRING = 8, /* the number of a text, an int64: texts.h */
    DTYPE_BOOL = 9,   /* one byte, 0 or 1 */
    DTYPE_F16 = 10,
    DTYPE_F64 = 11,
    DTYPE_U32 = 12,
    DTYPE_U64 = 13,
    DTYPE_BF16 = 16,
    /* Stored, not computed with; a byte each in memory, in files fewer bits: dtype_file_bits(). */
    DTYPE_F8E4M3FN = 17,
    DTYPE_F8E4M3FNUZ = 18,
    DTYPE_F8E5M2 = 19,
    DTYPE_F8E5M2FNUZ = 20,
    DTYPE_U4 = 21,
    DTYPE_I4 = 22,
    DTYPE_F4E2M1 = 23,
    DTYPE_F8E8M0 = 24,
    DTYPE_U2 = 25,
    DTYPE_I2 = 26,
    DTYPE_END,
};

/** Bytes of one element; 0 for a type that no value can have. */
size_t dtype_bytes(enum dtype dtype);

/** Bits of one element in ONNX's tensors. */
size_t dtype_file_bits(enum dtype dtype);

/** "float32", "int64", "bool", ...; "undefined" for DTYPE_NONE, "unknown" for anything else. */
const char *dtype_name(enum dtype dtype);

enum { SHAPE_MAX_RANK = 8 };

/** rank -1: nothing is known. dims[i] -1: this dimension is not known (yet). A scalar has rank 0.
 *  Dimensions may be 0. */
struct shape {
    int rank;
    int64_t dims[SHAPE_MAX_RANK];
};

/** The largest tensor that is accepted: elements and bytes both stay below this. */
#define TENSOR_MAX_BYTES ((int64_t)1 << 40)

bool shape_is_known(const struct shape *shape);
bool shape_equal(const struct shape *a, const struct shape *b);

/** Number of elements of a known shape; -1 when it is not known or does not fit the limit, a length
 *  of 0 counted as 1 in that. */
int64_t shape_elements(const struct shape *shape);

/** Bytes of a known shape; -1 when it is not known or does not fit the limit. */
int64_t shape_bytes(const struct shape *shape, enum dtype dtype);

/** "{1,3,224,224}", "{}" for a scalar, "{?,3}" with unknown dims, "?" for an unknown rank. */
enum { SHAPE_TEXT_BYTES = 8 * 22 + 4 };
const char *shape_text(const struct shape *shape, char out[SHAPE_TEXT_BYTES]);

/** A tensor that somebody else owns: row-major, dense. An input that is left out has dtype
 *  DTYPE_NONE and data NULL. */
struct tensor_view {
    enum dtype dtype;
    struct shape shape;
    void *data;
};

enum attribute_type {
    ATTRIBUTE_INT,
    ATTRIBUTE_FLOAT,
    ATTRIBUTE_STRING,
    ATTRIBUTE_TENSOR,
    ATTRIBUTE_INTS,
    ATTRIBUTE_FLOATS,
    ATTRIBUTE_STRINGS,
    ATTRIBUTE_GRAPH, /* a body: If, Loop */
};

struct graph;

/** One attribute. The arrays, the tensor's data and the graph belong to it. */
struct attribute {
    char *name;
    enum attribute_type type;
    int64_t i;
    float f;
    char *s; /* NUL-terminated; s_bytes without the NUL (it may hold NULs) */
    size_t s_bytes;
    struct tensor_view tensor;
    int64_t *ints;
    float *floats;
    char **strings;
    size_t count; /* of ints, floats or strings */
    struct graph *graph;
};

struct node;

/** A tensor of the graph. `data` is not NULL exactly for constants. */
struct value {
    uint32_t id;    /* unique in the graph, never changes, never used again */
    uint32_t index; /* position in graph->values; changes when values are removed */
    char *name;     /* unique in the graph */
    enum dtype dtype;
    struct shape shape;
    char *dim_names[SHAPE_MAX_RANK]; /* symbolic names ("batch") of the model's dims, or NULL */
    void *data;     /* constant: dense, row-major, 64-byte aligned unless it is shared */
    bool is_shared; /* data is a part of a file that the graph has mapped, aligned for its dtype */
    /* Float32 for now: only value_read() looks at it, until value_settle(). It lies in a file, of no alignment, or
     * in half precision. */
    bool is_deferred;
    enum dtype stored; /* of a deferred constant: what its data is */
    /* Of a deferred constant: one for each of dims[0]; owned; NULL: it is as stored. */
    double *factors;
    /* Content that shapes were inferred from, as long as the graph's inputs have the content that
     * shape_infer_for() was given; owned; NULL: nothing depends on it. Never set with data. */
    void *known;
    bool known_is_lent; /* in a body: it is the memory of who computes that */
    bool decides_nodes; /* an input: which nodes there are was decided by what is known of it */
    bool decides_sizes; /* shapes were inferred from its content, or from what is computed of it */
    /* pass_half() leaves it in float32: see pass_mark_wide(); pass_widen() in half precision: see
     * pass_mark_steps(). */
    bool stays_wide;
    bool is_narrowed;      /* pass_half() made it what it is: numbers that are too large become the
                           largest, not infinite */
    struct node *producer; /* NULL for graph inputs and constants */
    struct node **consumers; /* one entry per use, in any order: a node that reads it twice is in
                                twice */
    uint32_t *read_as;       /* per entry of consumers: which of the node's inputs it is */
    uint32_t consumer_count;
    uint32_t consumer_room; /* entries that there is room for */
    bool is_input;          /* fed by the caller on every run */
    bool is_output;         /* read by the caller after every run; may also have consumers */
};

enum activation {
    ACTIVATION_NONE,
    ACTIVATION_RELU,
    ACTIVATION_LEAKY_RELU, /* x < 0 ? alpha * x : x */
    ACTIVATION_CLIP,       /* min(max(x, alpha), beta) */
    ACTIVATION_SIGMOID,
    ACTIVATION_TANH,
    ACTIVATION_GELU_TANH, /* of products on a device: x / 2 * (1 + tanh(...)) */
};

/** What passes have folded into a node. result = activation(op(inputs) + inputs[residual_input]):
 *  the residual is added after the bias and before the activation, and has the output's shape. */
struct fused {
    enum activation activation;
    float alpha, beta;
    int residual_input; /* index in inputs, or -1 */
};

struct node {
    uint32_t id;    /* unique in the graph, never changes; 0, 1, ... in the model file's order */
    uint32_t index; /* position in graph->nodes; changes with sorting and removal */
    char *op_type;  /* "Conv" */
    char *domain;   /* "" for the standard operators ("ai.onnx" is read as "") */
    char *name;     /* never empty: "Conv_12" (type and id) where the model gives none */
    struct value **inputs; /* NULL: an optional input that is left out */
    uint32_t *places;      /* per input: where among its consumers the node stands */
    uint32_t input_count;
    uint32_t captured_count; /* the last of them: values that the node's bodies read from outside */
    struct value **outputs;  /* NULL: an optional output that is left out */
    uint32_t output_count;
    struct attribute *attributes;
    uint32_t attribute_count;
    struct fused fused;
    bool is_detached; /* by graph_detach_node() */
    bool is_lowered;  /* does the work of a model's node of another type: it may be of a newer
                        operator set than the model's */
    char **origins;   /* names of the model's nodes that this node does the work of, itself first */
    uint32_t origin_count;
};

struct opset {
    char *domain;
    int64_t version;
};

/** What a model has as one input or output: a tensor; a sequence of tensors, each of which is an input or
 *  output of the graph, "NAME[0]", "NAME[1]" ...; or nothing, of an optional. */
struct port {
    char *name;
    bool is_sequence, is_optional;
    bool is_empty;  /* an optional without anything */
    uint32_t count; /* of tensors; of a sequence 0 or more */
};

struct port_list {
    struct port *items;
    uint32_t count; /* 0: each input or output of the graph is one */
};

struct graph {
    char *path; /* of the model file; "" when made in memory */
    char *name; /* of the model's graph */
    char *producer_name;
    char *producer_version;
    char *layouts; /* which layouts its operators shall compute in, see exec/layout_format.h; NULL:
                      no word */
    /* What is wrong with the model, though it can be run: a sentence; NULL: nothing. */
    char *notice;
    int64_t ir_version;
    /* Channels in a block, where weights are laid out so; 0: not yet asked. */
    int64_t channel_block;
    struct opset *opsets;
    uint32_t opset_count;
    struct value **values;
    uint32_t value_count;
    struct node **nodes; /* in topological order after graph_sort() */
    uint32_t node_count;
    struct value **inputs; /* in the model's order; constants are not inputs */
    uint32_t input_count;
    struct value **outputs; /* in the model's order */
    uint32_t output_count;
    /* Of a model that has a sequence or an optional among them, in the model's order. */
    struct port_list input_ports, output_ports;

    /* Of a body: its last inputs are what it reads from outside; by position among those, the input
     * of the node that holds it. Shapes, and `known`, are those of its last run: one thread at a
     * time may infer or run the node. */
    uint32_t *captures;
    uint32_t capture_count;
    struct graph_private *private_state;
};

/* Building */

struct graph *graph_create(void);

/** Accepts NULL; sets *graph to NULL. */
void graph_destroy(struct graph **graph);

/** Set one of the graph's texts (&graph->name, ...) to a copy of text. */
int graph_set_text(char **field, const char *text);

int graph_add_opset(struct graph *graph, const char *domain, int64_t version);

/** Version of the operator set of a domain that the model imports; 0 when it imports none. */
int64_t graph_opset(const struct graph *graph, const char *domain);

enum { NODE_TYPE_BYTES = 80 };

/** "Conv", or out of another domain "com.microsoft.FusedMatMul": what tables of operators go by.
 *  "" where it is too long, or made up to look like such a name. */
const char *node_full_type(const struct node *node, char out[NODE_TYPE_BYTES]);

/** A new value. `name` NULL makes one up. -EEXIST in *error when the name is taken (error may be
 *  NULL). */
struct value *graph_add_value(struct graph *graph, const char *name, enum dtype dtype,
                              const struct shape *shape, int *error);

struct value *graph_find_value(const struct graph *graph, const char *name);

/** Make a value a constant. data: from graph_alloc_data(), of shape_bytes() bytes; the graph takes
 *  ownership, also of what replaces earlier data. The value must have no producer. */
void value_set_data(struct value *value, void *data);

/** Whether what an input holds may be learnt: whole numbers of 4 and 8 bytes, and bools. */
bool value_may_decide(const struct value *value);

/** Let the content of an input be known while the model is read (lower_given()): a copy; nothing where it does not
 *  fit what is declared, or is long. The input's shape is the content's from here on. Returns 0, -ENOMEM. */
int value_learn(struct value *value, const struct tensor_view *content);

/** Free a constant's data, which nobody reads any more. It is no value to compute with afterwards.
 *  Returns its bytes. */
size_t value_release_data(struct value *value);

/** Free the attributes of nodes without bodies, where nodes came from, names of dimensions. Returns
 *  the bytes. The graph can be destroyed and its values looked at, no more. */
size_t graph_release_details(struct graph *graph);

/** Make a value a constant whose data lies in memory that the graph has mapped, or that outlives it. */
void value_share_data(struct value *value, const void *data);

/** Make a float32 value a constant of which nothing is copied yet: `data` lies in memory that the graph has mapped,
 *  aligned or not. value_set_data() and value_settle() end that. */
void value_defer_data(struct value *value, const void *data);

/** Make a constant of half precision one of float32 whose data stays what it is: value_settle() widens it. */
void value_defer_half(struct value *value);

/** End that, where the type is the one that its data has, and there are no factors. Returns whether it did. */
bool value_take_back(struct value *value, enum dtype dtype);

/** Whether value_take_back() would. */
bool value_is_stored_as(const struct value *value, enum dtype dtype);

/** Bytes of an element of a constant as it lies. */
size_t value_stored_bytes(const struct value *value);

/** The elements of a float32 constant from `begin` on, deferred or not, multiplied by its factors. Returns where
 *  they are: in `room`, which has room for `count`, or where they have been all along. */
const float *value_read(const struct value *value, size_t begin, size_t count, float *room);

/** Copy a deferred constant to memory of its own; any other value stays as it is. 0 or -ENOMEM. */
int value_settle(struct value *value);

/** value_settle() of all that a node reads. */
int node_settle(const struct node *node);

/** Give the pages of the file back that a part of a shared constant lies in: they are read again when
 *  somebody looks at them. Of another constant nothing. */
void value_give_back(const struct value *value, size_t offset, size_t bytes);

/** Let the graph unmap this memory when it is destroyed. -ENOMEM: it is still the caller's. */
int graph_add_map(struct graph *graph, const void *address, size_t bytes);

/** Give back all pages of what is mapped: they are read again when somebody looks at them. */
void graph_give_back_maps(const struct graph *graph);

/** 64-byte aligned memory for constants; never NULL for 0 bytes. Free with free(). */
void *graph_alloc_data(size_t bytes);

/** The name is copied. */
int graph_add_port(struct port_list *list, const char *name, const struct port *port);

int graph_add_input(struct graph *graph, struct value *value);
int graph_add_output(struct graph *graph, struct value *value);

/**
 * A new node at the end of the list.
 *
 * name     NULL or "" makes one up
 * inputs, outputs  may hold NULL for what is left out; outputs must have no producer yet
 */
struct node *graph_add_node(struct graph *graph, const char *op_type, const char *domain,
                            const char *name, struct value *const *inputs, uint32_t input_count,
                            struct value *const *outputs, uint32_t output_count);

/* Attributes. Setting a name again replaces it; the arguments are copied. */

int node_set_int(struct node *node, const char *name, int64_t i);
int node_set_float(struct node *node, const char *name, float f);
int node_set_string(struct node *node, const char *name, const char *s, size_t bytes);
int node_set_ints(struct node *node, const char *name, const int64_t *ints, size_t count);
int node_set_floats(struct node *node, const char *name, const float *floats, size_t count);
int node_set_strings(struct node *node, const char *name, const char *const *strings, size_t count);

/** Takes ownership of tensor->data (from graph_alloc_data()), also after failure. */
int node_set_tensor(struct node *node, const char *name, const struct tensor_view *tensor);

/** Takes ownership of the body, also after failure. */
int node_set_graph(struct node *node, const char *name, struct graph *body);

/** Set an attribute to a copy of another; a body is left out. */
int node_copy_attribute(struct node *node, const char *name, const struct attribute *from);

/** NULL when the node has no such attribute. */
const struct attribute *node_attribute(const struct node *node, const char *name);

/** The value of an attribute, or `fallback` when it is absent (or of another type). */
int64_t node_int(const struct node *node, const char *name, int64_t fallback);
float node_float(const struct node *node, const char *name, float fallback);
const char *node_string(const struct node *node, const char *name, const char *fallback);

/** A body, or NULL when absent. */
struct graph *node_graph(const struct node *node, const char *name);

/** Feed the body's input behind those that are captures already from `outside`, which becomes one
 *  more input of the node. */
int node_capture(struct node *node, struct graph *body, struct value *outside);

/** The list, or NULL with *out_count 0 when absent. */
const int64_t *node_ints(const struct node *node, const char *name, size_t *out_count);

/** Element i of the list, or `fallback` when it has fewer. */
int64_t node_int_at(const struct node *node, const char *name, size_t i, int64_t fallback);

/** inputs[i] or NULL when the node has fewer or leaves it out; the same for outputs. */
struct value *node_input(const struct node *node, uint32_t i);
struct value *node_output(const struct node *node, uint32_t i);

/** Whether shapes were inferred from what it computes, to the last bit that the kernel gives which computes it
 *  by default. */
bool node_decides_sizes(const struct node *node);

enum { GRAPH_PART_CONSTANT_MAX = 1024 };

/**
 * Some nodes of a sorted graph as a graph of its own, whose outputs are values that they make. What else they read is
 * a constant or known; of more than GRAPH_PART_CONSTANT_MAX elements, what is known is an input, else a constant. All
 * have their names.
 *
 * nodes     by node->index; without bodies
 * out_part  reads the graph's constants and what is known where they are: the graph is to stay as it is until the
 *           part is destroyed
 *
 * Returns 0, -ENOMEM, or -EINVAL where something is read that is neither.
 */
int graph_copy_part(const struct graph *graph, const bool *nodes, struct value *const *outputs,
                    uint32_t output_count, struct graph **out_part);

/* Editing */

/** Let node read `value` (or NULL) as input i; i may be input_count, or above (holes between). */
int node_set_input(struct node *node, uint32_t i, struct value *value);

/** Let every node that reads `from` read `to`. Graph outputs are not touched. Outside of its
 *  file, for tests. */
int graph_replace_uses(struct graph *graph, struct value *from, struct value *to);

/** Give `node` the outputs position i of its own as `value`: value's former producer loses it. */
void node_take_output(struct node *node, uint32_t i, struct value *value);

/** Record that `into` now also does the work of `from` (its origins are appended). */
int node_add_origins(struct node *into, const struct node *from);

/**
 * A new node that does the work of `nodes`, which are in the order in which they run: it has the
 * first one's name, the origins of all, and the last one's output 0 and place in the order. They
 * are dead afterwards. `inputs` must come before that place.
 */
struct node *graph_merge_nodes(struct graph *graph, struct node *const *nodes, uint32_t count,
                               const char *op_type, struct value *const *inputs,
                               uint32_t input_count);

/**
 * Take `node` out of the way: readers of its first output read its input `input` from now on. Keeps
 * the names of graph outputs.
 *
 * Returns 1 when done (the node is then dead), or 0 when a graph output forbids it (it is also a
 * graph input, a constant, or another output), which changes nothing.
 */
int graph_bypass(struct graph *graph, struct node *node, uint32_t input);

/** Remove one node: its uses end, its outputs lose their producer (and stay as values). It costs as
 *  much as there are nodes: of many, detach each, then remove all. */
void graph_remove_node(struct graph *graph, struct node *node);

/** End the node's uses, and let its outputs lose their producer: it has its place in the list, and
 *  neither inputs nor outputs. */
void graph_detach_node(struct node *node);

/** Remove the nodes that were detached. */
void graph_remove_detached(struct graph *graph);

/** Remove nodes none of whose outputs is read, and values that nothing uses (inputs and outputs of
 *  the graph stay). Returns the number of nodes removed. */
uint32_t graph_remove_dead(struct graph *graph);

/** Order the nodes so that producers come first, keeping the given order where it can. -EINVAL with
 *  the name of a node in diag when there is a cycle. */
int graph_sort(struct graph *graph, struct diag *diag);

/** The invariants of this header: both directions of each edge agree, the order is topological,
 *  each read value has a source, names are unique. -EINVAL with the broken one in diag. */
int graph_check(const struct graph *graph, struct diag *diag);

#endif
