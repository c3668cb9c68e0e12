/* SPDX-License-Identifier: Apache-2.0 */
/* Text that grows while it is put together. */
#include "base/text_buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

bool text_buffer_reserve(struct text_buffer *buffer, size_t extra)
{
    size_t needed = buffer->length + extra + 1;
    size_t capacity = buffer->capacity ? buffer->capacity : 64;
    char *grown;

    if (needed <= buffer->capacity)
        return true;
    while (capacity < needed)
        capacity *= 2;
    grown = realloc(buffer->text, capacity);
    if (!grown) {
        buffer->failed = true;
        return false;
    }
    buffer->text = grown;
    buffer->capacity = capacity;
    return true;
}

void text_buffer_print(struct text_buffer *buffer, const char *format, ...)
{
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0 || !text_buffer_reserve(buffer, (size_t)length))
        return;
    va_start(arguments, format);
    vsnprintf(buffer->text + buffer->length, (size_t)length + 1, format, arguments);
    va_end(arguments);
    buffer->length += (size_t)length;
}

size_t text_buffer_flow(struct text_buffer *buffer, const char *text, size_t width, size_t column,
                        size_t indent)
{
    size_t lines = 1;

    for (bool is_first = true; *text; is_first = false) {
        size_t length = strcspn(text, " "), columns = text_columns(text, length);

        if (!is_first && width && column + 1 + columns > width) {
            text_buffer_print(buffer, "\n%*s", (int)indent, "");
            column = indent;
            lines++;
        } else if (!is_first) {
            text_buffer_add(buffer, " ", 1);
            column++;
        }
        text_buffer_add(buffer, text, length);
        column += columns;
        text += length;
        text += *text == ' ';
    }
    return lines;
}

const char *text_buffer_text(const struct text_buffer *buffer)
{
    return buffer->text ? buffer->text : "";
}

void text_buffer_deinit(struct text_buffer *buffer)
{
    free(buffer->text);
    *buffer = (struct text_buffer){0};
}

void text_complain(FILE *stream, const char *program, const char *sentence)
{
    /* What has lines of its own keeps them. */
    size_t width = strchr(sentence, '\n') ? 0 : text_terminal_columns(stream);
    struct text_buffer whole = {0}, lines = {0};

    text_buffer_print(&whole, "%s: %s", program, sentence);
    if (width && !whole.failed)
        text_buffer_flow(&lines, whole.text, width, 0, 2);
    if (!width || whole.failed || lines.failed) {
        text_print(stream, "%s: %s\n", program, sentence);
    } else {
        for (char *line = lines.text, *end; line; line = end) {
            end = strchr(line, '\n');
            if (end)
                *end++ = '\0';
            text_print(stream, "%s\n", line);
        }
    }
    text_buffer_deinit(&whole);
    text_buffer_deinit(&lines);
}
