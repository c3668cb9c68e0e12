/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the daemon knows of one session: who it is, what it has defined, its clock and its rings.
 *
 * A session outlives its connection: after the end of the program its rings are drained first, and
 * it stays until the row that ends it is committed, because rows on their way borrow its texts.
 *
 * session_create(), or session_resume() of resume.h; define_...() of define.h as frames come;
 * session_add_ring(); session_put_cursors() for each batch; session_put_end(); session_destroy().
 * Loop thread only. No I/O.
 */
#ifndef OPTRACE_DAEMON_SESSION_H
#define OPTRACE_DAEMON_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/diag.h"
#include "daemon/arena.h"
#include "daemon/batch.h"
#include "daemon/clock.h"
#include "daemon/identity.h"
#include "daemon/pace.h"
#include "daemon/ring.h"
#include "schema/wire/wire.h"

/* The client's numbers to the store's. 0: not defined. */
struct id_table {
    int64_t *ids;
    uint32_t count; /* client numbers are below */
};

/* A text that a client has defined. */
struct known_text {
    const char *text; /* in the arena; NULL: not defined */
    uint32_t length;
    /* Its number in the store's table of long texts, and that of the JSON string; 0: not there. */
    uint32_t store_id, json_id;
};

/* The client's numbers of texts. */
struct text_table {
    struct known_text *texts;
    uint32_t count;
    uint32_t stored_count; /* numbers of the store up to this are in use */
    struct arena arena;
};

/* What sessions share. */
enum room_kind { ROOM_SESSIONS, ROOM_DEFINITIONS, ROOM_RINGS };

struct session;

/* What all sessions together hold; each has a pointer to the collector's. Sessions that are over
 * hold it a little longer, until their end is committed; that is counted apart. */
struct session_budget {
    size_t session_count, over_count;
    size_t definition_bytes, over_bytes; /* texts and tables of ids */
    size_t ring_count;
    int64_t stored_bytes, stored_max; /* see share.h; 0: without bound */
    void *context;
    /* Ends a session of a process that holds more than this one, which wants so much more. Returns
     * false when there is none. NULL: nobody gives way. */
    bool (*make_room)(void *context, enum room_kind kind, const struct session *session,
                      uint64_t wanted);
};

/* How far a ring had come when the last daemon ended; from the store. */
struct session_cursor {
    uint32_t ring_id;
    uint64_t committed;
    uint64_t gap_seen[OT_RING_GAPS];
};

struct session {
    struct session_budget *budget;
    size_t definition_bytes; /* its part of the budget */
    int64_t stored_bytes;    /* the same of what is in the store */
    bool said_share;         /* that it has had its share */
    int64_t session_id;
    uint8_t uuid[16];
    int64_t pid; /* as the kernel says */
    uid_t uid;
    int64_t start_ns;
    int64_t end_ns; /* once it is over */
    char *program;  /* for people, owned; may be cut */
    char *command;
    uint64_t features;    /* what both sides can do, of the latest connection */
    uint64_t event_count; /* records taken since the daemon started */
    uint64_t lost_count;
    struct pace pace;
    uint64_t refused_count;     /* of these, records that made no sense */
    uint64_t refused_told;      /* of these, the client knows */
    uint32_t refused_reason;    /* enum ot_wire_loss, of the first of them */
    double refused_distance_s;  /* how far from now it said it was; negative: in the past */
    bool has_said_refusal;      /* in the log */
    uint32_t level;             /* what it records now, as far as is known */
    struct ot_wire_plan plan;   /* as commanded; command_id 0: nothing was */
    struct ot_wire_plan report; /* what its client last told */
    struct tick_clock clock;
    struct text_table texts;
    struct id_table models, ops, lanes;

    ARRAY_OF(struct ring *) rings;
    uint64_t ring_records; /* of all rings together */
    size_t next_ring;      /* whose turn it is; counts on, modulo their number */
    ARRAY_OF(struct session_cursor) cursors;
    ARRAY_OF(uint32_t) gone_rings; /* whose cursors are to be dropped with the next rows */
    ARRAY_OF(uint32_t) kept_rings; /* ids of those that the service manager keeps, see keep.h */
    uint64_t inline_next;          /* sequence number of the next inline record */
    bool is_new_to_store;          /* its client has sent records before, to another store */
    bool is_coming_back; /* its client has not said yet that it has handed over its rings again, or
                            says that there are some that it cannot */
    bool has_begun;      /* it records, and has not handed over a ring yet */
    int64_t complete_ns; /* CLOCK_REALTIME: all that it recorded before is taken; 0: not known */
    char process[IDENTITY_BYTES]; /* which process it is of, see identity.h */

    bool has_repeated_run;     /* has given a number twice; said once */
    bool frames_wait;          /* its connection is not read until there is room */
    uint64_t caught_up_ns;     /* CLOCK_MONOTONIC when that last ended, or it connected */
    bool is_touched;           /* has rows in the open batch */
    bool is_over;              /* counted as such in the budget */
    bool is_ended;             /* the row that ends it is on its way */
    const char *end_reason;    /* it is over, its rings are being drained; a static text */
    char *end_note;            /* owned, or NULL */
    struct producer *producer; /* its connection, or NULL */
    uint64_t alone_since_ns;   /* without connection since then; 0: connected */
    int process_fd;            /* a pidfd, or -1 */
    struct session *next;      /* for the collector */
};

/* Who connected. */
struct session_peer {
    int64_t pid; /* what the kernel says of it */
    uid_t uid;
    uint64_t ticks_per_s; /* of the TSC, as the daemon measured it */
    uint64_t now_ns;      /* CLOCK_BOOTTIME */
    struct session_budget *budget;
    const char *environment; /* what machine_describe() said, or NULL; borrowed for the call */
};

/**
 * A new session from its HELLO.
 *
 * ids          numbers in use so far; counted on
 * out_session  written only on success
 *
 * Adds its row to the batch. Returns 0, or -EPROTO with the reason.
 */
int session_create(const struct ot_wire_hello_view *hello, const struct session_peer *peer,
                   struct store_ids *ids, struct batch *batch, struct session **out_session,
                   struct diag *diag);

/** An empty session, for session_create() and session_resume(). */
struct session *session_alloc(const uint8_t uuid[16], struct session_budget *budget);

/** It is over: what it holds is no longer in the way of others. */
void session_leave_budget(struct session *session);

/** Follow its process from now on, as the kernel knows it by its pid. */
void session_watch_process(struct session *session);

/** Whether that process is there still. */
bool session_process_lives(const struct session *session);

/** What the programs of these sessions, from this one on, still have in their rings, read or not:
 *  nothing of it was given back. Those that are over do not count. */
uint64_t session_count_left(const struct session *first);

/** Gives up rings and memory; NULL inside is allowed. */
void session_destroy(struct session **session);

/** Say in the log, once, that records of it are refused, and why. */
void session_say_refusal(struct session *session);
/** Ticks per second of the TSC, measured since then. */
uint64_t session_measure_rate(const struct ot_clock_triple *since);

/** The triple of a HELLO. */
struct ot_clock_triple session_hello_triple(const struct ot_wire_hello *hello);

/** Take over how it calls itself. */
void session_set_names(struct session *session, struct ot_text program, struct ot_text command);

/** Spans that its threads are in. */
uint64_t session_open_count(const struct session *session);

/** The store's number, or 0. */
static inline int64_t id_table_get(const struct id_table *table, uint32_t id)
{
    return id < table->count ? table->ids[id] : 0;
}

/** Make room for an id, which is within the contract's limit. Returns 0, or -EPROTO when all
 * sessions together hold too much. */
int session_reserve_id(struct session *session, struct id_table *table, uint32_t id,
                       struct diag *diag);

/** The same for a text of `length` bytes. */
int session_reserve_text(struct session *session, uint32_t id, size_t length, struct diag *diag);

/** There must be room. */
static inline void id_table_set(struct id_table *table, uint32_t id, int64_t value)
{
    table->ids[id] = value;
}

/**
 * Take a ring: it goes on where the store says, else where its own tail stands. One that is here
 * already, handed over again after the connection broke, just goes on.
 *
 * fd  borrowed
 *
 * Returns 0; -EPROTO with the reason; another errno when the system refuses.
 */
int session_add_ring(struct session *session, int fd, const struct ot_wire_ring *announced,
                     struct diag *diag);

/** Note how far its rings have come: up to there they must be read before a FLUSH is answered. */
void session_mark_rings(struct session *session);

/** True when they are read up to the mark, or wait for definitions. */
bool session_is_read_to_mark(const struct session *session);

/** Let go of the rings whose threads have ended and whose records are all committed. */
void session_drop_closed_rings(struct session *session);

/** Let go of all rings. */
void session_drop_rings(struct session *session);

/** When the batch has rows of it: add how far it has come, and the marks that give the rings' room
 *  back once that is committed. */
void session_put_cursors(struct session *session, struct batch *batch);

/** Add the row that ends it, and the marks that give the rings' room back; end_reason is set and
 * its rings are drained. */
void session_put_end(struct session *session, struct batch *batch);

#endif
