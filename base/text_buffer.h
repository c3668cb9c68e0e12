/* SPDX-License-Identifier: Apache-2.0 */
/* Text that grows while it is put together. */
#ifndef OPTRACE_BASE_TEXT_BUFFER_H
#define OPTRACE_BASE_TEXT_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* {0} is empty. When memory runs out the text stays as it was and `failed` is set. */
struct text_buffer {
    char *text; /* NULL, or NUL-terminated */
    size_t length, capacity;
    bool failed;
};
/** Room for so many bytes more. False: there is no memory. */
bool text_buffer_reserve(struct text_buffer *buffer, size_t extra);
static inline void text_buffer_add(struct text_buffer *buffer, const char *text, size_t length)
{
    if (buffer->capacity - buffer->length <= length && !text_buffer_reserve(buffer, length))
        return;
    memcpy(buffer->text + buffer->length, text, length);
    buffer->length += length;
    buffer->text[buffer->length] = '\0';
}
void text_buffer_print(struct text_buffer *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/** Adds the words of a text on lines of at most `width` columns; 0: on one line. The first line has
 *  `column` columns before the text, each that follows begins with `indent` blanks. A word that is
 *  longer stands alone. Returns the number of lines. */
size_t text_buffer_flow(struct text_buffer *buffer, const char *text, size_t width, size_t column,
                        size_t indent);
/** The text; "" when there is none. */
const char *text_buffer_text(const struct text_buffer *buffer);
void text_buffer_deinit(struct text_buffer *buffer);

/** "program: sentence" on a line of the stream, as text_print() writes it; on a terminal on lines
 *  that fit it. */
void text_complain(FILE *stream, const char *program, const char *sentence);

#endif
