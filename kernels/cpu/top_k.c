/* SPDX-License-Identifier: Apache-2.0 */
/* The first k of a line: a heap of the best so far, whose worst most elements are compared with and
 * no more. The heap lies where the indices go, and is sorted there. */
#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

enum { GRAIN = 1 << 14 }; /* elements that are worth a second thread */

/* A number whose order is that of the elements, NaN being the largest; of equal ones the same. */
static int64_t key_f32(const void *x, int64_t at)
{
    float number = ((const float *)x)[at];
    union {
        float number;
        int32_t bits;
    } u = {number == 0.0f ? 0.0f : number};

    if (number != number)
        return INT64_MAX;
    return u.bits < 0 ? (int64_t)INT32_MIN - u.bits : u.bits;
}

static int64_t key_i32(const void *x, int64_t at)
{
    return ((const int32_t *)x)[at];
}

static int64_t key_i64(const void *x, int64_t at)
{
    return ((const int64_t *)x)[at];
}

static int64_t key_u8(const void *x, int64_t at)
{
    return ((const uint8_t *)x)[at];
}

static int64_t key_i8(const void *x, int64_t at)
{
    return ((const int8_t *)x)[at];
}

struct line {
    const void *x; /* the first element */
    int64_t x_step;
    int64_t *heap; /* places along the axis, heap_step apart; the worst one comes first */
    int64_t heap_step;
    bool is_smallest;
};

/* The next place from i on that may be better than the worst one: the beginning of a block, or the
 * end. What is not comparable may be. */
static int64_t skip_f32(const struct line *line, int64_t i, int64_t axis, int64_t worst)
{
    enum { BLOCK = 16 };
    const float *x = line->x;
    float limit;

    if (line->x_step != 1)
        return i;
    limit = x[worst];
    for (; i + BLOCK <= axis; i += BLOCK) {
        int any = 0;

        if (line->is_smallest)
            for (int j = 0; j < BLOCK; j++)
                any |= !(x[i + j] >= limit);
        else
            for (int j = 0; j < BLOCK; j++)
                any |= !(x[i + j] <= limit);
        if (any)
            return i;
    }
    return i;
}

static int64_t skip_none(const struct line *line, int64_t i, int64_t axis, int64_t worst)
{
    (void)line;
    (void)axis;
    (void)worst;
    return i;
}

/* The larger, the earlier it comes. */
#define RANK(key, place)                                                                           \
    (line->is_smallest ? ~key(line->x, (place)*line->x_step) : key(line->x, (place)*line->x_step))

#define AT(i) line->heap[(i)*line->heap_step]

#define LINES(name, key, skip)                                                                     \
    static bool comes_later_##name(const struct line *line, int64_t a, int64_t b)                  \
    {                                                                                              \
        int64_t rank_a = RANK(key, a), rank_b = RANK(key, b);                                      \
                                                                                                   \
        return rank_a != rank_b ? rank_a < rank_b : a > b;                                         \
    }                                                                                              \
                                                                                                   \
    static void sink_##name(const struct line *line, int64_t i, int64_t count)                     \
    {                                                                                              \
        int64_t place = AT(i);                                                                     \
                                                                                                   \
        for (;;) {                                                                                 \
            int64_t child = 2 * i + 1;                                                             \
                                                                                                   \
            if (child >= count)                                                                    \
                break;                                                                             \
            if (child + 1 < count && comes_later_##name(line, AT(child + 1), AT(child)))           \
                child++;                                                                           \
            if (!comes_later_##name(line, AT(child), place))                                       \
                break;                                                                             \
            AT(i) = AT(child);                                                                     \
            i = child;                                                                             \
        }                                                                                          \
        AT(i) = place;                                                                             \
    }                                                                                              \
                                                                                                   \
    static void order_##name(const struct line *line, int64_t axis, int64_t k)                     \
    {                                                                                              \
        int64_t worst;                                                                             \
                                                                                                   \
        for (int64_t i = 0; i < k; i++)                                                            \
            AT(i) = i;                                                                             \
        for (int64_t i = k / 2 - 1; i >= 0; i--)                                                   \
            sink_##name(line, i, k);                                                               \
        worst = RANK(key, AT(0));                                                                  \
        for (int64_t i = k; i < axis; i++) {                                                       \
            i = skip(line, i, axis, AT(0));                                                        \
            if (i == axis)                                                                         \
                break;                                                                             \
            if (RANK(key, i) <= worst) /* an equal one that comes later is worse */                \
                continue;                                                                          \
            AT(0) = i;                                                                             \
            sink_##name(line, 0, k);                                                               \
            worst = RANK(key, AT(0));                                                              \
        }                                                                                          \
        for (int64_t i = k - 1; i > 0; i--) {                                                      \
            int64_t last = AT(i);                                                                  \
                                                                                                   \
            AT(i) = AT(0);                                                                         \
            AT(0) = last;                                                                          \
            sink_##name(line, 0, i);                                                               \
        }                                                                                          \
    }

LINES(f32, key_f32, skip_f32)
LINES(i32, key_i32, skip_none)
LINES(i64, key_i64, skip_none)
LINES(u8, key_u8, skip_none)
LINES(i8, key_i8, skip_none)

typedef void order_fn(const struct line *line, int64_t axis, int64_t k);

struct selection {
    char *values;
    int64_t *indices;
    const char *x;
    const struct kernel_top_k *shape;
    order_fn *order;
};

static void move(char *y, int64_t to, const char *x, int64_t from, size_t bytes)
{
    __builtin_memcpy(y + to * (int64_t)bytes, x + from * (int64_t)bytes, bytes);
}

static void do_lines(void *argument, int64_t begin, int64_t end)
{
    const struct selection *p = argument;
    const struct kernel_top_k *s = p->shape;
    size_t bytes = kernel_dtype_bytes(s->dtype);

    for (int64_t i = begin; i < end; i++) {
        int64_t outer = i / s->inner, inner = i % s->inner;
        int64_t from = outer * s->axis * s->inner + inner, to = outer * s->k * s->inner + inner;
        struct line line = {p->x + from * (int64_t)bytes, s->inner, p->indices + to, s->inner,
                            s->is_smallest};

        p->order(&line, s->axis, s->k);
        for (int64_t k = 0; p->values && k < s->k; k++)
            move(p->values, to + k * s->inner, p->x,
                 from + p->indices[to + k * s->inner] * s->inner, bytes);
    }
}

void top_k_portable(void *values, int64_t *indices, const void *x, const struct kernel_top_k *shape)
{
    static order_fn *const orders[KERNEL_DTYPES] = {[KERNEL_F32] = order_f32,
                                                    [KERNEL_I32] = order_i32,
                                                    [KERNEL_I64] = order_i64,
                                                    [KERNEL_U8] = order_u8,
                                                    [KERNEL_I8] = order_i8};
    struct selection p = {values, indices, x, shape, orders[shape->dtype]};

    if (shape->k == 0)
        return;
    if (p.order && indices)
        team_for(shape->outer * shape->inner, GRAIN / shape->axis + 1, do_lines, &p);
    else
        top_k_ref(values, indices, x, shape);
}
