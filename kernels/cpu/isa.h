/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One plain C body, compiled once per instruction set. Inside kernels/cpu only.
 *
 * A file writes its work as an ISA_BODY function and names the versions with ISA_VERSIONS(), whose
 * macro argument is expanded once per version. The compiler vectorises the body for each; these
 * files are built with -O3 -fno-math-errno -fno-trapping-math.
 */
#ifndef OPTRACE_KERNELS_CPU_ISA_H
#define OPTRACE_KERNELS_CPU_ISA_H

#define ISA_BODY static inline __attribute__((always_inline))

#define ISA_TARGET_portable

/* Bytes of a register. Vectors of that size stay in registers; GCC keeps larger ones in memory. */
#define ISA_BYTES_portable 16
#define ISA_BYTES_avx2     32
#define ISA_BYTES_avx512   64

#if defined(__x86_64__)
#define ISA_TARGET_avx2 __attribute__((target("avx2,fma")))
#if defined(__clang__)
#define ISA_TARGET_avx512                                                                          \
    __attribute__((target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl"), min_vector_width(512)))
#else
#define ISA_TARGET_avx512                                                                          \
    __attribute__((target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")))
#endif
#define ISA_VERSIONS(MACRO) MACRO(portable) MACRO(avx2) MACRO(avx512)
#else
#define ISA_VERSIONS(MACRO) MACRO(portable)
#endif

#endif
