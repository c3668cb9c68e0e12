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

enum {
    BLOCK = 16, /* elements that are held against the worst one together */
    FEW = 512,  /* that are wanted, and lie in a heap of their own */
};

/* Whether one of a block may come before the limit. What is not comparable may. */
static bool may_beat(const float *x, float limit, bool is_smallest)
{
    int any = 0;

    if (is_smallest)
        for (int i = 0; i < BLOCK; i++)
            any |= !(x[i] >= limit);
    else
        for (int i = 0; i < BLOCK; i++)
            any |= !(x[i] <= limit);
    return any;
}

/* The next place from i on that may be better than the worst one: the beginning of a block, or the
 * end. */
static int64_t skip_f32(const struct line *line, int64_t i, int64_t axis, int64_t worst)
{
    const float *x = line->x;

    if (line->x_step != 1)
        return i;
    while (i + BLOCK <= axis && !may_beat(x + i, x[worst], line->is_smallest))
        i += BLOCK;
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

/* Dense lines of f32 of which not too many are wanted: elements and their places as one number each,
 * the larger the earlier it comes. */

static uint64_t entry_of(const float *x, int64_t i, uint32_t flip)
{
    int64_t key = key_f32(x, i);
    uint32_t rank = (uint32_t)(int32_t)(key > INT32_MAX ? INT32_MAX : key) ^ 0x80000000U ^ flip;

    return (uint64_t)rank << 32 | (UINT32_MAX - (uint32_t)i);
}

static int64_t place_in(uint64_t entry)
{
    return UINT32_MAX - (uint32_t)entry;
}

/* The smallest one of the heap comes first. */
static void sink_entry(uint64_t *heap, int64_t i, int64_t count)
{
    uint64_t entry = heap[i];

    for (;;) {
        int64_t child = 2 * i + 1;

        if (child >= count)
            break;
        child += child + 1 < count && heap[child + 1] < heap[child];
        if (heap[child] >= entry)
            break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = entry;
}

static void order_few(const struct line *line, int64_t axis, int64_t k)
{
    const float *x = line->x;
    uint32_t flip = line->is_smallest ? UINT32_MAX : 0;
    uint64_t heap[FEW];

    for (int64_t i = 0; i < k; i++)
        heap[i] = entry_of(x, i, flip);
    for (int64_t i = k / 2 - 1; i >= 0; i--)
        sink_entry(heap, i, k);
    for (int64_t i = k; i < axis; i += BLOCK) {
        int64_t end = i + BLOCK < axis ? i + BLOCK : axis;

        if (end - i == BLOCK && !may_beat(x + i, x[place_in(heap[0])], line->is_smallest))
            continue;
        for (int64_t j = i; j < end; j++) {
            uint64_t entry = entry_of(x, j, flip);

            if (entry <= heap[0])
                continue;
            heap[0] = entry;
            sink_entry(heap, 0, k);
        }
    }
    for (int64_t i = k - 1; i >= 0; i--) {
        AT(i) = place_in(heap[0]);
        heap[0] = heap[i];
        sink_entry(heap, 0, i);
    }
}

typedef void order_fn(const struct line *line, int64_t axis, int64_t k);

struct selection {
    char *values;
    int64_t *indices;
    const char *x;
    const struct kernel_top_k *shape;
    order_fn *order;
    bool is_few;
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

        if (p->is_few)
            order_few(&line, s->axis, s->k);
        else
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

    p.is_few = shape->dtype == KERNEL_F32 && shape->inner == 1 && shape->k <= FEW &&
               shape->axis <= UINT32_MAX;
    if (shape->k == 0)
        return;
    if (p.order && indices)
        team_for(shape->outer * shape->inner, GRAIN / shape->axis + 1, do_lines, &p);
    else
        top_k_ref(values, indices, x, shape);
}
