/* SPDX-License-Identifier: Apache-2.0 */
/* What a command left in its store, in a few lines on standard error. Inside client/cli only. */
#ifndef OPTRACE_CLIENT_CLI_RUN_SUMMARY_H
#define OPTRACE_CLIENT_CLI_RUN_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>

struct run_summary {
    const char *store;   /* path */
    bool is_default;     /* the one that profile_analyze reads unless told otherwise */
    const char *taken;   /* ways in that another tool has; NULL: none */
    const char *program; /* that was run */
    const char *path;    /* of its file */
    const char *label;   /* what sessions are called; NULL: by their programs */
    const char *sources; /* that were asked for by name, a list; NULL: none was */
    const char *closed;  /* why no library gets into it; NULL: one does */
    bool has_gpu;        /* --gpu was given */
    uint64_t since_ns;   /* CLOCK_REALTIME: sessions that began since then */
    unsigned left_count; /* programs that are still recording */
};

/** Asks the store by profile_analyze, prints at most four lines. */
void run_summary_print(const struct run_summary *summary);

#endif
