/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shapes of OpenVINO's layers, by name: of each model that the program makes a request for, from the
 * model that it runs as. Times come by ITT (itt.c).
 *
 * Inside client/inject only. Any thread.
 */
#ifndef OPTRACE_CLIENT_INJECT_OPENVINO_H
#define OPTRACE_CLIENT_INJECT_OPENVINO_H

#include <stdbool.h>
#include <stdint.h>

#include "base/op_flop.h"

enum { OPENVINO_INPUTS_MAX = 4 };

struct openvino_layer {
    uint32_t input_count;                                     /* that are kept */
    struct op_flop_shape inputs[OPENVINO_INPUTS_MAX], output; /* rank -1: not known */
};

/** NULL: no model has one of this name, or two have different ones. Borrowed, for ever. */
const struct openvino_layer *openvino_layer_find(const char *name);

/** Grows when a name has become one of different layers: what was made of the first is to be made
 *  anew. Read it relaxed. */
extern uint32_t openvino_generation;

/** Whether each layer is told by the name of the first one: of 2026.0 to 2026.2, once a request was made
 *  while somebody listened. Read it relaxed. */
extern bool openvino_repeats_name;

#endif
