/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is to record when: the commands of controllers, given to the clients that they are about.
 * Clients that know schedules get them as they are; to others the levels are sent when their time
 * comes. Commands for everybody, and for programs by name, also hold for clients to come. Nothing
 * of it outlives the daemon, but for what clients tell when they come back. Loop thread only.
 *
 * commands_init(); commands_join() before each WELCOME, commands_deliver() after it;
 * commands_give() and commands_take_report() as frames come; commands_close().
 */
#ifndef OPTRACE_DAEMON_COMMANDS_H
#define OPTRACE_DAEMON_COMMANDS_H

#include <stdint.h>

#include <uv.h>

#include "base/array.h"
#include "daemon/collector.h"

/* Whom a controller has chosen. */
struct command_select {
    uint32_t kind; /* enum ot_wire_select_kind */
    uint64_t number;
    char *program; /* owned */
};

/* None: everybody. */
struct command_selects {
    struct command_select *items;
    size_t count;
    size_t capacity;
};

/* One that also holds for clients to come: those of its user, all of them for root and the daemon's
 * own user. */
struct command {
    uid_t uid;
    struct ot_wire_plan plan;
    ARRAY_OF(char *) programs; /* none: everybody */
};

/** Sends a frame to a client. */
typedef void commands_send_fn(struct producer *producer, const void *frame, size_t length);

struct commands {
    struct collector *collector;
    commands_send_fn *send;
    uint32_t level;                    /* of clients that no command is about */
    uint64_t last_id;                  /* no command had a greater number */
    ARRAY_OF(struct command) standing; /* the oldest first */
    uv_timer_t timer;                  /* for clients that know no schedules */
};

/* To whom a command went. */
struct command_result {
    struct ot_wire_answer answer;
    ARRAY_OF(uint64_t) ids; /* as they follow the ANSWER */
};

void commands_init(struct commands *commands, uv_loop_t *loop, struct collector *collector,
                   commands_send_fn *send, uint32_t level);

/** The timer's handle is closed when the loop has come round. */
void commands_close(struct commands *commands);

/** The level of a client of this user that connects now and that no command is about by name. */
uint32_t commands_default_level(const struct commands *commands, uid_t uid);

/** A session has said HELLO: what it is to record, in session->plan and ->level. */
void commands_join(struct commands *commands, struct session *session);

/** Send it what it is to know, if anything. */
void commands_deliver(struct commands *commands, struct session *session);

/** A client has told how its schedule goes. */
void commands_take_report(struct commands *commands, struct session *session,
                          const struct ot_wire_plan *report);

/** Whether its client has taken up what was commanded. */
bool commands_is_obeyed(const struct session *session);

/** What a session's plan does now, for people. */
struct ot_wire_plan commands_view(const struct session *session);

/** Give a plan of user `uid` to those who are chosen, as far as it may command them;
 * out_result->ids is the caller's to free. */
void commands_give(struct commands *commands, uid_t uid, const struct command_selects *selects,
                   const struct ot_wire_plan *plan, struct command_result *out_result);

void command_selects_deinit(struct command_selects *selects);

#endif
