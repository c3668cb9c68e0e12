/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of bytes, as the convolutions and matrix products of 8-bit integers need them. Inside
 * kernels/cpu only.
 *
 * One operand is unsigned, the other signed, because that is what processors multiply: b is packed
 * as the one that a is not, if need be with its sign bits turned round. That moves its zero point
 * by 128. Sums wrap around at 32 bits; no instruction saturates on the way.
 *
 * b is packed in units of 16 columns: [unit][k / 4][column][k % 4].
 */
#ifndef OPTRACE_KERNELS_CPU_INT8_H
#define OPTRACE_KERNELS_CPU_INT8_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/cpu/int8_narrow.h"
#include "kernels/dtype.h"

enum {
    INT8_UNIT = 16,
    INT8_QUAD = 4,
    INT8_LINE = 64,     /* bytes: a unit's four k; also the columns of a panel */
    INT8_MAX_ROWS = 6,  /* of a tile */
    INT8_MAX_UNITS = 4, /* of a tile, and of a panel */
    INT8_MAX_K = 32768, /* sums that int32 holds */
    INT8_WIDE_STEP = 16,
    INT8_WIDE_K = 768, /* that are widened at once: a unit of so many fits the first cache */
    INT8_WIDE = INT8_WIDE_K * INT8_MAX_ROWS,
    INT8_SPREAD = INT8_WIDE_K * INT8_UNIT,
};

/** What a tile is the product of. */
struct int8_sides {
    const uint8_t *a; /* rows a_line apart */
    int64_t a_line, k;
    const uint8_t *b;
    const int64_t *units;   /* bytes from b to each unit */
    const int32_t *offsets; /* of each four k, in bytes: where their line of a unit begins */
    const int16_t
        *wide; /* these k of the rows as int8_widen_fn lays them out, where a tile has one */
    const int16_t
        *spread; /* and of the only unit, as int8_spread_fn does, for more rows than one */
    bool a_is_signed;
    bool is_begun; /* sums go on from acc; the same tiles */
};

/** Lay out k of some rows of a as a tile reads them, each four k behind the four before. out: 64-byte
 *  aligned, INT8_MAX_ROWS numbers for each k and for those that make it a multiple of INT8_WIDE_STEP. */
typedef void int8_widen_fn(int16_t *out, const struct int8_sides *sides, int rows);

/** Lay out k of the first unit as 16-bit numbers. out: 64-byte aligned, INT8_UNIT numbers for each of
 *  these k and for those that make them a multiple of INT8_QUAD. */
typedef void int8_spread_fn(int16_t *out, const struct int8_sides *sides);

/** Offsets of a packed matrix: multiples of INT8_LINE. Outside of its file, for tests. */
extern const int32_t int8_packed_offsets[INT8_MAX_K / INT8_QUAD];

/** Sums of `rows` rows of a by `units` units of b into acc, whose rows are INT8_LINE apart. */
typedef void int8_tile_fn(int32_t *acc, const struct int8_sides *sides, int rows, int units);

struct int8_tile {
    int8_tile_fn *fn;
    int rows, units;        /* at most so many at once; 1, 2 or all units */
    int8_widen_fn *widen;   /* NULL: it takes a as it is, and all of k at once; else it has
                             INT8_MAX_ROWS rows */
    int8_spread_fn *spread; /* NULL where widen is */
};

/** The best one for an instruction set: with VNNI where the CPU has it, too. */
struct int8_tile int8_tile_portable(void);
struct int8_tile int8_tile_avx2(void);
struct int8_tile int8_tile_avx512(void);
/** What int8_tile_avx512() is on a CPU without VNNI. Outside of its file, for tests. */
struct int8_tile int8_tile_avx512bw(void);

/** y [m, n] = f(sum of (a - a_zero) * (b - b_zero) + bias), f being nothing or quantisation. */
struct int8_product {
    int64_t m, n, k;
    const uint8_t *a; /* rows a_line apart */
    int64_t a_line;
    bool a_is_signed;
    const int16_t *wide; /* a from row wide_row on, by int8_widen_rows(); NULL: it is not */
    int64_t wide_row;
    const struct int8_narrow
        *narrow; /* a, which is signed, in place of all that; NULL: it is not */
    const struct int8_columns *columns; /* b is narrow, and what was taken off; NULL: it is not */
    const uint8_t *b;       /* packed; the zero points of its columns are moved as it is */
    const int32_t *offsets; /* NULL: b is packed; else 16 columns follow each other in 64 bytes, and
                               this says where the lines of each four k begin */
    int64_t pitch, kept;    /* pitch not 0: of so many columns in a row the first `kept` are kept */
    int64_t row_bytes;      /* not 0: with offsets, rows of pitch columns, whole units of them, lie
                               so far apart */
    const int32_t *b_sums;  /* of each column as it is packed; NULL: a_zero is 0 */
    const int32_t *a_sums;  /* of each row; NULL: b_zero is 0 */
    const int32_t *a_zero, *b_zero;
    int64_t a_zero_step, b_zero_step;  /* 0: one for all */
    const int32_t *bias, *column_bias; /* of each row, of each column, or NULL */
    void *y;
    int64_t y_line;
    enum kernel_dtype y_type;
    bool is_quantised;
    const double *row_scale, *column_scale;
    int64_t row_scale_step, column_scale_step;
    const int32_t *y_zero; /* of each row */
    int64_t y_zero_step;
};

static inline int64_t int8_packed_units(int64_t n)
{
    return (n + INT8_UNIT - 1) / INT8_UNIT;
}

/** Bytes of a packed matrix. */
static inline int64_t int8_packed_bytes(int64_t n, int64_t k)
{
    return int8_packed_units(n) * ((k + INT8_QUAD - 1) / INT8_QUAD) * INT8_LINE;
}

static inline int64_t int8_round_up(int64_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/** Pack four rows of some columns into units, `unit` bytes apart, filled up with 0; flip: 0 or 0x80. */
void int8_pack_units(uint8_t *out, const uint8_t *const rows[INT8_QUAD], int64_t columns,
                     int64_t unit, uint8_t flip);

/** Pack four rows of `count` bytes into [count][4], and nothing beyond. */
void int8_pack_line(uint8_t *out, const uint8_t *const rows[INT8_QUAD], int64_t count,
                    uint8_t flip);

/** The same, columns 0, 2, ... to `even` and 1, 3, ... to `odd`. */
void int8_pack_halves(uint8_t *even, uint8_t *odd, const uint8_t *const rows[INT8_QUAD],
                      int64_t count, uint8_t flip);

/** Pack all of b, [k, n] or, transposed, [n, k]. */
void int8_pack(uint8_t *out, const uint8_t *b, int64_t n, int64_t k, bool trans, uint8_t flip);

/** Sums of the columns of what is packed. The k that fill it up must be 0 there. */
void int8_column_sums(int32_t *sums, const uint8_t *packed, int64_t n, int64_t k, bool is_signed);

void int8_row_sums(int32_t *sums, const uint8_t *a, int64_t m, int64_t k, int64_t a_line,
                   bool is_signed);

/** Store `count` sums of row `row` of a at element `at` of y, quantised where it is. Zero points are
 *  taken out already; sums are written over, also up to INT8_LINE of them behind the last. */
typedef void int8_finish_fn(const struct int8_product *p, int64_t row, int64_t at, int32_t *sums,
                            int64_t count);
int8_finish_fn int8_finish_portable;
#if defined(__x86_64__)
int8_finish_fn int8_finish_avx2, int8_finish_avx512;
#endif

/** Store sums of rows [row, row_end) and the columns [begin, end), at most INT8_LINE, by columns as a product
 *  does; rows of sums are INT8_LINE apart. */
typedef void int8_finish_rows_fn(const struct int8_product *p, int64_t row, int64_t row_end,
                                 int64_t begin, int64_t end, int32_t *sums);
int8_finish_rows_fn int8_finish_rows_portable;
#if defined(__x86_64__)
int8_finish_rows_fn int8_finish_rows_avx2, int8_finish_rows_avx512;
#endif

/** Rows [row, row_end) of the columns [begin, end); begin is a multiple of INT8_LINE. */
typedef void int8_block_fn(const struct int8_product *p, int64_t row, int64_t row_end,
                           int64_t begin, int64_t end);
int8_block_fn int8_block_portable;
#if defined(__x86_64__)
int8_block_fn int8_block_avx2, int8_block_avx512;
#endif

/** What an instruction set has for a product. */
struct int8_steps {
    int8_block_fn *block;
    int8_widen_fn *widen; /* of its tile, or NULL */
};

#define INT8_STEPS(isa) ((struct int8_steps){int8_block_##isa, int8_tile_##isa().widen})

/** Bytes of `rows` widened rows. */
int64_t int8_wide_bytes(int64_t rows, int64_t k);

/** Widen rows [row, row_end) of p's a, or lay them out for narrow columns, into `wide`, where row stands first. */
void int8_widen_rows(const struct int8_product *p, int8_widen_fn *widen, int64_t row,
                     int64_t row_end, int16_t *wide);

/** Bytes of 64-byte aligned scratch that int8_run() wants. */
int64_t int8_run_room(int64_t m, int64_t k);

/** All of a product, by the calling thread's team. block_rows: a multiple of INT8_MAX_ROWS and
 *  INT8_NARROW_ROWS, of the blocks that are shared out. */
void int8_run(const struct int8_product *p, const struct int8_steps *steps, int64_t block_rows,
              void *workspace);

#endif
