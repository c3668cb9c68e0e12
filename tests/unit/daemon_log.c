/* SPDX-License-Identifier: Apache-2.0 */
/* The log: each peer's line once, no control characters, never waiting. */
#include "daemon/log.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/support/check.h"
#include "tests/support/temp.h"

/* What was logged to the file since. */
static char *read_log(const char *dir)
{
    char *path = temp_path(dir, "log");
    char *text = temp_read(path, NULL);

    free(path);
    return text;
}

static char *begin_log(void)
{
    char *dir = temp_create();
    char *path = temp_path(dir, "log");
    struct diag diag = {0};

    CHECK_OK(log_open(path, &diag));
    free(path);
    return dir;
}

static unsigned count(const char *text, const char *part)
{
    unsigned times = 0;

    while ((text = strstr(text, part))) {
        text++;
        times++;
    }
    return times;
}

static void a_line_has_its_time_and_name(void **state)
{
    char *dir = begin_log(), *text;

    log_say("hello %d", 7);
    text = read_log(dir);
    assert_int_equal(strlen(text), strlen("2026-01-01 00:00:00 optraced: hello 7\n"));
    CHECK_CONTAINS(text, " optraced: hello 7\n");
    free(text);
    temp_destroy(&dir);
}

static void details_are_for_those_who_want_them(void **state)
{
    char *dir = begin_log(), *text;

    log_detail("unwanted");
    log_set_verbose(true);
    log_detail("wanted");
    log_set_verbose(false);
    text = read_log(dir);
    CHECK_LACKS(text, "unwanted");
    CHECK_CONTAINS(text, "wanted");
    free(text);
    temp_destroy(&dir);
}

static void a_peers_text_makes_no_lines_of_its_own(void **state)
{
    char *dir = begin_log(), *text;

    log_say("it says %s", "a\n2026-01-01 00:00:00 optraced: b\x1b[31m\x7f\xc2\x9b\u202e");
    text = read_log(dir);
    CHECK_CONTAINS(text,
                   "it says a\\x0a2026-01-01 00:00:00 optraced: b\\x1b[31m\\x7f\\u009b\\u202e\n");
    CHECK_U64(count(text, "\n"), 1);
    free(text);
    temp_destroy(&dir);
}

static void long_texts_are_cut(void **state)
{
    char *dir = begin_log(), *text;
    char longer[5000];

    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = 0;
    log_say("%s", longer);
    text = read_log(dir);
    assert_in_range(strlen(text), 1000, 1300);
    assert_int_equal(text[strlen(text) - 1], '\n');
    free(text);
    temp_destroy(&dir);
}

static void a_peer_is_quoted_once(void **state)
{
    char *dir = begin_log(), *text;

    for (int i = 0; i < 1000; i++) {
        log_peer(101, "pid 101 sends %d", i); /* numbers do not make it another line */
        log_peer(102, "pid 102 sends %d", i);
        log_peer(101, "pid 101 leaves");
    }
    text = read_log(dir);
    CHECK_U64(count(text, "pid 101 sends"), 1);
    CHECK_U64(count(text, "pid 102 sends"), 1);
    CHECK_U64(count(text, "pid 101 leaves"), 1);
    free(text);
    temp_destroy(&dir);
}

static void a_full_pipe_is_not_waited_for(void **state)
{
    char *dir = temp_create(), *path = temp_path(dir, "log"), *text;
    int saved = dup(STDERR_FILENO), fds[2];
    struct diag diag = {0};
    char pipe_path[64], buffer[1 << 16];
    uint64_t start_ns = ot_clock_ns(CLOCK_MONOTONIC);

    assert_int_equal(pipe(fds), 0);
    snprintf(pipe_path, sizeof(pipe_path), "/proc/self/fd/%d", fds[1]);
    CHECK_OK(log_open(pipe_path, &diag));
    for (int i = 0; i < 5000; i++)
        log_say("nobody reads this");
    assert_true(ot_clock_ns(CLOCK_MONOTONIC) - start_ns < UINT64_C(60000000000));
    while (read(fds[0], buffer, sizeof(buffer)) == sizeof(buffer))
        ;
    log_say("somebody reads again");
    memset(buffer, 0, sizeof(buffer));
    assert_true(read(fds[0], buffer, sizeof(buffer) - 1) > 0);
    text = strstr(buffer, "somebody");
    if (!text)
        fail_msg("%s", buffer);
    CHECK_CONTAINS(text, "lines before this one could not be written");
    CHECK_OK(log_open(path, &diag));
    close(fds[0]);
    close(fds[1]);
    close(saved);
    free(path);
    temp_destroy(&dir);
}

static void a_file_that_was_moved_is_opened_anew(void **state)
{
    char *dir = begin_log(), *old = temp_path(dir, "old"), *path = temp_path(dir, "log"), *text;

    log_say("first");
    assert_int_equal(rename(path, old), 0);
    log_say("second");
    log_reopen();
    log_say("third");
    text = read_log(dir);
    CHECK_LACKS(text, "second");
    CHECK_CONTAINS(text, "third");
    free(text);
    free(old);
    free(path);
    temp_destroy(&dir);
}

static void a_file_that_cannot_be_opened_changes_nothing(void **state)
{
    char *dir = begin_log(), *text;
    struct diag diag = {0};

    assert_int_equal(log_open("/no/such/directory/log", &diag), -ENOENT);
    CHECK_CONTAINS(diag.text, "/no/such/directory/log");
    log_say("still here");
    text = read_log(dir);
    CHECK_CONTAINS(text, "still here");
    free(text);
    temp_destroy(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_has_its_time_and_name),
        cmocka_unit_test(details_are_for_those_who_want_them),
        cmocka_unit_test(a_peers_text_makes_no_lines_of_its_own),
        cmocka_unit_test(long_texts_are_cut),
        cmocka_unit_test(a_peer_is_quoted_once),
        cmocka_unit_test(a_full_pipe_is_not_waited_for),
        cmocka_unit_test(a_file_that_was_moved_is_opened_anew),
        cmocka_unit_test(a_file_that_cannot_be_opened_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
