/* SPDX-License-Identifier: Apache-2.0 */
/* The sessions of a source: who recorded what, when, and how it ended. */
#include <errno.h>

#include "analyze/reports/report.h"

static bool is_chosen(const struct report *report, int64_t session_id)
{
    for (size_t i = 0; i < report->session_count; i++) {
        if (report->session_ids[i] == session_id)
            return true;
    }
    return false;
}

static const char *state_of(const struct session_row *row)
{
    if (row->is_abandoned)
        return "did not end";
    return row->is_running ? "running" : row->end_reason;
}

static int run(const struct report *report, struct diag *diag)
{
    static const struct out_section section = {
        .name = "sessions", .keep = "session_id program start_ns state run_count length_ns models"};
    static const struct out_column columns[] = {
        {.name = "session_id", .title = "session", .wiki = "session"},
        {.name = "start_ns", .title = "start", .wiki = "start"},
        {.name = "length_ns", .title = "seconds", .wiki = "seconds"},
        {.name = "program", .title = "program", .wiki = "program", .wrap = 30},
        {.name = "models", .title = "models", .wiki = "models", .wrap = 30},
        {.name = "op_count", .title = "ops", .wiki = "ops"},
        {.name = "run_count", .title = "runs", .wiki = "runs"},
        {.name = "warmup_count", .title = "warm-ups", .wiki = "warm-ups"},
        {.name = "lost_count", .title = "lost", .wiki = "lost"},
        {.name = "dropped_count", .title = "dropped", .wiki = "dropped"},
        {.name = "state", .title = "state", .wiki = "state"},
        {.name = "source", .data_only = true},
        {.name = "command", .data_only = true},
        {.name = "host", .data_only = true},
        {.name = "pid", .data_only = true},
        {.name = "note", .data_only = true},
        {.name = "lost_unknown_since_ns", .data_only = true},
    };
    int rc = 0;

    out_table_begin(report->out, &section, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < report->sessions->rows.count; i++) {
        const struct session_row *row = &report->sessions->rows.items[i];
        struct out_value pid = out_integer(OUT_INT, row->pid);
        struct session_run_counts runs;

        if (!is_chosen(report, row->session_id))
            continue;
        rc = query_session_runs(report->source->store, row->session_id, &runs, diag);
        if (rc < 0)
            break;
        out_row(report->out, (struct out_value[]){
                                 out_integer(OUT_INT, row->session_id),
                                 out_integer(OUT_WHEN, row->start_ns),
                                 out_number(OUT_NS, (double)row->end_ns - (double)row->start_ns),
                                 out_text(row->program),
                                 out_text(row->models),
                                 out_integer(OUT_INT, row->op_count),
                                 out_integer(OUT_INT, runs.count),
                                 out_integer(OUT_INT, runs.warmup_count),
                                 out_integer(OUT_INT, row->lost_count),
                                 out_integer(OUT_INT, row->dropped_count),
                                 out_text(state_of(row)),
                                 out_text(row->source),
                                 out_text(row->command),
                                 out_text(row->host),
                                 row->pid == STORE_NULL ? out_unknown(OUT_INT) : pid,
                                 out_text(row->note),
                                 row->lost_unknown_since_ns == STORE_NULL
                                     ? out_unknown(OUT_WHEN)
                                     : out_integer(OUT_WHEN, row->lost_unknown_since_ns),
                             });
    }
    out_table_end(report->out);
    return rc;
}

const struct report_kind report_sessions = {
    .name = "sessions",
    .about = "Who recorded what, when, and how it ended.",
    .mode = "list",
    .subject = REPORT_OF_SESSIONS,
    .run = run,
    .tables = (const char *const[]){"sessions", NULL},
};
