/* SPDX-License-Identifier: Apache-2.0 */
/* Winograd convolutions with the base instruction set. */
#define WINOGRAD_ISA   portable
#define WINOGRAD_LANES 4
#define WINOGRAD_ROWS  6
#include "kernels/cpu/winograd_steps.h"
