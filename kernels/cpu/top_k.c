/* SPDX-License-Identifier: Apache-2.0 */
/* The first k of a line. A few are kept in order. More are sorted by digits, some at a time, and merged where the indices
 * go: of those that come not later than the k-th of the first ones of groups of elements, since as many do at least. Of
 * very many there is a heap of the best so far, which is sorted there. Of lines side by side the first few are kept in
 * order, many lines at a time. */
#include <string.h>

#include "kernels/cpu/isa.h"
#include "kernels/cpu/order_key.h"
#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

enum { GRAIN = 1 << 14 }; /* elements that are worth a second thread */

/* By instruction set and type. */
struct passes {
    team_fn *keep; /* blocks of columns of lines side by side */
    /* The next place from i on of which an element may come before one of value `limit` or, with `or_equal`, beside it:
     * the beginning of a block, or of what is too short for one. */
    int64_t (*skip)(const void *x, int64_t i, int64_t axis, const void *limit, bool or_equal,
                    bool is_smallest);
    /* The first one of each group of elements: those that lie `groups` apart. NaN may be left out. */
    void (*find_bests)(void *bests, const void *x, int64_t groups, int64_t axis, bool is_smallest);
};

struct line {
    const void *x; /* the first element */
    int64_t x_step;
    int64_t *heap; /* places along the axis, heap_step apart; the worst one comes first */
    int64_t heap_step;
    bool is_smallest;
    const struct passes *passes;
};

enum {
    BLOCK = 16,      /* elements that are held against the worst one together */
    STRETCH = 64,    /* and first of all */
    FEW = 32,        /* that are wanted, and kept in order */
    MANY = 1 << 16,  /* that are wanted, and merged */
    GATHERED = 4096, /* elements that are sorted together */
    KEPT = 16,       /* that are wanted, of lines side by side */
};

/* any_TYPE(): whether one of `count` elements may come before the limit. What is not comparable may. */
#define PASSES(name, type, bits)                                                                   \
    ISA_BODY bool any_##name(const type *x, int count, type limit, bits or_equal,                  \
                             bool is_smallest)                                                     \
    {                                                                                              \
        bits any = 0;                                                                              \
                                                                                                   \
        if (is_smallest)                                                                           \
            _Pragma("omp simd reduction(| : any)") for (int i = 0; i < count; i++)                 \
            {                                                                                      \
                any |= (!(x[i] >= limit)) | (or_equal & (x[i] == limit));                          \
            }                                                                                      \
        else                                                                                       \
            _Pragma("omp simd reduction(| : any)") for (int i = 0; i < count; i++)                 \
            {                                                                                      \
                any |= (!(x[i] <= limit)) | (or_equal & (x[i] == limit));                          \
            }                                                                                      \
        return any != 0;                                                                           \
    }                                                                                              \
                                                                                                   \
    ISA_BODY int64_t skip_##name(const type *x, int64_t i, int64_t axis, type limit,               \
                                 bool or_equal, bool is_smallest)                                  \
    {                                                                                              \
        while (i + STRETCH <= axis && !any_##name(x + i, STRETCH, limit, or_equal, is_smallest))   \
            i += STRETCH;                                                                          \
        while (i + BLOCK <= axis && !any_##name(x + i, BLOCK, limit, or_equal, is_smallest))       \
            i += BLOCK;                                                                            \
        return i;                                                                                  \
    }                                                                                              \
                                                                                                   \
    ISA_BODY void find_bests_##name(type *restrict bests, const type *restrict x, int64_t groups,  \
                                    int64_t axis, bool is_smallest)                                \
    {                                                                                              \
        memcpy(bests, x, (size_t)groups * sizeof(type));                                           \
        for (x += groups; (axis -= groups) >= groups; x += groups)                                 \
            if (is_smallest)                                                                       \
                for (int64_t j = 0; j < groups; j++)                                               \
                    bests[j] = x[j] < bests[j] ? x[j] : bests[j];                                  \
            else                                                                                   \
                for (int64_t j = 0; j < groups; j++)                                               \
                    bests[j] = x[j] > bests[j] ? x[j] : bests[j];                                  \
    }

PASSES(f32, float, int32_t)
PASSES(f64, double, int64_t)
PASSES(i32, int32_t, int32_t)
PASSES(i64, int64_t, int64_t)
PASSES(u8, uint8_t, uint8_t)
PASSES(i8, int8_t, int8_t)

/* The larger, the earlier it comes. */
#define RANK(key, place)                                                                           \
    (line->is_smallest ? ~key(line->x, (place)*line->x_step) : key(line->x, (place)*line->x_step))

#define AT(i) line->heap[(i)*line->heap_step]

enum {
    SHORT = 12, /* places that are put in by their order */
    DEPTH = 64, /* of parts within parts, beyond which a heap takes over */
};

#define LINES(name, type, key)                                                                     \
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
        for (int64_t i = k; i < axis;) {                                                           \
            if (line->x_step == 1)                                                                 \
                i = line->passes->skip(line->x, i, axis, (const type *)line->x + AT(0), false,     \
                                       line->is_smallest);                                         \
            for (int64_t end = i + BLOCK < axis ? i + BLOCK : axis; i < end; i++) {                \
                if (RANK(key, i) <= worst) /* an equal one that comes later is worse */            \
                    continue;                                                                      \
                AT(0) = i;                                                                         \
                sink_##name(line, 0, k);                                                           \
                worst = RANK(key, AT(0));                                                          \
            }                                                                                      \
        }                                                                                          \
        for (int64_t i = k - 1; i > 0; i--) {                                                      \
            int64_t last = AT(i);                                                                  \
                                                                                                   \
            AT(i) = AT(0);                                                                         \
            AT(0) = last;                                                                          \
            sink_##name(line, 0, i);                                                               \
        }                                                                                          \
    }

LINES(f32, float, order_key_f32)
LINES(f64, double, order_key_f64)
LINES(i32, int32_t, order_key_i32)
LINES(i64, int64_t, order_key_i64)
LINES(u8, uint8_t, order_key_u8)
LINES(i8, int8_t, order_key_i8)

/* --- Entries: ranks and places, of types of up to 32 bits as one number each. --- */

typedef uint64_t thin;

struct wide {
    uint64_t rank;
    int64_t place;
};

static thin thin_of(int64_t rank, int64_t place)
{
    int32_t bits = (int32_t)(rank > INT32_MAX ? INT32_MAX : rank < INT32_MIN ? INT32_MIN : rank);

    return (uint64_t)((uint32_t)bits ^ 0x80000000U) << 32 | (uint32_t)place;
}

static int64_t place_in_thin(thin entry)
{
    return (uint32_t)entry;
}

static struct wide wide_of(int64_t rank, int64_t place)
{
    return (struct wide){(uint64_t)rank ^ (uint64_t)INT64_MIN, place};
}

static int64_t place_in_wide(struct wide entry)
{
    return entry.place;
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

#define RANK_OF_THIN(entry) (entry)
#define RANK_OF_WIDE(entry) ((entry).rank)
SORT_BY_DIGITS(sort_thin, thin, RANK_OF_THIN, 32)
SORT_BY_DIGITS(sort_wide, struct wide, RANK_OF_WIDE, 0)

#define FIRST_OF(name, type, key, entry, kind)                                                         \
    static void whole_##name(const struct line *line, int64_t axis, int64_t k)                         \
    {                                                                                                  \
        entry entries[GATHERED];                                                                       \
                                                                                                       \
        for (int64_t i = 0; i < axis; i++)                                                             \
            entries[i] = kind##_of(RANK(key, i), i);                                                   \
        sort_##kind(entries, axis);                                                                    \
        for (int64_t i = 0; i < k; i++)                                                                \
            AT(i) = place_in_##kind(entries[i]);                                                       \
    }                                                                                                  \
                                                                                                       \
    static void few_##name(const struct line *line, int64_t axis, int64_t k)                           \
    {                                                                                                  \
        int64_t ranks[FEW], places[FEW], kept = 0;                                                     \
                                                                                                       \
        for (int64_t i = 0; i < axis;) {                                                               \
            if (kept == k && line->x_step == 1)                                                        \
                i = line->passes->skip(line->x, i, axis, (const type *)line->x + places[k - 1],        \
                                       false, line->is_smallest);                                      \
            for (int64_t end = i + BLOCK < axis ? i + BLOCK : axis; i < end; i++) {                    \
                int64_t rank = RANK(key, i), at;                                                       \
                                                                                                       \
                if (kept == k && rank <= ranks[k - 1])                                                 \
                    continue;                                                                          \
                at = kept < k ? kept++ : k - 1;                                                        \
                for (; at > 0 && ranks[at - 1] < rank; at--) {                                         \
                    ranks[at] = ranks[at - 1];                                                         \
                    places[at] = places[at - 1];                                                       \
                }                                                                                      \
                ranks[at] = rank;                                                                      \
                places[at] = i;                                                                        \
            }                                                                                          \
        }                                                                                              \
        for (int64_t i = 0; i < k; i++)                                                                \
            AT(i) = places[i];                                                                         \
    }                                                                                                  \
                                                                                                       \
    /* What k elements come not later than, by the first ones of twice as many groups. */              \
    static type floor_##name(const struct line *line, int64_t axis, int64_t k)                         \
    {                                                                                                  \
        struct line found = *line;                                                                     \
        type bests[GATHERED];                                                                          \
                                                                                                       \
        line->passes->find_bests(bests, line->x, 2 * k, axis, line->is_smallest);                      \
        found.x = bests;                                                                               \
        whole_##name(&found, 2 * k, k);                                                                \
        return bests[AT(k - 1)];                                                                       \
    }                                                                                                  \
                                                                                                       \
    /* Of `kept` places in order and entries that come later along the axis, the first k; how many. */ \
    static int64_t merge_##name(const struct line *line, int64_t kept, entry *entries,                 \
                                int64_t count, int64_t k)                                              \
    {                                                                                                  \
        int64_t i = 0, j = 0, most = kept + count < k ? kept + count : k;                              \
                                                                                                       \
        sort_##kind(entries, count);                                                                   \
        while (i + j < most)                                                                           \
            if (i == kept ||                                                                           \
                (j < count && RANK(key, AT(i)) < RANK(key, place_in_##kind(entries[j]))))              \
                j++;                                                                                   \
            else                                                                                       \
                i++;                                                                                   \
        for (int64_t at = most; at-- > 0;)                                                             \
            if (j == 0 ||                                                                              \
                (i > 0 && RANK(key, AT(i - 1)) < RANK(key, place_in_##kind(entries[j - 1])))) {        \
                i--;                                                                                   \
                AT(at) = AT(i);                                                                        \
            } else {                                                                                   \
                j--;                                                                                   \
                AT(at) = place_in_##kind(entries[j]);                                                  \
            }                                                                                          \
        return most;                                                                                   \
    }                                                                                                  \
                                                                                                       \
    static void select_##name(const struct line *line, int64_t axis, int64_t k)                        \
    {                                                                                                  \
        bool has_limit = line->x_step == 1 && axis / 8 >= k && 2 * k <= GATHERED;                      \
        type limit = has_limit ? floor_##name(line, axis, k) : 0;                                      \
        int64_t worst = !has_limit          ? INT64_MIN                                                \
                        : line->is_smallest ? ~key(&limit, 0)                                          \
                                            : key(&limit, 0);                                          \
        int64_t kept = 0, count = 0;                                                                   \
        entry entries[GATHERED];                                                                       \
                                                                                                       \
        for (int64_t i = 0; i < axis;) {                                                               \
            if (has_limit)                                                                             \
                i = line->passes->skip(line->x, i, axis, &limit, kept + count < k,                     \
                                       line->is_smallest);                                             \
            for (int64_t end = i + BLOCK < axis ? i + BLOCK : axis; i < end; i++) {                    \
                int64_t rank = RANK(key, i);                                                           \
                                                                                                       \
                if (rank > worst || (rank == worst && kept + count < k))                               \
                    entries[count++] = kind##_of(rank, i);                                             \
            }                                                                                          \
            if (count + BLOCK <= GATHERED && i < axis)                                                 \
                continue;                                                                              \
            kept = merge_##name(line, kept, entries, count, k);                                        \
            count = 0;                                                                                 \
            worst = kept == k ? RANK(key, AT(k - 1)) : worst;                                          \
            has_limit = has_limit || (kept == k && line->x_step == 1);                                 \
            if (kept == k && has_limit)                                                                \
                limit = ((const type *)line->x)[AT(k - 1)];                                            \
        }                                                                                              \
    }

FIRST_OF(f32, float, order_key_f32, thin, thin)
FIRST_OF(f64, double, order_key_f64, struct wide, wide)
FIRST_OF(i32, int32_t, order_key_i32, thin, thin)
FIRST_OF(i64, int64_t, order_key_i64, struct wide, wide)
FIRST_OF(u8, uint8_t, order_key_u8, thin, thin)
FIRST_OF(i8, int8_t, order_key_i8, thin, thin)

typedef void order_fn(const struct line *line, int64_t axis, int64_t k);

struct selection {
    char *values;
    int64_t *indices;
    const char *x;
    const struct kernel_top_k *shape;
    order_fn *order;
    const struct passes *passes;
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
        struct line line = {p->x + from * (int64_t)bytes,
                            s->inner,
                            p->indices + to,
                            s->inner,
                            s->is_smallest,
                            p->passes};

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

#define PASSES_OF(name, type, isa)                                                                 \
    ISA_TARGET_##isa static int64_t skip_##name##_##isa(const void *x, int64_t i, int64_t axis,    \
                                                        const void *limit, bool or_equal,          \
                                                        bool is_smallest)                          \
    {                                                                                              \
        return skip_##name(x, i, axis, *(const type *)limit, or_equal, is_smallest);               \
    }                                                                                              \
                                                                                                   \
    ISA_TARGET_##isa static void find_bests_##name##_##isa(                                        \
        void *bests, const void *x, int64_t groups, int64_t axis, bool is_smallest)                \
    {                                                                                              \
        find_bests_##name(bests, x, groups, axis, is_smallest);                                    \
    }                                                                                              \
                                                                                                   \
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
                     const struct kernel_top_k *shape, const struct passes *passes)
{
    enum { SIDE_BY_SIDE = 8 }; /* lines that are worth it */
    static order_fn *const orders[KERNEL_DTYPES] = {
        [KERNEL_F32] = order_f32, [KERNEL_F64] = order_f64, [KERNEL_I32] = order_i32,
        [KERNEL_I64] = order_i64, [KERNEL_U8] = order_u8,   [KERNEL_I8] = order_i8};
    static order_fn *const few[KERNEL_DTYPES] = {
        [KERNEL_F32] = few_f32, [KERNEL_F64] = few_f64, [KERNEL_I32] = few_i32,
        [KERNEL_I64] = few_i64, [KERNEL_U8] = few_u8,   [KERNEL_I8] = few_i8};
    static order_fn *const select[KERNEL_DTYPES] = {
        [KERNEL_F32] = select_f32, [KERNEL_F64] = select_f64, [KERNEL_I32] = select_i32,
        [KERNEL_I64] = select_i64, [KERNEL_U8] = select_u8,   [KERNEL_I8] = select_i8};
    static order_fn *const whole[KERNEL_DTYPES] = {
        [KERNEL_F32] = whole_f32, [KERNEL_F64] = whole_f64, [KERNEL_I32] = whole_i32,
        [KERNEL_I64] = whole_i64, [KERNEL_U8] = whole_u8,   [KERNEL_I8] = whole_i8};
    struct selection p = {values, indices, x, shape, orders[shape->dtype], passes};

    if (shape->axis <= GATHERED && shape->k > shape->axis / 4 && shape->axis > BLOCK)
        p.order = whole[shape->dtype];
    else if (shape->k <= FEW)
        p.order = few[shape->dtype];
    else if (shape->k <= MANY && shape->axis <= (int64_t)UINT32_MAX)
        p.order = select[shape->dtype];
    if (shape->k == 0)
        return;
    if (passes->keep && indices && shape->inner >= SIDE_BY_SIDE && shape->k <= KEPT &&
        shape->axis <= INT32_MAX)
        team_for(shape->outer * ((shape->inner + COLUMNS - 1) / COLUMNS),
                 GRAIN / (shape->axis * COLUMNS) + 1, passes->keep, &p);
    else if (p.order && indices)
        team_for(shape->outer * shape->inner, GRAIN / shape->axis + 1, do_lines, &p);
    else
        top_k_ref(values, indices, x, shape);
}

#define OF_TYPE(name, isa)                                                                         \
    {                                                                                              \
        keep_part_##name##_##isa, skip_##name##_##isa, find_bests_##name##_##isa                   \
    }

#define TOP_K(isa)                                                                                 \
    PASSES_OF(f32, float, isa)                                                                     \
    PASSES_OF(f64, double, isa)                                                                    \
    PASSES_OF(i32, int32_t, isa)                                                                   \
    PASSES_OF(i64, int64_t, isa)                                                                   \
    PASSES_OF(u8, uint8_t, isa)                                                                    \
    PASSES_OF(i8, int8_t, isa)                                                                     \
                                                                                                   \
    void top_k_##isa(void *values, int64_t *indices, const void *x,                                \
                     const struct kernel_top_k *shape)                                             \
    {                                                                                              \
        static const struct passes passes[KERNEL_DTYPES] = {                                       \
            [KERNEL_F32] = OF_TYPE(f32, isa), [KERNEL_F64] = OF_TYPE(f64, isa),                    \
            [KERNEL_I32] = OF_TYPE(i32, isa), [KERNEL_I64] = OF_TYPE(i64, isa),                    \
            [KERNEL_U8] = OF_TYPE(u8, isa),   [KERNEL_I8] = OF_TYPE(i8, isa)};                     \
                                                                                                   \
        top_k_by(values, indices, x, shape, &passes[shape->dtype]);                                \
    }

ISA_VERSIONS(TOP_K)
