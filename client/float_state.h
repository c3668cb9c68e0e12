/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The floating-point status of the calling thread: what was inexact or invalid since the program
 * looked last. Programs do look (NumPy after each product), so computing leaves it as it was.
 */
#ifndef OPTRACE_CLIENT_FLOAT_STATE_H
#define OPTRACE_CLIENT_FLOAT_STATE_H

#include <stdint.h>

static inline uint32_t ot_float_save(void)
{
#if defined(__SSE__)
    return __builtin_ia32_stmxcsr();
#elif defined(__aarch64__)
    uint64_t status;

    __asm__ volatile("mrs %0, fpsr" : "=r"(status));
    return (uint32_t)status;
#else
    return 0;
#endif
}

static inline void ot_float_restore(uint32_t state)
{
#if defined(__SSE__)
    if (__builtin_ia32_stmxcsr() != state)
        __builtin_ia32_ldmxcsr(state);
#elif defined(__aarch64__)
    __asm__ volatile("msr fpsr, %0" : : "r"((uint64_t)state));
#else
    (void)state;
#endif
}

#endif
