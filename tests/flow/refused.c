/* SPDX-License-Identifier: Apache-2.0 */
/* Records that make no sense: the log, the client, the store and the reports all say so, and why.
 */
#include <unistd.h>

#include "base/clock.h"
#include "base/exit_status.h"
#include "client/optrace.h"
#include "tests/support/check.h"
#include "tests/support/optraced.h"
#include "tests/support/place.h"
#include "tests/support/raw_client.h"

static const uint64_t HOUR_NS = UINT64_C(3600000000000);

static void join(struct raw_client *client, const struct optraced *collector, uint16_t minor)
{
    struct ot_wire_hello hello;
    uint8_t frame[4096];

    raw_init(client);
    assert_true(raw_connect(client, collector->socket));
    hello = raw_hello(client);
    hello.version_minor = minor;
    raw_send_hello(client, &hello);
    assert_true(raw_receive(client, frame, sizeof(frame)) > 0);
    client->next_string = 1;
    raw_define(client);
}

/* FLUSH, and what comes until it is answered: the sum of all REFUSED, and the reason. */
static uint64_t flush_and_sum(struct raw_client *client, uint32_t *out_reason)
{
    const struct ot_wire_flush flush = {.header = ot_wire_header(OT_FRAME_FLUSH, sizeof(flush)),
                                        .token = ++client->token};
    struct ot_wire_header header = {0};
    struct ot_wire_refused refused;
    uint64_t sum = 0;
    uint8_t frame[4096];

    *out_reason = 0;
    raw_send(client, &flush, sizeof(flush));
    while (header.type != OT_FRAME_FLUSHED) {
        size_t length = raw_receive(client, frame, sizeof(frame));

        assert_true(length > 0);
        memcpy(&header, frame, sizeof(header));
        if (header.type != OT_FRAME_REFUSED)
            continue;
        CHECK_OK(ot_wire_decode_refused(frame, length, &refused, NULL));
        sum += refused.refused_count;
        *out_reason = refused.reason;
    }
    return sum;
}

static struct child_result report(const struct optraced *collector)
{
    char *path = place_program("analyze/profile_analyze");
    const char *argv[] = {path, collector->store, NULL};
    struct child_result result = child_run(argv, NULL);

    free(path);
    return result;
}

/* All of a program's records are of a time to come. */
static void all_are_refused_and_everybody_says_so(void **state)
{
    const uint64_t time_ns = ot_clock_ns(CLOCK_MONOTONIC) + 300 * 365 * 24 * HOUR_NS / 4;
    struct ot_wire_record record = raw_span(1, 1, time_ns, 5, 0);
    struct child_result result;
    struct optraced collector;
    struct raw_client client;
    uint32_t reason;

    optraced_init(&collector);
    optraced_start(&collector, NULL);
    join(&client, &collector, OT_WIRE_VERSION_MINOR);
    for (int i = 0; i < 100; i++)
        raw_events(&client, &record, 1);
    CHECK_U64(flush_and_sum(&client, &reason), 100);
    CHECK_U64(reason, OT_LOSS_FUTURE);
    raw_events(&client, &record, 1);
    CHECK_U64(flush_and_sum(&client, &reason), 1); /* each is told once */
    CHECK_U64(flush_and_sum(&client, &reason), 0);
    optraced_expect_log(&collector, "are refused: their times lie 75 years in the future", 1);
    raw_bye(&client);
    raw_close(&client);
    assert_int_equal(optraced_stop(&collector), 0);
    assert_int_equal(optraced_count_log(&collector, "are refused"), 1);
    result = report(&collector);
    assert_int_equal(result.status, EXIT_NO);
    CHECK_CONTAINS(result.err, "101 events were refused: their times lie in the future");
    child_result_deinit(&result);
    optraced_deinit(&collector);
}

/* A client of 1.1 does not know the frame. */
static void older_clients_are_not_told(void **state)
{
    struct ot_wire_record record = raw_span(9, 1, ot_clock_ns(CLOCK_MONOTONIC), 5, 0);
    struct optraced collector;
    struct raw_client client;
    uint32_t reason;

    optraced_init(&collector);
    optraced_start(&collector, NULL);
    join(&client, &collector, 1);
    raw_events(&client, &record, 1);
    CHECK_U64(flush_and_sum(&client, &reason), 0);
    optraced_expect_log(&collector, "ops, lanes or models were never defined", 1);
    raw_close(&client);
    assert_int_equal(optraced_stop(&collector), 0);
    optraced_deinit(&collector);
}

/* Each reason is counted for itself. */
static void reasons_are_told_apart(void **state)
{
    const uint64_t now_ns = ot_clock_ns(CLOCK_MONOTONIC);
    const struct {
        struct ot_wire_record record;
        const char *reason;
    } cases[] = {
        {raw_span(1, 1, now_ns + 2 * HOUR_NS, 5, 0), "in the future"},
        {raw_span(1, 1, UINT64_MAX - HOUR_NS, 5, 0), "in the future"}, /* below 0 */
        {{OT_RECORD_SPAN, OT_RECORD_REALTIME, 1, 1, 0, 0, 5}, "long past"},
        {raw_span(7, 1, now_ns, 5, 0), "undefined"},
        {raw_span(1, 7, now_ns, 5, 0), "undefined"},
        {{77, 0, 1, 1, 0, now_ns, now_ns}, "unknown kind"},
        {{OT_RECORD_SPAN, 0, 1, 1, 0, now_ns, now_ns - 1}, "bad record"},
    };
    struct optraced collector;
    struct raw_client client;
    uint64_t sum = 0;
    uint32_t reason;

    optraced_init(&collector);
    optraced_start(&collector, NULL);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char sql[160];

        join(&client, &collector, OT_WIRE_VERSION_MINOR);
        raw_events(&client, &cases[i].record, 1);
        CHECK_U64(flush_and_sum(&client, &reason), 1);
        assert_string_equal(ot_wire_loss_name(reason), cases[i].reason);
        snprintf(sql, sizeof(sql),
                 "SELECT sum(lost_count) FROM gap WHERE reason = '%s' AND session_id ="
                 " (SELECT max(session_id) FROM session)",
                 cases[i].reason);
        CHECK_U64(optraced_query(&collector, sql), 1);
        raw_bye(&client);
        raw_close(&client);
        sum++;
    }
    CHECK_U64(optraced_query(&collector, "SELECT sum(lost_count) FROM gap"), sum);
    assert_int_equal(optraced_stop(&collector), 0);
    optraced_deinit(&collector);
}

/* A program that records as it should, and one event that it cannot have meant. */
static void a_program_can_ask(void **state)
{
    const uint64_t soon_ns = ot_clock_ns(CLOCK_REALTIME) + 2 * HOUR_NS;
    struct optrace_event event = {
        .flags = OPTRACE_EVENT_REALTIME, .start = soon_ns, .end = soon_ns + 5};
    struct optrace_config config = {0};
    struct optrace_loss loss;
    struct optraced collector;
    uint64_t old[4] = {1, 1, 1, 77}; /* as a program has it that knows three of them */

    optraced_init(&collector);
    optraced_start(&collector, NULL);
    config.socket_path = collector.socket;
    CHECK_OK(optrace_start(&config));
    optrace_lost(&loss);
    CHECK_U64(loss.refused, 0);
    event.op = optrace_label("conv1");
    CHECK_OK(optrace_record(&event));
    CHECK_OK(optrace_flush(10000));
    optrace_lost(&loss);
    CHECK_U64(loss.refused, 1);
    CHECK_U64(loss.ring_full, 0);
    (optrace_lost)((struct optrace_loss *)old);
    CHECK_U64(old[0], 0);
    CHECK_U64(old[3], 77);
    optrace_stop();
    assert_int_equal(optraced_stop(&collector), 0);
    optraced_deinit(&collector);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_are_refused_and_everybody_says_so),
        cmocka_unit_test(older_clients_are_not_told),
        cmocka_unit_test(reasons_are_told_apart),
        cmocka_unit_test(a_program_can_ask),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
