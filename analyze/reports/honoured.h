/* SPDX-License-Identifier: Apache-2.0 */
/* Which options a report has a use for: what it would ignore is refused. */
#ifndef OPTRACE_ANALYZE_REPORTS_HONOURED_H
#define OPTRACE_ANALYZE_REPORTS_HONOURED_H

#include <stddef.h>

#include "analyze/options/options.h"

enum { ANALYZE_MODES_MAX = 16 };

struct report_kind;

/** The first option given that a report has no use for, without dashes, or NULL. */
const char *analyze_options_useless(const struct analyze_options *options,
                                    const struct report_kind *kind);

/** The options given that choose what is reported, without dashes: "list", ..., "report" last.
 *  Returns how many; more than one is refused. */
size_t analyze_options_modes(const struct analyze_options *options,
                             const char *out_names[ANALYZE_MODES_MAX]);

#endif
