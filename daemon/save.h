/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of sessions for those who own them: SAVE and SAVED. A worker of libuv reads the store
 * through a handle of its own and fills a file beside it that has no name any more when it is
 * handed over; neither the loop nor the writer waits for it. Loop thread only, but for that worker.
 *
 * saves_init(); saves_begin() at each SAVE, saves_forget() when its controller has left;
 * saves_close().
 */
#ifndef OPTRACE_DAEMON_SAVE_H
#define OPTRACE_DAEMON_SAVE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <uv.h>

#include "base/diag.h"
#include "daemon/commands.h"

enum {
    SAVES_MAX = 4, /* at a time, one of each user at most */
    SAVE_PAUSE_MS = 100,
};

/** Who gets the copy. */
struct save_client {
    void *context; /* names the controller */
    uid_t uid;
    uint8_t *scratch; /* OT_WIRE_FRAME_BYTES_MAX bytes to encode frames in, borrowed */
    int (*send)(void *context, const void *frame, size_t length);
    /** Returns 0; -EAGAIN to be tried again a moment later; another negative errno. */
    int (*send_fd)(void *context, const void *frame, size_t length, int fd);
};

struct save;

struct saves {
    uv_loop_t *loop;
    uv_timer_t timer; /* runs while there are copies that are not handed over */
    const char *store_path;
    uint64_t budget_bytes; /* of the store, and of all copies together; 0: none */
    struct save *slots[SAVES_MAX];
};

/** What a daemon that was killed left is removed. store_path: borrowed. */
void saves_init(struct saves *saves, uv_loop_t *loop, const char *store_path,
                uint64_t budget_bytes);

/** Those under way are given up; they end while the loop runs on. */
void saves_close(struct saves *saves);

/**
 * Begin a copy for a controller; what it had before is taken back.
 *
 * selects   whom it chose; none: all that it may see
 * since_ns  CLOCK_REALTIME: sessions that ended before are left out; 0: none
 *
 * Returns 0, then SAVED frames come; or a negative errno with a sentence: -EBUSY, -ENOSPC.
 */
int saves_begin(struct saves *saves, const struct save_client *client,
                const struct command_selects *selects, uint64_t since_ns, struct diag *diag);

/** The controller has left. */
void saves_forget(struct saves *saves, const void *context);

/** Whether a copy for this controller is being made. */
bool saves_is_under_way(const struct saves *saves, const void *context);

/** Whether this controller has a copy that was handed over. */
bool saves_is_handed_over(const struct saves *saves, const void *context);

#endif
