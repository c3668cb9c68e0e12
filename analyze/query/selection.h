/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which part of a source a report is about: sessions, runs, a window of time. Texts of the command
 * line in, numbers out; no SQL, no state.
 */
#ifndef OPTRACE_ANALYZE_QUERY_SELECTION_H
#define OPTRACE_ANALYZE_QUERY_SELECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

/* One end of a window. */
enum selection_origin {
    SELECTION_OPEN,     /* no limit */
    SELECTION_START,    /* ns after the start of the session */
    SELECTION_END,      /* ns before its end */
    SELECTION_ABSOLUTE, /* ns since 1970 */
};
struct selection_time {
    enum selection_origin origin;
    int64_t ns; /* >= 0 */
};
struct selection_window {
    struct selection_time from, until;
};

/**
 * Read "FROM..UNTIL", either side may be empty. A side is
 *   1.5s  20ms  300us  10ns  2m  1h  7      after the session's start; a bare number is seconds
 *   -10s                                    before its end
 *   @1700000000.25                          seconds since 1970
 *   2026-01-31T08:00:00[.5][Z]              local time, or UTC with Z
 * Returns 0, or -EINVAL with the place in diag (offset counts from the start of `text`).
 */
int selection_parse_window(const char *text, struct selection_window *out_window,
                           struct diag *diag);

/**
 * Read since when: "today", "yesterday" (their first moment in local time), "2h", "90m", "3d" or
 * "1w" before `now_ns`, "2026-01-31", "2026-01-31T08:00", or what a window takes as a date or as
 * seconds since 1970. Returns 0, or -EINVAL with a sentence.
 */
int selection_parse_since(const char *text, int64_t now_ns, int64_t *out_ns, struct diag *diag);

/** The bounds [from, until) in ns since 1970 of a window in a session of this start and end. */
void selection_resolve_window(const struct selection_window *window, int64_t start_ns,
                              int64_t end_ns, int64_t *out_from_ns, int64_t *out_until_ns);

/** Read "A..B", "A..", "..B" or "A": run numbers, from 1; both ends belong to it. Returns 0, or
 *  -EINVAL with a sentence. */
int selection_parse_runs(const char *text, int64_t *out_first, int64_t *out_last,
                         struct diag *diag);

#endif
