/* SPDX-License-Identifier: Apache-2.0 */
/* What is told about the operators: from which kernels of the table each is computed, and over
 * which element types. */
#include "runtime/ops/operators.h"

#include "runtime/ops/table.h"

static const char every[] = "f32 f64 f16 bf16 i8 i16 i32 i64 u8 u16 u32 u64 bool";
static const char reals[] = "f32 f64 f16 bf16";

size_t operators_count(void)
{
    return op_row_count;
}

static const char *types_of(const struct op_row *row)
{
    const char *op_type = row->type;

    if (shape_is_logical(op_type))
        return "bool";
    if (row->kernels->types)
        return row->kernels->types;
    /* Clip is a chain of zip; the functions say themselves what they are defined over. */
    if (row->kernels->bind == call_bind_unary && !call_map_takes(op_type, KERNEL_F64))
        return every;
    if (call_map_takes(op_type, KERNEL_BOOL))
        return "bool";
    return call_map_takes(op_type, KERNEL_I32) ? "f32 f64 f16 bf16 i8 i16 i32 i64 u8 u16 u32 u64"
                                               : reals;
}

void operators_get(size_t index, struct operator_facts *out_facts)
{
    const struct op_row *row = &op_rows[index];

    *out_facts = (struct operator_facts){
        .op_type = row->type,
        .since = row->since,
        .inputs_min = row->inputs_min,
        .inputs_max = row->inputs_max,
        .outputs_max = row->outputs_max,
        .kernels = row->kernels ? row->kernels->names : "none: folded when it is loaded",
        .types = row->kernels ? types_of(row) : "any",
    };
}
