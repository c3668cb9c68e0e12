/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of other people within markup. */
#include "analyze/out/html.h"

#include <string.h>

#include "base/text.h"

/* Marks that turn the direction of writing do so in browsers, too. */
void html_add_escaped(struct text_buffer *buffer, const char *text)
{
    char shown[TEXT_SHOWN_BYTES];

    for (size_t left = strlen(text), length; left; text += length, left -= length) {
        length = text_show_next(text, left, shown);
        switch (*text) {
        case '<':
            text_buffer_add(buffer, "&lt;", 4);
            break;
        case '>':
            text_buffer_add(buffer, "&gt;", 4);
            break;
        case '&':
            text_buffer_add(buffer, "&amp;", 5);
            break;
        case '"':
            text_buffer_add(buffer, "&quot;", 6);
            break;
        case '\n':
            text_buffer_add(buffer, "\n", 1);
            break;
        default:
            text_buffer_add(buffer, shown, strlen(shown));
        }
    }
}
