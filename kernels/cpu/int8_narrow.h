/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of signed bytes, made narrow enough for the instruction that multiplies bytes and saturates. Of
 * each eight numbers the four that meet in one sum of 16 bits come to at most 128 of either sign: times
 * unsigned bytes they stay within 16 bits. What was taken off for that, little of what quantisers make, is
 * listed and added later, so that sums are exact. Where it is not little, rows stay as they are.
 *
 * Packed: [four rows][k / 8][row][8], zeros where a row or a k is not there. Inside kernels/cpu only.
 */
#ifndef OPTRACE_KERNELS_CPU_INT8_NARROW_H
#define OPTRACE_KERNELS_CPU_INT8_NARROW_H

#include <stdbool.h>
#include <stdint.h>

enum {
    INT8_EIGHT = 8, /* numbers of a row side by side */
    INT8_NARROW_ROWS =
        4, /* of a tile: with more its columns would be read, and rows broadcast, twice */
    INT8_NARROW_MOST = 128, /* of one sign in a sum */
};

/** Narrow rows where they are packed. */
struct int8_narrow {
    int64_t eights;         /* of a row */
    int64_t quads;          /* of a row: four k each */
    const int8_t *rows;     /* packed */
    const int32_t *sums;    /* of each row, with what was taken off */
    const uint32_t *first;  /* of each row its first in the list; one more at the end */
    const int32_t *rest;    /* four numbers each, of which no two neighbours come to more */
    const uint16_t *places; /* in which four k */
};

/** Whether this CPU gains by it: one with AVX2 and neither VNNI nor registers of 512 bits. */
bool int8_narrow_helps(void);

/** Bytes of `m` rows of k, the list included; a multiple of 64. */
int64_t int8_narrow_bytes(int64_t m, int64_t k);

/** Row `row` as k numbers. */
typedef void int8_narrow_row_fn(int8_t *out, const void *source, int64_t row);

/** Pack rows, each given by `take`; false, and nothing of use in `packed`, where the list would be long. */
bool int8_narrow_pack(void *packed, int64_t m, int64_t k, int8_narrow_row_fn *take,
                      const void *source);

/** Where things lie in what was packed. */
struct int8_narrow int8_narrow_of(const void *packed, int64_t m, int64_t k);

/** Unsigned bytes that narrow rows are multiplied by: units of columns as in int8.h. */
struct int8_narrow_sides {
    const struct int8_narrow *narrow;
    const uint8_t *b;
    const int64_t *units;   /* bytes from b to each unit */
    const int32_t *offsets; /* of each four k */
    int vectors;            /* of eight columns */
};

/** Sums of rows [row, row + rows), which lie in one packed four, by the columns into acc, whose rows are INT8_LINE
 *  apart. */
typedef void int8_narrow_fn(int32_t *acc, const struct int8_narrow_sides *sides, int64_t row,
                            int rows);
int8_narrow_fn int8_narrow_portable;
#if defined(__x86_64__)
int8_narrow_fn int8_narrow_avx2;
#define int8_narrow_avx512 int8_narrow_avx2
#endif

/** The same where they are the columns of b, which int8_pack() laid out and which stay in their place, narrower.
 *  What was taken off is listed column by column. */
struct int8_columns {
    const uint32_t *first;  /* of each column; one more behind those that fill a unit up */
    const int64_t *rest;    /* eight numbers each */
    const uint16_t *places; /* in which eight k */
};

/** Bytes of the list of n columns of k; 0: this CPU does not gain by it. A multiple of 64. */
int64_t int8_columns_bytes(int64_t n, int64_t k);

/** Narrow the columns of b, signed, and list what is taken off; one byte of the list tells whether that was
 *  done: b is as it was where the list would be long. */
void int8_columns_pack(void *list, uint8_t *b, int64_t n, int64_t k);

/** false: they are as they were. */
bool int8_columns_of(struct int8_columns *out_columns, const void *list, int64_t n, int64_t k);

struct int8_sides;

/** Lay out k of some rows of unsigned bytes as int8_columns_fn reads them, [k / 8][INT8_NARROW_ROWS][8], int8_columns_laid()
 *  bytes for each INT8_NARROW_ROWS of them. */
void int8_columns_lay(int16_t *out, const struct int8_sides *sides, int rows);

static inline int64_t int8_columns_laid(int64_t k)
{
    return (k + INT8_EIGHT - 1) / INT8_EIGHT * INT8_EIGHT * INT8_NARROW_ROWS;
}

/** Sums of so many rows, laid out, by the columns of unit `unit` into acc, whose rows are INT8_LINE apart. b: its
 *  bytes. */
typedef void int8_columns_fn(int32_t *acc, const uint8_t *rows_of_a, const uint8_t *b,
                             const struct int8_columns *columns, int64_t unit, int64_t k, int rows);
int8_columns_fn int8_columns_portable;
#if defined(__x86_64__)
int8_columns_fn int8_columns_avx2;
#define int8_columns_avx512 int8_columns_avx2
#endif

#endif
