/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --sanity-check: that nobody changes a tensor between the step that makes it and those that read
 * it, in one run. Each is summed up where it was made and again before each step that reads it, on
 * the worker, as an observer of the execution; inputs and parameters from the beginning on, and
 * once more at the end.
 *
 * Order: sanity_create(), which observes from then on, one run, sanity_finish().
 */
#ifndef OPTRACE_RUNTIME_MODES_SANITY_H
#define OPTRACE_RUNTIME_MODES_SANITY_H

#include "base/diag.h"
#include "runtime/session/session.h"

struct sanity;

/** When a session makes the check. */
enum sanity_choice {
    SANITY_AUTO, /* where operators of a library compute: sanity_is_due() */
    SANITY_ON,
    SANITY_OFF,
};

bool sanity_is_due(enum sanity_choice choice, const struct graph *graph);

/** session: borrowed until sanity_finish(). -ENOMEM, -ENOSPC as exec_add_observer(). */
int sanity_create(struct session *session, struct sanity **out_sanity, struct diag *diag);

struct sanity_result {
    uint64_t tensors; /* that were looked at */
    uint64_t bytes;   /* read for it, each time counted */
    uint64_t time_ns;
};

/**
 * Stops observing and frees it all. No run is going on. Accepts NULL.
 *
 * Returns 0; -EBADE when a tensor was changed: diag names it, who made it and who was about to read
 * it.
 */
int sanity_finish(struct sanity **sanity, struct sanity_result *out_result, struct diag *diag);

#endif
