/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise arithmetic with broadcasting, the truth. */
#include "kernels/kernels.h"

/* Integers wrap, in the unsigned type of the same width; what C leaves undefined in a division is
 * given a value, because a model may ask for it. */
#define FLOAT_OP(a, op, b, type, wide)   ((type)((a)op(b)))
#define INTEGER_OP(a, op, b, type, wide) ((type)((wide)(a)op(wide)(b)))
#define FLOAT_DIV(a, op, b, type, wide)  ((type)((a) / (b)))
#define INTEGER_DIV(a, op, b, type, wide)                                                          \
    ((b) == 0 ? 0 : (b) == -1 ? (type)(0 - (wide)(a)) : (type)((a) / (b)))

/* The coordinates outside of the last axis count up like an odometer. */
#define BINARY(name, type, wide, op, apply)                                                        \
    void name##_ref(void *y, const void *a, const void *b, const struct kernel_broadcast *shape)   \
    {                                                                                              \
        int inner = shape->rank - 1;                                                               \
        int64_t length = shape->rank ? shape->dims[inner] : 1;                                     \
        int64_t a_step = shape->rank ? shape->a_stride[inner] : 0;                                 \
        int64_t b_step = shape->rank ? shape->b_stride[inner] : 0;                                 \
        int64_t at[KERNEL_MAX_RANK] = {0};                                                         \
        const type *pa = a, *pb = b;                                                               \
        type *py = y;                                                                              \
        int axis = 0;                                                                              \
                                                                                                   \
        for (int i = 0; i < shape->rank; i++)                                                      \
            if (shape->dims[i] == 0)                                                               \
                return;                                                                            \
        while (axis >= 0) {                                                                        \
            for (int64_t i = 0; i < length; i++)                                                   \
                py[i] = apply(pa[i * a_step], op, pb[i * b_step], type, wide);                     \
            py += length;                                                                          \
            for (axis = inner - 1; axis >= 0; axis--) {                                            \
                pa += shape->a_stride[axis];                                                       \
                pb += shape->b_stride[axis];                                                       \
                if (++at[axis] < shape->dims[axis])                                                \
                    break;                                                                         \
                pa -= shape->a_stride[axis] * shape->dims[axis];                                   \
                pb -= shape->b_stride[axis] * shape->dims[axis];                                   \
                at[axis] = 0;                                                                      \
            }                                                                                      \
        }                                                                                          \
    }

BINARY(add_f32, float, float, +, FLOAT_OP)
BINARY(sub_f32, float, float, -, FLOAT_OP)
BINARY(mul_f32, float, float, *, FLOAT_OP)
BINARY(div_f32, float, float, /, FLOAT_DIV)
BINARY(add_f64, double, double, +, FLOAT_OP)
BINARY(sub_f64, double, double, -, FLOAT_OP)
BINARY(mul_f64, double, double, *, FLOAT_OP)
BINARY(div_f64, double, double, /, FLOAT_DIV)
BINARY(add_i32, int32_t, uint32_t, +, INTEGER_OP)
BINARY(sub_i32, int32_t, uint32_t, -, INTEGER_OP)
BINARY(mul_i32, int32_t, uint32_t, *, INTEGER_OP)
BINARY(div_i32, int32_t, uint32_t, /, INTEGER_DIV)
BINARY(add_i64, int64_t, uint64_t, +, INTEGER_OP)
BINARY(sub_i64, int64_t, uint64_t, -, INTEGER_OP)
BINARY(mul_i64, int64_t, uint64_t, *, INTEGER_OP)
BINARY(div_i64, int64_t, uint64_t, /, INTEGER_DIV)
