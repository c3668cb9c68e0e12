/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data that a person gives with --input: from text to tensors.
 *
 *     --input "ITEM;ITEM;..."     ITEM := [NAME:]VALUE
 *
 * VALUE is read by how it ends or begins: FILE.npy (NumPy), FILE.json (any number of named
 * tensors), FILE.ppm and FILE.pgm (pixels, uint8 or uint16, {1,H,W,C}), "{2,3}" (a shape, filled
 * with the value 1), else numbers: "1,2,3" is {3}, "[1,2,3]" is {1,3}, "[1,2],[3,4]" is {2,2}. Text
 * before the first colon is the name (of a tensor of a sequence "NAME[0]", "NAME[1]" ...), unless the item begins with '/' or '.' (a path). Without a
 * name the value goes to the model's only input, or to the one named "data".
 *
 * Order: input_parse() for each --input, input_bind_shapes() before shape inference, then
 * input_tensor() for each input of the graph; input_list_deinit().
 */
#ifndef OPTRACE_RUNTIME_INPUTS_INPUT_H
#define OPTRACE_RUNTIME_INPUTS_INPUT_H

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/diag.h"
#include "runtime/graph/graph.h"

enum input_kind {
    INPUT_TENSOR,  /* has a type of its own, which must be the model's */
    INPUT_NUMBERS, /* numbers without a type: they take the model's */
    INPUT_ONES,    /* a shape; the model's type */
    INPUT_SHAPE,   /* a shape; the data is made up (--input-dim) */
    INPUT_FILL,    /* one number everywhere, dims[0]; the model's shape (--fill0, --fill1) */
    INPUT_DIM,     /* the size of dimensions that the model calls by the name (--dim-param) */
    INPUT_BATCH,   /* the first dimension of every input that leaves it open (--batch); no name */
    INPUT_TILES, /* the first dimension of every input, whatever the model says; data is repeated to
                    fill it (--batch-size); no name */
};

struct input {
    char *name; /* "" when none was given; owned */
    enum input_kind kind;
    struct tensor_view tensor; /* shape always; dtype and data (owned) for TENSOR */
    long double *numbers;      /* NUMBERS: owned; holds every int64 and every double exactly */
    bool has_fraction;         /* NUMBERS: one of them was written with a point or an exponent */
};

struct input_list ARRAY_FIELDS(struct input);

enum { INPUT_FILE_BYTES_MAX = 1 << 30 };

/** Append the items of one --input to the list. -EINVAL for text or files that make no sense,
 *  -ENOTSUP, -ENOENT, -EACCES, ... -ENOMEM; diag names the item or the file. */
int input_parse(const char *text, struct input_list *list, struct diag *diag);

/** Append an entry; takes ownership of all that *input owns, also on failure. */
int input_list_add(struct input_list *list, struct input *input, const char *name,
                   struct diag *diag);

/** Append a tensor; takes ownership of view->data, also on failure. */
int input_append(struct input_list *list, const char *name, const struct tensor_view *view,
                 struct diag *diag);

/** Append an entry of another kind, of which `view` holds the shape. */
int input_append_kind(struct input_list *list, enum input_kind kind, const char *name,
                      const struct tensor_view *view, struct diag *diag);

/** Append the shape that "@NAME 1 3 224 224" gives; errors as input_parse(). */
int input_parse_dim(const char *text, struct input_list *list, struct diag *diag);
int input_append_batch(struct input_list *list, int64_t batch, struct diag *diag);
/** "NAME N", as "@NAME N", for a dimension. */
int input_parse_param(const char *text, struct input_list *list, struct diag *diag);
/** "NAME FILE": what input_parse() reads as NAME:FILE. */
int input_parse_load(const char *text, struct input_list *list, struct diag *diag);
/** "NAME [{min:1, max:4}, 3]": of what is a range the size is `batch`, which must be in it. */
int input_parse_dynamic(const char *text, int64_t batch, struct input_list *list,
                        struct diag *diag);
int input_append_fill(const char *name, int64_t number, struct input_list *list, struct diag *diag);
int input_append_tiles(struct input_list *list, int64_t batch, struct diag *diag);

/**
 * A command line on which the words behind --input-dim are one for each name, "@NAME 1 3", as the
 * parser of options wants them: MIGraphX's users write `--input-dim @NAME 1 3 @OTHER 5`. Returns 0
 * or -ENOMEM; *out_argv, which ends in NULL, is for input_free_words().
 */
int input_join_words(int argc, char **argv, char ***out_argv, int *out_argc);
void input_free_words(char ***argv);

/** What the list gives of an input, before shapes are bound: 1 with the content, whose data the caller frees; 0
 *  where it gives none, none that fits, or rows to be repeated; -ENOMEM. */
int input_content(const struct graph *graph, const struct input_list *list, uint32_t index,
                  struct tensor_view *out_view);

/** One more than the largest N of the entries "NAME[N]"; 0: there is none. */
int64_t input_count_parts(const struct input_list *list, const char *name);

/** Drop the entries behind the first `count`. */
void input_list_truncate(struct input_list *list, size_t count);

void input_list_deinit(struct input_list *list);

/* The readers of each format: bytes in memory, so that they can be tested and fuzzed. They fill
 * *out (data owned by the caller) or append to the list only on success. */

/** "[1,2],[3,4]" into out_input->numbers and its shape, or "{2,3}" into a shape of ones. */
int input_parse_text(const char *text, struct input *out_input, struct diag *diag);

/** {"NAME": {"shape": [..], "type": "float32", "raw": [..]}, ...} */
int input_parse_json(const char *bytes, size_t size, struct input_list *list, struct diag *diag);

int input_parse_npy(const uint8_t *bytes, size_t size, struct tensor_view *out_view,
                    struct diag *diag);

int input_parse_pnm(const uint8_t *bytes, size_t size, struct tensor_view *out_view,
                    struct diag *diag);

/* Binding */

/**
 * Give every input of the graph its final shape: from the list, from dims that share a symbolic
 * name with a given one, else 1 for each open dim.
 *
 * -EINVAL for a name that is no input (diag lists those there are), a name given twice, another
 * type or shape than the model's, or two sizes for one symbolic name.
 */
int input_bind_shapes(struct graph *graph, const struct input_list *list, struct diag *diag);

/** The entry of the list for graph->inputs[index], or NULL: made-up data. */
const struct input *input_find(const struct graph *graph, const struct input_list *list,
                               uint32_t index);

/**
 * The tensor of graph->inputs[index]: from the list, or made up from `seed` and the input's name:
 * floats uniform in [-1, 1), integers 0 or 1 (they are often indices), bools either, texts empty.
 *
 * out_view->data is the caller's to free. -EINVAL when a number does not fit the model's type.
 */
int input_tensor(const struct graph *graph, const struct input_list *list, uint32_t index,
                 uint64_t seed, struct tensor_view *out_view, struct diag *diag);

#endif
