/* SPDX-License-Identifier: Apache-2.0 */
/* Files of the daemon where something is there already: links, stale files, files of other users.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/exit_status.h"
#include "tests/support/check.h"
#include "tests/support/optraced.h"
#include "tests/support/place.h"
#include "tests/support/wait.h"

enum { DAEMON_USER = 50001, OTHER_USER = 50002 };

static char *path_in(const struct optraced *daemon, const char *name)
{
    char *path = NULL;

    assert_true(asprintf(&path, "%s/%s", daemon->dir, name) > 0);
    return path;
}

static void write_file(const char *path, const char *text, uid_t uid)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_true(uid == 0 || fchown(fd, uid, uid) == 0);
    close(fd);
}

static void check_file(const char *path, const char *text)
{
    char bytes[64] = {0};
    int fd = open(path, O_RDONLY);

    assert_true(fd >= 0);
    assert_true(read(fd, bytes, sizeof(bytes) - 1) >= 0);
    close(fd);
    assert_string_equal(bytes, text);
}

static mode_t mode_of(const char *path)
{
    struct stat info;

    assert_int_equal(lstat(path, &info), 0);
    return info.st_mode & 07777;
}

/* --- The pid file --- */

static void a_pid_file_is_made_anew(void **state)
{
    struct optraced daemon;
    char text[32], *path;

    optraced_init(&daemon);
    path = path_in(&daemon, "pid");
    write_file(path, "123456789\n", 0); /* of a daemon that was killed */
    optraced_start(&daemon, (const char *const[]){"--pid-file", path, NULL});
    snprintf(text, sizeof(text), "%d\n", (int)daemon.child.pid);
    check_file(path, text);
    CHECK_U64(mode_of(path), 0600);
    assert_int_equal(optraced_stop(&daemon), 0);
    assert_int_equal(access(path, F_OK), -1);
    free(path);
    optraced_deinit(&daemon);
}

static void a_pid_file_follows_no_link(void **state)
{
    struct optraced daemon;
    char *path, *precious;

    optraced_init(&daemon);
    path = path_in(&daemon, "pid");
    precious = path_in(&daemon, "precious");
    write_file(precious, "precious", 0);
    assert_int_equal(symlink(precious, path), 0);
    optraced_start(&daemon, (const char *const[]){"--pid-file", path, NULL});
    optraced_expect_log(&daemon, "going on without a pid file: ", 1);
    assert_int_equal(optraced_stop(&daemon), 0);
    check_file(precious, "precious");
    assert_int_equal(access(path, F_OK), 0); /* it is not ours to remove */
    free(path);
    free(precious);
    optraced_deinit(&daemon);
}

static void the_pid_file_of_another_daemon_stays(void **state)
{
    struct optraced daemon;
    char *path, *other;

    optraced_init(&daemon);
    path = path_in(&daemon, "pid");
    other = path_in(&daemon, "other");
    optraced_start(&daemon, (const char *const[]){"--pid-file", path, NULL});
    write_file(other, "1\n", 0);
    assert_int_equal(rename(other, path), 0);
    assert_int_equal(optraced_stop(&daemon), 0);
    check_file(path, "1\n");
    free(path);
    free(other);
    optraced_deinit(&daemon);
}

/* --- A folder where everybody makes files, with those of another user in it --- */

static int run_daemon(void *context)
{
    const char *const *argv = context;
    const int fd = open(argv[0], O_RDONLY);

    if (fd < 0 || setgid(DAEMON_USER) < 0 || setuid(DAEMON_USER) < 0)
        return 99;
    fexecve(fd, (char **)argv, environ);
    return 98;
}

/* The daemon does not start, because `name` is of another user. */
static void expect_refusal(const struct optraced *daemon, const char *name, const char *option,
                           const char *value)
{
    char *program = place_program("daemon/optraced"), sentence[300];
    const char *argv[] = {program,       "-f",    "-s", daemon->socket, "-o",
                          daemon->store, "--log", NULL, NULL,           NULL};
    char *log = path_in(daemon, "log");
    struct child child;
    int status;

    argv[7] = log;
    if (strcmp(option, "--log") == 0)
        argv[7] = value;
    else if (strcmp(option, "-o") == 0)
        argv[5] = value;
    child_start_function(&child, run_daemon, argv);
    status = child_wait(&child, 20000);
    snprintf(sentence, sizeof(sentence), "/%s is a %s of user %d, in a folder where others", name,
             strstr(name, "link") ? "symbolic link" : "file", OTHER_USER);
    if (status != EXIT_SYSTEM || !strstr(child.err, sentence))
        fail_msg("%s: status %d: %s", name, status, child.err);
    child_deinit(&child);
    free(program);
    free(log);
}

static void what_others_put_there_is_refused(void **state)
{
    static const char *const files[] = {"o.sock.lock", "o.db-lock", "o.db", "o.db-wal", "log"};
    char *precious, *link;
    struct optraced daemon;

    if (geteuid() != 0)
        CHECK_SKIP("only root can become another user");
    optraced_init(&daemon);
    assert_int_equal(chmod(daemon.dir, 01777), 0);
    precious = path_in(&daemon, "precious");
    link = path_in(&daemon, "link");
    write_file(precious, "precious", DAEMON_USER);
    assert_int_equal(symlink(precious, link), 0);
    assert_int_equal(lchown(link, OTHER_USER, OTHER_USER), 0);
    expect_refusal(&daemon, "link", "--log", link);
    expect_refusal(&daemon, "link", "-o", link);
    check_file(precious, "precious");
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        char *path = path_in(&daemon, files[i]);

        unlink(daemon.store);
        write_file(path, "", OTHER_USER);
        assert_int_equal(chmod(path, 0666), 0);
        expect_refusal(&daemon, files[i], "", NULL);
        assert_int_equal(unlink(path), 0);
        free(path);
    }
    free(precious);
    free(link);
    optraced_deinit(&daemon);
}

/* Links of one's own go where they always went. */
static void own_links_are_followed(void **state)
{
    struct optraced daemon;
    char *real, *link, *pid;

    optraced_init(&daemon);
    assert_int_equal(chmod(daemon.dir, 01777), 0);
    real = path_in(&daemon, "real.log");
    link = path_in(&daemon, "link.log");
    pid = path_in(&daemon, "pid");
    assert_int_equal(symlink(real, link), 0);
    optraced_spawn(&daemon, (const char *const[]){"--log", link, "--pid-file", pid, NULL});
    assert_true(wait_for_path(pid, WAIT_MS));
    assert_int_equal(optraced_stop(&daemon), 0);
    CHECK_U64(mode_of(real), 0600);
    free(real);
    free(pid);
    free(link);
    optraced_deinit(&daemon);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pid_file_is_made_anew),
        cmocka_unit_test(a_pid_file_follows_no_link),
        cmocka_unit_test(the_pid_file_of_another_daemon_stays),
        cmocka_unit_test(what_others_put_there_is_refused),
        cmocka_unit_test(own_links_are_followed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
