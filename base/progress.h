/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line on a terminal that says how far something is that takes long: after the first second, at
 * most ten times a second, wiped at the end, before anything else is written there.
 *
 *     struct progress progress = {.out = stderr, .is_shown = isatty(STDERR_FILENO)};
 *
 *     progress_update(&progress, done, total) now and then; progress_end(&progress)
 */
#ifndef OPTRACE_BASE_PROGRESS_H
#define OPTRACE_BASE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct progress {
    FILE *out;
    bool is_shown;              /* false: nothing is ever written */
    uint64_t start_ns, last_ns; /* set by the first update; last_ns 0: nothing was written yet */
};

/** Of reading a file. `context` is the struct progress; total 0: not known. For struct
 *  import_options. */
void progress_update(void *context, uint64_t done_bytes, uint64_t total_bytes);

/** Of anything else, "reading events", as a share. progress NULL: says nothing. Now and then means
 *  not for each of millions: it asks for the time. */
void progress_share(struct progress *progress, const char *what, uint64_t done, uint64_t total);

/** The same at a moment of CLOCK_MONOTONIC; what NULL: bytes of a file. Outside of its file, for
 *  tests. */
void progress_say_at(struct progress *progress, uint64_t now_ns, const char *what, uint64_t done,
                     uint64_t total);
/** progress NULL: does nothing. */
void progress_end(struct progress *progress);

#endif
