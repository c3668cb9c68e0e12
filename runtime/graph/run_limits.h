/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much memory and how much time the program may take: --max-memory and --max-time. There is one
 * set of limits in the process, for all its threads; without limits_start() there are none.
 *
 * Memory: whoever is about to allocate the data of a tensor, an arena or scratch asks
 * limits_allow() first, and fails with -ENOMEM when it says no. What counts is all that the program
 * has allocated, looked up whenever a further 64th of the limit was asked for: so much more than
 * the limit can be in use for a moment.
 *
 * Time: loops ask limits_is_over(), which costs one load, and fail with -ETIME. A kernel does not
 * ask; where the program has not come to its end a second after the time was over, it is ended.
 */
#ifndef OPTRACE_RUNTIME_GRAPH_RUN_LIMITS_H
#define OPTRACE_RUNTIME_GRAPH_RUN_LIMITS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

struct limits {
    uint64_t memory_bytes; /* 0: none */
    uint64_t time_ns;      /* from limits_start() on; 0: none */
    bool is_share;         /* memory_bytes is limits_share_of_machine(), nobody gave a number */
};

/** Three quarters of the memory that the machine, or the control group of the process, has. 0 when
 *  that cannot be found out. */
uint64_t limits_share_of_machine(void);

/** Once, before models are loaded. -EAGAIN when the thread that watches the time cannot start. */
int limits_start(const struct limits *limits, struct diag *diag);

/** Ends that thread. Also where limits_start() was not called or failed. */
void limits_stop(void);

/** Whether so much more may be allocated. Any thread. */
bool limits_allow(size_t bytes);

extern atomic_bool limits_time_is_over;

/** Any thread. */
static inline bool limits_is_over(void)
{
    return atomic_load_explicit(&limits_time_is_over, memory_order_relaxed);
}

/** 0, or -ETIME with the sentence when the time is over. */
int limits_check_time(struct diag *diag);

/**
 * A program that failed with *diag: when a limit is the reason, put the sentence that says so in
 * its place and return true.
 */
bool limits_explain(struct diag *diag);

#endif
