/* SPDX-License-Identifier: Apache-2.0 */
/* The socket: frames in pieces, frames that are none, an end, a full buffer. */
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client/link.h"
#include "tests/support/check.h"
#include "tests/support/temp.h"

static struct ot_link link_to_peer;
static int peer;

static int setup(void **state)
{
    int pair[2];

    CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair));
    memset(&link_to_peer, 0, sizeof(link_to_peer));
    CHECK_OK(ot_fd_take(pair[0], &link_to_peer.fd));
    peer = pair[1];
    return 0;
}

static int teardown(void **state)
{
    ot_link_close(&link_to_peer);
    assert_int_equal(link_to_peer.fd.number, -1);
    ot_link_close(&link_to_peer);
    close(peer);
    return 0;
}

static const struct ot_wire_control control = {
    .header = {.length = sizeof(control), .type = OT_FRAME_CONTROL}, .level = 2};

static void frames_come_in_any_pieces(void **state)
{
    const uint8_t *bytes = (const uint8_t *)&control;
    const uint8_t *frame;

    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < sizeof(control); i++) {
            assert_int_equal(ot_link_receive(&link_to_peer, &frame), -EAGAIN);
            assert_int_equal(write(peer, bytes + i, 1), 1);
        }
        assert_int_equal(write(peer, bytes, sizeof(control)), sizeof(control));
        for (int i = 0; i < 2; i++) {
            assert_int_equal(ot_link_receive(&link_to_peer, &frame), sizeof(control));
            assert_memory_equal(frame, &control, sizeof(control));
        }
    }
    assert_int_equal(ot_link_receive(&link_to_peer, &frame), -EAGAIN);
}

static void the_longest_frame_fits(void **state)
{
    char *text = malloc(OT_WIRE_TEXT_BYTES_MAX);
    uint8_t *sent = malloc(OT_LINK_INPUT_BYTES);
    const uint8_t *frame;
    size_t at = 0;
    int length, got;

    memset(text, 'x', OT_WIRE_TEXT_BYTES_MAX);
    length = ot_wire_encode_bye(OT_BYE_PROTOCOL, (struct ot_text){text, OT_WIRE_TEXT_BYTES_MAX},
                                sent, OT_LINK_INPUT_BYTES);
    assert_true(length > OT_WIRE_TEXT_BYTES_MAX);
    do {
        ssize_t n = write(peer, sent + at, (size_t)length - at);

        at += n > 0 ? (size_t)n : 0;
        got = ot_link_receive(&link_to_peer, &frame);
    } while (got == -EAGAIN);
    assert_int_equal(got, length);
    assert_memory_equal(frame, sent, (size_t)length);
    free(sent);
    free(text);
}

static void what_is_no_frame_is_told(void **state)
{
    const struct ot_wire_header wrong = {.length = 12, .type = 1};
    const uint8_t *frame;

    assert_int_equal(write(peer, &wrong, sizeof(wrong)), sizeof(wrong));
    assert_int_equal(ot_link_receive(&link_to_peer, &frame), -EPROTO);
}

static void too_long_a_frame_is_told(void **state)
{
    const struct ot_wire_header wrong = {.length = OT_WIRE_FRAME_BYTES_MAX, .type = 1};
    const uint8_t *frame;

    assert_int_equal(write(peer, &wrong, sizeof(wrong)), sizeof(wrong));
    assert_int_equal(ot_link_receive(&link_to_peer, &frame), -EPROTO);
}

static void the_end_is_told_after_the_last_frame(void **state)
{
    const uint8_t *frame;

    assert_int_equal(write(peer, &control, sizeof(control)), sizeof(control));
    shutdown(peer, SHUT_RDWR);
    assert_int_equal(ot_link_receive(&link_to_peer, &frame), sizeof(control));
    assert_int_equal(ot_link_receive(&link_to_peer, &frame), -ECONNRESET);
    assert_int_equal(ot_link_send(&link_to_peer, &control, sizeof(control), -1), -EPIPE);
}

static void a_full_socket_takes_nothing(void **state)
{
    static uint8_t chunk[65536];
    size_t sent = 0;
    ssize_t n;

    while ((n = ot_link_stream(&link_to_peer, chunk, sizeof(chunk))) > 0)
        sent += (size_t)n;
    assert_int_equal(n, -EAGAIN);
    assert_true(sent > 0);
    assert_int_equal(ot_link_send(&link_to_peer, &control, sizeof(control), -1), -EAGAIN);
    assert_int_equal(ot_link_wait(&link_to_peer, POLLOUT, 1), 0);
    while (read(peer, chunk, sizeof(chunk)) > 0)
        ;
    assert_int_equal(ot_link_wait(&link_to_peer, POLLOUT, 60000), 1);
    CHECK_OK(ot_link_send(&link_to_peer, &control, sizeof(control), -1));
}

static void a_descriptor_comes_with_its_frame(void **state)
{
    char bytes[sizeof(control)];
    char space[CMSG_SPACE(sizeof(int))];
    struct iovec part = {bytes, sizeof(bytes)};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof(space)};
    int fds[2];
    int fd;

    CHECK_OK(pipe(fds));
    CHECK_OK(ot_link_send(&link_to_peer, &control, sizeof(control), fds[0]));
    assert_int_equal(recvmsg(peer, &message, 0), sizeof(control));
    assert_non_null(CMSG_FIRSTHDR(&message));
    memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
    assert_int_equal(write(fds[1], "x", 1), 1);
    assert_int_equal(read(fd, bytes, 1), 1);
    close(fd);
    close(fds[0]);
    close(fds[1]);
}

static void open_tells_why_it_failed(void **state)
{
    struct ot_link other = {.fd = OT_FD_NONE};
    char *dir = temp_create();
    char *path = temp_path(dir, "nobody");
    char long_path[200];

    memset(long_path, 'p', sizeof(long_path));
    long_path[sizeof(long_path) - 1] = 0;
    assert_int_equal(ot_link_open(&other, path), -ENOENT);
    assert_int_equal(ot_link_open(&other, ""), -ENOENT);
    assert_int_equal(ot_link_open(&other, long_path), -ENAMETOOLONG);
    assert_int_equal(other.fd.number, -1);
    free(path);
    temp_destroy(&dir);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(frames_come_in_any_pieces),
        CASE(the_longest_frame_fits),
        CASE(what_is_no_frame_is_told),
        CASE(too_long_a_frame_is_told),
        CASE(the_end_is_told_after_the_last_frame),
        CASE(a_full_socket_takes_nothing),
        CASE(a_descriptor_comes_with_its_frame),
        cmocka_unit_test(open_tells_why_it_failed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
