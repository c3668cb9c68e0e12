/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a tile of sums that stay in registers. Inside kernels/cpu only. */
#ifndef OPTRACE_KERNELS_CPU_GEMM_TILE_H
#define OPTRACE_KERNELS_CPU_GEMM_TILE_H

enum {
    TILE_ROWS = 6
}; /* of two registers each, beside which there is room for a row of b and a number of a */

/* Written out, not loops: what a compiler unrolls late stays an array in memory. rows: at most four, or TILE_ROWS. */
#define EACH_FOURTH(rows, DO)                                                                      \
    DO(0)                                                                                          \
    if ((rows) > 1) {                                                                              \
        DO(1)                                                                                      \
    }                                                                                              \
    if ((rows) > 2) {                                                                              \
        DO(2)                                                                                      \
    }                                                                                              \
    if ((rows) > 3) {                                                                              \
        DO(3)                                                                                      \
    }
#define EACH_ROW(rows, DO)                                                                         \
    EACH_FOURTH(rows, DO)                                                                          \
    if ((rows) > 4) {                                                                              \
        DO(4)                                                                                      \
    }                                                                                              \
    if ((rows) > 5) {                                                                              \
        DO(5)                                                                                      \
    }

/* The cases of a switch over the rows: each height has code of its own. */
#define EACH_HEIGHT(CASE, isa)                                                                     \
    CASE(isa, 1)                                                                                   \
    CASE(isa, 2)                                                                                   \
    CASE(isa, 3)                                                                                   \
    CASE(isa, 4)                                                                                   \
    CASE(isa, 5)                                                                                   \
    CASE(isa, 6)

#endif
