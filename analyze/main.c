/* SPDX-License-Identifier: Apache-2.0 */
/* profile_analyze: options, source, sessions, the report, its exit status. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "analyze/command.h"
#include "analyze/export/export.h"
#include "analyze/import/folded.h"
#include "analyze/output_check.h"
#include "analyze/query/choose_sessions.h"
#include "analyze/query/query.h"
#include "analyze/report_file.h"
#include "analyze/reports/compare/place.h"
#include "analyze/reports/report.h"
#include "analyze/source/files.h"
#include "base/amount.h"
#include "base/exit_status.h"
#include "base/progress.h"
#include "base/text.h"
#include "base/text_buffer.h"

static int exit_status_of(int error)
{
    switch (error) {
    case 0:
        return EXIT_OK;
    case -ENOENT:
    case -EUCLEAN:
    case -EPROTO:
    case -EISDIR:
    case -ENOTDIR:
    case -EFBIG:
    case -ENAMETOOLONG:
        return EXIT_INPUT;
    default:
        return EXIT_SYSTEM;
    }
}

/* --- Sessions. --- */

/* Unless --session chooses. */
static bool is_of_all_sessions(const struct report_kind *kind)
{
    return kind->subject == REPORT_OF_HISTORY || kind->subject == REPORT_OF_SESSIONS;
}

static int choose_sessions_asked_for(struct report *report, const struct session_rows *sessions,
                                     int64_t *out_ids, struct diag *diag)
{
    const struct analyze_options *options = report->options;
    struct session_limits limits = {.program = options->program};
    const char *chosen =
        is_of_all_sessions(report->kind) && !options->session ? "all" : options->session;
    struct timespec now;
    int rc = 0;

    clock_gettime(CLOCK_REALTIME, &now);
    if (options->since)
        rc = selection_parse_since(options->since, now.tv_sec * INT64_C(1000000000) + now.tv_nsec,
                                   &limits.since_ns, diag);
    return rc ? rc
              : choose_limited_sessions(chosen, &limits, sessions, out_ids, &report->session_count,
                                        diag);
}

/* Where no session that is asked for says how long a sample was, all times are counts. */
static void choose_unit(const struct report *report)
{
    if (!sessions_are_samples(report->sessions, report->session_ids, report->session_count) ||
        !report->out)
        return;
    out_count_samples(report->out, FOLDED_COUNT_NS);
    out_note(report->out, OUT_NOTE_PLAIN,
             "Times are counts of samples: --sample 10ms says what one stands for. In columns "
             "whose names end in _ns each is %d.",
             FOLDED_COUNT_NS);
}

static int run_report(struct report *report, struct diag *diag)
{
    struct session_rows sessions;
    int64_t *ids = NULL;
    int rc;

    if (!report_takes_sessions(report->kind))
        return report->kind->run(report, diag);
    rc = query_sessions(report->source->store, &sessions, diag);
    if (rc == 0 && !sessions.rows.count) {
        diag_set(diag, 0, "%s holds no session yet", report->source->name);
        rc = REPORT_NOTHING;
    }
    if (rc != 0)
        goto out;
    ids = calloc(sessions.rows.count, sizeof(*ids));
    if (!ids) {
        rc = diag_set(diag, -ENOMEM, "no memory for the sessions");
        goto out;
    }
    report->sessions = &sessions;
    report->session_ids = ids;
    rc = choose_sessions_asked_for(report, &sessions, ids, diag);
    if (rc == 0) {
        choose_unit(report);
        rc = report->kind->run(report, diag);
    }
    if (rc == REPORT_NOTHING)
        query_add_losses(report->source->store, report->session_ids, report->session_count, diag);
    if (rc == 0 && report->options->explain)
        rc = report_explain(report, diag);
out:
    free(ids);
    session_rows_deinit(&sessions);
    return rc;
}

/* --- Output. --- */

/* Columns that tables should fit in; 0: any. */
static size_t choose_width(const struct analyze_options *options)
{
    const char *columns = getenv("COLUMNS");
    size_t width = options->output ? 0 : text_terminal_columns(stdout);

    if (options->width >= 0)
        return (size_t)options->width;
    return width && columns && atoi(columns) > 0 ? (size_t)atoi(columns) : width;
}

static bool wants_color(const struct analyze_options *options)
{
    const char *no_color = getenv("NO_COLOR");

    if (options->color != COLOR_AUTO)
        return options->color == COLOR_ALWAYS;
    return !(no_color && *no_color) && !options->output && isatty(STDOUT_FILENO);
}

/* Through a printer to the sink. */
static int print_report(struct report *report, struct diag *diag)
{
    const struct analyze_options *options = report->options;
    struct report_file file = {0};
    struct out_options out_options = {
        .format = options->wiki ? OUT_FORMAT_WIKI : (enum out_format)options->format,
        .report = report->kind->name,
        .subject = report->source->name,
        .side = stderr,
        .ascii = options->ascii,
        .all_notes = options->notes,
    };
    const bool holds = report->kind->output != REPORT_STREAMS;
    int rc = report->kind->check ? report->kind->check(report, diag) : 0, close_rc;
    bool is_written;

    if (rc == 0)
        rc = report_file_open(&file, options->output, holds, diag);
    if (rc == 0) {
        out_options.stream = file.stream;
        out_options.color = wants_color(options);
        out_options.width = report->width = choose_width(options);
        rc = out_open(&out_options, &report->out);
        if (rc < 0)
            diag_set(diag, rc, "no memory for the report");
    }
    if (rc == 0)
        rc = run_report(report, diag);
    if (rc == REPORT_NOTHING)
        out_nothing(report->out, report->kind->tables, diag->text);
    close_rc = out_close(&report->out, diag);
    rc = rc == 0 || close_rc < 0 ? close_rc : rc;
    is_written = rc == 0 || (rc == REPORT_NOTHING && out_options.format == OUT_FORMAT_JSON);
    close_rc = report_file_close(&file, is_written, diag);
    return rc == 0 || close_rc < 0 ? close_rc : rc;
}

static int write_report(const struct analyze_options *options, const struct source *source,
                        struct progress *progress, struct diag *diag)
{
    struct report_verdict verdict = {0};
    struct sqlite3_stmt *query = NULL;
    struct report report = {
        .kind = report_kind_of(options, diag),
        .kinds = report_kinds,
        .options = options,
        .source = source,
        .verdict = &verdict,
        .progress = progress,
        .query = &query,
    };
    int rc = report.kind->output == REPORT_WRITES ? run_report(&report, diag)
                                                  : print_report(&report, diag);

    report_drop_query(&report);
    if (rc == 0 && verdict.regressions)
        return REPORT_NOTHING; /* the report is there all the same */
    if (rc == 0 && options->strict && report_is_lacking(&verdict, diag))
        return REPORT_NOTHING; /* the report is there all the same */
    return rc;
}

/* FILE may name sessions: "store.db:3". Then the options with these, else as they are. */
static int place_of(const struct analyze_options *options, const char *file,
                    struct analyze_options *out_options, struct compare_place *out_place,
                    struct diag *diag)
{
    *out_options = *options;
    *out_place = (struct compare_place){0};
    if (file && compare_place_read(file, out_place) < 0)
        return diag_set(diag, -ENOMEM, "no memory for the name of the source");
    if (!out_place->sessions)
        return 0;
    if (options->session) {
        compare_place_deinit(out_place);
        return diag_set(diag, -EINVAL, "\"%s\" names sessions already: leave out --session", file);
    }
    out_options->session = out_place->sessions;
    return 0;
}

/* What is read stays as it is, whatever the output is called. */
static int check_output(const struct analyze_options *options, const char *const *inputs,
                        size_t count, struct diag *diag)
{
    const char *output = options->import   ? options->into
                         : options->append ? options->append
                                           : options->output;
    struct diag unknown = {0};
    const struct export_kind *kind =
        options->export ? export_kind_of(options->export, &unknown) : NULL;
    int rc = output ? output_check_inputs(output, inputs, count, diag) : 0;

    if (rc == 0) /* a shell may have opened it to append */
        rc = output_check_inputs("/dev/stdout", inputs, count, diag);
    if (rc == 0 && options->output && !(kind && kind->makes_file)) /* which replaces nothing */
        rc = output_check_store(options->output, options->force, diag);
    return rc;
}

/* The same with what a report reads: its source, and the one that it is compared with. */
static int check_report_output(const struct analyze_options *options, const char *path,
                               struct diag *diag)
{
    char standard[PATH_MAX];
    struct compare_place base = {0};
    const char *inputs[] = {path, NULL};
    int rc = 0;

    if (options->compare)
        rc = compare_place_read(options->compare, &base);
    if (!path && store_default_path(standard, sizeof(standard)) == 0)
        inputs[0] = standard;
    inputs[1] = base.path;
    if (rc == 0)
        rc = check_output(options, inputs, 2, diag);
    compare_place_deinit(&base);
    return rc;
}

static int run(const struct analyze_options *options, const char *const *files, int file_count,
               struct diag *diag)
{
    struct progress progress = {.out = stderr, .is_shown = options->progress};
    struct import_options import = {
        .lenient = options->lenient,
        .progress = progress_update,
        .progress_context = &progress,
        .width = choose_width(options),
    };
    struct analyze_options chosen;
    struct compare_place place;
    struct source source = {0};
    int rc = 0;

    if (options->sample)
        rc = amount_parse_duration("--sample", options->sample, &import.sample_ns, diag);
    if (rc == 0 && options->sample && !import.sample_ns)
        rc = diag_set(diag, -EINVAL, "--sample takes a time with its unit, such as 10ms");
    if (rc < 0)
        return rc;
    if (options->import) {
        rc = check_output(options, files, (size_t)file_count, diag);
        if (rc < 0)
            return rc;
        rc = import_files(files, (size_t)file_count, options->into, &import, stdout, diag);
        progress_end(&progress);
        return rc == -EINVAL ? -EUCLEAN : rc;
    }
    rc = place_of(options, file_count ? files[0] : NULL, &chosen, &place, diag);
    if (rc < 0)
        return rc;
    rc = check_report_output(options, place.path, diag);
    if (rc == 0) {
        rc = source_open(place.path, &import, &source, diag);
        progress_end(&progress);
        if (rc == 0 && options->sample && !(source.format && source.format->takes_samples))
            rc = diag_set(diag, -EUCLEAN, SOURCE_NO_SAMPLES, source.name);
        else if (rc == 0)
            rc = write_report(&chosen, &source, &progress, diag);
        else if (rc == -EINVAL)
            rc = -EUCLEAN; /* the source's fault, not the command line's */
        source_close(&source);
    }
    compare_place_deinit(&place);
    return rc;
}

int main(int argc, char **argv)
{
    struct analyze_options options = analyze_options_default();
    const char *files[ANALYZE_FILES_MAX];
    struct diag diag = {0};
    int file_count, rc;

    options.progress = isatty(STDERR_FILENO);
    rc = options_parse(&analyze_command, argc, argv, &options, files, &file_count, &diag);
    if (rc == OPTIONS_SHOWN)
        return EXIT_OK;
    if (rc == 0)
        rc = analyze_options_check(&options, files, file_count, &diag);
    if (rc < 0)
        return options_complain(&analyze_command, &diag);
    rc = run(&options, files, file_count, &diag);
    if (rc == -EINVAL)
        return options_complain(&analyze_command, &diag);
    if (rc != 0)
        text_complain(stderr, "profile_analyze", diag.text);
    return rc == REPORT_NOTHING ? EXIT_NO : exit_status_of(rc);
}
