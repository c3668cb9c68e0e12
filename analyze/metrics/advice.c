/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of --report advice, one function each, and their table. */
#include "analyze/metrics/advice.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/out/kernel_name.h"
#include "analyze/out/out.h"
#include "base/amount.h"
#include "base/text.h"

static double share_of(const struct advice_facts *facts, double ns)
{
    return facts->wall_ns > 0 ? fmin(1, ns / facts->wall_ns) : NAN;
}

__attribute__((format(printf, 3, 4))) static bool say(struct advice_finding *finding, double share,
                                                      const char *format, ...)
{
    va_list arguments;

    finding->share = share;
    va_start(arguments, format);
    vsnprintf(finding->text, sizeof(finding->text), format, arguments);
    va_end(arguments);
    return true;
}

struct duration {
    char text[32];
};

static struct duration duration_of(double ns)
{
    struct duration duration;

    out_duration_short(duration.text, sizeof(duration.text), ns);
    return duration;
}

#define NS(ns) (duration_of(ns).text)

struct amount {
    char text[32];
};

static struct amount amount_of(double bytes)
{
    struct amount amount;

    amount_format_bytes(amount.text, sizeof(amount.text), bytes);
    return amount;
}

#define BYTES(bytes) (amount_of(bytes).text)

enum { NAME_COLUMNS = 60 };
struct short_name {
    char text[NAME_COLUMNS * 4 + 4];
};

/* Of a kernel its beginning says which it is. */
static struct short_name short_name_of(const char *name)
{
    struct short_name shorter = {""};
    char *whole = strdup(name);
    size_t at = 0, length;

    if (!whole)
        return shorter;
    if (text_columns(whole, strlen(whole)) > NAME_COLUMNS) {
        kernel_name_strip_signature(whole);
        kernel_name_strip_scopes(whole);
    }
    length = strlen(whole);
    while (at < length) {
        uint32_t code;
        size_t bytes = text_decode(whole + at, length - at, &code);

        bytes = bytes ? bytes : 1;
        if (at + bytes > NAME_COLUMNS * 4 || text_columns(whole, at + bytes) > NAME_COLUMNS)
            break;
        at += bytes;
    }
    snprintf(shorter.text, sizeof(shorter.text), "%.*s%s", (int)at, whole,
             at < length ? "..." : "");
    free(whole);
    return shorter;
}

#define NAME(name) (short_name_of(name).text)

/* --- Copies. --- */

static bool copies_block(const struct advice_facts *facts, struct advice_finding *finding)
{
    double share = share_of(facts, facts->blocking_ns);

    return facts->blocking_count && share >= ADVICE_BLOCKING_SHARE &&
           say(finding, share,
               "%" PRIu64 " cop%s the host, synchronous or with pageable memory, and ran for %s.",
               facts->blocking_count, facts->blocking_count == 1 ? "y blocked" : "ies blocked",
               NS(facts->blocking_ns));
}

static bool copies_dominate(const struct advice_facts *facts, struct advice_finding *finding)
{
    double share = share_of(facts, facts->copying_ns);

    return share > ADVICE_COPY_SHARE &&
           say(finding, share, "Copies and fills ran for %s while nothing computed.",
               NS(facts->copying_ns));
}

static bool copies_are_small(const struct advice_facts *facts, struct advice_finding *finding)
{
    return facts->small_count >= ADVICE_SMALL_COPIES &&
           facts->small_count * 2 > facts->sized_count &&
           say(finding, share_of(facts, facts->small_ns),
               "%" PRIu64 " of %" PRIu64 " copies move less than %s each and take %s.",
               facts->small_count, facts->sized_count, BYTES(ADVICE_SMALL_BYTES),
               NS(facts->small_ns));
}

/* --- Devices. --- */

static bool device_is_idle(const struct advice_facts *facts, struct advice_finding *finding)
{
    double share = share_of(facts, facts->idle_ns);

    finding->device = facts->idle_device;
    return facts->idle_device && share > ADVICE_IDLE_SHARE &&
           say(finding, share, "%s did nothing for %s because its next work was not launched yet.",
               facts->idle_device, NS(facts->idle_ns));
}

static bool is_launch_bound(const struct advice_facts *facts, struct advice_finding *finding)
{
    return facts->launch_count >= ADVICE_LAUNCHES_MIN &&
           facts->launched_median_ns < facts->launch_median_ns &&
           say(finding, share_of(facts, facts->launch_ns),
               "Of %" PRIu64 " launches the call takes %s and the work on the device %s (medians).",
               facts->launch_count, NS(facts->launch_median_ns), NS(facts->launched_median_ns));
}

/* --- Operators. --- */

static bool one_dominates(const struct advice_facts *facts, struct advice_finding *finding)
{
    double least_ns = ADVICE_DOMINANT_SHARE * facts->own_ns;

    if (facts->top_op && facts->top_op_ns > least_ns) {
        finding->op = facts->top_op;
        return say(finding, share_of(facts, facts->top_op_ns),
                   "The operator %s takes %s, %.1f %% of the self time of all operators.",
                   NAME(facts->top_op), NS(facts->top_op_ns),
                   100 * facts->top_op_ns / facts->own_ns);
    }
    finding->type = facts->top_type;
    return facts->top_type && facts->type_count > 1 && facts->top_type_ns > least_ns &&
           say(finding, share_of(facts, facts->top_type_ns),
               "Operators of type %.80s take %s, %.1f %% of the self time of all operators.",
               facts->top_type, NS(facts->top_type_ns), 100 * facts->top_type_ns / facts->own_ns);
}

static bool is_below_roof(const struct advice_facts *facts, struct advice_finding *finding)
{
    double best_ns = facts->bound_ns - facts->win_ns, share = share_of(facts, facts->win_ns);

    return facts->bound_count && best_ns < ADVICE_ROOF_SHARE * facts->bound_ns &&
           share > ADVICE_ROOF_WIN_SHARE &&
           say(finding, share,
               "%zu operator%s take%s %s where the machine allows %s: %.1f %% of it is reached.",
               facts->bound_count, facts->bound_count == 1 ? "" : "s",
               facts->bound_count == 1 ? "s" : "", NS(facts->bound_ns), NS(best_ns),
               100 * best_ns / facts->bound_ns);
}

static bool layout_changes(const struct advice_facts *facts, struct advice_finding *finding)
{
    return facts->layout_ns > ADVICE_LAYOUT_SHARE * facts->own_ns &&
           say(finding, share_of(facts, facts->layout_ns),
               "Changes of layout (Reorder, Transpose; %" PRIu64
               ") take %s, %.1f %% of the self time "
               "of all operators.",
               facts->layout_calls, NS(facts->layout_ns), 100 * facts->layout_ns / facts->own_ns);
}

static bool ops_are_tiny(const struct advice_facts *facts, struct advice_finding *finding)
{
    /* A count of samples is no time. */
    return facts->call_count >= ADVICE_CALLS_MIN && facts->tiny_count * 2 > facts->call_count &&
           !(out_sample_ns() > 0) &&
           say(finding, share_of(facts, facts->tiny_ns),
               "%" PRIu64 " of %" PRIu64 " calls take less than %d µs of self time, the median %s.",
               facts->tiny_count, facts->call_count, ADVICE_TINY_NS / 1000,
               NS(facts->call_median_ns));
}

/* --- Runs. --- */

static bool first_run_is_slow(const struct advice_facts *facts, struct advice_finding *finding)
{
    return facts->later_count >= ADVICE_LATER_RUNS_MIN &&
           facts->first_run_ns >= ADVICE_WARMUP_RATIO * facts->later_median_ns &&
           say(finding, share_of(facts, facts->first_run_ns - facts->later_median_ns),
               "The first run is counted and took %s, the median of the %zu later ones is %s.",
               NS(facts->first_run_ns), facts->later_count, NS(facts->later_median_ns));
}

static bool runs_vary(const struct advice_facts *facts, struct advice_finding *finding)
{
    return facts->run_count >= ADVICE_RUNS_MIN && facts->spread.variation > ADVICE_VARIATION &&
           say(finding, share_of(facts, facts->excess_ns),
               "%zu runs vary by %.1f %% (standard deviation of their mean); what exceeds their "
               "median is %s in all.",
               facts->run_count, 100 * facts->spread.variation, NS(facts->excess_ns));
}

static bool runs_drift(const struct advice_facts *facts, struct advice_finding *finding)
{
    return facts->run_count >= ADVICE_RUNS_MIN && spread_drifts(&facts->spread, ADVICE_DRIFT) &&
           say(finding, share_of(facts, facts->drift_ns),
               "The later half of %zu runs is %.1f %% %s than the earlier (medians, p = %.2g).",
               facts->run_count, 100 * fabs(facts->spread.drift),
               facts->spread.drift > 0 ? "slower" : "faster", facts->spread.drift_p);
}

static bool memory_grows(const struct advice_facts *facts, struct advice_finding *finding)
{
    finding->device = facts->memory_device;
    return facts->growth.low > 0 &&
           say(finding, NAN, "The memory of %s grows by %s from run to run (95 %% sure: %s to %s).",
               facts->memory_device ? facts->memory_device : "the host", BYTES(facts->growth.slope),
               BYTES(facts->growth.low), BYTES(facts->growth.high));
}

/* --- What is missing. --- */

static bool events_are_lost(const struct advice_facts *facts, struct advice_finding *finding)
{
    if (facts->unknown_losses && !facts->lost_count)
        return say(finding, NAN, "An unknown number of events was lost: all times are too low.");
    return facts->lost_count &&
           say(finding, NAN, "%" PRIu64 " event%s lost: all times are too low.", facts->lost_count,
               facts->lost_count == 1 ? " was" : "s were");
}

static bool spans_are_unfinished(const struct advice_facts *facts, struct advice_finding *finding)
{
    return facts->unfinished_count &&
           say(finding, NAN, "%" PRIu64 " span%s never ended and %s in no number.",
               facts->unfinished_count, facts->unfinished_count == 1 ? "" : "s",
               facts->unfinished_count == 1 ? "is" : "are");
}

static bool coverage_is_low(const struct advice_facts *facts, struct advice_finding *finding)
{
    double share = share_of(facts, facts->recorded_ns);

    return share < ADVICE_COVERAGE &&
           say(finding, 1 - share, "In %s of %s wall time nothing was recorded.",
               NS(facts->wall_ns - facts->recorded_ns), NS(facts->wall_ns));
}

/* --- The table. --- */

static const struct rule {
    const char *name, *action, *report, *order_by;
    bool (*holds)(const struct advice_facts *facts, struct advice_finding *finding);
} rules[] = {
    {"copies-block",
     "Take page-locked memory and asynchronous copies; wait once, where data is needed.", "copies",
     NULL, copies_block},
    {"copies-dominate",
     "Keep data on the device, and copy on a stream of its own beside computation.", "copies", NULL,
     copies_dominate},
    {"copies-small", "Gather small pieces in one buffer, and copy that.", "copies", "calls",
     copies_are_small},
    {"device-idle",
     "See what the host does in these gaps: wait less, enlarge batches, record a graph.", "idle",
     NULL, device_is_idle},
    {"launch-bound", "Launch less often: fuse kernels, enlarge batches, record a graph.", "launch",
     "call_mean_ns", is_launch_bound},
    {"one-dominates", "Begin here: see whether computation or memory bounds it.", "roofline", NULL,
     one_dominates},
    {"below-roof", "Try other kernels, threads, layouts or shapes for those that could win most.",
     "roofline", "win_ns", is_below_roof},
    {"layout-changes", "Keep one layout from operator to operator.", "types", NULL, layout_changes},
    {"tiny-ops", "Fuse operators that follow each other (--report sequences), or enlarge batches.",
     "averages", "calls", ops_are_tiny},
    {"warm-up", "Mark the first runs as warm-ups, or leave them out with --runs 2.. here.", "runs",
     NULL, first_run_is_slow},
    {"runs-vary", "See what the slow runs waited for; fix clocks and cores before comparing.",
     "runs", NULL, runs_vary},
    {"runs-drift", "Record longer; look for heat, clocks, caches, or memory that fills up.", "runs",
     NULL, runs_drift},
    {"memory-grows", "Find who takes what is not given back.", "memory", "growth_bytes_per_run",
     memory_grows},
    {"events-lost", "Record less at once, or give the rings more room.", "threads", NULL,
     events_are_lost},
    {"unfinished", "The program died or was stopped there: let it end, or find out why.", "threads",
     NULL, spans_are_unfinished},
    {"coverage", "Trace what runs in between: more operators, labels, the work of devices.",
     "overview", NULL, coverage_is_low},
};

const size_t advice_rule_count = sizeof(rules) / sizeof(rules[0]);

const char *advice_rule_name(size_t rule)
{
    return rules[rule].name;
}

int advice_find(const struct advice_facts *facts, struct advice_findings *out_findings)
{
    int rc = 0;

    for (size_t i = 0; i < advice_rule_count && rc == 0; i++) {
        struct advice_finding finding = {
            .rule = rules[i].name,
            .action = rules[i].action,
            .report = rules[i].report,
            .order_by = rules[i].order_by,
        };

        if (rules[i].holds(facts, &finding))
            rc = array_push(out_findings, finding);
    }
    return rc;
}
