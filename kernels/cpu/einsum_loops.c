/* SPDX-License-Identifier: Apache-2.0 */
/* Einsum of one or two operands that is no matrix product: what sums nothing up is a copy or a product of elements,
 * what multiplies nothing a reduction; else an axis that lies side by side is the innermost loop, be it one of y's or one
 * that is summed. */
#include "kernels/cpu/einsum_loops.h"

#include "kernels/cpu/isa.h"
#include "kernels/cpu/team.h"

enum {
    COLUMNS = 256,   /* at a time */
    GRAIN = 1 << 14, /* products that are worth a second thread */
};

struct sums {
    void *y;
    const void *x[2];
    const struct kernel_einsum *s;
    int column, depth; /* the last axis of y, and a summed one; -1: none of more than one place */
    int64_t columns;   /* of y's last axis at once; 1 where the summed axis is the innermost loop */
    int64_t step[2];   /* of the innermost loop, by operand */
};

static int64_t product(const struct kernel_einsum *s, int from, int until)
{
    int64_t count = 1;

    for (int i = from; i < until; i++)
        count *= s->dims[i];
    return count;
}

/* Where element i of the axes [from, until) lies, without axis `but`. */
static void find(const struct kernel_einsum *s, int from, int until, int but, int64_t i,
                 int64_t at[2])
{
    for (int axis = until - 1; axis >= from; axis--) {
        if (axis == but)
            continue;
        for (int k = 0; k < s->operands; k++)
            at[k] += i % s->dims[axis] * s->strides[k][axis];
        i /= s->dims[axis];
    }
}

/* Whether operands stand still along the axis, or lie side by side. */
static bool is_dense(const struct kernel_einsum *s, int axis)
{
    for (int k = 0; axis >= 0 && k < s->operands; k++)
        if (s->strides[k][axis] != 0 && s->strides[k][axis] != 1)
            return false;
    return axis >= 0;
}

/* False where it is not for these loops. */
static bool plan(const struct kernel_einsum *s, struct sums *p)
{
    int axes = s->kept + s->summed, inner;

    if (s->operands > 2 || product(s, 0, axes) == 0)
        return false;
    p->column = p->depth = -1;
    for (int i = 0; i < s->kept; i++)
        p->column = s->dims[i] > 1 ? i : p->column;
    for (int i = s->kept; i < axes; i++)
        if (s->dims[i] > 1 && (p->depth < 0 || !is_dense(s, p->depth)))
            p->depth = i;
    inner =
        is_dense(s, p->column) || (!is_dense(s, p->depth) && p->column >= 0) ? p->column : p->depth;
    p->columns = inner == p->column && inner >= 0 ? s->dims[inner] : 1;
    for (int k = 0; k < s->operands; k++)
        p->step[k] = inner >= 0 ? s->strides[k][inner] : 0;
    return true;
}

/* Loops of one type; `wide` is what sums are kept in. */
#define LOOPS(name, type, wide, simd)                                                              \
    ISA_BODY void name##_add(wide *sums, const type *a, int64_t a_step, const type *b,             \
                             int64_t b_step, int64_t count)                                        \
    {                                                                                              \
        if (!b && a_step == 1)                                                                     \
            for (int64_t i = 0; i < count; i++)                                                    \
                sums[i] += (wide)a[i];                                                             \
        else if (!b)                                                                               \
            for (int64_t i = 0; i < count; i++)                                                    \
                sums[i] += (wide)a[i * a_step];                                                    \
        else if (a_step == 1 && b_step == 1)                                                       \
            for (int64_t i = 0; i < count; i++)                                                    \
                sums[i] += (wide)a[i] * (wide)b[i];                                                \
        else if (a_step == 1 && b_step == 0)                                                       \
            for (int64_t i = 0; i < count; i++)                                                    \
                sums[i] += (wide)a[i] * (wide)b[0];                                                \
        else                                                                                       \
            for (int64_t i = 0; i < count; i++)                                                    \
                sums[i] += (wide)a[i * a_step] * (wide)b[i * b_step];                              \
    }                                                                                              \
                                                                                                   \
    ISA_BODY wide name##_dot(const type *a, int64_t a_step, const type *b, int64_t b_step,         \
                             int64_t count)                                                        \
    {                                                                                              \
        wide sum = 0;                                                                              \
                                                                                                   \
        if (!b && a_step == 1) {                                                                   \
            _Pragma(simd) for (int64_t i = 0; i < count; i++) sum += (wide)a[i];                   \
        } else if (b && a_step == 1 && b_step == 1) {                                              \
            _Pragma(simd) for (int64_t i = 0; i < count; i++) sum += (wide)a[i] * (wide)b[i];      \
        } else {                                                                                   \
            for (int64_t i = 0; i < count; i++)                                                    \
                sum += (wide)a[i * a_step] * (b ? (wide)b[i * b_step] : (wide)1);                  \
        }                                                                                          \
        return sum;                                                                                \
    }                                                                                              \
                                                                                                   \
    /* Blocks of columns, or elements where there are none, [begin, end). */                       \
    ISA_BODY void name##_part(const struct sums *p, int64_t begin, int64_t end)                    \
    {                                                                                              \
        const struct kernel_einsum *s = p->s;                                                      \
        int64_t blocks = (p->columns + COLUMNS - 1) / COLUMNS;                                     \
        bool is_dot = p->columns == 1 && p->depth >= 0;                                            \
        int64_t turns = product(s, s->kept, s->kept + s->summed);                                  \
        const type *x[2] = {p->x[0], p->x[1]};                                                     \
                                                                                                   \
        turns /= is_dot ? s->dims[p->depth] : 1;                                                   \
        for (; begin < end; begin++) {                                                             \
            int64_t first = begin % blocks * COLUMNS, from[2] = {0}, left = p->columns - first;    \
            int64_t columns = left < COLUMNS ? left : COLUMNS;                                     \
            wide sums[COLUMNS];                                                                    \
            type *y = (type *)p->y + begin / blocks * p->columns + first;                          \
                                                                                                   \
            for (int64_t i = 0; i < columns; i++)                                                  \
                sums[i] = 0;                                                                       \
            find(s, 0, s->kept, p->columns > 1 ? p->column : -1, begin / blocks, from);            \
            for (int64_t turn = 0; turn < turns; turn++) {                                         \
                int64_t at[2] = {from[0] + first * p->step[0], from[1] + first * p->step[1]};      \
                                                                                                   \
                find(s, s->kept, s->kept + s->summed, is_dot ? p->depth : -1, turn, at);           \
                if (is_dot)                                                                        \
                    sums[0] += name##_dot(x[0] + at[0], s->strides[0][p->depth],                   \
                                          x[1] ? x[1] + at[1] : NULL, s->strides[1][p->depth],     \
                                          s->dims[p->depth]);                                      \
                else                                                                               \
                    name##_add(sums, x[0] + at[0], p->step[0], x[1] ? x[1] + at[1] : NULL,         \
                               p->step[1], columns);                                               \
            }                                                                                      \
            for (int64_t i = 0; i < columns; i++)                                                  \
                y[i] = (type)sums[i];                                                              \
        }                                                                                          \
    }

LOOPS(f32, float, double, "omp simd reduction(+ : sum)")
LOOPS(f64, double, double, "omp simd reduction(+ : sum)")
LOOPS(i32, int32_t, uint32_t, "omp simd reduction(+ : sum)")
LOOPS(i64, int64_t, uint64_t, "omp simd reduction(+ : sum)")

/* What sums nothing up. */
static bool as_copy(const struct kernel_einsum *s, struct kernel_copy *copy)
{
    int64_t stride = 1;

    *copy = (struct kernel_copy){.element_bytes = kernel_dtype_bytes(s->dtype), .rank = s->kept};
    for (int i = s->kept - 1; i >= 0 && s->kept <= KERNEL_MAX_AXES; i--) {
        copy->dims[i] = s->dims[i];
        copy->x_stride[i] = s->strides[0][i];
        copy->y_stride[i] = stride;
        stride *= s->dims[i];
    }
    return s->operands == 1 && s->kept <= KERNEL_MAX_AXES;
}

static bool as_zip(const struct kernel_einsum *s, struct kernel_zip_args *zip)
{
    *zip = (struct kernel_zip_args){
        .op = ZIP_MUL, .y_type = s->dtype, .a_type = s->dtype, .b_type = s->dtype, .rank = s->kept};
    for (int i = 0; i < s->kept && s->kept <= KERNEL_MAX_RANK; i++) {
        zip->dims[i] = s->dims[i];
        zip->a_stride[i] = s->strides[0][i];
        zip->b_stride[i] = s->strides[1][i];
    }
    return s->operands == 2 && s->kept <= KERNEL_MAX_RANK;
}

/* The axis of one operand that is left and has this stride; -1: none. */
static int next_axis(const struct kernel_einsum *s, const bool *taken, int64_t stride)
{
    for (int i = 0; i < s->kept + s->summed; i++)
        if (!taken[i] && s->dims[i] > 1 && s->strides[0][i] == stride)
            return i;
    return -1;
}

/* The sums of one dense operand over some axes, where those of y have their order. */
static bool as_sums(const struct kernel_einsum *s, struct kernel_reduce *reduce)
{
    bool taken[KERNEL_EINSUM_AXES] = {false};
    int last = s->kept, rank = 0;
    int64_t stride = 1;

    *reduce = (struct kernel_reduce){.op = REDUCE_SUM, .dtype = s->dtype};
    for (int i = 0; i < s->kept + s->summed; i++)
        rank += s->dims[i] > 1;
    reduce->rank = rank;
    if (s->operands != 1 || product(s, 0, s->kept) == 0 || rank == 0 || rank > KERNEL_MAX_RANK ||
        (s->dtype != KERNEL_F32 && s->dtype != KERNEL_F64))
        return false;
    while (rank-- > 0) {
        int axis = next_axis(s, taken, stride);

        if (axis < 0 || (axis < s->kept && axis > last))
            return false;
        taken[axis] = true;
        last = axis < s->kept ? axis : last;
        stride *= s->dims[axis];
        reduce->dims[rank] = s->dims[axis];
        reduce->is_reduced[rank] = axis >= s->kept;
    }
    return true;
}

#define PART(name, isa)                                                                            \
    ISA_TARGET_##isa static void name##_##isa(void *argument, int64_t begin, int64_t end)          \
    {                                                                                              \
        name##_part(argument, begin, end);                                                         \
    }

#define EINSUM_LOOPS(isa)                                                                          \
    PART(f32, isa)                                                                                 \
    PART(f64, isa)                                                                                 \
    PART(i32, isa)                                                                                 \
    PART(i64, isa)                                                                                 \
                                                                                                   \
    void einsum_loops_##isa(void *y, const void *const *operands, const struct kernel_einsum *s)   \
    {                                                                                              \
        static team_fn *const parts[KERNEL_DTYPES] = {[KERNEL_F32] = f32_##isa,                    \
                                                      [KERNEL_F64] = f64_##isa,                    \
                                                      [KERNEL_I32] = i32_##isa,                    \
                                                      [KERNEL_I64] = i64_##isa};                   \
        struct sums p = {                                                                          \
            .y = y, .x = {operands[0], s->operands == 2 ? operands[1] : NULL}, .s = s};            \
        int64_t turns = product(s, s->kept, s->kept + s->summed);                                  \
        struct kernel_reduce reduce;                                                               \
        struct kernel_copy copy;                                                                   \
        struct kernel_zip_args zip;                                                                \
                                                                                                   \
        if (turns == 1 && as_copy(s, &copy))                                                       \
            copy_##isa(y, operands[0], &copy);                                                     \
        else if (turns == 1 && as_zip(s, &zip))                                                    \
            zip_##isa(y, operands[0], operands[1], &zip);                                          \
        else if (turns > 1 && as_sums(s, &reduce))                                                 \
            reduce_##isa(y, operands[0], &reduce);                                                 \
        else if (!parts[s->dtype] || !plan(s, &p))                                                 \
            einsum_ref(y, operands, s);                                                            \
        else                                                                                       \
            team_for(product(s, 0, s->kept) / p.columns * ((p.columns + COLUMNS - 1) / COLUMNS),   \
                     GRAIN / (turns * (p.columns < COLUMNS ? p.columns : COLUMNS)) + 1,            \
                     parts[s->dtype], &p);                                                         \
    }

ISA_VERSIONS(EINSUM_LOOPS)
