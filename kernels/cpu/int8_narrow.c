/* SPDX-License-Identifier: Apache-2.0 */
/* How rows of bytes are made narrow, and what is taken off for that. */
#include "kernels/cpu/int8_narrow.h"

#include <string.h>

#include "kernels/cpu/int8.h"

enum {
    MOST = INT8_NARROW_MOST,
    TILE = INT8_NARROW_ROWS * INT8_EIGHT, /* bytes of eight k of a tile */
    COLUMN_SHARE = 16,                    /* of columns one for so many */
    SHARE =
        2, /* one entry for so many eights; of more their sums take longer than exact products */
};

bool int8_narrow_helps(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx2") && !__builtin_cpu_supports("avx512bw");
#else
    return false;
#endif
}

static int64_t eights_of(int64_t k)
{
    return (k + INT8_EIGHT - 1) / INT8_EIGHT;
}

static int64_t most_entries(int64_t m, int64_t k)
{
    return m * eights_of(k) / SHARE + 1;
}

/* Where the parts begin, and behind them their end. */
struct parts {
    int64_t sums, first, rest, places, end;
};

static struct parts parts_of(int64_t m, int64_t k)
{
    int64_t tiles = (m + INT8_NARROW_ROWS - 1) / INT8_NARROW_ROWS, entries = most_entries(m, k);
    struct parts p;

    p.sums = int8_round_up(tiles * eights_of(k) * TILE);
    p.first = p.sums + int8_round_up(m * (int64_t)sizeof(int32_t));
    p.rest = p.first + int8_round_up((m + 1) * (int64_t)sizeof(uint32_t));
    p.places = p.rest + int8_round_up(entries * (int64_t)sizeof(int32_t));
    p.end = p.places + int8_round_up(entries * (int64_t)sizeof(uint16_t));
    return p;
}

int64_t int8_narrow_bytes(int64_t m, int64_t k)
{
    return parts_of(m, k).end;
}

struct int8_narrow int8_narrow_of(const void *packed, int64_t m, int64_t k)
{
    const uint8_t *start = packed;
    struct parts p = parts_of(m, k);

    return (struct int8_narrow){.eights = eights_of(k),
                                .quads = (k + INT8_QUAD - 1) / INT8_QUAD,
                                .rows = (const int8_t *)start,
                                .sums = (const void *)(start + p.sums),
                                .first = (const void *)(start + p.first),
                                .rest = (const void *)(start + p.rest),
                                .places = (const void *)(start + p.places)};
}

/* Take off what `count` numbers of one sign come to beyond MOST, the largest first. */
static void limit(int8_t *const numbers[], int8_t *const rest[], int count, int sign)
{
    int sum = -MOST;

    for (int i = 0; i < count; i++)
        sum += *numbers[i] * sign > 0 ? *numbers[i] * sign : 0;
    while (sum > 0) {
        int largest = 0, off;

        for (int i = 1; i < count; i++)
            largest = *numbers[i] * sign > *numbers[largest] * sign ? i : largest;
        off = *numbers[largest] * sign;
        off = off < sum ? off : sum;
        *numbers[largest] = (int8_t)(*numbers[largest] - off * sign);
        *rest[largest] = (int8_t)(*rest[largest] + off * sign);
        sum -= off;
    }
}

/* Whether the numbers that meet, 0, 1, 4 and 5, and 2, 3, 6 and 7, come to no more than MOST of either sign, as
 * nearly all do. */
static bool is_narrow(const int8_t numbers[INT8_EIGHT])
{
    for (int at = 0; at < INT8_QUAD; at += 2) {
        const int8_t four[] = {numbers[at], numbers[at + 1], numbers[at + 4], numbers[at + 5]};
        int up = 0, down = 0;

        for (int i = 0; i < 4; i++) {
            up += four[i] > 0 ? four[i] : 0;
            down += four[i] < 0 ? -four[i] : 0;
        }
        if (up > MOST || down > MOST)
            return false;
    }
    return true;
}

/* Returns whether there is a rest, which is written only then. */
static bool narrow_eight(int8_t numbers[INT8_EIGHT], int8_t rest[INT8_EIGHT])
{
    if (is_narrow(numbers))
        return false;
    memset(rest, 0, INT8_EIGHT);
    for (int at = 0; at < INT8_QUAD; at += 2) {
        int8_t *sums[] = {numbers + at, numbers + at + 1, numbers + at + 4, numbers + at + 5};
        int8_t *rests[] = {rest + at, rest + at + 1, rest + at + 4, rest + at + 5};

        limit(sums, rests, 4, 1);
        limit(sums, rests, 4, -1);
    }
    return true;
}

/* A list that is being made, of `width` numbers in an entry. */
struct list {
    int8_t *rest;
    uint16_t *places;
    int64_t count, most;
    int width;
};

/* Numbers, in as many entries as it takes until none saturates; false: there is no room. */
static bool add_rest(struct list *list, int8_t *numbers, int64_t place)
{
    static const int8_t none[INT8_EIGHT];
    const size_t width = (size_t)list->width;

    while (memcmp(numbers, none, width) != 0) {
        int8_t left[INT8_EIGHT] = {0};

        for (int at = 0; at < list->width; at += 2) {
            limit((int8_t *[]){numbers + at, numbers + at + 1},
                  (int8_t *[]){left + at, left + at + 1}, 2, 1);
            limit((int8_t *[]){numbers + at, numbers + at + 1},
                  (int8_t *[]){left + at, left + at + 1}, 2, -1);
        }
        if (list->count == list->most)
            return false;
        memcpy(list->rest + (size_t)list->count * width, numbers, width);
        list->places[list->count++] = (uint16_t)place;
        memcpy(numbers, left, width);
    }
    return true;
}

/* One row, whose k are there in whole eights; returns false where its list is too long. */
static bool pack_row(int8_t *out, int8_t *row, int64_t eights, struct list *list)
{
    int8_t rest[INT8_EIGHT];

    for (int64_t i = 0; i < eights; i++, row += INT8_EIGHT, out += TILE) {
        bool has_rest = narrow_eight(row, rest);

        memcpy(out, row, INT8_EIGHT);
        if (has_rest &&
            (!add_rest(list, rest, 2 * i) || !add_rest(list, rest + INT8_QUAD, 2 * i + 1)))
            return false;
    }
    return true;
}

bool int8_narrow_pack(void *packed, int64_t m, int64_t k, int8_narrow_row_fn *take,
                      const void *source)
{
    uint8_t *start = packed;
    struct parts p = parts_of(m, k);
    int32_t *sums = (void *)(start + p.sums);
    uint32_t *first = (void *)(start + p.first);
    struct list list = {(void *)(start + p.rest), (void *)(start + p.places), 0, most_entries(m, k),
                        INT8_QUAD};
    int64_t eights = eights_of(k);
    int8_t row[INT8_MAX_K + INT8_EIGHT];

    if (m % INT8_NARROW_ROWS != 0)
        memset(start + m / INT8_NARROW_ROWS * eights * TILE, 0, (size_t)(eights * TILE));
    for (int64_t i = 0; i < m; i++) {
        int8_t *out = (int8_t *)start + i / INT8_NARROW_ROWS * eights * TILE +
                      i % INT8_NARROW_ROWS * INT8_EIGHT;

        take(row, source, i);
        memset(row + k, 0, INT8_EIGHT);
        int8_row_sums(&sums[i], (const uint8_t *)row, 1, k, k, true);
        first[i] = (uint32_t)list.count;
        if (!pack_row(out, row, eights, &list))
            return false;
    }
    first[m] = (uint32_t)list.count;
    return true;
}

/* Columns */

static int64_t most_column_entries(int64_t n, int64_t k)
{
    return n * eights_of(k) / COLUMN_SHARE + 1;
}

/* Behind a line whose first byte tells whether it was done. */
static struct parts column_parts(int64_t n, int64_t k)
{
    int64_t units = int8_packed_units(n), entries = most_column_entries(n, k);
    struct parts p = {.first = INT8_LINE};

    p.rest = p.first + int8_round_up((units * INT8_UNIT + 1) * (int64_t)sizeof(uint32_t));
    p.places = p.rest + int8_round_up(entries * INT8_EIGHT);
    p.end = p.places + int8_round_up(entries * (int64_t)sizeof(uint16_t));
    return p;
}

int64_t int8_columns_bytes(int64_t n, int64_t k)
{
    return int8_narrow_helps() ? column_parts(n, k).end : 0;
}

bool int8_columns_of(struct int8_columns *out_columns, const void *list, int64_t n, int64_t k)
{
    const uint8_t *start = list;
    struct parts p = column_parts(n, k);

    if (!*start)
        return false;
    *out_columns = (struct int8_columns){.first = (const void *)(start + p.first),
                                         .rest = (const void *)(start + p.rest),
                                         .places = (const void *)(start + p.places)};
    return true;
}

/* One column of a packed b. */
struct column {
    uint8_t *b;
    int64_t quads;
};

static void read_eight(int8_t out[INT8_EIGHT], const struct column *c, int64_t place)
{
    memset(out, 0, INT8_EIGHT);
    memcpy(out, c->b + 2 * place * INT8_LINE, INT8_QUAD);
    if (2 * place + 1 < c->quads)
        memcpy(out + INT8_QUAD, c->b + (2 * place + 1) * INT8_LINE, INT8_QUAD);
}

static void write_eight(const struct column *c, int64_t place, const int8_t numbers[INT8_EIGHT])
{
    memcpy(c->b + 2 * place * INT8_LINE, numbers, INT8_QUAD);
    if (2 * place + 1 < c->quads)
        memcpy(c->b + (2 * place + 1) * INT8_LINE, numbers + INT8_QUAD, INT8_QUAD);
}

/* false: the list is full, and the column as it was but for what is listed of it. */
static bool narrow_column(const struct column *c, struct list *list)
{
    for (int64_t place = 0; 2 * place < c->quads; place++) {
        int8_t numbers[INT8_EIGHT], rest[INT8_EIGHT];
        int64_t begin = list->count;

        read_eight(numbers, c, place);
        if (!narrow_eight(numbers, rest))
            continue;
        if (!add_rest(list, rest, place)) {
            list->count = begin;
            return false;
        }
        write_eight(c, place, numbers);
    }
    return true;
}

/* Put back what is listed of a column. */
static void widen_column(const struct column *c, const struct list *list, int64_t begin,
                         int64_t end)
{
    for (; begin < end; begin++) {
        int8_t numbers[INT8_EIGHT], rest[INT8_EIGHT];

        read_eight(numbers, c, list->places[begin]);
        memcpy(rest, list->rest + begin * INT8_EIGHT, sizeof(rest));
        for (int i = 0; i < INT8_EIGHT; i++)
            numbers[i] = (int8_t)(numbers[i] + rest[i]);
        write_eight(c, list->places[begin], numbers);
    }
}

void int8_columns_pack(void *list, uint8_t *b, int64_t n, int64_t k)
{
    uint8_t *start = list;
    struct parts p = column_parts(n, k);
    uint32_t *first = (void *)(start + p.first);
    struct list l = {(void *)(start + p.rest), (void *)(start + p.places), 0,
                     most_column_entries(n, k), INT8_EIGHT};
    int64_t unit = int8_packed_bytes(1, k), columns = int8_packed_units(n) * INT8_UNIT, at = 0;
    struct column c = {.quads = (k + INT8_QUAD - 1) / INT8_QUAD};
    bool fits = true;

    for (; fits && at < columns; at++) {
        c.b = b + at / INT8_UNIT * unit + at % INT8_UNIT * INT8_QUAD;
        first[at] = (uint32_t)l.count;
        fits = narrow_column(&c, &l);
    }
    first[at] = (uint32_t)l.count;
    *start = fits;
    while (!fits && at-- > 0) {
        c.b = b + at / INT8_UNIT * unit + at % INT8_UNIT * INT8_QUAD;
        widen_column(&c, &l, first[at], first[at + 1]);
    }
}
