/* SPDX-License-Identifier: Apache-2.0 */
/* The log of definitions: one growing array of frames, and what finds texts in it. */
#include "client/log.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum { LOG_BYTES_MIN = 4096, STRINGS_MIN = 64 };

void *ot_log_reserve(struct ot_log *log, size_t length)
{
    size_t capacity = log->capacity ? log->capacity : LOG_BYTES_MIN;
    uint8_t *bytes;

    while (capacity - log->length < length)
        capacity *= 2;
    if (capacity != log->capacity) {
        bytes = realloc(log->bytes, capacity);
        if (!bytes)
            return NULL;
        log->bytes = bytes;
        log->capacity = capacity;
    }
    return log->bytes + log->length;
}

void ot_log_commit(struct ot_log *log, size_t length)
{
    log->length += length;
}

int ot_log_add(struct ot_log *log, const void *frame, size_t length)
{
    void *room = ot_log_reserve(log, length);

    if (!room)
        return -ENOMEM;
    memcpy(room, frame, length);
    ot_log_commit(log, length);
    return 0;
}

/* The text of a string that is in the log. */
static struct ot_text text_of(const struct ot_log *log, uint32_t id)
{
    const uint8_t *at = log->bytes + log->string_offsets[id - 1];
    struct ot_wire_string fixed;

    memcpy(&fixed, at, sizeof(fixed));
    return (struct ot_text){(const char *)at + sizeof(fixed), fixed.text_bytes};
}

static uint32_t find_string(const struct ot_log *log, uint64_t hash, struct ot_text text)
{
    size_t place = 0;
    uint32_t id;

    while ((id = ot_table_next(&log->strings, hash, &place)) != 0) {
        struct ot_text known = text_of(log, id);

        if (known.length == text.length && memcmp(known.bytes, text.bytes, text.length) == 0)
            break;
    }
    return id;
}

static int reserve_string(struct ot_log *log)
{
    uint32_t capacity = log->string_capacity ? log->string_capacity * 2 : STRINGS_MIN;
    size_t *offsets;

    if (log->string_count < log->string_capacity)
        return ot_table_reserve(&log->strings);
    offsets = reallocarray(log->string_offsets, capacity, sizeof(*offsets));
    if (!offsets)
        return -ENOMEM;
    log->string_offsets = offsets;
    log->string_capacity = capacity;
    return ot_table_reserve(&log->strings);
}

static int add_string(struct ot_log *log, uint64_t hash, struct ot_text text, uint32_t *out_id)
{
    const size_t room_bytes = sizeof(struct ot_wire_string) + text.length + 8;
    void *room;
    int length;

    if (log->string_count >= OT_WIRE_STRINGS_MAX ||
        log->text_bytes + text.length > OT_WIRE_SESSION_TEXT_MAX)
        return -ENOSPC;
    room = ot_log_reserve(log, room_bytes);
    if (!room || reserve_string(log) < 0)
        return -ENOMEM;
    length = ot_wire_encode_string(log->string_count + 1, text, room, room_bytes);
    if (length < 0)
        return length;
    log->string_offsets[log->string_count++] = log->length;
    ot_log_commit(log, (size_t)length);
    log->text_bytes += text.length;
    ot_table_add(&log->strings, hash, log->string_count);
    *out_id = log->string_count;
    return 0;
}

uint32_t ot_log_find_string(const struct ot_log *log, const char *text)
{
    const struct ot_text wanted = {text, strlen(text)};

    return find_string(log, ot_table_hash(wanted.bytes, wanted.length), wanted);
}

int ot_log_string(struct ot_log *log, const char *text, uint32_t *out_id)
{
    struct ot_text clean = {text, text ? strlen(text) : 0};
    char *copy = NULL;
    uint64_t hash;
    int rc = 0;

    *out_id = 0;
    if (!text)
        return 0;
    if (clean.length >= OT_WIRE_TEXT_BYTES_MAX)
        return -E2BIG;
    if (!text_is_utf8(text, clean.length)) {
        copy = malloc(clean.length);
        if (!copy)
            return -ENOMEM;
        clean.length = ot_wire_clean_text(text, clean.length, copy, clean.length);
        clean.bytes = copy;
    }
    hash = ot_table_hash(clean.bytes, clean.length);
    *out_id = find_string(log, hash, clean);
    if (*out_id == 0)
        rc = add_string(log, hash, clean, out_id);
    free(copy);
    return rc;
}

/* Whether a frame stays when it moves to offset `to`; notes what the log knows about it. */
static bool keep_frame(struct ot_log *log, const uint8_t *frame, uint16_t type, size_t to)
{
    struct ot_wire_string string;
    struct ot_wire_lane lane;

    if (type == OT_FRAME_STRING) {
        memcpy(&string, frame, sizeof(string));
        log->string_offsets[string.string_id - 1] = to;
    }
    if (type != OT_FRAME_LANE)
        return true;
    memcpy(&lane, frame, sizeof(lane));
    if (lane.kind == OT_LANE_THREAD)
        return false;
    log->lane_count = lane.lane_id;
    return true;
}

void ot_log_drop_thread_lanes(struct ot_log *log)
{
    size_t to = 0;
    struct ot_wire_header header;

    log->lane_count = 0;
    for (size_t from = 0; from < log->length; from += header.length) {
        memcpy(&header, log->bytes + from, sizeof(header));
        if (keep_frame(log, log->bytes + from, header.type, to)) {
            memmove(log->bytes + to, log->bytes + from, header.length);
            to += header.length;
        }
    }
    log->length = to;
}

void ot_log_deinit(struct ot_log *log)
{
    free(log->bytes);
    free(log->string_offsets);
    ot_table_deinit(&log->strings);
    ot_table_deinit(&log->names);
    *log = (struct ot_log){0};
}
