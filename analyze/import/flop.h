/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of imported ops that know their shapes: base/op_flop.h has the formulas. */
#ifndef OPTRACE_ANALYZE_IMPORT_FLOP_H
#define OPTRACE_ANALYZE_IMPORT_FLOP_H

#include <stdint.h>

#include "analyze/json/text.h"

/** For store_op.computation_flop: STORE_NULL where it cannot be told.
 *
 *  inputs    a JSON list of shapes; what is no list of numbers is no tensor
 *  output    the same of outputs, of which the first counts; or JSON_NONE
 *  scalars   a JSON list of texts, "" for tensors, or JSON_NONE */
int64_t import_flop(const char *name, struct json_slice inputs, struct json_slice output,
                    struct json_slice scalars);

#endif
