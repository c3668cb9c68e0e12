/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line on a terminal that says how far reading is: after the first second, at most ten times a
 * second, wiped at the end.
 *
 *     struct progress progress = {.out = stderr, .is_shown = isatty(STDERR_FILENO)};
 *
 *     progress_update(&progress, done, total) now and then; progress_end(&progress)
 */
#ifndef OPTRACE_ANALYZE_PROGRESS_H
#define OPTRACE_ANALYZE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct progress {
    FILE *out;
    bool is_shown;              /* false: nothing is ever written */
    uint64_t start_ns, last_ns; /* set by the first update; last_ns 0: nothing was written yet */
};

/** `context` is the struct progress; total 0: not known. For struct import_options. */
void progress_update(void *context, uint64_t done_bytes, uint64_t total_bytes);

/** The same at a moment of CLOCK_MONOTONIC. Outside of its file, for tests. */
void progress_update_at(struct progress *progress, uint64_t now_ns, uint64_t done_bytes,
                        uint64_t total_bytes);
void progress_end(struct progress *progress);

#endif
