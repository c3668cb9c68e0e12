/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Child processes of a test: start, talk, wait, kill.
 *
 *     const char *argv[] = {program, "--help", NULL};
 *     struct child_result result = child_run(argv, NULL);
 *
 *     assert_int_equal(result.status, 0);
 *     CHECK_CONTAINS(result.out, "usage");
 *     child_result_deinit(&result);
 *
 * A child dies with the test that started it. All functions fail the test on a system error.
 */
#ifndef OPTRACE_TESTS_SUPPORT_CHILD_H
#define OPTRACE_TESTS_SUPPORT_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct child {
    pid_t pid;     /* 0 once it was waited for */
    int stdout_fd; /* read end, non-blocking; -1 once closed */
    int stderr_fd; /* read end, non-blocking; -1 once closed */
    char *out;     /* what was read so far, NUL-terminated */
    char *err;
    size_t out_bytes;
    size_t err_bytes;
};

struct child_options {
    const char *const *environment; /* "NAME=VALUE" added to the test's own, "NAME" alone removes;
                                       ends with NULL; NULL for none */
    const char *directory;          /* working directory, or NULL for the test's */
    unsigned timeout_ms;            /* for child_run(); 0 is WAIT_MS */
};

struct child_result {
    int status; /* exit status, or 128 + signal */
    char *out;  /* stdout and stderr, NUL-terminated */
    char *err;
    size_t out_bytes;
};

/** Start argv[0] (looked up on PATH when it has no slash) with stdin from /dev/null. `options` may
 *  be NULL. Ends in child_wait() or child_kill(). */
void child_start(struct child *child, const char *const *argv, const struct child_options *options);

/** Start a function of this program in a forked child, which exits with what it returns. Its stdout
 *  and stderr are collected like those of a program. */
void child_start_function(struct child *child, int (*function)(void *context), void *context);

/** Read what both streams hold now, without waiting. */
void child_drain(struct child *child);

/** Read until stdout (or stderr) holds `text`. Returns false at the deadline or when the child
 *  closed both without it. */
bool child_wait_text(struct child *child, const char *text, unsigned timeout_ms);

/** Wait for the end, reading all output. Returns the exit status or 128 + signal. A child that is
 *  still there at the deadline is killed and the test fails. child->out and ->err stay readable
 *  until child_deinit(). */
int child_wait(struct child *child, unsigned timeout_ms);

/** Send a signal, then wait for the end as child_wait() does. */
int child_kill(struct child *child, int signal_number);

/** Kill and reap it if it still runs; free its output. Zeroed and already ended ones are allowed.
 */
void child_deinit(struct child *child);

/** Start, wait, collect. */
struct child_result child_run(const char *const *argv, const struct child_options *options);
void child_result_deinit(struct child_result *result);

#endif
