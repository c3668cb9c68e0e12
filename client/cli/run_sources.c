/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was found stands in the store as ops of type "source", which liboptrace_inject defines. What
 * was asked for by name and is not among them is missing, and what is known of why comes from three
 * places: the process itself, the environment, the program's file.
 */
#include "client/cli/run_sources.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text_buffer.h"
#include "client/cli/program_kind.h"
#include "client/cli/run_settings.h"

enum { ROWS_SHOWN = 3 };

/* --- What was asked for --- */

static bool is_asked(const char *list, const char *source)
{
    const size_t length = strlen(source);

    for (; list && *list; list += strcspn(list, ","), list += *list == ',') {
        if (strcspn(list, ",") == length && strncmp(list, source, length) == 0)
            return true;
    }
    return false;
}

/* As its session is called: by the file that a link leads to. */
static void fill_name(const char *path, char out_name[PATH_MAX])
{
    char real[PATH_MAX];
    const char *found = realpath(path, real) ? real : path, *slash = strrchr(found, '/');

    snprintf(out_name, PATH_MAX, "%s", slash ? slash + 1 : found);
}

static void put_quoted(struct text_buffer *query, const char *text)
{
    text_buffer_add(query, "'", 1);
    for (; *text; text++)
        text_buffer_add(query, *text == '\'' ? "''" : text, *text == '\'' ? 2 : 1);
    text_buffer_add(query, "'", 1);
}

/* Rows of name, why for all programs (or NULL), why for the one that was run (or NULL). */
static void put_asked(struct text_buffer *query, const struct run_summary *summary,
                      const char *program)
{
    const char *source, *variable, *before = "VALUES ";

    for (size_t i = 0; (source = run_settings_source(i, &variable)); i++) {
        char why[120] = "";

        if (!is_asked(summary->sources, source))
            continue;
        if (summary->taken && strstr(summary->taken, variable))
            snprintf(why, sizeof(why), "'another tool has %s'", variable);
        else if (strcmp(source, "cuda") == 0 && !summary->has_gpu)
            snprintf(why, sizeof(why), "'--gpu is not given'");
        text_buffer_print(query, "%s('%s', %s, ", before, source, why[0] ? why : "NULL");
        if (program_kind_holds(summary->path, source)) {
            text_buffer_print(query, "'static in ' || ");
            put_quoted(query, program);
        } else {
            text_buffer_print(query, "NULL");
        }
        text_buffer_print(query, ")");
        before = ", ";
    }
    if (strcmp(before, ", ") != 0)
        text_buffer_print(query, "SELECT NULL, NULL, NULL WHERE 0");
}

char *run_sources_query(const struct run_summary *summary)
{
    struct text_buffer query = {0};
    char program[PATH_MAX];

    if (summary->label)
        snprintf(program, sizeof(program), "%s", summary->label);
    else
        fill_name(summary->path, program);
    text_buffer_print(
        &query,
        "WITH s AS (SELECT session_id, program, pid FROM v_session WHERE source = 'live'"
        " AND start_ns >= %" PRIu64 "), o AS (SELECT session_id, name, params ->> 'version' AS"
        " version, params ->> 'limit' AS lim, params ->> 'absent' AS absent FROM op JOIN s"
        " USING (session_id) WHERE type = 'source'),"
        " f AS (SELECT session_id, name, max(version) AS version, max(lim) AS lim FROM o WHERE"
        " absent IS NULL GROUP BY 1, 2),"
        " found AS (SELECT session_id, group_concat(name || coalesce(' ' || version, '') ||"
        " coalesce(' (' || lim || ')', ''), ', ') AS text FROM f GROUP BY 1),"
        " asked(name, why, held) AS (",
        summary->since_ns);
    put_asked(&query, summary, program);
    text_buffer_print(
        &query,
        "), lacking AS (SELECT session_id, group_concat(a.name || ' (' || coalesce(a.why, (SELECT"
        " absent FROM o WHERE o.session_id = s.session_id AND o.name = a.name AND absent IS NOT"
        " NULL), CASE WHEN s.program = ");
    put_quoted(&query, program);
    text_buffer_print(
        &query,
        " THEN a.held END, 'not called') || ')', ', ') AS text FROM s, asked a WHERE NOT EXISTS"
        " (SELECT 1 FROM f WHERE f.session_id = s.session_id AND f.name = a.name) GROUP BY 1)"
        " SELECT CASE count(*) WHEN 1 THEN program || ' (pid ' || pid || ')' ELSE count(*) || ' x '"
        " || program END || ': ' || coalesce(found.text, 'no source') || coalesce('; not ' ||"
        " lacking.text, '') AS text FROM s LEFT JOIN found USING (session_id) LEFT JOIN lacking"
        " USING (session_id) WHERE found.text IS NOT NULL OR lacking.text IS NOT NULL"
        " GROUP BY program, found.text, lacking.text ORDER BY min(session_id)");
    return query.text;
}

/* --- The answer --- */

/* One field of CSV; returns what follows its line. */
static const char *put_field(struct text_buffer *text, const char *at)
{
    const bool is_quoted = *at == '"';

    at += is_quoted;
    while (*at && (is_quoted || (*at != '\n' && *at != '\r'))) {
        if (is_quoted && *at == '"' && at[1] != '"')
            break;
        at += is_quoted && *at == '"';
        text_buffer_add(text, at++, 1);
    }
    at += strcspn(at, "\n");
    return at + (*at == '\n');
}

char *run_sources_text(const char *answer)
{
    const char *at = answer + strcspn(answer, "\n");
    struct text_buffer text = {0};
    size_t count = 0;

    text_buffer_add(&text, "", 0);
    for (at += *at == '\n'; *at; count++) {
        struct text_buffer rest = {0};

        if (count > 0 && count < ROWS_SHOWN)
            text_buffer_add(&text, " | ", 3);
        at = put_field(count < ROWS_SHOWN ? &text : &rest, at);
        text_buffer_deinit(&rest);
    }
    if (count > ROWS_SHOWN)
        text_buffer_print(&text, " | and %zu more", count - ROWS_SHOWN);
    return text.text;
}

void run_sources_held(const struct run_summary *summary, char *out_text, size_t bytes)
{
    const char *source, *variable;
    size_t length = 0;

    out_text[0] = '\0';
    for (size_t i = 0; (source = run_settings_source(i, &variable)) && length < bytes; i++) {
        if ((!summary->sources || is_asked(summary->sources, source)) &&
            program_kind_holds(summary->path, source))
            length += (size_t)snprintf(out_text + length, bytes - length, "%s%s",
                                       length ? ", " : "", source);
    }
}
