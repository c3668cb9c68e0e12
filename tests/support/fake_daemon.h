/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A daemon inside the test program: a thread that listens on a socket, speaks schema/wire/wire.h,
 * keeps what it was told, and reads rings, but stores nothing. Tests of the client look at what
 * arrived.
 *
 *     struct fake_daemon *daemon = fake_daemon_create(path, NULL);
 *     ... optrace_start(), record ...
 *     fake_daemon_wait(daemon, FAKE_RECORDS, 3);
 *     fake_daemon_lock(daemon);  look at daemon->...;  fake_daemon_unlock(daemon);
 *     fake_daemon_destroy(&daemon);       as sudden as a SIGKILL
 *
 * What a client sends that breaks the contract fails the test: at fake_daemon_destroy().
 */
#ifndef OPTRACE_TESTS_SUPPORT_FAKE_DAEMON_H
#define OPTRACE_TESTS_SUPPORT_FAKE_DAEMON_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/wire/wire.h"

enum {
    FAKE_TEXTS_MAX = 4096,
    FAKE_DEFINITIONS_MAX = 4096,
    FAKE_RINGS_MAX = 64,
    FAKE_CONNECTIONS_MAX = 16,
    FAKE_GAPS_MAX = 64,
};

/** How it behaves. All zero is a daemon that welcomes everybody at OT_LEVEL_ON and drains. */
struct fake_daemon_options {
    uint32_t status;      /* of WELCOME */
    uint32_t level_off;   /* welcome with OT_LEVEL_OFF */
    uint32_t level;       /* 0: OT_LEVEL_ON */
    uint64_t no_features; /* features it lacks */
    bool is_of_1_0;       /* of the wire's first version */
    bool is_mute;         /* never answers HELLO */
    bool is_deaf;         /* does not read its sockets */
    bool is_idle;         /* does not drain rings, nor answer FLUSH */
    bool is_garbled;      /* answers HELLO with what is no frame */
    bool pairs_flushes;   /* answers FLUSH when a second one has come: the first with -EIO */
};

enum fake_count {
    FAKE_HELLOS,
    FAKE_STRINGS,
    FAKE_MODELS,
    FAKE_OPS,
    FAKE_LANES,
    FAKE_RINGS,
    FAKE_CLOCKS,
    FAKE_DOORBELLS,
    FAKE_FLUSHES,
    FAKE_GAPS,
    FAKE_BYES,
    FAKE_SCHEDULES,
    FAKE_RECORDS, /* drained so far */
    FAKE_CLOSES,  /* connections that the client closed */
    FAKE_COUNTS,
};

struct fake_ring {
    struct ot_wire_ring frame;
    uint8_t uuid[16];       /* of its session */
    struct ot_ring *memory; /* mapped a second time */
    uint64_t read;
    bool is_left; /* its session has said goodbye */
};

struct fake_record {
    uint32_t ring_id;
    struct ot_wire_record record;
};

struct fake_connection;

struct fake_daemon {
    struct fake_daemon_options options;
    pthread_mutex_t lock;
    pthread_t thread;
    char *path;
    int listen_fd;
    int wake_fds[2];
    bool is_ending;
    char broken[256]; /* the first breach of the contract */
    struct fake_connection *connections[FAKE_CONNECTIONS_MAX];

    /* What arrived. Ids are indices; index 0 is not used. */
    uint64_t counts[FAKE_COUNTS];
    struct ot_wire_hello hello; /* the latest */
    uint64_t start_ns;          /* what it says of the first of its session */
    char program[256];
    char *texts[FAKE_TEXTS_MAX];
    struct ot_wire_model models[FAKE_DEFINITIONS_MAX];
    struct ot_wire_op ops[FAKE_DEFINITIONS_MAX];
    uint64_t op_bytes[FAKE_DEFINITIONS_MAX]; /* length of the frame */
    struct ot_wire_lane lanes[FAKE_DEFINITIONS_MAX];
    struct fake_ring rings[FAKE_RINGS_MAX];
    uint32_t ring_count;
    struct ot_wire_gap gaps[FAKE_GAPS_MAX];
    struct ot_wire_plan schedule; /* the latest */
    struct fake_record *records;
    size_t record_count, record_capacity;
    uint64_t waiting_flush; /* a token, with pairs_flushes; 0: none */
    uint64_t own_count;     /* records of counters "recording....", which are in no other count */
    double own_values[8];   /* of the first of them */
};

/** Listen on `path`. `options` may be NULL. Fails the test when that is not possible. */
struct fake_daemon *fake_daemon_create(const char *path, const struct fake_daemon_options *options);

/** End without a word, free, null; removes the socket. Fails the test when a client broke the
 *  contract. */
void fake_daemon_destroy(struct fake_daemon **daemon);

/** Wait until a count is at least `want`. Fails the test at the deadline. */
void fake_daemon_wait(struct fake_daemon *daemon, enum fake_count what, uint64_t want);
uint64_t fake_daemon_count(struct fake_daemon *daemon, enum fake_count what);

/** Exclude the daemon's thread, to look at what arrived or to change options. */
void fake_daemon_lock(struct fake_daemon *daemon);
void fake_daemon_unlock(struct fake_daemon *daemon);

/** Let it look again: options have changed. */
void fake_daemon_wake(struct fake_daemon *daemon);

/** Send a frame to every client. */
void fake_daemon_send(struct fake_daemon *daemon, const void *frame, size_t length);

/** Close every connection, without a word. */
void fake_daemon_hang_up(struct fake_daemon *daemon);

#endif
