/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each frame of a connection does: producer.c reads them, here they are obeyed. Loop thread
 * only.
 */
#ifndef OPTRACE_DAEMON_FRAMES_H
#define OPTRACE_DAEMON_FRAMES_H

#include "base/array.h"
#include "base/diag.h"
#include "daemon/connection.h"
#include "daemon/producer.h"

struct producer {
    struct producer_group *group;
    struct producer *previous, *next;
    struct connection connection;
    uv_poll_t poll;
    uv_poll_cb on_poll;      /* what libuv calls */
    int watched;             /* events that libuv waits for */
    struct session *session; /* from HELLO on */
    struct visit visit;      /* from VISIT on, instead */
    bool is_visit;
    pid_t pid;
    uid_t uid;
    uint16_t version_minor; /* the client's: it gets no newer frames */
    uint64_t heard_ns;      /* CLOCK_MONOTONIC of the accept; of a controller's latest frame */
    ARRAY_OF(struct ot_wire_flush) flushes; /* to be answered once the rings are read */
    size_t flush_count;                     /* not answered yet, these included */
    bool has_mark;                          /* on the rings, for these flushes */
    bool wants_rings_read;                  /* DOORBELL or RING came */
    bool is_paused;                         /* not read until there is room */
    size_t last_bytes; /* once nothing more is read: what is left of what was sent before */
    bool is_closing;
};

/** What libuv is to wait for. */
void producer_watch(struct producer *producer);

/** Obey a frame. Returns 0; -EPROTO with the reason; -EAGAIN to be called again later; another
 *  negative errno when the connection is of no use any more. */
int frames_take(struct producer *producer, uint16_t type, const void *frame, size_t length,
                struct diag *diag);

/** Send a frame, now or when the socket takes it. Returns 0 or as connection_write(). */
int frames_send(struct producer *producer, const void *bytes, size_t length);

/** Send WELCOME; `minor` is the peer's version. Returns 0 or a negative errno. */
int frames_welcome(struct producer *producer, enum ot_wire_welcome_status status, uint16_t minor,
                   uint64_t features, const char *text);

#endif
