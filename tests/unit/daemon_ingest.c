/* SPDX-License-Identifier: Apache-2.0 */
/* Definitions and records to rows, without socket, ring or store. */
#include "daemon/ingest.h"

#include "base/clock.h"
#include "daemon/define.h"
#include "daemon/share.h"
#include "tests/support/check.h"

/* A session with string 1 and 2, model 3, lane 5, op 4 and op 6. */
struct fixture {
    struct session_budget budget;
    struct store_ids ids;
    struct batch *batch;
    struct session *session;
    struct ingest ingest;
    uint64_t now; /* ticks: ns of CLOCK_MONOTONIC */
    uint64_t real_ns;
};

static int define_text(struct fixture *fixture, uint32_t id, const char *text, struct diag *diag)
{
    const struct ot_wire_string_view string = {.fixed = {.string_id = id},
                                               .text = {text, strlen(text)}};

    return define_string(fixture->session, &string, diag);
}

static int define_an_op(struct fixture *fixture, uint32_t id, struct diag *diag)
{
    const struct ot_wire_op_view op = {.fixed = {.op_id = id,
                                                 .name = 1,
                                                 .type = 2,
                                                 .computation_flop = -1,
                                                 .memory_bytes = 7,
                                                 .workspace_bytes = -1}};

    return define_op(fixture->session, &op, &fixture->ids, fixture->batch, diag);
}

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    const struct ot_wire_lane lane = {.lane_id = 5, .kind = OT_LANE_STREAM, .name = 1};
    const struct ot_wire_model model = {.model_id = 3, .name = 1, .parameter_bytes = 10};
    struct ot_wire_hello_view hello = {.fixed = {.clock_kind = OT_CLOCK_MONOTONIC}};
    struct session_peer peer = {.pid = 1, .uid = 2};
    struct diag diag = {0};

    assert_non_null(fixture);
    fixture->batch = batch_create();
    fixture->ids = (struct store_ids){10, 20, 30, 40};
    fixture->now = ot_clock_ns(CLOCK_MONOTONIC);
    fixture->real_ns = ot_clock_ns(CLOCK_REALTIME);
    hello.fixed.ticks = hello.fixed.monotonic_ns = fixture->now;
    hello.fixed.realtime_ns = fixture->real_ns;
    hello.fixed.uuid[0] = 1;
    peer.now_ns = ot_clock_ns(CLOCK_BOOTTIME);
    peer.budget = &fixture->budget;
    CHECK_OK(
        session_create(&hello, &peer, &fixture->ids, fixture->batch, &fixture->session, &diag));
    CHECK_OK(define_text(fixture, 1, "conv1", &diag));
    CHECK_OK(define_text(fixture, 2, "Conv", &diag));
    CHECK_OK(define_model(fixture->session, &model, &fixture->ids, fixture->batch, &diag));
    CHECK_OK(define_lane(fixture->session, &lane, &fixture->ids, fixture->batch, &diag));
    CHECK_OK(define_an_op(fixture, 4, &diag));
    CHECK_OK(define_an_op(fixture, 6, &diag));
    ingest_init(&fixture->ingest, fixture->session, fixture->batch, false);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    session_destroy(&fixture->session);
    CHECK_U64(fixture->budget.session_count, 0);
    CHECK_U64(fixture->budget.definition_bytes, 0);
    batch_destroy(&fixture->batch);
    free(fixture);
    return 0;
}

static struct ot_wire_record span_of(const struct fixture *fixture)
{
    return (struct ot_wire_record){.kind = OT_RECORD_SPAN,
                                   .op_id = 4,
                                   .lane_id = 5,
                                   .run = 9,
                                   .start_ticks = fixture->now + 100,
                                   .kern_ticks = fixture->now + 150,
                                   .end_ticks = fixture->now + 300,
                                   .correlation = 77};
}

static void take(struct fixture *fixture, struct ot_wire_record record)
{
    CHECK_U64(ingest_records(&fixture->ingest, &record, 1), 1);
}

static void definitions_get_the_stores_numbers(void **state)
{
    struct fixture *fixture = *state;
    const struct batch *batch = fixture->batch;

    CHECK_U64(batch->sessions.count, 1);
    CHECK_U64((uint64_t)batch->sessions.items[0].session_id, 11);
    CHECK_U64((uint64_t)batch->sessions.items[0].uid, 2);
    CHECK_U64(batch->models.count, 1);
    CHECK_U64((uint64_t)batch->models.items[0].model_id, 21);
    CHECK_U64((uint64_t)batch->models.items[0].client_model, 3);
    CHECK_U64(batch->ops.count, 2);
    CHECK_U64((uint64_t)batch->ops.items[1].op_id, 32);
    CHECK_U64((uint64_t)batch->ops.items[1].client_op, 6);
    assert_string_equal(batch->ops.items[1].name, "conv1");
    assert_true(batch->ops.items[1].model_id == STORE_NULL);
    assert_true(batch->ops.items[1].computation_flop == STORE_NULL);
    CHECK_U64((uint64_t)batch->ops.items[1].memory_bytes, 7);
    CHECK_U64((uint64_t)batch->lanes.items[0].lane_id, 41);
    assert_string_equal(batch->lanes.items[0].kind, "stream");
    assert_null(batch->lanes.items[0].device);
}

static void what_is_defined_twice_keeps_the_first(void **state)
{
    struct fixture *fixture = *state;
    struct diag diag = {0};

    CHECK_OK(define_an_op(fixture, 4, &diag));
    CHECK_U64(fixture->batch->ops.count, 2);
    CHECK_OK(define_text(fixture, 1, "conv1", &diag));
    assert_int_equal(define_text(fixture, 1, "other", &diag), -EPROTO);
    CHECK_CONTAINS(diag.text, "another text");
}

static void what_is_not_defined_is_refused(void **state)
{
    struct fixture *fixture = *state;
    struct ot_wire_op_view op = {.fixed = {.op_id = 8, .name = 1, .type = 9}};
    struct ot_wire_lane lane = {.lane_id = 6, .kind = OT_LANE_THREAD, .name = 1000000};
    struct diag diag = {0};

    assert_int_equal(define_op(fixture->session, &op, &fixture->ids, fixture->batch, &diag),
                     -EPROTO);
    CHECK_CONTAINS(diag.text, "its type is string 9");
    op.fixed.type = 0;
    diag = (struct diag){0};
    assert_int_equal(define_op(fixture->session, &op, &fixture->ids, fixture->batch, &diag),
                     -EPROTO);
    CHECK_CONTAINS(diag.text, "no type");
    op.fixed.type = 2;
    op.fixed.model_id = 4;
    diag = (struct diag){0};
    assert_int_equal(define_op(fixture->session, &op, &fixture->ids, fixture->batch, &diag),
                     -EPROTO);
    CHECK_CONTAINS(diag.text, "model 4");
    diag = (struct diag){0};
    assert_int_equal(define_lane(fixture->session, &lane, &fixture->ids, fixture->batch, &diag),
                     -EPROTO);
    CHECK_U64(fixture->batch->ops.count, 2);
    CHECK_U64(fixture->batch->lanes.count, 1);
}

static void a_span_becomes_an_event(void **state)
{
    struct fixture *fixture = *state;
    const struct store_event *event;

    take(fixture, span_of(fixture));
    CHECK_U64(fixture->batch->events.count, 1);
    event = &fixture->batch->events.items[0];
    CHECK_U64((uint64_t)event->lane_id, 41);
    CHECK_U64((uint64_t)event->op_id, 31);
    CHECK_U64((uint64_t)event->run, 9);
    CHECK_U64((uint64_t)event->start_ns, fixture->real_ns + 100);
    CHECK_U64((uint64_t)event->dur_ns, 200);
    CHECK_U64((uint64_t)event->kern_ns, 50);
    CHECK_U64((uint64_t)event->correlation, 77);
    assert_true(event->bytes == STORE_NULL);
    CHECK_U64(fixture->batch->gaps.count, 0);
}

static void what_a_kind_does_not_have_is_null(void **state)
{
    struct fixture *fixture = *state;
    struct ot_wire_record mark = span_of(fixture);
    const struct store_event *event;

    mark.kind = OT_RECORD_MARK;
    mark.run = 0;
    mark.correlation = 0;
    mark.end_ticks = 3; /* not used by its kind */
    take(fixture, mark);
    event = &fixture->batch->events.items[0];
    assert_true(event->run == STORE_NULL && event->kern_ns == STORE_NULL &&
                event->correlation == STORE_NULL && event->bytes == STORE_NULL);
    CHECK_U64((uint64_t)event->dur_ns, 0);
}

static void times_may_be_those_of_the_wall_clock(void **state)
{
    struct fixture *fixture = *state;
    struct ot_wire_record span = span_of(fixture);

    span.flags = OT_RECORD_REALTIME;
    span.start_ticks = fixture->real_ns - 5000;
    span.kern_ticks = 0;
    span.end_ticks = fixture->real_ns - 1000;
    take(fixture, span);
    CHECK_U64((uint64_t)fixture->batch->events.items[0].start_ns, fixture->real_ns - 5000);
    CHECK_U64((uint64_t)fixture->batch->events.items[0].dur_ns, 4000);
    span.end_ticks = fixture->real_ns + UINT64_C(7200000000000); /* in two hours */
    take(fixture, span);
    CHECK_U64(fixture->batch->events.count, 1);
    CHECK_U64(fixture->batch->gaps.count, 1);
}

static void runs_copies_memory_and_counters_have_their_tables(void **state)
{
    struct fixture *fixture = *state;
    struct ot_wire_record record = span_of(fixture);
    const double value = -0.25;

    record.kind = OT_RECORD_RUN;
    record.op_id = 3;
    record.flags = OT_RECORD_WARMUP;
    take(fixture, record);
    CHECK_U64((uint64_t)fixture->batch->runs.items[0].model_id, 21);
    assert_int_equal(fixture->batch->runs.items[0].warmup, 1);
    CHECK_U64((uint64_t)fixture->batch->runs.items[0].end_ns, fixture->real_ns + 300);
    record = span_of(fixture);
    record.kind = OT_RECORD_COPY;
    record.bytes = 4096;
    take(fixture, record);
    CHECK_U64((uint64_t)fixture->batch->events.items[0].bytes, 4096);
    record.kind = OT_RECORD_COUNTER;
    memcpy(&record.bytes, &value, sizeof(value));
    take(fixture, record);
    assert_true(fixture->batch->counters.items[0].value == value);
    record.kind = OT_RECORD_ALLOC;
    record.bytes = 64;
    record.address = UINT64_MAX;
    take(fixture, record);
    record.kind = OT_RECORD_FREE;
    record.bytes = 0;
    record.op_id = 0;
    take(fixture, record);
    CHECK_U64(fixture->batch->memory_events.count, 2);
    assert_int_equal(fixture->batch->memory_events.items[0].address, -1);
    assert_true(fixture->batch->memory_events.items[1].bytes == STORE_NULL);
    assert_true(fixture->batch->memory_events.items[1].op_id == STORE_NULL);
    CHECK_U64(fixture->batch->gaps.count, 0);
}

static void check_gap(const struct fixture *fixture, size_t index, const char *reason,
                      int64_t lane_id, uint64_t lost_count)
{
    const struct store_gap *gap = &fixture->batch->gaps.items[index];

    assert_string_equal(gap->reason, reason);
    assert_true(gap->lane_id == lane_id);
    CHECK_U64((uint64_t)gap->lost_count, lost_count);
}

static void nonsense_is_counted_on_its_lane(void **state)
{
    struct fixture *fixture = *state;
    struct ot_wire_record good = span_of(fixture), bad[8];

    for (size_t i = 0; i < 8; i++)
        bad[i] = good;
    bad[0].op_id = 5; /* not defined */
    bad[1].op_id = OT_WIRE_OPS_MAX + 1;
    bad[2].end_ticks = bad[2].start_ticks - 1;
    bad[3].kern_ticks = bad[3].end_ticks + 1;
    bad[4].start_ticks = bad[4].kern_ticks = bad[4].end_ticks =
        fixture->now + UINT64_C(3600000000000);
    bad[5].flags = 0x8000;
    bad[6].kind = 99;
    bad[7].lane_id = 6; /* not defined */
    CHECK_U64(ingest_records(&fixture->ingest, bad, 8), 8);
    CHECK_U64(fixture->batch->events.count, 0);
    CHECK_U64(fixture->batch->gaps.count, 5);
    check_gap(fixture, 0, "undefined", 41, 1);
    check_gap(fixture, 1, "bad record", 41, 4);
    check_gap(fixture, 2, "in the future", 41, 1);
    check_gap(fixture, 3, "unknown kind", 41, 1);
    check_gap(fixture, 4, "undefined", STORE_NULL, 1);
    take(fixture, good); /* the next one is not touched by it */
    CHECK_U64(fixture->batch->events.count, 1);
}

static void a_record_waits_for_its_definition(void **state)
{
    struct fixture *fixture = *state;
    struct ot_wire_record records[3] = {span_of(fixture), span_of(fixture), span_of(fixture)};
    struct diag diag = {0};

    records[1].op_id = 1000;
    ingest_init(&fixture->ingest, fixture->session, fixture->batch, true);
    CHECK_U64(ingest_records(&fixture->ingest, records, 3), 1);
    CHECK_U64(fixture->ingest.undefined_count, 1);
    CHECK_OK(define_an_op(fixture, 1000, &diag));
    CHECK_U64(ingest_records(&fixture->ingest, records + 1, 2), 2);
    CHECK_U64(fixture->batch->events.count, 3);
    CHECK_U64(fixture->batch->gaps.count, 0);
}

static uint64_t one_of(uint32_t *seed, const uint64_t *values, size_t count)
{
    *seed = *seed * 1664525 + 1013904223;
    return values[(*seed >> 8) % count];
}

#define ONE_OF(seed, ...)                                                                          \
    one_of(seed, (const uint64_t[]){__VA_ARGS__},                                                  \
           sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

/* Mostly sound, else in all but one thing; times are before and behind where the second line of the
 * clock begins. */
static struct ot_wire_record some_span(const struct fixture *fixture, uint32_t *seed)
{
    const uint64_t far = UINT64_C(4000000000), beyond = (uint64_t)INT64_MAX + 1;
    struct ot_wire_record span = span_of(fixture);

    span.start_ticks += ONE_OF(seed, 0, 1, 1999999000, 2000000000, 2000000100, far);
    span.end_ticks = span.start_ticks + ONE_OF(seed, 0, 1, 200, 1000, far);
    span.kern_ticks = ONE_OF(seed, 0, span.start_ticks, span.start_ticks + 1, span.end_ticks);
    span.run = (uint32_t)ONE_OF(seed, 0, 1, UINT32_MAX);
    span.correlation = ONE_OF(seed, 0, 1, UINT64_MAX);
    span.flags = (uint16_t)ONE_OF(seed, 0, 0, OT_RECORD_IMPLICIT_END);
    switch (ONE_OF(seed, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6)) {
    case 1:
        span.op_id = (uint32_t)ONE_OF(seed, 5, 0, 7, UINT32_MAX);
        break;
    case 2:
        span.lane_id = (uint32_t)ONE_OF(seed, 0, 6, UINT32_MAX);
        break;
    case 3:
        span.flags = (uint16_t)ONE_OF(seed, OT_RECORD_REALTIME, OT_RECORD_WARMUP, 0x8000);
        break;
    case 4:
        span.start_ticks = ONE_OF(seed, 0, 1, fixture->real_ns, beyond, UINT64_MAX);
        break;
    case 5:
        span.end_ticks = ONE_OF(seed, span.start_ticks - 1, 0, beyond - 1, beyond, UINT64_MAX);
        span.kern_ticks = ONE_OF(seed, 0, span.start_ticks);
        break;
    case 6:
        span.kern_ticks = ONE_OF(seed, 1, span.start_ticks - 1, span.end_ticks + 1, UINT64_MAX);
        break;
    }
    return span;
}

/* Nearly all records are plain spans, for which there is a shorter way. Copies go the other one: of
 * no bytes, they come to the same rows and to the same losses. */
static void plain_spans_come_to_what_others_do(void **state)
{
    enum { RECORDS = 4000 };
    struct fixture *fixture = *state;
    struct session *session = fixture->session;
    const struct ot_clock_triple later = {.ticks = fixture->now + 2000000000,
                                          .monotonic_ns = fixture->now + 2000000000,
                                          .realtime_ns = fixture->real_ns + 2000400000};
    const uint64_t now_ns = ot_clock_ns(CLOCK_BOOTTIME) + 2000000000;
    struct ot_wire_record *records = calloc(RECORDS, sizeof(*records));
    const struct store_event *rows;
    uint64_t lost, row_count;
    uint32_t seed = 1;

    assert_non_null(records);
    assert_int_equal(tick_clock_update(&session->clock, &later, now_ns), TICK_TAKEN);
    tick_clock_set_now(&session->clock, now_ns);
    assert_true(session->clock.knots.count > 1);
    session->ops.ids[7] = SHARE_OP_REFUSED;
    for (size_t i = 0; i < RECORDS; i++)
        records[i] = some_span(fixture, &seed);
    CHECK_U64(ingest_records(&fixture->ingest, records, RECORDS), RECORDS);
    row_count = fixture->batch->events.count;
    lost = session->lost_count;
    CHECK_U64(row_count + lost, RECORDS);
    assert_true(row_count > RECORDS / 2 && lost > RECORDS / 50);
    for (size_t i = 0; i < RECORDS; i++)
        records[i].kind = OT_RECORD_COPY;
    CHECK_U64(ingest_records(&fixture->ingest, records, RECORDS), RECORDS);
    CHECK_U64(fixture->batch->events.count, 2 * row_count);
    CHECK_U64(session->lost_count, 2 * lost);
    for (size_t i = 0; i < fixture->batch->gaps.count; i++)
        CHECK_U64((uint64_t)fixture->batch->gaps.items[i].lost_count % 2, 0);
    rows = fixture->batch->events.items;
    for (size_t i = 0; i < row_count; i++) {
        struct store_event row = rows[row_count + i];

        CHECK_U64((uint64_t)row.bytes, 0);
        row.bytes = STORE_NULL;
        assert_memory_equal(&rows[i], &row, sizeof(row));
    }
    free(records);
}

static void open_spans_are_unfinished(void **state)
{
    struct fixture *fixture = *state;
    struct ot_wire_record open[3] = {span_of(fixture), span_of(fixture), span_of(fixture)};

    open[0].kind = OT_RECORD_RUN;
    open[0].op_id = 0;
    open[1].end_ticks = open[1].kern_ticks = 0;
    open[2].kind = OT_RECORD_MARK; /* cannot be open */
    ingest_open(&fixture->ingest, open, 3);
    CHECK_U64(fixture->batch->runs.count, 1);
    assert_true(fixture->batch->runs.items[0].end_ns == STORE_NULL);
    CHECK_U64(fixture->batch->events.count, 1);
    assert_true(fixture->batch->events.items[0].dur_ns == STORE_NULL);
    assert_true(fixture->batch->events.items[0].kern_ns == STORE_NULL);
    CHECK_U64(fixture->batch->gaps.count, 1);
}

static void an_open_span_keeps_its_kernel_start(void **state)
{
    struct fixture *fixture = *state;
    struct ot_wire_record open = span_of(fixture);

    open.end_ticks = 0;
    ingest_open(&fixture->ingest, &open, 1);
    CHECK_U64((uint64_t)fixture->batch->events.items[0].kern_ns, 50);
    assert_true(fixture->batch->events.items[0].dur_ns == STORE_NULL);
}

static void tables_and_texts_have_a_budget(void **state)
{
    struct fixture *fixture = *state;
    struct diag diag = {0};

    fixture->budget.definition_bytes += OT_WIRE_ALL_DEFINITIONS_MAX - 10000;
    CHECK_OK(define_an_op(fixture, 63, &diag)); /* there is room for it already */
    assert_int_equal(define_an_op(fixture, OT_WIRE_OPS_MAX, &diag), -EPROTO);
    CHECK_CONTAINS(diag.text, "all sessions together");
    fixture->budget.definition_bytes -= OT_WIRE_ALL_DEFINITIONS_MAX - 10000;
    CHECK_OK(define_an_op(fixture, OT_WIRE_OPS_MAX, &diag));
    assert_true(fixture->budget.definition_bytes > OT_WIRE_OPS_MAX * sizeof(int64_t));
}

#define WITH_FIXTURE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FIXTURE(definitions_get_the_stores_numbers),
        WITH_FIXTURE(what_is_defined_twice_keeps_the_first),
        WITH_FIXTURE(what_is_not_defined_is_refused),
        WITH_FIXTURE(a_span_becomes_an_event),
        WITH_FIXTURE(what_a_kind_does_not_have_is_null),
        WITH_FIXTURE(times_may_be_those_of_the_wall_clock),
        WITH_FIXTURE(runs_copies_memory_and_counters_have_their_tables),
        WITH_FIXTURE(nonsense_is_counted_on_its_lane),
        WITH_FIXTURE(a_record_waits_for_its_definition),
        WITH_FIXTURE(plain_spans_come_to_what_others_do),
        WITH_FIXTURE(open_spans_are_unfinished),
        WITH_FIXTURE(an_open_span_keeps_its_kernel_start),
        WITH_FIXTURE(tables_and_texts_have_a_budget),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
