/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an importer found and has no place for, by name: nothing is left out without being said.
 *
 *     left_out_add(&left_out, "Ev Idx", 6), ..., left_out_note(&left_out, note, sizeof(note))
 *
 * {0} is an empty list. One thread.
 */
#ifndef OPTRACE_ANALYZE_IMPORT_SKIPPED_H
#define OPTRACE_ANALYZE_IMPORT_SKIPPED_H

#include <stddef.h>
#include <stdint.h>

enum {
    LEFT_OUT_NAMES_MAX = 24, /* that are told apart; more are counted together */
    LEFT_OUT_NAME_BYTES = 40,
};

struct left_out {
    struct left_out_name {
        char text[LEFT_OUT_NAME_BYTES];
        size_t length;
        uint64_t count;
    } names[LEFT_OUT_NAMES_MAX];
    size_t name_count;
    uint64_t others;
};

/** Values under that name; very long names, and such that cannot be printed, are counted together.
 */
void left_out_add_many(struct left_out *left_out, const char *name, size_t length, uint64_t count);

static inline void left_out_add(struct left_out *left_out, const char *name, size_t length)
{
    left_out_add_many(left_out, name, length, 1);
}

/** Appends "; left out: Ev Idx (14), queued (2)" to a note, where there is something. */
void left_out_note(const struct left_out *left_out, char *note, size_t note_bytes);

#endif
