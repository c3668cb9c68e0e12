/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one session of this process: what it defined, its connection to the daemon, its threads. All
 * of it is guarded by one lock, which the hot path never takes.
 *
 * A session is what the daemon stores under one uuid. It survives the loss of its connection. After
 * stop and start, in a child after fork(), or when the daemon says that it ended, `epoch` counts up
 * and each thread moves to a new ring.
 *
 * Who calls whom: state.c stands below all others; above it threads and their rings (thread.h,
 * thread_end.h, loss_ring.h, orphan.h), above these connect.h, then what a thread does by itself
 * (thread_ring.h, thread_life.h, polling.h), then the calls of optrace.h. session.c, which starts
 * and stops all of it, stands above.
 */
#ifndef OPTRACE_CLIENT_SESSION_H
#define OPTRACE_CLIENT_SESSION_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "client/link.h"
#include "client/log.h"
#include "client/thread.h"

struct ot_settings {
    char socket_path[OT_LINK_PATH_BYTES]; /* "": the default places, looked up at each try */
    char program[256];
    bool hides_command; /* the daemon is not told the command line */
    uint32_t ring_records;
    uint32_t connect_timeout_ms;
    uint32_t exit_timeout_ms;
    uint32_t counters;        /* a bit per enum ot_counter that can be read here */
    struct ot_wire_plan plan; /* when to record, by the program's own will; all zero: always */
};

enum ot_phase {
    OT_PHASE_CLOSED,  /* no connection */
    OT_PHASE_GREETED, /* HELLO is sent, WELCOME not here yet */
    OT_PHASE_OPEN,
};

/* A call of optrace_flush(), on its thread's stack. */
struct ot_flush {
    struct ot_flush *next;
    uint64_t token;
    bool is_answered, is_durable; /* as FLUSHED says */
    int status;
};

struct ot_session {
    pthread_mutex_t lock;
    struct ot_settings settings;
    uint32_t starts;  /* optrace_start() calls not yet undone */
    bool is_stopping; /* nothing is recorded any more */
    bool refused;     /* the daemon said no; no more tries until the next start */
    bool welcomed;    /* this session has been accepted once: its level holds while disconnected */
    bool forked;      /* a child that has not connected yet */
    uint64_t fork_state; /* ot_hot.state of the thread that is forking */
    bool fork_is_nested; /* it forks from within the library */
    uint8_t uuid[16];
    uint32_t epoch;       /* both are read without the lock, too */
    uint32_t saved_epoch; /* the latest that ended in a BYE: the daemon saves what its rings hold */
    uint64_t session_id;  /* the daemon's number */
    uint64_t features;    /* what both sides can do */
    uint16_t frame_flags; /* of frames that say that all rings are handed over */
    uint32_t unknown_run_flags; /* of RUN records, to an older daemon; read without the lock */
    uint64_t refused_count;     /* records that daemons refused, of all sessions */
    int error;                  /* why there is no connection: errno, negative */
    char problem[256];          /* the same for a person */
    int ring_error;             /* why the latest ring could not be made; 0: it could */

    struct ot_link link;
    enum ot_phase phase;
    uint32_t link_number; /* counts connections that were accepted, all epochs */
    uint32_t hello_count; /* of this session: HELLO.connection */
    uint64_t hello_ns;    /* CLOCK_REALTIME of its first HELLO; 0: none was sent */
    size_t log_sent;      /* bytes of the log that this connection got */
    bool stuck;           /* the daemon does not read; do not wait for it again */
    uint64_t retry_ns;    /* CLOCK_MONOTONIC of the next try to connect */
    uint32_t backoff_ms;
    uint64_t greeted_ns;
    uint64_t opened_ns;
    uint64_t clock_ns;        /* of the latest CLOCK */
    struct ot_wire_plan told; /* what the daemon was told of the schedule */
    bool has_told;            /* on this connection */
    uint64_t told_ns;         /* CLOCK_MONOTONIC */
    uint64_t flush_token;
    struct ot_flush *flushes; /* that wait for their answers */

    uint64_t ticks_per_s;          /* threads that record read it without the lock */
    struct ot_clock_triple origin; /* read when the library was loaded */

    struct ot_counters_session {
        uint32_t asked; /* a bit per enum ot_counter; settings.counters has those that can be */
        uint32_t ops[OT_COUNTERS];
        char text[512]; /* which are read, which are not and why; "": none was asked for */
    } counters;

    struct ot_log log;
    struct ot_thread *threads;
    struct ot_thread *spares; /* of these, ended ones whose rings are to be used again */
    uint64_t due_ticks;       /* of the housekeeping, whichever thread does it */
    uint64_t ring_records;    /* of all rings that exist */
    uint32_t ring_count;
    uint32_t crowded_count; /* there was no room beside so many: nobody looks again before ... */
    uint64_t crowded_ticks; /* ... unless one goes */
    uint32_t ring_next_id;
    uint32_t thread_serial;
    uint64_t lost[OT_LOSS_NO_MEMORY + 1]; /* of threads that are freed */
};
extern struct ot_session ot_session;

/**
 * Take the lock. False when this thread has it already: code of the program that the library called
 * (an allocator that records) came back; it must do without. Turns thread cancellation off until
 * ot_leave().
 */
bool ot_enter(void);

/** The thread has taken the lock itself. */
void ot_entered(void);

/** As ot_enter(), false also when another thread has it. */
bool ot_try_enter(void);
void ot_leave(void);

/** Publish what is recorded from now on: for schedule.h, which decides. Needs the lock. */
void ot_session_set_level(uint32_t level);

/** Begin a new session: new uuid, and each thread is called to move to a new ring. Needs the lock.
 */
int ot_session_renew(void);

/** The daemon has what rings hold until now, and will not be told of more. Needs the lock. */
static inline void ot_session_set_saved(void)
{
    __atomic_store_n(&ot_session.saved_epoch, ot_session.epoch, __ATOMIC_SEQ_CST);
}

/** Of flags of a RUN record those that the daemon knows. Any thread. */
static inline uint16_t ot_run_flags_known(uint16_t flags)
{
    return (uint16_t)(flags & ~__atomic_load_n(&ot_session.unknown_run_flags, __ATOMIC_RELAXED));
}

/** OPTRACE_DISABLE says so. */
bool ot_session_is_disabled(void);

#endif
