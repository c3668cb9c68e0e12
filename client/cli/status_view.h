/* SPDX-License-Identifier: Apache-2.0 */
/* What `optrace status` shows a person. Inside client/cli only. */
#ifndef OPTRACE_CLIENT_CLI_STATUS_VIEW_H
#define OPTRACE_CLIENT_CLI_STATUS_VIEW_H

#include <stdbool.h>

#include "client/cli/desk.h"

/** A line about the daemon, a row per program, then what is not as it should be. */
void status_view_print(const struct desk_picture *picture);

/** The same with all that is known of each. */
void status_view_print_long(const struct desk_picture *picture);

#endif
