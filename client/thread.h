/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each recording thread has: a few words in thread-local storage that begin and end work with,
 * and a struct on the session's list that outlives the thread until the daemon has its records.
 *
 * A thread's ring and ot_hot are written by that thread only, except ot_hot.deadline and
 * ot_hot.due: others set them to 0 to call the thread into ot_thread_service(). begin and end look
 * at `deadline` only, on x86-64 with the TSC, whichever clock there is; other records at `due`.
 */
#ifndef OPTRACE_CLIENT_THREAD_H
#define OPTRACE_CLIENT_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/clock.h"
#include "client/counters.h"
#include "client/fd.h"
#include "client/ticks.h"
#include "schema/wire/wire.h"

/** ot_hot.state of a thread without a ring: deeper than any span. */
#define OT_STATE_NONE UINT64_MAX

/** First state that begin refuses. */
#define OT_STATE_DEEP ot_ring_state(0, OT_RING_DEPTH_MAX)

struct ot_hot {
    uint64_t state;    /* as in the ring */
    uint64_t deadline; /* ticks from which on begin and end take the slow way; 0: always,
                          on threads whose spans have counters, and where the TSC is not the clock
                          (x86-64) */
    uint64_t stop;     /* head from which on the slow way is taken: full, or time for a doorbell */
    struct ot_ring *ring;
    uint64_t mask; /* record count - 1 */
    /* As in a record: the thread's lane, and its current run in the upper half. */
    uint64_t lane_run;
    struct ot_thread *thread;
    uint64_t correlation;
    uint64_t due;                 /* ticks from which on the housekeeping is due */
    struct ot_counters *counters; /* of CPU counters; NULL: spans have none */
    int cancel_state;             /* while busy */
    uint32_t float_state;         /* while busy; see float_state.h */
    bool busy;                    /* this thread is inside the library, with the lock */
};
extern _Thread_local struct ot_hot ot_hot __attribute__((tls_model("initial-exec")));

struct ot_thread {
    struct ot_thread *next, **at; /* on the session's list */
    struct ot_hot *hot;           /* NULL once the thread has ended */
    struct ot_thread *next_spare; /* ended ones whose rings wait for the next threads */
    uint64_t ended_ns;            /* CLOCK_MONOTONIC */

    struct ot_ring *ring; /* NULL: none */
    struct ot_fd ring_fd;
    uint32_t ring_id;
    uint32_t lane_id;             /* 0: it has none yet */
    uint32_t epoch;               /* session that the ring belongs to */
    uint32_t handed_link;         /* number of the connection that has it; 0: none */
    uint64_t ready;               /* records that there is memory for; all when it is their count */
    bool is_short;                /* it was not to be had lately */
    bool is_cut_off;              /* it cannot be handed over any more: a new one is needed */
    bool is_lent;                 /* and it is looked after as an orphan meanwhile */
    bool is_given_up;             /* what is in it is counted as lost */
    bool losses_are_stored;       /* of an ended thread: those that its ring counts */
    uint64_t losses_token;        /* of the FLUSH whose answer says so; 0: none */
    struct ot_counters *counters; /* or NULL */

    uint64_t pause_ticks; /* losses further apart than this have a time range of their own */
    uint64_t bell_ticks;  /* no doorbell before this */
    uint64_t retry_ticks; /* no new try to make a ring before this */

    /* Counters for optrace_lost(), by enum ot_wire_loss; written by the thread. */
    uint64_t lost[OT_LOSS_NO_MEMORY + 1];
};

/** Give the calling thread its lane, unless it has one. name NULL: as the system calls it. Needs
 *  the session's lock. Errors as ot_lane_pool_take(). */
int ot_thread_take_lane(struct ot_thread *thread, const char *name);

/** When a thread is to come to ot_thread_service() next; 0: at once. */
void ot_thread_set_deadline(struct ot_hot *hot, uint64_t ticks);

/** Open the CPU counters that the program asks for now, close those that it no longer does; of the
 *  calling thread. */
void ot_thread_adapt_counters(struct ot_thread *thread);
void ot_thread_drop_counters(struct ot_thread *thread);

/** Give a thread's ring back to the system. Without one, does nothing. Needs the session's lock. */
void ot_thread_drop_ring(struct ot_thread *thread);

/** Count one record of the calling thread as lost. `lane` 0 is its own. */
void ot_thread_lose(uint32_t lane, enum ot_wire_loss reason, uint64_t now);

/** Call every thread into ot_thread_service(). Needs the session's lock. */
void ot_thread_call_all(void);

/** Totals over all threads, ended ones included. Needs the session's lock. */
void ot_thread_lost(uint64_t out_lost[OT_LOSS_NO_MEMORY + 1]);

/** Add what this thread has lost. Needs the session's lock. */
void ot_thread_add_lost(const struct ot_thread *thread, uint64_t out_lost[OT_LOSS_NO_MEMORY + 1]);

#endif
