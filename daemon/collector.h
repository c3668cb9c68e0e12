/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The middle of the daemon: sessions on one side, the writer on the other. It fills the open batch
 * from rings, hands it over when it is due, and acts on what was committed: room goes back to the
 * clients, flushes are answered, sessions that are over are given up.
 *
 * Sessions take turns: each may bring so many records, from its rings and from its frames, then it
 * is the next one's turn. So a program that records as fast as it can gets what others leave.
 *
 * When the writer does not keep up, collector_room() returns NULL: then nothing is read any more,
 * rings fill up and their clients drop and count, until a batch comes back.
 *
 * Loop thread only; nothing waits for the disk, except when a session is looked for in the store.
 */
#ifndef OPTRACE_DAEMON_COLLECTOR_H
#define OPTRACE_DAEMON_COLLECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

#include "base/diag.h"
#include "daemon/batch.h"
#include "daemon/notify.h"
#include "daemon/session.h"
#include "daemon/writer.h"
#include "schema/store/store.h"
#include "schema/store/retain.h"
#include "schema/wire/wire.h"

struct collector;
struct producer;

/* What the collector tells its surroundings. */
struct collector_events {
    void *context;
    /* The records before a FLUSH are committed (0), or cannot be for now (a negative errno). */
    void (*on_flushed)(void *context, struct producer *producer, uint64_t token, bool is_durable,
                       int status);
    /* A ring of this connection holds nonsense; it is to be cut off. */
    void (*on_nonsense)(void *context, struct producer *producer, const char *text);
    /* The session of this connection, which is hung up, goes on with another one. */
    void (*on_replaced)(void *context, struct producer *producer);
    /* There is room again after collector_turn() returned NULL: for connections without a session.
     */
    void (*on_room)(void *context);
    /* It is the turn of this session's connection, which may wait because collector_turn() returned
     * NULL or its rings are not read. True when it still waits. */
    bool (*on_turn)(void *context, struct producer *producer);
    /* The last session is gone; or, after collector_stop(), everything is committed or given up. */
    void (*on_empty)(void *context);
    /* The store's file is not where it was: nothing can be stored any more. Called once, and not
     * while stopping; collector_stop() is to follow. */
    void (*on_lost_store)(void *context, const char *text);
};

/* Where rows go. */
struct collector_store {
    struct store *store; /* open for writing */
    const char *path;    /* of it, for a second handle that only reads */
    struct store_bounds bounds;
};

/**
 * Take a store and start the writer.
 *
 * store  what it points to is borrowed until collector_destroy()
 */
int collector_create(uv_loop_t *loop, const struct collector_store *store,
                     const struct collector_events *events, struct collector **out_collector,
                     struct diag *diag);

/** Stops the writer; all connections are closed before, and collector_is_empty() holds. Run the
 *  loop once more before closing it. */
void collector_destroy(struct collector **collector);

/** The batch to put rows into, or NULL when there is no room at the moment. Ask again for each
 *  frame and for each few hundred records. */
struct batch *collector_room(struct collector *collector);

/** The same for what comes in frames: NULL also while others are in line. Then on_room() or
 * on_turn() comes. */
struct batch *collector_turn(struct collector *collector);

/** The open batch even when it is full: for counting losses. */
struct batch *collector_open_batch(struct collector *collector);

/** 0, or why the store cannot be written at the moment. */
int collector_trouble(const struct collector *collector);

/** As writer_busy_ns(). */
uint64_t collector_writer_ns(const struct collector *collector);

/** Where new rows get their numbers. */
struct store_ids *collector_ids(struct collector *collector);

/**
 * A client says HELLO: a new session, or one that goes on after its connection, or the daemon,
 * broke. There must be room.
 *
 * peer           all but its budget and the environment, which are set here
 * is_alive       tells whether another connection of the same session still stands; one that does
 *                not is told by on_replaced()
 * out_session    written when *out_status is OT_WELCOME_OK; it belongs to `producer` from now on
 * out_status     enum ot_wire_welcome_status
 *
 * Returns 0, or -EPROTO with the reason.
 */
int collector_hello(struct collector *collector, struct producer *producer,
                    const struct ot_wire_hello_view *hello, struct session_peer *peer,
                    bool (*is_alive)(const struct producer *producer), struct session **out_session,
                    enum ot_wire_welcome_status *out_status, struct diag *diag);

/** Take a ring that was kept while no daemon was there (see keep.h); what cannot be used is
 * forgotten, with a logged line. Before the loop runs. The caller closes the fd. */
void collector_adopt_ring(struct collector *collector, const struct notify_fd *kept);

/** Read the rings of a session soon: now, if nobody is in line, as much as one turn allows. */
void collector_read_rings(struct collector *collector, struct session *session);

/** Answer with on_flushed once all that was read so far is committed, and with `is_durable` on the
 *  disk; commits at once. */
void collector_flush(struct collector *collector, struct producer *producer, uint64_t token,
                     bool is_durable);

/** The connection is gone without BYE. The session goes on while its process lives, for a few
 *  seconds: the client may come back. */
void collector_leave(struct collector *collector, struct session *session);

/** The session is over: drain its rings, put open spans as unfinished, end it.
 *
 *  reason  a static text: done, died or cut off
 *  note    copied; may be NULL */
void collector_end(struct collector *collector, struct session *session, const char *reason,
                   const char *note);

/** The same for a session that is in the way, connected or not; its client is told. */
void collector_cut_off(struct collector *collector, struct session *session, const char *text);

/** No answer will be wanted any more by this connection. */
void collector_forget(struct collector *collector, struct producer *producer);

/** Drain all rings and commit, then call on_empty. Sessions stay open for the next daemon. */
void collector_stop(struct collector *collector);

/** After collector_stop(). */
bool collector_is_stopping(const struct collector *collector);

/** Once on_empty was called after collector_stop(): 0, or -EIO when not all was stored, with the
 *  count of what is lost and of what still lies in the rings of programs that run, in diag. */
int collector_check_stored(const struct collector *collector, struct diag *diag);

/** The session of the smallest number that is not below `first` and not over; NULL: none. */
struct session *collector_next_session(struct collector *collector, int64_t first);

/** The first of all sessions, in no order, also those that are over; the others by `next`. */
struct session *collector_sessions(const struct collector *collector);

/** True when no session is there. */
bool collector_is_empty(const struct collector *collector);

#endif
