/* SPDX-License-Identifier: Apache-2.0 */
/* Names that are defined by the library itself. Needs the session's lock. */
#ifndef OPTRACE_CLIENT_DEFINE_H
#define OPTRACE_CLIENT_DEFINE_H

#include <stdint.h>

#include "client/optrace.h"

/** The op of a name, as optrace_name() gives it. Needs the session's lock. Errors as in log.h. */
int ot_define_name(enum optrace_name_type type, const char *name, uint32_t *out_op);

#endif
