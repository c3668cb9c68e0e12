/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dropping whole sessions that ended long ago, with all of their rows, in steps: what was recorded
 * first, counted in `dropped`, then runs, then all the rest at once. A session of which only a part
 * is gone is gone on with, also by the next process.
 *
 * Imported sessions stay, such that hold a calibration, and those of the last batch of events.
 */
#ifndef OPTRACE_SCHEMA_STORE_FORGET_H
#define OPTRACE_SCHEMA_STORE_FORGET_H

#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

struct store;

/* How far a writer has come. {0} begins anew. */
struct forget {
    int64_t session_id; /* that is being dropped; 0: none is */
    int64_t looked_ns;  /* when no session was found */
    int64_t after;      /* rowid: rows of the part up to here were looked at */
    size_t part;        /* of the session */
};

/** Whether a session that ended before `before_ns` is to be dropped. Looks every ten seconds only.
 *  Returns 1, 0 or a negative errno. */
int store_forget_find(struct store *store, int64_t before_ns, int64_t now_ns, struct diag *diag);

/** After store_forget_find() has returned 1: a step of some thousand rows, in the transaction at
 *  hand. *out_rows is how many rows of event, memory_event and counter went. Returns 0 or a
 * negative errno. */
int store_forget_step(struct store *store, int64_t now_ns, size_t *out_rows, struct diag *diag);

#endif
