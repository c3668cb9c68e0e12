/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table markup of Confluence and Jira: one column for each value, in one fixed unit, with bars
 * of up to 15 # beside those that are worth comparing.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/out/private.h"

enum { BAR_LENGTH = 15 };

struct wiki_state {
    ARRAY_OF(char *)
    cells; /* a cell for each shown column, row by row: of the open table, or its page */
    ARRAY_OF(double) numbers; /* beside `cells`: what a bar shows; NaN: nothing */
    size_t row_count;         /* of the page */
    size_t page_count;        /* of the table that are written */
    size_t section_count;
};

static int wiki_open(struct out *out)
{
    out->state = calloc(1, sizeof(struct wiki_state));
    return out->state ? 0 : -ENOMEM;
}

/* In this markup a bar ends a cell and a brace starts a macro. */
static void write_escaped(struct out *out, const char *text)
{
    char piece[3] = {'\\', 0, 0};

    for (; *text && !out->error; text++) {
        piece[1] = *text;
        out_write(out, strchr("|{}", *text) ? piece : piece + 1);
    }
}

/* section  NULL for the notes */
static void start_section(struct out *out, const struct out_section *section)
{
    struct wiki_state *state = out->state;

    if (state->section_count++)
        out_write(out, "\n");
    if (section && section->title) {
        out_write(out, "h3. ");
        write_escaped(out, section->title);
        out_write(out, "\n");
    }
}

/* NULL: the column is not there. */
static const char *head_of(const struct out_column *column)
{
    if (column->wiki)
        return column->wiki;
    return column->compact && !column->data_only ? column->title : NULL;
}

static void add_value(struct text_buffer *buffer, const struct out_value *value)
{
    char text[40];

    if (!value->known) {
        text_buffer_print(buffer, "%s", value->text ? value->text : "N/A");
        return;
    }
    switch (value->kind) {
    case OUT_NS:
        out_format_seconds(text, sizeof(text), value->real);
        text_buffer_add(buffer, text, strlen(text));
        break;
    case OUT_FLOP:
    case OUT_FLOP_RATE:
        text_buffer_print(buffer, "%.2f", value->real / 1e6);
        break;
    case OUT_BYTES:
    case OUT_BYTE_RATE:
        text_buffer_print(buffer, "%.2f", value->real / (1 << 20));
        break;
    case OUT_RANK:
        text_buffer_print(buffer, "%lld", (long long)value->integer);
        break;
    default:
        out_format_inline(buffer, value);
        break;
    }
}

static void wiki_facts(struct out *out, const struct out_section *section,
                       const struct out_fact *facts, size_t count)
{
    if (section->data_only)
        return;
    start_section(out, section);
    out_write(out, "|| name || value ||\n");
    for (size_t i = 0; i < count; i++) {
        struct text_buffer text = {0};

        if (!facts[i].title)
            continue;
        if (facts[i].value.kind == OUT_NS && facts[i].value.known && !out_counts_samples())
            text_buffer_print(&text, "%g", facts[i].value.real * 1e-9);
        else
            add_value(&text, &facts[i].value);
        if (text.failed)
            out_fail(out, -ENOMEM);
        out_write(out, "| ");
        write_escaped(out, facts[i].title);
        out_write(out, " | ");
        write_escaped(out, text_buffer_text(&text));
        out_write(out, " |\n");
        text_buffer_deinit(&text);
    }
}

static void write_head(struct out *out)
{
    out_write(out, "||");
    for (size_t i = 0; i < out->column_count; i++) {
        const char *const titles[] = {head_of(&out->columns[i]), out->columns[i].wiki_bar};

        for (size_t k = 0; k < 2 && titles[0]; k++) {
            if (!titles[k])
                continue;
            out_write(out, " ");
            write_escaped(out, titles[k]);
            out_write(out, " ||");
        }
    }
    out_write(out, "\n");
}

static size_t count_shown(const struct out *out)
{
    size_t shown = 0;

    for (size_t i = 0; i < out->column_count; i++)
        shown += head_of(&out->columns[i]) != NULL;
    return shown;
}

/* Of each shown column of the page; NULL without memory. */
static double *find_largest(const struct wiki_state *state, size_t shown)
{
    double *largest = calloc(shown + 1, sizeof(*largest));

    for (size_t i = 0; i < state->numbers.count && largest; i++) {
        if (state->numbers.items[i] > largest[i % shown])
            largest[i % shown] = state->numbers.items[i];
    }
    return largest;
}

/* The longest bar of a column belongs to the largest number of the page. */
static void write_bar(struct out *out, double number, double largest)
{
    int length = largest > 0 && number > 0 ? (int)lround(number / largest * BAR_LENGTH) : 0;

    for (int i = 0; i < length; i++)
        out_write(out, "#");
}

static void write_row(struct out *out, size_t at, const double *largest)
{
    const struct wiki_state *state = out->state;
    size_t nth = 0;

    out_write(out, "|");
    for (size_t i = 0; i < out->column_count; i++) {
        const char *cell;

        if (!head_of(&out->columns[i]))
            continue;
        cell = state->cells.items[at + nth];
        out_write(out, " ");
        write_escaped(out, cell ? cell : "");
        out_write(out, " |");
        if (out->columns[i].wiki_bar) {
            out_write(out, " ");
            write_bar(out, state->numbers.items[at + nth], largest[nth]);
            out_write(out, " |");
        }
        nth++;
    }
    out_write(out, "\n");
}

/* Writes the rows that wait, with a head of their own: tables follow each other by an empty line. */
static void end_page(struct out *out)
{
    struct wiki_state *state = out->state;
    const size_t shown = count_shown(out);
    double *largest = find_largest(state, shown);

    if (!largest)
        out_fail(out, -ENOMEM);
    if (state->page_count++)
        out_write(out, "\n");
    else
        start_section(out, out->section);
    write_head(out);
    for (size_t at = 0; at < state->cells.count && !out->error; at += shown)
        write_row(out, at, largest);
    free(largest);
    for (size_t i = 0; i < state->cells.count; i++)
        free(state->cells.items[i]);
    state->cells.count = state->numbers.count = state->row_count = 0;
}

static void wiki_row(struct out *out, const struct out_value *values)
{
    struct wiki_state *state = out->state;

    if (out->section->data_only)
        return;
    if (state->row_count >= out_page_rows(out))
        end_page(out);
    state->row_count++;
    for (size_t i = 0; i < out->column_count; i++) {
        struct text_buffer text = {0};

        if (!head_of(&out->columns[i]))
            continue;
        if (out->columns[i].compact)
            out_format_cell(&text, &values[i]);
        else
            add_value(&text, &values[i]);
        if (text.failed || array_push(&state->cells, text.text) < 0) {
            text_buffer_deinit(&text);
            out_fail(out, -ENOMEM);
            return;
        }
        if (array_push(&state->numbers, values[i].known ? values[i].real : NAN) < 0)
            out_fail(out, -ENOMEM);
    }
}

static void wiki_table_end(struct out *out)
{
    struct wiki_state *state = out->state;

    if (out->section->data_only)
        return;
    end_page(out);
    state->page_count = 0;
}

static void wiki_close(struct out *out)
{
    struct wiki_state *state = out->state;

    for (size_t i = 0; i < out->notes.count && !out->error; i++) {
        if (i == 0)
            start_section(out, NULL);
        write_escaped(out, out->notes.items[i].text);
        out_write(out, "\n");
    }
    for (size_t i = 0; i < state->cells.count; i++)
        free(state->cells.items[i]);
    array_deinit(&state->cells);
    array_deinit(&state->numbers);
    free(state);
}

const struct out_printer out_wiki_printer = {
    .open = wiki_open,
    .facts = wiki_facts,
    .row = wiki_row,
    .table_end = wiki_table_end,
    .close = wiki_close,
};
