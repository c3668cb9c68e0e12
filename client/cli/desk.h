/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A visit to the daemon: ask who is being recorded, command who is to be.
 *
 *     desk_open(); desk_ask() and desk_command() as often as wanted; desk_close().
 *
 * Functions return 0, or a negative errno with one sentence in diag: -ENOENT when no daemon
 * listens, -EACCES when it listens to others only, -EPROTO when it is too old or speaks another
 * language, -ETIMEDOUT when it does not answer. They block for DESK_SECONDS at most. One thread.
 */
#ifndef OPTRACE_CLIENT_CLI_DESK_H
#define OPTRACE_CLIENT_CLI_DESK_H

#include <stdint.h>

#include "base/array.h"
#include "base/diag.h"
#include "client/link.h"
#include "schema/wire/wire.h"

enum { DESK_SECONDS = 10 /* how long a daemon may take to answer */ };

struct desk {
    struct ot_link link;
    char path[OT_LINK_PATH_BYTES];
    uint16_t minor; /* version of the wire that both sides know */
    int fd;         /* that came with a frame and nobody took; -1 */
};

/** socket  path of the daemon's socket; NULL: the default. */
int desk_open(struct desk *desk, const char *socket, struct diag *diag);
void desk_close(struct desk *desk);

/* Texts are owned and have no control characters. */
struct desk_session {
    struct ot_wire_session fixed;
    struct ot_wire_pace pace; /* header.length 0: an older daemon */
    char *program;
    char *command;
};

struct desk_refusal {
    struct ot_wire_refusal fixed;
    char *text;
};

/** What the daemon tells of itself and of its clients. */
struct desk_picture {
    struct ot_wire_status status;
    struct ot_wire_health health; /* header.length 0: an older daemon */
    struct ot_wire_usage usage;   /* the same */
    char *version;
    char *host;
    char *store_path;
    ARRAY_OF(struct desk_session) sessions; /* by number */
    ARRAY_OF(struct desk_refusal) refusals; /* the newest first */
};

/** out_picture  all zero before; desk_picture_deinit() also after a failure */
int desk_ask(struct desk *desk, struct desk_picture *out_picture, struct diag *diag);
void desk_picture_deinit(struct desk_picture *picture);

/** The session of this number, or NULL. */
const struct desk_session *desk_find(const struct desk_picture *picture, uint64_t session_id);

/** Whom a command is for. */
struct desk_select {
    uint32_t kind; /* enum ot_wire_select_kind */
    uint64_t number;
    const char *program; /* borrowed */
};

struct desk_answer {
    uint32_t status; /* enum ot_wire_answer_status */
    uint64_t command_id;
    ARRAY_OF(uint64_t) taken; /* sessions */
    ARRAY_OF(uint64_t) unable;
};

/**
 * Give a plan to those who are chosen; to everybody, also those to come, when select_count is 0.
 *
 * out_answer  all zero before; desk_answer_deinit() also after a failure
 */
int desk_command(struct desk *desk, const struct desk_select *selects, size_t select_count,
                 const struct ot_wire_plan *plan, struct desk_answer *out_answer,
                 struct diag *diag);
void desk_answer_deinit(struct desk_answer *answer);

/** A copy of sessions: a store. */
struct desk_copy {
    int fd; /* open for reading, until desk_close(); the caller closes it */
    uint64_t bytes;
    uint32_t session_count;
};

/**
 * Have sessions copied out of the store. Blocks as long as the daemon says that it goes on.
 *
 * since_ns  CLOCK_REALTIME: not those that ended before; 0: all
 * say       called now and then with the bytes so far
 *
 * Returns 0, or a negative errno with a sentence; -ENOENT when no session matches.
 */
int desk_save(struct desk *desk, const struct desk_select *selects, size_t select_count,
              uint64_t since_ns, void (*say)(void *context, uint64_t bytes), void *context,
              struct desk_copy *out_copy, struct diag *diag);

#endif
