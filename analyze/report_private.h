/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the footer of reports. */
#ifndef OPTRACE_ANALYZE_REPORT_PRIVATE_H
#define OPTRACE_ANALYZE_REPORT_PRIVATE_H

#include "analyze/report.h"

/** What was dropped, and what that means for the numbers; nothing where nothing was. */
void report_note_dropped(const struct report *report, const struct basis *basis);

#endif
