/* SPDX-License-Identifier: Apache-2.0 */
/* The pieces that an event is written of. */
#include <string.h>

#include "analyze/export/chrome/private.h"
#include "base/text.h"

static void write_out(struct chrome_writer *writer, const char *text, size_t length)
{
    fwrite(text, 1, length, writer->export->stream); /* the stream keeps its error */
}

void chrome_begin(struct chrome_writer *writer, const char *phase)
{
    writer->line.length = 0;
    text_buffer_add(&writer->line, ",\n{\"ph\":\"", 9);
    chrome_add(writer, phase);
    chrome_add(writer, "\"");
}

void chrome_add(struct chrome_writer *writer, const char *text)
{
    text_buffer_add(&writer->line, text, strlen(text));
}

/* The digits of a number that is not negative, with `width` at least; returns how many. */
static size_t format_digits(char *out, uint64_t value, size_t width)
{
    char digits[24];
    size_t length = 0;

    do {
        digits[length++] = (char)('0' + value % 10);
        value /= 10;
    } while (value || length < width);
    for (size_t i = 0; i < length; i++)
        out[i] = digits[length - 1 - i];
    return length;
}

static void add_name(struct chrome_writer *writer, const char *name)
{
    text_buffer_add(&writer->line, ",\"", 2);
    chrome_add(writer, name);
    text_buffer_add(&writer->line, "\":", 2);
}

void chrome_add_int(struct chrome_writer *writer, const char *name, int64_t value)
{
    char text[32] = "-";
    size_t sign = value < 0;

    add_name(writer, name);
    text_buffer_add(
        &writer->line, text,
        sign + format_digits(text + sign, value < 0 ? -(uint64_t)value : (uint64_t)value, 1));
}

void chrome_add_duration(struct chrome_writer *writer, const char *name, int64_t ns)
{
    char text[40] = "-";
    size_t length = ns < 0;
    uint64_t value = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;

    add_name(writer, name);
    length += format_digits(text + length, value / 1000, 1);
    text[length++] = '.';
    length += format_digits(text + length, value % 1000, 3);
    text_buffer_add(&writer->line, text, length);
}

void chrome_add_time(struct chrome_writer *writer, const char *name, int64_t time_ns)
{
    /* Times of a damaged store may be anything. */
    chrome_add_duration(writer, name, (int64_t)((uint64_t)time_ns - (uint64_t)writer->base_ns));
}

void chrome_end(struct chrome_writer *writer)
{
    size_t skipped = writer->has_events ? 0 : 2;

    text_buffer_add(&writer->line, "}", 1);
    if (!writer->line.failed)
        write_out(writer, writer->line.text + skipped, writer->line.length - skipped);
    writer->has_events = true;
}
