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
    return length > 0 && length < SKIPPED_NAME_BYTES;
}

void skipped_add_many(struct skipped *skipped, const char *name, size_t length, uint64_t count)
{
    struct skipped_name *entry;

    for (size_t i = 0; i < skipped->name_count; i++) {
        entry = &skipped->names[i];
        if (entry->length == length && memcmp(entry->text, name, length) == 0) {
            entry->count += count;
            return;
        }
    }
    if (skipped->name_count == SKIPPED_NAMES_MAX || !is_showable(name, length)) {
        skipped->others += count;
        return;
    }
    entry = &skipped->names[skipped->name_count++];
    memcpy(entry->text, name, length);
    entry->text[length] = '\0';
    entry->length = length;
    entry->count = count;
}

void skipped_note(const struct skipped *skipped, char *note, size_t note_bytes)
{
    const char *before = "; left out: ";

    for (size_t i = 0; i < skipped->name_count; i++) {
        size_t used = strlen(note);

        snprintf(note + used, note_bytes - used, "%s%s (%" PRIu64 ")", before,
                 skipped->names[i].text, skipped->names[i].count);
        before = ", ";
    }
    if (skipped->others) {
        size_t used = strlen(note);

        snprintf(note + used, note_bytes - used, "%sother names (%" PRIu64 ")", before,
                 skipped->others);
    }
}
