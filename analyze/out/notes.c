/* SPDX-License-Identifier: Apache-2.0 */
/* Notes below the tables of a screen: the three lines that matter most, or all of them. */
#include <stdlib.h>
#include <string.h>

#include "analyze/out/private.h"
#include "base/text.h"

enum { LINES_MAX = 3 };

/* A detail belongs to the note before it, a query has lines of its own and is what was asked for.
 */
static bool is_detail(const struct out_held_note *note)
{
    return note->text[0] == ' ';
}

static bool is_query(const struct out_held_note *note)
{
    return strchr(note->text, '\n') != NULL;
}

/* The lower the more it matters: what is missing, what the numbers stand for, all else. */
static int rank_of(const struct out *out, size_t place)
{
    static const int ranks[] = {[OUT_NOTE_WARNING] = 0, [OUT_NOTE_BASIS] = 1, [OUT_NOTE_PLAIN] = 2};

    while (place > 0 && is_detail(&out->notes.items[place]))
        place--;
    return ranks[out->notes.items[place].kind];
}

/* Prints words on lines that fit; returns how many lines that are. With `writes` unset it only
 * counts. */
static size_t flow(struct out *out, const char *text, bool writes)
{
    size_t indent = strspn(text, " "), lines;
    struct text_buffer flowed = {0};

    text_buffer_add(&flowed, text, indent);
    lines = text_buffer_flow(&flowed, text + indent, out->options.width, indent, indent);
    if (writes)
        out_write(out, text_buffer_text(&flowed));
    text_buffer_deinit(&flowed);
    return lines;
}

static void write_note(struct out *out, const struct out_held_note *note)
{
    bool warn = out->options.color && note->kind == OUT_NOTE_WARNING;

    if (warn)
        out_write(out, "\033[33m");
    if (is_query(note))
        out_write(out, note->text);
    else
        flow(out, note->text, true);
    out_write(out, warn ? "\033[0m\n" : "\n");
}

/* Writes those that matter most into so many lines less one; returns how many are left. */
static size_t write_first(struct out *out)
{
    size_t used = 0, left = 0;

    for (int rank = 0; rank <= 2; rank++) {
        for (size_t i = 0; i < out->notes.count; i++) {
            const struct out_held_note *note = &out->notes.items[i];
            size_t lines = is_query(note) ? 0 : flow(out, note->text, false);

            if (is_query(note) || rank_of(out, i) != rank)
                continue;
            if (left || (used && used + lines > LINES_MAX - 1)) {
                left++;
                continue;
            }
            write_note(out, note);
            used += lines;
        }
    }
    return left;
}

void out_write_notes(struct out *out)
{
    size_t lines = 0, left = 0;

    for (size_t i = 0; i < out->notes.count; i++)
        lines += is_query(&out->notes.items[i]) ? 0 : flow(out, out->notes.items[i].text, false);
    if (!out->options.all_notes && lines > LINES_MAX)
        left = write_first(out);
    for (size_t i = 0; i < out->notes.count; i++) {
        if (is_query(&out->notes.items[i]) || out->options.all_notes || lines <= LINES_MAX)
            write_note(out, &out->notes.items[i]);
    }
    if (left) {
        char text[64];

        snprintf(text, sizeof(text), "%zu more note%s: --notes\n", left, left == 1 ? "" : "s");
        out_write(out, text);
    }
}
