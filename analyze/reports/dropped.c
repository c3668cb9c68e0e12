/* SPDX-License-Identifier: Apache-2.0 */
/* What a report says about events that retention has dropped. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "analyze/reports/dropped.h"

struct dropped_sums {
    int64_t events, memory_events, counters;
    int64_t end_ns;
    bool for_budget, for_disk, for_age;
};

static struct dropped_sums sum_up(const struct basis *basis)
{
    struct dropped_sums sums = {.end_ns = INT64_MIN};

    for (size_t i = 0; i < basis->dropped.count; i++) {
        const struct dropped_row *row = &basis->dropped.items[i];
        const char *reason = row->reason ? row->reason : "";

        sums.events += row->event_count;
        sums.memory_events += row->memory_event_count;
        sums.counters += row->counter_count;
        sums.end_ns = row->end_ns > sums.end_ns ? row->end_ns : sums.end_ns;
        if (strcmp(reason, "age") == 0)
            sums.for_age = true;
        else if (strcmp(reason, "disk") == 0)
            sums.for_disk = true;
        else
            sums.for_budget = true;
    }
    return sums;
}

static void emit_rows(const struct report *report, const struct basis *basis)
{
    static const struct out_section section = {.name = "dropped", .data_only = true};
    static const struct out_column columns[] = {
        {.name = "session_id"},    {.name = "reason"},
        {.name = "event_count"},   {.name = "memory_event_count"},
        {.name = "counter_count"}, {.name = "start_ns"},
        {.name = "end_ns"},        {.name = "runs_left_out"},
    };

    out_table_begin(report->out, &section, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < basis->dropped.count; i++) {
        const struct dropped_row *row = &basis->dropped.items[i];

        out_row(report->out, (struct out_value[]){
                                 out_integer(OUT_INT, row->session_id),
                                 out_text(row->reason),
                                 out_integer(OUT_INT, row->event_count),
                                 out_integer(OUT_INT, row->memory_event_count),
                                 out_integer(OUT_INT, row->counter_count),
                                 out_integer(OUT_WHEN, row->start_ns),
                                 out_integer(OUT_WHEN, row->end_ns),
                                 out_integer(OUT_INT, (int64_t)basis->dropped_skipped),
                             });
    }
    out_table_end(report->out);
}

/* "12 events, 3 memory events" */
static void describe_counts(char *text, size_t bytes, const struct dropped_sums *sums)
{
    const struct {
        int64_t count;
        const char *one, *many;
    } parts[] = {
        {sums->events, "event", "events"},
        {sums->memory_events, "memory event", "memory events"},
        {sums->counters, "value of a counter", "values of counters"},
    };

    text[0] = '\0';
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        size_t used = strlen(text);

        if (parts[i].count)
            snprintf(text + used, bytes - used, "%s%" PRId64 " %s", used ? ", " : "",
                     parts[i].count, parts[i].count == 1 ? parts[i].one : parts[i].many);
    }
}

void report_describe_time(char *text, size_t bytes, int64_t time_ns)
{
    time_t seconds = (time_t)(time_ns / 1000000000);
    struct tm local;

    if (!localtime_r(&seconds, &local) || !strftime(text, bytes, "%Y-%m-%d %H:%M:%S %z", &local))
        snprintf(text, bytes, "%" PRId64 " ns", time_ns);
}

/* What that means for the numbers above. */
static void describe_effect(char *text, size_t bytes, const struct report *report,
                            const struct basis *basis, int64_t events)
{
    if (!events || report->kind->runs == REPORT_RUNS_ALL) /* that says so itself */
        snprintf(text, bytes, ".");
    else if (basis->is_of_totals)
        snprintf(text, bytes, "; the numbers above are from totals, which have all of them.");
    else if (basis->is_of_rollups)
        snprintf(
            text, bytes,
            "; the calls and times above are from roll-ups, which have all of them, with those "
            "of warm-ups and outside of runs%s.",
            basis->may_nest ? ", and times with those of operators inside" : "");
    else if (basis->lacks_whole_runs)
        snprintf(text, bytes,
                 "; no run has all of its events: the numbers above are totals of "
                 "what is left.");
    else if (basis->dropped_skipped)
        snprintf(text, bytes,
                 "; %" PRIu64 " run%s of which not all events are there %s left out above.",
                 basis->dropped_skipped, basis->dropped_skipped == 1 ? "" : "s",
                 basis->dropped_skipped == 1 ? "is" : "are");
    else
        snprintf(text, bytes, "; the numbers above are of what is left.");
}

void report_describe_dropped(char *text, size_t bytes, const struct report *report,
                             const struct basis *basis)
{
    struct dropped_sums sums = sum_up(basis);
    char counts[128], when[48], effect[240];

    describe_counts(counts, sizeof(counts), &sums);
    report_describe_time(when, sizeof(when), sums.end_ns);
    describe_effect(effect, sizeof(effect), report, basis, sums.events);
    snprintf(text, bytes, "%s up to %s were dropped %s%s%s%s%s%s", counts, when,
             sums.for_budget ? "to keep the store's budget of disk" : "",
             sums.for_budget && (sums.for_disk || sums.for_age) ? " and " : "",
             sums.for_disk ? "because the disk was full" : "",
             sums.for_disk && sums.for_age ? " and " : "",
             sums.for_age ? "because of their age" : "", effect);
}

void report_warn_dropped(const struct report *report, const char *whose, const struct basis *basis)
{
    char text[REPORT_DROPPED_BYTES];

    if (!basis->dropped.count)
        return;
    report_describe_dropped(text, sizeof(text), report, basis);
    out_note(report->out, OUT_NOTE_WARNING, "%s%s", whose, text);
}

void report_note_dropped(const struct report *report, const struct basis *basis)
{
    if (basis->dropped.count)
        emit_rows(report, basis);
    report_warn_dropped(report, "", basis);
}
