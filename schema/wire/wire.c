/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the wire contract that both directions share: names, texts, records, rings. */
#include "schema/wire/wire.h"

#include <errno.h>
#include <inttypes.h>

#include "base/text.h"

const char *ot_wire_frame_name(uint32_t type)
{
    switch (type) {
#define OT_FRAME(id, name, type, from, meaning)                                                    \
    case id:                                                                                       \
        return #name;
#include "schema/wire/records.def"
    default:
        return "unknown";
    }
}

const char *ot_wire_record_name(uint32_t kind)
{
    switch (kind) {
#define OT_RECORD(id, name, text, uses_end, meaning)                                               \
    case id:                                                                                       \
        return text;
#include "schema/wire/records.def"
    default:
        return "unknown";
    }
}

const char *ot_wire_loss_name(uint32_t reason)
{
    switch (reason) {
#define OT_LOSS(id, name, text, meaning)                                                           \
    case id:                                                                                       \
        return text;
#include "schema/wire/records.def"
    default:
        return "unknown";
    }
}

const char *ot_wire_lane_kind_name(uint32_t kind)
{
    switch (kind) {
#define OT_LANE(id, name, text, meaning)                                                           \
    case id:                                                                                       \
        return text;
#include "schema/wire/records.def"
    default:
        return "unknown";
    }
}

const char *ot_wire_dtype_name(uint32_t dtype)
{
    switch (dtype) {
#define OT_DTYPE(id, name, text, meaning)                                                          \
    case id:                                                                                       \
        return text;
#include "schema/wire/records.def"
    default:
        return "unknown";
    }
}

/* Who sends a frame: bit 0 the client, bit 1 the daemon. */
static unsigned senders(uint32_t type)
{
    enum { CLIENT = 1, DAEMON = 2, BOTH = 3 };

    switch (type) {
#define OT_FRAME(id, name, type, from, meaning)                                                    \
    case id:                                                                                       \
        return from;
#include "schema/wire/records.def"
    default:
        return 0;
    }
}

bool ot_wire_client_sends(uint32_t type)
{
    return senders(type) & 1;
}

bool ot_wire_daemon_sends(uint32_t type)
{
    return senders(type) & 2;
}

/* Length of the well-formed UTF-8 character that starts here; 0 when none does. */
static size_t character_length(const char *bytes, size_t length)
{
    for (size_t n = 1; n <= 4 && n <= length; n++) {
        if (text_is_utf8(bytes, n))
            return n;
    }
    return 0;
}

size_t ot_wire_clean_text(const char *bytes, size_t length, char *out_bytes, size_t capacity)
{
    size_t from = 0;
    size_t to = 0;

    while (from < length && to < capacity) {
        size_t n = character_length(bytes + from, length - from);

        if (n == 0) {
            out_bytes[to++] = '?';
            from++;
            continue;
        }
        if (n > capacity - to)
            break;
        memmove(out_bytes + to, bytes + from, n);
        to += n;
        from += n;
    }
    return to;
}

int ot_wire_peek(const void *bytes, size_t have, struct ot_wire_header *out_header,
                 struct diag *diag)
{
    struct ot_wire_header header;

    if (have < sizeof(header))
        return sizeof(header);
    memcpy(&header, bytes, sizeof(header));
    if (header.length < sizeof(header) || header.length % 8 != 0 ||
        header.length > OT_WIRE_FRAME_BYTES_MAX)
        return diag_set_at(diag, -EPROTO, 0,
                           "frame of type %u: a length of %" PRIu32
                           " is not a multiple of 8 between 8 and %d",
                           header.type, header.length, OT_WIRE_FRAME_BYTES_MAX);
    *out_header = header;
    return (int)header.length;
}

enum {
    KNOWN_KINDS = 0
#define OT_RECORD(id, name, text, uses_end, meaning) | 1 << id
#include "schema/wire/records.def"
    ,
    KINDS_WITH_END = 0
#define OT_RECORD(id, name, text, uses_end, meaning) | (uses_end) << id
#include "schema/wire/records.def"
    ,
};

static bool has_end(unsigned kind)
{
    return KINDS_WITH_END >> kind & 1;
}

/* Flags, ids and the start: what every kind has. */
static bool is_common_part_sound(const struct ot_wire_record *record)
{
    unsigned flags = OT_RECORD_REALTIME;
    uint32_t op_min = 1;
    uint32_t op_max = OT_WIRE_OPS_MAX;

    if (has_end(record->kind))
        flags |= OT_RECORD_IMPLICIT_END;
    if (record->kind == OT_RECORD_RUN) {
        flags |= OT_RECORD_WARMUP | OT_RECORD_WITHOUT_OPS;
        op_min = 0;
        op_max = OT_WIRE_MODELS_MAX;
        if (record->run == 0)
            return false;
    } else if (record->kind == OT_RECORD_ALLOC || record->kind == OT_RECORD_FREE) {
        op_min = 0;
    }
    return (record->flags & ~flags) == 0 && record->op_id >= op_min && record->op_id <= op_max &&
           record->lane_id >= 1 && record->lane_id <= OT_WIRE_LANES_MAX &&
           record->start_ticks <= OT_WIRE_TIME_MAX;
}

static bool is_value_sound(const struct ot_wire_record *record)
{
    const uint64_t exponent = UINT64_C(0x7ff) << 52; /* all ones: infinite or not a number */

    switch (record->kind) {
    case OT_RECORD_COPY:
        return record->bytes >= 0 && record->bytes <= OT_WIRE_SIZE_MAX;
    case OT_RECORD_COUNTER:
        return ((uint64_t)record->bytes & exponent) != exponent;
    case OT_RECORD_ALLOC:
        return record->bytes > 0 && record->bytes <= OT_WIRE_SIZE_MAX;
    case OT_RECORD_FREE:
        return record->bytes <= 0 && record->bytes >= -OT_WIRE_SIZE_MAX;
    default:
        return true;
    }
}

int ot_wire_check_record(const struct ot_wire_record *record)
{
    if (record->kind >= 32 || !(KNOWN_KINDS >> record->kind & 1))
        return OT_LOSS_UNKNOWN_KIND;
    if (!is_common_part_sound(record) || !is_value_sound(record))
        return OT_LOSS_BAD_RECORD;
    if (!has_end(record->kind))
        return 0;
    if (record->end_ticks < record->start_ticks || record->end_ticks > OT_WIRE_TIME_MAX)
        return OT_LOSS_BAD_RECORD;
    if (record->kern_ticks &&
        (record->kern_ticks < record->start_ticks || record->kern_ticks > record->end_ticks))
        return OT_LOSS_BAD_RECORD;
    return 0;
}

int ot_wire_check_open(const struct ot_wire_record *record)
{
    struct ot_wire_record ended = *record;

    if (record->kind < 32 && !has_end(record->kind) && (KNOWN_KINDS >> record->kind & 1))
        return OT_LOSS_BAD_RECORD;
    ended.end_ticks = OT_WIRE_TIME_MAX;
    return ot_wire_check_record(&ended);
}

int ot_ring_check_header(const struct ot_ring_header *header, const struct ot_wire_ring *announced,
                         const uint8_t uuid[16], uint64_t memory_bytes, struct diag *diag)
{
    const struct {
        const char *what;
        uint64_t got, want;
    } checks[] = {
        {"memory size", memory_bytes, announced->memory_bytes},
        {"magic", header->magic, OT_RING_MAGIC},
        {"version", header->version, OT_RING_VERSION},
        {"record size", header->record_bytes, sizeof(struct ot_wire_record)},
        {"depth", header->depth_max, OT_RING_DEPTH_MAX},
        {"record count", header->record_count, announced->record_count},
        {"ring id", header->ring_id, announced->ring_id},
        {"lane id", header->lane_id, announced->lane_id},
    };

    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
        if (checks[i].got != checks[i].want)
            return diag_set(diag, -EPROTO, "ring %" PRIu32 ": its %s is %" PRIu64 ", not %" PRIu64,
                            announced->ring_id, checks[i].what, checks[i].got, checks[i].want);
    }
    if (memcmp(header->uuid, uuid, sizeof(header->uuid)) != 0)
        return diag_set(diag, -EPROTO, "ring %" PRIu32 ": it belongs to another session",
                        announced->ring_id);
    return 0;
}
