/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who was refused or cut off lately, and why: what `optrace status` tells to those who wonder why
 * nothing is recorded. Bounded; the newest are kept. Loop thread only.
 */
#ifndef OPTRACE_DAEMON_REFUSALS_H
#define OPTRACE_DAEMON_REFUSALS_H

#include <stdint.h>
#include <sys/types.h>

#include "schema/wire/wire.h"

struct refusal {
    uint64_t time_ns; /* CLOCK_REALTIME */
    pid_t pid;
    uid_t uid;
    char text[OT_WIRE_REMARK_BYTES_MAX];
};

/** All zero is empty. */
struct refusals {
    struct refusal items[OT_WIRE_REFUSALS_MAX]; /* a ring */
    uint64_t count;                             /* of all that there were */
};

/** Remember one, the text cut where it is too long. */
void refusals_add(struct refusals *refusals, pid_t pid, uid_t uid, const char *text);

/** Number `age` of those remembered, 0 is the newest; NULL behind the last. */
const struct refusal *refusals_get(const struct refusals *refusals, size_t age);

/** What a refused client is told, for FULL, BUSY and ENDED. */
const char *refusals_welcome(enum ot_wire_welcome_status status);

#endif
