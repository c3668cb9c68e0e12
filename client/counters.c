/* SPDX-License-Identifier: Apache-2.0 */
/* CPU counters of one thread, from perf_event_open() and from what the kernel keeps anyway. */
#include "client/counters.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "client/fd.h"

enum source { FROM_GROUP, FROM_USAGE, FROM_CLOCK };

static const struct {
    const char *word, *op_name;
    enum source source;
    uint32_t type; /* of perf_event, and what of it */
    uint64_t config;
} kinds[OT_COUNTERS] = {
    [OT_COUNTER_INSTRUCTIONS] = {"instructions", "perf.instructions", FROM_GROUP,
                                 PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    [OT_COUNTER_CYCLES] = {"cycles", "perf.cycles", FROM_GROUP, PERF_TYPE_HARDWARE,
                           PERF_COUNT_HW_CPU_CYCLES},
    [OT_COUNTER_CACHE_MISSES] = {"cache-misses", "perf.cache-misses", FROM_GROUP,
                                 PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    [OT_COUNTER_BRANCH_MISSES] = {"branch-misses", "perf.branch-misses", FROM_GROUP,
                                  PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
    [OT_COUNTER_PAGE_FAULTS] = {"page-faults", "perf.page-faults", FROM_USAGE, 0, 0},
    [OT_COUNTER_CONTEXT_SWITCHES] = {"context-switches", "perf.context-switches", FROM_USAGE, 0, 0},
    [OT_COUNTER_CPU_MIGRATIONS] = {"cpu-migrations", "perf.cpu-migrations", FROM_GROUP,
                                   PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS},
    [OT_COUNTER_TASK_CLOCK] = {"task-clock", "perf.task-clock_ns", FROM_CLOCK, 0, 0},
    [OT_COUNTER_UNSCHEDULED] = {NULL, "perf.unscheduled_ns", FROM_GROUP, 0, 0},
};

const char *ot_counter_word(enum ot_counter counter)
{
    return kinds[counter].word;
}

void ot_counter_op_name(enum ot_counter counter, bool user_only,
                        char out_name[OT_COUNTER_NAME_BYTES])
{
    const bool is_processors = kinds[counter].type == PERF_TYPE_HARDWARE && kinds[counter].word &&
                               kinds[counter].source == FROM_GROUP;

    snprintf(out_name, OT_COUNTER_NAME_BYTES, "%s%s", kinds[counter].op_name,
             is_processors && user_only ? ":u" : "");
}

/* --- Lists. --- */

static int refuse(const char *word, size_t length, char *out_why, size_t bytes)
{
    const char *words[OT_COUNTERS], *nearest;
    char all[160] = "", wrong[48];
    size_t count = 0, used = 0;

    for (int i = 0; i < OT_COUNTERS; i++) {
        if (!kinds[i].word)
            continue;
        used += (size_t)snprintf(all + used, sizeof(all) - used, "%s%s", used ? ", " : "",
                                 kinds[i].word);
        words[count++] = kinds[i].word;
    }
    snprintf(wrong, sizeof(wrong), "%.*s", (int)length, word);
    nearest = text_nearest(wrong, words, count);
    if (nearest)
        snprintf(out_why, bytes, "there is no counter \"%s\": did you mean %s?", wrong, nearest);
    else
        snprintf(out_why, bytes, "there is no counter \"%s\"; there are %s", wrong, all);
    return -EINVAL;
}

int ot_counters_parse(const char *list, uint32_t *out_mask, char *out_why, size_t bytes)
{
    static const char between[] = ", \t";
    uint32_t mask = 0;

    for (const char *at = list ? list : ""; *(at += strspn(at, between));) {
        const size_t length = strcspn(at, between);
        int found = -1;

        for (int i = 0; i < OT_COUNTERS && found < 0; i++) {
            if (kinds[i].word && strlen(kinds[i].word) == length &&
                strncmp(kinds[i].word, at, length) == 0)
                found = i;
        }
        if (found < 0)
            return refuse(at, length, out_why, bytes);
        mask |= UINT32_C(1) << found;
        at += length;
    }
    *out_mask = mask;
    return 0;
}

/* --- Opening. --- */

static int open_event(uint32_t type, uint64_t config, int group_fd, bool user_only)
{
    struct perf_event_attr event = {
        .type = type,
        .size = sizeof(event),
        .config = config,
        .exclude_kernel = user_only,
        .exclude_hv = 1,
        .read_format =
            PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
    };
    long fd = syscall(SYS_perf_event_open, &event, 0, -1, group_fd, PERF_FLAG_FD_CLOEXEC);

    return fd < 0 ? -errno : ot_fd_move((int)fd);
}

/* All of their kind have one inode; but each has a number of its own. */
static uint64_t read_id(int fd)
{
    uint64_t id = 0;

    return ioctl(fd, PERF_EVENT_IOC_ID, &id) == 0 ? id : 0;
}

static bool is_ours(const struct ot_counters *counters, uint32_t member)
{
    return counters->ids[member] != 0 && read_id(counters->fds[member]) == counters->ids[member];
}

static bool is_refusal(int rc)
{
    return rc == -EACCES || rc == -EPERM;
}

/* The first of the group that can be opened decides whether the kernel counts too. */
static int open_member(struct ot_counters *counters, enum ot_counter counter)
{
    const int leader = counters->fd_count ? counters->fds[0] : -1;
    const uint32_t type = kinds[counter].type;
    int rc = -EACCES;

    /* Migrations happen in the kernel: without it they would all be 0. */
    if (type == PERF_TYPE_SOFTWARE && counters->user_only)
        return rc;
    if (!counters->user_only)
        rc = open_event(type, kinds[counter].config, leader, false);
    if (is_refusal(rc) && type != PERF_TYPE_SOFTWARE && (leader < 0 || counters->user_only)) {
        rc = open_event(type, kinds[counter].config, leader, true);
        if (rc >= 0)
            counters->user_only = true;
    }
    if (rc < 0)
        return rc;
    counters->members[counters->fd_count] = (uint8_t)counter;
    counters->ids[counters->fd_count] = read_id(rc);
    counters->fds[counters->fd_count++] = rc;
    return 0;
}

void ot_counters_open(struct ot_counters *counters, uint32_t asked)
{
    memset(counters, 0, sizeof(*counters));
    counters->asked = asked;
    for (int i = 0; i < OT_COUNTER_UNSCHEDULED; i++) {
        int rc = 0;

        if (!(asked & UINT32_C(1) << i))
            continue;
        if (kinds[i].source == FROM_GROUP)
            rc = open_member(counters, (enum ot_counter)i);
        if (rc == 0)
            counters->open |= UINT32_C(1) << i;
        counters->errors[i] = rc;
    }
}

void ot_counters_close(struct ot_counters *counters)
{
    for (uint32_t i = 0; i < counters->fd_count; i++) {
        if (is_ours(counters, i))
            close(counters->fds[i]);
    }
    counters->fd_count = 0;
    counters->open = 0;
}

/* --- Reading. --- */

void ot_counters_take(struct ot_counters *counters, const struct ot_counters_group *now)
{
    const uint64_t running_ns = now->running_ns - counters->running_ns;
    const uint64_t enabled_ns = now->enabled_ns - counters->enabled_ns;

    counters->values[OT_COUNTER_UNSCHEDULED] = (double)(now->enabled_ns - now->running_ns);
    if (counters->open & UINT32_C(1) << OT_COUNTER_TASK_CLOCK)
        counters->values[OT_COUNTER_TASK_CLOCK] = (double)now->enabled_ns;
    if (running_ns == 0)
        return;
    for (uint32_t i = 0; i < counters->fd_count; i++) {
        double more = (double)(now->raw[i] - counters->raw[i]);

        if (enabled_ns > running_ns)
            more *= (double)enabled_ns / (double)running_ns;
        counters->values[counters->members[i]] += more;
        counters->raw[i] = now->raw[i];
    }
    counters->enabled_ns = now->enabled_ns;
    counters->running_ns = now->running_ns;
}

void ot_counters_read(struct ot_counters *counters)
{
    const uint32_t usage_mask =
        UINT32_C(1) << OT_COUNTER_PAGE_FAULTS | UINT32_C(1) << OT_COUNTER_CONTEXT_SWITCHES;
    struct ot_counters_group reading;
    struct rusage usage;

    if (counters->open & usage_mask && getrusage(RUSAGE_THREAD, &usage) == 0) {
        counters->values[OT_COUNTER_PAGE_FAULTS] = (double)(usage.ru_minflt + usage.ru_majflt);
        counters->values[OT_COUNTER_CONTEXT_SWITCHES] = (double)(usage.ru_nvcsw + usage.ru_nivcsw);
    }
    if (counters->fd_count) {
        const ssize_t bytes = (ssize_t)((3 + counters->fd_count) * sizeof(uint64_t));

        /* What is the program's may be a pipe, and reading it would take its bytes, or wait. */
        if (is_ours(counters, 0) && read(counters->fds[0], &reading, sizeof(reading)) == bytes)
            ot_counters_take(counters, &reading);
    } else if (counters->open & UINT32_C(1) << OT_COUNTER_TASK_CLOCK) {
        counters->values[OT_COUNTER_TASK_CLOCK] = (double)ot_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    }
}

/* --- For a person. --- */

static const char *reason_of(int error)
{
    switch (-error) {
    case ENOENT:
    case ENODEV:
    case EOPNOTSUPP:
        return "this machine has none, or its hypervisor hides them";
    case EACCES:
    case EPERM:
        return "not permitted: see kernel.perf_event_paranoid, and the seccomp profile of a "
               "container";
    case ENOSYS:
        return "the kernel, or the seccomp profile of a container, has no perf_event_open()";
    case EINVAL:
        return "the processor cannot count it beside the others";
    default:
        return strerror(-error);
    }
}

/* The words of those in `mask`, with commas. */
static size_t put_words(uint32_t mask, char *out, size_t bytes)
{
    size_t used = 0;

    for (int i = 0; i < OT_COUNTERS; i++) {
        if (mask & UINT32_C(1) << i && kinds[i].word)
            used +=
                (size_t)snprintf(used < bytes ? out + used : NULL, used < bytes ? bytes - used : 0,
                                 "%s%s", used ? ", " : "", kinds[i].word);
    }
    return used;
}

size_t ot_counters_describe(const struct ot_counters *counters, char *out_text, size_t bytes)
{
    uint32_t left = counters->asked & ~counters->open;
    char text[1024]; /* for all of it, with each error once */
    size_t used = put_words(counters->open, text, sizeof(text));

    if (counters->user_only)
        used += (size_t)snprintf(text + used, sizeof(text) - used,
                                 " (the processor's without what the kernel does)");
    for (int i = 0; left && i < OT_COUNTERS; i++) {
        uint32_t same = 0;

        if (!(left & UINT32_C(1) << i))
            continue;
        for (int k = i; k < OT_COUNTERS; k++) {
            if (left & UINT32_C(1) << k && counters->errors[k] == counters->errors[i])
                same |= UINT32_C(1) << k;
        }
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%snot ", used ? "; " : "");
        used += put_words(same, text + used, sizeof(text) - used);
        used += (size_t)snprintf(text + used, sizeof(text) - used, " (%s)",
                                 reason_of(counters->errors[i]));
        left &= ~same;
    }
    return (size_t)snprintf(out_text, bytes, "%s", used ? text : "none");
}
