/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise arithmetic with broadcasting, of f32: axes that are one run of memory are joined, and
 * the innermost loop knows which operand stands still. Other types are left to zip(). */
#include <string.h>

#include "kernels/cpu/broadcast_join.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

/* Elements that are worth a second thread. */
enum { GRAIN = 1 << 16, LINE = 8 };

struct kernel_broadcast broadcast_join(const struct kernel_broadcast *shape)
{
    struct kernel_broadcast out = {.rank = 0};

    for (int i = 0; i < shape->rank; i++) {
        int last = out.rank - 1;

        if (shape->dims[i] == 1)
            continue;
        if (out.rank > 0 && out.a_stride[last] == shape->a_stride[i] * shape->dims[i] &&
            out.b_stride[last] == shape->b_stride[i] * shape->dims[i]) {
            out.dims[last] *= shape->dims[i];
        } else {
            out.dims[++last] = shape->dims[i];
            out.rank++;
        }
        out.a_stride[last] = shape->a_stride[i];
        out.b_stride[last] = shape->b_stride[i];
    }
    if (out.rank == 0) { /* one element */
        out.rank = 1;
        out.dims[0] = out.a_stride[0] = out.b_stride[0] = 1;
    }
    return out;
}

struct binary {
    float *y;
    const float *a, *b;
    struct kernel_broadcast shape; /* joined; rank >= 1 */
};

#define ADD(a, b) ((a) + (b))
#define SUB(a, b) ((a) - (b))
#define MUL(a, b) ((a) * (b))
#define DIV(a, b) ((a) / (b))

/* [begin, end) counts runs of the innermost axis, or its elements when it is the only one. */
#define BINARY(name, op, isa)                                                                               \
    ISA_BODY void name##_run_##isa(float *y, const float *a, const float *b, int64_t count,                 \
                                   int64_t a_step, int64_t b_step)                                          \
    {                                                                                                       \
        if (a_step == 1 && b_step == 1) {                                                                   \
            for (int64_t i = 0; i < count; i++)                                                             \
                y[i] = op(a[i], b[i]);                                                                      \
        } else if (a_step == 1 && b_step == 0) {                                                            \
            float fixed = b[0];                                                                             \
                                                                                                            \
            for (int64_t i = 0; i < count; i++)                                                             \
                y[i] = op(a[i], fixed);                                                                     \
        } else if (a_step == 0 && b_step == 1) {                                                            \
            float fixed = a[0];                                                                             \
                                                                                                            \
            for (int64_t i = 0; i < count; i++)                                                             \
                y[i] = op(fixed, b[i]);                                                                     \
        } else {                                                                                            \
            for (int64_t i = 0; i < count; i++)                                                             \
                y[i] = op(a[i * a_step], b[i * b_step]);                                                    \
        }                                                                                                   \
    }                                                                                                       \
                                                                                                            \
    /* A short run, whose last elements are a register, of which some are those before; y may be a or b. */ \
    ISA_BODY void name##_short_##isa(float *y, const float *a, const float *b, int64_t count,               \
                                     int64_t a_step, int64_t b_step)                                        \
    {                                                                                                       \
        int64_t whole = count / LINE * LINE, from = count - LINE;                                           \
        float last[LINE];                                                                                   \
                                                                                                            \
        if (from < 0 || whole == count) {                                                                   \
            name##_run_##isa(y, a, b, count, a_step, b_step);                                               \
            return;                                                                                         \
        }                                                                                                   \
        name##_run_##isa(last, a + from * a_step, b + from * b_step, LINE, a_step, b_step);                 \
        name##_run_##isa(y, a, b, whole, a_step, b_step);                                                   \
        memcpy(y + from, last, sizeof(last));                                                               \
    }                                                                                                       \
                                                                                                            \
    ISA_TARGET_##isa static void name##_part_##isa(void *argument, int64_t begin, int64_t end)              \
    {                                                                                                       \
        const struct binary *p = argument;                                                                  \
        const struct kernel_broadcast *s = &p->shape;                                                       \
        int inner = s->rank - 1;                                                                            \
                                                                                                            \
        if (inner == 0) {                                                                                   \
            name##_run_##isa(p->y + begin, p->a + begin * s->a_stride[0],                                   \
                             p->b + begin * s->b_stride[0], end - begin, s->a_stride[0],                    \
                             s->b_stride[0]);                                                               \
            return;                                                                                         \
        }                                                                                                   \
        for (int64_t run = begin; run < end; run++) {                                                       \
            int64_t rest = run, a_at = 0, b_at = 0;                                                         \
                                                                                                            \
            for (int i = inner - 1; i > 0; i--) {                                                           \
                a_at += rest % s->dims[i] * s->a_stride[i];                                                 \
                b_at += rest % s->dims[i] * s->b_stride[i];                                                 \
                rest /= s->dims[i];                                                                         \
            }                                                                                               \
            a_at += rest * s->a_stride[0]; /* a division less */                                            \
            b_at += rest * s->b_stride[0];                                                                  \
            name##_short_##isa(p->y + run * s->dims[inner], p->a + a_at, p->b + b_at,                       \
                               s->dims[inner], s->a_stride[inner], s->b_stride[inner]);                     \
        }                                                                                                   \
    }                                                                                                       \
                                                                                                            \
    void name##_##isa(void *y, const void *a, const void *b, const struct kernel_broadcast *shape)          \
    {                                                                                                       \
        struct binary p = {y, a, b, broadcast_join(shape)};                                                 \
        int64_t runs = 1;                                                                                   \
                                                                                                            \
        for (int i = 0; i < p.shape.rank - 1; i++)                                                          \
            runs *= p.shape.dims[i];                                                                        \
        if (p.shape.rank == 1)                                                                              \
            team_for(p.shape.dims[0], GRAIN, name##_part_##isa, &p);                                        \
        else                                                                                                \
            team_for(runs, GRAIN / (p.shape.dims[p.shape.rank - 1] + 1) + 1, name##_part_##isa,             \
                     &p);                                                                                   \
    }

static struct kernel_zip_args zip_args(enum kernel_zip op, enum kernel_dtype type,
                                       const struct kernel_broadcast *shape)
{
    struct kernel_zip_args args = {op, type, type, type, shape->rank, {0}, {0}, {0}};
    size_t bytes = (size_t)shape->rank * sizeof(int64_t);

    memcpy(args.dims, shape->dims, bytes);
    memcpy(args.a_stride, shape->a_stride, bytes);
    memcpy(args.b_stride, shape->b_stride, bytes);
    return args;
}

#define BY_ZIP(name, op, type, isa)                                                                \
    void name##_##isa(void *y, const void *a, const void *b, const struct kernel_broadcast *shape) \
    {                                                                                              \
        struct kernel_zip_args args = zip_args(op, type, shape);                                   \
                                                                                                   \
        zip_##isa(y, a, b, &args);                                                                 \
    }

#define OF_TYPE(name, type, isa)                                                                   \
    BY_ZIP(add_##name, ZIP_ADD, type, isa)                                                         \
    BY_ZIP(sub_##name, ZIP_SUB, type, isa)                                                         \
    BY_ZIP(mul_##name, ZIP_MUL, type, isa)                                                         \
    BY_ZIP(div_##name, ZIP_DIV, type, isa)

#define ALL(isa)                                                                                   \
    BINARY(add_f32, ADD, isa)                                                                      \
    BINARY(sub_f32, SUB, isa)                                                                      \
    BINARY(mul_f32, MUL, isa)                                                                      \
    BINARY(div_f32, DIV, isa)                                                                      \
    OF_TYPE(f64, KERNEL_F64, isa)                                                                  \
    OF_TYPE(i32, KERNEL_I32, isa)                                                                  \
    OF_TYPE(i64, KERNEL_I64, isa)

ISA_VERSIONS(ALL)
