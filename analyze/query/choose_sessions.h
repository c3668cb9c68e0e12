/* SPDX-License-Identifier: Apache-2.0 */
/* Which sessions of a source are meant: a text of the command line to ids. */
#ifndef OPTRACE_ANALYZE_QUERY_CHOOSE_SESSIONS_H
#define OPTRACE_ANALYZE_QUERY_CHOOSE_SESSIONS_H

#include <stdbool.h>

#include "analyze/query/query.h"

/**
 * text      "last", "all", "3", or numbers and ranges of them with commas between, "1,4..6"; "-1"
 *           is the last one, "-2" that before it; NULL is the last one
 * sessions  at least one
 * out_ids   room for as many; in the order of `sessions`, each once
 *
 * Returns 0; 1, with a sentence, when a number is given that is not there, or a range in which
 * there is none; -EINVAL with a sentence when the text makes no sense.
 */
int choose_sessions(const char *text, const struct session_rows *sessions, int64_t *out_ids,
                    size_t *out_count, struct diag *diag);

/* Which sessions --program and --since leave; {0}: all. */
struct session_limits {
    const char *program; /* its name, with or without its path; or NULL */
    int64_t since_ns;    /* started then or later; 0: whenever */
};

/** The same among those that are within limits, all of them where only a time is given. That none
 *  is there, is a sentence and 1. */
int choose_limited_sessions(const char *text, const struct session_limits *limits,
                            const struct session_rows *sessions, int64_t *out_ids,
                            size_t *out_count, struct diag *diag);

/** True when the text could be one of choose_sessions(): a number, a list of them, last, all. */
bool is_choice_of_sessions(const char *text);

/** Whether all of some sessions hold folded stacks whose counts are no times. False for none. */
bool sessions_are_samples(const struct session_rows *sessions, const int64_t *ids, size_t count);

#endif
