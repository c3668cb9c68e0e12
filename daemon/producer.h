/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection, from accept to close, as a state machine: HELLO first, then definitions, rings
 * and events in any order, BYE at the end. Whoever breaks the contract is told why, once, and cut
 * off.
 *
 * The socket is read with recvmsg(), because libuv's pipes do not pass memfds on. Loop thread only.
 */
#ifndef OPTRACE_DAEMON_PRODUCER_H
#define OPTRACE_DAEMON_PRODUCER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <uv.h>

#include "base/clock.h"
#include "daemon/collector.h"
#include "daemon/refusals.h"
#include "daemon/save.h"
#include "daemon/settings.h"
#include "daemon/visit.h"

struct producer;

/* What all connections have in common. */
struct producer_group {
    uv_loop_t *loop;
    struct collector *collector;
    struct producer *first;
    unsigned count;
    bool reads_no_more;
    bool keeps_commands;            /* command lines of programs */
    uint8_t *scratch;               /* to encode frames in */
    struct refusals refusals;       /* the recent ones */
    struct commands commands;       /* who is to record when */
    struct saves saves;             /* copies for controllers */
    struct visit_host host;         /* what controllers may know and do */
    struct ot_clock_triple started; /* to measure the TSC's rate against */
    void *context;
    void (*on_left)(void *context); /* a connection was closed */
};

/** A line in the log, and among the refusals that controllers are told of. */
void producer_note_refusal(struct producer_group *group, pid_t pid, uid_t uid, const char *text);

/** Prepare for connections; the caller sets context and on_left. settings: borrowed. */
void producer_group_init(struct producer_group *group, uv_loop_t *loop, struct collector *collector,
                         const struct settings *settings);
void producer_group_deinit(struct producer_group *group);

/** Take a connection: fd is closed by the producer, also after failure. One that is too many is
 * told so and closed. Returns 0 or a negative errno. */
int producer_accept(struct producer_group *group, int fd, pid_t pid, uid_t uid);

/** For struct collector_events; the context is not used. */
void producer_on_flushed(void *context, struct producer *producer, uint64_t token, bool is_durable,
                         int status);
void producer_on_nonsense(void *context, struct producer *producer, const char *text);
void producer_on_replaced(void *context, struct producer *producer);

bool producer_on_turn(void *context, struct producer *producer);

/** Go on with those who had to wait for room and have no session yet. */
void producer_on_room(struct producer_group *group);

/** Close connections that have not said HELLO in time, and controllers that say nothing more. */
void producer_check_hello(struct producer_group *group);

/** Read what all of them have sent so far, then no more. Answers still go out. */
void producer_stop_reading(struct producer_group *group);

/** Tell all of them that the daemon ends, and close. */
void producer_close_all(struct producer_group *group);

#endif
