/* SPDX-License-Identifier: Apache-2.0 */
/* Quantising rows of sums whose columns alone differ in what is done to them, by AVX-512. Inside kernels/cpu only. */
#ifndef OPTRACE_KERNELS_CPU_INT8_ROWS_H
#define OPTRACE_KERNELS_CPU_INT8_ROWS_H

#include "kernels/cpu/int8.h"

#if defined(__x86_64__)

/** What is done to the sums of some columns. */
struct int8_rows {
    uint32_t add[INT8_LINE] __attribute__((aligned(64)));
    int32_t zeros[INT8_LINE] __attribute__((aligned(64))); /* of the columns */
    float scale[INT8_LINE] __attribute__((aligned(64)));
    double exact[INT8_LINE] __attribute__((aligned(64))); /* the same */
    int64_t begin;
    int columns;
    int32_t zero;
    bool is_signed;
    bool has_zeros;
};

/** Columns [begin, end) of a product, at most INT8_LINE. Returns false where rows have something of their own, or scales are
 *  such that f32 does not hold what they make: then int8_finish_rows_avx512() does it all. */
bool int8_rows_begin(struct int8_rows *out_rows, const struct int8_product *p, int64_t begin,
                     int64_t end);

/** As int8_finish_rows_avx512(). */
void int8_rows_finish(const struct int8_rows *rows, const struct int8_product *p, int64_t row,
                      int64_t row_end, const int32_t *sums);

/** Both. */
int8_finish_rows_fn int8_rows_all;

#endif

#endif
