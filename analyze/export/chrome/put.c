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

void chrome_add_number(struct chrome_writer *writer, int64_t value)
{
    char text[TEXT_INT_BYTES];

    text_buffer_add(&writer->line, text, text_format_int(text, value));
}

void chrome_add_us(struct chrome_writer *writer, int64_t ns)
{
    char text[TEXT_INT_BYTES + 8] = "-";
    size_t length = ns < 0;
    uint64_t value = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
    unsigned rest = (unsigned)(value % 1000);

    length += text_format_uint(text + length, value / 1000);
    text[length++] = '.';
    text[length++] = (char)('0' + rest / 100);
    text[length++] = (char)('0' + rest / 10 % 10);
    text[length++] = (char)('0' + rest % 10);
    text_buffer_add(&writer->line, text, length);
}

void chrome_end(struct chrome_writer *writer)
{
    size_t skipped = writer->has_events ? 0 : 2;

    text_buffer_add(&writer->line, "}", 1);
    if (!writer->line.failed)
        write_out(writer, writer->line.text + skipped, writer->line.length - skipped);
    writer->has_events = true;
}
