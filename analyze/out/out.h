/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a report goes: one walk over typed cells, several printers. A report says what a value is
 * (a time, bytes, a share of a named whole); how it looks is the printer's business.
 *
 * Order of calls: out_open(); any sequence of out_facts(), of out_table_begin() out_row()...
 * out_table_end(), and of out_note(); out_close(). Nothing is returned in between: the first
 * failure (no memory, disk full) is kept, the rest becomes cheap, and out_close() tells.
 *
 * Every text handed in is borrowed for the call only, but columns stay in use until
 * out_table_end(). One thread.
 */
#ifndef OPTRACE_ANALYZE_OUT_OUT_H
#define OPTRACE_ANALYZE_OUT_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/diag.h"
#include "base/text_buffer.h"

/* Version of what --format json writes; grows when a name is renamed or goes away. */
#define OUT_JSON_VERSION 1

enum out_format {
    OUT_FORMAT_TABLE,    /* for people: boxes, units, sentences */
    OUT_FORMAT_JSON,     /* one object: a member for each section, notes last */
    OUT_FORMAT_CSV,      /* tables only; facts and notes go to the side stream */
    OUT_FORMAT_MARKDOWN, /* for people: tables as GitHub reads them, notes as a list */
    OUT_FORMAT_HTML,     /* for people: one file with tables and charts, for a browser */
    OUT_FORMAT_WIKI,     /* for people: the table markup of Confluence and Jira */
};

/* What a value is. Numbers are in the unit named here; printers scale them for people only. */
enum out_kind {
    OUT_TEXT,      /* UTF-8 */
    OUT_INT,       /* a count, an id */
    OUT_REAL,      /* a number without a unit */
    OUT_RANK,      /* position in the table, from 0 */
    OUT_NS,        /* a duration in ns */
    OUT_SHARE,     /* a ratio, 1 is the whole */
    OUT_FLOP,      /* operations */
    OUT_FLOP_RATE, /* operations per second */
    OUT_BYTES,
    OUT_BYTE_RATE, /* bytes per second */
    OUT_SHAPES,    /* JSON: [[1,3,224,224],...], null for an unknown dimension */
    OUT_JSON,      /* any JSON; people see it as it is */
    OUT_LIST,      /* a JSON list of texts; people see one below the other */
    OUT_WHEN,      /* ns since 1970 */
    OUT_BOOL,      /* integer 0 or 1 */
    OUT_PART,      /* so many of so many; people see nothing when it is none or all */
};

struct out_value {
    enum out_kind kind;
    bool known;         /* false: NULL, null, an empty cell, "N/A" */
    int64_t integer;    /* OUT_INT, OUT_RANK, OUT_WHEN, OUT_PART */
    int64_t whole;      /* OUT_PART */
    double real;        /* the other numbers */
    const char *text;   /* of the texts; of an unknown value: what people see */
    const char *detail; /* OUT_SHAPES: JSON with the strides of each, or NULL */
};

struct out_value out_unknown(enum out_kind kind);
/** An unknown value that people see as `text` instead of "N/A". */
struct out_value out_unknown_as(enum out_kind kind, const char *text);
/** NULL is unknown. */
struct out_value out_text(const char *text);
struct out_value out_integer(enum out_kind kind, int64_t value);
/** NaN is unknown. */
struct out_value out_number(enum out_kind kind, double value);
/** `strides` may be NULL. */
struct out_value out_shapes(const char *json, const char *strides);
struct out_value out_json_text(const char *json);
struct out_value out_list(const char *json);
struct out_value out_part(int64_t part, int64_t whole);

/** How people see a duration in a compact column or in a sentence: "4.721 ms". Returns `text`; 32
 *  bytes are enough. */
const char *out_duration_text(char *text, size_t bytes, double ns);

/** The same with three figures, for sentences: "4.72 ms", "652 ms". */
const char *out_duration_short(char *text, size_t bytes, double ns);

struct out_column {
    const char *name;     /* in JSON and CSV: a word with its unit, "time_ns" */
    const char *title;    /* head in tables; NULL: stands below the column before, in its cell */
    const char *wiki;     /* head in wiki tables; NULL: not there, of compact columns the title */
    const char *wiki_bar; /* head of a bar beside it, or NULL */
    unsigned wrap;        /* columns after which people's lines are wrapped; 0: never */
    bool data_only;       /* in JSON and CSV only */
    /* For people: one line, with its unit ("4.721 ms"), numbers on the right; a text longer than
     * `wrap` loses its middle; lists have a line for each text, shortened for itself; "-" for what
     * is not known, and no column when nothing is known. */
    bool compact;
};

enum out_style {
    OUT_STYLE_BOX,   /* a table with rules */
    OUT_STYLE_LINES, /* no head, no rules, values with a blank between */
};

enum out_chart_kind {
    OUT_CHART_BARS,     /* a bar for each row, `values` side by side, named by `label` */
    OUT_CHART_LINE,     /* `values` over `x`, joined */
    OUT_CHART_STEPS,    /* `values` over `x`, each held until the next */
    OUT_CHART_AREAS,    /* the same above each other, those of each `color`; all have every x */
    OUT_CHART_POINTS,   /* values[0] over `x`, named by `label` */
    OUT_CHART_TIMELINE, /* spans in lanes; the columns are OUT_TIMELINE_COLUMNS */
    OUT_CHART_DATA,     /* no picture: all columns, for other pictures of the page */
};

/* What a timeline's table must have: which of several timelines it belongs to ("run 3") and the
 * number of that run, or NULL; its lane and what that is ("cuda:0"); row of its op in the section
 * "timeline_ops"; start (of each view's own clock), self time or NULL, how deep it lies in others;
 * bytes of a copy, or NULL; row of the span that launched it, or NULL. */
#define OUT_TIMELINE_COLUMNS                                                                       \
    {                                                                                              \
        "view", "run", "lane", "side", "op", "name", "type", "start_ns", "dur_ns", "self_ns",      \
            "depth", "bytes", "launch"                                                             \
    }

/* A line across a chart that has a name: a percentile, the peak of the machine. */
struct out_guide {
    const char *title;
    double value;  /* in the unit of the values */
    bool is_slope; /* of value * x instead */
};

enum { OUT_CHART_VALUES_MAX = 4 };

/* A picture of a table, for printers that draw (html). Columns are meant by their names. */
struct out_chart {
    enum out_chart_kind kind;
    const char *label, *x;
    const char *values[OUT_CHART_VALUES_MAX]; /* of one unit; NULL ends them */
    const char *color; /* of one bar or point: by this text; a line for each of them; or NULL */
    bool is_log;       /* both axes are logarithmic */
    const struct out_guide *guides; /* not of bars */
    size_t guide_count;
    const char *about; /* a sentence above it, or NULL */
};

struct out_section {
    const char *name; /* member of the JSON object */
    enum out_style style;
    bool data_only; /* JSON only: people read the same thing in a note */
    /* Where a terminal is narrow: names of columns with blanks between, the most important first,
     * which always stays; the first four go only when names are short already, and columns that are
     * not named go before all others, the last one first. NULL: the first column stays. */
    const char *keep;
    /* What names keep of their width while other columns than those four can go; 0: 24. */
    size_t name_columns;
    const char *sorted; /* the column that its lines are ordered by stays, too; or NULL */
    const char *title;  /* a line above it for people; NULL: none, in documents the name */
    const struct out_chart *chart; /* or NULL; drawn also when the table is data only */
    bool joins;                    /* pages show it in the card of the section before it */
};

struct out_fact {
    const char *name;  /* in JSON and CSV, with the unit; NULL: for people only */
    const char *title; /* for people; NULL: in JSON only */
    struct out_value value;
};

enum out_note_kind {
    OUT_NOTE_PLAIN,
    OUT_NOTE_BASIS,   /* what all numbers stand for: shown before other plain ones */
    OUT_NOTE_WARNING, /* the numbers are not the whole truth: loss, death of the program */
};

struct out_options {
    enum out_format format;
    const char *report;  /* "ops"; member "report" in JSON */
    const char *subject; /* for titles: what it is about, such as the path of the source; or NULL */
    FILE *stream;        /* borrowed */
    FILE *side;          /* borrowed: where CSV leaves facts and notes; NULL: nowhere */
    bool ascii;          /* tables without box-drawing characters */
    bool color;
    bool all_notes; /* tables on the screen: not only those that matter most */
    size_t width;   /* columns of the terminal: tables of compact columns are made to fit; 0: any */
    /* Rows of a table on the screen, in Markdown or a wiki that are laid out together, and held until then:
     * what has more has several pages, each with a head and widths of its own. 0: 65,536. */
    size_t page_rows;
};

struct out;

/** out  written only on success; give it to out_close(). Returns 0 or -ENOMEM. */
int out_open(const struct out_options *options, struct out **out_made);

/** Times are counts from now on, each of so many ns: people see "12 samples". */
void out_count_samples(struct out *out, double sample_ns);
/** How long each is; 0: times are times. */
double out_sample_ns(void);

/** How people see a value on one line, as a fact beside its title or in a sentence: "3.67 MiB". */
void out_format_inline(struct text_buffer *buffer, const struct out_value *value);

/** How people see a value of a compact column: "4.721 ms". */
void out_format_compact(struct text_buffer *buffer, const struct out_value *value);

/** Names with values, such as totals. */
void out_facts(struct out *out, const struct out_section *section, const struct out_fact *facts,
               size_t count);

/** section, columns  borrowed until out_table_end(). */
void out_table_begin(struct out *out, const struct out_section *section,
                     const struct out_column *columns, size_t count);
/** One value for each column. */
void out_row(struct out *out, const struct out_value *values);
void out_table_end(struct out *out);

/** Lines for people, as they stand, each with its '\n': of tables on the screen and of markdown;
 * other formats have none of it. Texts from outside in it must be fit to be shown. */
void out_block(struct out *out, const char *lines);

/** A sentence for people, printed after all tables; in JSON a member of "notes". */
void out_note(struct out *out, enum out_note_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** There is no answer, and why. JSON has empty tables of these names then, ending in NULL, but for
 *  those that are there already, and the reason as a note; other formats have nothing. */
void out_nothing(struct out *out, const char *const *tables, const char *reason);

/** Write what is still held back and free. Returns 0, or what went wrong first: -ENOMEM, -ENOSPC,
 *  -EIO, -EPIPE ... NULL inside is allowed. */
int out_close(struct out **out, struct diag *diag);

#endif
