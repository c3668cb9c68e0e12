/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call stacks that a trace of PyTorch has in other events than the op's own:
 *
 * - An op or label without a `Call stack` has that of the functions of Python that were open on its
 *   thread when it began.
 * - A backward op, and all that lies in it, has the stack of its forward op: the first one of the
 *   thread that it names ("Fwd thread id") with its sequence number. Where there is none, as for
 *   AccumulateGrad, it has no stack. The engine's own frame around it
 *   ("autograd::engine::evaluate_function: ...") keeps the stack it ran in. So has PyTorch it.
 *
 * An op called from two places is two ops. All that takes every event, so rows of ops wait until
 * the end.
 */
#ifndef OPTRACE_ANALYZE_IMPORT_CHROME_STACKS_H
#define OPTRACE_ANALYZE_IMPORT_CHROME_STACKS_H

#include "analyze/import/importer.h"

/* Nearest frames of one stack, its bytes, and bytes of all stacks that are put together here: what
 * is beyond is left out, and counted. */
enum { STACK_FRAMES_MAX = 512, STACK_BYTES_MAX = 32 << 10, STACK_BYTES_IN_ALL = 256 << 20 };

/* An op whose row waits; of Python's functions, whose rows do not, only the name. */
struct chrome_template {
    uint32_t op;
    bool is_python;
    bool is_left; /* some span has it after all */
    char *name, *type, *device, *input_shapes, *input_dtypes;
    char *params; /* without the stack */
    char *stack;  /* of `Call stack`, or NULL */
    int64_t computation_flop;
    uint32_t text; /* of `stack`, or of Python's name */
};

/* What autograd says of a span. */
struct autograd_note {
    uint64_t row;             /* its number */
    int64_t sequence, thread; /* of the forward op; sequence STORE_NULL: not known */
    bool is_backward;
    bool is_frame; /* the engine's, around a backward op, with its numbers */
};

struct chrome_stacks {
    ARRAY_OF(struct chrome_template) templates;
    ARRAY_OF(uint32_t) template_of; /* by op; PLACE_NONE: it is none of these */
    ARRAY_OF(struct autograd_note) notes;
    bool has_python, has_stack;
    uint64_t dropped_count; /* stacks beyond what all may take */
    uint32_t *row_ops;      /* for the importer */
};

/** Takes in an op: copies its texts, in *row without `source` and with `params` that lack the
 *  stack, and gives it a number. */
int chrome_stacks_add(struct chrome_stacks *stacks, struct importer *importer,
                      struct place_key identity, struct store_op *row, const char *stack,
                      bool is_python, uint32_t *out_op, struct diag *diag);

/** Notes that the next row is of a span with these; STORE_NULL: it says nothing of it. */
int chrome_stacks_note(struct chrome_stacks *stacks, const struct importer *importer,
                       const char *name, size_t name_length, int64_t sequence, int64_t thread,
                       struct diag *diag);

/** When all rows are there: puts all ops, and tells the importer which row has which. */
int chrome_stacks_finish(struct chrome_stacks *stacks, struct importer *importer,
                         struct diag *diag);

void chrome_stacks_deinit(struct chrome_stacks *stacks);

#endif
