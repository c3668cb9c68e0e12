/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tests/flow/crash_producer.c records, told to whoever checks what became of it.
 *
 *     crash_producer NOTES THREADS EVENTS PAUSE_US
 *
 * Each of THREADS threads (0, 1, ...) records events number 1, 2, 3, ... in this order, each a
 * function of thread and number: crash_event(). It notes a number in the file NOTES right after the
 * call that recorded it has returned. After a SIGKILL at any moment, the store must hold, of each
 * thread, exactly the events 1 to n, where noted <= n <= noted + 1: each once, and nothing else but
 * unfinished spans. PAUSE_US microseconds pass between two runs, so that a daemon can keep up; what
 * is dropped for want of room is in `lost`. EVENTS 0 stays until SIGTERM; then, as after EVENTS
 * events, it flushes, notes `done` and exits with 0.
 *
 * The daemon is the one of $OPTRACE_SOCKET and must be there at the start (else exit 4). Ops are
 * named "inner", "copy", "outer", "mark", "counter" and "memory".
 */
#ifndef OPTRACE_TESTS_FLOW_CRASH_EVENTS_H
#define OPTRACE_TESTS_FLOW_CRASH_EVENTS_H

#include <stdint.h>

enum {
    CRASH_MAGIC = 0x43524153,
    CRASH_THREADS_MAX = 16,
    CRASH_STEPS = 16,                       /* of one run; each gives three events */
    CRASH_RUN_EVENTS = 3 * CRASH_STEPS + 1, /* the run itself is the last one */
    CRASH_RUNS_MAX = 1 << 16,               /* noted per thread; it records no more of them */
};

/** One thread's notes; all numbers only grow. */
struct crash_thread {
    uint64_t noted;     /* the last event whose call has returned */
    uint32_t lane;      /* the client's id of the thread's lane */
    uint32_t run_count; /* of runs whose number stands in `runs`: the last one may be unfinished */
    uint32_t runs[CRASH_RUNS_MAX]; /* the client's numbers of the thread's runs, in order */
};

struct crash_notes {
    uint32_t magic;
    uint32_t thread_count;
    uint32_t ready; /* 1: every thread has recorded something */
    uint32_t done;  /* 1: orderly end, all is flushed */
    uint64_t lost;  /* records dropped, when a thread last looked (after each of its runs) */
    struct crash_thread threads[CRASH_THREADS_MAX];
};

enum crash_what {
    CRASH_INNER,   /* span of op "inner", with kern; correlation is the id */
    CRASH_COPY,    /* copy of op "copy", with `bytes`; correlation is the id */
    CRASH_OUTER,   /* span of op "outer", around the inner one and the point; correlation the id */
    CRASH_MARK,    /* correlation is the id */
    CRASH_COUNTER, /* value is the id */
    CRASH_ALLOC,   /* address is the id; `bytes` */
    CRASH_FREE,    /* address is that of the alloc three events before; `bytes` is its negative */
    CRASH_RUN,     /* around 16 steps; its number is runs[run_index] */
};

struct crash_event {
    enum crash_what what;
    uint64_t id;        /* unique over all threads; below 2^53 */
    int64_t bytes;      /* 0 where the kind has none */
    uint64_t address;   /* the same */
    uint32_t run_index; /* of the run that it belongs to, or is */
};

static inline uint64_t crash_id(uint32_t thread, uint64_t number)
{
    return (uint64_t)(thread + 1) << 40 | number;
}

static inline int64_t crash_bytes(uint64_t number)
{
    return 64 + (int64_t)(number % 4096);
}

/** Event `number` (from 1) of a thread. */
static inline struct crash_event crash_event(uint32_t thread, uint64_t number)
{
    static const enum crash_what points[] = {CRASH_MARK, CRASH_COUNTER, CRASH_ALLOC, CRASH_FREE};
    const uint64_t place = (number - 1) % CRASH_RUN_EVENTS;
    struct crash_event event = {
        .what = CRASH_RUN,
        .id = crash_id(thread, number),
        .run_index = (uint32_t)((number - 1) / CRASH_RUN_EVENTS),
    };

    if (place == CRASH_RUN_EVENTS - 1)
        return event;
    switch (place % 3) {
    case 0:
        event.what = place / 3 % 5 == 4 ? CRASH_COPY : CRASH_INNER;
        event.bytes = event.what == CRASH_COPY ? crash_bytes(number) : 0;
        break;
    case 1:
        event.what = points[place / 3 % 4];
        if (event.what == CRASH_ALLOC || event.what == CRASH_FREE) {
            uint64_t alloc = event.what == CRASH_ALLOC ? number : number - 3;

            event.address = crash_id(thread, alloc);
            event.bytes = event.what == CRASH_ALLOC ? crash_bytes(alloc) : -crash_bytes(alloc);
        }
        break;
    default:
        event.what = CRASH_OUTER;
    }
    return event;
}

#endif
