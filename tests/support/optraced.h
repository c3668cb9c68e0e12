/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A real optraced for one test: on a socket and a store of its own, in a directory of its own.
 *
 *     struct optraced daemon;
 *
 *     optraced_init(&daemon);
 *     optraced_start(&daemon, NULL);
 *     ... connect to daemon.socket ...
 *     assert_int_equal(optraced_stop(&daemon), 0);
 *     CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM event"), 3);
 *     optraced_deinit(&daemon);
 *
 * All functions fail the test on a system error.
 */
#ifndef OPTRACE_TESTS_SUPPORT_OPTRACED_H
#define OPTRACE_TESTS_SUPPORT_OPTRACED_H

#include <stdint.h>

#include "tests/support/child.h"

struct optraced {
    char *dir;    /* temporary */
    char *socket; /* paths in it */
    char *store;
    struct child child;
};

/** Make the directory and the paths; nothing runs yet. */
void optraced_init(struct optraced *daemon);

/** Start it in the foreground with these further arguments (ends with NULL; may be NULL). Its log
 * is in daemon->child.err. */
void optraced_spawn(struct optraced *daemon, const char *const *arguments);

/** The same, and wait until programs can connect. */
void optraced_start(struct optraced *daemon, const char *const *arguments);

/** SIGTERM, wait for the end. Returns the exit status. */
int optraced_stop(struct optraced *daemon);

/** SIGKILL, wait for the end. */
void optraced_kill(struct optraced *daemon);

/** Kill it if it still runs; remove the directory. */
void optraced_deinit(struct optraced *daemon);

/** The integer that a query on the store answers; the daemon may run meanwhile. NULL is -1. */
int64_t optraced_query(const struct optraced *daemon, const char *sql);

/** The text that a query answers; the caller frees it. "" for NULL. */
char *optraced_query_text(const struct optraced *daemon, const char *sql);

/** Wait until the query answers this integer. Fails the test at the deadline. */
void optraced_wait_for(const struct optraced *daemon, const char *sql, int64_t wanted);

/** Read what it has logged so far; counts the places where `text` stands. */
unsigned optraced_count_log(struct optraced *daemon, const char *text);

/** Wait until `text` stands in the log that many times, a line may come after what it tells of.
 *  Fails the test at the deadline, or when it stands there more often. */
void optraced_expect_log(struct optraced *daemon, const char *text, unsigned count);

#endif
