/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of table.def, by type. */
#include "runtime/ops/table.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/graph/fused_ops.h"
#include "runtime/ops/extern_library.h"

static const char every[] = "f32 f64 f16 bf16 i8 i16 i32 i64 u8 u16 u32 u64 bool";
static const char reals[] = "f32 f64 f16 bf16";
static const char moved[] = "any";

#define OP_KERNELS(name, binder, entries, element_types, ...)                                      \
    static const struct op_kernels name = {                                                        \
        .bind = binder, .names = entries, .types = element_types, __VA_ARGS__};
#include "runtime/ops/table.def"

#define OPERATOR(type, ...) {type, __VA_ARGS__},
const struct op_row op_rows[] = {
#include "runtime/ops/table.def"
};

const size_t op_row_count = sizeof(op_rows) / sizeof(op_rows[0]);

/* What only passes make: no model has it, and its shapes are those of what it stands for. */
static const struct op_row made_rows[] = {
    {CHAIN_OP_TYPE, 0, 0, INPUTS_ANY, 1, NULL, "", &chain, LAYOUT_ANY, 1},
    {PREPROCESS_OP_TYPE, 0, 0, INPUTS_ANY, 1, NULL, "", &preprocess, LAYOUT_ANY, 1},
    {LOOKUP_OP_TYPE, 0, 2, 2, 1, NULL, "", &lookup, LAYOUT_SAME, 1},
    {QUANTA_ADD_OP_TYPE, 0, 8, 8, 1, NULL, "", &quanta_zip, LAYOUT_QUANTA, 1},
    {QUANTA_MUL_OP_TYPE, 0, 8, 8, 1, NULL, "", &quanta_zip, LAYOUT_QUANTA, 1},
    {QUANTA_MEAN_OP_TYPE, 0, 5, 5, 1, NULL, "axes", &quanta_mean, LAYOUT_QUANTA, 1},
};

/* Operators of other people's libraries. */
static const struct op_row extern_row = {
    "",        0, 0, INPUTS_ANY, INPUTS_ANY, shape_extern_op, "", &of_library, LAYOUT_ROW_MAJOR,
    UINT32_MAX};

static int compare_type(const void *key, const void *row)
{
    return strcmp(key, ((const struct op_row *)row)->type);
}

const struct op_row *op_row_find(const char *full_type)
{
    return bsearch(full_type, op_rows, op_row_count, sizeof(op_rows[0]), compare_type);
}

const struct op_row *op_row_of(const struct node *node)
{
    char type[NODE_TYPE_BYTES];
    const char *full_type = node_full_type(node, type);

    if (extern_op_is(node))
        return &extern_row;
    for (size_t i = 0; i < sizeof(made_rows) / sizeof(made_rows[0]); i++)
        if (strcmp(made_rows[i].type, full_type) == 0)
            return &made_rows[i];
    return op_row_find(full_type);
}
