/* SPDX-License-Identifier: Apache-2.0 */
/* What a step is, as JSON: the same in what is recorded and in profiles. */
#ifndef OPTRACE_RUNTIME_SESSION_STEP_JSON_H
#define OPTRACE_RUNTIME_SESSION_STEP_JSON_H

#include "base/json.h"
#include "runtime/exec/exec.h"

/** The step's parameters, an object: its implementation, which of its inputs are the model's, and
 *  its node's attributes where the step is the node's own operator. */
void step_json_params(const struct exec_step *step, struct json_writer *json);

#endif
