/* SPDX-License-Identifier: Apache-2.0 */
/* Reading which sessions are meant. */
#include "analyze/query/choose_sessions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "schema/store/store.h"

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

/* "-2": how many from the end, or 0. */
static size_t read_from_end(const char *text)
{
    size_t digits = text[0] == '-' ? strspn(text + 1, "0123456789") : 0;

    return digits && digits < 10 && !text[1 + digits] ? strtoul(text + 1, NULL, 10) : 0;
}

bool is_choice_of_sessions(const char *text)
{
    int64_t first, last;

    if (read_from_end(text))
        return true;

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

/* The last one but `skipped` that recorded a program, not a calibration of the machine; SIZE_MAX
 * when there are not so many. Where there are calibrations only, the last of them. */
static size_t find_last(const struct session_rows *sessions, size_t skipped)
{
    size_t count = sessions->rows.count, seen = 0;

    for (size_t i = count; i-- > 0;) {
        if (sessions->rows.items[i].is_calibration)
            continue;
        if (seen++ == skipped)
            return i;
    }
    return seen == 0 && skipped == 0 ? count - 1 : SIZE_MAX;
}

static int mark_from_end(const struct session_rows *sessions, size_t place, bool *is_chosen,
                         struct diag *diag)
{
    size_t found = find_last(sessions, place - 1);

    if (found == SIZE_MAX) {
        diag_set(diag, 0, "there are fewer than %zu sessions: --list shows those there are", place);
        return 1;
    }
    is_chosen[found] = true;
    return 0;
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
                        "sessions are last, all, a number, numbers such as 1,4..6, or -1 from the "
                        "end, not \"%s\"",
                        text);
    is_chosen = calloc(count, sizeof(*is_chosen));
    if (!is_chosen)
        return diag_set(diag, -ENOMEM, "no memory for the sessions");
    if (!text || strcmp(text, "last") == 0)
        is_chosen[find_last(sessions, 0)] = true;
    else if (strcmp(text, "all") == 0)
        memset(is_chosen, true, count * sizeof(*is_chosen));
    else if (read_from_end(text))
        rc = mark_from_end(sessions, read_from_end(text), is_chosen, diag);
    else
        rc = mark_list(text, sessions, is_chosen, diag);
    for (size_t i = 0; i < count && rc == 0; i++) {
        if (is_chosen[i])
            out_ids[(*out_count)++] = sessions->rows.items[i].session_id;
    }
    free(is_chosen);
    return rc;
}

static bool is_of_program(const struct session_row *session, const char *program)
{
    const char *slash = session->program ? strrchr(session->program, '/') : NULL;

    return session->program &&
           (strcmp(session->program, program) == 0 || (slash && strcmp(slash + 1, program) == 0));
}

int choose_limited_sessions(const char *text, const struct session_limits *limits,
                            const struct session_rows *sessions, int64_t *out_ids,
                            size_t *out_count, struct diag *diag)
{
    struct session_rows left = {0};
    bool failed = false;
    int rc;

    for (size_t i = 0; i < sessions->rows.count; i++) {
        const struct session_row *session = &sessions->rows.items[i];

        if ((!limits->program || is_of_program(session, limits->program)) &&
            session->start_ns >= limits->since_ns)
            failed |= array_push(&left.rows, *session) < 0;
    }
    if (failed) {
        rc = diag_set(diag, -ENOMEM, "no memory for the sessions");
    } else if (!left.rows.count) {
        *out_count = 0;
        diag_set(diag, 0, "no session%s%s%s is there: --list shows those there are",
                 limits->program ? " of " : "", limits->program ? limits->program : "",
                 limits->since_ns ? " since then" : "");
        rc = 1;
    } else {
        rc = choose_sessions(!text && limits->since_ns ? "all" : text, &left, out_ids, out_count,
                             diag);
    }
    array_deinit(&left.rows); /* the texts are those of `sessions` */
    return rc;
}

bool sessions_are_samples(const struct session_rows *sessions, const int64_t *ids, size_t count)
{
    size_t found = 0;

    for (size_t i = 0; sessions && i < sessions->rows.count; i++) {
        const struct session_row *session = &sessions->rows.items[i];

        for (size_t k = 0; k < count; k++)
            found += session->session_id == ids[k] && session->source &&
                     strcmp(session->source, STORE_SOURCE_SAMPLES) == 0;
    }
    return count && found == count;
}
