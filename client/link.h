/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection to the daemon: whole frames out, whole frames in, nothing that waits unless it is
 * asked to. Knows the header of a frame and no more. Whatever is done with the socket: -EBADF when
 * the program has closed it.
 *
 * Order: ot_link_open(); send, receive, wait; ot_link_close(). One thread at a time. Any negative
 * result but -EAGAIN means that the connection is of no more use: close it.
 */
#ifndef OPTRACE_CLIENT_LINK_H
#define OPTRACE_CLIENT_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/un.h>

#include "client/fd.h"
#include "schema/wire/wire.h"

enum {
    OT_LINK_PATH_BYTES = sizeof(((struct sockaddr_un *)0)->sun_path),
    OT_LINK_INPUT_BYTES = OT_WIRE_TEXT_BYTES_MAX + 256, /* no frame of the daemon is longer */
};

/** All zero but fd = OT_FD_NONE is a closed link. */
struct ot_link {
    struct ot_fd fd;
    size_t input_length; /* bytes in `input` */
    size_t input_taken;  /* of them, given out */
    uint8_t input[OT_LINK_INPUT_BYTES];
};

/** Connect, without waiting. Returns 0 or the negative errno of socket() or connect(); -EAGAIN here
 *  means that the daemon's backlog is full. */
int ot_link_open(struct ot_link *link, const char *path);

void ot_link_close(struct ot_link *link);

/** Send a short frame, with a file descriptor unless fd is -1. Returns 0, or -EAGAIN: nothing of it
 *  was sent. The system takes short frames whole; if it ever did not, that is -EMSGSIZE. */
int ot_link_send(struct ot_link *link, const void *frame, size_t length, int fd);

/** Send some of a stream of frames. Returns the count of bytes, or -EAGAIN. The caller goes on with
 *  the rest before it sends anything else. */
ssize_t ot_link_stream(struct ot_link *link, const void *bytes, size_t length);

/**
 * Take the next frame.
 *
 * out_frame  points into the link, until the next call
 *
 * Returns its length, or -EAGAIN when none is complete, -ECONNRESET at the end of the stream,
 * -EPROTO when what came is no frame.
 */
int ot_link_receive(struct ot_link *link, const uint8_t **out_frame);

/** Wait for POLLIN or POLLOUT. Returns 1 when it is there, 0 after timeout_ms. */
int ot_link_wait(const struct ot_link *link, short events, uint32_t timeout_ms);

#endif
