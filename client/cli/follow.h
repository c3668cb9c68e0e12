/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The far end of --host: `optrace start --follow` on the other host. It says FOLLOW_READY, answers
 * "time" with its clock, and does its work when it is told "go". Lines on stdin and stdout.
 */
#ifndef OPTRACE_CLIENT_CLI_FOLLOW_H
#define OPTRACE_CLIENT_CLI_FOLLOW_H

#include <stddef.h>

#define FOLLOW_READY "optrace follows"
#define FOLLOW_TIME  "time" /* asked, and answered: "time 1700000000500000000" */
#define FOLLOW_GO    "go"   /* told, with a time for --at or without: "go @1700000000.5" */

/** Answer until "go". out_at gets what stands behind it, "" for nothing. Returns 0, or
 *  -ECONNRESET when stdin ends before, or says something else. Blocks. */
int follow(char *out_at, size_t bytes);

#endif
