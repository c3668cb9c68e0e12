/* SPDX-License-Identifier: Apache-2.0 */
/* When to drop how much, and the lines in the log about it. */
#include "daemon/retain.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/amount.h"
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
    amount_format_bytes(budget, sizeof(budget), retain->budget_bytes);
    amount_format_bytes(used, sizeof(used), retain->budget_bytes + over_bytes);
    log_say("the store is larger than its budget (%s of %s) with all dropped that may go: give it "
            "a larger --store-budget or a new file",
            used, budget);
}

static void say_full(struct retain *retain)
{
    char budget[32];

    if (retain->said_full)
        return;
    retain->said_full = true;
    if (retain->budget_bytes)
        log_say("the oldest events are dropped from now on to keep the store's budget of %s; their "
                "roll-ups stay",
                amount_format_bytes(budget, sizeof(budget), retain->budget_bytes));
    else
        log_detail("old events are dropped, as --keep-events says; their roll-ups stay");
}

int retain_init(struct retain *retain, const struct store_bounds *bounds, struct diag *diag)
{
    int rc;

    retain->bounds = *bounds;
    retain->budget_bytes = bounds->budget_bytes;
    rc = store_set_budget(retain->store, bounds->budget_bytes, &retain->shares, diag);
    retain->bounds.budget_bytes = retain->shares.pages_bytes;
    return rc;
}

bool retain_make_room(struct retain *retain)
{
    struct store_retained done = {0};
    struct diag diag = {0};
    int64_t used_bytes, count = 0;
    bool is_new;
    int rc = store_used_bytes(retain->store, &used_bytes, &diag);

    if (rc < 0)
        return false;
    is_new = !retain->bounds.disk_bytes;
    retain->bounds.disk_bytes = used_bytes > 2 * retain->shares.batch_bytes
                                    ? used_bytes - 2 * retain->shares.batch_bytes
                                    : 1;
    do {
        rc = store_retain(retain->store, &retain->bounds, (int64_t)ot_clock_ns(CLOCK_REALTIME),
                          IDLE_ROWS, &done, &diag);
        count += rc >= 0 ? (int64_t)(done.row_count + done.shed_count) : 0;
    } while (rc == 1 && done.row_count + done.shed_count > 0);
    if (is_new && count > 0)
        log_say("the disk of the store is full: the oldest events are dropped from now on, so that "
                "recording goes on; their roll-ups stay");
    return count > 0;
}

/* Whether the disk has room again for the log and some batches more. */
static void look_at_disk(struct retain *retain)
{
    if (!retain->bounds.disk_bytes || store_room_left(retain->store) < 2 * retain->shares.log_bytes)
        return;
    retain->bounds.disk_bytes = 0;
    log_say("the disk of the store has room again");
}

int retain_ahead(struct retain *retain, size_t batch_rows, struct diag *diag)
{
    struct store_retained done = {0};
    int rc = store_retain_ahead(retain->store, &retain->bounds,
                                (int64_t)ot_clock_ns(CLOCK_REALTIME), batch_rows, &done, diag);

    if (rc == 0 && done.row_count > 0 && !retain->bounds.disk_bytes)
        say_full(retain);
    return rc;
}

void retain_slice(struct retain *retain, size_t batch_rows)
{
    struct diag diag = {0};
    struct store_retained done;
    int rc;

    look_at_disk(retain);
    rc = store_retain(retain->store, &retain->bounds, (int64_t)ot_clock_ns(CLOCK_REALTIME),
                      IDLE_ROWS + 2 * batch_rows, &done, &diag);
    retain->has_more = rc == 1;
    if (rc < 0 && !retain->said_error)
        log_say("old events cannot be dropped for now: %s", diag.text);
    retain->said_error = rc < 0;
    if (rc < 0)
        return;
    if (done.row_count > 0 && !retain->bounds.disk_bytes)
        say_full(retain);
    say_over(retain, done.over_bytes);
}

uint64_t retain_pause_ns(const struct retain *retain)
{
    if (retain->has_more)
        return MORE_NS;
    return AGAIN_NS;
}

const char *retain_advise(int64_t budget_bytes, char *text, size_t text_bytes)
{
    char budget[32] = "none";

    if (budget_bytes)
        amount_format_bytes(budget, sizeof(budget), budget_bytes);
    snprintf(text, text_bytes,
             "; make room on its disk, and start optraced with a --store-budget that fits there "
             "(now %s)",
             budget);
    return text;
}
