/* SPDX-License-Identifier: Apache-2.0 */
/* What the printers share: the state of one output, and how values look to people. */
#ifndef OPTRACE_ANALYZE_OUT_PRIVATE_H
#define OPTRACE_ANALYZE_OUT_PRIVATE_H

#include "analyze/out/out.h"
#include "base/array.h"
#include "base/text_buffer.h"

/* One printer. Called in the order that out.h asks of its users, and never after a failure, but
 * for close(), which always comes and frees what open() made. */
struct out_printer {
    int (*open)(struct out *out); /* may be NULL, like all but close */
    void (*facts)(struct out *out, const struct out_section *section, const struct out_fact *facts,
                  size_t count);
    void (*table_begin)(struct out *out);
    void (*row)(struct out *out, const struct out_value *values);
    void (*table_end)(struct out *out);
    /* There is no answer: empty tables where there are none. */
    void (*nothing)(struct out *out, const char *const *tables);
    void (*block)(struct out *out, const char *lines);
    void (*close)(struct out *out); /* prints the notes unless out->error is set */
};

extern const struct out_printer out_table_printer, out_json_printer, out_csv_printer,
    out_html_printer, out_markdown_printer, out_wiki_printer;

/* A note waits for the end. */
struct out_held_note {
    enum out_note_kind kind;
    char *text;
};

struct out {
    struct out_options options;
    const struct out_printer *printer;
    void *state; /* the printer's own */
    int error;   /* the first failure, a negative errno */

    const struct out_section *section; /* of the open table */
    const struct out_column *columns;
    size_t column_count;

    ARRAY_OF(struct out_held_note) notes;
};

/** Keeps the first failure; 0 is none. */
void out_fail(struct out *out, int error);

/** How many rows of a table wait to be laid out together: options.page_rows, or some 20 MiB. */
static inline size_t out_page_rows(const struct out *out)
{
    return out->options.page_rows ? out->options.page_rows : 1 << 16;
}

/** Write to the stream; a failure is kept. */
void out_write(struct out *out, const char *text);

/** Notes of a screen: options.all_notes, or those that matter most on three lines. */
void out_write_notes(struct out *out);

/** How people see a value: lines with '\n' between; "N/A" when it is not known. Characters that
 *  would steer the terminal are shown as \xNN. */
void out_format_value(struct text_buffer *buffer, const struct out_value *value, unsigned wrap);

/** As out_format_inline() for a cell of a document, where blanks in front, which indent, would be swallowed. */
void out_format_cell(struct text_buffer *buffer, const struct out_value *value);

/** Makes the names of a column fit: those that take more columns lose what they have in common,
 * then of their middle, which becomes three dots, and names that differ look different: for want of
 * room they end in a number. A name with less than 8 columns is left as it is.
 *
 *  texts  each from malloc(); what is shown takes their place, after a failure of some
 *
 *  Returns 0 or -ENOMEM. */
int out_shorten(char **texts, size_t count, size_t columns);

/** True for counts, ids and points in time: `integer` holds the number; else `real` does. */
bool out_is_integer(enum out_kind kind);

/** True when the value is a text, JSON or not. */
bool out_is_text(enum out_kind kind);

/** The fewest digits that read back as the same number; 32 bytes are enough. */
void out_format_real(char *text, size_t bytes, double value);

/** Seconds, as MegEngine's tables have them, or samples: "0.0345", "12 samples". */
void out_format_seconds(char *text, size_t bytes, double ns);

/** Times are counts from now on, each of so many ns; 0: they are times. One report is printed at a
 *  time. */
void out_format_samples(double sample_ns);

/** Whether microseconds are "us", where nothing but ASCII can be shown, or "µs", as before it. */
void out_format_ascii(bool ascii);

static inline bool out_counts_samples(void)
{
    return out_sample_ns() > 0;
}

#endif
