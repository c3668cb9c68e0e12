/* SPDX-License-Identifier: Apache-2.0 */
/* Launchers of elementwise.cu. */
#include "kernels/cuda.h"
#include "kernels/cuda/launch.h"

static void launch_map(float *y, const float *x, size_t size, int op, float a, float b)
{
    int64_t count = (int64_t)size;

    cuda_launch_quads(CUDA_KERNEL_map_f32, count, (void *[]){&y, &x, &count, &op, &a, &b});
}

static void relu_f32_cuda(float *y, const float *x, size_t count, float a, float b)
{
    launch_map(y, x, count, MAP_RELU, a, b);
}

static void leaky_relu_f32_cuda(float *y, const float *x, size_t count, float a, float b)
{
    launch_map(y, x, count, MAP_LEAKY_RELU, a, b);
}

static void sigmoid_f32_cuda(float *y, const float *x, size_t count, float a, float b)
{
    launch_map(y, x, count, MAP_SIGMOID, a, b);
}

static void tanh_f32_cuda(float *y, const float *x, size_t count, float a, float b)
{
    launch_map(y, x, count, MAP_TANH, a, b);
}

static void clip_f32_cuda(float *y, const float *x, size_t size, float a, float b)
{
    int64_t count = (int64_t)size;

    cuda_launch_quads(CUDA_KERNEL_clip_f32, count, (void *[]){&y, &x, &count, &a, &b});
}

static void map_cuda(void *y, const void *x, size_t size, const struct kernel_map_args *args)
{
    bool to_bool = args->op == MAP_IS_INF || args->op == MAP_IS_NAN;
    struct kernel_map_args given = *args;
    int64_t count = (int64_t)size;

    if (args->dtype == KERNEL_F32 && !to_bool)
        launch_map(y, x, size, (int)args->op, (float)args->a, (float)args->b);
    else
        cuda_launch_elements(CUDA_KERNEL_map_any, count, (void *[]){&y, &x, &count, &given});
}

/* --- Two operands --- */

static bool is_one(const struct kernel_zip_args *args)
{
    bool is_one = true;

    for (int i = 0; i < args->rank; i++)
        is_one = is_one && (args->b_stride[i] == 0 || args->dims[i] == 1);
    return is_one;
}

/* Whether the second operand has a number for each of some axes that lie together, and the same along all
 * others; *out_inner elements in a row have the same. */
static bool is_repeated(const struct kernel_zip_args *args, int64_t count, uint32_t *out_inner,
                        uint32_t *out_period)
{
    int64_t inner = 1, period = 1;
    int axis = args->rank - 1;

    for (; axis >= 0 && (args->b_stride[axis] == 0 || args->dims[axis] == 1); axis--)
        inner *= args->dims[axis];
    for (; axis >= 0 && (args->b_stride[axis] == period || args->dims[axis] == 1); axis--)
        period *= args->dims[axis];
    for (; axis >= 0; axis--)
        if (args->b_stride[axis] != 0 && args->dims[axis] != 1)
            return false;
    *out_inner = (uint32_t)inner;
    *out_period = (uint32_t)period;
    return count <= UINT32_MAX;
}

/* Of float32 whose first operand lies as the result does. Returns false where it is another case. */
static bool zip_quads(float *y, const float *a, const float *b, struct cuda_scalar scalar,
                      bool has_one, const struct kernel_zip_args *args)
{
    int64_t count = cuda_product(args->dims, args->rank);
    uint32_t inner, period;
    int op = (int)args->op;

    if (!cuda_is_dense(args->dims, args->a_stride, args->rank))
        return false;
    if (has_one)
        cuda_launch_quads(CUDA_KERNEL_zip_one_f32, count, (void *[]){&y, &a, &scalar, &count, &op});
    else if (cuda_is_dense(args->dims, args->b_stride, args->rank))
        cuda_launch_quads(CUDA_KERNEL_zip_dense_f32, count, (void *[]){&y, &a, &b, &count, &op});
    else if (is_repeated(args, count, &inner, &period))
        cuda_launch_quads(CUDA_KERNEL_zip_repeat_f32, count,
                          (void *[]){&y, &a, &b, &count, &op, &inner, &period});
    else
        return false;
    return true;
}

static void zip_cuda(void *y, const void *a, const void *b, const struct kernel_zip_args *args)
{
    struct kernel_zip_args given = *args;
    int64_t count = cuda_product(args->dims, args->rank);
    struct cuda_scalar scalar = {NULL, 0};
    const bool has_one = is_one(args);
    const bool is_f32 =
        args->y_type == KERNEL_F32 && args->a_type == KERNEL_F32 && args->b_type == KERNEL_F32;

    if (count == 0)
        return;
    if (has_one) {
        scalar = cuda_scalar_of(b, kernel_dtype_bytes(args->b_type));
        b = scalar.address;
    }
    if (is_f32 && zip_quads(y, a, b, scalar, has_one, args))
        return;
    if (is_f32 && b) {
        cuda_launch_elements(CUDA_KERNEL_zip_f32, count, (void *[]){&y, &a, &b, &count, &given});
        return;
    }
    cuda_launch_elements(CUDA_KERNEL_zip_any, count,
                         (void *[]){&y, &a, &b, &scalar, &count, &given});
}

static void binary(void *y, const void *a, const void *b, const struct kernel_broadcast *shape,
                   enum kernel_zip op, enum kernel_dtype dtype)
{
    struct kernel_zip_args args = {op, dtype, dtype, dtype, shape->rank};

    for (int i = 0; i < shape->rank; i++) {
        args.dims[i] = shape->dims[i];
        args.a_stride[i] = shape->a_stride[i];
        args.b_stride[i] = shape->b_stride[i];
    }
    zip_cuda(y, a, b, &args);
}

#define BINARY(name, op, dtype)                                                                    \
    static void name##_cuda(void *y, const void *a, const void *b,                                 \
                            const struct kernel_broadcast *shape)                                  \
    {                                                                                              \
        binary(y, a, b, shape, op, dtype);                                                         \
    }
#define BINARIES(type, dtype)                                                                      \
    BINARY(add_##type, ZIP_ADD, dtype)                                                             \
    BINARY(sub_##type, ZIP_SUB, dtype)                                                             \
    BINARY(mul_##type, ZIP_MUL, dtype)                                                             \
    BINARY(div_##type, ZIP_DIV, dtype)
BINARIES(f32, KERNEL_F32)
BINARIES(f64, KERNEL_F64)
BINARIES(i32, KERNEL_I32)
BINARIES(i64, KERNEL_I64)

/* --- The rest --- */

static enum cuda_lies lies(const struct kernel_chain *chain, int input)
{
    if (input == 0 && chain->is_padded)
        return CUDA_LIES_OTHERWISE;
    if (cuda_is_dense(chain->dims, chain->strides[input], chain->rank))
        return CUDA_LIES_DENSE;
    for (int axis = 0; axis < chain->rank; axis++)
        if (chain->strides[input][axis] != 0 && chain->dims[axis] != 1)
            return CUDA_LIES_OTHERWISE;
    return CUDA_LIES_ONCE;
}

static void chain_cuda(float *y, const void *const *inputs, const struct kernel_chain *chain)
{
    struct cuda_chain args = {.chain = *chain};
    int64_t count = cuda_product(chain->dims, chain->rank);

    for (int i = 0; i < chain->inputs; i++) {
        args.input[i] = inputs[i];
        args.lies[i] = lies(chain, i);
    }
    cuda_launch_elements(CUDA_KERNEL_chain_f32, count, (void *[]){&y, &count, &args});
}

/* Axes that lie behind each other in every input are one. */
static void join_axes(struct kernel_chain *chain)
{
    int rank = 0;

    for (int i = 0; i < chain->rank; i++) {
        bool joins = rank > 0;

        if (chain->dims[i] == 1)
            continue;
        for (int k = 0; k < chain->inputs && joins; k++)
            joins = chain->strides[k][rank - 1] == chain->dims[i] * chain->strides[k][i];
        rank += !joins;
        chain->dims[rank - 1] = joins ? chain->dims[rank - 1] * chain->dims[i] : chain->dims[i];
        for (int k = 0; k < chain->inputs; k++)
            chain->strides[k][rank - 1] = chain->strides[k][i];
    }
    chain->rank = rank;
}

static bool is_half_or_f32(enum kernel_dtype dtype)
{
    return dtype == KERNEL_F32 || dtype == KERNEL_F16 || dtype == KERNEL_BF16;
}

/* False: it is more than one step, or goes by more than one axis. */
static bool take_step(const struct cuda_chain_half *from, struct cuda_step_half *out_step)
{
    const struct kernel_chain *chain = &from->half.chain;
    const struct kernel_chain_step *step = &chain->step[0];

    if (chain->steps != 1 || chain->is_padded || chain->rank > 1)
        return false;
    *out_step = (struct cuda_step_half){
        .y_type = (int)from->half.y_type, .step = *step, .saturates = from->half.saturates};
    for (int k = 0; k < 1 + step->has_two; k++) {
        int input = step->operands[k];

        out_step->input[k] = from->input[input];
        out_step->types[k] = (int)from->half.types[input];
        out_step->strides[k] = chain->rank == 0 ? 0 : chain->strides[input][0];
        if (!is_half_or_f32(from->half.types[input]) ||
            (out_step->strides[k] != 0 && out_step->strides[k] != 1))
            return false;
    }
    return true;
}

static void chain_half_cuda(void *y, const void *const *inputs,
                            const struct kernel_chain_half *given)
{
    struct cuda_chain_half args = {.half = *given};
    struct kernel_chain *chain = &args.half.chain;
    int64_t count = cuda_product(chain->dims, chain->rank);
    int to = (int)given->y_type, from = (int)given->types[0];
    bool saturates = given->saturates, is_conversion;
    struct cuda_step_half step;

    if (!chain->is_padded)
        join_axes(chain);
    for (int i = 0; i < chain->inputs; i++) {
        args.input[i] = inputs[i];
        args.lies[i] = lies(chain, i);
    }
    is_conversion = chain->steps == 0 && !chain->is_padded && is_half_or_f32(given->types[0]) &&
                    (chain->rank == 0 || (chain->rank == 1 && chain->strides[0][0] == 1));
    if (is_conversion)
        cuda_launch_elements(CUDA_KERNEL_convert_half, count,
                             (void *[]){&y, &to, &args.input[0], &from, &saturates, &count});
    else if (take_step(&args, &step))
        cuda_launch_elements(CUDA_KERNEL_step_half, count, (void *[]){&y, &count, &step});
    else
        cuda_launch_elements(CUDA_KERNEL_chain_half, count, (void *[]){&y, &count, &args});
}

void cuda_saturate_half(void *y, int64_t count)
{
    int64_t first = (int64_t)((16 - (uintptr_t)y % 16) % 16 / 2); /* at a multiple of 16 bytes */

    first = first < count ? first : count;
    if (count > 0)
        cuda_launch_elements(CUDA_KERNEL_saturate_half, (count + 7) / 8,
                             (void *[]){&y, &count, &first});
}

static void where_cuda(void *y, const uint8_t *condition, const void *a, const void *b,
                       const struct kernel_where *shape)
{
    struct kernel_where given = *shape;
    int64_t count = cuda_product(shape->dims, shape->rank);

    cuda_launch_elements(CUDA_KERNEL_where_any, count,
                         (void *[]){&y, &condition, &a, &b, &count, &given});
}

static void cast_cuda(void *y, enum kernel_dtype to, const void *x, enum kernel_dtype from,
                      size_t size)
{
    int64_t count = (int64_t)size;
    int to_type = (int)to, from_type = (int)from;
    bool saturates = false;

    if (is_half_or_f32(to) && is_half_or_f32(from)) {
        cuda_launch_elements(CUDA_KERNEL_convert_half, count,
                             (void *[]){&y, &to_type, &x, &from_type, &saturates, &count});
        return;
    }

    cuda_launch_elements(CUDA_KERNEL_cast_any, count,
                         (void *[]){&y, &to_type, &x, &from_type, &count});
}

#define USE_BINARIES(type, dtype)                                                                  \
    CUDA_USE(binary[KERNEL_ADD][dtype], add_##type##_cuda);                                        \
    CUDA_USE(binary[KERNEL_SUB][dtype], sub_##type##_cuda);                                        \
    CUDA_USE(binary[KERNEL_MUL][dtype], mul_##type##_cuda);                                        \
    CUDA_USE(binary[KERNEL_DIV][dtype], div_##type##_cuda)

void cuda_table_elementwise(struct kernel_table *table)
{
    CUDA_USE(unary_f32[KERNEL_RELU], relu_f32_cuda);
    CUDA_USE(unary_f32[KERNEL_LEAKY_RELU], leaky_relu_f32_cuda);
    CUDA_USE(unary_f32[KERNEL_CLIP], clip_f32_cuda);
    CUDA_USE(unary_f32[KERNEL_SIGMOID], sigmoid_f32_cuda);
    CUDA_USE(unary_f32[KERNEL_TANH], tanh_f32_cuda);
    USE_BINARIES(f32, KERNEL_F32);
    USE_BINARIES(f64, KERNEL_F64);
    USE_BINARIES(i32, KERNEL_I32);
    USE_BINARIES(i64, KERNEL_I64);
    CUDA_USE(map, map_cuda);
    CUDA_USE(zip, zip_cuda);
    CUDA_USE(chain, chain_cuda);
    CUDA_USE(chain_half, chain_half_cuda);
    CUDA_USE(where, where_cuda);
    CUDA_USE(cast, cast_cuda);
}
