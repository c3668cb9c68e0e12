/* SPDX-License-Identifier: Apache-2.0 */
/* Definitions, in the log that each connection gets. Needs the session's lock; errors as in log.h,
 * and -EINVAL for values out of range, -ENOSPC where there are too many. */
#ifndef OPTRACE_CLIENT_DEFINE_H
#define OPTRACE_CLIENT_DEFINE_H

#include <stdbool.h>
#include <stdint.h>

#include "client/optrace.h"

int ot_define_op(const struct optrace_op_info *info, uint32_t *out_op);
int ot_define_model(const struct optrace_model_info *info, uint32_t *out_model);
int ot_define_lane(const struct optrace_lane_info *info, uint32_t *out_lane);

/** The op of a name, as optrace_name() gives it: one that is there already, unless it has a source.
 *  source, params  or NULL */
int ot_define_text(enum optrace_name_type type, const char *name, const char *source,
                   const char *params, uint32_t *out_op);
int ot_define_name(enum optrace_name_type type, const char *name, uint32_t *out_op);

/** Whether an op is a phase: those lie in ops, which have counters. Any thread. */
bool ot_define_is_phase(uint32_t op);

#endif
