/* SPDX-License-Identifier: Apache-2.0 */
/* What a client says of itself: where it looks for the daemon, who it is. */
#ifndef OPTRACE_CLIENT_GREET_H
#define OPTRACE_CLIENT_GREET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/clock.h"
#include "client/link.h"

struct ot_session;

/** The path of the socket: `wanted`, unless it is "", else the default that exists now. Returns 0
 *  or -ENAMETOOLONG. */
int ot_greet_path(const char *wanted, char out_path[OT_LINK_PATH_BYTES]);

/** The name of this program's executable. Always terminated; "" when it cannot be found out. */
void ot_greet_program(char *out_name, size_t bytes);

/** Send HELLO on a link that was just opened. Returns 0 or an error of the link. */
int ot_greet_hello(struct ot_session *session);

#endif
