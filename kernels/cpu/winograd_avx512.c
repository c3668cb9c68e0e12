/* SPDX-License-Identifier: Apache-2.0 */
/* Winograd convolutions with AVX-512. */
#define WINOGRAD_ISA   avx512
#define WINOGRAD_LANES 16
#define WINOGRAD_ROWS  12
#include "kernels/cpu/winograd_steps.h"
