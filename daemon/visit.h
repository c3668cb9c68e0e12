/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A controller's connection, from VISIT on: it asks who is being recorded, and commands who is to
 * be. The connection itself, its bytes and its end belong to producer.h. Loop thread only.
 */
#ifndef OPTRACE_DAEMON_VISIT_H
#define OPTRACE_DAEMON_VISIT_H

#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "daemon/collector.h"
#include "daemon/commands.h"
#include "daemon/health.h"
#include "daemon/refusals.h"
#include "daemon/save.h"
#include "daemon/usage.h"

/** What controllers may know and command. All borrowed. */
struct visit_host {
    struct collector *collector;
    struct commands *commands;
    struct saves *saves;
    const struct refusals *refusals;
    const struct health *health;
    const struct usage *usage;
    const char *store_path;
    uint64_t started_ns; /* CLOCK_REALTIME */
};

/** Where answers go. Returns 0, or a negative errno when the controller does not take them. */
typedef int visit_send_fn(void *context, const void *frame, size_t length);

struct visit {
    struct visit_host *host;
    void *context;
    visit_send_fn *send;
    /* The same with a file descriptor, which stays the caller's; -EAGAIN: a moment later. */
    int (*send_fd)(void *context, const void *frame, size_t length, int fd);
    uint8_t *scratch;      /* OT_WIRE_FRAME_BYTES_MAX bytes to encode frames in, borrowed */
    size_t gathered_bytes; /* of the answer so far, in scratch */
    pid_t pid;             /* of the controller */
    uid_t uid;
    uint16_t minor;                 /* version of the wire that it knows */
    struct command_selects selects; /* for the next SCHEDULE */
};

/** All zero is allowed. */
void visit_deinit(struct visit *visit);

/**
 * Act on a frame and answer it.
 *
 * Returns 0; -EPROTO with the reason; what `send` returned.
 */
int visit_take_frame(struct visit *visit, uint16_t type, const void *frame, size_t length,
                     struct diag *diag);

#endif
