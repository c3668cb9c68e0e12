/* SPDX-License-Identifier: Apache-2.0 */
/* The table of reports, and which of them the command line means. */
#include <errno.h>
#include <string.h>

#include "analyze/reports/honoured.h"
#include "analyze/reports/report.h"
#include "analyze/reports/texts.h"
#include "base/text.h"

/* One on a line each: several people add to them. */
/* clang-format off */
extern const struct report_kind report_advice;
extern const struct report_kind report_averages;
extern const struct report_kind report_brief;
extern const struct report_kind report_collectives;
extern const struct report_kind report_compare;
extern const struct report_kind report_copies;
extern const struct report_kind report_counters;
extern const struct report_kind report_critical;
extern const struct report_kind report_device;
extern const struct report_kind report_events;
extern const struct report_kind report_export;
extern const struct report_kind report_history;
extern const struct report_kind report_idle;
extern const struct report_kind report_kernels;
extern const struct report_kind report_launch;
extern const struct report_kind report_memory;
extern const struct report_kind report_ops;
extern const struct report_kind report_overview;
extern const struct report_kind report_page;
extern const struct report_kind report_ranks;
extern const struct report_kind report_roofline;
extern const struct report_kind report_runs;
extern const struct report_kind report_sequences;
extern const struct report_kind report_sessions;
extern const struct report_kind report_sql;
extern const struct report_kind report_summary;
extern const struct report_kind report_threads;
extern const struct report_kind report_types;

const struct report_kind *const report_kinds[] = {
    &report_advice,
    &report_averages,
    &report_brief,
    &report_collectives,
    &report_compare,
    &report_copies,
    &report_counters,
    &report_critical,
    &report_device,
    &report_events,
    &report_export,
    &report_history,
    &report_idle,
    &report_kernels,
    &report_launch,
    &report_memory,
    &report_ops,
    &report_overview,
    &report_page,
    &report_ranks,
    &report_roofline,
    &report_runs,
    &report_sequences,
    &report_sessions,
    &report_sql,
    &report_summary,
    &report_threads,
    &report_types,
    NULL,
};
/* clang-format on */

enum { NAMES_MAX = 64, HELP_INDENT = 28 };

static const struct report_kind *find_mode(const char *mode)
{
    for (size_t i = 0; report_kinds[i]; i++) {
        if (report_kinds[i]->mode && strcmp(report_kinds[i]->mode, mode) == 0)
            return report_kinds[i];
    }
    return NULL;
}

/* The first answer; that of MegEngine's tool where an option is given that means something there
 * only, or a format for programs. */
static const struct report_kind *default_kind(const struct analyze_options *options)
{
    if (options->format == OUT_FORMAT_HTML)
        return &report_page;
    if (options->format != OUT_FORMAT_TABLE || options->wiki ||
        analyze_options_useless(options, &report_brief))
        return &report_ops;
    return &report_brief;
}

const struct report_kind *report_kind_of(const struct analyze_options *options, struct diag *diag)
{
    const char *names[NAMES_MAX], *modes[ANALYZE_MODES_MAX], *nearest;
    size_t count = 0;

    if (analyze_options_modes(options, modes) && strcmp(modes[0], "report") != 0)
        return find_mode(modes[0]);
    if (!options->report)
        return default_kind(options);
    for (size_t i = 0; report_kinds[i]; i++) {
        if (report_kinds[i]->mode)
            continue;
        if (strcmp(report_kinds[i]->name, options->report) == 0)
            return report_kinds[i];
        if (count < NAMES_MAX)
            names[count++] = report_kinds[i]->name;
    }
    nearest = text_nearest(options->report, names, count);
    if (nearest)
        diag_set(diag, -EINVAL, "there is no report \"%s\": did you mean %s?", options->report,
                 nearest);
    else
        diag_set(diag, -EINVAL, "there is no report \"%s\": --help lists those there are",
                 options->report);
    return NULL;
}

/* --- For --help. --- */

void report_print_kinds(FILE *lines)
{
    for (size_t i = 0; report_kinds[i]; i++) {
        if (!report_kinds[i]->mode)
            text_print(lines, "%s  %s\n", report_kinds[i]->name, report_kinds[i]->about);
    }
}

void report_print_columns(FILE *lines)
{
    for (size_t i = 0; report_kinds[i]; i++) {
        const struct report_kind *kind = report_kinds[i];

        for (size_t k = 0; k < kind->lines.column_count; k++)
            text_print(lines, "%s%s%s: %s%s", k ? "" : kind->name, k ? " " : "  ",
                       kind->lines.columns[k].out.name, kind->lines.columns[k].about,
                       k + 1 < kind->lines.column_count ? ";" : ".");
        fputs(kind->lines.column_count ? "\n" : "", lines);
    }
}

/* By what lines are ordered: other tools' words for columns, too. */
static void print_order(const struct report_kind *kind, FILE *out)
{
    bool is_first = true;

    if (!kind->lines.column_count)
        return;
    text_print(out, "\nLines are ordered by %s, unless --order-by names another column.\n",
               kind->lines.order_by);
    for (size_t i = 0; i < kind->lines.column_count; i++) {
        const struct line_column *column = &kind->lines.columns[i];
        const size_t words = sizeof(column->also) / sizeof(column->also[0]);

        if (!column->also[0])
            continue;
        fputs(is_first ? "It knows these names, too:\n\n" : "", out);
        is_first = false;
        text_print(out, "  %-*s", HELP_INDENT - 2, column->out.name);
        for (size_t k = 0; k < words && column->also[k]; k++)
            text_print(out, k ? ",\n%*s%s" : "%*s%s", k ? HELP_INDENT : 0, "", column->also[k]);
        fputs("\n", out);
    }
}

bool report_print_help(const char *name, FILE *out)
{
    const struct report_text *page = report_texts;

    while (page->name && strcmp(page->name, name) != 0)
        page++;
    if (!page->name)
        return false;
    text_put_page(page->text, out);
    for (size_t i = 0; report_kinds[i]; i++) {
        if (strcmp(report_kinds[i]->name, name) == 0)
            print_order(report_kinds[i], out);
    }
    return true;
}
