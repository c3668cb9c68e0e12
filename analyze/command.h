/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of profile_analyze: its table, and what of it goes together. */
#ifndef OPTRACE_ANALYZE_COMMAND_H
#define OPTRACE_ANALYZE_COMMAND_H

#include "analyze/options/options.h"
#include "base/options.h"

extern const struct option_command analyze_command;

/** Which options go together. Returns 0, or -EINVAL with a sentence: what would be ignored beside
 *  another option is refused. */
int analyze_options_check(const struct analyze_options *options, const char *const *files,
                          int file_count, struct diag *diag);

#endif
