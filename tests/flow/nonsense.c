/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that no program has, as large as the wire takes them: they are refused, or sums that they
 * would overflow end at the largest number. No view, report or export fails because of them, and
 * what others recorded is as it was. */
#include <unistd.h>

#include "analyze/export/export.h"
#include "analyze/reports/report.h"
#include "base/clock.h"
#include "tests/support/check.h"
#include "tests/support/optraced.h"
#include "tests/support/place.h"
#include "tests/support/raw_client.h"
#include "tests/support/temp.h"

enum { MANY = 40000 }; /* of the largest size more than 64 bits hold */

static void send_many(struct raw_client *client, struct ot_wire_record record, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        assert_true(raw_events(client, &record, 1));
        if (record.flags == 0) { /* one after the other, or they lie in each other */
            record.start_ticks++;
            record.end_ticks += record.end_ticks != 0;
        }
    }
    assert_int_equal(raw_flush(client), 0);
}

static uint64_t now_ns(void)
{
    return ot_clock_ns(CLOCK_MONOTONIC);
}

static struct ot_wire_record span_since_1970(void)
{
    struct ot_wire_record record = raw_span(1, 1, 1, 0, 0);

    record.flags = OT_RECORD_REALTIME;
    record.kern_ticks = record.end_ticks = ot_clock_ns(CLOCK_REALTIME);
    return record;
}

static struct ot_wire_record sized(uint16_t kind, int64_t bytes)
{
    struct ot_wire_record record = raw_span(1, 1, now_ns(), 0, 0);

    record.kind = kind;
    record.bytes = bytes;
    if (kind != OT_RECORD_COPY)
        record.end_ticks = 0;
    return record;
}

/* GAP frames: each batch counts those of one session together, up to half of what 64 bits hold. */
static void lose_very_many(struct raw_client *client)
{
    const struct ot_wire_gap gap = {
        .header = ot_wire_header(OT_FRAME_GAP, sizeof(gap)),
        .lane_id = 1,
        .reason = OT_LOSS_RING_FULL,
        .lost_count = OT_WIRE_COUNT_MAX,
        .first_ticks = now_ns(),
        .last_ticks = now_ns(),
    };

    for (int batch = 0; batch < 3; batch++) {
        for (int i = 0; i < 20000; i++)
            assert_true(raw_send(client, &gap, sizeof(gap)));
        assert_int_equal(raw_flush(client), 0);
    }
}

static void record_nonsense(const struct optraced *daemon)
{
    struct raw_client client;

    raw_init(&client);
    client.program = "nonsense";
    raw_join(&client, daemon->socket);
    raw_define(&client);
    send_many(&client, span_since_1970(), 20);
    send_many(&client, sized(OT_RECORD_COPY, OT_WIRE_SIZE_MAX), MANY);
    send_many(&client, sized(OT_RECORD_ALLOC, OT_WIRE_SIZE_MAX), MANY);
    send_many(&client, sized(OT_RECORD_FREE, -OT_WIRE_SIZE_MAX), MANY);
    send_many(&client, sized(OT_RECORD_COPY, OT_WIRE_SIZE_MAX + 1), 1);
    send_many(&client, sized(OT_RECORD_COPY, INT64_MAX), 1);
    send_many(&client, sized(OT_RECORD_ALLOC, INT64_MAX), 1);
    send_many(&client, sized(OT_RECORD_FREE, INT64_MIN + 1), 1);
    lose_very_many(&client);
    raw_bye(&client);
    raw_close(&client);
}

static void record_sense(const struct optraced *daemon)
{
    struct ot_wire_record record;
    struct raw_client client;

    raw_init(&client);
    client.program = "sensible";
    raw_join(&client, daemon->socket);
    raw_define(&client);
    for (unsigned i = 1; i <= 10; i++) {
        record = raw_span(1, 1, now_ns(), 1000, 0);
        send_many(&client, record, 1);
    }
    raw_bye(&client);
    raw_close(&client);
}

/* All rows of all views can be read. */
static void check_views(const struct optraced *daemon)
{
    char *names = optraced_query_text(
        daemon, "SELECT group_concat(name, ' ') FROM sqlite_master WHERE type = 'view'");
    size_t count = 0;

    for (char *name = strtok(names, " "); name; name = strtok(NULL, " "), count++) {
        char sql[200];

        snprintf(sql, sizeof(sql), "SELECT count(*) FROM (SELECT * FROM %s LIMIT -1 OFFSET 0)",
                 name);
        assert_true(optraced_query(daemon, sql) >= 0);
    }
    assert_true(count > 5);
    free(names);
    CHECK_U64(optraced_query(daemon, "SELECT max(host_ns) FROM v_op"), INT64_MAX);
    CHECK_U64(optraced_query(daemon, "SELECT max(host_kern_ns) FROM v_op"), INT64_MAX);
    CHECK_U64(optraced_query(daemon, "SELECT max(host_ns) FROM v_type"), INT64_MAX);
    CHECK_U64(optraced_query(daemon, "SELECT max(lost_count) FROM v_session"), INT64_MAX);
    CHECK_U64(optraced_query(daemon, "SELECT max(lost_count) FROM v_loss"), INT64_MAX);
    CHECK_U64(optraced_query(daemon, "SELECT host_ns FROM v_op JOIN session USING (session_id)"
                                     " WHERE program = 'sensible' AND calls > 0"),
              10000);
    CHECK_U64(optraced_query(daemon, "SELECT sum(lost_count) FROM gap WHERE reason = 'bad record'"),
              4);
}

static void check_run(const char *const *argv)
{
    struct child_result result = child_run(argv, NULL);

    if (result.status != 0 && result.status != 1)
        fail_msg("%s %s of %s: status %d: %s", argv[4], argv[5], argv[3], result.status,
                 result.err);
    child_result_deinit(&result);
}

static void check_export(const struct optraced *daemon, const char *session, const char *name,
                         const char *weight)
{
    char *program = place_program("analyze/profile_analyze");
    char *file = temp_path(daemon->dir, "exported");

    check_run((const char *[]){program, daemon->store, "--session", session, "--export", name, "-o",
                               file, weight ? "--weight" : NULL, weight, NULL});
    unlink(file);
    free(file);
    free(program);
}

static void check_reports(const struct optraced *daemon, const char *session)
{
    static const char *const weights[WEIGHTS] = {[WEIGHT_TIME] = "time",
                                                 [WEIGHT_DEVICE] = "device",
                                                 [WEIGHT_CALLS] = "calls",
                                                 [WEIGHT_BYTES] = "bytes",
                                                 [WEIGHT_ALLOC] = "alloc"};
    char *program = place_program("analyze/profile_analyze");

    for (size_t i = 0; report_kinds[i]; i++) {
        if (!report_kinds[i]->mode && report_takes_sessions(report_kinds[i]))
            check_run((const char *[]){program, daemon->store, "--session", session, "--report",
                                       report_kinds[i]->name, NULL});
    }
    free(program);
    for (size_t i = 0; export_kinds[i]; i++) {
        check_export(daemon, session, export_kinds[i]->name, NULL);
        for (unsigned weight = 0; weight < WEIGHTS; weight++) {
            if (export_kinds[i]->weights >> weight & 1)
                check_export(daemon, session, export_kinds[i]->name, weights[weight]);
        }
    }
}

static void nobody_fails_for_it(void **state)
{
    struct optraced daemon;

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    record_nonsense(&daemon);
    record_sense(&daemon);
    check_views(&daemon); /* of events that roll-ups do not have yet, too */
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_start(&daemon, NULL);
    assert_int_equal(optraced_stop(&daemon), 0);
    check_views(&daemon);
    check_reports(&daemon, "1");
    check_reports(&daemon, "2");
    optraced_deinit(&daemon);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_fails_for_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
