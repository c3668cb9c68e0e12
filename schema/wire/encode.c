/* SPDX-License-Identifier: Apache-2.0 */
/* Encoders of the frames that have variable parts. */
#include "schema/wire/wire.h"

#include <errno.h>

struct writer {
    uint8_t *out;
    size_t capacity;
    size_t at;
    size_t missing; /* bytes that did not fit */
};

static void put(struct writer *writer, const void *bytes, size_t size)
{
    if (size > writer->capacity - writer->at)
        writer->missing += size;
    if (writer->missing || size == 0)
        return;
    memcpy(writer->out + writer->at, bytes, size);
    writer->at += size;
}

/* Pads the frame and sets its header, which starts it. Returns its length or -ENOSPC. */
static int finish(struct writer *writer, enum ot_frame_type type)
{
    static const uint8_t zeros[8];
    struct ot_wire_header header;

    put(writer, zeros, (8 - writer->at % 8) % 8);
    if (writer->missing)
        return -ENOSPC;
    header = ot_wire_header(type, writer->at);
    memcpy(writer->out, &header, sizeof(header));
    return (int)writer->at;
}

static struct writer start(void *out, size_t capacity, const void *fixed, size_t size)
{
    struct writer writer = {.out = out, .capacity = capacity};

    /* More is never a frame; and so lengths fit an int. */
    if (capacity > OT_WIRE_FRAME_BYTES_MAX)
        writer.capacity = OT_WIRE_FRAME_BYTES_MAX;
    put(&writer, fixed, size);
    return writer;
}

/* A frame of a fixed part and one text. */
static int encode_text(enum ot_frame_type type, const void *fixed, size_t size, struct ot_text text,
                       void *out, size_t capacity)
{
    struct writer writer = start(out, capacity, fixed, size);

    put(&writer, text.bytes, text.length);
    return finish(&writer, type);
}

int ot_wire_encode_hello(const struct ot_wire_hello *hello, const struct ot_wire_hello_texts *texts,
                         void *out, size_t capacity)
{
    struct ot_wire_hello fixed = *hello;
    struct ot_wire_hello_view view;
    struct writer writer;
    int length;

    if (texts->program.length > UINT16_MAX || texts->command.length > UINT16_MAX ||
        texts->library.length > UINT16_MAX || texts->host.length > UINT16_MAX)
        return -EINVAL;
    fixed.program_bytes = (uint16_t)texts->program.length;
    fixed.command_bytes = (uint16_t)texts->command.length;
    fixed.library_bytes = (uint16_t)texts->library.length;
    fixed.host_bytes = (uint16_t)texts->host.length;
    writer = start(out, capacity, &fixed, sizeof(fixed));
    put(&writer, texts->program.bytes, texts->program.length);
    put(&writer, texts->command.bytes, texts->command.length);
    put(&writer, texts->library.bytes, texts->library.length);
    put(&writer, texts->host.bytes, texts->host.length);
    length = finish(&writer, OT_FRAME_HELLO);
    if (length < 0)
        return length;
    return ot_wire_decode_hello(out, (size_t)length, &view, NULL) < 0 ? -EINVAL : length;
}

int ot_wire_append_hello(const struct ot_wire_hello_more *more, void *frame, size_t length,
                         size_t capacity)
{
    struct ot_wire_header header;

    if (capacity < length || capacity - length < sizeof(*more))
        return -ENOSPC;
    memcpy((uint8_t *)frame + length, more, sizeof(*more));
    length += sizeof(*more);
    memcpy(&header, frame, sizeof(header));
    header.length = (uint32_t)length;
    memcpy(frame, &header, sizeof(header));
    return (int)length;
}

int ot_wire_encode_welcome(const struct ot_wire_welcome *welcome, struct ot_text text, void *out,
                           size_t capacity)
{
    struct ot_wire_welcome fixed = *welcome;
    struct ot_wire_welcome_view view;
    int length;

    if (text.length > OT_WIRE_TEXT_BYTES_MAX)
        return -EINVAL;
    fixed.text_bytes = (uint32_t)text.length;
    length = encode_text(OT_FRAME_WELCOME, &fixed, sizeof(fixed), text, out, capacity);
    if (length < 0)
        return length;
    return ot_wire_decode_welcome(out, (size_t)length, &view, NULL) < 0 ? -EINVAL : length;
}

int ot_wire_encode_string(uint32_t string_id, struct ot_text text, void *out, size_t capacity)
{
    struct ot_wire_string fixed = {.string_id = string_id};
    struct ot_wire_string_view view;
    int length;

    if (text.length > OT_WIRE_TEXT_BYTES_MAX)
        return -EINVAL;
    fixed.text_bytes = (uint32_t)text.length;
    length = encode_text(OT_FRAME_STRING, &fixed, sizeof(fixed), text, out, capacity);
    if (length < 0)
        return length;
    return ot_wire_decode_string(out, (size_t)length, &view, NULL) < 0 ? -EINVAL : length;
}

int ot_wire_encode_bye(enum ot_wire_bye_reason reason, struct ot_text text, void *out,
                       size_t capacity)
{
    struct ot_wire_bye fixed = {.reason = reason};
    struct ot_wire_bye_view view;
    int length;

    if (text.length > OT_WIRE_TEXT_BYTES_MAX)
        return -EINVAL;
    fixed.text_bytes = (uint32_t)text.length;
    length = encode_text(OT_FRAME_BYE, &fixed, sizeof(fixed), text, out, capacity);
    if (length < 0)
        return length;
    return ot_wire_decode_bye(out, (size_t)length, &view, NULL) < 0 ? -EINVAL : length;
}

int ot_wire_encode_op(const struct ot_wire_op *op, const struct ot_wire_shape *shapes,
                      const uint32_t *origins, void *out, size_t capacity)
{
    const uint32_t count = (uint32_t)op->input_count + op->output_count;
    struct writer writer = start(out, capacity, op, sizeof(*op));
    struct ot_wire_op_view view;
    int length;

    if (count > OT_WIRE_TENSORS_MAX || op->origin_count > OT_WIRE_ORIGINS_MAX)
        return -EINVAL;
    for (uint32_t i = 0; i < count; i++) {
        if (shapes[i].tensor.rank > OT_WIRE_RANK_MAX)
            return -EINVAL;
        put(&writer, &shapes[i].tensor, sizeof(shapes[i].tensor));
        put(&writer, shapes[i].dims, shapes[i].tensor.rank * sizeof(int64_t));
    }
    put(&writer, origins, op->origin_count * sizeof(uint32_t));
    length = finish(&writer, OT_FRAME_OP);
    if (length < 0)
        return length;
    return ot_wire_decode_op(out, (size_t)length, &view, NULL) < 0 ? -EINVAL : length;
}

int ot_wire_encode_events(uint64_t first_sequence, const struct ot_wire_record *records,
                          uint32_t record_count, void *out, size_t capacity)
{
    struct ot_wire_events fixed = {.first_sequence = first_sequence, .record_count = record_count};
    struct ot_wire_events_view view;
    struct writer writer;
    int length;

    if (record_count > OT_WIRE_EVENTS_MAX)
        return -EINVAL;
    writer = start(out, capacity, &fixed, sizeof(fixed));
    put(&writer, records, record_count * sizeof(*records));
    length = finish(&writer, OT_FRAME_EVENTS);
    if (length < 0)
        return length;
    return ot_wire_decode_events(out, (size_t)length, &view, NULL) < 0 ? -EINVAL : length;
}

/* --- Version 1.1 --- */

int ot_wire_encode_select(const struct ot_wire_select *select, struct ot_text text, void *out,
                          size_t capacity)
{
    struct ot_wire_select fixed = *select;
    struct ot_wire_select_view view;
    int length;

    if (text.length > OT_WIRE_REMARK_BYTES_MAX)
        return -EINVAL;
    fixed.text_bytes = (uint32_t)text.length;
    length = encode_text(OT_FRAME_SELECT, &fixed, sizeof(fixed), text, out, capacity);
    if (length < 0)
        return length;
    return ot_wire_decode_select(out, (size_t)length, &view, NULL) < 0 ? -EINVAL : length;
}

int ot_wire_encode_status(const struct ot_wire_status *status,
                          const struct ot_wire_status_texts *texts, void *out, size_t capacity)
{
    struct ot_wire_status fixed = *status;
    struct ot_wire_status_view view;
    struct writer writer;
    int length;

    if (texts->version.length > OT_WIRE_REMARK_BYTES_MAX ||
        texts->host.length > OT_WIRE_REMARK_BYTES_MAX ||
        texts->store_path.length > OT_WIRE_SUMMARY_BYTES_MAX)
        return -EINVAL;
    fixed.version_bytes = (uint16_t)texts->version.length;
    fixed.host_bytes = (uint16_t)texts->host.length;
    fixed.store_path_bytes = (uint16_t)texts->store_path.length;
    writer = start(out, capacity, &fixed, sizeof(fixed));
    put(&writer, texts->version.bytes, texts->version.length);
    put(&writer, texts->host.bytes, texts->host.length);
    put(&writer, texts->store_path.bytes, texts->store_path.length);
    length = finish(&writer, OT_FRAME_STATUS);
    if (length < 0)
        return length;
    return ot_wire_decode_status(out, (size_t)length, &view, NULL) < 0 ? -EINVAL : length;
}

int ot_wire_encode_session(const struct ot_wire_session *session,
                           const struct ot_wire_session_texts *texts, void *out, size_t capacity)
{
    struct ot_wire_session fixed = *session;
    struct ot_wire_session_view view;
    struct writer writer;
    int length;

    if (texts->program.length > OT_WIRE_REMARK_BYTES_MAX ||
        texts->command.length > OT_WIRE_SUMMARY_BYTES_MAX)
        return -EINVAL;
    fixed.program_bytes = (uint16_t)texts->program.length;
    fixed.command_bytes = (uint16_t)texts->command.length;
    writer = start(out, capacity, &fixed, sizeof(fixed));
    put(&writer, texts->program.bytes, texts->program.length);
    put(&writer, texts->command.bytes, texts->command.length);
    length = finish(&writer, OT_FRAME_SESSION);
    if (length < 0)
        return length;
    return ot_wire_decode_session(out, (size_t)length, &view, NULL) < 0 ? -EINVAL : length;
}

int ot_wire_encode_refusal(const struct ot_wire_refusal *refusal, struct ot_text text, void *out,
                           size_t capacity)
{
    struct ot_wire_refusal fixed = *refusal;
    struct ot_wire_refusal_view view;
    int length;

    if (text.length > OT_WIRE_REMARK_BYTES_MAX)
        return -EINVAL;
    fixed.text_bytes = (uint32_t)text.length;
    length = encode_text(OT_FRAME_REFUSAL, &fixed, sizeof(fixed), text, out, capacity);
    if (length < 0)
        return length;
    return ot_wire_decode_refusal(out, (size_t)length, &view, NULL) < 0 ? -EINVAL : length;
}

int ot_wire_encode_saved(const struct ot_wire_saved *saved, struct ot_text text, void *out,
                         size_t capacity)
{
    struct ot_wire_saved fixed = *saved;
    struct ot_wire_saved_view view;
    int length;

    if (text.length > OT_WIRE_SUMMARY_BYTES_MAX)
        return -EINVAL;
    fixed.text_bytes = (uint32_t)text.length;
    length = encode_text(OT_FRAME_SAVED, &fixed, sizeof(fixed), text, out, capacity);
    if (length < 0)
        return length;
    return ot_wire_decode_saved(out, (size_t)length, &view, NULL) < 0 ? -EINVAL : length;
}

int ot_wire_encode_answer(const struct ot_wire_answer *answer, const uint64_t *ids, void *out,
                          size_t capacity)
{
    struct ot_wire_answer_view view;
    struct writer writer;
    int length;

    if (answer->taken_count > OT_WIRE_SESSIONS_MAX || answer->unable_count > OT_WIRE_SESSIONS_MAX)
        return -EINVAL;
    writer = start(out, capacity, answer, sizeof(*answer));
    put(&writer, ids, ((size_t)answer->taken_count + answer->unable_count) * sizeof(*ids));
    length = finish(&writer, OT_FRAME_ANSWER);
    if (length < 0)
        return length;
    return ot_wire_decode_answer(out, (size_t)length, &view, NULL) < 0 ? -EINVAL : length;
}
