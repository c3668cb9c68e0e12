/* SPDX-License-Identifier: Apache-2.0 */
/* Eight products of unsigned by narrow bytes (int8_narrow.h), added up with AVX2. Inside kernels/cpu only. */
#ifndef OPTRACE_KERNELS_CPU_INT8_EIGHTS_H
#define OPTRACE_KERNELS_CPU_INT8_EIGHTS_H

#include <immintrin.h>
#include <stdint.h>

#include "kernels/cpu/gemm_tile.h"

static const int16_t int8_ones[16]
    __attribute__((aligned(32))) = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

/* Four numbers of a row in each column. */
#define INT8_FOUR_OF(numbers) _mm256_broadcastd_epi32(_mm_loadu_si32(numbers))

/* sum + eight products of each column: unsigned bytes by narrow ones, twice. */
#define INT8_ADD_EIGHT(sum, a, b, c, d, one)                                                       \
    (sum) = _mm256_add_epi32(                                                                      \
        sum, _mm256_madd_epi16(                                                                    \
                 _mm256_add_epi16(_mm256_maddubs_epi16(a, b), _mm256_maddubs_epi16(c, d)), one))

#endif
