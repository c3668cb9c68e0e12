/* SPDX-License-Identifier: Apache-2.0 */
/* Eight products of unsigned by narrow bytes (int8_narrow.h), added up with AVX2. Inside kernels/cpu only. */
#ifndef OPTRACE_KERNELS_CPU_INT8_EIGHTS_H
#define OPTRACE_KERNELS_CPU_INT8_EIGHTS_H

#include <immintrin.h>
#include <stdint.h>

static const int16_t int8_ones[16]
    __attribute__((aligned(32))) = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

/* A sum + eight products of each column. As it stands, because no compiler keeps six rows by two vectors
 * and the columns in sixteen registers: so the ones come from memory. Either the columns are unsigned
 * or the numbers: what multiplies wants to know which. */
#define INT8_ADD_EIGHT(x_operands, y_operands, sum, b, c, numbers)                                 \
    {                                                                                              \
        __m256i x, y;                                                                              \
                                                                                                   \
        __asm__("vpbroadcastd %5, %1\n\t"                                                          \
                "vpbroadcastd %6, %2\n\t"                                                          \
                "vpmaddubsw " x_operands ", %1\n\t"                                                \
                "vpmaddubsw " y_operands ", %2\n\t"                                                \
                "vpaddw %2, %1, %1\n\t"                                                            \
                "vpmaddwd %7, %1, %1\n\t"                                                          \
                "vpaddd %1, %0, %0"                                                                \
                : "+x"(sum), "=&x"(x), "=&x"(y)                                                    \
                : "x"(b), "x"(c), "m"(*(const int32_t *)(numbers)),                                \
                  "m"(*(const int32_t *)((numbers) + INT8_QUAD)), "m"(int8_ones));                 \
    }

#define INT8_ADD_UNSIGNED_COLUMNS(sum, b, c, numbers)                                              \
    INT8_ADD_EIGHT("%1, %3", "%2, %4", sum, b, c, numbers)
#define INT8_ADD_UNSIGNED_NUMBERS(sum, b, c, numbers)                                              \
    INT8_ADD_EIGHT("%3, %1", "%4, %2", sum, b, c, numbers)

#endif
