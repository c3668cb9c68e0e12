/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions with runs of a made-up model: the same seed gives the same times. */
#ifndef OPTRACE_TESTS_SUPPORT_RUN_STORE_H
#define OPTRACE_TESTS_SUPPORT_RUN_STORE_H

#include <stdbool.h>

#include "schema/store/store.h"

enum { RUN_STORE_OPS_MAX = 12 };

struct run_store_op {
    const char *name, *type;              /* NULL name: the end */
    const char *shapes, *origin, *params; /* or NULL */
    double ns;                            /* in one run, before noise */
};

struct run_store_session {
    int64_t start_ns;
    const char *host, *program, *command, *library, *model, *digest, *environment; /* or NULL */
    struct run_store_op ops[RUN_STORE_OPS_MAX]; /* one after the other, on a queue of cpu:0 */
    double between_ns;                          /* behind each of them */
    unsigned run_count, warmup_count;           /* warm-ups come first and are twice as slow */
    double noise;                               /* times grow by up to this share */
    /* CPU time is recorded; in this many of 8 runs something else had the CPU, half a run long. */
    bool has_cpu_time;
    unsigned disturbed_of_8;
    uint64_t seed;
};

/** Append a session with its ids behind those there are. Fails the test when it cannot. */
void run_store_add(struct store *store, const struct run_store_session *session);

/** Open or make the file, append, close. */
void run_store_append(const char *path, const struct run_store_session *session);

#endif
