/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors: where they lie, and whose they are. */
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client/fd.h"
#include "tests/support/check.h"

static int make_socket(void)
{
    int number = socket(AF_UNIX, SOCK_STREAM, 0);

    assert_true(number >= 0);
    return number;
}

static bool is_open(int number)
{
    return fcntl(number, F_GETFD) >= 0;
}

static void ours_lie_high(void **state)
{
    struct ot_fd fd;
    int number = make_socket();

    CHECK_OK(ot_fd_take(number, &fd));
    assert_true(fd.number >= 32);
    assert_false(is_open(number));
    assert_true(fcntl(fd.number, F_GETFD) & FD_CLOEXEC);
    assert_true(ot_fd_is_ours(&fd));
    number = fd.number;
    ot_fd_close(&fd);
    assert_int_equal(fd.number, -1);
    assert_false(is_open(number));
    ot_fd_close(&fd);
}

/* Even when there is no other number: then there is none. */
static void standard_streams_are_never_taken(void **state)
{
    const int saved = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    struct rlimit limit, low;
    struct ot_fd fd;

    assert_true(saved >= 3);
    close(STDIN_FILENO);
    CHECK_OK(ot_fd_take(make_socket(), &fd));
    assert_true(fd.number >= 3);
    assert_false(is_open(STDIN_FILENO));
    ot_fd_close(&fd);
    CHECK_OK(getrlimit(RLIMIT_NOFILE, &limit));
    low = limit;
    low.rlim_cur = 3;
    CHECK_OK(setrlimit(RLIMIT_NOFILE, &low));
    assert_true(ot_fd_take(make_socket(), &fd) < 0);
    assert_false(is_open(STDIN_FILENO));
    CHECK_OK(setrlimit(RLIMIT_NOFILE, &limit));
    assert_int_equal(dup2(saved, STDIN_FILENO), STDIN_FILENO);
    close(saved);
}

static void a_low_limit_leaves_a_low_number(void **state)
{
    struct rlimit limit, low;
    struct ot_fd fd;

    CHECK_OK(getrlimit(RLIMIT_NOFILE, &limit));
    low = limit;
    low.rlim_cur = 16;
    CHECK_OK(setrlimit(RLIMIT_NOFILE, &low));
    CHECK_OK(ot_fd_take(make_socket(), &fd));
    assert_true(fd.number >= 3 && fd.number < 16);
    ot_fd_close(&fd);
    CHECK_OK(setrlimit(RLIMIT_NOFILE, &limit));
}

static void what_became_the_programs_is_left_alone(void **state)
{
    struct ot_fd fd, copy;
    const int theirs = make_socket();
    int number;

    CHECK_OK(ot_fd_take(make_socket(), &fd));
    copy = ot_fd_copy(&fd);
    assert_true(copy.number >= 32 && copy.number != fd.number);
    number = fd.number;
    assert_int_equal(dup2(theirs, number), number);
    assert_false(ot_fd_is_ours(&fd));
    assert_true(ot_fd_is_ours(&copy));
    assert_int_equal(ot_fd_copy(&fd).number, -1);
    ot_fd_close(&fd);
    assert_int_equal(fd.number, -1);
    assert_true(is_open(number));
    ot_fd_close(&copy);
    close(number);
    assert_false(ot_fd_is_ours(&copy));
    close(theirs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ours_lie_high),
        cmocka_unit_test(standard_streams_are_never_taken),
        cmocka_unit_test(a_low_limit_leaves_a_low_number),
        cmocka_unit_test(what_became_the_programs_is_left_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
