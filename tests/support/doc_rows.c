/* SPDX-License-Identifier: Apache-2.0 */
/* Lines and tables of a page. */
#include "tests/support/doc_rows.h"

#include <string.h>

#include "tests/support/check.h"
#include "tests/support/place.h"
#include "tests/support/temp.h"

char *doc_read(const char *name)
{
    char *path = place_source(name);
    char *text = temp_read(path, NULL);

    free(path);
    return text;
}

bool doc_next_line(const char **at, char out[DOC_LINE_BYTES])
{
    size_t length = strcspn(*at, "\n");

    if (**at == 0)
        return false;
    if (length >= DOC_LINE_BYTES)
        fail_msg("line too long: %.60s", *at);
    memcpy(out, *at, length);
    out[length] = 0;
    *at += length + ((*at)[length] == '\n');
    return true;
}

static char *trim(char *text)
{
    size_t length;

    text += strspn(text, " ");
    for (length = strlen(text); length > 0 && text[length - 1] == ' '; length--)
        text[length - 1] = 0;
    return text;
}

bool doc_read_row(const char *line, struct doc_row *row)
{
    char *at = row->text;

    row->count = 0;
    if (line[0] != '|')
        return false;
    snprintf(row->text, sizeof(row->text), "%s", line + 1);
    while (*at && row->count < DOC_CELLS_MAX) {
        char *end = strchr(at, '|');

        if (!end)
            fail_msg("a row does not end in |: %s", line);
        *end = 0;
        row->cells[row->count++] = trim(at);
        at = end + 1;
    }
    return true;
}

char *doc_code(char *cell)
{
    size_t length = strlen(cell);

    if (length < 3 || cell[0] != '`' || cell[length - 1] != '`' ||
        strchr(cell + 1, '`') != cell + length - 1)
        return NULL;
    cell[length - 1] = 0;
    return cell + 1;
}
