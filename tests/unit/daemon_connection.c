/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes and file descriptors over one connection, without ever waiting. */
#include "daemon/connection.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/check.h"
#include "tests/support/raw_client.h"

struct fixture {
    struct connection connection;
    struct raw_client client; /* the other end */
};

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    int fds[2];

    assert_non_null(fixture);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    connection_init(&fixture->connection, fds[0]);
    fixture->client.fd = fds[1];
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    connection_deinit(&fixture->connection);
    connection_deinit(&fixture->connection); /* allowed */
    raw_close(&fixture->client);
    free(fixture);
    return 0;
}

static void bytes_pile_up_until_they_are_used(void **state)
{
    struct fixture *fixture = *state;
    struct connection *connection = &fixture->connection;
    struct diag diag = {0};

    assert_int_equal(connection_read(connection, &diag), -EAGAIN);
    raw_send(&fixture->client, "hello ", 6);
    assert_int_equal(connection_read(connection, &diag), 6);
    raw_send(&fixture->client, "world", 5);
    assert_int_equal(connection_read(connection, &diag), 5);
    CHECK_U64(connection->in_bytes, 11);
    connection_consume(connection, 6);
    assert_memory_equal(connection->in, "world", 5);
    connection_consume(connection, 5);
    assert_null(connection->in); /* an idle client costs nothing */
    raw_close(&fixture->client);
    assert_int_equal(connection_read(connection, &diag), 0);
}

static void fds_wait_in_order(void **state)
{
    struct fixture *fixture = *state;
    struct connection *connection = &fixture->connection;
    struct diag diag = {0};
    int pipes[2], first, second;

    assert_int_equal(pipe(pipes), 0);
    raw_send_fds(&fixture->client, "a", 1, &pipes[0], 1);
    raw_send_fds(&fixture->client, "b", 1, &pipes[1], 1);
    assert_int_equal(connection_read(connection, &diag), 1);
    assert_int_equal(connection_read(connection, &diag), 1);
    CHECK_U64(connection->fd_count, 2);
    first = connection_take_fd(connection);
    second = connection_take_fd(connection);
    assert_int_equal(connection_take_fd(connection), -1);
    assert_int_equal(fcntl(first, F_GETFL) & O_ACCMODE, O_RDONLY);
    assert_int_equal(fcntl(second, F_GETFL) & O_ACCMODE, O_WRONLY);
    assert_int_equal(fcntl(first, F_GETFD), FD_CLOEXEC);
    close(first);
    close(second);
    close(pipes[0]);
    close(pipes[1]);
}

static int count_fds(void)
{
    int count = 0;

    for (int fd = 0; fd < 1024; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static void too_many_fds_are_refused_and_closed(void **state)
{
    struct fixture *fixture = *state;
    struct connection *connection = &fixture->connection;
    int before = count_fds(), fds[40];
    struct diag diag = {0};

    for (size_t i = 0; i < 40; i++)
        fds[i] = fixture->client.fd;
    raw_send_fds(&fixture->client, "a", 1, fds, 40);
    assert_int_equal(connection_read(connection, &diag), -EPROTO);
    CHECK_CONTAINS(diag.text, "file descriptors");
    connection_deinit(connection);
    assert_int_equal(count_fds(), before - 1);
}

static void one_by_one_they_are_too_many_as_well(void **state)
{
    struct fixture *fixture = *state;
    struct connection *connection = &fixture->connection;
    struct diag diag = {0};

    for (int i = 0; i < CONNECTION_FDS_MAX; i++) {
        raw_send_fds(&fixture->client, "a", 1, &fixture->client.fd, 1);
        assert_int_equal(connection_read(connection, &diag), 1);
    }
    raw_send_fds(&fixture->client, "a", 1, &fixture->client.fd, 1);
    assert_int_equal(connection_read(connection, &diag), -EPROTO);
}

static void answers_wait_for_a_slow_client(void **state)
{
    struct fixture *fixture = *state;
    struct connection *connection = &fixture->connection;
    static uint8_t answer[4096], got[4096];
    size_t sent = 0, received = 0;
    int rc;

    memset(answer, 7, sizeof(answer));
    while ((rc = connection_write(connection, answer, sizeof(answer))) == 0)
        sent += sizeof(answer);
    assert_int_equal(rc, -ENOBUFS); /* at last */
    assert_true(connection->out_bytes <= CONNECTION_OUT_BYTES);
    while (received < sent) {
        ssize_t count = recv(fixture->client.fd, got, sizeof(got), 0);

        assert_true(count > 0);
        received += (size_t)count;
        if (connection->out_bytes > 0)
            connection_flush(connection);
    }
    CHECK_U64(connection->out_bytes, 0);
    assert_null(connection->out);
}

static void a_client_that_hung_up_is_read_to_its_end(void **state)
{
    struct fixture *fixture = *state;
    struct connection *connection = &fixture->connection;
    struct diag diag = {0};

    raw_send(&fixture->client, "last words", 10);
    assert_false(connection_is_hung_up(connection));
    raw_close(&fixture->client);
    assert_true(connection_is_hung_up(connection));
    CHECK_OK(connection_write(connection, "answer", 6)); /* into the void */
    CHECK_U64(connection->out_bytes, 0);
    assert_int_equal(connection_read(connection, &diag), 10);
    assert_int_equal(connection_read(connection, &diag), 0);
}

#define WITH_FIXTURE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FIXTURE(bytes_pile_up_until_they_are_used),
        WITH_FIXTURE(fds_wait_in_order),
        WITH_FIXTURE(too_many_fds_are_refused_and_closed),
        WITH_FIXTURE(one_by_one_they_are_too_many_as_well),
        WITH_FIXTURE(answers_wait_for_a_slow_client),
        WITH_FIXTURE(a_client_that_hung_up_is_read_to_its_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
