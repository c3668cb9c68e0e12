/* SPDX-License-Identifier: Apache-2.0 */
/* Counting what is left out. */
#include "analyze/import/skipped.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* Names that would break the line of a note, or are no UTF-8, are not shown. */
static bool is_showable(const char *name, size_t length)
{
    for (size_t i = 0; i < length;) {
        uint32_t code;
        size_t bytes = text_decode(name + i, length - i, &code);

        if (!bytes || code < ' ' || code == 0x7f)
            return false;
        i += bytes;
    }
    return length > 0 && length < LEFT_OUT_NAME_BYTES;
}

void left_out_add_many(struct left_out *left_out, const char *name, size_t length, uint64_t count)
{
    struct left_out_name *entry;

    for (size_t i = 0; i < left_out->name_count; i++) {
        entry = &left_out->names[i];
        if (entry->length == length && memcmp(entry->text, name, length) == 0) {
            entry->count += count;
            return;
        }
    }
    if (left_out->name_count == LEFT_OUT_NAMES_MAX || !is_showable(name, length)) {
        left_out->others += count;
        return;
    }
    entry = &left_out->names[left_out->name_count++];
    memcpy(entry->text, name, length);
    entry->text[length] = '\0';
    entry->length = length;
    entry->count = count;
}

void left_out_note(const struct left_out *left_out, char *note, size_t note_bytes)
{
    const char *before = "; left out: ";

    for (size_t i = 0; i < left_out->name_count; i++) {
        size_t used = strlen(note);

        snprintf(note + used, note_bytes - used, "%s%s (%" PRIu64 ")", before,
                 left_out->names[i].text, left_out->names[i].count);
        before = ", ";
    }
    if (left_out->others) {
        size_t used = strlen(note);

        snprintf(note + used, note_bytes - used, "%sother names (%" PRIu64 ")", before,
                 left_out->others);
    }
}
