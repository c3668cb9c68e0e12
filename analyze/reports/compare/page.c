/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of a comparison's first screen. */
#include "analyze/reports/compare/page.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/reports/brief/page_part.h"

enum { COLUMNS_USUAL = 80, ROWS_SHOWN = BRIEF_ROWS_MAX - 1 };

static bool is_ascii(const struct compare_page *asked)
{
    return asked->report->options->ascii;
}

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

/* "sessions 1, 2 of a.db (2 sessions, 40 runs)" */
static void describe_side(struct text_buffer *text, const struct compare_side *side)
{
    enum { IDS_MAX = 6 };
    size_t named = side->named_count, earlier = side->session_count - named;

    text_buffer_print(text, "session%s ", plural(named));
    for (size_t i = 0; i < named && i < IDS_MAX; i++)
        text_buffer_print(text, "%s%" PRId64, i ? ", " : "", side->named_ids[i]);
    if (named > IDS_MAX)
        text_buffer_print(text, " and %zu more", named - IDS_MAX);
    if (earlier)
        text_buffer_print(text, " and %zu earlier one%s like %s", earlier, plural(earlier),
                          named > 1 ? "them" : "it");
    text_buffer_print(text, " of %s (%zu run%s)", side->source->name, side->samples.runs.count,
                      plural(side->samples.runs.count));
}

static void print_subject(struct brief_page *page, const struct compare_page *asked)
{
    const struct compare_side *new = &asked->sides[ALIGN_NEW];
    const char *model = new->environment.facts[ENVIRONMENT_MODEL];
    const char *program = new->environment.facts[ENVIRONMENT_PROGRAM];
    struct text_buffer text = {0};

    if (model || program)
        text_buffer_print(&text, "%s: ", model ? model : program);
    describe_side(&text, &asked->sides[ALIGN_BASE]);
    text_buffer_print(&text, " against ");
    describe_side(&text, new);
    page->line.failed |= text.failed;
    brief_wrap(page, 0, text_buffer_text(&text));
    text_buffer_deinit(&text);
    brief_end(page);
}

static void print_run(struct brief_page *page, const struct compare_page *asked)
{
    const struct compare_result *run = &asked->comparison->lines.items[0].result;
    char base[32], new[32];

    brief_put(page, "  a run     %s > %s", brief_time(base, 32, run->p50.base_ns, is_ascii(asked)),
              brief_time(new, 32, run->p50.new_ns, is_ascii(asked)));
    if (isfinite(run->ratio))
        brief_put(page, "   %+.1f %%", run->ratio * 100);
    if (!isnan(run->change.low))
        brief_put(page, "  (%+.1f .. %+.1f)", run->change.low * 100, run->change.high * 100);
    if (run->verdict != COMPARE_CANNOT_TELL)
        brief_put(page, "   %s", compare_verdict_names[run->verdict]);
    brief_end(page);
    if (asked->need) {
        char *text;

        if (asprintf(&text, "cannot tell: %s", asked->need) < 0) {
            page->line.failed = true;
            return;
        }
        brief_wrap(page, 2, text);
        free(text);
    }
}

/* --- What changed. --- */

static bool is_shown(const struct comparison_line *line)
{
    enum compare_verdict verdict = line->result.verdict;

    return line->part != COMPARISON_OTHER && line->delta_ns != 0 &&
           (verdict == COMPARE_SLOWER || verdict == COMPARE_FASTER || verdict == COMPARE_UNTESTED ||
            verdict == COMPARE_CANNOT_TELL);
}

/* A time of a side that may not have the op. */
static double time_of(const struct comparison_line *line, int side)
{
    const struct compare_percentile *median = &line->result.p50;
    double ns = side == ALIGN_BASE ? median->base_ns : median->new_ns;

    return isnan(ns) ? line->mean_ns[side] : ns;
}

struct change_cells {
    struct brief_column *base, *new, *change, *share, *verdict;
};

static void set_change(char *cell, const double ns[ALIGN_SIDES], double factor)
{
    double difference = (ns[ALIGN_NEW] - ns[ALIGN_BASE]) / factor;
    double ratio = ns[ALIGN_NEW] / ns[ALIGN_BASE];
    char number[32];
    int length = snprintf(cell, BRIEF_CELL_BYTES, "%s%s", difference < 0 ? "-" : "+",
                          brief_number(number, sizeof(number), fabs(difference)));

    if (!(ns[ALIGN_BASE] > 0) || ns[ALIGN_NEW] < 0)
        return; /* from nothing, or of a negative rest */
    if (ratio >= 3)
        snprintf(cell + length, BRIEF_CELL_BYTES - (size_t)length, " (x %.1f)", ratio);
    else
        snprintf(cell + length, BRIEF_CELL_BYTES - (size_t)length, " (%+.1f %%)",
                 (ratio - 1) * 100);
}

static void set_row(const struct change_cells *cells, size_t row, const double ns[ALIGN_SIDES],
                    double share, double factor, const char *verdict)
{
    char number[32];

    for (int side = 0; side < ALIGN_SIDES; side++) {
        struct brief_column *column = side == ALIGN_BASE ? cells->base : cells->new;

        snprintf(column->cells[row], BRIEF_CELL_BYTES, "%s",
                 ns[side] == 0 ? "-" : brief_number(number, sizeof(number), ns[side] / factor));
    }
    set_change(cells->change->cells[row], ns, factor);
    if (isnan(share))
        snprintf(cells->share->cells[row], BRIEF_CELL_BYTES, "-");
    else
        snprintf(cells->share->cells[row], BRIEF_CELL_BYTES, "%.0f %%", share * 100);
    snprintf(cells->verdict->cells[row], BRIEF_CELL_BYTES, "%s", verdict);
}

static struct change_cells add_columns(struct brief_table *table, const char *unit)
{
    struct change_cells cells;
    char head[BRIEF_CELL_BYTES];

    snprintf(head, sizeof(head), "old %s", unit);
    cells.base = brief_add_column(table, head, 0);
    snprintf(head, sizeof(head), "new %s", unit);
    cells.new = brief_add_column(table, head, 0);
    cells.change = brief_add_column(table, "change", 0);
    cells.share = brief_add_column(table, "share of it", 2);
    cells.verdict = brief_add_column(table, "verdict", 1);
    cells.verdict->is_left = true;
    return cells;
}

static const char *word_of(const struct comparison_line *line)
{
    if (line->kind == ALIGN_ADDED || line->kind == ALIGN_REMOVED)
        return align_kind_names[line->kind];
    return compare_verdict_names[line->result.verdict];
}

/* All but those shown, as one row. */
static void add_others(const struct compare_page *asked, struct brief_table *table,
                       const struct change_cells *cells, double factor, const bool *shown,
                       char *name)
{
    const struct comparison *comparison = asked->comparison;
    double ns[ALIGN_SIDES] = {0};
    bool can_tell = comparison->lines.items[0].result.verdict != COMPARE_CANNOT_TELL;
    bool is_noise = can_tell;
    size_t count = 0;

    for (size_t i = 1; i < comparison->lines.count; i++) {
        const struct comparison_line *line = &comparison->lines.items[i];

        if (shown[i])
            continue;
        is_noise &= line->result.verdict == COMPARE_NO_CHANGE;
        ns[ALIGN_BASE] += time_of(line, ALIGN_BASE);
        ns[ALIGN_NEW] += time_of(line, ALIGN_NEW);
        count++;
    }
    if (!count)
        return;
    snprintf(name, BRIEF_CELL_BYTES, table->row_count ? "%zu other%s" : "%zu part%s", count,
             plural(count));
    table->names[table->row_count] = name;
    set_row(cells, table->row_count, ns, NAN, factor,
            is_noise   ? "within noise"
            : can_tell ? "small or within noise"
                       : "cannot tell");
    table->row_count++;
    table->fixed_count = 1;
}

/* What is shown, and how it is called where others are called so, too. */
struct shown_lines {
    const struct comparison_line *items[BRIEF_ROWS_MAX];
    char *named[BRIEF_ROWS_MAX];
    size_t count;
};

/* Ops of one name with what else tells them apart: their shape, or their type. */
static int tell_apart(struct shown_lines *lines, struct brief_table *table)
{
    for (size_t i = 0; i < lines->count; i++) {
        const struct comparison_line *line = lines->items[i];
        const struct op_row *op = line->op[ALIGN_NEW] ? line->op[ALIGN_NEW] : line->op[ALIGN_BASE];
        bool has_twin = false;
        char shape[40];

        for (size_t k = 0; k < lines->count; k++)
            has_twin |= k != i && strcmp(lines->items[k]->name, line->name) == 0;
        if (!has_twin || !op)
            continue;
        if (!brief_shape(op->input_shapes, shape, sizeof(shape)))
            snprintf(shape, sizeof(shape), "%s", op->type);
        if (asprintf(&lines->named[i], "%s %s", line->name, shape) < 0) {
            lines->named[i] = NULL;
            return -ENOMEM;
        }
        table->names[i] = lines->named[i];
    }
    return 0;
}

static int print_changes(struct brief_page *page, const struct compare_page *asked)
{
    const struct comparison *comparison = asked->comparison;
    const struct compare_result *run = &comparison->lines.items[0].result;
    struct brief_unit unit =
        brief_time_unit(fmax(run->p50.base_ns, run->p50.new_ns), is_ascii(asked));
    struct brief_table *table = calloc(1, sizeof(*table));
    bool *shown = calloc(comparison->lines.count, sizeof(*shown));
    struct shown_lines lines = {.count = 0};
    char others[BRIEF_CELL_BYTES];
    struct change_cells cells;
    int rc = -ENOMEM;

    if (table && shown) {
        table->title = "what changed";
        cells = add_columns(table, unit.name);
        for (size_t i = 0; i + 1 < comparison->lines.count && table->row_count < ROWS_SHOWN; i++) {
            const struct comparison_line *line = &comparison->lines.items[asked->ranked[i]];
            const double ns[ALIGN_SIDES] = {time_of(line, ALIGN_BASE), time_of(line, ALIGN_NEW)};

            if (!is_shown(line))
                continue;
            shown[asked->ranked[i]] = true;
            table->names[table->row_count] = line->name;
            lines.items[lines.count++] = line;
            set_row(&cells, table->row_count++, ns, line->share, unit.factor, word_of(line));
        }
        rc = tell_apart(&lines, table);
        add_others(asked, table, &cells, unit.factor, shown, others);
        brief_end(page);
        if (rc == 0)
            rc = brief_print_table(page, table);
    }
    for (size_t i = 0; i < lines.count; i++)
        free(lines.named[i]);
    free(table);
    free(shown);
    return rc;
}

int compare_print_page(const struct compare_page *asked, struct text_buffer *out)
{
    struct brief_page page = {
        .out = out,
        .width = asked->report->width ? asked->report->width : COLUMNS_USUAL,
        .ascii = is_ascii(asked),
    };
    int rc;

    print_subject(&page, asked);
    print_run(&page, asked);
    rc = print_changes(&page, asked);
    if (asked->differs) {
        brief_end(&page);
        brief_wrap(&page, 0, asked->differs);
    }
    text_buffer_deinit(&page.line);
    return rc < 0 || out->failed ? -ENOMEM : 0;
}
