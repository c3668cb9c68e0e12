/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an importer found and has no place for, by name: nothing is left out without being said.
 *
 *     skipped_add(&skipped, "Ev Idx", 6), ..., skipped_note(&skipped, note, sizeof(note))
 *
 * {0} is an empty list. One thread.
 */
#ifndef OPTRACE_ANALYZE_IMPORT_SKIPPED_H
#define OPTRACE_ANALYZE_IMPORT_SKIPPED_H

#include <stddef.h>
#include <stdint.h>

enum {
    SKIPPED_NAMES_MAX = 24, /* that are told apart; more are counted together */
    SKIPPED_NAME_BYTES = 40,
};

struct skipped {
    struct skipped_name {
        char text[SKIPPED_NAME_BYTES];
        size_t length;
        uint64_t count;
    } names[SKIPPED_NAMES_MAX];
    size_t name_count;
    uint64_t others;
};

/** Values under that name; very long names, and such that cannot be printed, are counted together.
 */
void skipped_add_many(struct skipped *skipped, const char *name, size_t length, uint64_t count);

static inline void skipped_add(struct skipped *skipped, const char *name, size_t length)
{
    skipped_add_many(skipped, name, length, 1);
}

/** Appends "; left out: Ev Idx (14), queued (2)" to a note, where there is something. */
void skipped_note(const struct skipped *skipped, char *note, size_t note_bytes);

#endif
