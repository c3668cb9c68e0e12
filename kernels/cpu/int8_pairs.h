/* SPDX-License-Identifier: Apache-2.0 */
/* The inner step of products of 16-bit numbers with AVX2. Inside kernels/cpu only. */
#ifndef OPTRACE_KERNELS_CPU_INT8_PAIRS_H
#define OPTRACE_KERNELS_CPU_INT8_PAIRS_H

/* Two sums + the products of pairs: `two` of a row by those of sixteen columns. In this order, which no
 * compiler is to change, because the processor places an addition best behind both products; and gcc
 * 12 would do all products first, which no registers are left for. */
#define ADD_PAIRS(sum_low, sum_high, two, low, high)                                               \
    {                                                                                              \
        __m256i x, y;                                                                              \
                                                                                                   \
        __asm__("vpbroadcastd %6, %2\n\t"                                                          \
                "vpmaddwd %4, %2, %3\n\t"                                                          \
                "vpmaddwd %5, %2, %2\n\t"                                                          \
                "vpaddd %3, %0, %0\n\t"                                                            \
                "vpaddd %2, %1, %1"                                                                \
                : "+x"(sum_low), "+x"(sum_high), "=&x"(x), "=&x"(y)                                \
                : "x"(low), "x"(high), "m"(two));                                                  \
    }

#endif
