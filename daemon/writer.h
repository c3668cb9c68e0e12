/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread that writes batches to the store, one transaction each, in the order they come, and
 * the bounded queue in front of it. The loop never waits for a commit: it hands a batch over with
 * writer_submit() when writer_has_room(), and gets it back through `on_done`.
 *
 * When the store cannot be written, the writer keeps the batch and tries again, less and less
 * often; meanwhile the queue fills up and the loop stops reading: what programs record stays in
 * their rings. `on_trouble` tells when that begins and ends.
 *
 * A store whose file is deleted, renamed or replaced is trouble of its own, -ESTALE, that does not
 * end: batches are given up, also one that was just committed, so that rings keep what is in them.
 * It is looked for around each commit, and twice a second.
 *
 * After each batch, and while none comes, the thread drops what is out of the store's bounds
 * (retain.h), a slice at a time.
 *
 * All functions and callbacks: loop thread.
 */
#ifndef OPTRACE_DAEMON_WRITER_H
#define OPTRACE_DAEMON_WRITER_H

#include <stdbool.h>

#include <uv.h>

#include "base/diag.h"
#include "daemon/batch.h"
#include "schema/store/store.h"
#include "schema/store/retain.h"

enum { WRITER_QUEUE_MAX = 4 }; /* batches handed over and not yet returned */

struct writer;

struct writer_events {
    void *context;
    /* The batch is committed (status 0), or given up because the writer was told to stop. The
     * callee owns it again. */
    void (*on_done)(void *context, struct batch *batch);
    /* error < 0: the store cannot be written, for the reason in text; the writer goes on trying.
     * 0: it can again. */
    void (*on_trouble)(void *context, int error, const char *text);
};

/**
 * Start the thread.
 *
 * store   open for writing; the writer's own until writer_stop()
 * bounds  to keep it within; NULL: none
 *
 * Returns 0 or a negative errno.
 */
int writer_start(uv_loop_t *loop, struct store *store, const struct store_bounds *bounds,
                 const struct writer_events *events, struct writer **out_writer, struct diag *diag);

/** How much a batch may have for the store's budget. */
int64_t writer_batch_bytes(const struct writer *writer);

/** What the budget leaves for the store's pages; 0: it has none. */
int64_t writer_pages_bytes(const struct writer *writer);

/** True when one more batch may be handed over. */
bool writer_has_room(const struct writer *writer);

/** True when batches are handed over that have not come back. */
bool writer_is_busy(const struct writer *writer);

/** 0, or why the store cannot be written at the moment. */
int writer_trouble(const struct writer *writer);

/** For how long the thread is at one try to commit, or at one slice of what is to be dropped, in
 * ns; 0: it waits. */
uint64_t writer_busy_ns(struct writer *writer);

/** Hand a batch over; writer_has_room() must hold. It may be read but not changed until it comes
 *  back, except for marks, waiters and ends. */
void writer_submit(struct writer *writer, struct batch *batch);

/** From now on a batch that cannot be written is given up after one try, and all that come after
 *  it: what they say of how far rings are stored would not be true. */
void writer_give_up(struct writer *writer);

/** End the thread; writer_is_busy() must not hold. Nulls the pointer and gives the store back to
 *  its owner. The handle in the loop is closed; run the loop once more before closing it. */
void writer_stop(struct writer **writer);

#endif
