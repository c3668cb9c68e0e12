/* SPDX-License-Identifier: Apache-2.0 */
/* Readings by lane, counter and time; differences between two of them. */
#include "analyze/metrics/span_counters.h"
#include "base/sorted.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[SPAN_COUNTERS] = {
    [SPAN_INSTRUCTIONS] = "perf.instructions",
    [SPAN_CYCLES] = "perf.cycles",
    [SPAN_CACHE_MISSES] = "perf.cache-misses",
    [SPAN_BRANCH_MISSES] = "perf.branch-misses",
    [SPAN_PAGE_FAULTS] = "perf.page-faults",
    [SPAN_CONTEXT_SWITCHES] = "perf.context-switches",
    [SPAN_CPU_MIGRATIONS] = "perf.cpu-migrations",
    [SPAN_TASK_CLOCK] = "perf.task-clock_ns",
    [SPAN_UNSCHEDULED] = "perf.unscheduled_ns",
};

struct reading {
    int64_t time_ns;
    double value;
};

/* Of one counter, all lanes: readings of a lane stand together, by time. */
struct readings {
    struct reading *items;
    size_t *first; /* by lane, and one behind the last */
};

const char *span_counter_name(enum span_counter counter)
{
    return names[counter];
}

static int counter_of(const struct op_row *op, bool *out_is_user_only)
{
    for (int i = 0; i < SPAN_COUNTERS && strcmp(op->type, "counter") == 0; i++) {
        const size_t length = strlen(names[i]);

        *out_is_user_only = strcmp(op->name + strnlen(op->name, length), ":u") == 0;
        if (strncmp(op->name, names[i], length) == 0 &&
            (op->name[length] == '\0' || *out_is_user_only))
            return i;
    }
    return -1;
}

/* Which counter each op is, or -1; the caller frees it. */
static int8_t *find_kinds(const struct spans_answer *spans, bool *out_is_user_only)
{
    int8_t *kinds = malloc(spans->ops.count + 1);
    bool is_user_only = false;

    *out_is_user_only = false;
    for (size_t i = 0; i < spans->ops.count && kinds; i++) {
        kinds[i] = (int8_t)counter_of(&spans->ops.items[i], &is_user_only);
        *out_is_user_only |= kinds[i] >= 0 && is_user_only;
    }
    return kinds;
}

/* Rows come by time, so that a pass over them per counter keeps that order within each lane. */
static int sort_in(const struct spans_answer *spans, const struct counter_row_array *rows,
                   const int8_t *kinds, int counter, struct readings *out_readings)
{
    const size_t lanes = spans->lanes.count;
    size_t count = 0, *next;

    for (size_t i = 0; i < rows->count; i++)
        count += kinds[rows->items[i].op] == counter;
    if (count == 0)
        return 0;
    out_readings->items = malloc(count * sizeof(*out_readings->items));
    out_readings->first = calloc(lanes + 1, sizeof(*out_readings->first));
    next = calloc(lanes + 1, sizeof(*next));
    if (!out_readings->items || !out_readings->first || !next) {
        free(next);
        return -ENOMEM;
    }
    for (size_t i = 0; i < rows->count; i++) {
        if (kinds[rows->items[i].op] == counter)
            out_readings->first[rows->items[i].lane + 1]++;
    }
    for (size_t i = 0; i < lanes; i++) {
        out_readings->first[i + 1] += out_readings->first[i];
        next[i] = out_readings->first[i];
    }
    for (size_t i = 0; i < rows->count; i++) {
        const struct counter_row *row = &rows->items[i];

        if (kinds[row->op] == counter)
            out_readings->items[next[row->lane]++] = (struct reading){row->time_ns, row->value};
    }
    free(next);
    return 0;
}

static void drop(struct readings *readings)
{
    free(readings->items);
    free(readings->first);
    *readings = (struct readings){NULL, NULL};
}

/* The reading of that time. There may be several when a span begins as another ends: the highest
 * begins, the lowest ends. NaN: there is none. */
static double find(const struct readings *readings, uint32_t lane, int64_t time_ns, bool highest)
{
    size_t low = readings->first[lane], high = readings->first[lane + 1];
    const size_t end = high;
    double value = NAN;

    low = search_past(low, high, middle, readings->items[middle].time_ns < time_ns);
    for (; low < end && readings->items[low].time_ns == time_ns; low++) {
        double now = readings->items[low].value;

        if (isnan(value) || (highest ? now > value : now < value))
            value = now;
    }
    return value;
}

static void measure(const struct spans_answer *spans, const struct readings *readings,
                    double *totals, bool *is_read)
{
    for (size_t i = 0; i < spans->spans.count; i++) {
        const struct span *span = &spans->spans.items[i];
        double total = NAN;

        if (spans->op_kinds[span->op] == SPAN_OP || spans->op_kinds[span->op] == SPAN_LABEL) {
            /* Of one that took no time both readings have its time. */
            total = find(readings, span->lane, span->start_ns + span->dur_ns, span->dur_ns == 0) -
                    find(readings, span->lane, span->start_ns, span->dur_ns != 0);
        }
        totals[i] = total;
        is_read[span->lane] |= !isnan(total);
    }
}

/* The innermost op around a span, or SPAN_NONE. */
static uint32_t op_around(const struct spans_answer *spans, const struct span *span)
{
    uint32_t at = span->parent;

    while (at != SPAN_NONE && spans->op_kinds[spans->spans.items[at].op] != SPAN_OP)
        at = spans->spans.items[at].parent;
    return at;
}

static void find_owns(const struct spans_answer *spans, const double *totals, double *owns)
{
    memcpy(owns, totals, spans->spans.count * sizeof(*owns));
    for (size_t i = 0; i < spans->spans.count; i++) {
        const struct span *span = &spans->spans.items[i];
        uint32_t around = op_around(spans, span);

        if (around != SPAN_NONE && spans->op_kinds[span->op] == SPAN_OP && !isnan(totals[i]))
            owns[around] -= totals[i];
    }
    /* The processor's counts are estimates where it was shared, and may fall short of the parts. */
    for (size_t i = 0; i < spans->spans.count; i++) {
        if (owns[i] < 0)
            owns[i] = 0;
    }
}

static int make_one(const struct spans_answer *spans, const struct readings *readings, int counter,
                    struct span_counters *out_counters)
{
    const size_t count = spans->spans.count ? spans->spans.count : 1;

    out_counters->totals[counter] = malloc(count * sizeof(*out_counters->totals[counter]));
    out_counters->owns[counter] = malloc(count * sizeof(*out_counters->owns[counter]));
    if (!out_counters->totals[counter] || !out_counters->owns[counter])
        return -ENOMEM;
    measure(spans, readings, out_counters->totals[counter], out_counters->is_read);
    find_owns(spans, out_counters->totals[counter], out_counters->owns[counter]);
    return 0;
}

int span_counters_make(const struct spans_answer *spans, const struct counter_row_array *rows,
                       struct span_counters *out_counters)
{
    bool is_user_only;
    int8_t *kinds = find_kinds(spans, &is_user_only);
    int rc = kinds ? 0 : -ENOMEM;

    *out_counters = (struct span_counters){.is_read = calloc(spans->lanes.count + 1, sizeof(bool)),
                                           .is_user_only = is_user_only};
    if (!out_counters->is_read)
        rc = -ENOMEM;
    for (int i = 0; i < SPAN_COUNTERS && rc == 0; i++) {
        struct readings readings = {NULL, NULL};

        rc = sort_in(spans, rows, kinds, i, &readings);
        if (rc == 0 && readings.items)
            rc = make_one(spans, &readings, i, out_counters);
        drop(&readings);
    }
    free(kinds);
    return rc;
}

void span_counters_deinit(struct span_counters *counters)
{
    for (int i = 0; i < SPAN_COUNTERS; i++) {
        free(counters->totals[i]);
        free(counters->owns[i]);
    }
    free(counters->is_read);
    *counters = (struct span_counters){.is_read = NULL};
}

size_t kernel_counter_length(const struct op_row *op)
{
    const char *metric = op->params ? strstr(op->params, "\"metric\"") : NULL;
    const char *space = metric ? strrchr(op->name, ' ') : NULL;

    return space ? (size_t)(space - op->name) : 0;
}

bool span_counters_are_there(const struct span_counters *counters)
{
    for (int i = 0; i < SPAN_COUNTERS; i++) {
        if (counters->totals[i])
            return true;
    }
    return false;
}
