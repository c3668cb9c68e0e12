/* SPDX-License-Identifier: Apache-2.0 */
/* Points in time as people write them. */
#ifndef OPTRACE_CLIENT_CLI_WHEN_H
#define OPTRACE_CLIENT_CLI_WHEN_H

#include <stdint.h>

/**
 * Read "@1700000000.5" (seconds since 1970), "+10s" (from now), or "2026-11-20T19:30:00", with a
 * fraction, and with Z or +01:00 behind it unless it is local time.
 *
 * now_ns  CLOCK_REALTIME
 *
 * Returns 0 or -EINVAL.
 */
int when_parse(const char *text, uint64_t now_ns, uint64_t *out_ns);

#endif
