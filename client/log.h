/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All definitions of this process as the frames that carry them, in the order in which they were
 * made: sent from the front to each new connection, kept for the next one. Ids are handed out here;
 * texts are interned. Reads no clock, does no I/O; the caller holds the session's lock.
 *
 * Errors: -E2BIG a text is too long; -ENOSPC ids or bytes are used up; -ENOMEM. A failed call
 * leaves at most an unused string behind.
 */
#ifndef OPTRACE_CLIENT_LOG_H
#define OPTRACE_CLIENT_LOG_H

#include <stddef.h>
#include <stdint.h>

#include "client/table.h"
#include "schema/wire/wire.h"

struct ot_log {
    uint8_t *bytes;
    size_t length;
    size_t capacity;

    size_t *string_offsets; /* of the STRING frame of id i + 1 */
    uint32_t string_count;
    uint32_t string_capacity;
    size_t text_bytes;

    uint32_t op_count, model_count, lane_count;
    struct ot_table strings; /* hash of the text -> string id */
    struct ot_table names;   /* type of a name and its string id -> op id */
};

/** The id of a text. NULL: 0, which is "none". Returns 0 or an error; *out_id 0 for NULL. */
int ot_log_string(struct ot_log *log, const char *text, uint32_t *out_id);

/** The id of a text that is there; 0 for others, also for what ot_log_string() would have to clean.
 */
uint32_t ot_log_find_string(const struct ot_log *log, const char *text);

/** Room for one frame of at most `length` bytes, to be filled and then added with
 *  ot_log_commit(). NULL: no memory. */
void *ot_log_reserve(struct ot_log *log, size_t length);
void ot_log_commit(struct ot_log *log, size_t length);

/** Add a whole frame without variable parts. Returns 0 or -ENOMEM. */
int ot_log_add(struct ot_log *log, const void *frame, size_t length);

/** In a child after fork(): the parent's threads do not exist here, drop their lanes. New lanes get
 *  ids above those that are left. */
void ot_log_drop_thread_lanes(struct ot_log *log);

/** Give back all that it holds. For tests: the log of a process lives as long as that. */
void ot_log_deinit(struct ot_log *log);

#endif
