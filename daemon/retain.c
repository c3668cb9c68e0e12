/* SPDX-License-Identifier: Apache-2.0 */
/* When to drop how much, and the lines in the log about it. */
#include "daemon/retain.h"

#include "base/clock.h"
#include "daemon/amount.h"
#include "daemon/log.h"

enum { IDLE_ROWS = 16384 };

/* With nothing else to do a store shrinks at a fifth of one core's speed. */
static const uint64_t MORE_NS = UINT64_C(10000000);
/* Events and roll-ups grow old also while none comes; a disk that was full may have room. */
static const uint64_t AGAIN_NS = UINT64_C(5000000000);

/* `over_bytes`: what remains above the budget though nothing is left to drop. */
static void say_over(struct retain *retain, int64_t over_bytes)
{
    char budget[32], used[32];

    if (over_bytes == 0) {
        retain->said_over = false;
        return;
    }
    if (retain->said_over)
        return;
    retain->said_over = true;
    amount_format_bytes(budget, sizeof(budget), retain->bounds.budget_bytes);
    amount_format_bytes(used, sizeof(used), retain->bounds.budget_bytes + over_bytes);
    log_say("the store is larger than its budget (%s of %s) with all old events dropped: runs, ops "
            "and roll-ups stay, so give it a larger --store-budget or a new file",
            used, budget);
}

static void say_full(struct retain *retain)
{
    char budget[32];

    if (retain->said_full)
        return;
    retain->said_full = true;
    if (retain->bounds.budget_bytes)
        log_say("the oldest events are dropped from now on to keep the store's budget of %s; their "
                "roll-ups stay",
                amount_format_bytes(budget, sizeof(budget), retain->bounds.budget_bytes));
    else
        log_detail("old events are dropped, as --keep-events says; their roll-ups stay");
}

void retain_slice(struct retain *retain, size_t batch_rows)
{
    struct diag diag = {0};
    struct store_retained done;
    int rc;

    rc = store_retain(retain->store, &retain->bounds, (int64_t)ot_clock_ns(CLOCK_REALTIME),
                      IDLE_ROWS + 2 * batch_rows, &done, &diag);
    retain->has_more = rc == 1;
    if (rc < 0 && !retain->said_error)
        log_say("old events cannot be dropped for now: %s", diag.text);
    retain->said_error = rc < 0;
    if (rc < 0)
        return;
    if (done.row_count > 0)
        say_full(retain);
    say_over(retain, done.over_bytes);
}

uint64_t retain_pause_ns(const struct retain *retain)
{
    if (retain->has_more)
        return MORE_NS;
    return AGAIN_NS;
}
