/* SPDX-License-Identifier: Apache-2.0 */
/* The sum of a register of AVX2. */
#ifndef OPTRACE_KERNELS_CPU_SUM_EIGHT_H
#define OPTRACE_KERNELS_CPU_SUM_EIGHT_H

#include "kernels/cpu/isa.h"

#if defined(__x86_64__)
#include <immintrin.h>

ISA_TARGET_avx2 static inline float sum_eight(__m256 v)
{
    __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));

    four = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(four, _mm_shuffle_ps(four, four, 1)));
}

#endif
#endif
