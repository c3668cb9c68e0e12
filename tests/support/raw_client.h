/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client that speaks schema/wire/wire.h by hand, for tests that need to say exactly this, also
 * what no sane client would say. Frames are sent with raw_send(); the helpers below send the common
 * ones. All functions fail the test on a system error, unless they say otherwise.
 */
#ifndef OPTRACE_TESTS_SUPPORT_RAW_CLIENT_H
#define OPTRACE_TESTS_SUPPORT_RAW_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/wire/wire.h"

struct raw_client {
    int fd;
    uint8_t uuid[16];
    uint32_t connection; /* of the next HELLO */
    uint64_t sequence;   /* of the next inline record */
    uint64_t token;      /* of the next FLUSH */
    uint32_t next_string;
    const char *program; /* in HELLO; NULL: "raw" */
};

/** A random uuid; not connected. */
void raw_init(struct raw_client *client);
void raw_close(struct raw_client *client);

/** Connect, say nothing. Returns false when nobody listens. */
bool raw_connect(struct raw_client *client, const char *socket_path);

/** connect, HELLO, wait for WELCOME. Fails the test unless its status is OK. */
struct ot_wire_welcome raw_join(struct raw_client *client, const char *socket_path);

/** HELLO with ticks that are ns of CLOCK_MONOTONIC. */
struct ot_wire_hello raw_hello(const struct raw_client *client);
void raw_send_hello(struct raw_client *client, const struct ot_wire_hello *hello);

/** Send all bytes. Returns false when the daemon has closed the connection. */
bool raw_send(struct raw_client *client, const void *bytes, size_t length);

/** The same with file descriptors along. */
bool raw_send_fds(struct raw_client *client, const void *bytes, size_t length, const int *fds,
                  size_t fd_count);

/** Wait for the next frame. Returns its length, 0 when the daemon has closed the connection. */
size_t raw_receive(struct raw_client *client, void *out_frame, size_t capacity);

/** Wait for a BYE and then the end; the text of the BYE goes to out_text. Returns false when the
 *  connection ends without BYE. */
bool raw_receive_bye(struct raw_client *client, char *out_text, size_t text_bytes);

/** Definitions; ids are the caller's. Texts get string ids by themselves. */
uint32_t raw_string(struct raw_client *client, const char *text);
void raw_lane(struct raw_client *client, uint32_t lane_id, const char *name);
void raw_op(struct raw_client *client, uint32_t op_id, const char *name, const char *type);

/** What most tests need: lane 1, "main", and op 1, "conv1" of type Conv. */
void raw_define(struct raw_client *client);

/** A SPAN of op and lane, `start_ns` (CLOCK_MONOTONIC) long ago or now. */
struct ot_wire_record raw_span(uint32_t op_id, uint32_t lane_id, uint64_t start_ns, uint64_t dur_ns,
                               uint64_t correlation);

/** Send records inline, numbered on. */
bool raw_events(struct raw_client *client, const struct ot_wire_record *records, uint32_t count);

/** FLUSH and wait for the answer. Returns its status, or -EPIPE. */
int raw_flush(struct raw_client *client);
bool raw_bye(struct raw_client *client);

struct raw_ring {
    struct ot_wire_ring frame;
    int fd;
    struct ot_ring *memory;
    uint64_t head;
    uint32_t depth;
};

/** Make a sound ring. */
void raw_ring_create(struct raw_ring *ring, const struct raw_client *client, uint32_t ring_id,
                     uint32_t lane_id, uint64_t record_count);
void raw_ring_destroy(struct raw_ring *ring);

/** Hand it over. */
bool raw_ring_send(struct raw_client *client, const struct raw_ring *ring);

/** Write a record, as a client does. Returns false when the ring is full. */
bool raw_ring_put(struct raw_ring *ring, const struct ot_wire_record *record);

/** Open a span; it stays open. */
void raw_ring_open(struct raw_ring *ring, const struct ot_wire_record *record);

#endif
