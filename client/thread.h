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
#include "schema/wire.h"

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
    uint64_t
        lane_run; /* as in a record: the thread's lane, and its current run in the upper half */
    struct ot_thread *thread;
    uint64_t correlation;
    uint64_t due;                 /* ticks from which on the housekeeping is due */
    struct ot_counters *counters; /* of CPU counters; NULL: spans have none */
    int cancel_state;             /* while busy */
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
    struct ot_counters *counters; /* or NULL */

    uint64_t pause_ticks; /* losses further apart than this have a time range of their own */
    uint64_t bell_ticks;  /* no doorbell before this */
    uint64_t retry_ticks; /* no new try to make a ring before this */

    /* Counters for optrace_lost(), by enum ot_wire_loss; written by the thread. */
    uint64_t lost[OT_LOSS_NO_MEMORY + 1];
};

/** Which clock the ticks are. Set once, before anything is recorded. */
enum ot_tick_clock { OT_TICKS_UNKNOWN, OT_TICKS_TSC, OT_TICKS_MONOTONIC };
extern enum ot_tick_clock ot_tick_clock;

uint64_t ot_ticks_monotonic(void) __attribute__((cold));

static inline uint64_t ot_ticks(void)
{
    if (__builtin_expect(__atomic_load_n(&ot_tick_clock, __ATOMIC_RELAXED) == OT_TICKS_TSC, 1))
        return ot_clock_ticks();
    return ot_ticks_monotonic();
}

/** Whether a deadline, which is never set further ahead than a second, has come. The counter may
 *  have jumped back since: then it has, too. Needs no lock. */
bool ot_is_past(uint64_t deadline, uint64_t now);

/** Ticks in so many ns, which may be UINT64_MAX. Needs no lock. */
uint64_t ot_ns_to_ticks(uint64_t ns);

/** Give the calling thread a ring, connecting first in a forked child. Returns false when it has
 *  none now: recording is off, or it cannot be made (then the loss is to be counted by
 *  ot_thread_lost_here()). */
bool ot_thread_attach(uint64_t now);

/** Make the calling thread's struct, unless it has one. Needs the session's lock. Returns 0 or
 *  -ENOMEM. */
int ot_thread_make(struct ot_thread **out_thread);

/** Give the calling thread its lane, unless it has one. name NULL: as the system calls it. Needs
 *  the session's lock. Errors as ot_lane_pool_take(). */
int ot_thread_take_lane(struct ot_thread *thread, const char *name);

/** The housekeeping of the calling thread, whose deadline has passed: looks after the connection,
 *  moves to the ring of a new session, sets the next deadline. */
void ot_thread_service(uint64_t now);

/** Move the calling thread to a ring of the present session that can be handed over, if it has
 * none. Needs the session's lock. */
void ot_thread_follow(uint64_t now);

/** The program has closed the descriptor of this thread's ring, which is to be handed over: the
 * thread is called to move to a new one. Needs the session's lock. */
void ot_thread_cut_off(struct ot_thread *thread);

/** At the end: what threads hold that were called so, and have not come, is looked after as
 * orphans. Needs the session's lock. */
void ot_thread_leave_cut_off(void);

/** A new session has begun: what ended threads have left in rings of those before, which no daemon
 *  has, is counted as lost. Needs the session's lock. */
void ot_thread_leave_past(void);

/** At the end: the same of threads that live, and have not come to the session. Needs the session's
 *  lock. */
void ot_thread_give_up_past(void);

/** Make room for a record, or find that there is none; rings the daemon's doorbell. Sets
 *  ot_hot.stop. Returns false when the ring is full or there is none. */
bool ot_thread_make_room(uint64_t now);

/** Count one record of the calling thread as lost. `lane` 0 is its own. */
void ot_thread_lose(uint32_t lane, enum ot_wire_loss reason, uint64_t now);

/** Close rings that no thread has asked for a while, and free ended threads whose records the
 * daemon has; with `all`, ended threads altogether. Needs the session's lock. */
void ot_thread_reap(bool all);

/** Call every thread into ot_thread_service(). Needs the session's lock. */
void ot_thread_call_all(void);

/** In a child after fork(): forget all threads but without touching what the parent has. */
void ot_thread_fork_child(void);

/** Totals over all threads, ended ones included. Needs the session's lock. */
void ot_thread_lost(uint64_t out_lost[OT_LOSS_NO_MEMORY + 1]);

/** Records of its ring that are not committed; 0 for numbers that are no ring's. */
uint64_t ot_thread_unread(const struct ot_thread *thread);

/** True while a ring holds records that are not committed, of the present session or of one that
 *  ended without them. Needs the session's lock. */
bool ot_thread_has_records(void);

#endif
