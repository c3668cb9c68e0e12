/* SPDX-License-Identifier: Apache-2.0 */
/* The walk that all printers share: makes values, keeps notes and the first failure. */
#include "analyze/out/out.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/out/private.h"
#include "base/text.h"

struct out_value out_unknown(enum out_kind kind)
{
    return (struct out_value){.kind = kind};
}

struct out_value out_unknown_as(enum out_kind kind, const char *text)
{
    return (struct out_value){.kind = kind, .text = text};
}

struct out_value out_text(const char *text)
{
    return (struct out_value){.kind = OUT_TEXT, .known = text != NULL, .text = text};
}

struct out_value out_integer(enum out_kind kind, int64_t value)
{
    return (struct out_value){.kind = kind, .known = true, .integer = value, .real = (double)value};
}

struct out_value out_number(enum out_kind kind, double value)
{
    return (struct out_value){.kind = kind, .known = !isnan(value), .real = value};
}

struct out_value out_shapes(const char *json, const char *strides)
{
    return (struct out_value){
        .kind = OUT_SHAPES, .known = json != NULL, .text = json, .detail = strides};
}

struct out_value out_json_text(const char *json)
{
    return (struct out_value){.kind = OUT_JSON, .known = json != NULL, .text = json};
}

struct out_value out_list(const char *json)
{
    return (struct out_value){.kind = OUT_LIST, .known = json != NULL, .text = json};
}

struct out_value out_part(int64_t part, int64_t whole)
{
    return (struct out_value){.kind = OUT_PART, .known = true, .integer = part, .whole = whole};
}

int out_open(const struct out_options *options, struct out **out_made)
{
    static const struct out_printer *const printers[] = {
        [OUT_FORMAT_TABLE] = &out_table_printer, [OUT_FORMAT_JSON] = &out_json_printer,
        [OUT_FORMAT_CSV] = &out_csv_printer,     [OUT_FORMAT_MARKDOWN] = &out_markdown_printer,
        [OUT_FORMAT_HTML] = &out_html_printer,   [OUT_FORMAT_WIKI] = &out_wiki_printer,
    };
    struct out *made = calloc(1, sizeof(*made));
    int rc = 0;

    if (!made)
        return -ENOMEM;
    made->options = *options;
    made->printer = printers[options->format];
    out_format_samples(0);
    out_format_ascii(options->ascii);
    if (made->printer->open)
        rc = made->printer->open(made);
    if (rc < 0) {
        free(made);
        return rc;
    }
    *out_made = made;
    return 0;
}

void out_facts(struct out *out, const struct out_section *section, const struct out_fact *facts,
               size_t count)
{
    if (!out->error && out->printer->facts)
        out->printer->facts(out, section, facts, count);
}

void out_table_begin(struct out *out, const struct out_section *section,
                     const struct out_column *columns, size_t count)
{
    out->section = section;
    out->columns = columns;
    out->column_count = count;
    if (!out->error && out->printer->table_begin)
        out->printer->table_begin(out);
}

void out_row(struct out *out, const struct out_value *values)
{
    if (!out->error && out->printer->row)
        out->printer->row(out, values);
}

void out_table_end(struct out *out)
{
    if (!out->error && out->printer->table_end)
        out->printer->table_end(out);
    out->section = NULL;
    out->columns = NULL;
    out->column_count = 0;
}

void out_block(struct out *out, const char *lines)
{
    if (!out->error && out->printer->block)
        out->printer->block(out, lines);
}

void out_count_samples(struct out *out, double sample_ns)
{
    (void)out; /* one report is printed at a time */
    out_format_samples(sample_ns);
}

void out_nothing(struct out *out, const char *const *tables, const char *reason)
{
    if (out->error || !out->printer->nothing)
        return;
    out->printer->nothing(out, tables);
    out_note(out, OUT_NOTE_PLAIN, "%s", reason);
}

int out_close(struct out **out_pointer, struct diag *diag)
{
    struct out *out = *out_pointer;
    int rc;

    if (!out)
        return 0;
    out->printer->close(out);
    errno = 0;
    if (!out->error && (fflush(out->options.stream) == EOF || ferror(out->options.stream)))
        out_fail(out, errno ? -errno : -EIO);
    rc = out->error;
    if (rc < 0)
        diag_set(diag, rc, "cannot write the report: %s", strerror(-rc));
    for (size_t i = 0; i < out->notes.count; i++)
        free(out->notes.items[i].text);
    array_deinit(&out->notes);
    free(out);
    *out_pointer = NULL;
    return rc;
}
