/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CSV as RFC 4180 has it, but for lines that end in a bare newline: each table with a line of names
 * on top, an empty line between two. Unknown values are empty. Facts and notes would break the
 * columns: they go to the side stream, unless facts are all there is. Texts begin no formula, and
 * steer no terminal.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/out/private.h"
#include "base/text.h"

struct held_fact {
    char *name, *value; /* CSV fields */
    char *sentence;     /* for the side stream, or NULL */
};

struct csv_state {
    ARRAY_OF(struct held_fact) facts;
    struct text_buffer line; /* at hand */
    size_t table_count;
};

static int csv_open(struct out *out)
{
    out->state = calloc(1, sizeof(struct csv_state));
    return out->state ? 0 : -ENOMEM;
}

/* "-1.5e3", and nothing behind it. */
static bool is_number(const char *text)
{
    static const char digits[] = "0123456789";
    size_t whole, part = 0;

    text += *text == '-' || *text == '+';
    whole = strspn(text, digits);
    text += whole;
    if (*text == '.') {
        part = strspn(text + 1, digits);
        text += 1 + part;
    }
    if (whole + part == 0)
        return false;
    if (*text == 'e' || *text == 'E') {
        text += 1 + (text[1] == '-' || text[1] == '+');
        if (strspn(text, digits) == 0)
            return false;
        text += strspn(text, digits);
    }
    return *text == '\0';
}

/* Spreadsheets compute what begins so; an apostrophe in front keeps them from it. What begins with
 * one gets another, so that who takes one away always has the text. */
static bool needs_apostrophe(const char *text)
{
    return *text && strchr("=+-@'\t\r\n", *text) && !is_number(text);
}

/* How many bytes from here on stand for themselves: nearly all of nearly all texts. */
static size_t plain_length(const char *text)
{
    size_t length = 0;

    while (text[length] >= ' ' && text[length] < 0x7f && text[length] != '"')
        length++;
    return length;
}

static void add_field(struct text_buffer *buffer, const char *text)
{
    const char *quote;
    char shown[TEXT_SHOWN_BYTES];
    size_t plain = plain_length(text);

    if (!text[plain] && !memchr(text, ',', plain) && !needs_apostrophe(text)) {
        text_buffer_add(buffer, text, plain);
        return;
    }
    quote = strpbrk(text, "\",\r\n") ? "\"" : "";

    text_buffer_add(buffer, quote, strlen(quote));
    if (needs_apostrophe(text))
        text_buffer_add(buffer, "'", 1);
    for (size_t left = strlen(text), length; left; text += length, left -= length) {
        length = plain_length(text);
        if (length > 0) {
            text_buffer_add(buffer, text, length);
            continue;
        }
        length = text_show_next(text, left, shown);
        if (*text == '"')
            text_buffer_add(buffer, "\"\"", 2);
        else if (strchr("\t\r\n", *text))
            text_buffer_add(buffer, text, 1);
        else
            text_buffer_add(buffer, shown, strlen(shown));
    }
    text_buffer_add(buffer, quote, strlen(quote));
}

static void add_value(struct text_buffer *buffer, const struct out_value *value)
{
    char number[40];

    if (!value->known)
        return;
    if (out_is_text(value->kind)) {
        add_field(buffer, value->text);
    } else if (out_is_integer(value->kind)) {
        text_buffer_add(buffer, number, text_format_int(number, value->integer));
    } else {
        out_format_real(number, sizeof(number), value->real);
        text_buffer_add(buffer, number, strlen(number));
    }
}

static void csv_facts(struct out *out, const struct out_section *section,
                      const struct out_fact *facts, size_t count)
{
    struct csv_state *state = out->state;

    if (section->data_only)
        return;
    for (size_t i = 0; i < count; i++) {
        struct text_buffer name = {0}, value = {0}, sentence = {0};
        struct held_fact held;

        if (facts[i].name) {
            add_field(&name, facts[i].name);
            add_value(&value, &facts[i].value);
        }
        if (facts[i].title) {
            text_buffer_print(&sentence, "%s: ", facts[i].title);
            if (facts[i].value.kind == OUT_NS && facts[i].value.known && !out_counts_samples())
                text_buffer_print(&sentence, "%g s", facts[i].value.real * 1e-9);
            else
                out_format_inline(&sentence, &facts[i].value);
        }
        held = (struct held_fact){name.text, value.text, sentence.text};
        if (name.failed || value.failed || sentence.failed || array_push(&state->facts, held) < 0) {
            text_buffer_deinit(&name);
            text_buffer_deinit(&value);
            text_buffer_deinit(&sentence);
            out_fail(out, -ENOMEM);
            return;
        }
    }
}

static void write_line(struct out *out, struct text_buffer *line)
{
    text_buffer_add(line, "\n", 1);
    if (line->failed)
        out_fail(out, -ENOMEM);
    else
        out_write(out, line->text);
    line->length = 0;
}

static void csv_table_begin(struct out *out)
{
    struct csv_state *state = out->state;
    struct text_buffer *line = &state->line;

    if (out->section->data_only)
        return;
    if (state->table_count++)
        out_write(out, "\n");
    for (size_t i = 0; i < out->column_count; i++) {
        if (i)
            text_buffer_add(line, ",", 1);
        add_field(line, out->columns[i].name);
    }
    write_line(out, line);
}

static void csv_row(struct out *out, const struct out_value *values)
{
    struct csv_state *state = out->state;
    struct text_buffer *line = &state->line;

    if (out->section->data_only)
        return;
    for (size_t i = 0; i < out->column_count; i++) {
        if (i)
            text_buffer_add(line, ",", 1);
        add_value(line, &values[i]);
    }
    write_line(out, line);
}

static void csv_close(struct out *out)
{
    struct csv_state *state = out->state;
    FILE *side = out->options.side;

    if (!state->table_count && state->facts.count)
        out_write(out, "name,value\n");
    for (size_t i = 0; i < state->facts.count; i++) {
        struct held_fact *fact = &state->facts.items[i];

        if (!state->table_count && fact->name) {
            out_write(out, fact->name);
            out_write(out, ",");
            out_write(out, fact->value ? fact->value : "");
            out_write(out, "\n");
        } else if (side && fact->sentence && !out->error) {
            text_print(side, "%s\n", fact->sentence);
        }
        free(fact->name);
        free(fact->value);
        free(fact->sentence);
    }
    array_deinit(&state->facts);
    for (size_t i = 0; i < out->notes.count && side && !out->error; i++) {
        text_put_page(out->notes.items[i].text, side);
        fputc('\n', side);
    }
    text_buffer_deinit(&state->line);
    free(state);
}

const struct out_printer out_csv_printer = {
    .open = csv_open,
    .facts = csv_facts,
    .table_begin = csv_table_begin,
    .row = csv_row,
    .close = csv_close,
};
