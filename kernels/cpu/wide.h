/* SPDX-License-Identifier: Apache-2.0 */
/* Floats as doubles, a register of these at a time: left to it, gcc 12 converts half a register, and takes registers of
 * floats apart and together again. Inside kernels/cpu only. */
#ifndef OPTRACE_KERNELS_CPU_WIDE_H
#define OPTRACE_KERNELS_CPU_WIDE_H

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "kernels/cpu/isa.h"

/* each_ISA: doubles of a register, at least four; thin_ISA, wide_ISA: as many floats and doubles. */
#define WIDE_TYPES(isa)                                                                            \
    enum { each_##isa = ISA_BYTES_##isa >= 32 ? ISA_BYTES_##isa / 8 : 4 };                         \
    typedef float thin_##isa __attribute__((vector_size(4 * each_##isa), aligned(4), may_alias));  \
    typedef double wide_##isa __attribute__((vector_size(8 * each_##isa), aligned(8), may_alias));

/* WIDE_OF_ISA(x): wide_ISA of as many floats. The way back is __builtin_convertvector(). */
#define WIDE_OF_portable(x) __builtin_convertvector(*(const thin_portable *)(x), wide_portable)
#define WIDE_OF_avx2(x)     (wide_avx2) _mm256_cvtps_pd(_mm_loadu_ps(x))
#define WIDE_OF_avx512(x)   (wide_avx512) _mm512_cvtps_pd(_mm256_loadu_ps(x))

#endif
