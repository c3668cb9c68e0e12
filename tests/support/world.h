/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A daemon's collector in a scripted world (scripted.h), and clients whose frames, rings, threads
 * and processes do what the test says. What is put into rings and what is committed is counted, and
 * an alarm that rings again and again without anything being done fails the test.
 */
#ifndef OPTRACE_TESTS_SUPPORT_WORLD_H
#define OPTRACE_TESTS_SUPPORT_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/collector.h"
#include "tests/support/raw_client.h"

enum { CLIENTS = 6, RINGS = 3 };

struct client {
    struct raw_client raw;
    struct raw_ring rings[RINGS];
    size_t ring_count;
    struct session *session; /* while connected */
    int64_t session_id;      /* of the last one, 0 before */
    bool is_over;
    bool has_second_op;
    int process[2];        /* a pipe in place of a pidfd */
    int64_t pid;           /* said in HELLO; 0: this one's */
    uint32_t inline_waits; /* records of an EVENTS frame that found no room */
    uint32_t brings; /* records in a ring whose frame, with a BYE behind it, is not read yet */
    uint64_t put, answered; /* records, also those that found no room; FLUSHED */
};

struct world {
    char *dir, *path;
    struct store *store;
    struct collector *collector;
    struct client clients[CLIENTS];
    bool is_stopped, is_empty;
    bool is_unsound;      /* a ring was spoilt, or batches were given up: counts do not add up */
    uint64_t put, stored; /* records; rows and losses that were committed */
    uint64_t batches_written; /* for the fingerprint */
    uint64_t answers;
    uint32_t seed;
    unsigned idle_count; /* alarms at once that did nothing, since something was done */
    uint64_t scale;      /* how large its rings are */
};

/** An empty world; end it with world_end(). */
void world_begin(struct world *world, uint32_t seed);

/** One in which the first client has a ring of 64 records. Returns that client. */
struct client *world_begin_with_ring(struct world *world);

/** Stops the collector, unless that is done, and frees all. */
void world_end(struct world *world);

/** A number below `below`, as the seed has it. */
uint32_t world_draw(struct world *world, uint32_t below);

/** HELLO, for the first time or again. */
enum ot_wire_welcome_status world_say_hello(struct world *world, struct client *client);

/** The same, and all that follows it. Does nothing while there is no room. */
void world_join(struct world *world, struct client *client);

/** A text, a lane and an op. Does nothing while there is no room. */
void world_define(struct world *world, struct client *client, uint32_t op_id);

/** A further ring, handed over; nothing beyond RINGS, or without a lane. */
void world_new_ring(struct world *world, struct client *client, uint64_t record_count);

/** Hand a ring over, for the first time or again. */
void world_send_ring(struct world *world, struct client *client, size_t index);

/** Write records into a ring; those that find no room are counted there as lost. */
void world_put(struct world *world, struct raw_ring *ring, uint32_t kind, uint32_t op_id,
               uint64_t count);

/** Bring the records of client->inline_waits in a frame, if it is this client's turn. */
void world_put_inline(struct world *world, struct client *client);

/** Programs do not know that the daemon is about to end: fills all rings. */
void world_go_on_recording(struct world *world);

/** The thread of this ring ends. */
void world_end_thread(struct raw_ring *ring);

void world_bye(struct world *world, struct client *client);

/** The connection breaks. */
void world_leave(struct world *world, struct client *client);

/** Forgets the client; its session lives on in the collector for as long as that wants it. */
void world_drop_client(struct client *client);

/** Rings the next alarm. One that rings at once must do something; that somebody else has done it
 *  meanwhile excuses it once. */
void world_ring_alarm(struct world *world);

/** The oldest batch on its way comes back: committed (0) or given up. */
void world_write_oldest(struct world *world, int status);

/** Lets everything go its way until nothing is done any more; then no alarm may be short. */
void world_come_to_rest(struct world *world);

/** Stops the collector, which must end whatever the store does. */
void world_stop(struct world *world);

#endif
