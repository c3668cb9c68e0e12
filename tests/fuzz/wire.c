/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: the input is what a peer sends. It is followed frame by frame, all that the decoders
 * give is read, and what they accept must come out of the encoders byte for byte. The same bytes
 * are also taken as records, as a ring's header and as a text.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/text.h"
#include "schema/wire/wire.h"
#include "tests/fuzz/accepted.h"
#include "tests/support/wire_sample.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t again[OT_WIRE_FRAME_BYTES_MAX];

static void require(bool condition)
{
    if (!condition)
        abort();
}

static int encode_op_again(const uint8_t *frame, size_t length)
{
    static int64_t dims[OT_WIRE_TENSORS_MAX][OT_WIRE_RANK_MAX];
    static struct ot_wire_shape shapes[OT_WIRE_TENSORS_MAX];
    static uint32_t origins[OT_WIRE_ORIGINS_MAX];
    struct ot_wire_tensor_iter tensors;
    struct ot_wire_op_view op;
    size_t count = 0;

    require(ot_wire_decode_op(frame, length, &op, NULL) == 0);
    tensors = op.tensors;
    while (ot_wire_next_tensor(&tensors, &shapes[count].tensor, dims[count])) {
        shapes[count].dims = dims[count];
        count++;
    }
    for (uint32_t i = 0; i < op.fixed.origin_count; i++)
        origins[i] = ot_wire_origin(&op, i);
    return ot_wire_encode_op(&op.fixed, shapes, origins, again, sizeof(again));
}

/* The frames of version 1.1; as encode_again(). */
static int encode_control_again(uint32_t type, const uint8_t *frame, size_t length)
{
    static uint64_t ids[2 * OT_WIRE_SESSIONS_MAX];
    struct ot_wire_select_view select;
    struct ot_wire_status_view status;
    struct ot_wire_session_view session;
    struct ot_wire_refusal_view refusal;
    struct ot_wire_answer_view answer;
    struct ot_wire_saved_view saved;

    switch (type) {
    case OT_FRAME_SELECT:
        require(ot_wire_decode_select(frame, length, &select, NULL) == 0);
        return ot_wire_encode_select(&select.fixed, select.text, again, sizeof(again));
    case OT_FRAME_STATUS:
        require(ot_wire_decode_status(frame, length, &status, NULL) == 0);
        return ot_wire_encode_status(&status.fixed, &status.texts, again, sizeof(again));
    case OT_FRAME_SESSION:
        require(ot_wire_decode_session(frame, length, &session, NULL) == 0);
        return ot_wire_encode_session(&session.fixed, &session.texts, again, sizeof(again));
    case OT_FRAME_REFUSAL:
        require(ot_wire_decode_refusal(frame, length, &refusal, NULL) == 0);
        return ot_wire_encode_refusal(&refusal.fixed, refusal.text, again, sizeof(again));
    case OT_FRAME_SAVED:
        require(ot_wire_decode_saved(frame, length, &saved, NULL) == 0);
        return ot_wire_encode_saved(&saved.fixed, saved.text, again, sizeof(again));
    case OT_FRAME_ANSWER:
        require(ot_wire_decode_answer(frame, length, &answer, NULL) == 0);
        for (uint32_t i = 0; i < answer.fixed.taken_count + answer.fixed.unable_count; i++)
            ids[i] = ot_wire_answer_id(&answer, i);
        return ot_wire_encode_answer(&answer.fixed, ids, again, sizeof(again));
    default:
        return -ENOENT;
    }
}

/* What may be behind its texts has an encoder of its own: zeros there are not the same as none. */
static int encode_hello_again(const uint8_t *frame, size_t length)
{
    struct ot_wire_hello_view hello;
    int encoded;

    require(ot_wire_decode_hello(frame, length, &hello, NULL) == 0);
    if (hello.fixed.version_minor > OT_WIRE_VERSION_MINOR)
        return -ENOENT; /* it may have an end that we do not know */
    encoded = ot_wire_encode_hello(&hello.fixed, &hello.texts, again, sizeof(again));
    if (encoded < 0 || (size_t)encoded == length)
        return encoded;
    return ot_wire_append_hello(&hello.more, again, (size_t)encoded, sizeof(again));
}

/* Length of the frame encoded anew into `again`; -ENOENT for frames without an encoder. */
static int encode_again(uint32_t type, const uint8_t *frame, size_t length)
{
    struct ot_wire_welcome_view welcome;
    struct ot_wire_string_view string;
    struct ot_wire_bye_view bye;

    switch (type) {
    case OT_FRAME_HELLO:
        return encode_hello_again(frame, length);
    case OT_FRAME_WELCOME:
        require(ot_wire_decode_welcome(frame, length, &welcome, NULL) == 0);
        return ot_wire_encode_welcome(&welcome.fixed, welcome.text, again, sizeof(again));
    case OT_FRAME_STRING:
        require(ot_wire_decode_string(frame, length, &string, NULL) == 0);
        return ot_wire_encode_string(string.fixed.string_id, string.text, again, sizeof(again));
    case OT_FRAME_BYE:
        require(ot_wire_decode_bye(frame, length, &bye, NULL) == 0);
        return ot_wire_encode_bye(bye.fixed.reason, bye.text, again, sizeof(again));
    case OT_FRAME_OP:
        return encode_op_again(frame, length);
    default:
        return encode_control_again(type, frame, length);
    }
}

static void check_frame(const uint8_t *frame, size_t length, const struct ot_wire_header *header)
{
    uint64_t sum;
    int encoded;

    if (wire_sample_visit(header->type, frame, length, &sum, NULL) < 0)
        return;
    fuzz_accepted(1);
    encoded = encode_again(header->type, frame, length);
    if (encoded == -ENOENT)
        return;
    /* All but the header, whose flags are reserved. */
    require(encoded == (int)length);
    require(memcmp(again + sizeof(*header), frame + sizeof(*header), length - sizeof(*header)) ==
            0);
}

static void check_stream(const uint8_t *data, size_t size)
{
    struct ot_wire_header header;
    struct diag diag = {0};
    size_t frames;
    uint64_t sum;
    int rc = wire_sample_follow(data, size, &frames, &sum, &diag);

    require(rc == 0 || (rc == -EPROTO || rc == -EPROTONOSUPPORT));
    require(rc == 0 || diag.text[0] != '\0');
    while (size > 0) {
        int need = ot_wire_peek(data, size, &header, NULL);

        if (need < 0 || (size_t)need > size)
            return;
        check_frame(data, (size_t)need, &header);
        data += need;
        size -= (size_t)need;
    }
}

static void check_records(const uint8_t *data, size_t size)
{
    struct ot_wire_record record;

    for (; size >= sizeof(record); data += sizeof(record), size -= sizeof(record)) {
        memcpy(&record, data, sizeof(record));
        if (ot_wire_check_record(&record) != 0)
            continue;
        require(record.lane_id >= 1 && record.lane_id <= OT_WIRE_LANES_MAX);
        require(record.op_id <= OT_WIRE_OPS_MAX && record.start_ticks <= OT_WIRE_TIME_MAX);
        if (record.kind <= OT_RECORD_COPY) {
            require(record.end_ticks >= record.start_ticks && record.end_ticks <= OT_WIRE_TIME_MAX);
            require(ot_wire_check_open(&record) == 0);
        }
    }
}

static void check_ring(const uint8_t *data, size_t size)
{
    struct ot_wire_ring ring = {.ring_id = 1, .lane_id = 1, .record_count = 64};
    struct ot_ring_header header;

    ring.memory_bytes = ot_ring_bytes(ring.record_count);
    if (size < sizeof(header))
        return;
    memcpy(&header, data, sizeof(header));
    if (ot_ring_check_header(&header, &ring, header.uuid, ring.memory_bytes, NULL) == 0)
        require(header.record_count == 64 && header.record_bytes == 64);
}

static void check_text(const uint8_t *data, size_t size)
{
    static char clean[4096];
    const char *bytes = (const char *)data;
    const size_t capacity = size % sizeof(clean);
    size_t length = ot_wire_clean_text(bytes, size, clean, capacity);

    require(length <= capacity && text_is_utf8(clean, length));
    require(!text_is_utf8(bytes, size) || memcmp(clean, bytes, length) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_stream(data, size);
    check_records(data, size);
    check_ring(data, size);
    check_text(data, size);
    return 0;
}
