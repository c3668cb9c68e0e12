/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic, comparisons, logic, maxima and powers of two operands, and Where: axes that are one run of memory
 * are joined, and the innermost loop knows which operand stands still. What is not here is the
 * reference's. */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "kernels/cpu/isa.h"
#include "kernels/cpu/math_f64.h"
#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

enum { GRAIN = 1 << 15, OPERANDS = 3 }; /* GRAIN: elements that are worth a second thread */

/* `count` results of operands that step by 0 or 1, or by more. */
typedef void run_fn(void *y, const void *const x[OPERANDS], const int64_t step[OPERANDS],
                    int64_t count);

struct walk {
    run_fn *run;
    cast_fn *widen; /* or NULL: makes what `run` reads, f32, of two operands in half precision */
    enum kernel_dtype stored; /* which */
    char *y;
    const char *x[OPERANDS];
    size_t y_bytes, x_bytes[OPERANDS];
    int operands, rank; /* rank >= 1 */
    int64_t dims[KERNEL_MAX_RANK];
    int64_t stride[OPERANDS][KERNEL_MAX_RANK];
};

static bool continues(const struct walk *w, int last, const int64_t *const strides[OPERANDS],
                      int axis, int64_t size)
{
    for (int k = 0; k < w->operands; k++)
        if (w->stride[k][last] != strides[k][axis] * size)
            return false;
    return true;
}

/* Two axes are one when every tensor steps from the end of the inner one to the outer one's next
 * element. */
static void join_axes(struct walk *w, int rank, const int64_t *dims,
                      const int64_t *const strides[OPERANDS])
{
    w->rank = 0;
    for (int i = 0; i < rank; i++) {
        int last = w->rank - 1;

        if (dims[i] == 1)
            continue;
        if (w->rank > 0 && continues(w, last, strides, i, dims[i])) {
            w->dims[last] *= dims[i];
        } else {
            last = w->rank++;
            w->dims[last] = dims[i];
        }
        for (int k = 0; k < w->operands; k++)
            w->stride[k][last] = strides[k][i];
    }
    if (w->rank == 0) { /* one element */
        w->rank = 1;
        w->dims[0] = 1;
    }
}

/* Operands in half precision, as f32 by the block. */
static void run_wide(const struct walk *w, char *y, const void *const x[OPERANDS],
                     const int64_t step[OPERANDS], int64_t count)
{
    enum { BLOCK = 1024 };
    float wide[2][BLOCK];
    const void *from[OPERANDS] = {wide[0], wide[1]};
    int64_t by[OPERANDS] = {0};

    for (int64_t first = 0; first < count; first += BLOCK) {
        int64_t size = count - first < BLOCK ? count - first : BLOCK;

        for (int k = 0; k < 2; k++) {
            const uint16_t *stored = x[k];

            by[k] = step[k] != 0;
            if (step[k] <= 1)
                w->widen(wide[k], KERNEL_F32, stored + first * step[k], w->stored,
                         step[k] ? (size_t)size : 1);
            for (int64_t i = 0; step[k] > 1 && i < size; i++)
                w->widen(&wide[k][i], KERNEL_F32, stored + (first + i) * step[k], w->stored, 1);
        }
        w->run(y + first * (int64_t)w->y_bytes, from, by, size);
    }
}

/* A line along the innermost axis: on which places of the others, and where in each operand. */
struct place {
    int64_t on[KERNEL_MAX_RANK], at[OPERANDS];
};

static struct place find_place(const struct walk *w, int64_t line)
{
    struct place place = {.at = {0}};

    for (int i = w->rank - 2; i >= 0; line /= w->dims[i--]) {
        place.on[i] = line % w->dims[i];
        for (int k = 0; k < w->operands; k++)
            place.at[k] += place.on[i] * w->stride[k][i];
    }
    return place;
}

/* Short lines are many: none is divided for. */
static void next_line(const struct walk *w, struct place *place)
{
    for (int i = w->rank - 2; i >= 0; i--) {
        bool is_last = ++place->on[i] == w->dims[i];

        for (int k = 0; k < w->operands; k++)
            place->at[k] += w->stride[k][i] - (is_last ? w->dims[i] * w->stride[k][i] : 0);
        if (!is_last)
            return;
        place->on[i] = 0;
    }
}

/* Elements [begin, end). */
static void do_walk(void *argument, int64_t begin, int64_t end)
{
    const struct walk *w = argument;
    int inner = w->rank - 1;
    int64_t line = w->dims[inner], step[OPERANDS] = {0}, first;
    struct place place;

    if (begin == end) /* a line may have no element */
        return;
    first = begin % line;
    place = find_place(w, begin / line);
    for (int k = 0; k < w->operands; k++)
        step[k] = w->stride[k][inner];
    for (; begin < end; next_line(w, &place), first = 0) {
        int64_t count = line - first < end - begin ? line - first : end - begin;
        const void *x[OPERANDS] = {0};

        for (int k = 0; k < w->operands; k++)
            x[k] = w->x[k] + (place.at[k] + first * step[k]) * (int64_t)w->x_bytes[k];
        if (w->widen)
            run_wide(w, w->y + begin * (int64_t)w->y_bytes, x, step, count);
        else
            w->run(w->y + begin * (int64_t)w->y_bytes, x, step, count);
        begin += count;
    }
}

static void start_walk(struct walk *w)
{
    int64_t count = 1;

    for (int i = 0; i < w->rank; i++)
        count *= w->dims[i];
    team_for(count, GRAIN, do_walk, w);
}

/* Of two operands */

#define EQUAL(a, b)            ((a) == (b))
#define GREATER(a, b)          ((a) > (b))
#define GREATER_OR_EQUAL(a, b) ((a) >= (b))
#define LESS(a, b)             ((a) < (b))
#define LESS_OR_EQUAL(a, b)    ((a) <= (b))
#define AND(a, b)              ((a) & (b))
#define OR(a, b)               ((a) | (b))
#define XOR(a, b)              ((a) ^ (b))
#define MAX(a, b)              ((a) > (b) ? (a) : (b))
#define MIN(a, b)              ((a) < (b) ? (a) : (b))
#define MAX_REAL(a, b)         ((a) > (b) || (a) != (a) ? (a) : (b)) /* nothing is above a NaN */
#define MIN_REAL(a, b)         ((a) < (b) || (a) != (a) ? (a) : (b))
#define MAX_FIXED(a, b)        ((a) <= (b) ? (b) : (a)) /* of a number b: one comparison less */
#define MIN_FIXED(a, b)        ((a) >= (b) ? (b) : (a))
#define PRELU(a, b)            ((a) < 0 ? (a) * (b) : (a))
#define ADD(a, b)              ((a) + (b))
#define SUB(a, b)              ((a) - (b))
#define MUL(a, b)              ((a) * (b))
#define DIV(a, b)              ((a) / (b))
#define LEFT(a, b)             ((b) < sizeof(a) * CHAR_BIT ? (a) << (b) : 0)
#define RIGHT(a, b)            ((b) < sizeof(a) * CHAR_BIT ? (a) >> (b) : 0)

/* Division by 0 gives 0, and the least number by -1 itself. */

ISA_BODY int32_t quotient_i32(int32_t a, int32_t b)
{
    int32_t divisor = b == 0 || b == -1 ? 1 : b, negative = (int32_t)(0 - (uint32_t)a);
    int32_t y = (int32_t)((double)a / (double)divisor); /* exact: there are vectors of it */

    return b == 0 ? 0 : b == -1 ? negative : y;
}

ISA_BODY int64_t quotient_i64(int64_t a, int64_t b)
{
    return b == 0 ? 0 : b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

/* The dividend's sign, or the divisor's. */

ISA_BODY int32_t rest_i32(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a - (uint32_t)quotient_i32(a, b) * (uint32_t)b) * (b != 0);
}

ISA_BODY int32_t modulo_i32(int32_t a, int32_t b)
{
    int32_t rest = rest_i32(a, b), sum = (int32_t)((uint32_t)rest + (uint32_t)b);

    return rest != 0 && (rest ^ b) < 0 ? sum : rest;
}

ISA_BODY int64_t rest_i64(int64_t a, int64_t b)
{
    if (((uint64_t)a | (uint64_t)b) <= UINT32_MAX && b != 0) /* a shorter division */
        return (uint32_t)a % (uint32_t)b;
    return b == 0 || b == -1 ? 0 : a % b;
}

ISA_BODY int64_t modulo_i64(int64_t a, int64_t b)
{
    int64_t rest = rest_i64(a, b);

    return rest != 0 && (rest ^ b) < 0 ? rest + b : rest;
}

/* Of types that are small enough: their quotient is exact but for its last bits, and no closer to a whole number than to
 * be rounded to it. */

#define QUOTIENT_OF_BYTES(type_name, type)                                                         \
    ISA_BODY int32_t quotient_##type_name(type a, type b)                                          \
    {                                                                                              \
        float divisor = b == 0 ? 1.0f : (float)b;                                                  \
                                                                                                   \
        return b == 0 ? 0 : (int32_t)((float)a / divisor);                                         \
    }                                                                                              \
                                                                                                   \
    ISA_BODY int32_t rest_##type_name(type a, type b)                                              \
    {                                                                                              \
        return (a - quotient_##type_name(a, b) * b) * (b != 0);                                    \
    }                                                                                              \
                                                                                                   \
    ISA_BODY int32_t modulo_##type_name(type a, type b)                                            \
    {                                                                                              \
        int32_t rest = rest_##type_name(a, b);                                                     \
                                                                                                   \
        return rest != 0 && (rest ^ b) < 0 ? rest + b : rest;                                      \
    }

QUOTIENT_OF_BYTES(i8, int8_t)
QUOTIENT_OF_BYTES(u8, uint8_t)

/* fixed_op: of one second operand for all, which is equal to itself. */
#define RUN(name, y_type, x_type, op, isa) RUN_FIXED(name, y_type, x_type, op, op, isa)
#define RUN_FIXED(name, y_type, x_type, op, fixed_op, isa)                                         \
    ISA_TARGET_##isa static void name##_##isa(void *out, const void *const x[OPERANDS],            \
                                              const int64_t step[OPERANDS], int64_t count)         \
    {                                                                                              \
        y_type *y = out;                                                                           \
        const x_type *a = x[0], *b = x[1];                                                         \
        int64_t a_step = step[0], b_step = step[1];                                                \
                                                                                                   \
        if (a_step == 1 && b_step == 1) {                                                          \
            _Pragma("omp simd") for (int64_t i = 0; i < count; i++) y[i] = (y_type)op(a[i], b[i]); \
        } else if (a_step == 1 && b_step == 0 && b[0] == b[0]) {                                   \
            x_type fixed = b[0];                                                                   \
                                                                                                   \
            _Pragma("omp simd") for (int64_t i = 0; i < count; i++) y[i] =                         \
                (y_type)fixed_op(a[i], fixed);                                                     \
        } else if (a_step == 0 && b_step == 1) {                                                   \
            x_type fixed = a[0];                                                                   \
                                                                                                   \
            _Pragma("omp simd") for (int64_t i = 0; i < count; i++) y[i] =                         \
                (y_type)op(fixed, b[i]);                                                           \
        } else {                                                                                   \
            for (int64_t i = 0; i < count; i++)                                                    \
                y[i] = (y_type)op(a[i * a_step], b[i * b_step]);                                   \
        }                                                                                          \
    }

/* Integers wrap around, so that those of a size are one whatever their sign. */
#define OF_BITS(bits, isa)                                                                         \
    RUN(add_##bits, uint##bits##_t, uint##bits##_t, ADD, isa)                                      \
    RUN(sub_##bits, uint##bits##_t, uint##bits##_t, SUB, isa)                                      \
    RUN(mul_##bits, uint##bits##_t, uint##bits##_t, MUL, isa)                                      \
    RUN(and_##bits, uint##bits##_t, uint##bits##_t, AND, isa)                                      \
    RUN(or_##bits, uint##bits##_t, uint##bits##_t, OR, isa)                                        \
    RUN(xor_##bits, uint##bits##_t, uint##bits##_t, XOR, isa)                                      \
    RUN(left_##bits, uint##bits##_t, uint##bits##_t, LEFT, isa)                                    \
    RUN(right_##bits, uint##bits##_t, uint##bits##_t, RIGHT, isa)

#define REALS(type_name, type, isa)                                                                \
    RUN(real_add_##type_name, type, type, ADD, isa)                                                \
    RUN(real_sub_##type_name, type, type, SUB, isa)                                                \
    RUN(real_mul_##type_name, type, type, MUL, isa)                                                \
    RUN(real_div_##type_name, type, type, DIV, isa)                                                \
    RUN_FIXED(max_##type_name, type, type, MAX_REAL, MAX_FIXED, isa)                               \
    RUN_FIXED(min_##type_name, type, type, MIN_REAL, MIN_FIXED, isa)                               \
    RUN(prelu_##type_name, type, type, PRELU, isa)

#define DIVISIONS(type_name, type, isa)                                                            \
    RUN(quotient_##type_name, type, type, quotient_##type_name, isa)                               \
    RUN(rest_##type_name, type, type, rest_##type_name, isa)                                       \
    RUN(modulo_##type_name, type, type, modulo_##type_name, isa)

#define COMPARE(type_name, type, isa)                                                              \
    RUN(equal_##type_name, uint8_t, type, EQUAL, isa)                                              \
    RUN(greater_##type_name, uint8_t, type, GREATER, isa)                                          \
    RUN(greater_or_equal_##type_name, uint8_t, type, GREATER_OR_EQUAL, isa)                        \
    RUN(less_##type_name, uint8_t, type, LESS, isa)                                                \
    RUN(less_or_equal_##type_name, uint8_t, type, LESS_OR_EQUAL, isa)

/* Powers that are a few products, of exponents that all elements share. */

#define POWER(name, expression, isa)                                                               \
    ISA_TARGET_##isa static void name##_##isa(void *out, const void *const x[OPERANDS],            \
                                              const int64_t step[OPERANDS], int64_t count)         \
    {                                                                                              \
        float *y = out;                                                                            \
        const float *from = x[0];                                                                  \
        int64_t by = step[0];                                                                      \
                                                                                                   \
        if (by == 1) {                                                                             \
            _Pragma("omp simd") for (int64_t i = 0; i < count; i++)                                \
            {                                                                                      \
                double a = (double)from[i];                                                        \
                                                                                                   \
                y[i] = (float)(expression);                                                        \
            }                                                                                      \
            return;                                                                                \
        }                                                                                          \
        for (int64_t i = 0; i < count; i++) {                                                      \
            double a = (double)from[i * by];                                                       \
                                                                                                   \
            y[i] = (float)(expression);                                                            \
        }                                                                                          \
    }

/* Powers and rests of reals, a block at a time. What the vector does not know, odd numbers, is the library's. */

enum { BLOCK = 256 };

/* Of a: above 0 and finite; b: finite. */
ISA_BODY double power_f32(float a, float b, int *odd)
{
    *odd = !(a > 0.0f) | !(a <= 0x1.fffffep+127f) | !(b - b == 0.0f);
    return math_f64_exp((double)b * math_f64_log((double)(*odd ? 1.0f : a)));
}

/* With the quotient's whole part, which may be too large by 1. It is exact below 2^28, and so is what is left. */
ISA_BODY double rest_f32(float a, float b, int *odd)
{
    double over = __builtin_fabs((double)a), by = __builtin_fabs((double)b), quotient = over / by;
    double rest = over - __builtin_trunc(quotient) * by;

    *odd = !(quotient < 0x1p28) | !(by <= 0x1p128);
    rest = rest < 0.0 ? rest + by : rest;
    return __builtin_copysign(rest, (double)a);
}

ISA_BODY double rest_f64(double a, double b, int *odd)
{
    double over = __builtin_fabs(a), by = __builtin_fabs(b), quotient = over / by;
    double rest = __builtin_fma(-__builtin_trunc(quotient), by, over);

    *odd = !(quotient < 0x1p52) | !(by <= 0x1.fffffffffffffp+1023);
    rest = rest < 0.0 ? rest + by : rest;
    return __builtin_copysign(rest, a);
}

#define BLOCKS(name, type, function, library, isa)                                                 \
    ISA_TARGET_##isa static void name##_##isa(void *out, const void *const x[OPERANDS],            \
                                              const int64_t step[OPERANDS], int64_t count)         \
    {                                                                                              \
        const type *from_a = x[0], *from_b = x[1];                                                 \
        type *y = out, a[BLOCK], b[BLOCK];                                                         \
                                                                                                   \
        for (int64_t at = 0; at < count; at += BLOCK) {                                            \
            int64_t some = count - at < BLOCK ? count - at : BLOCK;                                \
            int any = 0;                                                                           \
                                                                                                   \
            for (int64_t i = 0; i < some; i++) {                                                   \
                a[i] = from_a[(at + i) * step[0]];                                                 \
                b[i] = from_b[(at + i) * step[1]];                                                 \
            }                                                                                      \
            _Pragma("omp simd reduction(| : any)") for (int64_t i = 0; i < some; i++)              \
            {                                                                                      \
                int odd;                                                                           \
                                                                                                   \
                y[at + i] = (type)function(a[i], b[i], &odd);                                      \
                any |= odd;                                                                        \
            }                                                                                      \
            for (int64_t i = 0; any && i < some; i++) {                                            \
                int odd;                                                                           \
                                                                                                   \
                (void)function(a[i], b[i], &odd);                                                  \
                if (odd)                                                                           \
                    y[at + i] = (type)library((double)a[i], (double)b[i]);                         \
            }                                                                                      \
        }                                                                                          \
    }

/* Of three: every element of the condition, or one for all. */

#define CHOOSE(bytes, type, isa)                                                                   \
    ISA_TARGET_##isa static void where_##bytes##_##isa(                                            \
        void *out, const void *const x[OPERANDS], const int64_t step[OPERANDS], int64_t count)     \
    {                                                                                              \
        type *restrict y = out;                                                                    \
        const uint8_t *restrict c = x[0];                                                          \
        const type *restrict a = x[1], *restrict b = x[2];                                         \
                                                                                                   \
        if (step[0] == 1 && step[1] == 1 && step[2] == 1) {                                        \
            for (int64_t i = 0; i < count; i++)                                                    \
                y[i] = c[i] ? a[i] : b[i];                                                         \
        } else if (step[0] == 1 && step[1] == 0 && step[2] == 1) {                                 \
            type fixed = a[0];                                                                     \
                                                                                                   \
            for (int64_t i = 0; i < count; i++)                                                    \
                y[i] = c[i] ? fixed : b[i];                                                        \
        } else if (step[0] == 1 && step[1] == 1 && step[2] == 0) {                                 \
            type fixed = b[0];                                                                     \
                                                                                                   \
            for (int64_t i = 0; i < count; i++)                                                    \
                y[i] = c[i] ? a[i] : fixed;                                                        \
        } else if (step[0] == 0 && step[c[0] ? 1 : 2] == 1) {                                      \
            memcpy(y, c[0] ? a : b, (size_t)count * sizeof(*y));                                   \
        } else {                                                                                   \
            for (int64_t i = 0; i < count; i++)                                                    \
                y[i] = c[i * step[0]] ? a[i * step[1]] : b[i * step[2]];                           \
        }                                                                                          \
    }

#define COMPARES(type_name, isa)                                                                   \
    {                                                                                              \
        equal_##type_name##_##isa, greater_##type_name##_##isa,                                    \
            greater_or_equal_##type_name##_##isa, less_##type_name##_##isa,                        \
            less_or_equal_##type_name##_##isa                                                      \
    }

#define REAL_RUNS(name, isa)   [KERNEL_F32] = name##_f32_##isa, [KERNEL_F64] = name##_f64_##isa
#define SIGNED_RUNS(name, isa) [KERNEL_I32] = name##_i32_##isa, [KERNEL_I64] = name##_i64_##isa
#define BYTE_RUNS(name, isa)   [KERNEL_U8] = name##_u8_##isa, [KERNEL_I8] = name##_i8_##isa
#define UNSIGNED_RUNS(name, isa)                                                                   \
    [KERNEL_U8] = name##_8_##isa, [KERNEL_U32] = name##_32_##isa, [KERNEL_U64] = name##_64_##isa
#define BIT_RUNS(name, isa)                                                                        \
    UNSIGNED_RUNS(name, isa), [KERNEL_I8] = name##_8_##isa, [KERNEL_I32] = name##_32_##isa,        \
                              [KERNEL_I64] = name##_64_##isa

static void begin_zip(struct walk *w, void *y, const void *a, const void *b,
                      const struct kernel_zip_args *s)
{
    *w = (struct walk){.y = y,
                       .x = {a, b},
                       .y_bytes = kernel_dtype_bytes(s->y_type),
                       .x_bytes = {kernel_dtype_bytes(s->a_type), kernel_dtype_bytes(s->b_type)},
                       .operands = 2};
    join_axes(w, s->rank, s->dims, (const int64_t *const[OPERANDS]){s->a_stride, s->b_stride});
}

static bool is_one_number(const struct kernel_zip_args *s)
{
    for (int i = 0; i < s->rank; i++)
        if (s->b_stride[i] != 0 && s->dims[i] != 1)
            return false;
    return true;
}

/* A number of f64 beside f32 that is one of f32, too: sums and the like, rounded once, are equal. */
static bool narrows(const void *b, const struct kernel_zip_args *s, float *out_number)
{
    double number;

    if (s->op > ZIP_MIN || s->a_type != KERNEL_F32 || s->y_type != KERNEL_F32 ||
        s->b_type != KERNEL_F64 || !is_one_number(s))
        return false;
    memcpy(&number, b, sizeof(number));
    *out_number = (float)number;
    return (double)*out_number == number;
}

/* Whether integers are to be squared: a product with themselves, which wraps around as well. */
static bool is_square(const void *b, const struct kernel_zip_args *s)
{
    int64_t number;

    if (s->op != ZIP_POW || kernel_dtype_is_real(s->a_type) || kernel_dtype_is_real(s->b_type) ||
        s->y_type != s->a_type || !is_one_number(s))
        return false;
    cast_ref(&number, KERNEL_I64, b, s->b_type, 1);
    return number == 2;
}

/* The one exponent of a power of f32; NaN where there are several. */
static double exponent_of(const void *b, const struct kernel_zip_args *s)
{
    double number;

    if (!is_one_number(s) || s->op != ZIP_POW || s->a_type != KERNEL_F32 || s->y_type != KERNEL_F32)
        return (double)NAN;
    cast_ref(&number, KERNEL_F64, b, s->b_type, 1);
    return number;
}

#define ZIP(isa)                                                                                   \
    COMPARE(f32, float, isa)                                                                       \
    COMPARE(f64, double, isa)                                                                      \
    COMPARE(i32, int32_t, isa)                                                                     \
    COMPARE(i64, int64_t, isa)                                                                     \
    COMPARE(u8, uint8_t, isa)                                                                      \
    COMPARE(i8, int8_t, isa)                                                                       \
    OF_BITS(8, isa)                                                                                \
    OF_BITS(32, isa)                                                                               \
    OF_BITS(64, isa)                                                                               \
    REALS(f32, float, isa)                                                                         \
    REALS(f64, double, isa)                                                                        \
    DIVISIONS(i32, int32_t, isa)                                                                   \
    DIVISIONS(i64, int64_t, isa)                                                                   \
    DIVISIONS(i8, int8_t, isa)                                                                     \
    DIVISIONS(u8, uint8_t, isa)                                                                    \
    RUN(max_u8, uint8_t, uint8_t, MAX, isa)                                                        \
    RUN(min_u8, uint8_t, uint8_t, MIN, isa)                                                        \
    RUN(max_i8, int8_t, int8_t, MAX, isa)                                                          \
    RUN(min_i8, int8_t, int8_t, MIN, isa)                                                          \
    RUN(max_i32, int32_t, int32_t, MAX, isa)                                                       \
    RUN(min_i32, int32_t, int32_t, MIN, isa)                                                       \
    RUN(max_i64, int64_t, int64_t, MAX, isa)                                                       \
    RUN(min_i64, int64_t, int64_t, MIN, isa)                                                       \
    POWER(square, a *a, isa)                                                                       \
    POWER(cube, a *a *a, isa)                                                                      \
    POWER(root, a == -(double)INFINITY ? -a : sqrt(a + 0.0), isa)                                  \
    RUN(power_f64, double, double, pow, isa)                                                       \
    BLOCKS(power_f32, float, power_f32, pow, isa)                                                  \
    BLOCKS(real_rest_f32, float, rest_f32, fmod, isa)                                              \
    BLOCKS(real_rest_f64, double, rest_f64, fmod, isa)                                             \
    CHOOSE(1, uint8_t, isa)                                                                        \
    CHOOSE(2, uint16_t, isa)                                                                       \
    CHOOSE(4, uint32_t, isa)                                                                       \
    CHOOSE(8, uint64_t, isa)                                                                       \
                                                                                                   \
    static run_fn *zip_run_##isa(const struct kernel_zip_args *s, double exponent)                 \
    {                                                                                              \
        static run_fn *const compares[KERNEL_DTYPES][5] = {                                        \
            [KERNEL_F32] = COMPARES(f32, isa),  [KERNEL_F64] = COMPARES(f64, isa),                 \
            [KERNEL_I32] = COMPARES(i32, isa),  [KERNEL_I64] = COMPARES(i64, isa),                 \
            [KERNEL_U8] = COMPARES(u8, isa),    [KERNEL_I8] = COMPARES(i8, isa),                   \
            [KERNEL_BOOL] = COMPARES(u8, isa),  [KERNEL_F16] = COMPARES(f32, isa),                 \
            [KERNEL_BF16] = COMPARES(f32, isa),                                                    \
        };                                                                                         \
        static run_fn *const numbers[ZIP_COUNT][KERNEL_DTYPES] = {                                 \
            [ZIP_ADD] = {REAL_RUNS(real_add, isa), BIT_RUNS(add, isa)},                            \
            [ZIP_SUB] = {REAL_RUNS(real_sub, isa), BIT_RUNS(sub, isa)},                            \
            [ZIP_MUL] = {REAL_RUNS(real_mul, isa), BIT_RUNS(mul, isa)},                            \
            [ZIP_DIV] = {REAL_RUNS(real_div, isa), SIGNED_RUNS(quotient, isa),                     \
                         BYTE_RUNS(quotient, isa)},                                                \
            [ZIP_MAX] = {REAL_RUNS(max, isa), SIGNED_RUNS(max, isa), BYTE_RUNS(max, isa)},         \
            [ZIP_MIN] = {REAL_RUNS(min, isa), SIGNED_RUNS(min, isa), BYTE_RUNS(min, isa)},         \
            [ZIP_MOD] = {SIGNED_RUNS(modulo, isa), BYTE_RUNS(modulo, isa)},                        \
            [ZIP_FMOD] = {REAL_RUNS(real_rest, isa), SIGNED_RUNS(rest, isa),                       \
                          BYTE_RUNS(rest, isa)},                                                   \
            [ZIP_POW] = {REAL_RUNS(power, isa)},                                                   \
            [ZIP_PRELU] = {REAL_RUNS(prelu, isa)},                                                 \
            [ZIP_BIT_AND] = {BIT_RUNS(and, isa)},                                                  \
            [ZIP_BIT_OR] = {BIT_RUNS(or, isa)},                                                    \
            [ZIP_BIT_XOR] = {BIT_RUNS(xor, isa)},                                                  \
            [ZIP_SHIFT_LEFT] = {UNSIGNED_RUNS(left, isa)},                                         \
            [ZIP_SHIFT_RIGHT] = {UNSIGNED_RUNS(right, isa)},                                       \
            [ZIP_AND] = {[KERNEL_BOOL] = and_8_##isa},                                             \
            [ZIP_OR] = {[KERNEL_BOOL] = or_8_##isa},                                               \
            [ZIP_XOR] = {[KERNEL_BOOL] = xor_8_##isa},                                             \
        };                                                                                         \
                                                                                                   \
        if (exponent == 2.0)                                                                       \
            return square_##isa;                                                                   \
        if (exponent == 3.0)                                                                       \
            return cube_##isa;                                                                     \
        if (exponent == 0.5)                                                                       \
            return root_##isa;                                                                     \
        if (s->a_type != s->b_type)                                                                \
            return NULL;                                                                           \
        if (s->op >= ZIP_EQUAL && s->op <= ZIP_LESS_OR_EQUAL)                                      \
            return compares[s->a_type][s->op - ZIP_EQUAL];                                         \
        return s->y_type == s->a_type ? numbers[s->op][s->a_type] : NULL;                          \
    }                                                                                              \
                                                                                                   \
    void zip_##isa(void *y, const void *a, const void *b, const struct kernel_zip_args *args)      \
    {                                                                                              \
        struct kernel_zip_args narrowed = *args;                                                   \
        struct walk w;                                                                             \
        float number;                                                                              \
                                                                                                   \
        if (narrows(b, args, &number)) {                                                           \
            narrowed.b_type = KERNEL_F32;                                                          \
            args = &narrowed;                                                                      \
            b = &number;                                                                           \
        }                                                                                          \
        if (is_square(b, args)) {                                                                  \
            narrowed.op = ZIP_MUL;                                                                 \
            narrowed.b_type = args->a_type;                                                        \
            memcpy(narrowed.b_stride, args->a_stride, sizeof(narrowed.b_stride));                  \
            args = &narrowed;                                                                      \
            b = a;                                                                                 \
        }                                                                                          \
        begin_zip(&w, y, a, b, args);                                                              \
        w.run = zip_run_##isa(args, exponent_of(b, args));                                         \
        if (args->a_type == KERNEL_F16 || args->a_type == KERNEL_BF16)                             \
            w.widen = cast_##isa;                                                                  \
        w.stored = args->a_type;                                                                   \
        if (w.run)                                                                                 \
            start_walk(&w);                                                                        \
        else                                                                                       \
            zip_ref(y, a, b, args);                                                                \
    }                                                                                              \
                                                                                                   \
    void where_##isa(void *y, const uint8_t *condition, const void *a, const void *b,              \
                     const struct kernel_where *s)                                                 \
    {                                                                                              \
        size_t bytes = s->element_bytes;                                                           \
        struct walk w = {.run = bytes == 1   ? where_1_##isa                                       \
                                : bytes == 2 ? where_2_##isa                                       \
                                : bytes == 4 ? where_4_##isa                                       \
                                             : where_8_##isa,                                      \
                         .y = y,                                                                   \
                         .x = {(const char *)condition, a, b},                                     \
                         .y_bytes = bytes,                                                         \
                         .x_bytes = {1, bytes, bytes},                                             \
                         .operands = OPERANDS};                                                    \
                                                                                                   \
        join_axes(                                                                                 \
            &w, s->rank, s->dims,                                                                  \
            (const int64_t *const[OPERANDS]){s->condition_stride, s->a_stride, s->b_stride});      \
        start_walk(&w);                                                                            \
    }

ISA_VERSIONS(ZIP)
