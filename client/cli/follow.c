/* SPDX-License-Identifier: Apache-2.0 */
/* Lines in, times out. */
#include "client/cli/follow.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

int follow(char *out_at, size_t bytes)
{
    char line[128];

    puts(FOLLOW_READY);
    fflush(stdout);
    while (fgets(line, sizeof(line), stdin)) {
        line[strcspn(line, "\n")] = 0;
        if (strcmp(line, FOLLOW_TIME) == 0) {
            printf(FOLLOW_TIME " %" PRIu64 "\n", ot_clock_ns(CLOCK_REALTIME));
            fflush(stdout);
            continue;
        }
        if (strncmp(line, FOLLOW_GO, strlen(FOLLOW_GO)) != 0)
            break;
        snprintf(out_at, bytes, "%s", line + strlen(FOLLOW_GO) + (line[strlen(FOLLOW_GO)] == ' '));
        return 0;
    }
    return -ECONNRESET;
}
