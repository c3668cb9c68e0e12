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
    ARRAY_OF(char *) cells;   /* a cell for each shown column, row by row */
    ARRAY_OF(double) numbers; /* beside `cells`: what a bar shows; NaN: nothing */
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

static void wiki_row(struct out *out, const struct out_value *values)
{
    struct wiki_state *state = out->state;

    if (out->section->data_only)
        return;
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

/* `nth` counts the shown columns; the longest bar of the column belongs to its largest number. */
static void write_bar(struct out *out, const struct wiki_state *state, size_t at, size_t shown)
{
    double most = 0;
    int length = 0;

    for (size_t i = at % shown; i < state->numbers.count; i += shown) {
        if (state->numbers.items[i] > most)
            most = state->numbers.items[i];
    }
    if (most > 0 && state->numbers.items[at] > 0)
        length = (int)lround(state->numbers.items[at] / most * BAR_LENGTH);
    for (int i = 0; i < length; i++)
        out_write(out, "#");
}

static void wiki_table_end(struct out *out)
{
    struct wiki_state *state = out->state;
    size_t shown = 0, at = 0;

    if (out->section->data_only)
        return;
    for (size_t i = 0; i < out->column_count; i++)
        shown += head_of(&out->columns[i]) != NULL;
    start_section(out, out->section);
    write_head(out);
    while (at < state->cells.count && !out->error) {
        out_write(out, "|");
        for (size_t i = 0; i < out->column_count; i++) {
            if (!head_of(&out->columns[i]))
                continue;
            out_write(out, " ");
            write_escaped(out, state->cells.items[at] ? state->cells.items[at] : "");
            out_write(out, " |");
            if (out->columns[i].wiki_bar) {
                out_write(out, " ");
                write_bar(out, state, at, shown);
                out_write(out, " |");
            }
            at++;
        }
        out_write(out, "\n");
    }
    for (size_t i = 0; i < state->cells.count; i++)
        free(state->cells.items[i]);
    state->cells.count = 0;
    state->numbers.count = 0;
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
