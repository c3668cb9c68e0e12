/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the collector's files share. collector_batches.c has the open batch, collector_roster.c knows
 * who is there, collector_end.c and collector_sessions.c who goes and comes, collector_turns.c reads
 * what sessions bring, collector_done.c acts on commits; collector.c drives them all, and none of
 * them calls it. Nobody else includes this.
 */
#ifndef OPTRACE_DAEMON_COLLECTOR_PRIVATE_H
#define OPTRACE_DAEMON_COLLECTOR_PRIVATE_H

#include "daemon/alarm.h"
#include "daemon/collector.h"
#include "daemon/roster.h"

/* How often rings are read that fill slowly, and what was read is committed: each visit of a
 * session writes two cursors, and each commit a dozen pages besides its events. So many sessions
 * wait for longer. */
enum { PACE_BUSY_MS = 10, PACE_CALM_MS = 500, PACE_MAX_MS = 1000, PACE_SESSION_MS = 5 };
enum { NEW_SESSION_MS = 20 }; /* a batch that has a new session is committed after this */

struct collector {
    struct collector_events events;
    struct writer *writer;
    struct store *reader;
    int64_t budget_bytes; /* of the store; 0: none */
    struct store_ids ids;
    char *environment;       /* what machine_describe() said; NULL: nothing yet */
    uint64_t environment_ns; /* CLOCK_MONOTONIC when it did */
    struct session_budget budget;
    struct batch *open;
    struct batch *in_flight[WRITER_QUEUE_MAX]; /* NULL: unused */
    struct batch_spares spares;                /* more than is filled and written */
    struct roster roster;
    struct session *turn; /* whose it is; NULL: the first one's */
    struct alarm alarm;
    struct alarm strays_alarm;
    unsigned open_alarms;
    unsigned pace_ms;
    uint64_t due_ns;   /* CLOCK_MONOTONIC when a batch was last handed over because of the time */
    bool commits_soon; /* a flush waits, or a ring is half full */
    bool has_new;      /* the open batch has a session that the store does not know */
    bool has_read;     /* rings were read, since a batch was last handed over */
    bool lacks_room;   /* collector_room() has returned NULL */
    bool is_behind;    /* sessions are in line, and there is room */
    bool is_ringing;   /* on_alarm() runs, and sets the next alarm itself */
    bool is_stopping;
    bool is_drained;   /* while stopping: all rings were read once more */
    uint64_t given_up; /* events that could not be stored at the end */
    char trouble[sizeof(((struct diag *)0)->text)]; /* why not */
};

/* --- collector_batches.c --- */

/** Something is to be done: at once when that is of use, else at the usual pace. What waits for the
 * writer is not hurried: collector_on_done() comes. */
void collector_schedule(struct collector *collector);

/** True when there is something to commit; that rings were read, if only to find nothing in them
 * that makes a row, counts: they are to get their room back. */
bool collector_has_work(const struct collector *collector);

/** The longest pause between two looks at rings. */
unsigned collector_calm_pace_ms(const struct collector *collector);

/** An empty batch. */
struct batch *collector_take_spare(struct collector *collector);

/** Hands the open batch over when it is due. */
void collector_commit_when_due(struct collector *collector);

/** Tells that all is stored, when it is stopping and that is so. */
void collector_check_stopped(struct collector *collector);

/* --- collector_turns.c --- */

/** All sessions take turns, from the one on where the last round ended. Returns true when all was
 * read; else there is no room, or it is time to look at the sockets. */
bool collector_read_all(struct collector *collector);

/* --- collector_end.c --- */

/** A session without connection ends with its process, or when it does not come back. */
void collector_check_alone(struct collector *collector, struct session *session);

/** Its rings are drained: the last rows. */
void collector_finish(struct collector *collector, struct session *session);

/* --- collector_roster.c --- */

/** Out of the list; whoever asks destroys it. */
void collector_unlink(struct collector *collector, struct session *session);

/* --- collector_sessions.c --- */

/** An alarm: ends sessions whose client never came back. The collector is the context. */
void collector_end_strays(void *context);

/* --- collector_done.c --- */

/** What the writer calls; the collector is the context. */
void collector_on_done(void *context, struct batch *batch);
void collector_on_trouble(void *context, int error, const char *text);

#endif
