/* SPDX-License-Identifier: Apache-2.0 */
/* The table of a model's inputs and outputs that --model-info shows, in MegEngine's form. */
#ifndef OPTRACE_RUNTIME_MODES_MODEL_INFO_H
#define OPTRACE_RUNTIME_MODES_MODEL_INFO_H

#include <stdio.h>

#include "runtime/graph/graph.h"

/**
 *     +Runtime Model Info-----------+---------+
 *     |  type  | name |    shape    |  dtype  |
 *     +--------+------+-------------+---------+
 *     | INPUT  |  x   | {1,3,32,32} | float32 |
 *     +--------+------+-------------+---------+
 *     | OUTPUT | prob |   {1,10}    | float32 |
 *     +--------+------+-------------+---------+
 *
 * Cells are centred; an odd space goes to the right.
 */
void model_info_write(const struct graph *graph, FILE *out);

#endif
