/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise kernels: one operand, two, chains of them, a choice of two, conversion. */
#include "kernels/cuda/device.cuh"

/* Functions of one operand, over float and over double. */

template <typename R>
static __device__ R unit(R x)
{
    return x != x ? x : x < R(0) ? R(0) : x > R(1) ? R(1) : x;
}

template <typename R>
static __device__ R softplus(R x)
{
    return x > R(0) ? x + log1p(exp(-x)) : log1p(exp(x));
}

template <typename R>
static __device__ R map_plain(int op, R x)
{
    switch (op) {
    case MAP_ABS:
        return fabs(x);
    case MAP_ACOS:
        return acos(x);
    case MAP_ACOSH:
        return acosh(x);
    case MAP_ASIN:
        return asin(x);
    case MAP_ASINH:
        return asinh(x);
    case MAP_ATAN:
        return atan(x);
    case MAP_ATANH:
        return atanh(x);
    case MAP_CEIL:
        return ceil(x);
    case MAP_COS:
        return cos(x);
    case MAP_COSH:
        return cosh(x);
    case MAP_ERF:
        return erf(x);
    case MAP_EXP:
        return exp(x);
    case MAP_FLOOR:
        return floor(x);
    case MAP_LOG:
        return log(x);
    case MAP_NEG:
        return -x;
    case MAP_RECIPROCAL:
        return R(1) / x;
    case MAP_RELU:
        return x < R(0) ? (BUG == 2 ? -x : R(0)) : x;
    case MAP_ROUND:
        return rint(x);
    case MAP_SIGMOID:
        return R(1) / (R(1) + exp(-x));
    case MAP_SIGN:
        return x > R(0) ? R(1) : x < R(0) ? R(-1) : x;
    case MAP_SIN:
        return sin(x);
    case MAP_SINH:
        return sinh(x);
    case MAP_SOFTPLUS:
        return softplus(x);
    case MAP_SOFTSIGN:
        return x / (R(1) + fabs(x));
    case MAP_SQRT:
        return sqrt(x);
    case MAP_TAN:
        return tan(x);
    default:
        return tanh(x);
    }
}

template <typename R>
static __device__ R map_real(int op, R x, R a, R b)
{
    switch (op) {
    case MAP_CELU:
        return x > R(0) ? x : a * expm1(x / a);
    case MAP_CLIP:
        x = x < a ? a : x;
        return x > b ? b : x;
    case MAP_ELU:
        return x < R(0) ? a * expm1(x) : x;
    case MAP_GELU:
        return R(0.5) * x * (R(1) + erf(x * R(0.70710678118654752440)));
    case MAP_GELU_TANH:
        return R(0.5) * x *
               (R(1) + tanh(R(0.79788456080286535588) * (x + R(0.044715) * x * x * x)));
    case MAP_HARD_SIGMOID:
        return unit(a * x + b);
    case MAP_HARD_SWISH:
        return x * unit(x / R(6) + R(0.5));
    case MAP_IS_INF:
        return isinf(x) && (x > R(0) ? a : b) != R(0) ? R(1) : R(0);
    case MAP_IS_NAN:
        return x != x ? R(1) : R(0);
    case MAP_LEAKY_RELU:
        return x < R(0) ? a * x : x;
    case MAP_MISH:
        return x * tanh(softplus(x));
    case MAP_SELU:
        return b * (x > R(0) ? x : a * expm1(x));
    case MAP_SHRINK:
        return x < -b ? x + a : x > b ? x - a : x != x ? x : R(0);
    case MAP_SWISH:
        return x / (R(1) + exp(-a * x));
    case MAP_THRESHOLDED_RELU:
        return x > a || x != x ? x : R(0);
    default:
        return map_plain(op, x);
    }
}

/* The unsigned detour wraps the lowest number around. */
static __device__ int64_t negate(int64_t x)
{
    return (int64_t)(0 - (uint64_t)x);
}

static __device__ int64_t map_integer(int op, int64_t x)
{
    switch (op) {
    case MAP_ABS:
        return x < 0 ? negate(x) : x;
    case MAP_BIT_NOT:
        return ~x;
    case MAP_NEG:
        return negate(x);
    case MAP_NOT:
        return !x;
    case MAP_RELU:
        return x < 0 ? 0 : x;
    default:
        return (x > 0) - (x < 0);
    }
}

/* y[i] = f(x[i]), four at once where both lie so. */
template <typename F>
static __device__ __forceinline__ void map_each(float *y, const float *x, int64_t count, F f)
{
    const int64_t quads = are_quads(y, x, NULL) ? count / 4 : 0;

    for (int64_t i = grid_index(); i < quads; i += grid_step()) {
        struct quad q = ((const struct quad *)x)[i];

        for (int j = 0; j < 4; j++)
            q.part[j] = f(q.part[j]);
        ((struct quad *)y)[i] = q;
    }
    for (int64_t i = 4 * quads + grid_index(); i < count; i += grid_step())
        y[i] = f(x[i]);
}

/* Those that networks have most, each with a loop of its own. */
extern "C" __global__ void __launch_bounds__(CUDA_BLOCK, CUDA_RESIDENT)
    map_f32(float *y, const float *x, int64_t count, int op, float a, float b)
{
#define MAP_CASE(which)                                                                            \
    case which:                                                                                    \
        map_each(y, x, count, [=](float v) { return map_real<float>(which, v, a, b); });           \
        break
    switch (op) {
        MAP_CASE(MAP_RELU);
        MAP_CASE(MAP_SIGMOID);
        MAP_CASE(MAP_TANH);
        MAP_CASE(MAP_GELU);
        MAP_CASE(MAP_GELU_TANH);
        MAP_CASE(MAP_SWISH);
        MAP_CASE(MAP_HARD_SWISH);
        MAP_CASE(MAP_LEAKY_RELU);
        MAP_CASE(MAP_ERF);
        MAP_CASE(MAP_EXP);
        MAP_CASE(MAP_SQRT);
    default:
        for (int64_t i = grid_index(); i < count; i += grid_step())
            y[i] = map_real<float>(op, x[i], a, b);
    }
#undef MAP_CASE
}
KERNEL_EXPORT(map_f32)

extern "C" __global__ void __launch_bounds__(CUDA_BLOCK, CUDA_RESIDENT)
    clip_f32(float *y, const float *x, int64_t count, float low, float high)
{
    map_each(y, x, count, [=](float v) {
        float cut = v < low ? low : v;

        return cut > high ? high : cut;
    });
}
KERNEL_EXPORT(clip_f32)

extern "C" __global__ void __launch_bounds__(CUDA_BLOCK, CUDA_RESIDENT)
    map_any(void *y, const void *x, int64_t count, struct kernel_map_args args)
{
    bool to_bool = args.op == MAP_IS_INF || args.op == MAP_IS_NAN;
    bool as_real = is_real_type(args.dtype) || args.op == MAP_SHRINK;
    int y_type = to_bool ? (int)KERNEL_BOOL : (int)args.dtype;

    for (int64_t i = grid_index(); i < count; i += grid_step()) {
        if (as_real)
            set_f64(y, y_type, i,
                    map_real<double>(args.op, get_f64(x, args.dtype, i), args.a, args.b));
        else
            set_i64(y, y_type, i, map_integer(args.op, get_i64(x, args.dtype, i)));
    }
}
KERNEL_EXPORT(map_any)

/* Two operands */

template <typename R>
static __device__ R modulo(R a, R b)
{
    R rest = fmod(a, b);

    if (rest == R(0))
        return copysign(R(0), b);
    return (rest < R(0)) != (b < R(0)) ? rest + b : rest;
}

template <typename R>
static __device__ R zip_real(int op, R a, R b)
{
    switch (op) {
    case ZIP_ADD:
        return a + b;
    case ZIP_SUB:
        return a - b;
    case ZIP_MUL:
        return a * b;
    case ZIP_DIV:
        return a / b;
    case ZIP_MAX:
        return a != a || b != b ? R(NAN) : a > b ? a : b;
    case ZIP_MIN:
        return a != a || b != b ? R(NAN) : a < b ? a : b;
    case ZIP_MOD:
        return modulo(a, b);
    case ZIP_FMOD:
        return fmod(a, b);
    case ZIP_POW:
        return (R)pow((double)a, (double)b);
    case ZIP_PRELU:
        return a < R(0) ? a * b : a;
    case ZIP_EQUAL:
        return a == b;
    case ZIP_GREATER:
        return a > b;
    case ZIP_GREATER_OR_EQUAL:
        return a >= b;
    case ZIP_LESS:
        return a < b;
    default:
        return a <= b;
    }
}

/* By squaring; wraps around. */
static __device__ int64_t power(int64_t base, int64_t exponent)
{
    uint64_t result = 1, square = (uint64_t)base;

    if (exponent < 0)
        return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
    for (; exponent > 0; exponent /= 2) {
        if (exponent % 2)
            result *= square;
        square *= square;
    }
    return (int64_t)result;
}

static __device__ int64_t remainder_of(int64_t a, int64_t b, bool of_divisor)
{
    int64_t rest = b == 0 || b == -1 ? 0 : a % b;

    return of_divisor && rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

static __device__ int64_t shift(int64_t a, int64_t by, bool is_left)
{
    if (by < 0 || by >= 64)
        return !is_left && a < 0 ? -1 : 0;
    return is_left ? (int64_t)((uint64_t)a << by) : a >> by;
}

static __device__ int64_t compare_integers(int op, int64_t a, int64_t b)
{
    switch (op) {
    case ZIP_EQUAL:
        return a == b;
    case ZIP_GREATER:
        return a > b;
    case ZIP_GREATER_OR_EQUAL:
        return a >= b;
    case ZIP_LESS:
        return a < b;
    case ZIP_LESS_OR_EQUAL:
        return a <= b;
    case ZIP_AND:
        return a && b;
    case ZIP_OR:
        return a || b;
    default:
        return !a != !b;
    }
}

static __device__ int64_t zip_integer(int op, int64_t a, int64_t b)
{
    switch (op) {
    case ZIP_ADD:
        return (int64_t)((uint64_t)a + (uint64_t)b);
    case ZIP_SUB:
        return (int64_t)((uint64_t)a - (uint64_t)b);
    case ZIP_MUL:
        return (int64_t)((uint64_t)a * (uint64_t)b);
    case ZIP_DIV:
        return b == 0 ? 0 : b == -1 ? negate(a) : a / b;
    case ZIP_MAX:
        return a > b ? a : b;
    case ZIP_MIN:
        return a < b ? a : b;
    case ZIP_MOD:
        return remainder_of(a, b, true);
    case ZIP_FMOD:
        return remainder_of(a, b, false);
    case ZIP_POW:
        return power(a, b);
    case ZIP_PRELU:
        return a < 0 ? (int64_t)((uint64_t)a * (uint64_t)b) : a;
    case ZIP_BIT_AND:
        return a & b;
    case ZIP_BIT_OR:
        return a | b;
    case ZIP_BIT_XOR:
        return a ^ b;
    case ZIP_SHIFT_LEFT:
    case ZIP_SHIFT_RIGHT:
        return shift(a, b, op == ZIP_SHIFT_LEFT);
    default:
        return compare_integers(op, a, b);
    }
}

/* Where two operands lie for element i of the result. */
static __device__ __forceinline__ void place_two(const int64_t *dims, const int64_t *a_stride,
                                                 const int64_t *b_stride, int rank, int64_t i,
                                                 int64_t *out_a, int64_t *out_b)
{
    int64_t a = 0, b = 0;

    for (int axis = rank - 1; axis >= 0; axis--) {
        int64_t c = i % dims[axis];

        a += c * a_stride[axis];
        b += c * (BUG == 3 && axis + 1 == rank ? 1 : b_stride[axis]);
        i /= dims[axis];
    }
    *out_a = a;
    *out_b = b;
}

extern "C" __global__ void __launch_bounds__(CUDA_BLOCK, CUDA_RESIDENT)
    zip_f32(float *y, const float *a, const float *b, int64_t count, struct kernel_zip_args args)
{
    for (int64_t i = grid_index(); i < count; i += grid_step()) {
        int64_t at_a, at_b;

        place_two(args.dims, args.a_stride, args.b_stride, args.rank, i, &at_a, &at_b);
        y[i] = zip_real<float>(args.op, a[at_a], b[at_b]);
    }
}
KERNEL_EXPORT(zip_f32)

/* Second operands: of element i, and of the four from element i on, which 4 divides. */

struct second_dense {
    const float *b;

    __device__ __forceinline__ float at(int64_t i) const
    {
        return b[i];
    }
    __device__ __forceinline__ struct quad four(int64_t i) const
    {
        return ((const struct quad *)b)[i / 4];
    }
};

struct second_one {
    const float *b; /* NULL: it is no pointer's */
    float value;

    __device__ __forceinline__ float at(int64_t) const
    {
        return value;
    }
    __device__ __forceinline__ struct quad four(int64_t) const
    {
        return {{value, value, value, value}};
    }
};

/* `period` numbers, each for `inner` elements in a row, and from the first again. */
struct second_repeated {
    const float *b;
    uint32_t inner, period;

    __device__ __forceinline__ float at(int64_t i) const
    {
        return b[(uint32_t)i / inner % period];
    }
    __device__ __forceinline__ struct quad four(int64_t i) const
    {
        if (inner == 1 && period % 4 == 0)
            return *(const struct quad *)(b + (uint32_t)i % period);
        if (inner % 4 == 0)
            return second_one{NULL, at(i)}.four(i);
        return {{at(i), at(i + 1), at(i + 2), at(i + 3)}};
    }
};

template <int OP, typename B>
static __device__ __forceinline__ void zip_each(float *y, const float *a, int64_t count,
                                                const B &second)
{
    const int64_t quads = are_quads(y, a, second.b) ? count / 4 : 0;

    for (int64_t i = grid_index(); i < quads; i += grid_step()) {
        const struct quad p = ((const struct quad *)a)[i], q = second.four(4 * i);
        struct quad r;

        for (int j = 0; j < 4; j++)
            r.part[j] = zip_real<float>(OP, p.part[j], q.part[j]);
        ((struct quad *)y)[i] = r;
    }
    for (int64_t i = 4 * quads + grid_index(); i < count; i += grid_step())
        y[i] = zip_real<float>(OP, a[i], second.at(i));
}

/* Those that networks have most, each with a loop of its own. */
template <typename B>
static __device__ __forceinline__ void zip_near(float *y, const float *a, int64_t count, int op,
                                                const B &second)
{
    switch (op) {
    case ZIP_ADD:
        return zip_each<ZIP_ADD>(y, a, count, second);
    case ZIP_SUB:
        return zip_each<ZIP_SUB>(y, a, count, second);
    case ZIP_MUL:
        return zip_each<ZIP_MUL>(y, a, count, second);
    case ZIP_DIV:
        return zip_each<ZIP_DIV>(y, a, count, second);
    case ZIP_MAX:
        return zip_each<ZIP_MAX>(y, a, count, second);
    case ZIP_MIN:
        return zip_each<ZIP_MIN>(y, a, count, second);
    default:
        for (int64_t i = grid_index(); i < count; i += grid_step())
            y[i] = zip_real<float>(op, a[i], second.at(i));
    }
}

/* Both operands lie as the result does. */
extern "C" __global__ void __launch_bounds__(CUDA_BLOCK, CUDA_RESIDENT)
    zip_dense_f32(float *y, const float *a, const float *b, int64_t count, int op)
{
    zip_near(y, a, count, op, second_dense{b});
}
KERNEL_EXPORT(zip_dense_f32)

extern "C" __global__ void __launch_bounds__(CUDA_BLOCK, CUDA_RESIDENT)
    zip_one_f32(float *y, const float *a, struct cuda_scalar scalar, int64_t count, int op)
{
    const float b = scalar.address ? *(const float *)scalar.address
                                   : __int_as_float((int)(uint32_t)scalar.bits);

    zip_near(y, a, count, op, second_one{NULL, b});
}
KERNEL_EXPORT(zip_one_f32)

extern "C" __global__ void __launch_bounds__(CUDA_BLOCK, CUDA_RESIDENT)
    zip_repeat_f32(float *y, const float *a, const float *b, int64_t count, int op, uint32_t inner,
                   uint32_t period)
{
    zip_near(y, a, count, op, second_repeated{b, inner, period});
}
KERNEL_EXPORT(zip_repeat_f32)

extern "C" __global__ void __launch_bounds__(CUDA_BLOCK, CUDA_RESIDENT)
    zip_any(void *y, const void *a, const void *b, struct cuda_scalar scalar, int64_t count,
            struct kernel_zip_args args)
{
    bool as_real = is_real_type(args.a_type) || is_real_type(args.b_type);

    for (int64_t i = grid_index(); i < count; i += grid_step()) {
        const void *second = b ? b : (const void *)&scalar.bits;
        int64_t at_a, at_b;

        place_two(args.dims, args.a_stride, args.b_stride, args.rank, i, &at_a, &at_b);
        if (as_real)
            set_f64(y, args.y_type, i,
                    zip_real<double>(args.op, get_f64(a, args.a_type, at_a),
                                     get_f64(second, args.b_type, at_b)));
        else
            set_i64(y, args.y_type, i,
                    zip_integer(args.op, get_i64(a, args.a_type, at_a),
                                get_i64(second, args.b_type, at_b)));
    }
}
KERNEL_EXPORT(zip_any)

/* Chains */

static __device__ int64_t chain_place(const struct kernel_chain *chain, int lies, int input,
                                      int64_t i)
{
    int64_t at = 0;

    if (lies != CUDA_LIES_OTHERWISE)
        return lies == CUDA_LIES_ONCE ? 0 : i;
    for (int axis = chain->rank - 1; axis >= 0; axis--) {
        at += i % chain->dims[axis] * chain->strides[input][axis];
        i /= chain->dims[axis];
    }
    return at;
}

/* Input 0 of a chain that begins with an image: any type, surrounded by a constant. */
static __device__ float chain_source(const struct kernel_chain *chain, int lies, const void *input,
                                     int type, int64_t i)
{
    int64_t at = lies == CUDA_LIES_DENSE ? i : 0;

    for (int axis = chain->rank - 1; lies == CUDA_LIES_OTHERWISE && axis >= 0; axis--) {
        int64_t c = i % chain->dims[axis] - (chain->is_padded ? chain->pad.begin[axis] : 0);

        if (chain->is_padded && (c < 0 || c >= chain->pad.dims[axis]))
            return chain->pad.value;
        at += c * chain->strides[0][axis];
        i /= chain->dims[axis];
    }
    if (type == KERNEL_I64)
        return (float)((const int64_t *)input)[at];
    return (float)get_f64(input, type, at);
}

/* `numbers` are the inputs of one element, and behind them the results of steps. */
static __device__ float run_chain(const struct kernel_chain *chain, float *numbers)
{
    for (int s = 0; s < chain->steps; s++) {
        const struct kernel_chain_step *step = &chain->step[s];
        float a = numbers[step->operands[0]];
        float b = step->has_two ? numbers[step->operands[1]] : 0.0f;

        numbers[KERNEL_CHAIN_RESULT + s] =
            step->has_two ? zip_real<float>(step->zip, BUG == 4 ? b : a, BUG == 4 ? a : b)
                          : map_real<float>(step->map, a, (float)step->a, (float)step->b);
    }
    return numbers[chain->steps > 0 ? KERNEL_CHAIN_RESULT + chain->steps - 1 : 0];
}

extern "C" __global__ void __launch_bounds__(CUDA_BLOCK, CUDA_RESIDENT)
    chain_f32(float *y, int64_t count, struct cuda_chain args)
{
    const struct kernel_chain *chain = &args.chain;

    for (int64_t i = grid_index(); i < count; i += grid_step()) {
        float numbers[KERNEL_CHAIN_INPUTS + KERNEL_CHAIN_STEPS];

        numbers[0] = chain_source(chain, args.lies[0], args.input[0], chain->type, i);
        for (int k = 1; k < chain->inputs; k++)
            numbers[k] = ((const float *)args.input[k])[chain_place(chain, args.lies[k], k, i)];
        y[i] = run_chain(chain, numbers);
    }
}
KERNEL_EXPORT(chain_f32)

extern "C" __global__ void __launch_bounds__(CUDA_BLOCK, CUDA_RESIDENT)
    chain_half(void *y, int64_t count, struct cuda_chain_half args)
{
    const struct kernel_chain *chain = &args.half.chain;

    for (int64_t i = grid_index(); i < count; i += grid_step()) {
        float numbers[KERNEL_CHAIN_INPUTS + KERNEL_CHAIN_STEPS];

        numbers[0] = chain_source(chain, args.lies[0], args.input[0], args.half.types[0], i);
        for (int k = 1; k < chain->inputs; k++)
            numbers[k] =
                get_f32(args.input[k], args.half.types[k], chain_place(chain, args.lies[k], k, i));
        set_f32(y, args.half.y_type, i, run_chain(chain, numbers), args.half.saturates);
    }
}
KERNEL_EXPORT(chain_half)

/* A chain of one step over what lies in a line, or is one number: without a list of numbers, which a
 * thread has in memory. */
extern "C" __global__ void __launch_bounds__(CUDA_BLOCK, CUDA_RESIDENT)
    step_half(void *y, int64_t count, struct cuda_step_half args)
{
    const float a_parameter = (float)args.step.a, b_parameter = (float)args.step.b;

    for (int64_t i = grid_index(); i < count; i += grid_step()) {
        float a = get_f32(args.input[0], args.types[0], i * args.strides[0]);
        float b =
            args.step.has_two ? get_f32(args.input[1], args.types[1], i * args.strides[1]) : 0.0f;
        float result = args.step.has_two
                           ? zip_real<float>(args.step.zip, BUG == 28 ? b : a, BUG == 28 ? a : b)
                           : map_real<float>(args.step.map, a, a_parameter, b_parameter);

        set_f32(y, args.y_type, i, result, args.saturates);
    }
}
KERNEL_EXPORT(step_half)

/* Between f32 and half precision. */
extern "C" __global__ void __launch_bounds__(CUDA_BLOCK, CUDA_RESIDENT)
    convert_half(void *y, int to, const void *x, int from, bool saturates, int64_t count)
{
    for (int64_t i = grid_index(); i < count; i += grid_step())
        set_f32(y, to, i, get_f32(x, from, i), saturates);
}
KERNEL_EXPORT(convert_half)

/* What eight numbers of float16 are read as. */
struct alignas(16) eight_halves {
    uint32_t pair[4];
};

static __device__ __forceinline__ bool is_infinite(uint32_t half)
{
    return (half & 0x7fff) == 0x7c00;
}

/* Infinity becomes the largest number: in what a library has rounded to float16. Threads that have
 * nothing to do read only. */
extern "C" __global__ void __launch_bounds__(CUDA_BLOCK, CUDA_RESIDENT)
    saturate_half(uint16_t *y, int64_t count, int64_t first)
{
    struct eight_halves *eights = (struct eight_halves *)(y + first);
    int64_t many = count > first ? (count - first) / 8 : 0;

    for (int64_t i = grid_index(); i < many; i += grid_step()) {
        struct eight_halves eight = eights[i];
        bool is_changed = false;

        for (int k = 0; k < 4; k++) {
            uint32_t low = is_infinite(eight.pair[k]), high = is_infinite(eight.pair[k] >> 16);

            eight.pair[k] -= low | high << 16; /* the number before infinity is the largest */
            is_changed = is_changed || low || high;
        }
        if (is_changed && BUG != 27)
            eights[i] = eight;
    }
    for (int64_t i = grid_index(); i < count; i += grid_step())
        if ((i < first || i >= first + 8 * many) && is_infinite(y[i]))
            y[i]--;
}
KERNEL_EXPORT(saturate_half)

/* A choice of two, conversion */

extern "C" __global__ void __launch_bounds__(CUDA_BLOCK, CUDA_RESIDENT)
    where_any(void *y, const uint8_t *condition, const void *a, const void *b, int64_t count,
              struct kernel_where shape)
{
    for (int64_t i = grid_index(); i < count; i += grid_step()) {
        int64_t at = 0, at_a = 0, at_b = 0, rest = i;

        for (int axis = shape.rank - 1; axis >= 0; axis--) {
            int64_t c = rest % shape.dims[axis];

            at += c * shape.condition_stride[axis];
            at_a += c * shape.a_stride[axis];
            at_b += c * shape.b_stride[axis];
            rest /= shape.dims[axis];
        }
        if (condition[at])
            move_element(y, i, a, at_a, (int)shape.element_bytes);
        else
            move_element(y, i, b, at_b, (int)shape.element_bytes);
    }
}
KERNEL_EXPORT(where_any)

extern "C" __global__ void __launch_bounds__(CUDA_BLOCK, CUDA_RESIDENT)
    cast_any(void *y, int to, const void *x, int from, int64_t count)
{
    bool as_real = is_real_type(from) || is_real_type(to);

    for (int64_t i = grid_index(); i < count; i += grid_step()) {
        if (from == KERNEL_I64 && to == KERNEL_F32) /* rounded once */
            ((float *)y)[i] = (float)((const int64_t *)x)[i];
        else if (as_real)
            set_f64(y, to, i, get_f64(x, from, i));
        else if (to == KERNEL_BOOL)
            ((uint8_t *)y)[i] = get_i64(x, from, i) != 0;
        else
            set_i64(y, to, i, get_i64(x, from, i));
    }
}
KERNEL_EXPORT(cast_any)
