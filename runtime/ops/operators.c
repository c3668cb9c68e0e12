/* SPDX-License-Identifier: Apache-2.0 */
/* What is told about the operators: from which kernels of the table each is computed, and over
 * which element types. */
#include "runtime/ops/operators.h"

#include "runtime/ops/call/call.h"
#include "runtime/ops/shape/infer.h"

static const char every[] = "f32 f64 f16 bf16 i8 i16 i32 i64 u8 u16 u32 bool";
static const char reals[] = "f32 f64 f16 bf16";
static const char moved[] = "any";

/* Binder -> kernels, and the types that they take. */
static const struct family {
    call_bind_fn *bind;
    const char *kernels, *types;
} families[] = {
    {call_bind_arg, "arg_reduce", every},
    {call_bind_attention, "attention", reals},
    {call_bind_batch_norm, "batch_norm_f32, batch_norm", reals},
    {call_bind_binary, "binary (f32 f64 i32 i64), zip", every},
    {call_bind_blocks, "copy", moved},
    {call_bind_cache_write, "cache_write", moved},
    {call_bind_cast, "cast", every},
    {call_bind_center, "pad", moved},
    {call_bind_compress, "compress", moved},
    {call_bind_concat, "copy", moved},
    {call_bind_constant_of_shape, "fill", moved},
    {call_bind_control, "none: the steps of its bodies", moved},
    {call_bind_conv, "conv_f32, conv plans; convolve", reals},
    {call_bind_conv_quantised, "convolve", "i8 u8"},
    {call_bind_conv_transpose, "conv_transpose", reals},
    {call_bind_cum_sum, "along", every},
    {call_bind_einsum, "einsum", every},
    {call_bind_dropout, "copy, fill", reals},
    {call_bind_elements, "gather_elements, scatter_elements", every},
    {call_bind_expand, "copy", moved},
    {call_bind_eye, "eye", every},
    {call_bind_fused_matmul, "gemm_f32, product", reals},
    {call_bind_gather, "gather", moved},
    {call_bind_gemm, "gemm_f32, product", every},
    {call_bind_grid_sample, "grid_sample", every},
    {call_bind_group_norm, "normalize", reals},
    {call_bind_layer_norm, "normalize", reals},
    {call_bind_lp_norm, "along", reals},
    {call_bind_lrn, "lrn_f32, lrn", reals},
    {call_bind_map, "map", NULL}, /* depends on the function */
    {call_bind_matmul, "gemm_f32, product", every},
    {call_bind_mean_variance, "normalize", reals},
    {call_bind_nonzero, "nonzero", every},
    {call_bind_one_hot, "one_hot", "any; indices of every type"},
    {call_bind_pad, "pad", moved},
    {call_bind_pool, "max_pool_f32, average_pool_f32, pool", reals},
    {call_bind_pool_any, "pool", reals},
    {call_bind_product_quantised, "product", "i8 u8"},
    {call_bind_quantize, "quantize, dequantize", "f32 f64 f16; i8 i16 i32 u8 u16 back"},
    {call_bind_quantize_dynamic, "quantize_dynamic", "f32"},
    {call_bind_range, "range", every},
    {call_bind_recurrent, "recurrent", reals},
    {call_bind_reduce, "reduce", every},
    {call_bind_resize, "resample", every},
    {call_bind_reverse, "reverse", moved},
    {call_bind_roi_align, "roi_align", reals},
    {call_bind_rotary, "rotary", reals},
    {call_bind_shape, "none: known when it is bound", moved},
    {call_bind_size, "none: known when it is bound", moved},
    {call_bind_slice, "copy", moved},
    {call_bind_softmax, "softmax_f32, along", reals},
    {call_bind_softmax_any, "along", reals},
    {call_bind_split, "copy", moved},
    {call_bind_sum, "binary (f32 f64), zip", reals},
    {call_bind_suppress, "suppress", "f32"},
    {call_bind_tile, "copy", moved},
    {call_bind_top_k, "top_k", every},
    {call_bind_transpose, "copy", moved},
    {call_bind_triangle, "triangle", moved},
    {call_bind_tuples, "gather_nd, scatter_nd", every},
    {call_bind_unary, "unary_f32, map or zip", NULL},
    {call_bind_view, "none: another view, or copy", moved},
    {call_bind_where, "where", moved},
    {call_bind_zip, "zip", every},
    {call_bind_zip_many, "zip", every},
};

size_t operators_count(void)
{
    return shape_op_count;
}

static const char *types_of(call_bind_fn *bind, const char *op_type, const char *family_types)
{
    if (shape_is_logical(op_type))
        return "bool";
    if (family_types)
        return family_types;
    /* Clip is a chain of zip; the functions say themselves what they are defined over. */
    if (bind == call_bind_unary && !call_map_takes(op_type, KERNEL_F64))
        return every;
    if (call_map_takes(op_type, KERNEL_BOOL))
        return "bool";
    return call_map_takes(op_type, KERNEL_I32) ? "f32 f64 f16 bf16 i8 i16 i32 i64 u8 u16 u32"
                                               : reals;
}

void operators_get(size_t index, struct operator_facts *out)
{
    const struct shape_op *op = &shape_ops[index];
    call_bind_fn *bind = call_binder(op->op_type);

    *out = (struct operator_facts){
        .op_type = op->op_type,
        .since = op->since,
        .inputs_min = op->inputs_min,
        .inputs_max = op->inputs_max,
        .outputs_max = op->outputs_max,
        .kernels = "none: folded when it is loaded",
        .types = moved,
    };
    for (size_t i = 0; bind && i < sizeof(families) / sizeof(families[0]); i++) {
        if (families[i].bind == bind) {
            out->kernels = families[i].kernels;
            out->types = types_of(bind, op->op_type, families[i].types);
        }
    }
}
