/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: the input is what a client sends after its HELLO. Definitions, clocks and records go
 * the way that they go in the daemon, up to the rows; no socket, ring or store. Rows must make
 * sense whatever comes: durations are not negative, kernels start within their event, ids are the
 * store's.
 */
#include <stdlib.h>
#include <string.h>

#include "daemon/define.h"
#include "daemon/ingest.h"
#include "tests/fuzz/accepted.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint64_t NOW_TICKS = 1000000000000;
static const uint64_t NOW_REALTIME_NS = UINT64_C(1700000000000000000);

static void require(bool condition)
{
    if (!condition)
        abort();
}

struct target {
    struct session_budget budget;
    struct store_ids ids;
    struct batch *batch;
    struct session *session;
};

static void begin(struct target *target)
{
    struct ot_wire_hello_view hello = {.fixed = {.clock_kind = OT_CLOCK_TSC,
                                                 .ticks_per_s = 2400000000,
                                                 .ticks = NOW_TICKS,
                                                 .monotonic_ns = NOW_TICKS,
                                                 .realtime_ns = NOW_REALTIME_NS}};
    struct session_peer peer = {.now_ns = ot_clock_ns(CLOCK_BOOTTIME)};

    memset(target, 0, sizeof(*target));
    peer.budget = &target->budget;
    target->batch = batch_create();
    require(session_create(&hello, &peer, &target->ids, target->batch, &target->session, NULL) ==
            0);
}

static void take_events(struct target *target, const void *frame, size_t length)
{
    struct ot_wire_events_view events;
    struct ingest ingest;

    if (ot_wire_decode_events(frame, length, &events, NULL) < 0)
        return;
    ingest_init(&ingest, target->session, target->batch, false);
    for (uint32_t i = 0; i < events.fixed.record_count; i++) {
        struct ot_wire_record record = ot_wire_record_at(&events, i);

        require(ingest_records(&ingest, &record, 1) == 1);
        ingest_open(&ingest, &record, 1);
    }
}

static void take_gap(struct target *target, const void *frame, size_t length)
{
    struct ot_wire_gap gap;
    struct ot_ring_gap lost;
    struct ingest ingest;

    if (ot_wire_decode_gap(frame, length, &gap, NULL) < 0)
        return;
    lost = (struct ot_ring_gap){gap.lane_id, gap.reason, gap.lost_count, gap.first_ticks,
                                gap.last_ticks};
    ingest_init(&ingest, target->session, target->batch, false);
    ingest_gap(&ingest, &lost, gap.lost_count);
}

static void take_clock(struct target *target, const void *frame, size_t length)
{
    struct ot_wire_clock clock;

    if (ot_wire_decode_clock(frame, length, &clock, NULL) == 0)
        tick_clock_update(
            &target->session->clock,
            &(struct ot_clock_triple){clock.ticks, clock.monotonic_ns, clock.realtime_ns},
            ot_clock_ns(CLOCK_BOOTTIME));
}

static void take_definition(struct target *target, uint16_t type, const void *frame, size_t length)
{
    struct ot_wire_string_view string;
    struct ot_wire_model model;
    struct ot_wire_op_view op;
    struct ot_wire_lane lane;

    if (type == OT_FRAME_STRING && ot_wire_decode_string(frame, length, &string, NULL) == 0)
        define_string(target->session, &string, NULL);
    if (type == OT_FRAME_MODEL && ot_wire_decode_model(frame, length, &model, NULL) == 0)
        define_model(target->session, &model, &target->ids, target->batch, NULL);
    if (type == OT_FRAME_OP && ot_wire_decode_op(frame, length, &op, NULL) == 0)
        define_op(target->session, &op, &target->ids, target->batch, NULL);
    if (type == OT_FRAME_LANE && ot_wire_decode_lane(frame, length, &lane, NULL) == 0)
        define_lane(target->session, &lane, &target->ids, target->batch, NULL);
}

static void check_rows(const struct target *target)
{
    const struct batch *batch = target->batch;

    for (size_t i = 0; i < batch->events.count; i++) {
        const struct store_event *event = &batch->events.items[i];

        require(event->lane_id >= 1 && event->lane_id <= target->ids.lane_id);
        require(event->op_id >= 1 && event->op_id <= target->ids.op_id);
        require(event->start_ns > 0);
        require(event->dur_ns == STORE_NULL || event->dur_ns >= 0);
        require(event->kern_ns == STORE_NULL ||
                (event->kern_ns >= 0 &&
                 (event->dur_ns == STORE_NULL || event->kern_ns <= event->dur_ns)));
    }
    for (size_t i = 0; i < batch->runs.count; i++)
        require(batch->runs.items[i].end_ns == STORE_NULL ||
                batch->runs.items[i].end_ns >= batch->runs.items[i].start_ns);
    for (size_t i = 0; i < batch->gaps.count; i++)
        require(batch->gaps.items[i].lost_count > 0);
    for (size_t i = 0; i < batch->ops.count; i++)
        require(batch->ops.items[i].name && batch->ops.items[i].type);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ot_wire_header header;
    struct target target;
    size_t at = 0;

    begin(&target);
    while (at < size) {
        int length = ot_wire_peek(data + at, size - at, &header, NULL);

        if (length < 0 || (size_t)length > size - at)
            break;
        if (header.type == OT_FRAME_EVENTS)
            take_events(&target, data + at, (size_t)length);
        else if (header.type == OT_FRAME_GAP)
            take_gap(&target, data + at, (size_t)length);
        else if (header.type == OT_FRAME_CLOCK)
            take_clock(&target, data + at, (size_t)length);
        else
            take_definition(&target, header.type, data + at, (size_t)length);
        at += (size_t)length;
    }
    check_rows(&target);
    fuzz_accepted(target.batch->events.count > 0);
    session_destroy(&target.session);
    require(target.budget.session_count == 0 && target.budget.definition_bytes == 0);
    batch_destroy(&target.batch);
    return 0;
}
