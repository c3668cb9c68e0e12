/* SPDX-License-Identifier: Apache-2.0 */
/* A ring of the latest refusals. */
#include "daemon/refusals.h"

#include "base/clock.h"

void refusals_add(struct refusals *refusals, pid_t pid, uid_t uid, const char *text)
{
    struct refusal *item = &refusals->items[refusals->count++ % OT_WIRE_REFUSALS_MAX];
    size_t length = ot_wire_clean_text(text, strlen(text), item->text, sizeof(item->text) - 1);

    item->text[length] = 0;
    item->time_ns = ot_clock_ns(CLOCK_REALTIME);
    item->pid = pid;
    item->uid = uid;
}

const struct refusal *refusals_get(const struct refusals *refusals, size_t age)
{
    if (age >= OT_WIRE_REFUSALS_MAX || age >= refusals->count)
        return NULL;
    return &refusals->items[(refusals->count - 1 - age) % OT_WIRE_REFUSALS_MAX];
}

const char *refusals_welcome(enum ot_wire_welcome_status status)
{
    if (status == OT_WELCOME_FULL)
        return "there are too many sessions, and no process has more of them than this one";
    return status == OT_WELCOME_BUSY ? "this session is connected already, or is just ending"
                                     : "this session has ended";
}
