/* SPDX-License-Identifier: Apache-2.0 */
/* Frames to test with. */
#include "tests/support/wire_sample.h"

#include <errno.h>
#include <stdlib.h>

enum { FRAME_MAX = 512 /* bytes of the largest sample */ };

static struct ot_text text(const char *words)
{
    return (struct ot_text){words, strlen(words)};
}

/* A sample that cannot be encoded is a mistake in this file. */
static size_t sound(int length)
{
    if (length <= 0)
        abort();
    return (size_t)length;
}

static size_t sample_hello(uint8_t *out)
{
    const struct ot_wire_hello hello = {
        .magic = OT_WIRE_MAGIC,
        .version_major = OT_WIRE_VERSION_MAJOR,
        .version_minor = OT_WIRE_VERSION_MINOR,
        .features = OT_FEATURE_CONTROL,
        .uuid = {0x4f, 0x1c, 0x8a, 0x02, 0x77, 0x3d, 0x4e, 0x90, 0xa1, 0xb2, 0xc3, 0xd4, 0xe5, 0xf6,
                 0x07, 0x18},
        .pid = 4711,
        .clock_kind = OT_CLOCK_MONOTONIC,
        .ticks_per_s = 1000000000,
        .ticks = 5000000000,
        .monotonic_ns = 5000000000,
        .realtime_ns = 1700000000000000000,
        .connection = 0,
    };
    const struct ot_wire_hello_texts texts = {text("client.py"), text("python3 client.py"),
                                              text("example 1"), text("box")};

    return sound(ot_wire_encode_hello(&hello, &texts, out, FRAME_MAX));
}

static size_t sample_welcome(uint8_t *out)
{
    const struct ot_wire_welcome welcome = {
        .version_major = OT_WIRE_VERSION_MAJOR,
        .version_minor = OT_WIRE_VERSION_MINOR,
        .status = OT_WELCOME_OK,
        .features = OT_FEATURE_CONTROL,
        .session_id = 12,
        .level = OT_LEVEL_ON,
    };

    return sound(ot_wire_encode_welcome(&welcome, text(""), out, FRAME_MAX));
}

static size_t sample_refusal(uint8_t *out)
{
    const struct ot_wire_welcome welcome = {
        .version_major = OT_WIRE_VERSION_MAJOR,
        .version_minor = OT_WIRE_VERSION_MINOR,
        .status = OT_WELCOME_FULL,
        .features = OT_FEATURE_RINGS,
        .session_id = 12,
        .inline_committed = 3000,
        .level = OT_LEVEL_DETAIL,
    };

    return sound(ot_wire_encode_welcome(&welcome, text("too many clients"), out, FRAME_MAX));
}

static size_t sample_string(uint32_t id, const char *words, uint8_t *out)
{
    return sound(ot_wire_encode_string(id, text(words), out, FRAME_MAX));
}

static size_t sample_op(uint8_t *out)
{
    static const int64_t in[] = {1, 3, 224, 224};
    static const int64_t weight[] = {64, 3, 7, 7};
    static const int64_t result[] = {-1, 64, 112, 112};
    static const uint32_t origins[] = {11, 12, 13};
    const struct ot_wire_shape shapes[] = {
        {{OT_DTYPE_F32, 4, 21}, in},
        {{OT_DTYPE_BF16, 4, 22}, weight},
        {{OT_DTYPE_I64, 0, 0}, NULL},
        {{OT_DTYPE_F32, 4, 23}, result},
    };
    const struct ot_wire_op op = {
        .op_id = 9,
        .name = 1,
        .type = 2,
        .model_id = 3,
        .node_id = 4,
        .device = 5,
        .params = 6,
        .source = 7,
        .computation_flop = 236027904,
        .memory_bytes = 3851264,
        .workspace_bytes = -1,
        .input_count = 3,
        .output_count = 1,
        .origin_count = 3,
    };

    return sound(ot_wire_encode_op(&op, shapes, origins, out, FRAME_MAX));
}

static size_t sample_events(uint8_t *out)
{
    const struct ot_wire_record records[] = {
        {.kind = OT_RECORD_SPAN,
         .flags = OT_RECORD_IMPLICIT_END,
         .op_id = 1,
         .lane_id = 2,
         .run = 3,
         .start_ticks = 1000,
         .end_ticks = 3000,
         .kern_ticks = 2000,
         .correlation = 4},
        {.kind = OT_RECORD_ALLOC,
         .flags = OT_RECORD_REALTIME,
         .op_id = 5,
         .lane_id = 6,
         .run = 7,
         .start_ticks = 1700000000000000000,
         .bytes = 4096,
         .address = 0x7f0000001000},
    };

    return sound(ot_wire_encode_events(41, records, 2, out, FRAME_MAX));
}

static size_t sample_bye(uint8_t *out)
{
    return sound(ot_wire_encode_bye(OT_BYE_PROTOCOL, text("OP: op_id 0 is not within 1 to 1048576"),
                                    out, FRAME_MAX));
}

static size_t whole(const void *frame, size_t size, uint8_t *out)
{
    memcpy(out, frame, size);
    return size;
}

#define WHOLE(type, tag, ...)                                                                      \
    whole(&(struct tag){.header = ot_wire_header(type, sizeof(struct tag)), __VA_ARGS__},          \
          sizeof(struct tag), out)

static const struct ot_wire_plan sample_plan = {
    .command_id = 1700000001000000000,
    .start_ns = 1700000002000000000,
    .end_ns = 1700000009000000000,
    .skip_first = 10,
    .wait = 1,
    .warmup = 2,
    .active = 3,
    .repeat = 4,
    .position = 17,
    .level = OT_LEVEL_DETAIL,
    .unit = OT_UNIT_RUNS,
    .state = OT_PLAN_WAIT,
};

static size_t sample_select(uint8_t *out)
{
    const struct ot_wire_select select = {.kind = OT_SELECT_PROGRAM, .number = 5};

    return sound(ot_wire_encode_select(&select, text("trainer"), out, FRAME_MAX));
}

static size_t sample_status(uint8_t *out)
{
    const struct ot_wire_status status = {.now_ns = 1700000003000000000,
                                          .started_ns = 1700000000000000000,
                                          .store_bytes = 1048576,
                                          .refusal_count = 2,
                                          .pid = 4711,
                                          .uid = 1000,
                                          .level = OT_LEVEL_ON,
                                          .session_count = 3};
    const struct ot_wire_status_texts texts = {text("0.1.0"), text("box"), text("/tmp/o.db")};

    return sound(ot_wire_encode_status(&status, &texts, out, FRAME_MAX));
}

static size_t sample_session(uint8_t *out)
{
    const struct ot_wire_session session = {.session_id = 12,
                                            .started_ns = 1700000000000000000,
                                            .event_count = 100,
                                            .lost_count = 3,
                                            .open_count = 2,
                                            .pid = 4712,
                                            .uid = 1000,
                                            .level = OT_LEVEL_OFF,
                                            .flags = OT_SESSION_CONNECTED | OT_SESSION_SCHEDULE,
                                            .plan = sample_plan};
    const struct ot_wire_session_texts texts = {text("trainer"), text("./trainer --steps 5")};

    return sound(ot_wire_encode_session(&session, &texts, out, FRAME_MAX));
}

static size_t sample_refused(uint8_t *out)
{
    const struct ot_wire_refusal refusal = {
        .time_ns = 1700000000000000000, .pid = 4713, .uid = 1001};

    return sound(
        ot_wire_encode_refusal(&refusal, text("its user 1001 may not connect"), out, FRAME_MAX));
}

static size_t sample_answer(uint8_t *out)
{
    const struct ot_wire_answer answer = {.command_id = 1700000001000000000,
                                          .next_session = 17,
                                          .status = OT_ANSWER_OK,
                                          .taken_count = 2,
                                          .unable_count = 1};
    const uint64_t ids[] = {12, 14, 13};

    return sound(ot_wire_encode_answer(&answer, ids, out, FRAME_MAX));
}

static size_t sample_saved(uint8_t *out)
{
    const struct ot_wire_saved saved = {
        .bytes = 65536, .session_count = 2, .state = OT_SAVE_FAILED, .error = -28};

    return sound(ot_wire_encode_saved(&saved, text("there is no room"), out, FRAME_MAX));
}

/* Frames without variable parts. */
static size_t sample_whole(uint32_t type, uint8_t *out)
{
    switch (type) {
    case OT_FRAME_CLOCK:
        return WHOLE(OT_FRAME_CLOCK, ot_wire_clock, .ticks = 1, .monotonic_ns = 2,
                     .realtime_ns = 3);
    case OT_FRAME_MODEL:
        return WHOLE(OT_FRAME_MODEL, ot_wire_model, .model_id = 1, .name = 2, .path = 3,
                     .format = 4, .producer = 5, .digest = 6, .parameter_bytes = 102228128);
    case OT_FRAME_LANE:
        return WHOLE(OT_FRAME_LANE, ot_wire_lane, .lane_id = 1, .kind = OT_LANE_STREAM, .name = 2,
                     .device = 3, .native_id = 7);
    case OT_FRAME_RING:
        return WHOLE(OT_FRAME_RING, ot_wire_ring, .ring_id = 1, .lane_id = 2, .record_count = 4096,
                     .memory_bytes = 8192 + 64 * 4096);
    case OT_FRAME_DOORBELL:
        return WHOLE(OT_FRAME_DOORBELL, ot_wire_doorbell, .ring_id = 1);
    case OT_FRAME_GAP:
        return WHOLE(OT_FRAME_GAP, ot_wire_gap, .lane_id = 1, .reason = OT_LOSS_PRODUCER,
                     .lost_count = 5, .first_ticks = 6, .last_ticks = 7);
    case OT_FRAME_FLUSH:
        return WHOLE(OT_FRAME_FLUSH, ot_wire_flush, .token = 77);
    case OT_FRAME_FLUSHED:
        return WHOLE(OT_FRAME_FLUSHED, ot_wire_flushed, .token = 77, .status = -28);
    case OT_FRAME_REFUSED:
        return WHOLE(OT_FRAME_REFUSED, ot_wire_refused, .refused_count = 100000,
                     .reason = OT_LOSS_FUTURE);
    case OT_FRAME_CONTROL:
        return WHOLE(OT_FRAME_CONTROL, ot_wire_control, .level = OT_LEVEL_DETAIL);
    case OT_FRAME_SCHEDULE:
        return WHOLE(OT_FRAME_SCHEDULE, ot_wire_schedule, .plan = sample_plan);
    case OT_FRAME_VISIT:
        return WHOLE(OT_FRAME_VISIT, ot_wire_visit, .magic = OT_WIRE_MAGIC,
                     .version_major = OT_WIRE_VERSION_MAJOR, .version_minor = OT_WIRE_VERSION_MINOR,
                     .features = OT_FEATURE_VISIT);
    case OT_FRAME_ASK:
        return WHOLE(OT_FRAME_ASK, ot_wire_ask, .first_session = 17);
    case OT_FRAME_HEALTH:
        return WHOLE(OT_FRAME_HEALTH, ot_wire_health, .longest_pause_ns = 1234567,
                     .longest_pause_at_ns = 1700000000000000000, .writer_ns = 89,
                     .watchdog_ns = 30000000000);
    case OT_FRAME_USAGE:
        return WHOLE(OT_FRAME_USAGE, ot_wire_usage, .budget_bytes = 5368709120,
                     .room_bytes = 4080218931, .growth_bytes = 16777216, .growth_ns = 3600000000000,
                     .cpu_ns = 660000000, .cpu_window_ns = 60000000000);
    case OT_FRAME_PACE:
        return WHOLE(OT_FRAME_PACE, ot_wire_pace, .session_id = 12, .window_ns = 60000000000,
                     .event_count = 5904000, .run_count = 2460, .run_p50_ns = 24100000,
                     .run_sample_count = 64);
    case OT_FRAME_SAVE:
        return WHOLE(OT_FRAME_SAVE, ot_wire_save, .since_ns = 1700000001000000000);
    default:
        return 0;
    }
}

size_t wire_sample_frame(uint32_t type, uint8_t out[WIRE_SAMPLE_MAX])
{
    switch (type) {
    case OT_FRAME_HELLO:
        return sample_hello(out);
    case OT_FRAME_WELCOME:
        return sample_refusal(out);
    case OT_FRAME_STRING:
        return sample_string(8, "gr\xc3\xbc\xc3\x9f", out);
    case OT_FRAME_OP:
        return sample_op(out);
    case OT_FRAME_EVENTS:
        return sample_events(out);
    case OT_FRAME_BYE:
        return sample_bye(out);
    case OT_FRAME_SELECT:
        return sample_select(out);
    case OT_FRAME_STATUS:
        return sample_status(out);
    case OT_FRAME_SESSION:
        return sample_session(out);
    case OT_FRAME_REFUSAL:
        return sample_refused(out);
    case OT_FRAME_ANSWER:
        return sample_answer(out);
    case OT_FRAME_SAVED:
        return sample_saved(out);
    default:
        return sample_whole(type, out);
    }
}

size_t wire_sample_client(uint8_t out[WIRE_SAMPLE_MAX])
{
    static const int64_t dims[] = {2, 8};
    const struct ot_wire_shape shapes[] = {{{OT_DTYPE_F32, 2, 0}, dims},
                                           {{OT_DTYPE_F32, 2, 0}, dims}};
    const struct ot_wire_op op = {
        .op_id = 1,
        .name = 1,
        .type = 2,
        .computation_flop = 16,
        .memory_bytes = 128,
        .workspace_bytes = -1,
        .input_count = 1,
        .output_count = 1,
    };
    const struct ot_wire_record record = {
        .kind = OT_RECORD_SPAN,
        .op_id = 1,
        .lane_id = 1,
        .start_ticks = 5000001000,
        .end_ticks = 5000003500,
        .kern_ticks = 5000001200,
    };
    uint8_t *at = out;

    at += sample_hello(at);
    at += sample_string(1, "relu1", at);
    at += sample_string(2, "Relu", at);
    at += sample_string(3, "main", at);
    at += whole(
        &(struct ot_wire_lane){.header = ot_wire_header(OT_FRAME_LANE, sizeof(struct ot_wire_lane)),
                               .lane_id = 1,
                               .kind = OT_LANE_THREAD,
                               .name = 3,
                               .native_id = 4711},
        sizeof(struct ot_wire_lane), at);
    at += sound(ot_wire_encode_op(&op, shapes, NULL, at, FRAME_MAX));
    at += sound(ot_wire_encode_events(0, &record, 1, at, FRAME_MAX));
    at += sample_whole(OT_FRAME_FLUSH, at);
    at += sound(ot_wire_encode_bye(OT_BYE_DONE, text(""), at, FRAME_MAX));
    return (size_t)(at - out);
}

size_t wire_sample_daemon(uint8_t out[WIRE_SAMPLE_MAX])
{
    uint8_t *at = out;

    at += sample_welcome(at);
    at += whole(&(struct ot_wire_flushed){.header = ot_wire_header(OT_FRAME_FLUSHED,
                                                                   sizeof(struct ot_wire_flushed)),
                                          .token = 77},
                sizeof(struct ot_wire_flushed), at);
    return (size_t)(at - out);
}

static uint64_t add_bytes(uint64_t sum, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;

    for (size_t i = 0; i < size; i++)
        sum = sum * 31 + at[i];
    return sum;
}

static uint64_t add_text(uint64_t sum, struct ot_text words)
{
    return add_bytes(sum, words.bytes, words.length);
}

static int visit_hello(const void *frame, size_t length, uint64_t *out_sum, struct diag *diag)
{
    struct ot_wire_hello_view view;
    int rc = ot_wire_decode_hello(frame, length, &view, diag);
    uint64_t sum;

    if (rc < 0)
        return rc;
    sum = add_bytes(0, &view.fixed, sizeof(view.fixed));
    sum = add_text(sum, view.texts.program);
    sum = add_text(sum, view.texts.command);
    sum = add_text(sum, view.texts.library);
    *out_sum = add_text(sum, view.texts.host);
    return 0;
}

static int visit_op(const void *frame, size_t length, uint64_t *out_sum, struct diag *diag)
{
    int64_t dims[OT_WIRE_RANK_MAX];
    struct ot_wire_tensor_iter tensors;
    struct ot_wire_tensor tensor;
    struct ot_wire_op_view view;
    uint32_t count = 0;
    int rc = ot_wire_decode_op(frame, length, &view, diag);
    uint64_t sum;

    if (rc < 0)
        return rc;
    sum = add_bytes(0, &view.fixed, sizeof(view.fixed));
    tensors = view.tensors;
    while (ot_wire_next_tensor(&tensors, &tensor, dims)) {
        sum = add_bytes(sum, &tensor, sizeof(tensor));
        sum = add_bytes(sum, dims, tensor.rank * sizeof(dims[0]));
        sum = add_text(sum, text(ot_wire_dtype_name(tensor.dtype)));
        count++;
    }
    if (count != (uint32_t)view.fixed.input_count + view.fixed.output_count)
        abort();
    for (uint32_t i = 0; i < view.fixed.origin_count; i++)
        sum += ot_wire_origin(&view, i);
    *out_sum = sum;
    return 0;
}

static int visit_events(const void *frame, size_t length, uint64_t *out_sum, struct diag *diag)
{
    struct ot_wire_events_view view;
    int rc = ot_wire_decode_events(frame, length, &view, diag);
    uint64_t sum;

    if (rc < 0)
        return rc;
    sum = add_bytes(0, &view.fixed, sizeof(view.fixed));
    for (uint32_t i = 0; i < view.fixed.record_count; i++) {
        struct ot_wire_record record = ot_wire_record_at(&view, i);
        int checked = ot_wire_check_record(&record);
        int open = ot_wire_check_open(&record);

        /* What the header promises about a record that passes. */
        if (checked == 0 && (record.lane_id < 1 || record.lane_id > OT_WIRE_LANES_MAX ||
                             record.op_id > OT_WIRE_OPS_MAX || record.start_ticks >> 63))
            abort();
        sum = add_bytes(sum, &record, sizeof(record)) + (uint64_t)checked + (uint64_t)open;
        sum = add_text(sum, text(ot_wire_record_name(record.kind)));
    }
    *out_sum = sum;
    return 0;
}

static int visit_status(const void *frame, size_t length, uint64_t *out_sum, struct diag *diag)
{
    struct ot_wire_status_view view;
    int rc = ot_wire_decode_status(frame, length, &view, diag);
    uint64_t sum;

    if (rc < 0)
        return rc;
    sum = add_bytes(0, &view.fixed, sizeof(view.fixed));
    sum = add_text(sum, view.texts.version);
    sum = add_text(sum, view.texts.host);
    *out_sum = add_text(sum, view.texts.store_path);
    return 0;
}

/* What ot_plan_at() promises about any plan that a decoder accepts. */
static uint64_t visit_plan(const struct ot_wire_plan *plan)
{
    const struct ot_plan_place place = ot_plan_at(plan, plan->position);

    if (place.left == 0 || place.state > OT_PLAN_DONE || place.state == OT_PLAN_EARLY)
        abort();
    if (place.left < UINT64_MAX && place.left > 1 && plan->position < OT_WIRE_PLAN_LENGTH_MAX &&
        ot_plan_at(plan, plan->position + place.left - 1).state != place.state)
        abort();
    return place.left + place.cycle + strlen(ot_plan_state_name(plan->state));
}

static int visit_schedule(const void *frame, size_t length, uint64_t *out_sum, struct diag *diag)
{
    struct ot_wire_schedule schedule;
    int rc = ot_wire_decode_schedule(frame, length, &schedule, diag);

    if (rc == 0)
        *out_sum = add_bytes(0, &schedule, sizeof(schedule)) + visit_plan(&schedule.plan);
    return rc;
}

static int visit_session(const void *frame, size_t length, uint64_t *out_sum, struct diag *diag)
{
    struct ot_wire_session_view view;
    int rc = ot_wire_decode_session(frame, length, &view, diag);

    if (rc == 0)
        *out_sum = add_text(
            add_text(add_bytes(visit_plan(&view.fixed.plan), &view.fixed, sizeof(view.fixed)),
                     view.texts.program),
            view.texts.command);
    return rc;
}

static int visit_answer(const void *frame, size_t length, uint64_t *out_sum, struct diag *diag)
{
    struct ot_wire_answer_view view;
    int rc = ot_wire_decode_answer(frame, length, &view, diag);
    uint64_t sum;

    if (rc < 0)
        return rc;
    sum = add_bytes(0, &view.fixed, sizeof(view.fixed));
    for (uint32_t i = 0; i < view.fixed.taken_count + view.fixed.unable_count; i++)
        sum = sum * 31 + ot_wire_answer_id(&view, i);
    *out_sum = sum;
    return 0;
}

/* A decoder whose view is a fixed part and one text. */
#define VISIT_TEXT(name)                                                                           \
    do {                                                                                           \
        struct ot_wire_##name##_view view;                                                         \
                                                                                                   \
        rc = ot_wire_decode_##name(frame, length, &view, diag);                                    \
        if (rc == 0)                                                                               \
            *out_sum = add_text(add_bytes(0, &view.fixed, sizeof(view.fixed)), view.text);         \
        return rc;                                                                                 \
    } while (0)

/* A decoder that gives a fixed part only. */
#define VISIT_WHOLE(name)                                                                          \
    do {                                                                                           \
        struct ot_wire_##name fixed;                                                               \
                                                                                                   \
        rc = ot_wire_decode_##name(frame, length, &fixed, diag);                                   \
        if (rc == 0)                                                                               \
            *out_sum = add_bytes(0, &fixed, sizeof(fixed));                                        \
        return rc;                                                                                 \
    } while (0)

int wire_sample_visit(uint32_t type, const void *frame, size_t length, uint64_t *out_sum,
                      struct diag *diag)
{
    int rc;

    switch (type) {
    case OT_FRAME_HELLO:
        return visit_hello(frame, length, out_sum, diag);
    case OT_FRAME_OP:
        return visit_op(frame, length, out_sum, diag);
    case OT_FRAME_EVENTS:
        return visit_events(frame, length, out_sum, diag);
    case OT_FRAME_WELCOME:
        VISIT_TEXT(welcome);
    case OT_FRAME_STRING:
        VISIT_TEXT(string);
    case OT_FRAME_BYE:
        VISIT_TEXT(bye);
    case OT_FRAME_CLOCK:
        VISIT_WHOLE(clock);
    case OT_FRAME_MODEL:
        VISIT_WHOLE(model);
    case OT_FRAME_LANE:
        VISIT_WHOLE(lane);
    case OT_FRAME_RING:
        VISIT_WHOLE(ring);
    case OT_FRAME_DOORBELL:
        VISIT_WHOLE(doorbell);
    case OT_FRAME_GAP:
        VISIT_WHOLE(gap);
    case OT_FRAME_FLUSH:
        VISIT_WHOLE(flush);
    case OT_FRAME_FLUSHED:
        VISIT_WHOLE(flushed);
    case OT_FRAME_REFUSED:
        VISIT_WHOLE(refused);
    case OT_FRAME_CONTROL:
        VISIT_WHOLE(control);
    case OT_FRAME_SCHEDULE:
        return visit_schedule(frame, length, out_sum, diag);
    case OT_FRAME_VISIT:
        VISIT_WHOLE(visit);
    case OT_FRAME_SELECT:
        VISIT_TEXT(select);
    case OT_FRAME_ASK:
        VISIT_WHOLE(ask);
    case OT_FRAME_HEALTH:
        VISIT_WHOLE(health);
    case OT_FRAME_USAGE:
        VISIT_WHOLE(usage);
    case OT_FRAME_PACE:
        VISIT_WHOLE(pace);
    case OT_FRAME_STATUS:
        return visit_status(frame, length, out_sum, diag);
    case OT_FRAME_SESSION:
        return visit_session(frame, length, out_sum, diag);
    case OT_FRAME_REFUSAL:
        VISIT_TEXT(refusal);
    case OT_FRAME_ANSWER:
        return visit_answer(frame, length, out_sum, diag);
    case OT_FRAME_SAVE:
        VISIT_WHOLE(save);
    case OT_FRAME_SAVED:
        VISIT_TEXT(saved);
    default:
        return -ENOENT;
    }
}

int wire_sample_follow(const uint8_t *bytes, size_t size, size_t *out_frames, uint64_t *out_sum,
                       struct diag *diag)
{
    *out_frames = 0;
    *out_sum = 0;
    for (size_t at = 0; at < size;) {
        struct ot_wire_header header;
        uint64_t sum = 0;
        int need = ot_wire_peek(bytes + at, size - at, &header, diag);
        int rc;

        if (need < 0)
            return need;
        if ((size_t)need > size - at)
            return 0;
        rc = wire_sample_visit(header.type, bytes + at, (size_t)need, &sum, diag);
        if (rc < 0 && rc != -ENOENT)
            return rc;
        *out_frames += rc == 0;
        *out_sum = *out_sum * 31 + sum;
        at += (size_t)need;
    }
    return 0;
}
