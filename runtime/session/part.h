/* SPDX-License-Identifier: Apache-2.0 */
/* What shapes depend on, where it is much: a network in front of what picks from its results. It is optimised and
 * run as a session's graph is. */
#ifndef OPTRACE_RUNTIME_SESSION_PART_H
#define OPTRACE_RUNTIME_SESSION_PART_H

#include "runtime/ops/shape/shape.h"
#include "runtime/passes/pass.h"

struct part_config {
    const struct pass_options *passes; /* of the session; tensors stay in the model's types */
    uint32_t threads;
};

/** A shape_part_fn; user is a const struct part_config. */
shape_part_fn part_compute;

#endif
