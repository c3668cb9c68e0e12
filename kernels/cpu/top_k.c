/* SPDX-License-Identifier: Apache-2.0 */
/* The first k of a line: a heap of the best so far, whose worst most elements are compared with and
 * no more. The heap lies where the indices go, and is sorted there. Whole lines are sorted at once,
 * and of lines side by side the first few kept in order, many lines at a time. */
#include "kernels/cpu/isa.h"
#include "kernels/cpu/order_key.h"
#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

enum { GRAIN = 1 << 14 }; /* elements that are worth a second thread */

struct line {
    const void *x; /* the first element */
    int64_t x_step;
    int64_t *heap; /* places along the axis, heap_step apart; the worst one comes first */
    int64_t heap_step;
    bool is_smallest;
};

enum {
    BLOCK = 16,      /* elements that are held against the worst one together */
    FEW = 512,       /* that are wanted, and lie in a heap of their own */
    GATHERED = 1024, /* elements of a line that lie apart */
    KEPT = 16,       /* that are wanted, of lines side by side */
    FEW_WIDE = 128,  /* that are wanted, of 64 bits, and kept in order */
};

/* Whether one of a block may come before the limit. What is not comparable may. */
#define MAY_BEAT(name, type)                                                                       \
    static bool may_beat_##name(const type *x, type limit, bool is_smallest)                       \
    {                                                                                              \
        int any = 0;                                                                               \
                                                                                                   \
        if (is_smallest)                                                                           \
            for (int i = 0; i < BLOCK; i++)                                                        \
                any |= !(x[i] >= limit);                                                           \
        else                                                                                       \
            for (int i = 0; i < BLOCK; i++)                                                        \
                any |= !(x[i] <= limit);                                                           \
        return any;                                                                                \
    }

MAY_BEAT(f32, float)
MAY_BEAT(f64, double)
MAY_BEAT(i32, int32_t)
MAY_BEAT(i64, int64_t)
MAY_BEAT(u8, uint8_t)
MAY_BEAT(i8, int8_t)

/* The next place from i on that may be better than the worst one: the beginning of a block, or the
 * end. */
#define SKIP(name, type)                                                                           \
    static int64_t skip_##name(const struct line *line, int64_t i, int64_t axis, int64_t worst)    \
    {                                                                                              \
        const type *x = line->x;                                                                   \
                                                                                                   \
        if (line->x_step != 1)                                                                     \
            return i;                                                                              \
        while (i + BLOCK <= axis && !may_beat_##name(x + i, x[worst], line->is_smallest))          \
            i += BLOCK;                                                                            \
        return i;                                                                                  \
    }

SKIP(f32, float)
SKIP(f64, double)
SKIP(i64, int64_t)

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

enum {
    SHORT = 12, /* places that are put in by their order */
    DEPTH = 64, /* of parts within parts, beyond which a heap takes over */
};

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
    static void insert_##name(const struct line *line, int64_t begin, int64_t end)                 \
    {                                                                                              \
        for (int64_t i = begin + 1; i < end; i++) {                                                \
            int64_t place = AT(i), j = i;                                                          \
                                                                                                   \
            for (; j > begin && comes_later_##name(line, AT(j - 1), place); j--)                   \
                AT(j) = AT(j - 1);                                                                 \
            AT(j) = place;                                                                         \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    /* False where parts stay too long. */                                                         \
    static bool sort_##name(const struct line *line, int64_t begin, int64_t end, int depth)        \
    {                                                                                              \
        while (end - begin > SHORT) {                                                              \
            int64_t a = AT(begin), b = AT(begin + (end - begin) / 2), c = AT(end - 1);             \
            int64_t low = comes_later_##name(line, a, b) ? b : a, high = a + b - low;              \
            int64_t middle = comes_later_##name(line, low, c)    ? low                             \
                             : comes_later_##name(line, high, c) ? c                               \
                                                                 : high;                           \
            int64_t i = begin - 1, j = end;                                                        \
                                                                                                   \
            if (depth-- == 0)                                                                      \
                return false;                                                                      \
            for (;;) {                                                                             \
                while (comes_later_##name(line, middle, AT(i + 1)))                                \
                    i++;                                                                           \
                while (comes_later_##name(line, AT(j - 1), middle))                                \
                    j--;                                                                           \
                i++;                                                                               \
                j--;                                                                               \
                if (i >= j)                                                                        \
                    break;                                                                         \
                a = AT(i);                                                                         \
                AT(i) = AT(j);                                                                     \
                AT(j) = a;                                                                         \
            }                                                                                      \
            if (!sort_##name(line, j + 1, end, depth))                                             \
                return false;                                                                      \
            end = j + 1;                                                                           \
        }                                                                                          \
        insert_##name(line, begin, end);                                                           \
        return true;                                                                               \
    }                                                                                              \
                                                                                                   \
    static void order_##name(const struct line *line, int64_t axis, int64_t k)                     \
    {                                                                                              \
        int64_t worst;                                                                             \
                                                                                                   \
        for (int64_t i = 0; i < k; i++)                                                            \
            AT(i) = i;                                                                             \
        if (k == axis && sort_##name(line, 0, k, DEPTH))                                           \
            return;                                                                                \
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

LINES(f32, order_key_f32, skip_f32)
LINES(f64, order_key_f64, skip_f64)
LINES(i32, order_key_i32, skip_none)
LINES(i64, order_key_i64, skip_i64)
LINES(u8, order_key_u8, skip_none)
LINES(i8, order_key_i8, skip_none)

/* Lines of types of up to 32 bits of which not too many are wanted: elements and their places as one number
 * each, the larger the earlier it comes. */

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

static int64_t place_in(uint64_t entry)
{
    return UINT32_MAX - (uint32_t)entry;
}

/* Entries so that the largest come first, by eight bits of their ranks at a time, the lowest ones first; those of equal
 * ranks stay in order. RANK is that of an entry, above its bit `first`. */
#define SORT_BY_DIGITS(name, type, RANK, first)                                                    \
    static void name(type *entries, int64_t count)                                                 \
    {                                                                                              \
        enum { DIGITS = 256, DIGIT_BITS = 8 };                                                     \
        type room[GATHERED], *from = entries, *to = room;                                          \
                                                                                                   \
        for (int shift = first; shift < 64; shift += DIGIT_BITS) {                                 \
            int64_t starts[DIGITS] = {0}, sum = 0;                                                 \
            type *next = from;                                                                     \
                                                                                                   \
            for (int64_t i = 0; i < count; i++)                                                    \
                starts[RANK(from[i]) >> shift & (DIGITS - 1)]++;                                   \
            if (starts[RANK(from[0]) >> shift & (DIGITS - 1)] == count)                            \
                continue;                                                                          \
            for (int digit = DIGITS - 1; digit >= 0; digit--) {                                    \
                int64_t here = starts[digit];                                                      \
                                                                                                   \
                starts[digit] = sum;                                                               \
                sum += here;                                                                       \
            }                                                                                      \
            for (int64_t i = 0; i < count; i++)                                                    \
                to[starts[RANK(from[i]) >> shift & (DIGITS - 1)]++] = from[i];                     \
            from = to;                                                                             \
            to = next;                                                                             \
        }                                                                                          \
        for (int64_t i = 0; from != entries && i < count; i++)                                     \
            entries[i] = from[i];                                                                  \
    }

#define RANK_OF_ENTRY(entry) (entry)
SORT_BY_DIGITS(sort_entries, uint64_t, RANK_OF_ENTRY, 32)

/* Elements that lie apart are gathered first. */
#define FEW_OF(name, type, key, beats)                                                             \
    static uint64_t entry_##name(const type *x, int64_t i, uint32_t flip)                          \
    {                                                                                              \
        int64_t number = key(x, i);                                                                \
        uint32_t rank =                                                                            \
            (uint32_t)(int32_t)(number > INT32_MAX ? INT32_MAX : number) ^ 0x80000000U ^ flip;     \
                                                                                                   \
        return (uint64_t)rank << 32 | (UINT32_MAX - (uint32_t)i);                                  \
    }                                                                                              \
                                                                                                   \
    static void whole_##name(const struct line *line, int64_t axis, int64_t k)                     \
    {                                                                                              \
        uint64_t entries[GATHERED];                                                                \
                                                                                                   \
        for (int64_t i = 0; i < axis; i++)                                                         \
            entries[i] = entry_##name(line->x, i, line->is_smallest ? UINT32_MAX : 0);             \
        sort_entries(entries, axis);                                                               \
        for (int64_t i = 0; i < k; i++)                                                            \
            AT(i) = place_in(entries[i]);                                                          \
    }                                                                                              \
                                                                                                   \
    static void few_##name(const struct line *line, int64_t axis, int64_t k)                       \
    {                                                                                              \
        const type *x = line->x;                                                                   \
        uint32_t flip = line->is_smallest ? UINT32_MAX : 0;                                        \
        uint64_t heap[FEW];                                                                        \
        type room[GATHERED];                                                                       \
                                                                                                   \
        for (int64_t i = 0; line->x_step != 1 && i < axis; i++)                                    \
            room[i] = x[i * line->x_step];                                                         \
        x = line->x_step != 1 ? room : x;                                                          \
        for (int64_t i = 0; i < k; i++)                                                            \
            heap[i] = entry_##name(x, i, flip);                                                    \
        for (int64_t i = k / 2 - 1; i >= 0; i--)                                                   \
            sink_entry(heap, i, k);                                                                \
        for (int64_t i = k; i < axis; i += BLOCK) {                                                \
            int64_t end = i + BLOCK < axis ? i + BLOCK : axis;                                     \
                                                                                                   \
            if (end - i == BLOCK && !beats(x + i, x[place_in(heap[0])], line->is_smallest))        \
                continue;                                                                          \
            for (int64_t j = i; j < end; j++) {                                                    \
                uint64_t entry = entry_##name(x, j, flip);                                         \
                                                                                                   \
                if (entry <= heap[0])                                                              \
                    continue;                                                                      \
                heap[0] = entry;                                                                   \
                sink_entry(heap, 0, k);                                                            \
            }                                                                                      \
        }                                                                                          \
        for (int64_t i = k - 1; i >= 0; i--) {                                                     \
            AT(i) = place_in(heap[0]);                                                             \
            heap[0] = heap[i];                                                                     \
            sink_entry(heap, 0, i);                                                                \
        }                                                                                          \
    }

FEW_OF(f32, float, order_key_f32, may_beat_f32)
FEW_OF(i32, int32_t, order_key_i32, may_beat_i32)
FEW_OF(u8, uint8_t, order_key_u8, may_beat_u8)
FEW_OF(i8, int8_t, order_key_i8, may_beat_i8)

/* --- Ranks of 64 bits, which leave no room for a place. --- */

struct entry {
    uint64_t rank;
    int64_t place;
};

#define RANK_OF_WIDE(entry) ((entry).rank)
SORT_BY_DIGITS(sort_wide, struct entry, RANK_OF_WIDE, 0)

/* Few are kept in order, so that each that beats the last one is put in where it belongs. */
#define WIDE_OF(name, type, key)                                                                   \
    static void whole_##name(const struct line *line, int64_t axis, int64_t k)                     \
    {                                                                                              \
        struct entry entries[GATHERED];                                                            \
                                                                                                   \
        for (int64_t i = 0; i < axis; i++)                                                         \
            entries[i] = (struct entry){(uint64_t)RANK(key, i) ^ (uint64_t)INT64_MIN, i};          \
        sort_wide(entries, axis);                                                                  \
        for (int64_t i = 0; i < k; i++)                                                            \
            AT(i) = entries[i].place;                                                              \
    }                                                                                              \
                                                                                                   \
    static void few_##name(const struct line *line, int64_t axis, int64_t k)                       \
    {                                                                                              \
        int64_t ranks[FEW_WIDE], places[FEW_WIDE], kept = 0;                                       \
        const type *x = line->x;                                                                   \
                                                                                                   \
        for (int64_t i = 0; i < axis; i += BLOCK) {                                                \
            int64_t end = i + BLOCK < axis ? i + BLOCK : axis;                                     \
                                                                                                   \
            if (kept == k && end - i == BLOCK && line->x_step == 1 &&                              \
                !may_beat_##name(x + i, x[places[k - 1]], line->is_smallest))                      \
                continue;                                                                          \
            for (int64_t j = i; j < end; j++) {                                                    \
                int64_t rank = RANK(key, j), at;                                                   \
                                                                                                   \
                if (kept == k && rank <= ranks[k - 1])                                             \
                    continue;                                                                      \
                at = kept < k ? kept++ : k - 1;                                                    \
                for (; at > 0 && ranks[at - 1] < rank; at--) {                                     \
                    ranks[at] = ranks[at - 1];                                                     \
                    places[at] = places[at - 1];                                                   \
                }                                                                                  \
                ranks[at] = rank;                                                                  \
                places[at] = j;                                                                    \
            }                                                                                      \
        }                                                                                          \
        for (int64_t i = 0; i < k; i++)                                                            \
            AT(i) = places[i];                                                                     \
    }

WIDE_OF(f64, double, order_key_f64)
WIDE_OF(i64, int64_t, order_key_i64)

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

/* --- Lines side by side. --- */

enum { COLUMNS = 64 }; /* at a time */

/* As in order_key_f32() and order_key_f64(). */
ISA_BODY int32_t order_of_f32(float x)
{
    int32_t bits;

    __builtin_memcpy(&bits, &x, sizeof(bits));
    bits = bits < 0 ? (int32_t)(0x80000000U - (uint32_t)bits) : bits;
    return x != x ? INT32_MAX : bits;
}

ISA_BODY int64_t order_of_f64(double x)
{
    int64_t bits;

    __builtin_memcpy(&bits, &x, sizeof(bits));
    bits = bits < 0 ? (int64_t)((uint64_t)INT64_MIN - (uint64_t)bits) : bits;
    return x != x ? INT64_MAX : bits;
}

#define ORDER_OF(x) (x)

/* Each row goes through the places that are kept, from the first on, and takes those that it beats. */
#define KEEP_FIRST(name, type, key, order)                                                         \
    ISA_BODY void keep_##name(const struct selection *p, int64_t from, int64_t to,                 \
                              int64_t columns)                                                     \
    {                                                                                              \
        const struct kernel_top_k *s = p->shape;                                                   \
        key best[KEPT][COLUMNS], here[COLUMNS], flip = s->is_smallest ? -1 : 0;                    \
        key at[KEPT][COLUMNS], place[COLUMNS];                                                     \
                                                                                                   \
        for (int64_t row = 0; row < s->axis; row++) {                                              \
            const type *x = (const type *)(const void *)p->x + from + row * s->inner;              \
            int64_t kept = row < s->k ? row : s->k;                                                \
            int any = row < s->k;                                                                  \
                                                                                                   \
            for (int64_t i = 0; i < columns; i++) {                                                \
                here[i] = (key)(order(x[i]) ^ flip);                                               \
                place[i] = (key)row;                                                               \
            }                                                                                      \
            for (int64_t i = 0; row >= s->k && i < columns; i++)                                   \
                any |= here[i] > best[s->k - 1][i];                                                \
            for (int64_t k = 0; any && k < kept; k++)                                              \
                for (int64_t i = 0; i < columns; i++) {                                            \
                    key a = best[k][i], b = here[i], c = at[k][i], d = place[i];                   \
                    int takes = (b > a) | ((b == a) & (d < c));                                    \
                                                                                                   \
                    best[k][i] = takes ? b : a;                                                    \
                    here[i] = takes ? a : b;                                                       \
                    at[k][i] = takes ? d : c;                                                      \
                    place[i] = takes ? c : d;                                                      \
                }                                                                                  \
            for (int64_t i = 0; row < s->k && i < columns; i++) {                                  \
                best[row][i] = here[i];                                                            \
                at[row][i] = place[i];                                                             \
            }                                                                                      \
        }                                                                                          \
        for (int64_t k = 0; k < s->k; k++)                                                         \
            for (int64_t i = 0; i < columns; i++) {                                                \
                p->indices[to + k * s->inner + i] = at[k][i];                                      \
                if (p->values)                                                                     \
                    move(p->values, to + k * s->inner + i, p->x, from + at[k][i] * s->inner + i,   \
                         sizeof(type));                                                            \
            }                                                                                      \
    }

KEEP_FIRST(f32, float, int32_t, order_of_f32)
KEEP_FIRST(f64, double, int64_t, order_of_f64)
KEEP_FIRST(i32, int32_t, int32_t, ORDER_OF)
KEEP_FIRST(i64, int64_t, int64_t, ORDER_OF)
KEEP_FIRST(u8, uint8_t, int32_t, ORDER_OF)
KEEP_FIRST(i8, int8_t, int32_t, ORDER_OF)

/* Blocks of columns [begin, end). */
#define KEEP_PART(name, isa)                                                                       \
    ISA_TARGET_##isa static void keep_part_##name##_##isa(void *argument, int64_t begin,           \
                                                          int64_t end)                             \
    {                                                                                              \
        const struct selection *p = argument;                                                      \
        int64_t blocks = (p->shape->inner + COLUMNS - 1) / COLUMNS;                                \
                                                                                                   \
        for (; begin < end; begin++) {                                                             \
            int64_t outer = begin / blocks, first = begin % blocks * COLUMNS;                      \
            int64_t left = p->shape->inner - first;                                                \
                                                                                                   \
            keep_##name(p, outer * p->shape->axis * p->shape->inner + first,                       \
                        outer * p->shape->k * p->shape->inner + first,                             \
                        left < COLUMNS ? left : COLUMNS);                                          \
        }                                                                                          \
    }

static void top_k_by(void *values, int64_t *indices, const void *x,
                     const struct kernel_top_k *shape, team_fn *const *keep)
{
    enum { SIDE_BY_SIDE = 8 }; /* lines that are worth it */
    static order_fn *const orders[KERNEL_DTYPES] = {
        [KERNEL_F32] = order_f32, [KERNEL_F64] = order_f64, [KERNEL_I32] = order_i32,
        [KERNEL_I64] = order_i64, [KERNEL_U8] = order_u8,   [KERNEL_I8] = order_i8};
    static order_fn *const few[KERNEL_DTYPES] = {
        [KERNEL_F32] = few_f32, [KERNEL_F64] = few_f64, [KERNEL_I32] = few_i32,
        [KERNEL_I64] = few_i64, [KERNEL_U8] = few_u8,   [KERNEL_I8] = few_i8};
    static order_fn *const whole[KERNEL_DTYPES] = {
        [KERNEL_F32] = whole_f32, [KERNEL_F64] = whole_f64, [KERNEL_I32] = whole_i32,
        [KERNEL_I64] = whole_i64, [KERNEL_U8] = whole_u8,   [KERNEL_I8] = whole_i8};
    int64_t most = kernel_dtype_bytes(shape->dtype) == sizeof(int64_t) ? FEW_WIDE : FEW;
    struct selection p = {values, indices, x, shape, orders[shape->dtype]};

    if (few[shape->dtype] && shape->k <= most &&
        shape->axis <= (shape->inner == 1 ? (int64_t)UINT32_MAX : GATHERED))
        p.order = few[shape->dtype];
    if (whole[shape->dtype] && shape->inner == 1 && shape->axis <= GATHERED &&
        shape->k > shape->axis / 4 && shape->axis > BLOCK)
        p.order = whole[shape->dtype];
    if (shape->k == 0)
        return;
    if (keep[shape->dtype] && indices && shape->inner >= SIDE_BY_SIDE && shape->k <= KEPT &&
        shape->axis <= INT32_MAX)
        team_for(shape->outer * ((shape->inner + COLUMNS - 1) / COLUMNS),
                 GRAIN / (shape->axis * COLUMNS) + 1, keep[shape->dtype], &p);
    else if (p.order && indices)
        team_for(shape->outer * shape->inner, GRAIN / shape->axis + 1, do_lines, &p);
    else
        top_k_ref(values, indices, x, shape);
}

#define TOP_K(isa)                                                                                 \
    KEEP_PART(f32, isa)                                                                            \
    KEEP_PART(f64, isa)                                                                            \
    KEEP_PART(i32, isa)                                                                            \
    KEEP_PART(i64, isa)                                                                            \
    KEEP_PART(u8, isa)                                                                             \
    KEEP_PART(i8, isa)                                                                             \
                                                                                                   \
    void top_k_##isa(void *values, int64_t *indices, const void *x,                                \
                     const struct kernel_top_k *shape)                                             \
    {                                                                                              \
        static team_fn *const keep[KERNEL_DTYPES] = {                                              \
            [KERNEL_F32] = keep_part_f32_##isa, [KERNEL_F64] = keep_part_f64_##isa,                \
            [KERNEL_I32] = keep_part_i32_##isa, [KERNEL_I64] = keep_part_i64_##isa,                \
            [KERNEL_U8] = keep_part_u8_##isa,   [KERNEL_I8] = keep_part_i8_##isa};                 \
                                                                                                   \
        top_k_by(values, indices, x, shape, keep);                                                 \
    }

ISA_VERSIONS(TOP_K)
