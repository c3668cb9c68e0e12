/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of one connection: what came in and is not used yet, file descriptors that came along,
 * what is to go out and did not fit into the socket. Never blocks. Loop thread only.
 */
#ifndef OPTRACE_DAEMON_CONNECTION_H
#define OPTRACE_DAEMON_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

enum {
    CONNECTION_FDS_MAX = 4,           /* file descriptors that wait for their RING frame */
    CONNECTION_READ_BYTES = 64 << 10, /* read at once */
    CONNECTION_OUT_BYTES = 64 << 10,  /* answers that the client does not read */
};

struct connection {
    int fd; /* the socket, or -1 */
    uint8_t *in;
    size_t in_bytes, in_capacity;
    uint8_t *out;
    size_t out_bytes;
    int fds[CONNECTION_FDS_MAX];
    size_t fd_count;
    bool is_deaf; /* the client reads no more */
};

/** Takes the socket. */
void connection_init(struct connection *connection, int fd);

/** Closes the socket and all file descriptors, frees the buffers. */
void connection_deinit(struct connection *connection);

/**
 * Read once, at most CONNECTION_READ_BYTES.
 *
 * Returns the count of bytes; 0 at the end; -EAGAIN when nothing is there; -EPROTO, with the reason
 * in diag, when more file descriptors came than belong to a frame; another negative errno.
 */
int connection_read(struct connection *connection, struct diag *diag);

/** How much has arrived that connection_read() has not read. */
size_t connection_waiting_bytes(const struct connection *connection);

/** The first `bytes` of `in` were used. */
void connection_consume(struct connection *connection, size_t bytes);

/** The oldest file descriptor that came, or -1. The caller closes it. */
int connection_take_fd(struct connection *connection);

/** Send, or keep for later. Returns 0, or -ENOBUFS when the client lets too much pile up. To a
 * client that reads no more it sends nothing: what that client sent before is still to be read. */
int connection_write(struct connection *connection, const void *bytes, size_t length);

/** Send whole, with a file descriptor, which stays the caller's. Returns 0 (also to a client that
 *  reads no more), or -EAGAIN when there is no room, and nothing was sent. */
int connection_write_fd(struct connection *connection, const void *bytes, size_t length, int fd);

/** Send what was kept; look at out_bytes. */
void connection_flush(struct connection *connection);

/** True when the other side has closed it. */
bool connection_is_hung_up(const struct connection *connection);

#endif
