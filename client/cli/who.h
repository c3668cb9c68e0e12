/* SPDX-License-Identifier: Apache-2.0 */
/* --pid, --session and --program, as the daemon takes them. */
#ifndef OPTRACE_CLIENT_CLI_WHO_H
#define OPTRACE_CLIENT_CLI_WHO_H

#include <stddef.h>

#include "base/diag.h"
#include "base/options.h"
#include "client/cli/desk.h"

/**
 * Whom these options choose; they may be empty.
 *
 * out_selects  room for OT_WIRE_SELECTS_MAX; programs point into the options
 *
 * Returns 0, or -EINVAL with a sentence.
 */
int who_fill(const struct option_list *pids, const struct option_list *sessions,
             const struct option_list *programs, struct desk_select *out_selects, size_t *out_count,
             struct diag *diag);

#endif
