/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What else is dropped where a budget needs it: rows that stay when events go. They have half of
 * the budget; beyond it, and where no event is left to drop, these go, so that nobody's events go
 * for them:
 *
 *   1. sessions that ended, whole: of the user who has most of them, the one that ended first;
 *   2. several losses of one lane for one reason become one;
 *   3. the oldest roll-ups or runs of the session that has most of them, counted in `dropped`.
 *
 * Imported sessions stay, such that hold a calibration, and that of the last event.
 */
#ifndef OPTRACE_SCHEMA_STORE_SHED_H
#define OPTRACE_SCHEMA_STORE_SHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

struct store;

/* How far a writer has come. {0} begins anew. */
struct shed {
    bool has_looked;
    int64_t looked_ns;  /* when the bytes were estimated */
    int64_t rest_bytes; /* of rows that are no event, memory event or counter; an estimate */
    bool is_done;       /* there was nothing to drop then */
};

/** Whether rows of that kind have more than half of `budget_bytes`, of which `used_bytes` are in
 *  use, and some may go. Estimates once a second. Returns 1, 0 or a negative errno. */
int store_shed_is_due(struct store *store, int64_t used_bytes, int64_t budget_bytes, int64_t now_ns,
                      struct diag *diag);

/** One step of some thousand rows, in the transaction at hand. Returns 1 when something went, 0
 * when nothing may go, or a negative errno. */
int store_shed_step(struct store *store, int64_t now_ns, struct diag *diag);

#endif
