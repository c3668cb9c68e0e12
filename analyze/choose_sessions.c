/* SPDX-License-Identifier: Apache-2.0 */
/* Reading which sessions are meant. */
#include "analyze/choose_sessions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Reads "3" or "4..6" at *text and goes on behind it. */
static bool read_range(const char **text, int64_t *out_first, int64_t *out_last)
{
    int64_t ends[2];
    int count = 0;

    do {
        size_t digits = strspn(*text, "0123456789");

        if (!digits || digits > 15)
            return false;
        ends[count++] = strtoll(*text, NULL, 10);
        *text += digits;
    } while (count < 2 && strncmp(*text, "..", 2) == 0 && (*text += 2));
    *out_first = ends[0];
    *out_last = ends[count - 1];
    return ends[0] <= ends[count - 1];
}

bool is_choice_of_sessions(const char *text)
{
    int64_t first, last;

    if (strcmp(text, "last") == 0 || strcmp(text, "all") == 0)
        return true;
    while (read_range(&text, &first, &last)) {
        if (*text == '\0')
            return true;
        if (*text++ != ',')
            return false;
    }
    return false;
}

/* Marks what a range holds; returns whether there is any. */
static bool mark_range(const struct session_rows *sessions, int64_t first, int64_t last,
                       bool *is_chosen)
{
    bool found = false;

    for (size_t i = 0; i < sessions->rows.count; i++) {
        int64_t id = sessions->rows.items[i].session_id;

        if (id >= first && id <= last)
            found = is_chosen[i] = true;
    }
    return found;
}

static int mark_list(const char *text, const struct session_rows *sessions, bool *is_chosen,
                     struct diag *diag)
{
    int64_t first, last;

    do {
        const char *range = text;

        if (!read_range(&text, &first, &last))
            return -EINVAL; /* the caller has asked before */
        if (!mark_range(sessions, first, last, is_chosen)) {
            diag_set(diag, 0, "there is no session %.*s: --list shows those there are",
                     (int)(text - range), range);
            return 1;
        }
    } while (*text++ == ',');
    return 0;
}

/* The last one that recorded a program, not a calibration of the machine. */
static size_t find_last(const struct session_rows *sessions)
{
    size_t count = sessions->rows.count;

    for (size_t i = count; i-- > 0;) {
        if (!sessions->rows.items[i].is_calibration)
            return i;
    }
    return count - 1;
}

int choose_sessions(const char *text, const struct session_rows *sessions, int64_t *out_ids,
                    size_t *out_count, struct diag *diag)
{
    size_t count = sessions->rows.count;
    bool *is_chosen;
    int rc = 0;

    *out_count = 0;
    if (text && !is_choice_of_sessions(text))
        return diag_set(diag, -EINVAL,
                        "sessions are last, all, a number, or numbers such as 1,4..6, not \"%s\"",
                        text);
    is_chosen = calloc(count, sizeof(*is_chosen));
    if (!is_chosen)
        return diag_set(diag, -ENOMEM, "no memory for the sessions");
    if (!text || strcmp(text, "last") == 0)
        is_chosen[find_last(sessions)] = true;
    else if (strcmp(text, "all") == 0)
        memset(is_chosen, true, count * sizeof(*is_chosen));
    else
        rc = mark_list(text, sessions, is_chosen, diag);
    for (size_t i = 0; i < count && rc == 0; i++) {
        if (is_chosen[i])
            out_ids[(*out_count)++] = sessions->rows.items[i].session_id;
    }
    free(is_chosen);
    return rc;
}
