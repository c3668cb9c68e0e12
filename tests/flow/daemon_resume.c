/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions that go on: after the daemon was killed, or only the connection broke. */
#include <linux/sockios.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/support/at_once.h"
#include "tests/support/check.h"
#include "tests/support/optraced.h"
#include "tests/support/raw_client.h"
#include "tests/support/wait.h"

/* Spans `first` to `last`, numbered by their correlation. */
static void put_spans(struct raw_ring *ring, uint64_t first, uint64_t last)
{
    for (uint64_t i = first; i <= last; i++) {
        struct ot_wire_record span = raw_span(1, 1, ot_clock_ns(CLOCK_MONOTONIC), 10, i);

        assert_true(raw_ring_put(ring, &span));
    }
}

static void send_spans(struct raw_client *client, uint64_t first, uint64_t last)
{
    for (uint64_t i = first; i <= last; i++) {
        struct ot_wire_record span = raw_span(1, 1, ot_clock_ns(CLOCK_MONOTONIC), 10, i);

        assert_true(raw_events(client, &span, 1));
    }
}

/* Events 1 to `count`, each once, and no loss. */
static void check_events(const struct optraced *daemon, uint64_t count)
{
    CHECK_U64(optraced_query(daemon, "SELECT count(*) FROM event"), count);
    CHECK_U64(optraced_query(daemon, "SELECT count(DISTINCT correlation) FROM event"), count);
    CHECK_U64(optraced_query(daemon, "SELECT max(correlation) FROM event"), count);
    CHECK_U64(optraced_query(daemon, "SELECT count(*) FROM gap"), 0);
    CHECK_U64(optraced_query(daemon, "SELECT count(*) FROM session"), 1);
    CHECK_U64(optraced_query(daemon, "SELECT count(*) FROM op"), 1);
    CHECK_U64(optraced_query(daemon, "SELECT count(*) FROM lane"), 1);
}

static void rings_outlive_the_daemon(void **state)
{
    struct optraced daemon;
    struct raw_client client;
    struct raw_ring ring;
    struct ot_wire_welcome first, second;

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    raw_init(&client);
    first = raw_join(&client, daemon.socket);
    raw_define(&client);
    raw_ring_create(&ring, &client, 1, 1, 256);
    raw_ring_send(&client, &ring);
    put_spans(&ring, 1, 100);
    assert_int_equal(raw_flush(&client), 0);
    put_spans(&ring, 101, 150); /* perhaps read, perhaps committed: who knows */
    optraced_kill(&daemon);
    put_spans(&ring, 151, 200);
    /* A daemon that was killed between commit and this store: */
    __atomic_store_n(&ring.memory->tail, 40, __ATOMIC_RELEASE);
    optraced_start(&daemon, NULL);
    second = raw_join(&client, daemon.socket);
    CHECK_U64(second.session_id, first.session_id);
    raw_define(&client);
    raw_ring_send(&client, &ring);
    put_spans(&ring, 201, 210);
    assert_int_equal(raw_flush(&client), 0);
    check_events(&daemon, 210);
    CHECK_U64(ring.memory->tail, 210);
    raw_bye(&client);
    optraced_wait_for(&daemon, "SELECT count(*) FROM session WHERE end_reason = 'done'", 1);
    raw_ring_destroy(&ring);
    raw_close(&client);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

static void a_ring_that_was_never_committed_is_read_from_its_start(void **state)
{
    struct optraced daemon;
    struct raw_client client;
    struct raw_ring ring;

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    raw_init(&client);
    raw_join(&client, daemon.socket);
    raw_define(&client);
    assert_int_equal(raw_flush(&client), 0);
    optraced_kill(&daemon);
    raw_ring_create(&ring, &client, 1, 1, 256);
    put_spans(&ring, 1, 30);
    optraced_start(&daemon, NULL);
    raw_join(&client, daemon.socket);
    raw_define(&client);
    raw_ring_send(&client, &ring);
    assert_int_equal(raw_flush(&client), 0);
    check_events(&daemon, 30);
    raw_ring_destroy(&ring);
    raw_close(&client);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

/* It has said HELLO to the new daemon, and died before it handed over its ring. */
static void who_dies_as_it_comes_back_has_lost_something(void **state)
{
    struct optraced daemon;
    struct raw_client client;
    struct raw_ring ring;

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    raw_init(&client);
    raw_join(&client, daemon.socket);
    raw_define(&client);
    raw_ring_create(&ring, &client, 1, 1, 256);
    raw_ring_send(&client, &ring);
    put_spans(&ring, 1, 100);
    assert_int_equal(raw_flush(&client), 0);
    optraced_kill(&daemon);
    put_spans(&ring, 101, 150);
    optraced_start(&daemon, NULL);
    raw_join(&client, daemon.socket);
    raw_define(&client);
    raw_ring_destroy(&ring);
    raw_close(&client);
    optraced_wait_for(&daemon, "SELECT count(*) FROM session WHERE end_reason = 'died'", 1);
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM event"), 100);
    CHECK_U64(optraced_query(&daemon,
                             "SELECT count(*) FROM gap JOIN session USING (session_id) WHERE"
                             " lost_count IS NULL AND reason = 'no daemon' AND"
                             " gap.start_ns BETWEEN session.start_ns AND session.end_ns"),
              1);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

/* A forked child says HELLO, and is welcome. */
static void join_as_child(struct raw_client *client, const struct optraced *daemon)
{
    struct ot_wire_hello hello;
    uint8_t frame[256];

    raw_init(client);
    hello = raw_hello(client);
    hello.features |= OT_FEATURE_RECORDS;
    assert_true(raw_connect(client, daemon->socket));
    raw_send_hello(client, &hello);
    assert_true(raw_receive(client, frame, sizeof(frame)) > 0);
    client->next_string = 1;
}

/* One dies before it has handed over its ring, the other after. */
static void who_dies_as_it_begins_has_lost_something(void **state)
{
    struct optraced daemon;
    struct raw_client early, late;
    struct raw_ring ring;

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    join_as_child(&early, &daemon);
    join_as_child(&late, &daemon);
    raw_define(&late);
    raw_ring_create(&ring, &late, 1, 1, 256);
    put_spans(&ring, 1, 10);
    raw_ring_send(&late, &ring);
    raw_close(&early);
    raw_close(&late);
    raw_ring_destroy(&ring);
    optraced_wait_for(&daemon, "SELECT count(*) FROM session WHERE end_reason = 'died'", 2);
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM event"), 10);
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM gap"), 1);
    CHECK_U64(optraced_query(&daemon, "SELECT session_id FROM gap WHERE lost_count IS NULL AND"
                                      " reason = 'no daemon'"),
              1);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

static void inline_records_go_on_where_the_store_stands(void **state)
{
    struct optraced daemon;
    struct raw_client client;

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    raw_init(&client);
    raw_join(&client, daemon.socket);
    raw_define(&client);
    send_spans(&client, 1, 20);
    assert_int_equal(raw_flush(&client), 0);
    optraced_kill(&daemon);
    optraced_start(&daemon, NULL);
    CHECK_U64(raw_join(&client, daemon.socket).inline_committed, 20);
    raw_define(&client);
    client.sequence = 15; /* what is sent again is skipped */
    send_spans(&client, 16, 30);
    assert_int_equal(raw_flush(&client), 0);
    check_events(&daemon, 30);
    raw_close(&client);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

static void a_broken_connection_is_taken_up_again(void **state)
{
    struct optraced daemon;
    struct raw_client client;
    struct raw_ring ring;

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    raw_init(&client);
    raw_join(&client, daemon.socket);
    raw_define(&client);
    raw_ring_create(&ring, &client, 1, 1, 256);
    raw_ring_send(&client, &ring);
    put_spans(&ring, 1, 50);
    for (uint64_t round = 1; round <= 3; round++) {
        raw_close(&client);
        put_spans(&ring, 50 * round + 1, 50 * round + 50);
        raw_join(&client, daemon.socket);
        raw_define(&client);
        raw_ring_send(&client, &ring);
        assert_int_equal(raw_flush(&client), 0);
    }
    check_events(&daemon, 200);
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM session WHERE end_ns IS NULL"), 1);
    raw_ring_destroy(&ring);
    raw_close(&client);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

static void close_ring(struct raw_ring *ring)
{
    __atomic_store_n(&ring->memory->closed, 1, __ATOMIC_RELEASE);
}

/* A program with a thread per request makes rings for weeks: none leaves a row behind, and one that
 * is handed over again all the same is at its end. */
static void rings_that_are_over_leave_nothing(void **state)
{
    struct optraced daemon;
    struct raw_client client;
    struct raw_ring rings[2];

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    raw_init(&client);
    raw_join(&client, daemon.socket);
    raw_define(&client);
    for (uint32_t i = 0; i < 2; i++) {
        raw_ring_create(&rings[i], &client, i + 1, 1, 256);
        raw_ring_send(&client, &rings[i]);
    }
    put_spans(&rings[0], 1, 20);
    put_spans(&rings[1], 21, 40);
    rings[1].memory->gaps[0] = (struct ot_ring_gap){1, OT_LOSS_RING_FULL, 3, 1, 1};
    assert_int_equal(raw_flush(&client), 0);
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM ingest_cursor WHERE ring_id > 0"), 2);
    close_ring(&rings[0]);
    close_ring(&rings[1]);
    for (uint64_t i = 41; optraced_query(&daemon, "SELECT count(*) FROM ingest_cursor WHERE"
                                                  " ring_id = 1") > 0;
         i++) {
        assert_true(i < 1000);
        send_spans(&client, i, i);
        assert_int_equal(raw_flush(&client), 0);
    }
    /* Whose losses were counted must be remembered. */
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM ingest_cursor WHERE ring_id = 2"), 1);
    optraced_kill(&daemon);
    optraced_start(&daemon, NULL);
    raw_join(&client, daemon.socket);
    raw_define(&client);
    raw_ring_send(&client, &rings[0]);
    raw_ring_send(&client, &rings[1]);
    assert_int_equal(raw_flush(&client), 0);
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM event WHERE correlation <= 40"), 40);
    CHECK_U64(optraced_query(&daemon, "SELECT sum(lost_count) FROM gap"), 3);
    raw_ring_destroy(&rings[0]);
    raw_ring_destroy(&rings[1]);
    raw_close(&client);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

/* HELLO on a new connection; returns the status of WELCOME. */
static uint32_t say_hello(const struct raw_client *like, const struct optraced *daemon)
{
    struct raw_client client = *like;
    struct ot_wire_hello hello = raw_hello(&client);
    struct ot_wire_welcome_view welcome;
    struct diag diag = {0};
    uint8_t frame[4096];
    size_t length;

    client.fd = -1;
    assert_true(raw_connect(&client, daemon->socket));
    raw_send_hello(&client, &hello);
    length = raw_receive(&client, frame, sizeof(frame));
    assert_int_equal(ot_wire_decode_welcome(frame, length, &welcome, &diag), 0);
    raw_close(&client);
    return welcome.fixed.status;
}

static void a_session_has_one_connection_and_one_end(void **state)
{
    struct optraced daemon;
    struct raw_client client;
    uint32_t status;

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    raw_init(&client);
    raw_join(&client, daemon.socket);
    assert_int_equal(say_hello(&client, &daemon), OT_WELCOME_BUSY);
    assert_int_equal(raw_flush(&client), 0); /* the first one is not touched */
    raw_bye(&client);
    raw_close(&client);
    while ((status = say_hello(&client, &daemon)) == OT_WELCOME_BUSY)
        usleep(1000);
    assert_int_equal(status, OT_WELCOME_ENDED);
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM session WHERE end_reason = 'done'"), 1);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_start(&daemon, NULL);
    assert_int_equal(say_hello(&client, &daemon), OT_WELCOME_ENDED);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

static void another_store_begins_where_the_ring_stands(void **state)
{
    struct optraced daemon;
    struct raw_client client;
    struct raw_ring ring;

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    raw_init(&client);
    raw_join(&client, daemon.socket);
    raw_define(&client);
    raw_ring_create(&ring, &client, 1, 1, 256);
    raw_ring_send(&client, &ring);
    put_spans(&ring, 1, 50);
    send_spans(&client, 1001, 1010);
    assert_int_equal(raw_flush(&client), 0);
    assert_int_equal(optraced_stop(&daemon), 0);
    free(daemon.store);
    assert_true(asprintf(&daemon.store, "%s/other.db", daemon.dir) > 0);
    optraced_start(&daemon, NULL);
    raw_join(&client, daemon.socket);
    raw_define(&client);
    client.sequence = 10;
    raw_ring_send(&client, &ring);
    put_spans(&ring, 51, 60);
    send_spans(&client, 1011, 1020);
    assert_int_equal(raw_flush(&client), 0);
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM event WHERE correlation BETWEEN 51 AND"
                                      " 60 OR correlation BETWEEN 1011 AND 1020"),
              20);
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM event"), 20);
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM gap"), 0);
    raw_ring_destroy(&ring);
    raw_close(&client);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

static bool is_heard(void *context)
{
    const struct raw_client *client = context;
    int unread;

    assert_int_equal(ioctl(client->fd, SIOCOUTQ, &unread), 0);
    return unread == 0;
}

/* Connect, and say so much of HELLO that the daemon has taken the connection. */
static void say_half_of_hello(struct raw_client *client, const char *socket, uint8_t frame[256],
                              int *out_left)
{
    const struct ot_wire_hello hello = raw_hello(client);
    const struct ot_wire_hello_texts texts = {.program = {"raw", 3}};
    const int half = 8, length = ot_wire_encode_hello(&hello, &texts, frame, 256);

    assert_true(length > half);
    assert_true(raw_connect(client, socket));
    assert_true(raw_send(client, frame, (size_t)half));
    assert_true(wait_until(is_heard, client, WAIT_MS));
    memmove(frame, frame + half, (size_t)(length - half));
    *out_left = length - half;
}

static void pause_daemon(const struct optraced *daemon)
{
    siginfo_t info;

    kill(daemon->child.pid, SIGSTOP);
    assert_int_equal(waitid(P_PID, (id_t)daemon->child.pid, &info, WSTOPPED | WNOWAIT), 0);
}

static enum ot_wire_welcome_status hear_welcome(struct raw_client *client)
{
    uint8_t frame[OT_WIRE_REMARK_BYTES_MAX + sizeof(struct ot_wire_welcome)];
    struct ot_wire_welcome_view welcome;
    size_t length = raw_receive(client, frame, sizeof(frame));

    assert_int_equal(ot_wire_decode_welcome(frame, length, &welcome, NULL), 0);
    return welcome.fixed.status;
}

/* The connection of a session breaks, and its client comes back by another one, which the daemon
 * hears of first: what becomes of the old one is nothing to the session. */
static void an_old_connection_takes_nothing_along(void **state)
{
    struct raw_client old, new, third;
    struct ot_wire_hello hello;
    struct optraced daemon;
    uint8_t frame[256];
    int left;

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    raw_init(&old);
    raw_join(&old, daemon.socket);
    raw_define(&old);
    assert_int_equal(raw_flush(&old), 0);
    new = third = old;
    new.fd = third.fd = -1;
    say_half_of_hello(&new, daemon.socket, frame, &left);
    pause_daemon(&daemon); /* all of this waits for it, in this order */
    assert_true(raw_send(&new, frame, (size_t)left));
    raw_close(&old);
    kill(daemon.child.pid, SIGCONT);
    assert_int_equal(hear_welcome(&new), OT_WELCOME_OK);
    raw_define(&new);
    assert_int_equal(raw_flush(&new), 0);
    assert_true(raw_connect(&third, daemon.socket));
    hello = raw_hello(&third);
    raw_send_hello(&third, &hello);
    assert_int_equal(hear_welcome(&third), OT_WELCOME_BUSY);
    send_spans(&new, 1, 5);
    assert_int_equal(raw_flush(&new), 0);
    check_events(&daemon, 5);
    raw_bye(&new);
    raw_close(&new);
    raw_close(&third);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rings_outlive_the_daemon),
        cmocka_unit_test(a_ring_that_was_never_committed_is_read_from_its_start),
        cmocka_unit_test(who_dies_as_it_comes_back_has_lost_something),
        cmocka_unit_test(who_dies_as_it_begins_has_lost_something),
        cmocka_unit_test(inline_records_go_on_where_the_store_stands),
        cmocka_unit_test(a_broken_connection_is_taken_up_again),
        cmocka_unit_test(rings_that_are_over_leave_nothing),
        cmocka_unit_test(a_session_has_one_connection_and_one_end),
        cmocka_unit_test(another_store_begins_where_the_ring_stands),
        cmocka_unit_test(an_old_connection_takes_nothing_along),
    };

    return AT_ONCE_RUN(tests, 4);
}
