/* SPDX-License-Identifier: Apache-2.0 */
/* Winograd convolutions with AVX2 and FMA. */
#define WINOGRAD_ISA   avx2
#define WINOGRAD_LANES 8
#define WINOGRAD_ROWS  6
#include "kernels/cpu/winograd_steps.h"
