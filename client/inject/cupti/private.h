/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of this folder share: the functions of the libcupti in this process, and the ways
 * from its buffers and callbacks into the recorder.
 *
 * Inside this folder only.
 */
#ifndef OPTRACE_CLIENT_INJECT_CUPTI_PRIVATE_H
#define OPTRACE_CLIENT_INJECT_CUPTI_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cupti/library.h"
#include "client/inject/cupti/work.h"

/* How much is asked of CUPTI; each has what the one before it has. */
enum cupti_level {
    CUPTI_LEVEL_HOST,   /* nothing of it */
    CUPTI_LEVEL_GRAPH,  /* kernels, copies, memsets; a graph is one span; launches, copies, waits */
    CUPTI_LEVEL_NODE,   /* kernels of graphs, too */
    CUPTI_LEVEL_MEMORY, /* memory of the device, waits of streams */
    CUPTI_LEVEL_ALL,    /* each call of runtime and driver */
};

/** Others may have CUPTI. */
void cupti_give_back(const struct cupti *cupti, void *subscriber);

/** Say a sentence in the session, as a mark; once for each text. */
void cupti_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* --- short.c --- */

/** Fills in the subscriber, and replaces functions where records are short. Returns 0, or what CUPTI
 *  answered. */
int cupti_subscribe(struct cupti *cupti, cupti_callback *callback);

/** The record as records.h has it; it stays until the next call. NULL: it cannot be read, as where it
 *  is longer than so many bytes. Within cupti_decode(). */
const void *cupti_short_expand(const void *record, size_t bytes);

/* --- levels.c --- */

/** Ask for the records of a level; `library` has a subscriber, and stays. Returns 0, or what CUPTI
 *  answered: then nothing is asked for. cupti_level_begin_calls() for the calls, after it. */
int cupti_level_begin(const struct cupti *library, enum cupti_level wanted);
void cupti_level_begin_calls(void);

enum cupti_level cupti_level_now(void);
const char *cupti_level_name(enum cupti_level which);

/** Take back what the level has more than the one below, and return that: below the levels `node` and
 *  `graph` is `host`, where buffers that are asked for from then on are not read. One thread at a time,
 *  not from where records are handed over. */
enum cupti_level cupti_level_down(void);

/** Another tool has CUPTI next: what it would get of ours is taken back, as far as programs survive
 *  that. */
void cupti_level_leave(void);

/* --- yield.c --- */

/** From here on programs that ask for CUPTI themselves get it. library: whose functions are meant where it
 *  is not known whose. give_back: takes in what was recorded, gives CUPTI back, and says so; false where it
 *  is not ours, as in a child or after the first time. It is called by threads that CUPTI did not call. */
void cupti_yield_begin(void *library, bool (*give_back)(void));

/* --- watch.c --- */

void cupti_watch_begin(void);

/** ns of the CPU that this thread has had. */
uint64_t cupti_watch_now(void);

/** A callback took from start_ns to now, and stands for so many. Any thread. */
void cupti_watch_call(uint64_t start_ns, uint32_t of_calls);

/** CUPTI says that it took this long itself. */
void cupti_watch_overhead(uint64_t ns);

/** Records came, some of them without times; CUPTI had no room for others. */
void cupti_watch_records(uint64_t count, uint64_t invalid);
void cupti_watch_dropped(uint64_t count);

/* What it came to since it was taken last. */
struct cupti_window {
    double cost; /* percent of the time of the threads that called */
    uint64_t records;
    double invalid; /* percent of them */
};

/** False: no records came yet, and what CUPTI takes itself comes with them; after three seconds it is
 *  taken all the same. One thread at a time. */
bool cupti_watch_take(struct cupti_window *out_window);

/** Says it where the clock of the device's times was set since the last time. One thread at a time. */
void cupti_watch_clock(void);

/** Say what all of it came to. */
void cupti_watch_end(void);

/* --- judge.c --- */

void cupti_judge_begin(void);

/** Once a second, one thread at a time: goes a level down where it must, and says so. */
void cupti_judge_look(void);

/* --- graphs.c --- */

/** The ops that a thread was in while it captured something. One per path: compare the address. */
struct cupti_origin {
    const char *path; /* as stack_path() has it, for a JSON string */
    const char *op;   /* the innermost */
};

/** What is known of a node of a graph. */
struct cupti_node {
    const struct cupti_origin *origin; /* NULL: nothing */
    struct cupti_work work;
};

/** A node was made in a capture by this thread, which launches `work`; a node is a copy of another
 *  one, as each is that is replayed. */
void cupti_node_created(uint64_t node, struct cupti_work work);
void cupti_node_cloned(uint64_t node, uint64_t original);

/** The latest 65,536 are known, and some more. */
struct cupti_node cupti_node_find(uint64_t node);

/** What all nodes of a graph were captured in, and what they compute together. */
struct cupti_node cupti_graph_find(uint32_t graph);

/* --- lanes.c, ops.c: numbers of the session, made where they are not there yet; 0: they cannot be.
 * Within cupti_decode(). --- */

/** The lane of a stream, as CUPTI numbers it. */
uint32_t cupti_lane_find(uint32_t device, uint32_t context, uint32_t stream);

/** Its streams may be named by it. */
void cupti_note_context(const struct cupti *cupti, const struct cupti_context *record);

/* Compared as bytes. */
struct cupti_launch {
    int32_t grid[3], block[3];
    uint32_t shared, registers, device, pad;
    struct cupti_work work;
    const struct cupti_origin *origin; /* of a node of a graph; NULL: not known */
};
uint32_t cupti_op_of_kernel(const char *name, const struct cupti_launch *launch);
uint32_t cupti_op_of_copy(const struct cupti_memcpy *record, const struct cupti_origin *origin);
uint32_t cupti_op_of_memset(uint32_t device, const struct cupti_origin *origin);

/** Of a graph that is one. */
uint32_t cupti_op_of_graph(uint32_t device, uint32_t graph);

/* --- buffers.c --- */

/** Room for its records, all of it before the first one is asked for. False: out of memory. */
bool cupti_buffers_open(const struct cupti *cupti);

cupti_request cupti_buffers_request;
cupti_complete cupti_buffers_complete;

/** What CUPTI asks for from now on is not read: cleared, and given again. */
void cupti_buffers_read_no_more(void);

/** What is asked for from here on is not given: another tool's function will be asked. */
void cupti_buffers_give_no_more(void);

/** How many were handed back so far, and how many are with CUPTI that will be read. */
uint64_t cupti_buffers_completed(void);
unsigned cupti_buffers_out(void);

/* --- decode.c --- */

/** A buffer comes: ask for what its first records will take, all at once, in the time of something else. */
void cupti_decode_soon(const struct cupti *cupti, const uint8_t *buffer, size_t valid);

/** Record all of a buffer that `cupti` has filled; any thread, several at a time. Returns how much of it
 *  is 0 again, from its begin on. */
size_t cupti_decode(const struct cupti *cupti, uint8_t *buffer, size_t valid);

/** Record nothing of it: what CUPTI allocated for its records is given back, though. */
void cupti_decode_nothing(const struct cupti *cupti, uint8_t *buffer, size_t valid);

/** As cupti_lane_find(), sooner. */
uint32_t cupti_lane_of(uint32_t device, uint32_t context, uint32_t stream);

/** 0: none, or it is too long ago. */
uint32_t cupti_run_of(uint32_t correlation);

/** The run in which a call with this correlation was made, and what it computes; kept for the latest
 *  65,536 of them. */
void cupti_note_call(uint32_t correlation, uint32_t run, struct cupti_work work);

/* --- pace.c --- */

void cupti_pace_begin(void);

/** This thread puts what comes last, as the program ends. May wait as cupti_pace_wait() does. */
void cupti_pace_last(void);

/** So many records were put by this thread. True: cupti_pace_wait(), which takes until the daemon has
 *  read them, or seconds; without a lock. */
bool cupti_pace_is_due(uint32_t records);
void cupti_pace_wait(void);

/* --- waits.c, memory.c, compile.c: what cupti_decode() does with records of some kinds, whose lanes and
 * runs are those of all records. So they use each other; and short.c, which cupti_decode() has records
 * made whole by, tells CUPTI of other buffers to fill. All within cupti_decode(). --- */

void cupti_put_event(const struct cupti *cupti, const struct cupti_event *record);
void cupti_put_wait(const struct cupti *cupti, const struct cupti_sync *record);
void cupti_put_memory(const struct cupti_memory *record);
void cupti_put_pool(const struct cupti_pool *record);
void cupti_put_compilation(const struct cupti *cupti, const struct cupti_jit *record);

#endif
