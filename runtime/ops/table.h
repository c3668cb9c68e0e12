/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operators: a row each, with all that is known of one by its name. A new operator is a row in
 * table.def, its shape in shape/, its binder in call/ and its operations in base/op_flop_onnx.c.
 * Only runtime/ops/ includes this; others ask call/call.h, shape/shape.h and operators.h. Any
 * thread.
 */
#ifndef OPTRACE_RUNTIME_OPS_TABLE_H
#define OPTRACE_RUNTIME_OPS_TABLE_H

#include "runtime/ops/call/call.h"
#include "runtime/ops/shape/infer.h"

/** Over which inputs of its own type and size output 0 may be written, where nobody needs it after. */
enum op_in_place {
    IN_PLACE_NONE,
    IN_PLACE_FIRST,
    IN_PLACE_OPERAND, /* one of the first two: of a sum, no more are still to be read by then */
    IN_PLACE_ANY,
};

struct op_kernels {
    call_bind_fn *bind;
    const char *names; /* entries of struct kernel_table */
    const char *types; /* of the first input; NULL: the function says it, see call_map_takes() */
    enum op_in_place in_place;
    bool widens; /* tensors that are stored in float16 or bfloat16 are computed with in float32 */
    bool widens_own; /* those of the model, on a CPU: passes store none of its tensors so */
};

struct op_row {
    const char *type; /* as node_full_type() has it */
    uint16_t since;   /* the first operator set of which a form is supported */
    uint32_t inputs_min, inputs_max, outputs_max;
    shape_fn *infer;
    const char *attributes;           /* of all versions, with a blank between them */
    const struct op_kernels *kernels; /* NULL: folded when it is loaded */
    enum layout_need layout;
    uint32_t computed;    /* outputs that are; the first may be left out only of several */
    uint32_t wide_inputs; /* see call_wide_inputs() */
    bool moves;           /* see call_moves() */
};

/** What models can hold, sorted by type. */
extern const struct op_row op_rows[];
extern const size_t op_row_count;

/** NULL: no model can hold it. */
const struct op_row *op_row_find(const char *full_type);

/** As above; also of what passes make and of operators of other people's libraries. */
const struct op_row *op_row_of(const struct node *node);

#endif
