/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPU counters of one thread: which there are, opening them, reading them. No state; libc only.
 *
 * Where each comes from is chosen by cost and by what needs no permission (measured on Linux 6.18,
 * Zen 4: read() of a perf_event group 640 to 690 ns, getrusage() 210, the thread's CPU clock 370):
 * what the processor counts, and migrations, come from one perf_event group per thread; page faults
 * and context switches from getrusage(RUSAGE_THREAD), which counts those of the kernel too where
 * perf_event may not; the task clock from the group's own clock where there is one, else from
 * CLOCK_THREAD_CPUTIME_ID.
 */
#ifndef OPTRACE_CLIENT_COUNTERS_H
#define OPTRACE_CLIENT_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/wire/wire.h"

enum ot_counter {
    OT_COUNTER_INSTRUCTIONS,
    OT_COUNTER_CYCLES,
    OT_COUNTER_CACHE_MISSES,
    OT_COUNTER_BRANCH_MISSES,
    OT_COUNTER_PAGE_FAULTS,
    OT_COUNTER_CONTEXT_SWITCHES,
    OT_COUNTER_CPU_MIGRATIONS,
    OT_COUNTER_TASK_CLOCK,
    OT_COUNTER_UNSCHEDULED, /* not asked for: ns for which the group was not on the processor */
    OT_COUNTERS,
};

/** What it is called in lists of counters; NULL for the one that nobody asks for. For tests. */
const char *ot_counter_word(enum ot_counter counter);

enum { OT_COUNTER_NAME_BYTES = 40 };

/** What its op is called in the session: "perf.", the word, the unit where it is not a count, and
 *  ":u" where it leaves out what the kernel does. */
void ot_counter_op_name(enum ot_counter counter, bool user_only,
                        char out_name[OT_COUNTER_NAME_BYTES]);

/**
 * Read a list, "page-faults,task-clock".
 *
 * out_mask  a bit per enum ot_counter; 0 for NULL, "" and blanks
 * out_why   gets the sentence when there is no such counter; at most `bytes`
 *
 * Returns 0 or -EINVAL.
 */
int ot_counters_parse(const char *list, uint32_t *out_mask, char *out_why, size_t bytes);

/** The thread's counters. {0} has none open. */
struct ot_counters {
    uint32_t asked;
    uint32_t open;           /* those that are read */
    int errors[OT_COUNTERS]; /* of those asked for and not open: negative errno */
    bool user_only;          /* what the kernel does is not in the group's counts */

    int fds[OT_COUNTERS];      /* of the group, the leader first */
    uint64_t ids[OT_COUNTERS]; /* that the kernel gave to them: the program may close what it does
                                  not know, and open a file under the same number */
    uint8_t members[OT_COUNTERS];
    uint32_t fd_count;
    uint64_t raw[OT_COUNTERS]; /* of the group at the latest reading, by place in it */
    uint64_t enabled_ns, running_ns;

    /* Since they were opened. Where the group had to share the processor, its counts are scaled up
     * from the part of the time in which it was on it. */
    double values[OT_COUNTERS];

    /* At the begin of the spans that are open now. */
    double begun[OT_RING_DEPTH_MAX][OT_COUNTERS];
    bool is_counted[OT_RING_DEPTH_MAX];
};

/** Open what can be opened for the calling thread; the rest is in `errors`. Give it to
 *  ot_counters_close(), on any thread. */
void ot_counters_open(struct ot_counters *counters, uint32_t asked);

/** Closes the files; also in a child after fork(), where they are the parent's. */
void ot_counters_close(struct ot_counters *counters);

/** Bring `values` up to date. Only the thread that opened them. */
void ot_counters_read(struct ot_counters *counters);

/** What a read() of the group gives. */
struct ot_counters_group {
    uint64_t count, enabled_ns, running_ns;
    uint64_t raw[OT_COUNTERS];
};

/** Bring the group's `values` up to date with a reading. Counts grow by what was counted, scaled
 *  from the part of the time in which the group was on the processor. What happens while it is not
 *  there at all shows up at the first reading after it was. Outside of its file, for tests. */
void ot_counters_take(struct ot_counters *counters, const struct ot_counters_group *now);

/** For a person: "page-faults, task-clock; not instructions (...)". Returns the length of the whole
 *  text, as snprintf() does. */
size_t ot_counters_describe(const struct ot_counters *counters, char *out_text, size_t bytes);

#endif
