/* SPDX-License-Identifier: Apache-2.0 */
/* A store of many events, as load_and_run makes them, for benchmarks of reports. */
#ifndef OPTRACE_TESTS_SUPPORT_BIG_STORE_H
#define OPTRACE_TESTS_SUPPORT_BIG_STORE_H

#include <stddef.h>
#include <stdint.h>

enum {
    BIG_STORE_OPS = 1000,
    BIG_STORE_RUNS = 5000, /* the first ten are warm-ups */
    BIG_STORE_EVENTS = 2 * BIG_STORE_OPS * BIG_STORE_RUNS,
};

/* The store begins at this time, ns since 1970, and lasts until *out_end_ns. */
#define BIG_STORE_START_NS INT64_C(1790000000000000000)

/**
 * The path of a store of one session: in each run every op has a span on a host thread and one on a
 * device queue. It is made on the first use and kept in the build folder until the program is
 * built anew. The caller frees the path. Ends the program when it cannot be made.
 */
char *big_store(int64_t *out_end_ns);

enum big_store_kind {
    BIG_STORE_PLAIN,
    BIG_STORE_LABEL_AROUND_EACH, /* of the runs: "step" on the host thread */
    BIG_STORE_LABEL_AROUND_ALL,  /* and "all" around them together, in no run */
    BIG_STORE_NO_RUNS,           /* the plain one, whose events are in no run */
    BIG_STORE_OP_AROUND_ALL,     /* of these, an op of the thread */
    BIG_STORE_TWO_SESSIONS,      /* of half as many runs each, one after the other */
    BIG_STORE_STREAM_WAITS,      /* as without runs, of two streams that wait for each other */
    BIG_STORE_AHEAD, /* without runs, of a thread that is hundreds of launches ahead of a stream,
                              which is never idle */
    BIG_STORE_AHEAD_WAITS, /* the same of two streams, which wait for each other now and then */
    BIG_STORE_RECALLS,     /* the same, for what was recorded a thousand launches before */
    BIG_STORE_BUSY, /* without runs, of four threads, one of which is always in an op, and in what
                              these call */
    BIG_STORE_KINDS
};

/** The same in other ways. With something around all or each, ops have call stacks, too. */
char *big_store_of(enum big_store_kind kind);

/** What a kind is called in commands. */
const char *big_store_name(enum big_store_kind kind);

#endif
