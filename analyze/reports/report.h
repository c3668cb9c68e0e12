/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every report gets, and the table of reports that the command line, --help and the checks of
 * options run on. A report asks the query layer and hands typed cells to the output; it never
 * prints.
 *
 * A new report is a file here that defines a `const struct report_kind`, and a line in
 * kinds.c.
 */
#ifndef OPTRACE_ANALYZE_REPORTS_REPORT_H
#define OPTRACE_ANALYZE_REPORTS_REPORT_H

#include "analyze/options/options.h"
#include "analyze/out/lines.h"
#include "analyze/out/out.h"
#include "analyze/query/filter.h"
#include "analyze/query/query.h"
#include "analyze/query/recording_overhead.h"
#include "analyze/query/selection.h"
#include "analyze/query/spans.h"
#include "analyze/source/source.h"
#include "base/progress.h"

/* What is missing in what was shown. */
struct report_verdict {
    uint64_t lost;        /* events */
    uint64_t unknown;     /* sessions that lost an unknown number of events besides */
    uint64_t unfinished;  /* spans that never ended */
    uint64_t damaged;     /* events whose op or times make no sense; files read only in part */
    uint64_t clipped;     /* spans whose insides took longer than they did */
    uint64_t regressions; /* what a comparison found slower: with any the exit status is 1, and
                             the report says why in diag */
    bool is_of_rollups;   /* basis.is_of_rollups: nothing is missing because of that */
};

struct report {
    const struct report_kind *kind;
    const struct report_kind *const *kinds; /* all there are, ending in NULL: report_kinds */
    const struct analyze_options *options;
    const struct source *source;
    const struct session_rows *sessions; /* all of the source; NULL of REPORT_OF_STORE */
    const int64_t *session_ids;          /* the chosen ones */
    size_t session_count;
    struct out *out;
    size_t width;                   /* columns that the output has; 0: any */
    struct report_verdict *verdict; /* filled by report_footer() */
    struct progress *progress;      /* says how far reading and writing are; or NULL */
    struct sqlite3_stmt **query;    /* what the check() of --sql prepared, for its run(); or NULL */
};

/* Whole sessions that had so many events are answered from their totals; fewer are read as fast. */
#define REPORT_TOTALS_FROM (INT64_C(1) << 20)

/* REPORT_NOTHING, with the reason in diag: nothing matches, exit status 1. */
enum { REPORT_NOTHING = 1 };

/* What {grouped} and {group_key} of a SELECT become with this word of --group-by; each array ends
 * with a word of NULL. */
struct explain_group {
    const char *word;
    const char *columns; /* a format, for N of "word:N" */
    const char *key;
};

/* What a report is about, and by that what chooses it. */
enum report_subject {
    REPORT_OF_OPS,      /* ops of the chosen sessions: what chooses events, and all filters */
    REPORT_OF_RUNS,     /* all that ran in them: what chooses events, and no filter */
    REPORT_OF_SIDES,    /* ops of two recordings: filters; it names in `takes` what else it takes */
    REPORT_OF_HISTORY,  /* the same of all sessions, without --session */
    REPORT_OF_SESSIONS, /* sessions, all of them without --session */
    REPORT_OF_STORE,    /* what is in the store: nothing chooses it */
};

enum report_values {
    REPORT_MEANS,          /* of one run on average, totals where they are asked for */
    REPORT_TOTALS,         /* never means of a run */
    REPORT_VALUES_OF_RUNS, /* those of single runs */
    REPORT_EACH_EVENT,     /* one by one: all there is counts anyway, and no bounds on time hold */
};

/* Where events of some runs are missing, dropped or never recorded, which runs count. */
enum report_runs {
    REPORT_RUNS_OF_MEANS, /* those whose events are all there, but not for totals */
    REPORT_RUNS_WHOLE,    /* those, also for totals */
    REPORT_RUNS_ALL,      /* also those whose events are missing */
};

enum report_output {
    REPORT_PRINTS,  /* held back until the end */
    REPORT_STREAMS, /* as it goes */
    REPORT_WRITES,  /* makes its own: report->out is NULL */
};

/* For --help, --order-by and --top: lines of the main table. columns NULL: it does not order lines
 * by columns. */
struct report_lines {
    const struct line_column *columns;
    size_t column_count;
    int64_t top;                         /* lines without --top; 0: all */
    const char *order_by;                /* without --order-by */
    double (*time_ns)(const void *line); /* what --min-time and --max-time bound; NULL: the ops,
                                            or, */
    bool bounds_itself;                  /* each of its tables by the time that it shows */
};

/* For --explain, whose SQL is explain/sql/NAME.sql; without that it is refused. */
struct report_explanation {
    const char *time; /* what of its columns time_ns() is, or, where the SQL has {having}, of its
                         groups; NULL: bounds are refused */
    const struct explain_group *groups; /* of --group-by; the first is what the report does without;
                                           columns NULL: refused */
    bool is_of_all;    /* its main table is of all spans, whatever is chosen of them */
    const char *lacks; /* what the table has that the SELECT has not, or NULL */
};

struct report_kind {
    const char *name;  /* of --report NAME; member "report" in JSON */
    const char *about; /* for --help: one or two sentences */
    const char *mode;  /* chosen by this option, "list", instead of by --report; or NULL */

    enum report_subject subject;
    enum report_values values;
    enum report_runs runs;
    enum report_output output;

    /** Returns 0, REPORT_NOTHING, or a negative errno with a sentence; wrong texts of the command
     *  line are -EINVAL. */
    int (*run)(const struct report *report, struct diag *diag);

    /* Of what streams: the same before anything is written, report->out being NULL, so that no
     * beginning of an answer stands beside a refusal; or NULL. */
    int (*check)(const struct report *report, struct diag *diag);

    /* Names of its main tables, ending in NULL: JSON has them, empty, when there is no answer. */
    const char *const *tables;

    /* Options that it honours besides those of every report (options/options.h) and those of its
     * subject, without dashes, ending in NULL. Any other one is refused. NULL: none. */
    const char *const *takes;

    struct report_lines lines;
    struct report_explanation explain;
};

/** All of them, ending in NULL. */
extern const struct report_kind *const report_kinds[];

/** The report that the options choose, or NULL with a sentence that has the nearest name. */
const struct report_kind *report_kind_of(const struct analyze_options *options, struct diag *diag);

/** Whether its subject is chosen by sessions; by runs and times; by filters. Outside of its
 *  file, for tests. */
bool report_takes_sessions(const struct report_kind *kind);
bool report_takes_events(const struct report_kind *kind);
bool report_takes_filters(const struct report_kind *kind);

/** For --help: lines "NAME  what it tells" and "NAME  its columns". */
void report_print_kinds(FILE *lines);
void report_print_columns(FILE *lines);

/** What --help NAME says of a report; false when there is none of that name. */
bool report_print_help(const char *name, FILE *out);

/* --- What the command line selects: selection.c --- */

struct report_selection {
    struct selection_window window;
    struct ops_question question; /* may point to `window`: do not move it */
    struct filter filter;
};

/** Of a filter, as it was given: how many words. */
size_t report_filter_words(const struct analyze_options *options, enum filter_id id);

/** Whether anything is asked about this, or about any. */
bool report_filters_by(const struct analyze_options *options, enum filter_subject subject);
bool report_filters(const struct analyze_options *options);

/** Whether labels are asked for by --type. */
bool report_shows_labels(const struct analyze_options *options);

/** Read the options on runs, time, ops, labels, lanes and devices. Returns 0 or -EINVAL; give the
 *  selection to report_selection_deinit() after either. */
int report_select(const struct report *report, struct report_selection *out_selection,
                  struct diag *diag);
void report_selection_deinit(struct report_selection *selection);

/** Give back a query that --sql's check() prepared and no run() took. */
void report_drop_query(const struct report *report);

/** Whether they can be read, for a report that knows its answer without them. Returns 0 or a
 *  negative errno with the sentence. */
int report_check_selection(const struct report *report, struct diag *diag);

/** Whether --min-time and --max-time are given and choose operators, as the report's lines take no
 *  time of their own. */
bool report_bounds_ops(const struct report_kind *kind, const struct analyze_options *options);

/** For reports on single spans: select, query, `emit`, footer. `emit` returns 0, REPORT_NOTHING or
 *  a negative errno, as run() does; what it changes in the spans' basis the footer then says. */
int report_on_spans(const struct report *report,
                    int (*emit)(const struct report *report, struct spans_answer *spans,
                                struct diag *diag),
                    struct diag *diag);

/* For reports whose metric takes spans in parts (query_span_parts()). */
struct report_parts {
    void *user;
    int (*begin)(void *user, const struct spans_answer *spans); /* as of struct span_parts */
    int (*take)(void *user, struct spans_answer *spans);        /* is_shown is set */
    enum span_frames_taken frames;                              /* as of struct span_parts */
    enum span_cuts cuts;                                        /* the same */
};

/** The spans selected, is_shown set by the filter, to `parts` and none in *out_answer. What begin() and take()
 *  return below 0 is -ENOMEM. Returns 0, REPORT_NOTHING when no span is shown, or a negative errno. Give
 *  *out_answer to spans_answer_deinit() in any case. */
int report_query_span_parts(const struct report *report, struct report_selection *selection,
                            const struct report_parts *parts, struct spans_answer *out_answer,
                            struct diag *diag);

/** As report_on_spans(); `emit` is given an answer without spans. */
int report_on_span_parts(const struct report *report, const struct report_parts *parts,
                         int (*emit)(const struct report *report, void *user,
                                     struct spans_answer *spans, struct diag *diag),
                         struct diag *diag);

/** The ops selected, with their costs; the filter's patterns on ops are still to be applied. Errors
 *  are those of report_query_span_parts(). Give *out_answer to ops_answer_deinit() in any case. */
int report_query_ops(const struct report *report, struct report_selection *selection,
                     struct ops_answer *out_answer, struct diag *diag);

/** Whether the output is JSON or CSV, where names are not indented. */
bool report_is_for_programs(const struct report *report);

/** --order-by and --top, or what the report does without them. */
const char *report_order_by(const struct report *report);
int64_t report_top(const struct report *report);

/** Print lines of the report's own columns (kind->lines), bounded, ordered and cut as asked, and
 *  a note when lines were cut. People see a column "session_id" when there are several sessions.
 *  Returns 0, REPORT_NOTHING when there are no lines, or a negative errno. */
int report_emit_lines(const struct report *report, const struct out_section *section,
                      const void *items, size_t count, size_t item_bytes, const void *context,
                      struct diag *diag);

/* --- For reports on events: footer.c --- */

/** What the numbers stand for and what is missing in them: session, runs, coverage, losses,
 *  unfinished spans; the latter also for --strict. Denominators of percentages are noted by the
 *  report itself, before. */
void report_footer(const struct report *report, const struct basis *basis);

/** The latter alone, for what ends without notes. */
void report_judge(const struct report *report, const struct basis *basis);

/** Add what was lost. */
void report_judge_losses(struct report_verdict *verdict, const struct basis *basis);

/** Local time with its zone: "2026-11-22 14:03:11 +0100". */
void report_describe_time(char *text, size_t bytes, int64_t time_ns);

/* What recording some spans cost the program, where it was measured: facts "recording", and a
 * sentence. Of spans in parts: {report, diag}, begin, take each part, emit; deinit after any. */
struct report_recording {
    const struct report *report;
    struct diag *diag;
    struct recording_overhead costs;
    struct recording_overhead_sum sum;
};
int report_recording_begin(struct report_recording *recording, const struct spans_answer *spans);
void report_recording_take(struct report_recording *recording, const struct spans_answer *spans);
void report_recording_emit(const struct report_recording *recording);
void report_recording_deinit(struct report_recording *recording);

/** The session of that id, or NULL. */
const struct session_row *report_session(const struct report *report, int64_t session_id);

/** For --strict: whether anything is missing, with the sentence in diag. */
bool report_is_lacking(const struct report_verdict *verdict, struct diag *diag);

/* --- --explain: explain/explain.c --- */

/** Print the SQL of explain/sql as a query that runs as it stands: with the sessions, runs, time and types
 *  of the command line in it. Returns 0 or a negative errno. */
int report_explain(const struct report *report, struct diag *diag);

/** An option given that this query could not honour, without dashes, or NULL. */
const char *report_explain_refused(const struct analyze_options *options,
                                   const struct report_kind *kind);

#endif
